/* SPDX-License-Identifier: Apache-2.0 */
/* test_int4.c: matrices in compressed-tensors' form become the bits that the same codes and scales have as
 * Q4_0 in a GGUF file; a scale that f16 does not hold makes its tensor F32, with every value exact. What may
 * be wrong in such files is in test/cli/model/test_bad_int4.c. */
#include "model/int4_build.h"

#include <math.h>

#include "model/weights.h"

/* A model of each container, of the same numbers. */
struct bound {
    struct ct_file *f;
    struct ct_config c;
    struct ct_weights w;
    struct ct_arena arena;
};

static void bind_parts(struct bound *b, const struct ct_part *part, int n)
{
    carat_error err;
    *b = (struct bound){0};
    if (ct_file_open_memory(&b->f, part, n, &err) != CARAT_OK ||
        ct_config_read(&b->c, b->f, &err) != CARAT_OK ||
        ct_weights_bind(&b->w, &b->c, b->f, &b->arena, &err) != CARAT_OK)
        fail_msg("%s", err.message);
}

struct pair {
    struct i4_model model;
    struct buf tensors, gguf;
    struct bound int4, q4_0;
};

static void open_directory(struct pair *p, const char *config)
{
    i4_build(&p->model);
    put_u64(&p->tensors, p->model.header.n);
    put(&p->tensors, p->model.header.p, p->model.header.n);
    put(&p->tensors, p->model.data.p, p->model.data.n);
    const struct ct_part directory[] = {{"config.json", {(const uint8_t *)config, strlen(config)}},
                                        {"model.safetensors", {p->tensors.p, p->tensors.n}}};
    bind_parts(&p->int4, directory, 2);
}

static void pair_open(struct pair *p)
{
    open_directory(p, I4_CONFIG);
    p->gguf = i4_gguf(&p->model);
    const struct ct_part file[] = {{"model.gguf", {p->gguf.p, p->gguf.n}}};
    bind_parts(&p->q4_0, file, 1);
}

static void pair_close(struct pair *p)
{
    struct bound *const both[] = {&p->int4, &p->q4_0};
    for (int i = 0; i < 2; i++) {
        ct_file_close(both[i]->f);
        ct_arena_free(&both[i]->arena);
    }
    i4_free(&p->model);
    buf_free(&p->tensors);
    buf_free(&p->gguf);
}

/* The seven matrices of a layer. */
static void matrices(const struct ct_layer *l, const struct ct_weight *m[7])
{
    const struct ct_weight *const all[] = {&l->q, &l->k, &l->v, &l->o, &l->gate, &l->up, &l->down};
    memcpy(m, all, sizeof all);
}

/* Bit for bit, where the type is Q4_0; else value for value. */
static void expect_same(const struct ct_weight *a, const struct ct_weight *b)
{
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->cols, b->cols);
    assert_int_equal(b->type, CT_Q4_0);
    assert_int_equal(a->type, CT_Q4_0);
    assert_memory_equal(a->data, b->data, (size_t)b->rows * b->row_bytes);
}

static void int4_is_q4_0(void **state)
{
    (void)state;
    struct pair p = {.model = {.zeros = false}};
    pair_open(&p);
    for (int l = 0; l < I4_LAYERS; l++) {
        const struct ct_weight *a[7], *b[7];
        matrices(&p.int4.w.layer[l], a);
        matrices(&p.q4_0.w.layer[l], b);
        for (int i = 0; i < 7; i++)
            expect_same(a[i], b[i]);
        assert_memory_equal(p.int4.w.layer[l].attn_norm.data, p.q4_0.w.layer[l].attn_norm.data,
                            I4_HIDDEN * sizeof(float));
    }
    assert_int_equal(p.int4.w.n_unused, 0);
    assert_int_equal(p.int4.w.n_parameter, p.q4_0.w.n_parameter);
    pair_close(&p);
}

/* The first value of blk.1.ffn_up, and what its type is. */
static const struct ct_weight *scaled(struct pair *p, uint16_t scale, bool zeros)
{
    *p = (struct pair){.model = {.scaled = "blk.1.ffn_up.weight", .scale = scale, .zeros = zeros}};
    pair_open(p);
    return &p->int4.w.layer[1].up;
}

/* Every scale of bf16 from 2^-17 to 65280 is one of f16, and some below. */
static void exact_scales_stay(void **state)
{
    (void)state;
    static const float scales[] = {0x1p-17f, 0x1.fep-17f, 65280, 0x1p-24f, 0x1.8p-22f, 0, -0.5f};
    for (size_t i = 0; i < CT_COUNT(scales); i++) {
        struct pair p;
        const struct ct_weight *w = scaled(&p, ct_f32_to_bf16(scales[i]), false);
        expect_same(w, &p.q4_0.w.layer[1].up);
        assert_true(ct_f16_to_f32(ct_le16(w->data)) == scales[i]);
        pair_close(&p);
    }
}

static void other_scales_make_floats(void **state)
{
    (void)state;
    static const float scales[] = {0x1p-25f, 0x1.02p-18f, 65536, 0x1p127f};
    for (size_t i = 0; i < CT_COUNT(scales); i++) {
        struct pair p;
        const struct ct_weight *w = scaled(&p, ct_f32_to_bf16(scales[i]), false), *q = &p.q4_0.w.layer[1].up;
        const float *v = w->data;
        float expected[I4_FFN * I4_HIDDEN];
        assert_int_equal(w->type, CT_F32);
        for (int r = 0; r < q->rows; r++)
            ct_dequantize(CT_Q4_0, expected + r * q->cols,
                          (const uint8_t *)q->data + (size_t)r * q->row_bytes, (size_t)q->cols);
        const uint8_t *codes = (const uint8_t *)q->data + 2;
        for (int k = 0; k < 32; k++) /* the block's own scale is not the one that was meant */
            expected[k] = (float)((codes[k % 16] >> (k < 16 ? 0 : 4) & 15) - 8) * scales[i];
        assert_memory_equal(v, expected, sizeof expected);
        expect_same(&p.int4.w.layer[0].up, &p.q4_0.w.layer[0].up); /* others stay */
        pair_close(&p);
    }
}

/* Quantisers give groups of zeros whatever scale they like. */
static void zeros_have_no_scale(void **state)
{
    (void)state;
    struct pair p;
    const struct ct_weight *w = scaled(&p, ct_f32_to_bf16(0x1p-40f), true);
    assert_int_equal(w->type, CT_Q4_0);
    float v[32];
    ct_dequantize(CT_Q4_0, v, w->data, 32);
    for (int i = 0; i < 32; i++)
        assert_true(v[i] == 0 && !signbit(v[i]));
    pair_close(&p);
}

/* The parts of K and V that nobody reads are none of the file's unknown tensors. */
static void dead_tensors_are_known(void **state)
{
    (void)state;
    struct pair p = {.model = {.gemma4 = true}};
    open_directory(&p, I4_CONFIG4);
    assert_int_equal(p.int4.c.layer[3].kv_layer, 1);
    assert_null(p.int4.w.layer[3].k.data);
    assert_int_equal(p.int4.w.layer[3].q.type, CT_Q4_0);
    if (p.int4.w.n_unused)
        fail_msg("%d unused, %s", p.int4.w.n_unused, p.int4.w.unused);
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(int4_is_q4_0),
        cmocka_unit_test(exact_scales_stay),
        cmocka_unit_test(other_scales_make_floats),
        cmocka_unit_test(zeros_have_no_scale),
        cmocka_unit_test(dead_tensors_are_known),
    };
    return cmocka_run_group_tests_name("model: int4 of compressed-tensors", tests, NULL, NULL);
}
