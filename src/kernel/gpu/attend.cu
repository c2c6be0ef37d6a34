/* SPDX-License-Identifier: Apache-2.0 */
/* attend.cu: attention (NUMERICS.md section 7). A block has queries of one KV head, so that K and V are read
 * once for all of them, and goes through blocks of 256 keys: scores of all keys, a warp for the weights of
 * each query, and sums over values. Scores and sums are products by groups of 32 alike: a thread multiplies
 * four inputs by four outputs at a time for every query, a group to the end, and threads add the groups up in
 * their order. Blocks of keys are merged in ascending order: here, or where they were split among blocks, by
 * attend_merge. */

/* INPUTS: of a query in shared memory: its values for scores, and at OF_SUMS the weights of 256 keys. IN_PART:
 * queries whose groups are added up at a time. */
enum { QUERIES = CT_GPU_QUERIES, OF_SUMS = 512, INPUTS = OF_SUMS + BLOCK, IN_PART = QUERIES / 2 };

/* The place of a group of inputs of four outputs: lines of an input, or of a pair, `step` bytes apart. Heads
 * have a multiple of four channels, so that what is read together is aligned. */
struct attend_lines {
    GLOBAL const uint8_t *at;
    uint32_t step;
};

DEVICE struct attend_lines attend_lines(struct ct_gpu_kv kv, GLOBAL const uint8_t *head, bool is_v,
                                        uint32_t in, uint32_t out)
{
    uint32_t bytes = kv.type == CT_GPU_KV_F16 ? 2 : 4, pairs = kv.type == CT_GPU_KV_BF16;
    uint32_t line = is_v ? kv.dim : 16, before = is_v ? in : out / 16 * kv.dim + in;
    struct attend_lines l = {head + ((before >> pairs) * line + (is_v ? out : out % 16)) * bytes,
                             line * bytes};

    if (kv.type == CT_GPU_KV_Q8) {
        l.at = head + gpu_kv_group(kv, is_v ? in : out, is_v ? out : in);
        l.step = is_v ? 32 : 16;
    }
    return l;
}

/* Two inputs of four outputs: channels of keys for scores, keys of channels for sums. */
struct attend_values {
    float of[2][4];
};

DEVICE struct attend_values attend_load(struct ct_gpu_kv kv, struct attend_lines l, bool is_v, uint32_t in,
                                        uint32_t out)
{
    struct attend_values v;

    if (kv.type == CT_GPU_KV_BF16) {
        struct gpu_four pair = *(GLOBAL const struct gpu_four *)(l.at + in % 32 / 2 * l.step);
        uint32_t of[4] = {pair.x, pair.y, pair.z, pair.w};
        UNROLLED for (int c = 0; c < 4; c++)
        {
            v.of[0][c] = gpu_low(of[c]);
            v.of[1][c] = gpu_high(of[c]);
        }
        return v;
    }
    UNROLLED for (uint32_t k = 0; k < 2; k++)
    {
        GLOBAL const uint8_t *at = l.at + (in % 32 + k) * l.step;
        if (kv.type == CT_GPU_KV_F32) {
            struct gpu_four four = *(GLOBAL const struct gpu_four *)at;
            v.of[k][0] = AS_F32(four.x);
            v.of[k][1] = AS_F32(four.y);
            v.of[k][2] = AS_F32(four.z);
            v.of[k][3] = AS_F32(four.w);
        } else if (kv.type == CT_GPU_KV_F16) {
            struct gpu_two four = *(GLOBAL const struct gpu_two *)at;
            v.of[k][0] = gpu_f16(four.x & 0xffffu);
            v.of[k][1] = gpu_f16(four.x >> 16);
            v.of[k][2] = gpu_f16(four.y & 0xffffu);
            v.of[k][3] = gpu_f16(four.y >> 16);
        } else {
            uint32_t line = in % 32 + k, behind = is_v ? line / 16 : 0; /* a group has 16 keys */
            GLOBAL const uint8_t *group = l.at + behind * ((kv.dim + 31) / 32 * (16 * 34));
            line -= behind * 16;
            uint32_t codes =
                *(GLOBAL const uint32_t *)(group + 32 + line * l.step + (is_v ? out % 32 : out % 16));
            GLOBAL const uint16_t *scale = (GLOBAL const uint16_t *)group + (is_v ? line : out % 16);
            UNROLLED for (uint32_t c = 0; c < 4; c++) v.of[k][c] =
                MUL(gpu_f16(scale[is_v ? 0 : c]), (float)(int8_t)(codes >> c * 8));
        }
    }
    return v;
}

