/* SPDX-License-Identifier: Apache-2.0 */
/* attend.cu: attention of one query head over all key blocks that its row sees (NUMERICS.md section 7). A
 * thread is a key for the scores, and a channel, or two, for the sum over values; blocks are merged one after
 * another, each thread its channels. */

enum { MOST_DIM = 512, CHANNELS = MOST_DIM / BLOCK };

DEVICE float attend_score(GLOBAL const uint32_t *key, LOCAL const float *q, int dim)
{
    float s = 0.0f;

    for (int g = 0; g < dim; g += 32) {
        float e = 0.0f, o = 0.0f;
        for (int d = g; d < g + 32 && d < dim; d += 2) {
            uint32_t pair = key[d * 8];
            e = FMA(gpu_low(pair), q[d], e);
            o = FMA(gpu_high(pair), q[d + 1], o);
        }
        s = ADD(s, ADD(e, o));
    }
    return s;
}

/* Groups of 32 keys that hold a visible one. */
DEVICE float attend_value(GLOBAL const uint32_t *value, LOCAL const float *weight, int dim, int first,
                          int last)
{
    float sum = 0.0f;

    for (int g = first / 32; g <= last / 32; g++) {
        float e = 0.0f, o = 0.0f;
        for (int j = g * 32; j < g * 32 + 32; j += 2) {
            uint32_t pair = value[(long)(j / 2) * dim];
            e = FMA(weight[j], gpu_low(pair), e);
            o = FMA(weight[j + 1], gpu_high(pair), o);
        }
        sum = ADD(sum, ADD(e, o));
    }
    return sum;
}

KERNEL(attend, ct_gpu_attend)
{
    THREADS(ct_gpu_attend);
    SHARED float q[MOST_DIM], weight[BLOCK], total;
    SHARED uint32_t tops[BLOCK / 32];
    int dim = a.kv.dim, sequence = a.kv.sequence[row], lowest = a.seen[row * 2],
        highest = a.seen[row * 2 + 1];
    float most = 0.0f, sum = 0.0f, acc[CHANNELS] = {0.0f};

    for (int d = tid; d < dim; d += BLOCK)
        q[d] = gpu_bf16_round(a.q[(long)row * a.ldq + bid * dim + d]);
    BARRIER();
    for (int number = lowest / 256; number <= highest / 256; number++) {
        int block = a.kv.table[sequence * a.kv.length + number % a.kv.length];
        long head = (long)block * (long)a.kv.block_bytes + (long)(bid / a.group) * dim * 512;
        GLOBAL const uint32_t *k = (GLOBAL const uint32_t *)(a.kv.k + head);
        GLOBAL const uint32_t *v = (GLOBAL const uint32_t *)(a.kv.v + head);
        int first = lowest - number * 256, last = highest - number * 256;
        first = first > 0 ? first : 0;
        last = last < 255 ? last : 255;
        bool visible = tid >= first && tid <= last;
        float s = visible ? MUL(attend_score(k + tid / 16 * dim * 8 + tid % 16, q, dim), a.scale) : 0.0f;
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
        weight[tid] = visible ? gpu_bf16_round(gpu_exp(ADD(s, -m))) : 0.0f;
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
        if (!begins) {
            float both = most > m ? most : m;
            one = gpu_exp(ADD(most, -both));
            by = gpu_exp(ADD(m, -both));
            m = both;
        }
        sum = begins ? l : FMA(sum, one, MUL(l, by));
        most = m;
        for (int c = 0; c < CHANNELS; c++) {
            int d = c * BLOCK + tid;
            if (d < dim) {
                float o = attend_value(v + d, weight, dim, first, last);
                acc[c] = begins ? o : FMA(acc[c], one, MUL(o, by));
            }
        }
        BARRIER(); /* the next block's weights take the place of these */
    }
    for (int c = 0; c < CHANNELS; c++)
        if (c * BLOCK + tid < dim)
            a.out[(long)row * a.ldo + bid * dim + c * BLOCK + tid] = DIV(acc[c], sum);
}
