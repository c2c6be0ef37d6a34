/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_cost.c: what a verb must read and compute at least, for profiles. Shares of a limit are the caller's
 * business. */
#include "backend/cpu/cpu_backend.h"

carat_arithmetic ct_cpu_arithmetic(enum ct_type type, bool exact)
{
    if (exact || type == CT_F32 || type == CT_F16)
        return CARAT_BY_F32;
    if (type == CT_BF16 || type == CT_SFP)
        return CARAT_BY_BF16;
    return type == CT_Q4_0 || type == CT_Q4_1 || type == CT_Q4_K ? CARAT_BY_INT4 : CARAT_BY_INT8;
}

/* Weights once, also one that makes two outputs, and two operations for each weight and row. */
static void add_products(struct ct_cost *c, const struct ct_event *event, bool exact)
{
    for (int i = 0; i < event->n && c->rows > 0; i++) {
        const struct ct_weight *w = event->w[i];
        if (!w->data || ct_cpu_first_alike(event->w, i) < i)
            continue;
        const uint64_t rows = (uint64_t)(event->n_rows ? event->n_rows : w->rows);
        c->bytes +=
            rows == (uint64_t)w->rows ? ct_weight_bytes(w) : ct_weight_bytes(w) / (uint64_t)w->rows * rows;
        c->operations[ct_cpu_arithmetic(w->type, exact || w->f32_input)] +=
            2 * rows * (uint64_t)w->cols * (uint64_t)c->rows;
    }
}

/* Weights of the experts that rows took once, and two operations for each weight and row that took it. */
static void add_experts(struct ct_cost *c, const struct ct_cpu_backend *b, const struct ct_experts *e)
{
    const struct ct_expert *x = &e->expert[0];
    const struct ct_weight *const w[] = {&x->gate, &x->up, &x->down};

    for (size_t i = 0; i < CT_COUNT(w) && c->rows > 0; i++) {
        const uint64_t values = (uint64_t)w[i]->rows * (uint64_t)w[i]->cols;
        c->bytes += (uint64_t)b->experts.n_used * ct_weight_bytes(w[i]);
        c->operations[ct_cpu_arithmetic(w[i]->type, b->o.exact)] += 2 * values * (uint64_t)b->experts.n_rows;
    }
}

/* Keys that several rows of a sequence see are read once; a query head takes two operations for each key
 * and value. */
static void add_attention(struct ct_cost *c, const struct ct_event *event, const struct ct_rows *rows,
                          const struct ct_seen *seen)
{
    const struct ct_kv *kv = event->kv;
    uint64_t heads = (uint64_t)(event->out->cols / kv->head_dim);
    int sequence = -1, read = 0; /* keys below `read` of the sequence are counted */

    for (int r = 0; r < rows->n; r++) {
        int end = seen[r].last + 1, begin = seen[r].first;
        read = rows->sequence[r] == sequence ? CT_MAX(read, begin) : begin;
        sequence = rows->sequence[r];
        c->bytes += 2 * (uint64_t)kv->n_kv_head * ct_kv_bytes(kv->type, end - read, kv->head_dim);
        c->operations[kv->type == CT_KV_BF16 ? CARAT_BY_BF16 : CARAT_BY_F32] +=
            4 * heads * (uint64_t)kv->head_dim * (uint64_t)(end - begin);
        read = end;
    }
}

struct ct_cost ct_cost_of_rows(const struct ct_rows *rows, const struct ct_event *event, bool exact)
{
    struct ct_cost c = {.rows = rows->n};

    if (strncmp(event->verb, "project", 7) == 0)
        add_products(&c, event, exact);
    else if (strcmp(event->verb, "attend") == 0)
        add_attention(&c, event, rows, rows->seen[event->attn_type]);
    return c;
}

struct ct_cost ct_cpu_cost(const struct ct_backend *base, const struct ct_event *event)
{
    const struct ct_cpu_backend *b = ct_cpu_const(base);
    struct ct_cost c = ct_cost_of_rows(&b->rows, event, b->o.exact);

    if (strcmp(event->verb, "experts") == 0)
        add_experts(&c, b, event->experts);
    return c;
}
