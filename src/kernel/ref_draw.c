/* ref_draw.c: the arithmetic of sampling (NUMERICS.md section 8): top-k, softmax at temperature, top-p, min-p and the
 * draw with counter-based random numbers. Which parameters apply is decided by text/sampler.c and the caller. */
#include "kernel/ref.h"

/* Philox4x32-10 (Salmon et al., 2011): the first word for this key and counter. */
static uint32_t philox(uint64_t seed, uint32_t position, uint32_t session)
{
    uint32_t c0 = position, c1 = session, c2 = 0, c3 = 0;
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

/* The k best allowed ids, best first; returns how many there are. n log k. */
static int top_k(int32_t *order, const float *logits, int n, int k, const struct ct_draw *d)
{
    int kept = 0;

    for (int32_t id = 0; id < n; id++) {
        if (kept == k && !before(logits, id, order[0]))
            continue;
        if (is_banned(d, id))
            continue;
        if (kept < k) {
            order[kept++] = id;
            if (kept == k)
                for (int i = k / 2 - 1; i >= 0; i--)
                    sift(logits, order, k, i);
        } else {
            order[0] = id;
            sift(logits, order, k, 0);
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

int32_t CT_NAME(ct_draw)(const float *logits, int n, const struct ct_draw *d, int32_t *order, float *weight)
{
    int k = d->temperature == 0 ? 1 : d->top_k == 0 ? n : CT_MIN(d->top_k, n);
    k = top_k(order, logits, n, k, d);
    if (k <= 1)
        return k ? order[0] : -1;

    float top = logits[order[0]] / d->temperature, p[32] = {0};
    for (int i = 0; i < k; i++) {
        weight[i] = ct_exp(logits[order[i]] / d->temperature - top);
        p[i % 32] += weight[i];
    }
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
    float target = (float)(philox(d->seed, d->position, d->session) >> 8) * 0x1p-24f * total;
    for (int i = 0; i < keep; i++) {
        reached += weight[i];
        if (reached > target)
            return order[i];
    }
    return order[keep - 1];
}
