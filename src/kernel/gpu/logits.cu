/* SPDX-License-Identifier: Apache-2.0 */
/* logits.cu: the soft-cap of logits, and whether they are finite (NUMERICS.md sections 2 and 6). */

KERNEL(logits, ct_gpu_logits)
{
    THREADS(ct_gpu_logits);
    int i = bid * BLOCK + tid;

    if (i >= a.n)
        return;
    GLOBAL float *x = a.x + (long)row * a.ldx + i;
    if (a.cap > 0.0f)
        *x = MUL(a.cap, gpu_tanh(DIV(*x, a.cap)));
    if (!gpu_finite(*x))
        a.bad[a.origin[row]] = 1;
}
