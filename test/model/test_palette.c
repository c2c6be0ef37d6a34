/* SPDX-License-Identifier: Apache-2.0 */
/* test_palette.c: matrices that a GGUF file holds as palettes and indices have the bits of the same values
 * stored as F16; what contradicts itself is refused by name. */
#include "model/int4_build.h"

#include "layout/pack_weight.h"
#include "model/weights.h"
#include "quant/palette.h"

/* How a file differs from a good one. */
struct fault {
    bool no_key, no_index, no_palette, both; /* both: the matrix is there, too */
    uint32_t version;
    int entries, groups; /* of the palette of attn_q */
    int less;            /* bytes of a row of indices */
    uint32_t tokens;     /* of the vocabulary */
    uint16_t entry;      /* the sixth of the second palette */
    uint32_t index_type, entry_type;
    int64_t many; /* palettes of attn_q by its shape alone */
};

/* A file in the making: the same values plain, and as palettes. */
struct file {
    struct buf infos, values;
    uint64_t n;
    uint32_t random;
    bool palettes;
    struct fault fault;
};

static uint32_t file_random(struct file *f)
{
    f->random = f->random * 1664525u + 1013904223u;
    return f->random >> 16;
}

static void file_tensor(struct file *f, const char *name, uint32_t type, int64_t rows, int cols,
                        const void *data, size_t bytes)
{
    const uint64_t ne[] = {(uint64_t)cols, (uint64_t)rows};
    put_pad(&f->values, 32);
    put_info(&f->infos, name, rows ? 2 : 1, ne, type, f->values.n);
    put(&f->values, data, bytes);
    f->n++;
}

/* A matrix of 2^bits values in each run of at most `shared` rows. */
static void file_matrix(struct file *f, const char *name, int rows, int cols, int bits, int shared)
{
    const int groups = (rows + shared - 1) / shared;
    shared = (rows + groups - 1) / groups; /* evenly, but for the last */
    const bool first = strcmp(name, "blk.0.attn_q") == 0;
    uint16_t entry[16 * 256] = {0}, *value = malloc((size_t)(rows * cols) * sizeof *value);
    uint8_t *index = calloc((size_t)rows, (size_t)cols);
    char text[96];

    assert_non_null(value);
    assert_non_null(index);
    for (int i = 0; i < groups << bits; i++)
        entry[i] = (uint16_t)(0x2000 + file_random(f) % 0x1000 + 0x8000 * (file_random(f) % 2));
    for (int i = 0; i < rows * cols; i++) {
        const int r = i / cols, at = i % cols * bits;
        const uint32_t code = file_random(f) % (1u << bits);
        value[i] = entry[(r / shared << bits) + (int)code];
        for (int b = 0; b < bits; b++) /* the low bits first, across bytes */
            index[r * (cols * bits / 8) + (at + b) / 8] |= (uint8_t)((code >> b & 1) << (at + b) % 8);
    }
    if (first && f->fault.entry)
        entry[(1 << bits) + 5] = f->fault.entry;
    if (!f->palettes || (first && f->fault.both)) {
        snprintf(text, sizeof text, "%s.weight", name);
        file_tensor(f, text, 1, rows, cols, value, (size_t)(rows * cols) * sizeof *value);
    }
    const int entries = first && f->fault.entries ? f->fault.entries : 1 << bits;
    const int n = first && f->fault.groups ? f->fault.groups : groups;
    snprintf(text, sizeof text, "%s.palette", name);
    if (f->palettes && !(first && f->fault.no_palette))
        file_tensor(f, text, first && f->fault.entry_type ? f->fault.entry_type : 1,
                    first && f->fault.many ? f->fault.many : n, entries, entry,
                    (size_t)(n * entries) * (first && f->fault.entry_type ? 4 : 2));
    snprintf(text, sizeof text, "%s.index", name);
    const int row = cols * bits / 8 - (first ? f->fault.less : 0);
    if (f->palettes && !(first && f->fault.no_index))
        file_tensor(f, text, first && f->fault.index_type ? f->fault.index_type : 24, rows, row, index,
                    (size_t)(rows * row) * (first && f->fault.index_type ? 2 : 1));
    free(value);
    free(index);
}

static void file_norm(struct file *f, const char *name, int n)
{
    float v[256];
    for (int i = 0; i < n; i++)
        v[i] = 1 + (float)(file_random(f) % 64) / 256;
    file_tensor(f, name, 0, 0, n, v, (size_t)n * sizeof *v);
}

