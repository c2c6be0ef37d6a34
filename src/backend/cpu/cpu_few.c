/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_few.c: what draws read of logits, found by each thread in those that it has just computed: they are in
 * its cache, and the others need not be written anywhere. The products are cpu_project.c's.
 *
 * A thread has a heap of its best, in the memory where all logits of the row would lie. These are written
 * only for who reads all, in the same pass over the head. */
#include "backend/cpu/cpu_product.h"

/* ---- the best of a thread ---- */

/* A candidate in a number that is lower for a higher value, and then for a lower id. NaN is like -infinity.
 * 0 and -0 are equal, and the last bit tells which it was. */
static uint32_t rank_of(float value)
{
    const uint32_t u = ct_f32_bits(value != value ? -__builtin_inff() : value + 0.0f);
    return u >> 31 ? u : 0x7fffffffu - u;
}

static float of_rank(uint32_t rank)
{
    return ct_f32_from_bits(rank >> 31 ? rank : 0x7fffffffu - rank);
}

static uint64_t key_of(float value, int32_t id)
{
    return (uint64_t)rank_of(value) << 32 | (uint32_t)id << 1 | (ct_f32_bits(value) == 0x80000000u);
}

static int32_t id_in(uint64_t key)
{
    return (int32_t)((uint32_t)key >> 1);
}

static float value_in(uint64_t key)
{
    return key & 1 ? -0.0f : of_rank((uint32_t)(key >> 32));
}

/* Restores the heap whose root is the highest. */
static void sift(uint64_t *heap, int n, int at)
{
    const uint64_t key = heap[at];

    for (int child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && heap[child + 1] > heap[child];
        if (key >= heap[child])
            break;
        heap[at] = heap[child];
    }
    heap[at] = key;
}

static void make_heap(uint64_t *heap, int n)
{
    for (int i = n / 2 - 1; i >= 0; i--)
        sift(heap, n, i);
}

static void sort(uint64_t *key, int n)
{
    make_heap(key, n);
    while (--n > 0) {
        const uint64_t highest = key[0];
        key[0] = key[n];
        key[n] = highest;
        sift(key, n, 0);
    }
}

/* ---- memory ---- */

/* The memory of a row has four parts: what is found, in its final form; the values of ids apart; what is
 * found, to be sorted; and for each thread how many it has, and the heap of its best. */
static int read_of(const struct ct_reading *r)
{
    return r->k + r->n_apart;
}

static float *apart_of(const struct ct_few *few)
{
    return few->memory + 2 * read_of(few->reading);
}

static uint64_t *sorted_of(const struct ct_few *few)
{
    const uintptr_t at = (uintptr_t)(apart_of(few) + few->reading->n_apart);
    return (uint64_t *)ct_round_up(at, sizeof(uint64_t)); /* rows of logits may be of odd numbers */
}

static uint64_t *found_by(const struct ct_few *few, int thread)
{
    return sorted_of(few) + read_of(few->reading) + (size_t)thread * (size_t)(few->reading->k + 1);
}

/* True when there is room for that where all logits would have it. */
static bool fits(const struct ct_few *few, int threads, int logits)
{
    return found_by(few, threads) <= (const uint64_t *)(const void *)(few->memory + logits);
}

/* ---- finding ---- */

void ct_cpu_few_begin(const struct ct_cpu_backend *b, struct ct_few *few, int n, int logits)
{
    for (int i = 0; i < n; i++)
        if (few[i].reading && fits(&few[i], b->threads, logits)) {
            few[i].logits = (struct ct_logits){0};
            for (int thread = 0; thread < b->threads; thread++)
                *found_by(&few[i], thread) = 0;
        } else
            few[i].logits = (struct ct_logits){few[i].memory, NULL, logits};
}

/* The place in the ids apart from which on they are `id` or above. */
static int apart_from(const struct ct_reading *r, int32_t id)
{
    int low = 0, high = r->n_apart;

    while (low < high) {
        const int middle = (low + high) / 2;
        *(r->apart[middle] < id ? &low : &high) = r->apart[middle] < id ? middle + 1 : middle;
    }
    return low;
}

static bool is_apart(const struct ct_reading *r, int32_t id)
{
    const int at = apart_from(r, id);
    return at < r->n_apart && r->apart[at] == id;
}

static void add_best(uint64_t *found, int k, uint64_t key)
{
    uint64_t *heap = found + 1;

    if (*found == (uint64_t)k) {
        if (key >= *heap)
            return;
        *heap = key;
        sift(heap, k, 0);
        return;
    }
    heap[(*found)++] = key;
    if (*found == (uint64_t)k)
        make_heap(heap, k);
}

/* The highest float that cannot be among the best by now; no value is above NaN. */
static float limit_of(const uint64_t *found, int k)
{
    const uint32_t zero = 0x7fffffffu, next = (uint32_t)(found[1] >> 32) + 1;

    if (*found < (uint64_t)k)
        return -__builtin_inff();
    return of_rank(next == zero + 1 ? next + 1 : next); /* -0 is no lower than 0 */
}

void ct_cpu_few_see(const struct ct_cpu_backend *b, const struct ct_few *few, const float *logits, int first,
                    int n, int thread)
{
    if (few->logits.value) { /* all are wanted */
        memcpy(few->memory + first, logits, (size_t)n * sizeof *logits);
        return;
    }
    const struct ct_reading *r = few->reading;
    uint64_t *found = found_by(few, thread);
    for (int i = apart_from(r, first); i < r->n_apart && r->apart[i] < first + n; i++)
        apart_of(few)[i] = logits[r->apart[i] - first];
    n = CT_MIN(n, r->n - first);
    for (int at = 0; (at += b->kernel.above(logits + at, n - at, limit_of(found, r->k))) < n; at++)
        if (!is_apart(r, first + at))
            add_best(found, r->k, key_of(logits[at], first + at));
}

static uint64_t found_value(int32_t id, float value)
{
    return (uint64_t)id << 32 | ct_f32_bits(value);
}

/* By ids ascending: values, and the ids behind them. */
static void end_row(struct ct_few *few, int threads)
{
    const struct ct_reading *r = few->reading;
    uint64_t *sorted = sorted_of(few), *best = found_by(few, 0);
    int n = 0;

    for (int thread = 1; thread < threads; thread++) {
        const uint64_t *more = found_by(few, thread);
        for (uint64_t i = 1; i <= *more; i++)
            add_best(best, r->k, more[i]);
    }
    for (uint64_t i = 1; i <= *best; i++)
        sorted[n++] = found_value(id_in(best[i]), value_in(best[i]));
    for (int i = 0; i < r->n_apart; i++)
        sorted[n++] = found_value(r->apart[i], apart_of(few)[i]);
    sort(sorted, n);
    int32_t *id = (int32_t *)(void *)(few->memory + n);
    for (int i = 0; i < n; i++) {
        few->memory[i] = ct_f32_from_bits((uint32_t)sorted[i]);
        id[i] = (int32_t)(sorted[i] >> 32);
    }
    few->logits = (struct ct_logits){few->memory, id, n};
}

struct ending {
    struct ct_few *few;
    int threads;
};

static void end_item(void *arg, int item, int thread)
{
    const struct ending *e = arg;

    (void)thread;
    if (!e->few[item].logits.value)
        end_row(&e->few[item], e->threads);
}

void ct_cpu_few_end(struct ct_cpu_backend *b, struct ct_few *few, int n)
{
    ct_pool_run(b->pool, n, end_item, &(struct ending){few, b->threads});
}
