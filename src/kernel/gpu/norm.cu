/* SPDX-License-Identifier: Apache-2.0 */
/* norm.cu: RMSNorm (NUMERICS.md section 6). Its 32 partial sums are the lanes of a warp, and their fold is
 * five shuffles; every warp makes all of them, out of values that the block brings. */

KERNEL(norm, ct_gpu_norm)
{
    THREADS(ct_gpu_norm);
    SHARED float stage[BLOCK];
    SHARED float root;
    GLOBAL const float *x = a.x + (long)row * a.ldx + bid * a.n;
    GLOBAL float *out = a.out + (long)row * a.ldo + bid * a.n;
    float p = 0.0f;

    for (int first = 0; a.w && first < a.n; first += BLOCK) {
        if (first + tid < a.n)
            stage[tid] = x[first + tid];
        BARRIER();
        for (int i = lane; i < BLOCK && first + i < a.n; i += 32)
            p = FMA(stage[i], stage[i], p);
        BARRIER();
    }
    for (int half = 16; half; half >>= 1)
        p = ADD(p, SHFL_DOWN(p, half));
    if (tid == 0)
        root = DIV(1.0f, SQRT(ADD(DIV(p, (float)a.n), a.eps)));
    BARRIER();
    for (int i = tid; i < a.n; i += BLOCK) {
        float v = a.w ? MUL(MUL(x[i], root), a.w[i]) : x[i];
        out[i] = a.add ? ADD(out[i], v) : v;
    }
}
