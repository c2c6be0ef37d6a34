/* SPDX-License-Identifier: Apache-2.0 */
/* test_weights.c: a weight of a type that carat does not read is refused with its place, its type by name,
 * what is read, and what works instead; gate and up of experts are the same weights in one tensor and in two;
 * a factor in a tensor beside a matrix counts as if it were in that; which tensors are told of as unused.
 * Which types run, and missing or misshapen tensors, are left to test_reference.c and
 * test/cli/model/test_bad_gguf_model.c. */
#include "cli/model/newer_gguf.h"

#include "carat.h"
#include "checkpoint/checkpoint.h"
#include "quant/quant.h"

/* A GGUF one of whose matrices, stored as F16, claims I16. */
static void an_unread_type_is_refused_by_name(void **state)
{
    (void)state;
    static const char name[] = "\x13\0\0\0\0\0\0\0blk.0.attn_q.weight";
    char *data = malloc(1 << 20);
    assert_non_null(data);
    FILE *f = fopen(CT_TEST_DATA "/vectors/gguf/gemma3-f16.gguf", "rb");
    assert_non_null(f);
    size_t size = fread(data, 1, 1 << 20, f), at = 0;
    fclose(f);
    while (memcmp(data + at, name, sizeof name - 1) != 0)
        at++;
    at += sizeof name - 1 + 4 + 2 * 8; /* number and values of its dimensions */
    assert_int_equal(ct_le32(data + at), 1);
    data[at] = 25;

    carat_buffer b = {"model.gguf", data, size};
    carat_model *model = NULL;
    carat_error e = {CARAT_OK, ""};
    assert_int_equal(carat_model_open_memory(&model, &b, sizeof(carat_buffer), 1, NULL, &e),
                     CARAT_E_UNSUPPORTED);
    assert_null(model);
    static const char *const said[] = {"model.gguf", "blk.0.attn_q.weight", "I16", "Q4_0, Q4_K_M or Q8_0"};
    for (size_t i = 0; i < CT_COUNT(said); i++)
        assert_non_null(strstr(e.message, said[i]));
    for (int i = 0; i < CT_TYPE_COUNT; i++) /* the list is the table's */
        if (ct_type_info((enum ct_type)i)->ggml >= 0)
            assert_non_null(strstr(e.message, ct_type_info((enum ct_type)i)->name));
    free(data);
}

/* ---- experts ---- */

/* A small model. */
struct small {
    struct buf bytes;
    carat_model *model;
};

static struct small open_small(enum newer_form form, void (*change)(struct gguf *g))
{
    struct small s = {{0}, NULL};
    struct gguf g;
    carat_error e = {CARAT_OK, ""};
    newer_init(&g, newer_published[form]);
    if (change)
        change(&g);
    s.bytes = gguf_bytes(&g, NULL);
    gguf_done(&g);
    carat_buffer b = {"model.gguf", s.bytes.p, s.bytes.n};
    if (carat_model_open_memory(&s.model, &b, sizeof b, 1, NULL, &e))
        fail_msg("%s", e.message);
    return s;
}

static void close_small(struct small *s)
{
    carat_model_close(s->model);
    buf_free(&s->bytes);
}

enum { N_IDS = 9 };

static void logits_of(const struct small *s, bool exact, float logits[PIECES])
{
    const int32_t ids[N_IDS] = {2, 270, 265, 280, 300, 7, 271, 271, 288};
    carat_engine_options o;
    carat_engine *engine = NULL;
    carat_session *session = NULL;
    carat_engine_options_default(&o);
    o.threads = 1;
    o.context = 64;
    o.exact = exact;
    assert_int_equal(carat_engine_create(&engine, s->model, &o, NULL), CARAT_OK);
    assert_int_equal(carat_session_create(&session, engine, NULL, NULL), CARAT_OK);
    assert_int_equal(carat_sync(session, ids, N_IDS, NULL, NULL), CARAT_OK);
    memcpy(logits, carat_logits(session), PIECES * sizeof *logits);
    carat_session_close(session);
    carat_engine_close(engine);
}

/* Counts the slots that lie in the tensor that they are said to be of. */
static carat_status lies_there(void *user, const char *slot, const char *tensor, const struct ct_weight *w)
{
    const struct ct_tensor *t = ct_file_find(((struct small *)user)->model->file, tensor);
    const uint8_t *at = w->data;
    if (!t)
        fail_msg("%s: there is no tensor %s", slot, tensor);
    if (strstr(slot, "_exps.") && !(at >= t->data && at < t->data + t->size))
        fail_msg("%s lies outside of %s", slot, tensor);
    return CARAT_OK;
}

static void experts_have_two_forms(void **state)
{
    (void)state;
    struct small fused = open_small(AS_26B, NULL),
                 apart = open_small(AS_26B, newer_apart), *const both[] = {&fused, &apart};
    for (int exact = 0; exact < 2; exact++) {
        float logits[2][PIECES];
        for (int i = 0; i < 2; i++)
            logits_of(both[i], exact, logits[i]);
        assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
    }
    for (int i = 0; i < 2; i++) {
        const carat_model *m = both[i]->model;
        assert_int_equal(ct_weights_walk(&m->weights, &m->config, m->file, lies_there, both[i]), CARAT_OK);
        assert_int_equal(m->weights.n_unused, 0);
    }
    assert_int_equal(fused.model->weights.n_parameter, apart.model->weights.n_parameter);
    close_small(&fused);
    close_small(&apart);
}

/* ---- factors beside matrices ---- */

