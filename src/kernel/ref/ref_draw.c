/* SPDX-License-Identifier: Apache-2.0 */
/* ref_draw.c: the arithmetic of sampling (NUMERICS.md section 8): top-k, softmax at temperature, top-p,
 * min-p and the draw with counter-based random numbers. Which parameters apply is decided by
 * text/generation_config.c and the caller. */
#include "kernel/ref/ref.h"

/* Philox4x32-10 (Salmon et al., 2011): the first word for this key and counter. */
static uint32_t philox(uint64_t seed, uint32_t position, uint32_t number)
{
    uint32_t c0 = position, c1 = number, c2 = 0, c3 = 0;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);

    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c0;
}

/* The order of candidates: higher logit first, then lower id. */
static bool before(const float *logits, int32_t a, int32_t b)
{
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
}

/* Restores the heap whose root is the candidate that comes last in the order. */
static void sift(const float *logits, int32_t *heap, int n, int at)
{
    int32_t id = heap[at];
    for (int child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && before(logits, heap[child], heap[child + 1]))
            child++;
        if (!before(logits, id, heap[child]))
            break;
        heap[at] = heap[child];
    }
    heap[at] = id;
}

static bool is_banned(const struct ct_draw *d, int32_t id)
{
    for (int i = 0; i < d->n_banned; i++)
        if (d->banned[i] == id)
            return true;
    return false;
}

/* True when one of BLOCK logits is above the limit: without a way out, so that it is done in vectors. */
enum { BLOCK = 32 };
static bool any_above(const float *logits, float limit)
{
    int any = 0;
    for (int i = 0; i < BLOCK; i++)
        any |= logits[i] > limit;
    return any;
}

/* The k best allowed ids, best first; returns how many there are. n log k at worst; of many ids hardly one
 * in a hundred gets into the heap, the others are passed over by blocks. */
static int top_k(int32_t *order, const float *logits, int n, int k, const struct ct_draw *d)
{
    int kept = 0;

    for (int32_t begin = 0, end; begin < n; begin = end) {
        end = CT_MIN(begin + BLOCK, n);
        if (kept == k && end - begin == BLOCK && !any_above(logits + begin, logits[order[0]]))
            continue;
        for (int32_t id = begin; id < end; id++) {
            if ((kept == k && !before(logits, id, order[0])) || is_banned(d, id))
                continue;
            if (kept == k) {
                order[0] = id;
                sift(logits, order, k, 0);
                continue;
            }
            order[kept++] = id;
            if (kept == k)
                for (int i = k / 2 - 1; i >= 0; i--)
                    sift(logits, order, k, i);
        }
    }
    if (kept < k)
        for (int i = kept / 2 - 1; i >= 0; i--)
            sift(logits, order, kept, i);
    for (int i = kept - 1; i > 0; i--) { /* the worst goes to the end, again and again */
        int32_t worst = order[0];
        order[0] = order[i];
        order[i] = worst;
        sift(logits, order, i, 0);
    }
    return kept;
}

/* A number that rises as logits fall; the same for 0 and -0. In arithmetic: a branch would be guessed
 * wrong half of the time. */
static uint32_t rank_of(float logit)
{
    uint32_t u = ct_f32_bits(logit + 0.0f), negative = 0u - (u >> 31);
    return u ^ (0x7fffffffu & ~negative);
}

/* All allowed ids, best first; returns how many there are. A radix sort by digits from the lowest on,
 * which keeps the order of equals. spare has room for n ids. */
static int sort_all(int32_t *order, void *spare, const float *logits, int n, const struct ct_draw *d)
{
    enum { PASSES = 3, BITS = 11, DIGITS = 1 << BITS };
    int32_t place[PASSES][DIGITS] = {{0}}; /* how many ids have this digit; then where the next one goes */
    int kept = 0;

    for (int32_t id = 0; id < n; id++)
        order[id] = id;
    for (int i = 0; i < d->n_banned; i++)
        if (d->banned[i] < n)
            order[d->banned[i]] = -1;
    for (int32_t id = 0; id < n; id++) {
        if (order[id] < 0)
            continue;
        order[kept++] = id;
        for (int pass = 0; pass < PASSES; pass++)
            place[pass][rank_of(logits[id]) >> pass * BITS & (DIGITS - 1)]++;
    }
    for (int pass = 0; pass < PASSES; pass++) {
        int32_t sum = 0;
        for (int digit = 0; digit < DIGITS; digit++) {
            int32_t count = place[pass][digit];
            place[pass][digit] = sum;
            sum += count;
        }
        for (int i = 0; i < kept; i++) {
            int32_t at = place[pass][rank_of(logits[order[i]]) >> pass * BITS & (DIGITS - 1)]++;
            memcpy((uint8_t *)spare + (size_t)at * sizeof *order, &order[i], sizeof *order);
        }
        memcpy(order, spare, (size_t)kept * sizeof *order);
    }
    return kept;
}

int32_t CT_NAME(ct_draw)(const float *logits, int n, const struct ct_draw *d, int32_t *order, float *weight)
{
    int k = d->temperature == 0 ? 1 : d->top_k == 0 ? n : CT_MIN(d->top_k, n);
    if (k > 1 && k > n / 64) /* a heap of many costs more than to sort them all; weight is not yet in use */
        k = CT_MIN(k, sort_all(order, weight, logits, n, d));
    else
        k = top_k(order, logits, n, k, d);
    if (k <= 1)
        return k ? order[0] : -1;

    float top = logits[order[0]] / d->temperature, p[32] = {0};
    for (int i = 0; i < k; i++)
        weight[i] = logits[order[i]];
    for (int i = 0; i < k; i++)
        weight[i] = ct_exp(weight[i] / d->temperature - top);
    for (int i = 0; i < k; i++)
        p[i % 32] += weight[i];
    float sum = ct_fold(p), before_i = 0;
    for (int i = 0; i < k; i++)
        weight[i] = weight[i] / sum;
    int keep = k;
    for (int i = 0; i < k && d->top_p < 1; i++) { /* an id goes when the mass before it reaches top_p */
        if (i > 0 && before_i >= d->top_p) {
            keep = i;
            break;
        }
        before_i += weight[i];
    }
    while (keep > 1 && weight[keep - 1] < d->min_p * weight[0])
        keep--;

    float total = 0, reached = 0;
    for (int i = 0; i < keep; i++)
        total += weight[i];
    float target = (float)(philox(d->seed, d->position, d->number) >> 8) * 0x1p-24f * total;
    for (int i = 0; i < keep; i++) {
        reached += weight[i];
        if (reached > target)
            return order[i];
    }
    return order[keep - 1];
}
