/* SPDX-License-Identifier: Apache-2.0 */
/* vector.cu: what is done value by value, and the choice of rows that go on (NUMERICS.md section 6). */

KERNEL(geglu, ct_gpu_geglu)
{
    THREADS(ct_gpu_geglu);
    int i = bid * BLOCK + tid;

    if (i >= a.n)
        return;
    GLOBAL float *gate = a.gate + (long)row * a.ldg + i;
    float x = *gate, u = MUL(0.7978845608f, FMA(MUL(MUL(0.044715f, x), x), x, x));
    *gate = MUL(DIV(x, ADD(1.0f, gpu_exp(MUL(-2.0f, u)))), a.up[(long)row * a.ldu + i]);
}

KERNEL(add_rows, ct_gpu_add_rows)
{
    THREADS(ct_gpu_add_rows);
    int i = bid * BLOCK + tid;

    if (i < a.n) {
        GLOBAL float *x = a.x + (long)row * a.ldx + i;
        *x = MUL(ADD(*x, a.from[(long)row * a.n + i]), a.times);
    }
}

KERNEL(rope, ct_gpu_rope)
{
    THREADS(ct_gpu_rope);
    GLOBAL const float *cosine = a.cosine + (long)row * a.pairs, *sine = a.sine + (long)row * a.pairs;

    for (int i = tid; i < a.heads * a.pairs; i += BLOCK) {
        int pair = i % a.pairs;
        GLOBAL float *x1 = a.x + (long)row * a.ldx + i / a.pairs * a.dim + pair, *x2 = x1 + a.dim / 2;
        float one = *x1, two = *x2, c = cosine[pair], s = sine[pair];
        *x1 = FMA(one, c, -MUL(two, s));
        *x2 = FMA(two, c, MUL(one, s));
    }
}

KERNEL(scale, ct_gpu_scale)
{
    THREADS(ct_gpu_scale);
    int i = bid * BLOCK + tid;

    if (i < a.n)
        a.x[(long)row * a.ldx + i] = MUL(a.x[(long)row * a.ldx + i], *a.by);
}

/* A thread has a column, so that a row is read before it is written. */
KERNEL(select_rows, ct_gpu_select)
{
    THREADS(ct_gpu_select);
    int i = bid * BLOCK + tid;

    for (int to = 0; i < a.cols && to < a.n; to++)
        a.x[(long)to * a.ldx + i] = a.x[(long)a.from[to] * a.ldx + i];
}