/* A float as a number that orders as it does, and is more than 0. */
DEVICE uint32_t attend_order(float x)
{
    uint32_t u = AS_U32(x);
    return u & 0x80000000u ? ~u : u | 0x80000000u;
}

DEVICE float attend_ordered(uint32_t order)
{
    return AS_F32(order & 0x80000000u ? order & 0x7fffffffu : ~order);
}

/* The merge multiplies by these factors: of the two, one is 1. */
struct attend_factors {
    float of_all, of_block, most; /* most: of both */
};

DEVICE struct attend_factors attend_factors(float all, float block)
{
    bool higher = all > block;
    float less = gpu_exp(higher ? ADD(block, -all) : ADD(all, -block));
    struct attend_factors f = {higher ? 1.0f : less, higher ? less : 1.0f, higher ? all : block};
    return f;
}

/* Facts about a query. Factors below 0: its sums are taken as they are; it sees none of these keys. */
struct attend_query {
    GLOBAL float *to, *parts; /* where sums over values go; parts of the query */
    int row, first, last;     /* of the block's rows, -1: none; the keys that it sees */
    float of_all, of_block, most, sum;
};

/* Scores of a lane become scaled and capped ones; the highest as a number, of those that are seen. */
DEVICE uint32_t attend_scale(struct ct_gpu_attend a, LOCAL float *score, int first, int last, int lane)
{
    uint32_t top = 0;

    for (int j = lane; j < BLOCK; j += 32) {
        float s = MUL(score[j], a.scale);
        if (a.cap != 0.0f)
            s = MUL(a.cap, gpu_tanh(DIV(s, a.cap)));
        uint32_t order = j >= first && j <= last ? attend_order(s) : 0;
        top = order > top ? order : top;
        score[j] = s;
    }
    return top;
}

/* And then weights; their sum, which is one of the 32 partial ones. */
DEVICE float attend_weigh(struct ct_gpu_attend a, LOCAL float *score, float most, int first, int last,
                          int lane)
{
    float l = 0.0f;

    for (int j = lane; j < BLOCK; j += 32) {
        float e = j >= first && j <= last ? gpu_exp(ADD(score[j], -most)) : 0.0f;
        score[j] = a.kv.type == CT_GPU_KV_BF16 ? gpu_bf16_round(e) : e;
        l = ADD(l, score[j]);
    }
    return l;
}

/* Notes what a block of keys is to a query: it is merged with the others, or left as a part. */
DEVICE void attend_note(struct ct_gpu_attend a, LOCAL struct attend_query *q, bool seen, float m, float l,
                        int entry)
{
    struct attend_factors f = attend_factors(q->most, m);
    bool begins = q->sum == 0.0f;

    q->of_all = begins ? -1.0f : f.of_all;
    q->of_block = seen ? f.of_block : -1.0f;
    if (seen && a.splits > 1) {
        q->to = q->parts + entry * (a.kv.dim + 2);
        q->to[a.kv.dim] = m;
        q->to[a.kv.dim + 1] = l;
    } else if (seen) {
        q->sum = begins ? l : FMA(q->sum, f.of_all, MUL(l, f.of_block));
        q->most = begins ? m : f.most;
    }
}

/* A round of products: groups of inputs, of which [first, end) count, from `group` on, of outputs from `from`
 * on, of which [low, high] count. */
struct attend_round {
    bool is_v;
    uint32_t group, first, end, inputs;
    int from, low, high, outputs;
};

/* Four groups of 256 keys, or eight groups of 128 channels. */
DEVICE struct attend_round attend_round(uint32_t dim, int i, int of_keys, int first, int last)
{
    struct attend_round keys = {false, (uint32_t)i * 4, 0, (dim + 31) / 32, dim, 0, first, last, 256};
    struct attend_round channels = {
        true,         0,  (uint32_t)first / 32, (uint32_t)last / 32 + 1, BLOCK, (i - of_keys) * 128, 0,
        (int)dim - 1, 128};
    return i < of_keys ? keys : channels;
}

/* The sums of a group: for each query the two chains of four outputs. */
struct attend_chains {
    float e[QUERIES][4], o[QUERIES][4];
};

