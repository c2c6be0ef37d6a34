/* SPDX-License-Identifier: Apache-2.0 */
/* altup.cu: what Gemma 3n computes beside the others (NUMERICS.md section 6): its four streams, and the
 * cut-off of gates. A block is a row. */

enum { STREAMS = 4, TURN = BLOCK / STREAMS };

/* A group of the router's product for one mode. */
DEVICE float altup_group(struct ct_gpu_altup a, GLOBAL const float *x, float root, int mode, int g)
{
    float share = DIV(1.0f, (float)a.n), e = 0.0f, o = 0.0f;

    for (int i = g * 32; i < a.n && i < g * 32 + 32; i++) { /* the chains take turns */
        float v = MUL(MUL(MUL(x[i], root), a.norm[i]), share);
        float next = FMA(a.router[(long)mode * a.n + i], v, e);
        e = o;
        o = next;
    }
    return ADD(e, o);
}

KERNEL(altup, ct_gpu_altup)
{
    THREADS(ct_gpu_altup);
    SHARED float stage[BLOCK], mode[STREAMS], coef[STREAMS * STREAMS], root;
    GLOBAL float *y = a.y + (long)row * a.ldy;
    long at = (long)row * a.lds;
    GLOBAL const float *x = a.corrects ? y : a.stream[0] + at;
    float p = row_part(stage, x, a.n, 0.0f, true, tid), made = 0.0f;

    FOLD(p);
    if (tid == 0)
        root = DIV(1.0f, SQRT(ADD(DIV(p, (float)a.n), a.eps)));
    BARRIER();
    for (int first = 0; first * 32 < a.n; first += TURN) {
        stage[tid] = altup_group(a, x, root, tid / TURN, first + tid % TURN);
        BARRIER();
        for (int g = 0; tid < STREAMS && g < TURN && (first + g) * 32 < a.n; g++)
            made = ADD(made, stage[tid * TURN + g]);
        BARRIER();
    }
    if (tid < STREAMS)
        mode[tid] = gpu_tanh(made);
    BARRIER();
    if (tid < (a.corrects ? STREAMS : STREAMS * STREAMS)) {
        GLOBAL const float *c = a.coefs + tid * STREAMS;
        float e = FMA(c[2], mode[2], FMA(c[0], mode[0], 0.0f));
        float o = FMA(c[3], mode[3], FMA(c[1], mode[1], 0.0f));
        coef[tid] = ADD(0.0f, ADD(e, o));
    }
    BARRIER();
    for (int i = tid; i < a.n; i += BLOCK) {
        float h[STREAMS], over;
        UNROLLED for (int j = 0; j < STREAMS; j++) h[j] = a.stream[j][at + i];
        over = ADD(y[i], -h[0]);
        UNROLLED for (int j = 0; j < STREAMS; j++)
        {
            LOCAL const float *c = coef + j * STREAMS;
            float v =
                a.corrects
                    ? FMA(over, ADD(coef[j], 1.0f), h[j])
                    : ADD(FMA(c[3], h[3], FMA(c[2], h[2], FMA(c[1], h[1], FMA(c[0], h[0], 0.0f)))), h[j]);
            a.stream[j][at + i] = v;
            if (j == 0)
                y[i] = a.scale ? MUL(v, a.scale[i]) : v;
        }
    }
}

KERNEL(altup_match, ct_gpu_altup_match)
{
    THREADS(ct_gpu_altup_match);
    SHARED float stage[BLOCK], want, have;
    GLOBAL float *y = a.y + (long)row * a.ldy;
    float p = row_part(stage, a.x + (long)row * a.ldx, a.n, 0.0f, true, tid);
    float q = row_part(stage, y, a.n, 0.0f, true, tid);

    FOLD(p);
    FOLD(q);
    if (tid == 0) {
        float mean = DIV(q, (float)a.n);
        want = SQRT(DIV(p, (float)a.n));
        have = SQRT(mean > 1e-5f ? mean : 1e-5f);
    }
    BARRIER();
    for (int i = tid; i < a.n; i += BLOCK)
        y[i] = DIV(MUL(y[i], want), have);
}

KERNEL(cutoff, ct_gpu_cutoff)
{
    THREADS(ct_gpu_cutoff);
    SHARED float stage[BLOCK], mean, bar;
    GLOBAL float *x = a.x + (long)row * a.ldx;
    float p = row_part(stage, x, a.n, 0.0f, false, tid);

    FOLD(p);
    if (tid == 0)
        mean = DIV(p, (float)a.n);
    BARRIER();
    float q = row_part(stage, x, a.n, mean, true, tid);
    FOLD(q);
    if (tid == 0)
        bar = ADD(mean, MUL(a.deviations, SQRT(DIV(q, (float)a.n))));
    BARRIER();
    for (int i = tid; i < a.n; i += BLOCK) {
        float above = ADD(x[i], -bar);
        x[i] = above < 0.0f ? 0.0f : above; /* NaN stays */
    }
}
