/* SPDX-License-Identifier: Apache-2.0 */
/* test_many_types.c: models whose matrices have every type that is not block by block of 32, mixed in one
 * file: as layers, embedding and head, and as experts. They load and answer; exact logits are those of the
 * same model with its values as F32; fast ones are the same at every level, for one row and for many. What
 * the values are is test/quant's, what published files give test_reference.c's. */
#define GGUF_WIDTH 256
#include "cli/model/newer_gguf.h"

#include "carat.h"
#include "quant/quant.h"

enum { N_IDS = 12 };
static const int32_t ids[N_IDS] = {2, 270, 265, 280, 300, 7, 271, 271, 288, 290, 12, 301};

struct model {
    struct buf bytes;
    carat_model *model;
};

static struct model open_bytes(struct gguf *g)
{
    struct model m = {gguf_bytes(g, NULL), NULL};
    carat_error e = {CARAT_OK, ""};
    carat_buffer b = {"model.gguf", m.bytes.p, m.bytes.n};
    gguf_done(g);
    if (carat_model_open_memory(&m.model, &b, sizeof b, 1, NULL, &e))
        fail_msg("%s", e.message);
    return m;
}

static void close_model(struct model *m)
{
    carat_model_close(m->model);
    buf_free(&m->bytes);
}

/* In passes of at most `rows` rows. */
static void logits_of(const struct model *m, const char *isa, bool exact, int rows,
                      float logits[N_IDS][PIECES])
{
    carat_engine_options o;
    carat_engine *engine = NULL;
    carat_session *session = NULL;
    carat_error e = {CARAT_OK, ""};
    carat_engine_options_default(&o);
    o.threads = rows == 1 ? 1 : 2;
    o.context = 64;
    o.isa = isa;
    o.exact = exact;
    if (carat_engine_create(&engine, m->model, &o, &e))
        fail_msg("%s", e.message);
    assert_int_equal(carat_session_create(&session, engine, NULL, NULL), CARAT_OK);
    for (int i = 0; i < N_IDS; i += rows) {
        carat_row row = {
            .session = session, .tokens = ids + i, .n = CT_MIN(rows, N_IDS - i), .logits = logits[i]};
        if (carat_step(engine, &row, sizeof row, 1, &e))
            fail_msg("%s", e.message);
    }
    carat_session_close(session);
    carat_engine_close(engine);
}

/* ---- the models ---- */

static const uint32_t types[] = {T_IQ1_S, T_IQ1_M, T_IQ2_XXS, T_IQ2_XS, T_IQ2_S, T_IQ3_XXS, T_IQ3_S, T_TQ1_0,
                                 T_TQ2_0, T_NVFP4, T_Q1_0,    T_Q2_0,   T_Q4_K,  T_Q6_K,    T_IQ4_NL};

/* Matrices take one type after another; one that the rows are too short for is left out. */
static void mix(struct gguf *g, size_t first)
{
    size_t at = first;
    gguf_add(g, "blk.1.attn_k.scale", T_F32, 1, 0); /* of NVFP4 in one of the models */
    gguf_add(g, "blk.0.ffn_down.scale", T_F32, 1, 0);
    for (int i = 0; i < g->n_tensor; i++) {
        struct gguf_tensor *t = &g->tensor[i];
        if (t->n_dim < 2 || strstr(t->name, "ffn_gate_inp"))
            continue;
        while (t->dim[0] % gguf_form(types[at % CT_COUNT(types)]).block)
            at++;
        gguf_fill(t, types[at++ % CT_COUNT(types)], (uint32_t)i * 2654435761u);
    }
}

/* The same values as F32. */
static void decode(struct gguf *g)
{
    for (int i = 0; i < g->n_tensor; i++) {
        struct gguf_tensor *t = &g->tensor[i];
        const struct gguf_form form = gguf_form(t->type);
        enum ct_type type;
        if (form.block == 1)
            continue;
        const size_t n = t->data.n / form.bytes * form.block;
        float *values = malloc(n * sizeof *values);
        assert_true(ct_type_from_ggml(t->type, &type));
        ct_dequantize(type, values, t->data.p, n);
        buf_free(&t->data);
        put(&t->data, values, n * sizeof *values);
        t->type = T_F32;
        free(values);
    }
}

/* A Gemma 3 with a head of its own. */
static void make_dense(struct gguf *g)
{
    gguf_init(g);
    gguf_set_u32(g, "gemma3.feed_forward_length", HIDDEN);
    for (int i = 0; i < g->n_tensor;
         i++) { /* feed-forwards as wide as the stream, so that rows of down are long */
        struct gguf_tensor *t = &g->tensor[i];
        for (uint32_t d = 0; d < t->n_dim; d++)
            t->dim[d] = t->dim[d] == FFN ? HIDDEN : t->dim[d];
        gguf_fill(t, t->type, (uint32_t)i);
    }
    gguf_add(g, "output.weight", T_F32, HIDDEN, PIECES);
}

static void make_experts(struct gguf *g)
{
    newer_init(g, newer_published[AS_26B]);
}

/* near: how far fast logits may be from exact ones, in the largest; routers may choose other experts. */
static void check(void (*make)(struct gguf *g), size_t first, float near)
{
    static float exact[N_IDS][PIECES], decoded[N_IDS][PIECES], fast[N_IDS][PIECES], other[N_IDS][PIECES];
    struct gguf g;
    make(&g);
    mix(&g, first);
    struct model mixed = open_bytes(&g);
    make(&g);
    mix(&g, first);
    decode(&g);
    struct model plain = open_bytes(&g);
    logits_of(&mixed, NULL, true, N_IDS, exact);
    logits_of(&plain, NULL, true, N_IDS, decoded);
    assert_memory_equal(exact, decoded, sizeof exact);
    logits_of(&mixed, "ref", false, N_IDS, fast);
    logits_of(&mixed, NULL, false, N_IDS, other);
    assert_memory_equal(fast, other, sizeof fast);
    logits_of(&mixed, NULL, false, 1, other);
    assert_memory_equal(fast, other, sizeof fast);
    float most = 0, off = 0;
    for (int i = 0; i < N_IDS; i++)
        for (int k = 0; k < PIECES; k++) {
            most = CT_MAX(most, __builtin_fabsf(exact[i][k]));
            off = CT_MAX(off, __builtin_fabsf(exact[i][k] - fast[i][k]));
        }
    assert_true(most > 0.1f && off > 0 && off < near * most);
    close_model(&mixed);
    close_model(&plain);
}

static void dense_models_mix_types(void **state)
{
    (void)state;
    check(make_dense, 0, 0.1f); /* 16 matrices for 14 types, so that embedding and head differ */
    check(make_dense, 7, 0.1f);
}

/* Rows of `down` end inside a block of 256: they have types of shorter ones, as published files do. */
static void experts_mix_types(void **state)
{
    (void)state;
    check(make_experts, 0, 1);
    check(make_experts, 5, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(dense_models_mix_types),
                                       cmocka_unit_test(experts_mix_types)};
    return cmocka_run_group_tests_name("engine: types mixed in one file", tests, NULL, NULL);
}
