/* SPDX-License-Identifier: Apache-2.0 */
/* test_config_sbs.c: what the model makes of a gemma.cpp file: facts that its fields state and the two
 * they do not, refusals by name, fused and split tensors as rows without a changed value, and the rule
 * that a layer has one form. */
#include "file/sbs_build.h"

#include <math.h>

#include "model/weights.h"

/* One opened file: the bytes, the file, and what was read of it. */
struct subject {
    struct sbs sbs;
    struct buf bytes;
    struct ct_part part;
    struct ct_file *f;
    struct ct_config c;
    struct ct_weights w;
    struct ct_arena arena;
};

static void finish(struct subject *s)
{
    ct_arena_free(&s->arena);
    ct_file_close(s->f);
    buf_free(&s->bytes);
    sbs_free(&s->sbs);
}

static carat_status open_subject(struct subject *s, carat_error *err)
{
    size_t directory;
    s->bytes = sbs_file(&s->sbs, 2, &directory);
    s->part = (struct ct_part){"x.sbs", {s->bytes.p, s->bytes.n}};
    CT_TRY(ct_file_open_memory(&s->f, &s->part, 1, err));
    return ct_config_read(&s->c, s->f, err);
}

static carat_status bind_subject(struct subject *s, carat_error *err)
{
    CT_TRY(open_subject(s, err));
    return ct_weights_bind(&s->w, &s->c, s->f, &s->arena, err);
}

struct change {
    size_t word;
    uint32_t value;
};

/* The configuration with some words changed; a word of 0 ends the list. */
static struct ct_config config_of(const struct change *change)
{
    struct subject s = {.sbs = sbs_model(SBS_SFP, true)};
    carat_error err;
    for (; change->word; change++)
        set_word(sbs_find(&s.sbs, "config"), change->word, change->value);
    if (open_subject(&s, &err))
        fail_msg("%s", err.message);
    finish(&s);
    return s.c;
}

enum { HEADS = WORD_LAYER + 4, KV_HEADS, QKV_DIM, FF_BIASES = WORD_LAYER + 8, POST_NORM = WORD_LAYER + 11 };
enum { TYPE = POST_NORM + 1, POST_QK = TYPE + 2, QK_NORM };