/* A thread's own group. */
DEVICE struct attend_chains attend_multiply(struct ct_gpu_kv kv, GLOBAL const uint8_t *head,
                                            struct attend_round r, LOCAL const float *input, int queries,
                                            int tid)
{
    int quads = r.outputs / 4, out = r.from + tid % quads * 4;
    uint32_t g = r.group + (uint32_t)(tid / quads), end = g * 32 + 32 < r.inputs ? g * 32 + 32 : r.inputs;
    struct attend_chains sums;

    UNROLLED for (int i = 0; i < QUERIES; i++) UNROLLED for (int c = 0; c < 4; c++) sums.e[i][c] =
        sums.o[i][c] = 0.0f;
    if (g < r.first || g >= r.end || out > r.high || out + 3 < r.low)
        end = 0; /* nobody asks for these */
    struct attend_lines l = attend_lines(kv, head, r.is_v, g * 32, (uint32_t)out);
    for (uint32_t in = g * 32; in < end; in += 2) {
        struct attend_values v = attend_load(kv, l, r.is_v, in, (uint32_t)out);
        UNROLLED for (int i = 0; i < QUERIES; i++)
        {
            if (i >= queries)
                continue;
            struct gpu_two w = *(LOCAL const struct gpu_two *)(input + i * INPUTS + in);
            UNROLLED for (int c = 0; c < 4; c++)
            {
                sums.e[i][c] = FMA(v.of[0][c], AS_F32(w.x), sums.e[i][c]);
                sums.o[i][c] = FMA(v.of[1][c], AS_F32(w.y), sums.o[i][c]);
            }
        }
    }
    return sums;
}

/* Adds up what groups gave of IN_PART queries from `first` on: to scores, or to where sums over values go. */
DEVICE void attend_add_up(LOCAL const float *part, struct attend_round r, LOCAL float *score,
                          LOCAL const struct attend_query *query, int first, int queries, int tid)
{
    int groups = 1024 / r.outputs;
    int begin = r.first > r.group ? (int)(r.first - r.group) : 0, end = (int)(r.end - r.group);

    end = end < groups ? end : groups;
    for (int k = tid; k < IN_PART * r.outputs; k += BLOCK) {
        int i = first + k / r.outputs, c = k % r.outputs, out = r.from + c;
        if (i >= queries || out < r.low || out > r.high)
            continue;
        LOCAL float *own = score + i * INPUTS + c;
        float s = r.is_v || r.group == 0 ? 0.0f : *own;
        for (int g = begin; g < end; g++)
            s = ADD(s, part[k / r.outputs * 1024 + g * r.outputs + c]);
        if (!r.is_v) {
            *own = s;
        } else if (query[i].of_block >= 0.0f) {
            GLOBAL float *to = query[i].to + out;
            float of_all = query[i].of_all;
            *to = of_all < 0.0f ? s : FMA(*to, of_all, MUL(s, query[i].of_block));
        }
    }
}

