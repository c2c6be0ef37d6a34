/* SPDX-License-Identifier: Apache-2.0 */
/* route.cu: which experts a row goes through, and what becomes of what they give (NUMERICS.md section 6). Their
 * products are those of project.cu. */

/* The logit of an expert; one that is not finite is the least. */
DEVICE float route_logit(GLOBAL const float *z, int e)
{
    return gpu_finite(z[e]) ? z[e] : AS_F32(0xff800000u);
}

/* Each thread has some experts, and counts those that come before one. */
KERNEL(route, ct_gpu_route)
{
    THREADS(ct_gpu_route);
    SHARED int spoiled;
    SHARED float total;
    GLOBAL const float *z = a.logits + (long)row * a.ldl;
    GLOBAL int32_t *best = a.id + (long)row * a.used;
    float part = 0.0f;

    if (tid == 0)
        spoiled = 0;
    BARRIER();
    for (int e = tid; e < a.n; e += BLOCK) {
        float own = route_logit(z, e);
        int before = 0;
        for (int i = 0; i < a.n && before < a.used; i++) {
            float other = route_logit(z, i);
            before += other > own || (other == own && i < e);
        }
        if (before < a.used)
            best[before] = e;
        if (!gpu_finite(z[e]))
            spoiled = 1;
    }
    BARRIER();
    float top = route_logit(z, best[0]);
    for (int i = lane; i < a.used; i += 32)
        part = ADD(part, gpu_exp(ADD(route_logit(z, best[i]), -top)));
    FOLD(part);
    if (tid == 0)
        total = spoiled ? AS_F32(0x7fc00000u) : part;
    int mine = tid < a.used ? best[tid] : 0, to = 0;
    for (int i = 0; i < a.used; i++)
        to += best[i] < mine;
    BARRIER();
    if (tid < a.used) {
        float weight = DIV(gpu_exp(ADD(route_logit(z, mine), -top)), total);
        best[to] = mine;
        a.weight[(long)row * a.used + to] = MUL(weight, a.scale[mine]);
    }
}

KERNEL(add_experts, ct_gpu_add_experts)
{
    THREADS(ct_gpu_add_experts);
    int i = bid * BLOCK + tid;
    float sum = 0.0f;

    if (i >= a.n)
        return;
    for (int k = 0; k < a.used; k++)
        sum = FMA(a.weight[(long)row * a.used + k], a.y[((long)row * a.used + k) * a.ldy + i], sum);
    a.out[(long)row * a.ldo + i] = sum;
}
