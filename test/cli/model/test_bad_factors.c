/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_factors.c: factors of matrices in tensors beside them, as files of NVFP4 have: those that are none
 * are refused by name; a packed file keeps them, the content hash counts them, and show tells which scales
 * are not used. That they count as if folded is test/model/test_weights.c's. */
#include "cli/model/newer_gguf.h"

#include <math.h>

#define LOGITS                                                                                               \
    {                                                                                                        \
        "logits", "@", "--ids", "2,3,9", "--top", "8"                                                        \
    }

struct factor {
    enum newer_form form;
    const char *name; /* of the tensor; NULL: there is none */
    uint32_t type;
    uint64_t n[2];
    float value;
};

static void with_factor(struct bad_place *p, const void *with)
{
    const struct factor *f = with;
    struct gguf g;
    newer_init(&g, newer_published[f->form]);
    if (f->name) {
        gguf_add(&g, f->name, f->type, f->n[0], f->n[1]);
        struct buf *data = &gguf_find(&g, f->name)->data;
        for (size_t i = 0; f->type == T_F32 && i < data->n; i += 4)
            memcpy(data->p + i, &f->value, 4);
    }
    gguf_write(p, &g);
}

#define ADD(...)                                                                                             \
    with_factor, &(const struct factor)                                                                      \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define DOWN  "blk.1.ffn_down.scale"
#define EXPS  "blk.1.ffn_gate_up_exps.scale"
#define WHERE "/model.gguf: tensor " DOWN " at byte "

static const struct bad_case rows[] = {
    {"gemma4", "one", ADD(AS_E2B, DOWN, T_F32, {1, 0}, 0.5f), 0, {NULL}, LOGITS},
    {"gemma4", "one of each expert", ADD(AS_26B, EXPS, T_F32, {EXPERTS4, 0}, 0.5f), 0, {NULL}, LOGITS},
    {"gemma4",
     "one of the table of inputs",
     ADD(AS_E2B, "per_layer_token_embd.scale", T_F32, {1, 0}, 0.5f),
     0,
     {NULL},
     LOGITS},
    {"gemma4",
     "two",
     ADD(AS_E2B, DOWN, T_F32, {2, 0}, 1),
     4,
     {WHERE, "has shape [2] and type F32, expected [1] of F32, the factor of blk.1.ffn_down.weight"}},
    {"gemma4", "a matrix", ADD(AS_E2B, DOWN, T_F32, {1, 1}, 1), 4, {WHERE, "has shape [1 x 1] and type F32"}},
    {"gemma4",
     "one of another type",
     ADD(AS_E2B, DOWN, T_F16, {1, 0}, 1),
     4,
     {WHERE, "has shape [1] and type F16, expected [1] of F32"}},
    {"gemma4",
     "one for all experts",
     ADD(AS_26B, EXPS, T_F32, {1, 0}, 1),
     4,
     {"tensor " EXPS " at byte ",
      "has shape [1] and type F32, expected [4] of F32, the factors of blk.1.ffn_gate_up_exps.weight"}},
    {"gemma4",
     "NaN",
     ADD(AS_E2B, DOWN, T_F32, {1, 0}, NAN),
     4,
     {"tensor " DOWN " has nan at byte ",
      ", expected a positive number, the factor of blk.1.ffn_down.weight"}},
    {"gemma4", "infinity", ADD(AS_E2B, DOWN, T_F32, {1, 0}, INFINITY), 4, {DOWN " has inf at byte "}},
    {"gemma4", "zero", ADD(AS_E2B, DOWN, T_F32, {1, 0}, 0), 4, {DOWN " has 0 at byte "}},
    {"gemma4", "less than zero", ADD(AS_E2B, DOWN, T_F32, {1, 0}, -1), 4, {DOWN " has -1 at byte "}},
    {"gemma4",
     "of an expert, NaN",
     ADD(AS_26B, EXPS, T_F32, {EXPERTS4, 0}, NAN),
     4,
     {EXPS " has nan at byte "}},
    {"gemma4",
     "NaN beside K that nobody reads",
     ADD(AS_E2B, "blk.2.attn_k.scale", T_F32, {1, 0}, NAN),
     0,
     {NULL},
     LOGITS},
    {"gemma4",
     "of the head that is the embedding",
     ADD(AS_E2B, "output.scale", T_F32, {1, 0}, NAN),
     0,
     {NULL},
     LOGITS},
};

