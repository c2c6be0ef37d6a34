/* SPDX-License-Identifier: Apache-2.0 */
/* weights_sbs.c: gemma.cpp stores some tensors fused, others split, and two types in groups that do not care for rows.
 * Here each place of a layer gets its rows: as a view of the mapping where they lie together, else as a copy in the
 * model's arena, byte for byte. Nothing is quantised anew: NUQ becomes SFP, which holds its values exactly, and I8 whose
 * rows are not whole groups becomes F32. Shapes of the result are checked in weights.c. */
#include "model/weights_sbs.h"

#include <stdio.h>

/* Which rows of a tensor belong to a place. */
enum cut {
    ALL,
    QUERY, /* the first heads * qkv rows */
    KEY,
    VALUE, /* behind `skip` rows, per KV head: its K rows, then its V rows */
    GATE,
    UP,     /* one half each */
    OUTPUT, /* [head][dim][qkv] to [dim][head][qkv] */
    EACH_QUERY,
    EACH_KEY,
    EACH_VALUE, /* per head: its q rows, its K rows, its V rows */
};

static const struct place {
    size_t at; /* in ct_layer */
    const char *split, *fused;
    enum cut split_cut, fused_cut;
    enum cut
        alone; /* of "qkv1_w" where there is no "qkv2_w", as with as many KV heads as heads; ALL: no such form */
} places[] = {
#define AT(field) offsetof(struct ct_layer, field)
    {AT(attn_norm), "pre_att_ns", NULL, ALL, ALL, ALL},
    {AT(q), "qkv1_w", "qkv_ein", ALL, QUERY, EACH_QUERY},
    {AT(k), "qkv2_w", "qkv_ein", KEY, KEY, EACH_KEY},
    {AT(v), "qkv2_w", "qkv_ein", VALUE, VALUE, EACH_VALUE},
    {AT(o), "att_w", "att_ein", ALL, OUTPUT, ALL},
    {AT(q_norm), "query_norm", NULL, ALL, ALL, ALL},
    {AT(k_norm), "key_norm", NULL, ALL, ALL, ALL},
    {AT(attn_post_norm), "post_att_ns", NULL, ALL, ALL, ALL},
    {AT(ffn_norm), "pre_ff_ns", NULL, ALL, ALL, ALL},
    {AT(gate), "gating1_w", "gating_ein", ALL, GATE, ALL},
    {AT(up), "gating2_w", "gating_ein", ALL, UP, ALL},
    {AT(down), "linear_w", NULL, ALL, ALL, ALL},
    {AT(ffn_post_norm), "post_ff_ns", NULL, ALL, ALL, ALL},
#undef AT
};

/* Runs of n elements in the order of the result: i < outer, within it k < inner, each at first + i * outer_step + k *
 * inner_step. */
struct runs {
    size_t first, n, outer, outer_step, inner, inner_step;
};

/* n elements from element `first` on, into their new place. */
static void copy_run(uint8_t *out, enum ct_type type, const struct ct_tensor *t, size_t first, size_t n)
{
    const struct ct_type_info *stored = ct_type_info(t->type), *made = ct_type_info(type);
    size_t block = (size_t)stored->block, total = (size_t)t->dim[0] * (size_t)t->dim[1], bytes;

    if (t->type == type) {
        ct_type_row_bytes(type, first, &bytes);
        const uint8_t *from = t->data + bytes;
        ct_type_row_bytes(type, n, &bytes);
        memcpy(out, from, bytes);
        return;
    }
    for (size_t done = 0; done < n;) {
        size_t group = (first + done) / block, at = (first + done) % block;
        size_t here = CT_MIN(block, total - group * block); /* only the last group may be short */
        size_t take = CT_MIN(here - at, n - done);
        const uint8_t *from = t->data + group * (size_t)stored->bytes;
        union {
            uint8_t code[256];
            float value[256];
        } open;
        if (t->type == CT_NUQ) {
            ct_nuq_to_sfp(open.code, from, at + take);
        } else {
            uint8_t whole[256] = {0};
            memcpy(whole, from, (size_t)stored->bytes - (block - here));
            ct_dequantize(t->type, open.value, whole, block);
        }
        memcpy(out, (const uint8_t *)&open + at * (size_t)made->bytes, take * (size_t)made->bytes);
        out += take * (size_t)made->bytes;
        done += take;
    }
}

/* The result of rows x cols, made of the runs of t, in place of t. */
static carat_status arrange(struct ct_tensor *t, struct runs r, int64_t rows, int64_t cols,
                            struct ct_arena *arena, carat_error *err)
{
    enum ct_type type = t->type;
    size_t row_bytes = 0, first = 0, size = 0;

    if (type == CT_TYPE_COUNT) /* refused by name where it is bound */
        return CARAT_OK;
    if (type == CT_NUQ)
        type = CT_SFP;
    if (type == CT_I8 && (cols % ct_type_info(CT_I8)->block || r.n % (size_t)ct_type_info(CT_I8)->block))
        type = CT_F32;
    if (!ct_type_row_bytes(type, (size_t)cols, &row_bytes) || !ct_mul(row_bytes, (size_t)rows, &size))
        return ct_fail(err, CARAT_E_FORMAT, "%s: blob \"%s\": %lld x %lld values of type %s are too many",
                       t->file, t->name, (long long)rows, (long long)cols, t->type_name);
    if (type == t->type && r.outer * r.inner == 1) {
        ct_type_row_bytes(type, r.first, &first);
        t->data += first;
    } else {
        uint8_t *copy = ct_arena_push(arena, size, 1), *out = copy;
        if (!copy)
            return ct_fail(err, CARAT_E_MEMORY, "%s: out of memory for %zu bytes of blob \"%s\"", t->file,
                           size, t->name);
        size_t run = r.n / (size_t)ct_type_info(type)->block * (size_t)ct_type_info(type)->bytes;
        for (size_t i = 0; i < r.outer; i++)
            for (size_t k = 0; k < r.inner; k++, out += run)
                copy_run(out, type, t, r.first + i * r.outer_step + k * r.inner_step, r.n);
        t->data = copy;
    }
    t->type = type;
    t->type_name = ct_type_info(type)->name;
    t->dim[0] = rows;
    t->dim[1] = cols;
    t->size = size;
    return CARAT_OK;
}

