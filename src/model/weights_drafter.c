/* SPDX-License-Identifier: Apache-2.0 */
/* weights_drafter.c: what the tensors of a drafter are beside those of a model: their names in two dialects
 * of GGUF, and the order of its vocabulary. A group of ids (a centroid) is scored as a whole, so the rows of
 * the embedding are brought into the order of groups; a packed file has them so. */
#include "model/weights_container.h"

#include <stdlib.h>

#define MTP "mtp_" /* the prefix of names in the second dialect */

/* ---- names ---- */

/* As llama.cpp and as ik_llama.cpp write them. */
static const struct {
    const char *slot, *name, *mtp;
} names[] = {
    {"nextn.pre_projection", "nextn.pre_projection.weight", "mtp_pre_proj.weight"},
    {"nextn.post_projection", "nextn.post_projection.weight", "mtp_post_proj.weight"},
    {"masked_embd_centroids", "masked_embd_centroids.weight", "mtp_centroids.weight"},
    {CT_ORDERING, CT_ORDERING, "mtp_token_ordering.weight"},
};

void ct_drafter_find_names(struct ct_binding *b)
{
    if (!b->c->backbone)
        return;
    b->w->prefix = ct_file_find(b->f, names[0].mtp)                    ? MTP
                   : ct_file_find(b->f, CT_BESIDE "token_embd.weight") ? CT_BESIDE
                                                                       : NULL;
}

bool ct_drafter_owns(const struct ct_binding *b, const struct ct_tensor *t)
{
    const bool beside = strncmp(t->name, CT_BESIDE, strlen(CT_BESIDE)) == 0;

    if (ct_file_kind(b->f) != CT_FILE_GGUF)
        return false;
    return b->c->backbone ? b->w->prefix && strcmp(b->w->prefix, CT_BESIDE) == 0 && !beside
                          : b->c->out_scales && beside;
}

void ct_drafter_tensor_name(char name[CT_TENSOR_NAME], const struct ct_weights *w, const char *slot)
{
    const bool mtp = w->prefix && strcmp(w->prefix, MTP) == 0;

    for (size_t i = 0; i < CT_COUNT(names); i++)
        if (strcmp(slot, names[i].slot) == 0)
            snprintf(name, CT_TENSOR_NAME, "%s", mtp ? names[i].mtp : names[i].name);
    const size_t n = strlen(name), k = strlen(CT_BESIDE);
    if (w->prefix && !mtp && strncmp(name, CT_BESIDE, k) != 0 && n + k < CT_TENSOR_NAME) {
        memmove(name + k, name, n + 1);
        memcpy(name, CT_BESIDE, k);
    }
}

/* ---- the order of ids ---- */

static int64_t integer_at(const struct ct_tensor *t, int64_t i, bool wide)
{
    int64_t value;
    int32_t narrow;

    if (!wide) {
        memcpy(&narrow, t->data + (size_t)i * sizeof narrow, sizeof narrow);
        return narrow;
    }
    memcpy(&value, t->data + (size_t)i * sizeof value, sizeof value);
    return value;
}

/* The tensor, as long as the vocabulary; *wide: of 64 bits. */
static carat_status find_ordering(struct ct_binding *b, int64_t n, const struct ct_tensor **t, bool *wide)
{
    char name[CT_TENSOR_NAME], shape[96];

    b->container->name(name, b->w, b->c, CT_ORDERING, -1);
    const struct ct_tensor *o = *t = ct_binding_take(b, name);
    if (!o)
        return ct_fail(b->err, CARAT_E_FORMAT,
                       "%s: tensor %s is missing, which says what ids the %d centroids stand for",
                       ct_file_path(b->f), name, b->c->n_centroid);
    *wide = strcmp(o->type_name, "I64") == 0;
    if ((!*wide && strcmp(o->type_name, "I32") != 0) || o->n_dim != 1 || o->dim[0] != n)
        return ct_fail(b->err, CARAT_E_FORMAT,
                       "%s: tensor %s at byte %llu has shape [%s] and type %s, expected [%lld] of I64 or I32",
                       o->file, o->name, (unsigned long long)o->offset, ct_shape_text(o, shape), o->type_name,
                       (long long)n);
    return CARAT_OK;
}

static carat_status refuse_ordering(struct ct_binding *b, const struct ct_tensor *t, int64_t at, bool wide,
                                    int64_t most)
{
    return ct_fail(b->err, CARAT_E_FORMAT,
                   "%s: tensor %s at byte %llu has %lld at place %lld, which is %s: expected a permutation, "
                   "each id from 0 to %lld once",
                   t->file, t->name, (unsigned long long)t->offset, (long long)integer_at(t, at, wide),
                   (long long)at,
                   integer_at(t, at, wide) < 0 || integer_at(t, at, wide) >= most ? "no id" : "there twice",
                   (long long)most - 1);
}

/* Where ids of each group are to stand, when the tensor says for each id which group it is in; false: it says
 * something else. next[n_centroid]. */
