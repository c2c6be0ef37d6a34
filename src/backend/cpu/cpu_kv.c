/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_kv.c: K and V in memory: a run of whole pages for each sequence, in it the layers one after another,
 * each with the heads of K and then those of V. What lies in a head: kernel/kernel.h. */
#include "backend/cpu/cpu_backend.h"

#include "base/redzone.h"
#include "os/memory.h"

/* Bytes of K, or of V, of all heads of a layer. */
static size_t half_bytes(const struct ct_kv *kv)
{
    return (size_t)kv->n_kv_head * ct_kv_bytes(kv->type, kv->capacity, kv->head_dim);
}

static uint8_t *sequence_at(const struct ct_cpu_backend *b, int sequence)
{
    return b->kv.base + (size_t)sequence * b->sequence_bytes;
}

/* Where the next bytes of each sequence are. */
static size_t take_half(struct ct_cpu_backend *b, size_t bytes)
{
    size_t at = b->kv.used;

    b->kv.used += bytes + CT_REDZONE;
    for (int i = 0; b->kv.base && i < b->extent.sequences; i++)
        CT_FORBID(sequence_at(b, i) + at + bytes, CT_REDZONE);
    return at;
}

struct ct_kv ct_cpu_alloc_kv(struct ct_backend *b, enum ct_kv_type type, int capacity, int n_kv_head,
                             int head_dim)
{
    struct ct_cpu_backend *cpu = ct_cpu(b);
    struct ct_kv kv = {type, (int)ct_round_up((size_t)capacity, CT_KEY_BLOCK), n_kv_head, head_dim, 0, 0};

    assert(capacity > 0 && n_kv_head > 0 && head_dim > 0 && head_dim <= CT_MAX_HEAD_DIM);
    kv.k = take_half(cpu, half_bytes(&kv));
    kv.v = take_half(cpu, half_bytes(&kv));
    cpu->sequence_bytes = CT_MAX(cpu->sequence_bytes, ct_round_up(cpu->kv.used, ct_os_page()));
    return kv;
}

void ct_cpu_kv_clear(struct ct_backend *base, int sequence)
{
    struct ct_cpu_backend *b = ct_cpu(base);

    ct_os_discard(sequence_at(b, sequence), b->sequence_bytes);
}

/* Huge pages are read faster; a short sequence would touch far more of them than it fills. */
void ct_cpu_kv_long(struct ct_backend *base, int sequence)
{
    struct ct_cpu_backend *b = ct_cpu(base);

    ct_os_huge(sequence_at(b, sequence), b->sequence_bytes);
}

struct ct_kv_head ct_cpu_kv_head(const struct ct_cpu_backend *b, const struct ct_kv *kv, int sequence,
                                 int head)
{
    uint8_t *at = sequence_at(b, sequence) + (size_t)head * ct_kv_bytes(kv->type, kv->capacity, kv->head_dim);

    return (struct ct_kv_head){kv->type, kv->capacity, kv->head_dim, at + kv->k, at + kv->v};
}

struct job {
    struct ct_cpu_backend *b;
    const struct ct_kv *kv;
    ct_mat k, v;
};

static void write_item(void *arg, int row, int thread)
{
    struct job *j = arg;
    const struct ct_rows *rows = &j->b->rows;

    (void)thread;
    for (int h = 0; h < j->kv->n_kv_head; h++) {
        struct ct_kv_head head = ct_cpu_kv_head(j->b, j->kv, rows->sequence[row], h);
        int at = h * j->kv->head_dim;
        ct_kv_write(&j->b->kernel, &head, rows->position[row], ct_row(j->k, row) + at,
                    ct_row(j->v, row) + at);
    }
}

void ct_cpu_kv_write(struct ct_backend *base, const struct ct_kv *kv, ct_mat k, ct_mat v)
{
    struct ct_cpu_backend *b = ct_cpu(base);

    assert(k.cols == v.cols && k.cols >= kv->n_kv_head * kv->head_dim);
    ct_pool_run(b->pool, b->rows.n, write_item, &(struct job){b, kv, k, v});
}
