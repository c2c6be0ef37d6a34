/* SPDX-License-Identifier: Apache-2.0 */
/* project.cu: products of one row of the pass with a tile of a weight (NUMERICS.md sections 3 to 5). A lane
 * has a row of the tile. Groups depend on nothing else: warp w computes groups w, w + 8, ... The chain over
 * them is ordered, and short: the first warp folds eight groups while the others are at the next eight, whose
 * results go to the other half of the buffer. */

enum { WARPS = BLOCK / 32 };

KERNEL(project_bf16, ct_gpu_project)
{
    THREADS(ct_gpu_project);
    SHARED float part[2][WARPS][32];
    GLOBAL const word4 *w = (GLOBAL const word4 *)a.w + (long)bid * a.groups * 4 * 32 + lane;
    GLOBAL const float *x = (GLOBAL const float *)a.x + (long)row * a.groups * 32;
    float acc = 0.0f;

    for (int first = 0, half = 0; first < a.groups; first += WARPS, half ^= 1) {
        int warp = tid / 32, g = first + warp;
        if (g < a.groups) {
            float e = 0.0f, o = 0.0f;
            for (int i = 0; i < 4; i++) {
                word4 eight = w[(g * 4 + i) * 32];
                GLOBAL const float *by = x + g * 32 + i * 8;
                e = FMA(gpu_low(eight.x), by[0], e);
                o = FMA(gpu_high(eight.x), by[1], o);
                e = FMA(gpu_low(eight.y), by[2], e);
                o = FMA(gpu_high(eight.y), by[3], o);
                e = FMA(gpu_low(eight.z), by[4], e);
                o = FMA(gpu_high(eight.z), by[5], o);
                e = FMA(gpu_low(eight.w), by[6], e);
                o = FMA(gpu_high(eight.w), by[7], o);
            }
            part[half][warp][lane] = ADD(e, o);
        }
        BARRIER();
        for (int j = 0; warp == 0 && j < WARPS && first + j < a.groups; j++)
            acc = ADD(acc, part[half][j][lane]);
    }
    if (tid < 32 && bid * 32 + lane < a.rows)
        a.out[(long)row * a.ldo + bid * 32 + lane] = MUL(acc, a.factor);
}

KERNEL(project_q8, ct_gpu_project)
{
    THREADS(ct_gpu_project);
    SHARED float part[2][WARPS][32], by[2][WARPS][32];
    GLOBAL const word4 *w = (GLOBAL const word4 *)a.w + (long)bid * a.groups * CT_GPU_Q8_WORDS;
    GLOBAL const word4 *q = (GLOBAL const word4 *)a.x + (long)row * a.groups * 2;
    GLOBAL const float *scale = a.scale + (long)row * a.groups;
    float acc = 0.0f;

    for (int first = 0, half = 0; first < a.groups; first += WARPS, half ^= 1) {
        int warp = tid / 32, g = first + warp;
        if (g < a.groups) {
            GLOBAL const word4 *group = w + g * CT_GPU_Q8_WORDS;
            int32_t sum = 0;
            for (int i = 0; i < 2; i++) {
                word4 s = group[4 + i * 32 + lane], x = q[g * 2 + i];
                sum = DP4A(s.x, x.x, sum);
                sum = DP4A(s.y, x.y, sum);
                sum = DP4A(s.z, x.z, sum);
                sum = DP4A(s.w, x.w, sum);
            }
            part[half][warp][lane] = (float)sum;
            by[half][warp][lane] = MUL(gpu_f16(((GLOBAL const uint16_t *)group)[lane]), scale[g]);
        }
        BARRIER();
        for (int j = 0; warp == 0 && j < WARPS && first + j < a.groups; j++)
            acc = FMA(part[half][j][lane], by[half][j][lane], acc);
    }
    if (tid < 32 && bid * 32 + lane < a.rows)
        a.out[(long)row * a.ldo + bid * 32 + lane] = MUL(acc, a.factor);
}