static bool places_of_groups(const struct ct_tensor *t, int64_t n, int groups, bool wide, int32_t *next)
{
    memset(next, 0, (size_t)groups * sizeof *next);
    for (int64_t i = 0; i < n; i++) {
        const int64_t group = integer_at(t, i, wide);
        if (group < 0 || group >= groups || next[group] == n / groups)
            return false;
        next[group]++;
    }
    for (int i = 0; i < groups; i++)
        next[i] = (int32_t)(i * (n / groups));
    return true;
}

/* The ids, group after group; seen[n] is scratch. In the second dialect the tensor is inverted. */
static carat_status read_ordering(struct ct_binding *b, int32_t *id, int32_t *seen, int64_t n)
{
    const int groups = b->c->n_centroid;
    const struct ct_tensor *t;
    bool wide = false;

    CT_TRY(find_ordering(b, n, &t, &wide));
    if (b->w->prefix && strcmp(b->w->prefix, MTP) == 0 && places_of_groups(t, n, groups, wide, seen)) {
        for (int64_t i = 0; i < n; i++)
            id[seen[integer_at(t, i, wide)]++] = (int32_t)i;
        return CARAT_OK;
    }
    memset(seen, 0, (size_t)n * sizeof *seen);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = integer_at(t, i, wide);
        if (at < 0 || at >= n || seen[at]++)
            return refuse_ordering(b, t, i, wide, n);
        id[i] = (int32_t)at;
    }
    return CARAT_OK;
}

/* ---- what is made of it ---- */

/* The rows of the embedding in that order. One that is not as it should be is left to be refused. */
static carat_status order_rows(struct ct_tensor *t, struct ct_binding *b, const int32_t *id,
                               const struct ct_tensor *whole)
{
    size_t row;
    const int64_t n = whole->dim[0];

    if (!ct_type_row_bytes(whole->type, (size_t)whole->dim[1], &row) || row * (size_t)n != whole->size)
        return CARAT_OK;
    uint8_t *data = ct_arena_push(b->arena, whole->size, 1);
    if (!data)
        return ct_no_memory(b->err, whole->file);
    for (int64_t i = 0; i < n; i++)
        memcpy(data + (size_t)i * row, whole->data + (size_t)id[i] * row, row);
    ct_binding_take(b, whole->name);
    *t = *whole;
    t->data = data;
    return CARAT_OK;
}

static carat_status give_ordering(struct ct_tensor *t, struct ct_binding *b, const int32_t *id, int64_t n)
{
    float *value = ct_arena_push(b->arena, (size_t)n, sizeof *value);

    if (!value)
        return ct_no_memory(b->err, ct_file_path(b->f));
    for (int64_t i = 0; i < n; i++)
        value[i] = (float)id[i];
    *t = (struct ct_tensor){.name = CT_ORDERING,
                            .type = CT_F32,
                            .type_name = ct_type_info(CT_F32)->name,
                            .n_dim = 1,
                            .dim = {n},
                            .data = (const uint8_t *)value,
                            .size = (size_t)n * sizeof *value,
                            .scale = 1,
                            .file = ct_file_path(b->f)};
    return CARAT_OK;
}

carat_status ct_make_ordered(struct ct_tensor *t, struct ct_binding *b, const char *slot)
{
    const bool embeds = strcmp(slot, "token_embd") == 0;
    char name[CT_TENSOR_NAME];

    if (!b->c->n_centroid || (!embeds && strcmp(slot, CT_ORDERING) != 0))
        return CARAT_OK;
    b->container->name(name, b->w, b->c, "token_embd", -1);
    const struct ct_tensor *whole = ct_file_find(b->f, name);
    if (!whole || whole->n_dim != 2 || whole->type == CT_TYPE_COUNT || whole->dim[0] < 1 ||
        whole->dim[0] > 1 << 24)
        return CARAT_OK;
    const int64_t n = whole->dim[0];
    if (n % b->c->n_centroid)
        return ct_fail(b->err, CARAT_E_FORMAT, "%s: %lld ids cannot be shared evenly by %d centroids",
                       whole->file, (long long)n, b->c->n_centroid);
    int32_t *id = malloc(2 * (size_t)n * sizeof *id);
    carat_status status = id ? read_ordering(b, id, id + n, n) : ct_no_memory(b->err, whole->file);
    if (!status)
        status = embeds ? order_rows(t, b, id, whole) : give_ordering(t, b, id, n);
    free(id);
    return status;
}

carat_status ct_check_ordering(const struct ct_binding *b)
{
    const struct ct_weight *o = &b->w->ordering;
    const float *value = o->data;

    for (int i = 0; i < o->cols; i++)
        if (!(value[i] >= 0 && value[i] < (float)o->cols && value[i] == (float)(int)value[i]))
            return ct_fail(b->err, CARAT_E_FORMAT,
                           "%s: weight " CT_ORDERING " has %g at place %d, expected an id below %d",
                           ct_file_path(b->f), (double)value[i], i, o->cols);
    if (b->c->n_centroid && b->c->n_vocab % b->c->n_centroid)
        return ct_fail(b->err, CARAT_E_FORMAT, "%s: %d ids cannot be shared evenly by %d centroids",
                       ct_file_path(b->f), b->c->n_vocab, b->c->n_centroid);
    return CARAT_OK;
}
