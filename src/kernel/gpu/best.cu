/* SPDX-License-Identifier: Apache-2.0 */
/* best.cu: the best of many logits, with their ids. Keys of 64 bits order as logits do, and ids behind them,
 * so that sorting is exact in any order of threads: blocks sort a part each and keep its k best, and blocks
 * after them sort these, until there is one. That may draw one of them (draw.cu). */

/* More for a higher logit, then for a lower id; 0 and -0 are alike, NaN is like -infinity. Never 0. */
DEVICE uint64_t best_key(float x, int id)
{
    uint32_t u = AS_U32(ADD(x, 0.0f));
    u = (u & 0x7fffffffu) > 0x7f800000u ? 0xff800000u : u;
    u = u & 0x80000000u ? ~u : u | 0x80000000u;
    return (uint64_t)u << 32 | (uint32_t)~id;
}

KERNEL(best, ct_gpu_best)
{
    THREADS(ct_gpu_best);
    SHARED uint64_t key[CT_GPU_SORTED];
    SHARED float weight[BLOCK], sum[BLOCK];
    SHARED int place, left;
    int n = a.ends ? a.k + a.ids : a.k;
    GLOBAL const float *x = a.x + (long)row * a.ldx;

    for (int i = tid; i < CT_GPU_SORTED; i += BLOCK) {
        int at = bid * CT_GPU_SORTED + i;
        key[i] = at >= a.n ? 0 : a.from ? a.from[(long)row * a.n + at] : best_key(x[at], at);
    }
    for (int ended = 0;; ended = 1) {
        /* bitonic, highest first: pairs lie `half` apart in runs of `size`, which go down and up in turn */
        for (int size = 2, half = 1; size <= CT_GPU_SORTED; half = half > 1 ? half / 2 : (size *= 2) / 2) {
            BARRIER();
            for (int i = tid; i < CT_GPU_SORTED / 2; i += BLOCK) {
                int low = (i & -half) * 2 + (i & (half - 1));
                uint64_t one = key[low], two = key[low + half];
                if ((one < two) == ((low & size) == 0)) {
                    key[low] = two;
                    key[low + half] = one;
                }
            }
        }
        BARRIER();
        if (ended == a.ends)
            break;
        if (a.draw) {
            int at = draw_place(a.draw[row], key, weight, sum, &place, &left, tid);
            for (int i = tid; i < a.padded; i += BLOCK)
                if (i == row || (row == 0 && i >= a.drawn))
                    a.token[i] = at < 0 ? 0 : (int32_t)~(uint32_t)key[at];
            BARRIER();
        }
        for (int i = tid; i < CT_GPU_SORTED; i += BLOCK) { /* candidates, which ids order */
            uint32_t other = (uint32_t)key[i];             /* the complement of its id */
            bool is = i < a.k && key[i] != 0;
            key[i] = is ? (uint64_t)other << 32 | AS_U32(x[~other]) : 0;
            if (i >= a.k && i < n)
                key[i] = a.apart[(long)row * a.ids + i - a.k];
        }
    }
    GLOBAL uint64_t *to = a.to + ((long)row * ((a.n + CT_GPU_SORTED - 1) / CT_GPU_SORTED) + bid) * n;
    for (int i = tid; i < n; i += BLOCK)
        to[i] = a.ends ? key[i] ^ (uint64_t)0xffffffffu << 32 : key[i];
}

KERNEL(apart, ct_gpu_apart)
{
    THREADS(ct_gpu_apart);
    int i = bid * BLOCK + tid;

    if (i >= a.ids)
        return;
    int id = a.id[(long)row * a.ids + i];
    bool is = id >= 0 && id < a.n;
    GLOBAL float *x = a.x + (long)row * a.ldx + (is ? id : 0);
    a.to[(long)row * a.ids + i] = is ? (uint64_t)(uint32_t)~id << 32 | AS_U32(*x) : 0;
    if (is)
        *x = AS_F32(0xff800000u);
}