carat_status ct_sbs_whole(struct ct_tensor *t, const struct ct_file *f, const char *name,
                          struct ct_arena *arena, carat_error *err)
{
    const struct ct_tensor *found = ct_file_find(f, name);
    if (!found)
        return ct_fail(err, CARAT_E_FORMAT, "%s: tensor %s is missing", ct_file_path(f), name);
    *t = *found;
    struct runs all = {0, (size_t)t->dim[0] * (size_t)t->dim[1], 1, 0, 1, 0};
    return arrange(t, all, t->dim[0], t->dim[1], arena, err);
}

/* The tensor that holds q, K and V of a model with as many KV heads as heads; NULL: there is none, or they
 * are apart. */
static const struct ct_tensor *alone(const struct ct_file *f, const struct ct_layer_config *l, int layer)
{
    char name[32];

    snprintf(name, sizeof name, "qkv2_w_%d", layer);
    if (l->n_head != l->n_kv_head || ct_file_find(f, name))
        return NULL;
    snprintf(name, sizeof name, "qkv1_w_%d", layer);
    return ct_file_find(f, name);
}

carat_status ct_sbs_place(struct ct_tensor *t, const struct ct_file *f, const struct ct_layer_config *l,
                          int hidden, int layer, size_t at, struct ct_arena *arena, carat_error *err)
{
    const struct place *p = places;
    char split[32], fused[32];

    while (p->at != at)
        p++;
    snprintf(split, sizeof split, "%s_%d", p->split, layer);
    if (!p->fused)
        return ct_sbs_whole(t, f, split, arena, err);
    snprintf(fused, sizeof fused, "%s_%d", p->fused, layer);
    const struct ct_tensor *a = ct_file_find(f, split), *b = ct_file_find(f, fused);
    const struct ct_tensor *both = p->alone == ALL ? NULL : alone(f, l, layer);
    if (both)
        a = both;
    if (p->alone != ALL && b && !a && l->n_head == l->n_kv_head)
        return ct_fail(
            err, CARAT_E_UNSUPPORTED,
            "%s: tensor %s at byte %llu holds as many KV heads as heads in one piece, whose order of "
            "rows is not known: writers of such files differ; files with qkv1_w are read",
            b->file, b->name, (unsigned long long)b->offset);
    if (!a == !b)
        return ct_fail(err, CARAT_E_FORMAT, "%s: %s of the tensors %s and %s %s; a layer has exactly one",
                       ct_file_path(f), a ? "both" : "neither", split, fused, a ? "are there" : "is there");
    enum cut cut = both ? p->alone : a ? p->split_cut : p->fused_cut;
    if (cut == ALL)
        return ct_sbs_whole(t, f, split, arena, err);

    size_t width = (size_t)hidden, head = (size_t)l->head_dim, heads = (size_t)l->n_head;
    size_t kv = (size_t)l->n_kv_head, ffn = (size_t)l->ffn, skip = b ? heads * head : 0;
    const struct shape {
        size_t rows, cols; /* of the stored tensor */
        size_t made_rows, made_cols;
        struct runs runs; /* in elements */
    } shapes[] = {
        [QUERY] =
            {(heads + 2 * kv) * head, width, heads * head, width, {0, heads * head * width, 1, 0, 1, 0}},
        [KEY] = {skip + 2 * kv * head,
                 width,
                 kv * head,
                 width,
                 {skip * width, head * width, kv, 2 * head * width, 1, 0}},
        [VALUE] = {skip + 2 * kv * head,
                   width,
                   kv * head,
                   width,
                   {(skip + head) * width, head * width, kv, 2 * head * width, 1, 0}},
        [GATE] = {2 * ffn, width, ffn, width, {0, ffn * width, 1, 0, 1, 0}},
        [UP] = {2 * ffn, width, ffn, width, {ffn * width, ffn * width, 1, 0, 1, 0}},
        [EACH_QUERY] =
            {3 * heads * head, width, heads * head, width, {0, head * width, heads, 3 * head * width, 1, 0}},
        [EACH_KEY] = {3 * heads * head,
                      width,
                      heads * head,
                      width,
                      {head * width, head * width, heads, 3 * head * width, 1, 0}},
        [EACH_VALUE] = {3 * heads * head,
                        width,
                        heads * head,
                        width,
                        {2 * head * width, head * width, heads, 3 * head * width, 1, 0}},
        [OUTPUT] = {heads * width, head, width, heads * head, {0, head, width, head, heads, width * head}},
    };
    const struct shape *s = &shapes[cut];
    *t = a ? *a : *b;
    if ((size_t)t->dim[0] != s->rows || (size_t)t->dim[1] != s->cols)
        return ct_fail(err, CARAT_E_FORMAT,
                       "%s: tensor %s at byte %llu has shape [%lld x %lld], expected [%zu x %zu] from the "
                       "configuration",
                       t->file, t->name, (unsigned long long)t->offset, (long long)t->dim[0],
                       (long long)t->dim[1], s->rows, s->cols);
    return arrange(t, s->runs, (int64_t)s->made_rows, (int64_t)s->made_cols, arena, err);
}
