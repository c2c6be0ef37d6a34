/* SPDX-License-Identifier: Apache-2.0 */
/* weights_palette.c: a matrix that a GGUF file of carat holds as palettes and indices (MODEL.md) is read
 * where it lies; only its palettes are copied. What is no matrix of a product becomes values in the model's
 * arena: their readers know no indices. */
#include "model/weights_container.h"

#include "quant/palette.h"

#define PALETTE ".palette"
#define INDEX   ".index"

/* The tensors that stand for one: so many matrices, none of which shares a palette with another. */
struct palette {
    const struct ct_tensor *entries, *index;
    int bits;
    int64_t matrices, rows, cols, groups; /* of each */
};

static carat_status refuse_part(const struct ct_binding *b, const struct ct_tensor *t, const char *expected)
{
    char shape[96];

    return ct_fail(b->err, CARAT_E_FORMAT,
                   "%s: tensor %s at byte %llu has shape [%s] and type %s, expected %s", t->file, t->name,
                   (unsigned long long)t->offset, ct_shape_text(t, shape), t->type_name, expected);
}

/* What the indices hold follows from the number of entries; how many rows share a palette, from the number of
 * palettes. */
static carat_status take_shape(struct palette *p, const struct ct_binding *b)
{
    const struct ct_tensor *e = p->entries, *x = p->index;
    const int n_dim = b->stack ? 3 : 2;
    const int64_t *const entries = e->dim + n_dim - 2, *const rows = x->dim + n_dim - 2;
    const int64_t stacked = b->stack ? x->dim[0] : 1;

    for (int bits = 2; bits <= 8; bits++)
        if (ct_palette_bits(bits) && e->n_dim == n_dim && entries[1] == 1 << bits)
            p->bits = bits;
    if (e->type != CT_F16 || !p->bits)
        return refuse_part(b, e, "palettes of 4, 8, 16, 64 or 256 F16 entries");
    if (strcmp(x->type_name, "I8") != 0 || x->n_dim != n_dim || stacked > INT32_MAX || rows[0] > INT32_MAX ||
        rows[1] > INT32_MAX / 8)
        return refuse_part(b, x, "rows of I8");
    p->matrices = b->stack ? b->stack : 1;
    p->groups = (b->stack ? e->dim[0] : 1) * entries[0];
    p->rows = stacked * rows[0];
    p->cols = rows[1] * 8 / p->bits;
    const bool even =
        p->groups % p->matrices == 0 && p->rows % p->matrices == 0 && (!b->stack || e->dim[0] == stacked);
    p->groups /= p->matrices;
    p->rows /= p->matrices;
    if (even && ct_palette_groups(p->rows, ct_palette_rows(p->rows, p->groups)) == p->groups)
        return CARAT_OK;
    return ct_fail(b->err, CARAT_E_FORMAT,
                   "%s: tensor %s at byte %llu has %lld palettes, which cannot be shared evenly by the %lld "
                   "rows of %s",
                   e->file, e->name, (unsigned long long)e->offset,
                   (long long)(b->stack ? e->dim[0] * entries[0] : entries[0]),
                   (long long)(stacked * rows[0]), x->name);
}

static carat_status check_entries(const struct palette *p, const struct ct_binding *b)
{
    const struct ct_tensor *e = p->entries;

    for (int64_t i = 0; i < p->matrices * p->groups << p->bits; i++)
        if ((ct_le16(e->data + 2 * i) & 0x7c00) == 0x7c00)
            return ct_fail(b->err, CARAT_E_FORMAT,
                           "%s: tensor %s has %g at byte %llu, expected a finite entry of palette %lld",
                           e->file, e->name, (double)ct_f16_to_f32(ct_le16(e->data + 2 * i)),
                           (unsigned long long)e->offset + 2 * (unsigned long long)i,
                           (long long)(i >> p->bits));
    return CARAT_OK;
}

/* True when readers of slots with so many rows know palettes. */
static bool are_known(const struct palette *p, enum ct_dim rows)
{
    return p->rows > 1 && rows != CT_DIM_PLE_ROWS && rows != CT_DIM_STREAMS && rows != CT_DIM_COEFS;
}

