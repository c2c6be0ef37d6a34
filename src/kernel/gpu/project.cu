/* SPDX-License-Identifier: Apache-2.0 */
/* project.cu: products of one row of the pass with 32 rows of a weight, a lane each (NUMERICS.md sections 3
 * to 5). Groups depend on nothing else: warp w computes groups w, w + 8, ... The chain over them is ordered,
 * and short: the first warp folds eight groups while the others are at the next eight, whose results go to
 * the other half of the buffer. */

enum { WARPS = BLOCK / 32 };

/* Values of any type by f32. */
KERNEL(project_value, ct_gpu_project)
{
    THREADS(ct_gpu_project);
    SHARED float part[2][WARPS][32];
    int out = bid * 32 + lane, r = out < a.rows ? out : a.rows - 1;
    GLOBAL const uint8_t *panel = gpu_panel(a.w, a.panel, r);
    GLOBAL const float *x = (GLOBAL const float *)a.x + (long)row * a.groups * 32;
    float acc = 0.0f;

    for (int first = 0, half = 0; first < a.groups; first += WARPS, half ^= 1) {
        int warp = tid / 32, g = first + warp;
        if (g < a.groups) {
            struct gpu_group group = gpu_group(panel, a.type, g, r);
            GLOBAL const float *by = x + g * 32;
            float e = 0.0f, o = 0.0f;
            if (a.type.form == CT_GPU_BF16) {
                UNROLLED for (int i = 0; i < 16; i++)
                {
                    uint32_t pair = group.lines[i * 16];
                    e = FMA(gpu_low(pair), by[2 * i], e);
                    o = FMA(gpu_high(pair), by[2 * i + 1], o);
                }
            } else {
                for (int k = 0; k < 32; k++) { /* the chains take turns */
                    float next = FMA(gpu_value(a.type, group, k), by[k], e);
                    e = o;
                    o = next;
                }
            }
            part[half][warp][lane] = ADD(e, o);
        }
        BARRIER();
        for (int j = 0; warp == 0 && j < WARPS && first + j < a.groups; j++)
            acc = ADD(acc, part[half][j][lane]);
    }
    if (tid < 32 && out < a.rows)
        a.out[(long)row * a.ldo + out] = MUL(acc, a.factor);
}

/* Half a group of codes by int8. The commonest ones come without what they do not need. */
DEVICE int32_t project_half(struct ct_gpu_type t, GLOBAL const uint32_t *lines, GLOBAL const uint32_t *x,
                            int half)
{
    int32_t sum = 0;

    lines += t.low == 8 ? half * 64 : half * 32;
    if (t.low == 8) {
        UNROLLED for (int i = 0; i < 4; i++) sum = DP4A(lines[i * 16] ^ t.flip, x[i], sum);
    } else if (t.low == 4 && !t.high && !t.tabled) {
        UNROLLED for (int i = 0; i < 4; i++) sum =
            DP4A(lines[i / 2 * 16] >> i % 2 * 4 & 0x0f0f0f0fu, x[i], sum);
    } else {
        lines -= half * 32;
        for (int i = 0; i < 4; i++)
            sum = DP4A(gpu_codes(t, lines, half * 4 + i), x[i], sum);
    }
    return sum;
}

/* Codes of integer types by int8. Where a group takes two steps of the chain, `more` are those of the
 * second. */
KERNEL(project_q8, ct_gpu_project)
{
    THREADS(ct_gpu_project);
    SHARED float part[2][WARPS][32], by[2][WARPS][32], more[2][WARPS][32], more_by[2][WARPS][32];
    int out = bid * 32 + lane, r = out < a.rows ? out : a.rows - 1;
    GLOBAL const uint8_t *panel = gpu_panel(a.w, a.panel, r);
    GLOBAL const uint32_t *q = (GLOBAL const uint32_t *)a.x + (long)row * a.groups * 8;
    GLOBAL const float *scale = a.scale + (long)row * a.groups;
    GLOBAL const int32_t *sum = a.sum + (long)row * a.groups * 2;
    float acc = 0.0f;

    for (int first = 0, half = 0; first < a.groups; first += WARPS, half ^= 1) {
        int warp = tid / 32, g = first + warp;
        if (g < a.groups) {
            struct gpu_group f = gpu_group(panel, a.type, g, r);
            int32_t dot = 0, of_half = 0;
            float xs = scale[g];
            for (int i = 0; i < 2; i++) {
                of_half = project_half(a.type, f.lines, q + g * 8 + i * 4, i) - a.type.minus * sum[g * 2 + i];
                dot += (i ? f.second : f.first) * of_half;
            }
            part[half][warp][lane] = (float)dot;
            by[half][warp][lane] = MUL(f.ws, xs);
            if (a.type.more == CT_GPU_MINIMUM) {
                more[half][warp][lane] = f.m;
                more_by[half][warp][lane] = MUL(xs, (float)(f.low0 * sum[g * 2] + f.low1 * sum[g * 2 + 1]));
            } else if (a.type.more == CT_GPU_APART) {
                more[half][warp][lane] = (float)of_half;
                more_by[half][warp][lane] = MUL(f.m, xs);
            }
        }
        BARRIER();
        for (int j = 0; warp == 0 && j < WARPS && first + j < a.groups; j++) {
            acc = FMA(part[half][j][lane], by[half][j][lane], acc);
            if (a.type.more)
                acc = FMA(more[half][j][lane], more_by[half][j][lane], acc);
        }
    }
    if (tid < 32 && out < a.rows)
        a.out[(long)row * a.ldo + out] = MUL(acc, a.factor);
}
