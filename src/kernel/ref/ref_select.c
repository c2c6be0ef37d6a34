/* SPDX-License-Identifier: Apache-2.0 */
/* ref_select.c: the k best of many logits, in order: by a heap of k where k is small, else by a sort. */
#include "kernel/ref/ref.h"

/* NaN is like -infinity. */
static float select_value(const float *value, int32_t at)
{
    return value[at] != value[at] ? -__builtin_inff() : value[at];
}

/* The order: higher value first, then lower place, which is that of the lower id. */
static bool select_before(const float *value, int32_t a, int32_t b)
{
    float x = select_value(value, a), y = select_value(value, b);
    return x > y || (x == y && a < b);
}

/* Restores the heap whose root is the candidate that comes last in the order. */
static void select_sift(const float *value, int32_t *heap, int n, int at)
{
    int32_t place = heap[at];
    for (int child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && select_before(value, heap[child], heap[child + 1]))
            child++;
        if (!select_before(value, place, heap[child]))
            break;
        heap[at] = heap[child];
    }
    heap[at] = place;
}

/* Without an early exit, so that compilers vectorise it. */
static bool select_excludes(const int32_t *excluded, int n_excluded, int32_t id)
{
    int any = 0;
    for (int i = 0; i < n_excluded; i++)
        any |= excluded[i] == id;
    return any;
}

/* True when one of BLOCK values is above the limit; without an early exit, too. */
enum { BLOCK = 32 };
static bool select_any_above(const float *value, float limit)
{
    int any = 0;
    for (int i = 0; i < BLOCK; i++)
        any |= value[i] > limit;
    return any;
}

int CT_NAME(ct_above)(const float *x, int n, float limit)
{
    int at = 0;

    while (at + BLOCK <= n && !select_any_above(x + at, limit))
        at += BLOCK;
    while (at < n && !(x[at] > limit))
        at++;
    return at;
}

/* n log k at worst. Of many values hardly one in a hundred enters the heap; the others are skipped by blocks.
 * A value equal to the root's does not enter: its place is higher. */
static int select_by_heap(int32_t *best, const struct ct_logits *l, int k, const int32_t *excluded,
                          int n_excluded)
{
    const float *value = l->value;
    float limit = 0; /* when the heap is full, the value of its root */
    int kept = 0;

    for (int32_t begin = 0, end; begin < l->n; begin = end) {
        end = CT_MIN(begin + BLOCK, l->n);
        if (kept == k && end - begin == BLOCK && !select_any_above(value + begin, limit))
            continue;
        for (int32_t at = begin; at < end; at++) {
            if ((kept == k && !(value[at] > limit)) ||
                select_excludes(excluded, n_excluded, ct_logits_id(l, at)))
                continue;
            if (kept == k) {
                best[0] = at;
                select_sift(value, best, k, 0);
            } else {
                best[kept++] = at;
                for (int i = k / 2 - 1; kept == k && i >= 0; i--)
                    select_sift(value, best, k, i);
            }
            limit = select_value(value, best[0]);
        }
    }
    if (kept < k)
        for (int i = kept / 2 - 1; i >= 0; i--)
            select_sift(value, best, kept, i);
    for (int i = kept - 1; i > 0; i--) { /* the worst goes to the end, again and again */
        int32_t worst = best[0];
        best[0] = best[i];
        best[i] = worst;
        select_sift(value, best, i, 0);
    }
    return kept;
}

/* A number that rises as values fall; the same for 0 and -0, and for NaN and -infinity. Without branches,
 * half of which would be predicted wrong. */
static uint32_t select_rank(float value)
{
    uint32_t u = ct_f32_bits(value + 0.0f), negative = 0u - (u >> 31);
    return value != value ? 0xff800000u : u ^ (0x7fffffffu & ~negative);
}

/* All of them, best first: a radix sort from the lowest digit on, which keeps the order of equal values. */
static int select_by_sort(int32_t *best, void *spare, const struct ct_logits *l, const int32_t *excluded,
                          int n_excluded)
{
    enum { PASSES = 3, BITS = 11, DIGITS = 1 << BITS };
    int32_t place[PASSES][DIGITS] = {{0}}; /* how many have this digit; then where the next one goes */
    int kept = 0;

    for (int32_t at = 0; at < l->n; at++)
        best[at] = at;
    for (int i = 0; i < n_excluded; i++) {
        int32_t at = ct_logits_place(l, excluded[i]);
        if (at >= 0)
            best[at] = -1;
    }
    for (int32_t at = 0; at < l->n; at++) {
        if (best[at] < 0)
            continue;
        best[kept++] = at;
        for (int pass = 0; pass < PASSES; pass++)
            place[pass][select_rank(l->value[at]) >> pass * BITS & (DIGITS - 1)]++;
    }
    for (int pass = 0; pass < PASSES; pass++) {
        int32_t sum = 0;
        for (int digit = 0; digit < DIGITS; digit++) {
            int32_t count = place[pass][digit];
            place[pass][digit] = sum;
            sum += count;
        }
        for (int i = 0; i < kept; i++) {
            int32_t at = place[pass][select_rank(l->value[best[i]]) >> pass * BITS & (DIGITS - 1)]++;
            memcpy((uint8_t *)spare + (size_t)at * sizeof *best, &best[i], sizeof *best);
        }
        memcpy(best, spare, (size_t)kept * sizeof *best);
    }
    return kept;
}

int CT_NAME(ct_select)(int32_t *best, const struct ct_logits *l, int k, const int32_t *excluded,
                       int n_excluded, void *spare)
{
    k = CT_MIN(k, l->n);
    /* a large heap costs more than sorting all values */
    if (k > 1 && k > l->n / 64 && l->n > 256 && spare)
        return CT_MIN(k, select_by_sort(best, spare, l, excluded, n_excluded));
    return k > 0 ? select_by_heap(best, l, k, excluded, n_excluded) : 0;
}