static void facts(void **state)
{
    (void)state;
    struct ct_config c = config_of((struct change[]){{0, 0}});
    assert_string_equal(c.architecture, "gemma2");
    assert_true(c.post_norms && !c.qk_norms && c.norm_plus_one && c.tied && !c.multimodal);
    assert_true(c.norm_eps == 1e-6f && c.logit_cap == 30 && c.layer[0].attn_cap == 50);
    assert_true(c.layer[0].attn_scale == 0.5f); /* 1 / sqrt(4) */
    assert_int_equal(c.layer[0].attn_type, CT_GLOBAL);
    assert_true(c.attn[CT_GLOBAL].rope_base == 1e4 && c.attn[CT_LOCAL].rope_base == 1e4);
    assert_int_equal(c.max_context, 64);

    c = config_of((struct change[]){{WORD_QUERY_SCALE, 1}, {WORD_WINDOW, 8}, {0, 0}});
    assert_true(c.layer[0].attn_scale == (float)(1 / sqrt(2))); /* hidden / heads */
    assert_int_equal(c.layer[0].attn_type, CT_LOCAL);
    assert_int_equal(c.attn[CT_LOCAL].window, 8);

    /* Gemma 1 has no number of its own any more: 0, or the first two */
    for (uint32_t model = 0; model < 3; model++) {
        c = config_of((struct change[]){
            {WORD_MODEL, model}, {POST_NORM, 0}, {WORD_ATT_CAP, 0}, {WORD_FINAL_CAP, 0}, {0, 0}});
        assert_string_equal(c.architecture, "gemma");
        assert_true(!c.post_norms && c.logit_cap == 0 && c.layer[0].attn_cap == 0);
    }
    for (uint32_t model = 14; model <= 18; model++) {
        c = config_of((struct change[]){{WORD_MODEL, model}, {QK_NORM, 1}, {0, 0}});
        bool linear = model == 14 || model == 16 || model == 17;
        assert_string_equal(c.architecture, "gemma3");
        assert_true(c.attn[CT_GLOBAL].rope_base == 1e6 && c.attn[CT_LOCAL].rope_base == 1e4);
        assert_true(c.attn[CT_GLOBAL].rope_factor == (linear ? 8 : 1) && c.attn[CT_LOCAL].rope_factor == 1);
        assert_true(c.layer[0].attn_scale == (float)(1 / sqrt(model == 17 ? 2 : 4)));
    }
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        struct change change;
        carat_status status;
        const char *text;
    } rows[] = {
        {{WORD_MODEL, 10}, CARAT_E_UNSUPPORTED, "PaliGemma"},
        {{WORD_MODEL, 13}, CARAT_E_UNSUPPORTED, "PaliGemma"},
        {{WORD_WRAPPING, 3}, CARAT_E_UNSUPPORTED, "PaliGemma"},
        {{WORD_MODEL, 5}, CARAT_E_UNSUPPORTED, "RecurrentGemma"},
        {{WORD_MODEL, 6}, CARAT_E_UNSUPPORTED, "no longer supports"},
        {{WORD_ABSOLUTE_PE, 1}, CARAT_E_UNSUPPORTED, "absolute_pe"},
        {{WORD_GROUPS, 4}, CARAT_E_UNSUPPORTED, "norm_num_groups"},
        {{KV_HEADS, 3}, CARAT_E_FORMAT, "evenly"},
        {{KV_HEADS, 0}, CARAT_E_FORMAT, "kv_heads is 0"},
        {{HEADS, 2000000000}, CARAT_E_FORMAT, "heads is 2000000000"},
        {{QKV_DIM, 1025}, CARAT_E_FORMAT, "qkv_dim is 1025, expected 1 to 1024"},
        {{QKV_DIM, 1024}, CARAT_E_UNSUPPORTED, "head_dim is 1024"},
        {{TYPE, 1}, CARAT_E_UNSUPPORTED, "vision tower"},
        {{POST_QK, 1}, CARAT_E_UNSUPPORTED, "half of each head"},
        {{FF_BIASES, 1}, CARAT_E_UNSUPPORTED, "biases"},
        {{WORD_LAYER + 1, 16}, CARAT_E_UNSUPPORTED, "model_dim differs"},
        {{WORD_LAYERS, 2}, CARAT_E_FORMAT, "layer_configs has 1 entries, expected num_layers = 2"},
        {{WORD_LAYERS, 1000}, CARAT_E_FORMAT, "num_layers is 1000, expected 1 to 256"},
        {{WORD_SEQ, 0}, CARAT_E_FORMAT, "max_seq_len is 0"},
        {{WORD_WINDOW, 0}, CARAT_E_FORMAT, "attention_window_sizes is 0"},
        {{WORD_VOCAB, UINT32_MAX}, CARAT_E_FORMAT, "vocab_size is 4294967295"},
        {{WORD_ATT_CAP, 0xc0000000}, CARAT_E_FORMAT, "att_cap is -2"},
    };
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        struct subject s = {.sbs = sbs_model(SBS_SFP, true)};
        carat_error err = {CARAT_OK, ""};
        set_word(sbs_find(&s.sbs, "config"), rows[i].change.word, rows[i].change.value);
        carat_status status = open_subject(&s, &err);
        expect_error(status, &err, rows[i].status, rows[i].text);
        finish(&s);
    }
}

/* ---- weights ---- */

/* A tensor of the file as one stream of values. */
static float *stream(const struct ct_file *f, const char *name)
{
    const struct ct_tensor *t = ct_file_find(f, name);
    assert_non_null(t);
    size_t n = (size_t)t->dim[0] * (size_t)t->dim[1];
    float *out = malloc(n * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        float group[128];
        uint8_t whole[132] = {0};
        if (t->type == CT_NUQ) { /* the centre that the nibble names */
            const uint8_t *g = t->data + i / 256 * 144;
            uint8_t byte = g[16 + i % 256 / 2];
            ct_dequantize(CT_SFP, &out[i], &g[i % 2 ? byte >> 4 : byte & 15], 1);
        } else if (t->type == CT_I8) {
            memcpy(whole, t->data + i / 128 * 132, CT_MIN((size_t)132, t->size - i / 128 * 132));
            ct_dequantize(CT_I8, group, whole, 128);
            out[i] = group[i % 128];
        } else {
            ct_dequantize(t->type, &out[i], t->data + i * (size_t)ct_type_info(t->type)->bytes, 1);
        }
    }
    return out;
}