static carat_status keep_indices(struct ct_tensor *t, const struct palette *p, struct ct_binding *b)
{
    const size_t matrices = (size_t)p->matrices, entries = (size_t)p->groups << p->bits;
    struct ct_palettes *all = ct_arena_push(b->arena, matrices, sizeof *all);
    uint16_t *entry = ct_arena_push(b->arena, matrices * entries, sizeof *entry);

    if (!all || !entry)
        return ct_no_memory(b->err, p->index->file);
    memcpy(entry, p->entries->data, matrices * entries * sizeof *entry);
    for (size_t i = 0; i < matrices; i++)
        all[i] = (struct ct_palettes){entry + i * entries, p->index->data + p->index->size / matrices * i,
                                      p->bits, (int)ct_palette_rows(p->rows, p->groups)};
    t->palettes = all;
    return CARAT_OK;
}

static carat_status expand_rows(struct ct_tensor *t, const struct palette *p, struct ct_binding *b)
{
    const size_t row_bytes = ct_palette_row_bytes(p->bits, (int)p->cols);
    const int64_t shared = ct_palette_rows(p->rows, p->groups), rows = p->matrices * p->rows;
    uint16_t *to = ct_arena_push(b->arena, (size_t)rows * (size_t)p->cols, sizeof *to);
    uint16_t entry[CT_PALETTE_MOST];

    if (!to)
        return ct_no_memory(b->err, p->index->file);
    t->data = (const uint8_t *)to;
    t->size = (size_t)rows * (size_t)p->cols * sizeof *to;
    for (int64_t r = 0; r < rows; r++, to += p->cols) {
        const size_t group = (size_t)(r / p->rows * p->groups + r % p->rows / shared);
        memcpy(entry, p->entries->data + (group << p->bits) * sizeof *entry, sizeof *entry << p->bits);
        ct_palette_row(to, p->index->data + (size_t)r * row_bytes, entry, p->bits, (int)p->cols);
    }
    ct_file_forget(b->f, p->index->data, p->index->size);
    return CARAT_OK;
}

carat_status ct_make_palette(struct ct_tensor *t, struct ct_binding *b, const char *name)
{
    const int stem = (int)(strlen(name) - strlen(".weight"));
    char part[CT_TENSOR_NAME];
    struct palette p = {0};
    int64_t version;

    if (b->container->prepared || !ct_file_meta(b->f, CT_PALETTE_KEY))
        return CARAT_OK;
    CT_TRY(ct_file_meta_int(b->f, CT_PALETTE_KEY, 1, 1, &version, b->err));
    snprintf(part, sizeof part, "%.*s" PALETTE, stem, name);
    p.entries = ct_binding_take(b, part);
    snprintf(part, sizeof part, "%.*s" INDEX, stem, name);
    p.index = ct_binding_take(b, part);
    if (!p.entries && !p.index)
        return CARAT_OK;
    const struct ct_tensor *there = p.entries ? p.entries : p.index;
    if (!p.entries || !p.index)
        return ct_fail(b->err, CARAT_E_FORMAT, "%s: tensor %.*s%s is missing beside %s", ct_file_path(b->f),
                       stem, name, p.entries ? INDEX : PALETTE, there->name);
    if (ct_file_find(b->f, name))
        return ct_fail(b->err, CARAT_E_FORMAT,
                       "%s: tensors %s and %s at byte %llu stand for the same matrix, expected one of them",
                       there->file, name, there->name, (unsigned long long)there->offset);
    CT_TRY(take_shape(&p, b));
    CT_TRY(check_entries(&p, b));
    *t = *p.index;
    t->type = CT_F16;
    t->type_name = ct_type_info(CT_F16)->name;
    t->dim[t->n_dim - 1] = p.cols;
    CT_TRY((are_known(&p, b->rows) ? keep_indices : expand_rows)(t, &p, b));
    ct_file_forget(b->f, p.entries->data, p.entries->size);
    return CARAT_OK;
}
