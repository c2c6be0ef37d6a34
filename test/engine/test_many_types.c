/* SPDX-License-Identifier: Apache-2.0 */
/* test_many_types.c: models whose matrices have every type that is not block by block of 32, mixed in one
 * file: as layers, embedding and head, and as experts. They load and answer; exact logits are those of the
 * same model with its values as F32; fast ones are the same at every level, for one row and for many. What
 * the values are is test/quant's, what published files give test_reference.c's. */
#include "engine/mixed_types.h"

#include "carat.h"

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

/* near: how far fast logits may be from exact ones, in the largest; routers may choose other experts. */
static void check(void (*make)(struct gguf *g), size_t first, float near)
{
    static float exact[N_IDS][PIECES], decoded[N_IDS][PIECES], fast[N_IDS][PIECES], other[N_IDS][PIECES];
    struct gguf g;
    make(&g);
    mixed_mix(&g, first);
    struct model mixed = open_bytes(&g);
    make(&g);
    mixed_mix(&g, first);
    mixed_decode(&g);
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
    check(mixed_dense, 0, 0.1f); /* 16 matrices for 14 types, so that embedding and head differ */
    check(mixed_dense, 7, 0.1f);
}

/* Rows of `down` end inside a block of 256: they have types of shorter ones, as published files do. */
static void experts_mix_types(void **state)
{
    (void)state;
    check(mixed_experts, 0, 1);
    check(mixed_experts, 5, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(dense_models_mix_types),
                                       cmocka_unit_test(experts_mix_types)};
    return cmocka_run_group_tests_name("engine: types mixed in one file", tests, NULL, NULL);
}