static void what_is_no_factor_is_refused(void **state)
{
    (void)state;
    BAD_RUN(rows);
}

/* ---- where they are kept ---- */

static void run(const char *dir, const char *file, const char *const args[8], char out[4096])
{
    struct bad_run r = bad_command(dir, file, args);
    if (r.exit)
        fail_msg("%s: %s", file, r.err);
    memcpy(out, r.out, sizeof r.out);
}

/* The content hash, as verify says it. */
static void hash_of(const char *dir, const char *file, char out[4096])
{
    static const char key[] = "\"content\":\"";
    /* whatever it says of the vocabulary */
    struct bad_run r = bad_command(dir, file, (const char *const[8]){"verify", "@", "--json"});
    const char *at = strstr(r.out, key);
    assert_non_null(at);
    snprintf(out, 4096, "%.32s", at + sizeof key - 1);
}

static void packed_files_keep_them(void **state)
{
    static const char *const logits[8] = LOGITS;
    static const struct factor some[] = {{AS_E2B, DOWN, T_F32, {1, 0}, 0.75f},
                                         {AS_26B, EXPS, T_F32, {EXPERTS4, 0}, 0.75f},
                                         {AS_E2B, "token_embd.scale", T_F32, {1, 0}, 0.75f}};
    (void)state;
    for (size_t i = 0; i < CT_COUNT(some); i++) {
        struct bad_place p = {0};
        const struct factor none = {.form = some[i].form};
        char *dir = temp_dir(), packed[1100], hash[3][4096], text[3][4096];
        snprintf(p.dir, sizeof p.dir, "%s", dir);
        snprintf(packed, sizeof packed, "%s/packed.carat", dir);
        with_factor(&p, &none);
        hash_of(dir, p.path, hash[0]);
        run(dir, p.path, logits, text[0]);
        with_factor(&p, &some[i]);
        assert_int_equal(bad_command(dir, p.path, (const char *const[8]){"pack", "@", "-o", packed}).exit, 0);
        hash_of(dir, p.path, hash[1]);
        run(dir, p.path, logits, text[1]);
        hash_of(dir, packed, hash[2]);
        run(dir, packed, logits, text[2]);
        assert_string_not_equal(hash[0], hash[1]);
        assert_string_not_equal(text[0], text[1]);
        assert_string_equal(hash[1], hash[2]);
        assert_string_equal(text[1], text[2]);
        remove_dir(dir, (const char *const[]){"model.gguf", "packed.carat", "stdout", "stderr", NULL});
    }
}

static void show_tells_what_is_not_used(void **state)
{
    static const char *const show[8] = {"show", "@"};
    static const struct factor some[] = {{AS_E2B, "blk.1.ffn_down.input_scale", T_F32, {1, 0}, 3},
                                         {AS_E2B, DOWN, T_F32, {1, 0}, 3}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct bad_place p = {0};
        char *dir = temp_dir();
        snprintf(p.dir, sizeof p.dir, "%s", dir);
        with_factor(&p, &some[i]);
        struct bad_run r = bad_command(dir, p.path, show);
        assert_int_equal(r.exit, 0);
        assert_int_equal(strstr(r.out, "  input scales      1, not used\n") != NULL, i == 0);
        assert_null(strstr(r.err, "no part of the model"));
        remove_dir(dir, (const char *const[]){"model.gguf", "stdout", "stderr", NULL});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_no_factor_is_refused),
                                       cmocka_unit_test(packed_files_keep_them),
                                       cmocka_unit_test(show_tells_what_is_not_used)};
    return cmocka_run_group_tests_name("model: factors beside matrices", tests, NULL, NULL);
}
