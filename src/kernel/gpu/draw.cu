/* SPDX-License-Identifier: Apache-2.0 */
/* draw.cu: which of the best ids a draw takes: the usual chain without edits (NUMERICS.md section 8). Each
 * thread has a candidate; what sums them in their order is the first thread's. The candidates: best.cu. */

/* u of the draw. */
DEVICE float draw_random(struct ct_gpu_draw d)
{
    uint64_t seed = (uint64_t)d.seed[1] << 32 | d.seed[0];
    return MUL((float)ct_philox(seed, d.position, d.number, 0u, 0u), 0x1p-24f);
}

/* The logit of a key (best.cu). */
DEVICE float draw_logit(uint64_t key)
{
    uint32_t u = (uint32_t)(key >> 32);
    return AS_F32(u & 0x80000000u ? u ^ 0x80000000u : ~u);
}

/* The place of the id among keys that are in order; -1: there is none. For all threads of a block, which
 * share what the others point to. */
DEVICE int draw_place(struct ct_gpu_draw d, LOCAL const uint64_t *key, LOCAL float *weight, LOCAL float *sum,
                      LOCAL int *place, LOCAL int *left, int tid)
{
    const uint32_t none = 0x007fffffu; /* the upper half of the key of -infinity */
    bool is = tid < d.k && (uint32_t)(key[tid] >> 32) > none;
    bool more = tid + 1 < d.k && (uint32_t)(key[tid + 1] >> 32) > none, cold = !(d.temperature > 0.0f);
    float by = cold ? 1.0f : d.temperature, top = DIV(draw_logit(key[0]), by), reached = 0.0f;

    /* the softmax, its sum by 32 parts */
    weight[tid] = is ? gpu_exp(ADD(DIV(draw_logit(key[tid]), by), -top)) : 0.0f;
    if (tid == 0)
        *place = 0;
    BARRIER();
    if (is && !more)
        *place = tid + 1;
    for (int i = tid; tid < 32 && i < BLOCK; i += 32)
        reached = ADD(reached, weight[i]);
    sum[tid] = reached;
    for (int part = 16; part; part /= 2) {
        BARRIER();
        if (tid < part)
            sum[tid] = ADD(sum[tid], sum[tid + part]);
    }
    BARRIER();
    int n = *place;
    weight[tid] = DIV(weight[tid], sum[0]);
    BARRIER();
    if (tid == 0) { /* running sums; what is behind the candidates weighs 0 */
        reached = 0.0f;
        for (int i = 0; i < n; i += 8)
            UNROLLED for (int j = 0; j < 8; j++) sum[i + j] = reached = ADD(reached, weight[i + j]);
        *left = n;
    }
    BARRIER();
    /* top-p: the first whose sum before it reaches that */
    if (d.top_p < 1.0f && tid > 0 && tid < n && sum[tid - 1] >= d.top_p &&
        !(tid > 1 && sum[tid - 2] >= d.top_p))
        *left = tid;
    BARRIER();
    if (tid == 0) {
        while (d.min_p > 0.0f && *left > 1 && weight[*left - 1] < MUL(d.min_p, weight[0]))
            --*left;
        *place = *left - 1; /* where rounding lets none exceed the target */
    }
    BARRIER();
    if (tid < *left) {
        float target = MUL(draw_random(d), sum[*left - 1]);
        if (sum[tid] > target && !(tid > 0 && sum[tid - 1] > target))
            *place = tid;
    }
    BARRIER();
    return n > 0 && cold ? 0 : *place;
}