static struct buf file_build(bool palettes, struct fault fault)
{
    static const int bits[] = {4, 2, 3, 6, 8}, shared[] = {8, 64, 10, 6, 40};
    struct file f = {.random = 1, .palettes = palettes, .fault = fault};
    struct buf b = {0};
    char name[64];

    file_matrix(&f, "token_embd", I4_VOCAB, I4_HIDDEN, 6, 7);
    file_norm(&f, "output_norm.weight", I4_HIDDEN);
    file_matrix(&f, "output", I4_VOCAB, I4_HIDDEN, 4, 16);
    for (int l = 0; l < I4_LAYERS; l++)
        for (size_t i = 0; i < CT_COUNT(i4_of_layer); i++) {
            const struct i4_tensor *t = &i4_of_layer[i];
            const size_t k = ((size_t)l + i) % CT_COUNT(bits);
            snprintf(name, sizeof name, "blk.%d.%s%s", l, t->gguf, t->rows ? "" : ".weight");
            if (!t->rows)
                file_norm(&f, name, t->cols);
            else if (l == 0 && i == 1)
                file_matrix(&f, name, t->rows, t->cols, 4, 8);
            else
                file_matrix(&f, name, t->rows, t->cols, bits[k], shared[k]);
        }
    const bool key = palettes && !fault.no_key;
    put_header(&b, 3, f.n, CT_COUNT(i4_keys) + 1 + key + (fault.tokens > 0));
    put_str(&b, "general.architecture");
    put_u32(&b, 8);
    put_str(&b, "gemma3");
    if (key)
        put_meta_u32(&b, CT_PALETTE_KEY, fault.version ? fault.version : 1);
    for (size_t i = 0; i < CT_COUNT(i4_keys); i++)
        put_meta_u32(&b, i4_keys[i].key, i4_keys[i].value);
    if (fault.tokens) {
        put_str(&b, "tokenizer.ggml.tokens");
        put_u32(&b, 9);
        put_u32(&b, 8);
        put_u64(&b, fault.tokens);
    }
    for (uint32_t i = 0; i < fault.tokens; i++)
        put_str(&b, "a");
    put(&b, f.infos.p, f.infos.n);
    put_pad(&b, 32);
    put(&b, f.values.p, f.values.n);
    buf_free(&f.infos);
    buf_free(&f.values);
    return b;
}

struct bound {
    struct buf bytes;
    struct ct_file *f;
    struct ct_config c;
    struct ct_weights w;
    struct ct_arena arena;
};

static carat_status bound_open(struct bound *b, bool palettes, struct fault fault, carat_error *err)
{
    *b = (struct bound){.bytes = file_build(palettes, fault)};
    const struct ct_part part = {"model.gguf", {b->bytes.p, b->bytes.n}};
    CT_TRY(ct_file_open_memory(&b->f, &part, 1, err));
    CT_TRY(ct_config_read(&b->c, b->f, err));
    return ct_weights_bind(&b->w, &b->c, b->f, &b->arena, err);
}

static void bound_close(struct bound *b)
{
    ct_file_close(b->f);
    ct_arena_free(&b->arena);
    buf_free(&b->bytes);
}

static struct bound plain, palettes;

struct seen {
    struct ct_weight w[64];
    int n;
};

static carat_status note_weight(void *user, const char *slot, const char *tensor, const struct ct_weight *w)
{
    struct seen *s = user;
    (void)slot, (void)tensor;
    assert_true(s->n < 64);
    s->w[s->n++] = *w;
    return CARAT_OK;
}

static void compare_rows(const struct ct_weight *values, const struct ct_weight *w)
{
    uint8_t *row = malloc(values->row_bytes);

    for (int r = 0; r < w->rows; r++) {
        if (ct_lies_in_rows(w))
            memcpy(row, (const uint8_t *)w->data + (size_t)r * w->row_bytes, values->row_bytes);
        else
            ct_unpack(row, w, r);
        assert_memory_equal((const uint8_t *)values->data + (size_t)r * values->row_bytes, row,
                            values->row_bytes);
    }
    free(row);
}

static uint8_t *pack_all(const struct ct_weight *w, struct ct_weight form)
{
    uint8_t *to = malloc(ct_weight_bytes(&form));
    struct ct_packing p = {.from = w, .form = form, .to = to};

    assert_non_null(to);
    for (int i = 0; i < ct_packing_items(&p); i++)
        ct_pack_item(&p, i, 0);
    return to;
}

/* In panels, of values or of indices, and in rows, which some kernels read. */
static void compare_packed(const struct ct_weight *values, const struct ct_weight *w)
{
    struct ct_weight form = ct_packed_form(w);
    uint8_t *panels = pack_all(w, form), *rows = pack_all(w, *values);

    assert_true(ct_in_panels(&form) && !form.palettes);
    form.data = panels;
    compare_rows(values, &form);
    assert_memory_equal(values->data, rows, ct_weight_bytes(values));
    free(panels);
    free(rows);
}

