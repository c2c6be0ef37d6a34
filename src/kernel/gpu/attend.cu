/* SPDX-License-Identifier: Apache-2.0 */
/* attend.cu: attention of one query head over all key blocks that its row sees (NUMERICS.md section 7). A
 * thread is a key for the scores, and a channel, or two, for the sum over values; blocks are merged one after
 * another, each thread its channels. */

enum { MOST_DIM = 512 };

/* Of a key, a thread's own. */
DEVICE float attend_score(struct ct_gpu_kv kv, GLOBAL const uint8_t *k, LOCAL const float *q, uint32_t slot)
{
    GLOBAL const uint32_t *pair = (GLOBAL const uint32_t *)k + slot / 16 * kv.dim * 8 + slot % 16;
    float s = 0.0f;

    for (uint32_t g = 0; g < kv.dim; g += 32) {
        float e = 0.0f, o = 0.0f;
        uint32_t end = g + 32 < kv.dim ? g + 32 : kv.dim;
        if (kv.type == CT_GPU_KV_BF16)
            for (uint32_t d = g; d < end; d += 2) {
                e = FMA(gpu_low(pair[d * 8]), q[d], e);
                o = FMA(gpu_high(pair[d * 8]), q[d + 1], o);
            }
        else
            for (uint32_t d = g; d < end; d++) { /* the chains take turns */
                float next = FMA(gpu_kept(kv, k, slot, d, false), q[d], e);
                e = o;
                o = next;
            }
        s = ADD(s, ADD(e, o));
    }
    return s;
}

/* Of a channel; groups of 32 keys that hold a visible one. */
DEVICE float attend_value(struct ct_gpu_kv kv, GLOBAL const uint8_t *v, LOCAL const float *weight, uint32_t d,
                          uint32_t first, uint32_t last)
{
    GLOBAL const uint32_t *pair = (GLOBAL const uint32_t *)v + d;
    float sum = 0.0f;

    for (uint32_t g = first / 32 * 32; g <= last; g += 32) {
        float e = 0.0f, o = 0.0f;
        if (kv.type == CT_GPU_KV_BF16)
            for (uint32_t j = g; j < g + 32; j += 2) {
                uint32_t both = pair[(uint64_t)(j / 2) * kv.dim];
                e = FMA(weight[j], gpu_low(both), e);
                o = FMA(weight[j + 1], gpu_high(both), o);
            }
        else
            for (uint32_t j = g; j < g + 32; j++) {
                float next = FMA(weight[j], gpu_kept(kv, v, j, d, true), e);
                e = o;
                o = next;
            }
        sum = ADD(sum, ADD(e, o));
    }
    return sum;
}

KERNEL(attend, ct_gpu_attend)
{
    THREADS(ct_gpu_attend);
    SHARED float q[MOST_DIM], acc[MOST_DIM], weight[BLOCK], total;
    SHARED uint32_t tops[BLOCK / 32];
    uint32_t dim = a.kv.dim;
    int sequence = a.kv.sequence[row], lowest = a.seen[row * 2], highest = a.seen[row * 2 + 1];
    float most = 0.0f, sum = 0.0f;

    for (uint32_t d = (uint32_t)tid; d < dim; d += BLOCK) {
        float v = a.q[(long)row * a.ldq + bid * dim + d];
        q[d] = a.kv.type == CT_GPU_KV_BF16 ? gpu_bf16_round(v) : v;
    }
    BARRIER();
    for (int number = lowest / 256; number <= highest / 256; number++) {
        int block = a.kv.table[sequence * a.kv.length + number % a.kv.length];
        uint64_t head = (uint64_t)block * a.kv.block_bytes + (uint64_t)(bid / a.group) * a.kv.head_bytes;
        int first = lowest - number * 256, last = highest - number * 256;
        first = first > 0 ? first : 0;
        last = last < 255 ? last : 255;
        bool visible = tid >= first && tid <= last;
        float s = visible ? MUL(attend_score(a.kv, a.kv.k + head, q, tid), a.scale) : 0.0f;
        if (a.cap != 0.0f)
            s = MUL(a.cap, gpu_tanh(DIV(s, a.cap)));
        uint32_t top = AS_U32(s); /* turned so that it orders as the value does; 0 is below all */
        top = visible ? (top & 0x80000000u ? ~top : top | 0x80000000u) : 0u;
        for (int d = 16; d; d >>= 1) {
            uint32_t other = SHFL_XOR(top, d);
            top = other > top ? other : top;
        }
        if (lane == 0)
            tops[tid / 32] = top;
        BARRIER();
        for (int i = 0; i < BLOCK / 32; i++)
            top = tops[i] > top ? tops[i] : top;
        float m = AS_F32(top & 0x80000000u ? top & 0x7fffffffu : ~top);
        float e = visible ? gpu_exp(ADD(s, -m)) : 0.0f;
        weight[tid] = a.kv.type == CT_GPU_KV_BF16 ? gpu_bf16_round(e) : e;
        BARRIER();
        float p = 0.0f;
        for (int i = 0; i < BLOCK; i += 32)
            p = ADD(p, weight[i + lane]);
        for (int d = 16; d; d >>= 1)
            p = ADD(p, SHFL_DOWN(p, d));
        if (tid == 0)
            total = p;
        BARRIER();
        float one = 1.0f, by = 1.0f, l = total; /* the first block is taken as it is */
        bool begins = sum == 0.0f;
        if (!begins) { /* of the two factors one is 1 */
            bool higher = most > m;
            float less = gpu_exp(higher ? ADD(m, -most) : ADD(most, -m));
            one = higher ? 1.0f : less;
            by = higher ? less : 1.0f;
            m = higher ? most : m;
        }
        sum = begins ? l : FMA(sum, one, MUL(l, by));
        most = m;
        for (uint32_t d = (uint32_t)tid; d < dim; d += BLOCK) {
            float o = attend_value(a.kv, a.kv.v + head, weight, d, first, last);
            acc[d] = begins ? o : FMA(acc[d], one, MUL(o, by));
        }
        BARRIER(); /* the next block's weights take the place of these */
    }
    for (uint32_t d = (uint32_t)tid; d < dim; d += BLOCK)
        a.out[(long)row * a.ldo + bid * dim + d] = DIV(acc[d], sum);
}