KERNEL(attend, ct_gpu_attend)
{
    THREADS(ct_gpu_attend);
    SHARED struct gpu_four rooms[(QUERIES * INPUTS + IN_PART * 1024) / 4];
    SHARED struct attend_query query[QUERIES];
    LOCAL struct attend_query *mine = &query[tid / 32];
    LOCAL float *input = (LOCAL float *)rooms, *weight = input + OF_SUMS, *part = input + QUERIES * INPUTS;
    int dim = (int)a.kv.dim, chunks = (a.group + a.heads - 1) / a.heads, chunk = bid / a.splits % chunks;
    int kv_head = bid / a.splits / chunks, head = kv_head * a.group + chunk * a.heads;
    int heads = a.group - chunk * a.heads < a.heads ? a.group - chunk * a.heads : a.heads;
    int top = row * a.rows, rows = a.n - top < a.rows ? a.n - top : a.rows;
    int queries = rows * heads;
    GLOBAL const int32_t *seen = a.seen + top * 2;

    if (lane == 0) {
        int own = tid / 32 < queries ? tid / 32 : 0, of = own / heads;
        long own_row = top + of, own_head = head + own % heads;
        mine->to = a.out + own_row * a.ldo + own_head * dim;
        mine->parts = a.part + (own_row * a.all + own_head) * a.kv.length * (dim + 2);
        mine->row = tid / 32 < queries ? of : -1;
        mine->first = seen[of * 2];
        mine->last = seen[of * 2 + 1];
        mine->most = mine->sum = 0.0f;
    }
    for (int i = tid; i < queries * dim; i += BLOCK) {
        int of = i / dim, d = i % dim;
        float v = a.q[(long)(top + of / heads) * a.ldq + (long)(head + of % heads) * dim + d];
        input[of * INPUTS + d] = a.kv.type == CT_GPU_KV_BF16 ? gpu_bf16_round(v) : v;
    }
    BARRIER();
    for (int begin = 0, end; begin < rows; begin = end) { /* rows of a sequence */
        int sequence = a.kv.sequence[top + begin], lowest = seen[begin * 2], highest = lowest;
        for (end = begin; end < rows && a.kv.sequence[top + end] == sequence; end++) {
            lowest = seen[end * 2] < lowest ? seen[end * 2] : lowest;
            highest = seen[end * 2 + 1] > highest ? seen[end * 2 + 1] : highest;
        }
        for (int number = lowest / 256 + bid % a.splits; number <= highest / 256; number += a.splits) {
            int first = 256, last = -1; /* keys that a query sees */
            for (int r = begin; r < end; r++) {
                int from = seen[r * 2] - number * 256, to = seen[r * 2 + 1] - number * 256;
                from = from > 0 ? from : 0;
                to = to < 255 ? to : 255;
                first = from <= to && from < first ? from : first;
                last = from <= to && to > last ? to : last;
            }
            if (first > last)
                continue;
            int entry = number % a.kv.length;
            uint64_t at = (uint64_t)a.kv.table[sequence * a.kv.length + entry] * a.kv.block_bytes +
                          (uint64_t)kv_head * a.kv.head_bytes;
            int of_keys = (dim + 127) / 128, of_channels = of_keys;
            for (int i = 0; i < of_keys + of_channels; i++) {
                struct attend_round r = attend_round(a.kv.dim, i, of_keys, first, last);
                if (i == of_keys) {
                    LOCAL float *score = weight + tid / 32 * INPUTS;
                    int from = mine->first - number * 256, to = mine->last - number * 256;
                    uint32_t order = attend_scale(a, score, from, to, lane);
                    for (int d = 16; d; d >>= 1) {
                        uint32_t other = SHFL_XOR(order, d);
                        order = other > order ? other : order;
                    }
                    float m = attend_ordered(order), l = attend_weigh(a, score, m, from, to, lane);
                    FOLD(l);
                    bool sees = mine->row >= begin && mine->row < end && from <= 255 && to >= 0;
                    if (lane == 0)
                        attend_note(a, mine, sees, m, l, entry);
                    BARRIER();
                }
                struct attend_chains sums = attend_multiply(a.kv, (r.is_v ? a.kv.v : a.kv.k) + at, r,
                                                            r.is_v ? weight : input, queries, tid);
                for (int half = 0; half < queries; half += IN_PART) {
                    UNROLLED for (int q = 0; q < IN_PART; q++)
                    {
                        LOCAL float *gives = part + q * 1024 + tid * 4;
                        UNROLLED for (int c = 0; c < 4; c++) gives[c] =
                            half ? ADD(sums.e[IN_PART + q][c], sums.o[IN_PART + q][c])
                                 : ADD(sums.e[q][c], sums.o[q][c]);
                    }
                    BARRIER();
                    attend_add_up(part, r, weight, query, half, queries, tid);
                    BARRIER();
                }
            }
        }
    }
    for (int i = tid; a.splits == 1 && i < queries * dim; i += BLOCK) {
        GLOBAL float *to = query[i / dim].to + i % dim;
        *to = DIV(*to, query[i / dim].sum);
    }
}

KERNEL(attend_merge, ct_gpu_attend_merge)
{
    THREADS(ct_gpu_attend_merge);
    int first = a.seen[row * 2] / 256, last = a.seen[row * 2 + 1] / 256;
    GLOBAL const float *part = a.part + ((uint64_t)row * a.all + bid) * a.length * (a.dim + 2);

    for (int d = tid; d < a.dim; d += BLOCK) {
        float most = 0.0f, sum = 0.0f, acc = 0.0f;
        for (int number = first; number <= last; number++) {
            GLOBAL const float *block = part + (uint64_t)(number % a.length) * (a.dim + 2);
            float o = block[d], m = block[a.dim], l = block[a.dim + 1];
            struct attend_factors f = attend_factors(most, m);
            bool begins = number == first;
            acc = begins ? o : FMA(acc, f.of_all, MUL(o, f.of_block));
            sum = begins ? l : FMA(sum, f.of_all, MUL(l, f.of_block));
            most = begins ? m : f.most;
        }
        a.out[(uint64_t)row * a.ldo + bid * a.dim + d] = DIV(acc, sum);
    }
}
