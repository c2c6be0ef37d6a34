/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_backend.h: what the files of the CPU backend share. */
#ifndef CT_CPU_BACKEND_H
#define CT_CPU_BACKEND_H

#include "backend/backend.h"

/* Row of a matrix in this backend's memory. */
static inline float *ct_row(ct_mat m, int row)
{
    return (float *)m.handle + (size_t)row * (size_t)m.cols;
}

static inline struct ct_kv_head ct_kv_head(const struct ct_kv *kv, int sequence, int head)
{
    size_t at = (size_t)sequence * kv->sequence_bytes + (size_t)head * kv->head_bytes;
    return (struct ct_kv_head){kv->type, kv->capacity, kv->head_dim, kv->k + at, kv->v + at};
}

/* Takes what attention needs. */
void ct_cpu_attention_init(struct ct_cpu_attention *a, const struct ct_cpu_options *o,
                           struct ct_memory *memory);
/* The verb. */
void ct_cpu_attend(struct ct_backend *b, ct_mat out, ct_mat q, const struct ct_kv *kv, int kind, float scale,
                   float cap);

#endif
