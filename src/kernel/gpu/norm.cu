/* SPDX-License-Identifier: Apache-2.0 */
/* norm.cu: RMSNorm (NUMERICS.md section 6), and a row's part of its sums. The 32 partial sums are the lanes
 * of a warp, and their fold is five shuffles; every warp makes all of them, out of values that the block
 * brings. */

/* A partial sum of what x[n] has over a value, or of its square; for all threads of a block. */
DEVICE float row_part(LOCAL float *stage, GLOBAL const float *x, int n, float over, bool squares, int tid)
{
    float p = 0.0f;

    for (int first = 0; first < n; first += BLOCK) {
        if (first + tid < n)
            stage[tid] = x[first + tid];
        BARRIER();
        for (int i = tid % 32; i < BLOCK && first + i < n; i += 32) {
            float v = ADD(stage[i], -over);
            p = squares ? FMA(v, v, p) : ADD(p, stage[i]);
        }
        BARRIER();
    }
    return p;
}
/* The sum of the parts, in the first lane of each warp. */
#define FOLD(p)                                                                                              \
    for (int half = 16; half; half >>= 1)                                                                    \
    p = ADD(p, SHFL_DOWN(p, half))

KERNEL(norm, ct_gpu_norm)
{
    THREADS(ct_gpu_norm);
    SHARED float stage[BLOCK];
    SHARED float root;
    GLOBAL float *x = a.x + (long)row * a.ldx + bid * a.n;
    GLOBAL float *out = a.out + (long)row * a.ldo + bid * a.n;
    float p = row_part(stage, x, a.w ? a.n : 0, 0.0f, true, tid);

    FOLD(p);
    if (tid == 0)
        root = DIV(1.0f, SQRT(ADD(DIV(p, (float)a.n), a.eps)));
    BARRIER();
    for (int i = tid; i < a.n; i += BLOCK) {
        float v = a.w ? MUL(MUL(x[i], root), a.w[i]) : x[i];
        out[i] = a.add ? ADD(out[i], v) : v;
        if (a.add)
            x[i] = v;
    }
}