static float value_at(const struct ct_weight *w, int row, int col)
{
    float out[64];
    assert_true(w->cols <= 64 && row < w->rows && col < w->cols && w->scale == 1);
    ct_dequantize(w->type, out, (const uint8_t *)w->data + (size_t)row * w->row_bytes, (size_t)w->cols);
    return out[col];
}

static void same(float a, float b)
{
    assert_int_equal(ct_f32_bits(a), ct_f32_bits(b));
}

/* Every element of the result is the element of the file that the format puts there. */
static void rows_keep_their_values(void **state)
{
    (void)state;
    enum { D = SBS_HEAD, H = SBS_HEADS, KV = SBS_KV, N = SBS_HIDDEN, F = SBS_FFN };
    static const uint32_t types[] = {SBS_F32, SBS_BF16, SBS_SFP, SBS_NUQ, SBS_I8};
    for (size_t k = 0; k < 2 * CT_COUNT(types); k++) {
        bool fused = k % 2;
        struct subject s = {.sbs = sbs_model(types[k / 2], fused)};
        carat_error err;
        uint32_t x = 1;
        for (int i = 6; i < s.sbs.n - 2; i++) /* behind the norms, before config and toc */
            for (size_t j = 0; j < s.sbs.blob[i].bytes.n; j++) {
                x = x * 1664525u + 1013904223u;
                /* no NaN: the upper byte of a float, and of the bf16 of a group, stays moderate */
                s.sbs.blob[i].bytes.p[j] = (uint8_t)(x >> 24 & (types[k / 2] == SBS_NUQ ? 0xff : 0x3f));
            }
        if (bind_subject(&s, &err))
            fail_msg("%s", err.message);
        const struct ct_layer *l = &s.w.layer[0];
        float *q = stream(s.f, fused ? "qkv_ein_0" : "qkv1_w_0"), *kv = fused ? q : stream(s.f, "qkv2_w_0");
        float *o = stream(s.f, fused ? "att_ein_0" : "att_w_0"), *down = stream(s.f, "linear_w_0");
        float *gate = stream(s.f, fused ? "gating_ein_0" : "gating1_w_0");
        float *up = fused ? gate + F * N : stream(s.f, "gating2_w_0");
        for (int r = 0; r < H * D; r++)
            for (int c = 0; c < N; c++) {
                same(value_at(&l->q, r, c), q[r * N + c]);
                int head = r / D, i = r % D; /* the output's column r of row c */
                same(value_at(&l->o, c, r), fused ? o[(head * N + c) * D + i] : o[c * H * D + r]);
            }
        for (int r = 0; r < KV * D; r++)
            for (int c = 0; c < N; c++) {
                int row = (fused ? H * D : 0) + r / D * 2 * D + r % D;
                same(value_at(&l->k, r, c), kv[row * N + c]);
                same(value_at(&l->v, r, c), kv[(row + D) * N + c]);
            }
        for (int r = 0; r < F; r++)
            for (int c = 0; c < N; c++) {
                same(value_at(&l->gate, r, c), gate[r * N + c]);
                same(value_at(&l->up, r, c), up[r * N + c]);
                same(value_at(&l->down, c, r), down[c * F + r]);
            }
        /* what lies as rows in the file is not copied */
        const struct ct_weight *views[] = {&l->q, &l->gate, &l->up, &l->down};
        for (size_t i = 0; i < CT_COUNT(views); i++) {
            const uint8_t *at = views[i]->data;
            bool inside = at >= s.bytes.p && at < s.bytes.p + s.bytes.n;
            assert_int_equal(inside, types[k / 2] <= SBS_SFP);
        }
        assert_int_equal(l->q.type, types[k / 2] == SBS_NUQ  ? CT_SFP
                                    : types[k / 2] == SBS_I8 ? CT_F32
                                                             : (int)ct_file_find(s.f, "linear_w_0")->type);
        free(q);
        free(o);
        free(down);
        free(gate);
        if (!fused) {
            free(kv);
            free(up);
        }
        finish(&s);
    }
}