static void test_values_are_those_of_f16(void **state)
{
    static struct seen a, b;
    int n_matrices = 0;
    carat_error err;

    (void)state;
    if (bound_open(&plain, false, (struct fault){0}, &err) ||
        bound_open(&palettes, true, (struct fault){0}, &err))
        fail_msg("%s", err.message);
    ct_weights_walk(&plain.w, &plain.c, plain.f, note_weight, &a);
    ct_weights_walk(&palettes.w, &palettes.c, palettes.f, note_weight, &b);
    assert_int_equal(a.n, 3 + I4_LAYERS * (int)CT_COUNT(i4_of_layer));
    assert_int_equal(a.n, b.n);
    for (int i = 0; i < a.n; i++) {
        assert_int_equal(a.w[i].type, b.w[i].type);
        assert_int_equal(a.w[i].rows, b.w[i].rows);
        assert_int_equal(a.w[i].cols, b.w[i].cols);
        compare_rows(&a.w[i], &b.w[i]);
        if (b.w[i].layout != CT_LAYOUT_PALETTE) /* a norm */
            continue;
        n_matrices++;
        assert_in_range(b.w[i].row_bytes, 1, a.w[i].row_bytes / 2);
        compare_packed(&a.w[i], &b.w[i]);
        for (int r0 = 1; r0 < a.w[i].rows; r0 += 23) { /* parts that begin and end anywhere in a group */
            const struct ct_weight x = ct_weight_rows(&a.w[i], r0, CT_MIN(r0 + 40, a.w[i].rows));
            const struct ct_weight y = ct_weight_rows(&b.w[i], r0, x.rows + r0);
            compare_rows(&x, &y);
            compare_packed(&x, &y);
        }
    }
    assert_int_equal(n_matrices, 2 + 7 * I4_LAYERS);
    assert_int_equal(palettes.w.n_unused, 0);
    assert_int_equal(palettes.c.n_vocab, I4_VOCAB);
    assert_int_equal(palettes.w.n_parameter, plain.w.n_parameter);
    bound_close(&plain);
    bound_close(&palettes);
}

static void test_faults_are_named(void **state)
{
    static const struct {
        struct fault fault;
        const char *says;
    } cases[] = {
        {{.no_key = true}, "no token embedding: tensor token_embd.weight is missing"},
        {{.version = 2}, "metadata key \"carat.palette\" is 2"},
        {{.no_index = true}, "tensor blk.0.attn_q.index is missing beside blk.0.attn_q.palette"},
        {{.no_palette = true}, "tensor blk.0.attn_q.palette is missing beside blk.0.attn_q.index"},
        {{.both = true}, "tensors blk.0.attn_q.weight and blk.0.attn_q.palette"},
        {{.entries = 32}, "tensor blk.0.attn_q.palette at byte"}, /* 5 bits */
        {{.entries = 2},
         "has shape [8 x 2] and type F16, expected palettes of 4, 8, 16, 64 or 256 F16 entries"},
        {{.entry_type = 26}, "and type I32, expected palettes of"},
        {{.index_type = 25}, "and type I16, expected rows of I8"},
        {{.groups = 9}, "has 9 palettes, which cannot be shared evenly by the 64 rows of blk.0.attn_q.index"},
        {{.groups = 65}, "has 65 palettes, which"},
        {{.many = (int64_t)1 << 31}, "blk.0.attn_q.palette"},
        {{.many = INT64_MAX}, "blk.0.attn_q.palette"},
        {{.tokens = I4_VOCAB + 1}, "tensor token_embd.index at byte"},
        {{.less = 1}, "has shape [64 x 62], expected [64 x 64]"},
        {{.entry = 0x7e01}, "tensor blk.0.attn_q.palette has nan at byte"},
        {{.entry = 0xfc00}, "has -inf at byte"},
    };

    (void)state;
    for (size_t i = 0; i < CT_COUNT(cases); i++) {
        struct bound b;
        carat_error err;
        const carat_status status = bound_open(&b, true, cases[i].fault, &err);
        if (status != CARAT_E_FORMAT || !strstr(err.message, cases[i].says))
            fail_msg("case %zu: status %d, %s", i, (int)status, status ? err.message : "");
        bound_close(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_those_of_f16),
        cmocka_unit_test(test_faults_are_named),
    };
    return cmocka_run_group_tests_name("model: palettes", tests, NULL, NULL);
}
