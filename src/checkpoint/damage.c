/* SPDX-License-Identifier: Apache-2.0 */
/* damage.c: see damage.h. It is looked for only after logits were not finite; a check of a whole model, which
 * counts all such values, is check/verify_weights.c's. */
#include "checkpoint/damage.h"

#include <math.h>

#include "os/pool.h"

enum { BATCH = 64 }; /* chunks between two looks whether something was found */

/* ---- the place of a value ---- */

static bool lies_in(const void *p, const struct ct_tensor *t)
{
    const uint8_t *at = p;
    return t->data && at >= t->data && at < t->data + t->size;
}

/* The tensor of the origin that a slot was made from: the one it lies in, else the one of its name. Weights
 * of a packed file have GGUF's names, whatever the origin. */
static const struct ct_tensor *tensor_of(const struct ct_file *f, const struct ct_content_slot *slot)
{
    for (int i = 0; i < ct_file_tensor_count(f); i++)
        if (lies_in(slot->w->data, ct_file_tensor(f, i)))
            return ct_file_tensor(f, i);
    return ct_file_find(f, slot->tensor);
}

struct ct_value_place ct_value_place(const struct ct_file *f, const struct ct_content_slot *slot, int row,
                                     int col)
{
    const struct ct_tensor *t = tensor_of(f, slot);

    if (!t || t->type == CT_TYPE_COUNT)
        return (struct ct_value_place){0};
    const struct ct_type_info *type = ct_type_info(t->type);
    size_t at = (size_t)(col / type->block) * (size_t)type->bytes;
    if (lies_in(slot->w->data, t))
        at += (size_t)((const uint8_t *)slot->w->data - t->data) + (size_t)row * slot->row_bytes;
    else if (slot->w->rows > 1) /* packed: the tensor it was made from has its name */
        at += (size_t)row * slot->row_bytes;
    if (at >= t->size)
        return (struct ct_value_place){0};
    return (struct ct_value_place){t, t->offset + at, type->block == 1 ? "value" : "block"};
}

/* ---- the first one that is not finite ---- */

struct found {
    int row, col;
    float value; /* finite: none was found */
};

struct search {
    struct ct_content content;
    int first;           /* chunk of the batch */
    struct found *found; /* [BATCH] of its chunks */
};

static bool is_finite(float x)
{
    return (ct_f32_bits(x) & 0x7f800000u) != 0x7f800000u;
}

static void search_rows(void *user, int chunk, int r0, const struct ct_weight *rows, int thread)
{
    enum { AT_ONCE = 256 }; /* a multiple of every type's block */
    const struct search *s = user;
    struct found *found = &s->found[chunk - s->first];
    const struct ct_type_info *type = ct_type_info(rows->type);
    const uint8_t *at = rows->data;
    float x[AT_ONCE];

    (void)thread;
    for (int r = 0; r < rows->rows && is_finite(found->value); r++)
        for (int c = 0, n; c < rows->cols; c += n, at += (size_t)(n / type->block) * (size_t)type->bytes) {
            n = CT_MIN(AT_ONCE, rows->cols - c);
            ct_dequantize(rows->type, x, at, (size_t)n);
            for (int i = 0; i < n; i++)
                if (!is_finite(x[i] * rows->scale) && is_finite(found->value))
                    *found = (struct found){r0 + r, c + i, x[i] * rows->scale};
        }
}

static void search_chunk(void *arg, int item, int thread)
{
    struct search *s = arg;

    ct_content_read(&s->content, s->first + item, thread, search_rows, s);
}

/* The first chunk with such a value, or the number of chunks. */
static int search_model(struct search *s, struct ct_pool *pool)
{
    const int n = s->content.n_chunk;

    for (; s->first < n; s->first += BATCH) {
        const int items = CT_MIN(BATCH, n - s->first);
        memset(s->found, 0, BATCH * sizeof *s->found);
        ct_pool_run(pool, items, search_chunk, s);
        for (int i = 0; i < items; i++)
            if (!is_finite(s->found[i].value)) {
                s->found[0] = s->found[i];
                return s->first + i;
            }
    }
    return n;
}

static const char *what_holds(const struct carat_model *m)
{
    return m->config.embeds ? "vector holds" : "logits hold";
}

/* Fails with the place of a value that was found. */
static carat_status fail_found(const struct search *s, int chunk, carat_error *err)
{
    const struct found *found = s->found;
    const struct ct_file *f = s->content.model->file;
    const struct ct_content_slot *slot = &s->content.slot[s->content.chunk[chunk].slot];
    const struct ct_value_place p = ct_value_place(f, slot, found->row, found->col);
    char byte[64] = "";

    if (p.tensor)
        snprintf(byte, sizeof byte, ", the %s at byte %llu", p.unit, (unsigned long long)p.offset);
    return ct_fail(
        err, CARAT_E_NUMERIC,
        "%s: tensor %s has %s in row %d, column %d%s, expected a finite number: the %s NaN or infinity",
        p.tensor ? p.tensor->file : ct_file_path(f), p.tensor ? p.tensor->name : slot->name,
        isnan(found->value) ? "NaN" : "infinity", found->row, found->col, byte, what_holds(s->content.model));
}

carat_status ct_fail_damaged(const struct carat_model *m, int threads, carat_error *err)
{
    struct found found[BATCH];
    struct search s = {.found = found};
    struct ct_pool *pool = NULL;
    carat_status status = ct_content_begin(&s.content, m, err);

    if (!status)
        status = ct_content_list(&s.content, threads, err);
    if (!status)
        status = ct_pool_create(&pool, threads, err);
    const int chunk = status ? 0 : search_model(&s, pool);
    if (!status && chunk < s.content.n_chunk)
        status = fail_found(&s, chunk, err);
    else
        status = ct_fail(err, CARAT_E_NUMERIC,
                         "%s: the %s NaN or infinity%s, or the model's range exceeds float32",
                         ct_file_path(m->file), what_holds(m),
                         status ? ": a weight is damaged" : ", and all weights are finite: one is too large");
    ct_pool_destroy(pool);
    ct_content_free(&s.content);
    return status;
}