static void a_layer_has_one_form(void **state)
{
    (void)state;
    static const struct {
        bool fused;
        const char *name; /* taken away: "" */
        const char *added;
        uint32_t rows, cols;
        const char *text;
        carat_status status;
        uint32_t kv_heads; /* 0: as they are */
    } rows[] = {
        {true, NULL, "qkv1_w_0", 16, 8, "both of the tensors qkv1_w_0 and qkv_ein_0 are there",
         CARAT_E_FORMAT, 0},
        {true, NULL, "qkv2_w_0", 16, 8, "both of the tensors qkv2_w_0 and qkv_ein_0", CARAT_E_FORMAT, 0},
        {true, NULL, "att_w_0", 8, 16, "both of the tensors att_w_0 and att_ein_0", CARAT_E_FORMAT, 0},
        {true, NULL, "gating2_w_0", 6, 8, "both of the tensors gating2_w_0 and gating_ein_0", CARAT_E_FORMAT,
         0},
        {true, "att_ein_0", "other", 1, 1, "neither of the tensors att_w_0 and att_ein_0", CARAT_E_FORMAT, 0},
        {false, "gating1_w_0", "other", 1, 1, "neither of the tensors gating1_w_0 and gating_ein_0",
         CARAT_E_FORMAT, 0},
        {false, "linear_w_0", "other", 1, 1, "tensor linear_w_0 is missing", CARAT_E_FORMAT, 0},
        {true, "qkv_ein_0", "qkv_ein_0", 8, 32, "tensor qkv_ein_0 at byte", CARAT_E_FORMAT, 0},
        {true, "att_ein_0", "att_ein_0", 31, 4, "shape [31 x 4], expected [32 x 4]", CARAT_E_FORMAT, 0},
        {false, "att_w_0", "att_w_0", 16, 8, "shape [16 x 8], expected [8 x 16]", CARAT_E_FORMAT, 0},
        {false, "qkv2_w_0", "qkv2_w_0", 8, 8, "shape [8 x 8], expected [16 x 8]", CARAT_E_FORMAT, 0},
        {true, NULL, "other", 1, 1, "in one piece, whose order of rows is not known", CARAT_E_UNSUPPORTED, 4},
        {false, "qkv2_w_0", "other", 1, 1, "shape [16 x 8], expected [48 x 8]", CARAT_E_FORMAT, 4},
        {false, "qkv2_w_0", "other", 1, 1, "neither of the tensors qkv2_w_0 and qkv_ein_0", CARAT_E_FORMAT,
         0},
        {false, "c_embedding", "other", 1, 1, "c_embedding is missing", CARAT_E_FORMAT, 0},
        {false, "c_final_norm", "c_final_norm", 1, 9, "c_final_norm", CARAT_E_FORMAT, 0},
    };
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        struct subject s = {.sbs = sbs_model(SBS_SFP, rows[i].fused)};
        carat_error err = {CARAT_OK, ""};
        /* the contents anew, without the one and with the other */
        struct buf *toc = sbs_find(&s.sbs, "toc");
        struct buf fresh = {0};
        for (size_t at = 0; at < toc->n;) {
            size_t n = 4 + 4 * (size_t)ct_le32(toc->p + at);
            if (!rows[i].name || strncmp((const char *)toc->p + at + 8, rows[i].name, strlen(rows[i].name)))
                put(&fresh, toc->p + at, n);
            at += n;
        }
        bool replaced = rows[i].name && strcmp(rows[i].name, rows[i].added) == 0;
        if (replaced)
            sbs_find(&s.sbs, rows[i].name)->n = 0;
        put_zero(replaced ? sbs_find(&s.sbs, rows[i].name) : sbs_add(&s.sbs, rows[i].added),
                 (size_t)rows[i].rows * rows[i].cols);
        put_entry(&fresh, rows[i].added, SBS_SFP, rows[i].rows, rows[i].cols);
        toc = sbs_find(&s.sbs, "toc");
        buf_free(toc);
        *toc = fresh;
        if (rows[i].kv_heads)
            set_word(sbs_find(&s.sbs, "config"), KV_HEADS, rows[i].kv_heads);
        carat_status status = bind_subject(&s, &err);
        expect_error(status, &err, rows[i].status, rows[i].text);
        finish(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts),
        cmocka_unit_test(refusals),
        cmocka_unit_test(rows_keep_their_values),
        cmocka_unit_test(a_layer_has_one_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