/* The name of the tensor beside one, for ever. */
static const char *beside(const char *name, const char *ending)
{
    static char names[1024][64];
    static int n;
    assert_true(n < (int)CT_COUNT(names));
    snprintf(names[n], sizeof *names, "%.*s%s", (int)(strlen(name) - strlen(".weight")), name, ending);
    return names[n++];
}

/* Values, or the factors of blocks, in [first, end) of the bytes times a power of two. */
static void multiply(struct gguf_tensor *t, size_t first, size_t end, float times)
{
    const struct gguf_form f = gguf_form(t->type);
    for (size_t i = first; i < end; i += f.bytes) {
        uint8_t *const p = t->data.p + i + f.at;
        float v;
        uint16_t half;
        memcpy(&v, p, 4);
        memcpy(&half, p, 2);
        v *= times;
        half = t->type == T_BF16 ? ct_f32_to_bf16(ct_bf16_to_f32(half) * times)
                                 : ct_f32_to_f16(ct_f16_to_f32(half) * times);
        memcpy(p, t->type == T_F32 ? (const void *)&v : &half, t->type == T_F32 ? 4 : 2);
    }
}

/* Each matrix takes part, but the router: no two have the same factors. folded: in the matrix itself. */
static void add_factors(struct gguf *g, bool folded)
{
    const int n = g->n_tensor;
    for (int i = 0; i < n; i++) {
        struct gguf_tensor *t = &g->tensor[i];
        const size_t parts = t->n_dim == 3 && strstr(t->name, "_exps.") ? EXPERTS4 : 1;
        const bool named_so = strstr(t->name, "ffn_gate_inp") || strstr(t->name, "ffn_down_exps");
        if (t->n_dim < 2 || named_so || strstr(t->name, "altup_router") || strstr(t->name, "_coef"))
            continue;
        float factor[EXPERTS4];
        for (size_t k = 0; k < parts; k++) {
            factor[k] = (float)(1u << ((size_t)i + k) % 3) * 0.5f;
            if (folded)
                multiply(t, k * t->data.n / parts, (k + 1) * t->data.n / parts, factor[k]);
        }
        if (folded)
            continue;
        const char *name = t->name;
        gguf_add(g, beside(name, ".scale"), T_F32, parts, 0);
        memcpy(g->tensor[g->n_tensor - 1].data.p, factor, parts * sizeof *factor);
        gguf_add(g, beside(name, ".input_scale"), T_F32, parts, 0);
    }
}

static void add_apart(struct gguf *g)
{
    add_factors(g, false);
}

static void add_folded(struct gguf *g)
{
    add_factors(g, true);
}

static void add_apart_of_apart(struct gguf *g)
{
    newer_apart(g);
    add_factors(g, false);
}

static void add_folded_of_apart(struct gguf *g)
{
    newer_apart(g);
    add_factors(g, true);
}

static void a_factor_beside_counts_as_if_folded(void **state)
{
    static const struct {
        enum newer_form form;
        void (*apart)(struct gguf *g), (*folded)(struct gguf *g);
    } models[] = {{AS_E2B, add_apart, add_folded},
                  {AS_31B, add_apart, add_folded},
                  {AS_26B, add_apart, add_folded},
                  {AS_26B, add_apart_of_apart, add_folded_of_apart},
                  {AS_3N, add_apart, add_folded}};
    (void)state;
    for (size_t k = 0; k < CT_COUNT(models); k++) {
        struct small apart = open_small(models[k].form, models[k].apart),
                     folded = open_small(models[k].form, models[k].folded),
                     plain = open_small(models[k].form, NULL), *const all[] = {&apart, &folded, &plain};
        assert_int_equal(apart.model->weights.n_unused, 0);
        for (int exact = 0; exact < 2; exact++) {
            float logits[3][PIECES];
            for (int i = 0; i < 3; i++)
                logits_of(all[i], exact, logits[i]);
            assert_memory_equal(logits[0], logits[1], sizeof logits[0]);
            assert_memory_not_equal(logits[0], logits[2], sizeof logits[0]);
        }
        for (int i = 0; i < 3; i++)
            close_small(all[i]);
    }
}

/* ---- tensors that nothing reads ---- */

static void add_dead(struct gguf *g)
{
    gguf_add(g, "blk.2.attn_k.weight", T_Q4_0, HIDDEN, HEAD);
    gguf_add(g, "blk.2.attn_v.weight", T_Q4_0, HIDDEN, HEAD);
    gguf_add(g, "blk.2.attn_k_norm.weight", T_F32, HEAD, 0);
    gguf_add(g, "blk.2.attn_k.scale", T_F32, 1, 0);
    gguf_add(g, "blk.2.attn_k.input_scale", T_F32, 1, 0);
}

static void add_unknown(struct gguf *g)
{
    add_dead(g);
    gguf_add(g, "blk.2.attn_bias.weight", T_F32, HEAD, 0);
}

/* K and V of a layer that reads another's are in published files, and not worth a word. */
static void dead_weights_are_not_told_of(void **state)
{
    (void)state;
    struct small dead = open_small(AS_E2B, add_dead), unknown = open_small(AS_E2B, add_unknown);
    assert_int_equal(dead.model->weights.n_unused, 0);
    assert_int_equal(unknown.model->weights.n_unused, 1);
    assert_string_equal(unknown.model->weights.unused, "blk.2.attn_bias.weight");
    close_small(&dead);
    close_small(&unknown);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_unread_type_is_refused_by_name),
                                       cmocka_unit_test(experts_have_two_forms),
                                       cmocka_unit_test(a_factor_beside_counts_as_if_folded),
                                       cmocka_unit_test(dead_weights_are_not_told_of)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
