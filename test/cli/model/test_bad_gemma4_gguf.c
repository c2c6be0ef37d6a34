/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_gemma4_gguf.c: rows of the list of bad inputs that GGUF files of Gemma 4 alone can have: values by
 * layer, heads of two widths, shared K and V, inputs of layers, angles by pair. What every GGUF file may say
 * wrong is in test_bad_gguf_model.c, what config.json may in test_bad_gemma4.c. */
#include "cli/model/gemma4_gguf.h"

#include <math.h>

#define LOGITS                                                                                               \
    {                                                                                                        \
        "logits", "@", "--ids", "2,3"                                                                        \
    }

/* What becomes of a good file, where it is said. */
struct change {
    bool large; /* as 31B, else as E2B */
    const char *drop, *remove;
    struct gguf_value set[2];
    struct {
        const char *name;
        uint64_t cols, rows; /* a tensor more, of F32 */
    } add;
    struct {
        const char *name;
        uint64_t rows; /* the first of a tensor of rows of `bytes` bytes, or its values */
        size_t bytes;
    } cut;
    float factor; /* of pair 3 in rope_freqs */
};

static void changed(struct bad_place *p, const void *with)
{
    static const struct change none;
    const struct change *c = with ? with : &none;
    struct gguf g;
    gemma4_init(&g, c->large ? GEMMA4_31B : GEMMA4_E2B);
    if (c->drop)
        gguf_drop(&g, c->drop);
    if (c->remove)
        gguf_remove(&g, c->remove);
    for (size_t i = 0; i < CT_COUNT(c->set) && c->set[i].key; i++)
        gguf_set(&g, c->set[i].key, c->set[i].type, c->set[i].p, c->set[i].n);
    if (c->add.name)
        gguf_add(&g, c->add.name, T_F32, c->add.cols, c->add.rows);
    if (c->cut.name) {
        struct gguf_tensor *t = gguf_find(&g, c->cut.name);
        t->dim[t->n_dim - 1] = c->cut.rows;
        t->data.n = c->cut.rows * c->cut.bytes;
    }
    if (c->factor != 0)
        memcpy(gguf_find(&g, "rope_freqs.weight")->data.p + 12, &c->factor, 4);
    gguf_write(p, &g);
}

#define G(key) "gemma4." key
#define WITH(...)                                                                                            \
    changed, &(const struct change)                                                                          \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define SET(key, type, ...) WITH(.set = {{key, type, __VA_ARGS__}}), 4
#define UINT(key, v)        SET(key, U32, &(const uint32_t){v}, 4)
#define INT(key, v)         SET(key, I32, &(const int32_t){v}, 4)
#define UINTS(key, n, ...)  SET(key, ARRAY, ((const uint32_t[]){U32, n, 0, __VA_ARGS__}), 4 * (3 + n))
#define DROP(key)           WITH(.drop = key)
#define FFN_KEY             G("feed_forward_length")
#define KV_KEY              G("attention.head_count_kv")
#define SHARED              G("attention.shared_kv_layers")
#define WIDTH               G("embedding_length_per_layer_input")
#define ROW_BYTES           210 /* of the table of inputs: 256 values of type Q6_K */

static const struct bad_case sound[] = {
    {"gemma4", "as E2B", changed, NULL, 0, {NULL}, LOGITS},
    {"gemma4", "as 31B", WITH(.large = true), 0, {NULL}, LOGITS},
    {"gemma4",
     "a table with more rows than ids",
     WITH(.cut = {"token_embd.weight", PIECES, 68}),
     0,
     {NULL},
     LOGITS},
    {"gemma4",
     "K of a layer that shares",
     WITH(.add = {"blk.2.attn_k.weight", HIDDEN, HEAD}),
     0,
     {NULL},
     LOGITS},
    {"gemma4", "no cap", DROP(G("final_logit_softcapping")), 0, {NULL}, LOGITS},
    {"gemma4", "no angles", WITH(.remove = "rope_freqs.weight"), 0, {NULL}, LOGITS},
    {"gemma4", "no bases", DROP(G("rope.freq_base_swa")), 0, {NULL}, LOGITS},
    {"gemma4",
     "a period",
     WITH(.set = {{G("attention.sliding_window_pattern"), U32, &(const uint32_t){2}, 4}}),
     0,
     {NULL},
     LOGITS},
};

static const struct bad_case arrays[] = {
    {"gemma4",
     "widths of three layers",
     UINTS(FFN_KEY, 3, 96, 96, 192),
     {"/model.gguf: metadata key \"" FFN_KEY "\" at byte ",
      "3 entries, expected one integer for each of 4 layers"}},
    {"gemma4",
     "widths of five layers",
     UINTS(FFN_KEY, 5, 96, 96, 192, 192, 192),
     {FFN_KEY, "5 entries", "4 layers"}},
    {"gemma4", "no widths", UINTS(FFN_KEY, 0, 0), {FFN_KEY, "0 entries", "4 layers"}},
    {"gemma4",
     "a width of 0",
     UINTS(FFN_KEY, 4, 96, 96, 0, 192),
     {FFN_KEY, "has 0 for layer 2, expected an integer from 1 to 1048576"}},
    {"gemma4",
     "a huge width",
     UINTS(FFN_KEY, 4, 96, 96, UINT32_MAX, 192),
     {FFN_KEY, "has 4294967295 for layer 2"}},
    {"gemma4",
     "a width less than said",
     UINTS(FFN_KEY, 4, 96, 96, 96, 192),
     {"blk.2.ffn_gate.weight at byte ", "shape [192 x 64], expected [96 x 64]",
      "(feed_forward_length x embedding_length)"}},
    {"gemma4",
     "widths in words",
     SET(FFN_KEY, ARRAY,
         "\10\0\0\0\4\0\0\0\0\0\0\0"
         "\1\0\0\0\0\0\0\0a"
         "\1\0\0\0\0\0\0\0a"
         "\1\0\0\0\0\0\0\0a"
         "\1\0\0\0\0\0\0\0a",
         48),
     {FFN_KEY, "4 entries, expected one integer"}},
    {"gemma4", "KV heads of three layers", UINTS(KV_KEY, 3, 1, 1, 1), {KV_KEY, "3 entries", "4 layers"}},
    {"gemma4",
     "no KV heads",
     UINTS(KV_KEY, 4, 1, 0, 1, 1),
     {KV_KEY, "has 0 for layer 1, expected an integer from 1 to 1024"}},
    {"gemma4",
     "other KV heads where they are shared",
     UINTS(KV_KEY, 4, 1, 1, 2, 1),
     {"layer 2 is said to have 2 KV heads of 32, but it reads those of layer 0, which has 1 of 32"}},
    {"gemma4",
     "a pattern of three layers",
     SET(G("attention.sliding_window_pattern"), ARRAY, BYTES("\7\0\0\0\3\0\0\0\0\0\0\0\1\0\1")),
     {"sliding_window_pattern", "3 entries, expected one bool for each of 4 layers"}},
    {"gemma4",
     "another layer is global",
     SET(G("attention.sliding_window_pattern"), ARRAY, BYTES("\7\0\0\0\4\0\0\0\0\0\0\0\0\1\1\0")),
     {"blk.0.attn_q.weight at byte ", "shape [64 x 64], expected [128 x 64]"}},
};

static const struct bad_case heads[] = {
    {"gemma4",
     "V of another length",
     UINT(G("attention.value_length"), 32),
     {"\"gemma4.attention.value_length\" is 32, expected key_length = 64"}},
    {"gemma4",
     "V of another length in local layers",
     UINT(G("attention.value_length_swa"), 64),
     {"\"gemma4.attention.value_length_swa\" is 64, expected key_length_swa = 32"}},
    {"gemma4", "heads of 0", UINT(G("attention.key_length_swa"), 0), {"key_length_swa", "is 0", "from 1"}},
    {"gemma4",
     "odd heads",
     WITH(.set = {{G("attention.key_length_swa"), U32, &(const uint32_t){31}, 4},
                  {G("attention.value_length_swa"), U32, &(const uint32_t){31}, 4}}),
     4,
     {"expected the 31 values of a head"}},
    {"gemma4",
     "other local heads than the tensors have",
     DROP(G("attention.key_length_swa")),
     4,
     {"value_length_swa\" is 32, expected key_length_swa = 256"}},
    {"gemma4",
     "half of a head turns",
     UINT(G("rope.dimension_count"), 32),
     {"\"gemma4.rope.dimension_count\" is 32, expected the 64 values of a head"}},
    {"gemma4",
     "half of a local head turns",
     UINT(G("rope.dimension_count_swa"), 16),
     {"\"gemma4.rope.dimension_count_swa\" is 16, expected the 32 values of a head"}},
    {"gemma4",
     "experts",
     UINT(G("expert_count"), 8),
     {"metadata key \"gemma4.expert_count\" at byte ", "means experts"}},
};

static const struct bad_case angles[] = {
    {"gemma4",
     "too few",
     WITH(.cut = {"rope_freqs.weight", 16, 4}),
     4,
     {"tensor rope_freqs.weight at byte ", "has 16 values of type F32, expected 32 of type F32"}},
    {"gemma4",
     "none",
     WITH(.cut = {"rope_freqs.weight", 0, 4}),
     4,
     {"tensor \"rope_freqs.weight\" has a dimension of 0"}},
    {"gemma4",
     "another divisor",
     WITH(.factor = 8),
     4,
     {"rope_freqs.weight at byte ", "divides the angle of pair 3 by 8; carat runs models whose first pairs "
                                    "have 1 and all others at least 1e20"}},
    {"gemma4",
     "a pair that stands still among others",
     WITH(.factor = 1e30f),
     4,
     {"divides the angle of pair 4 by 1;"}},
    {"gemma4",
     "a divisor that is no number",
     WITH(.factor = NAN),
     4,
     {"divides the angle of pair 3 by nan;"}},
    {"gemma4", "a divisor below 0", WITH(.factor = -1), 4, {"divides the angle of pair 3 by -1;"}},
    {"gemma4",
     "for long texts",
     WITH(.add = {"rope_factors_long.weight", 32, 0}),
     4,
     {"tensor rope_factors_long.weight at byte ",
      "a factor of its own, which carat does not apply to a model of architecture \"gemma4\""}},
};

static const struct bad_case sharing[] = {
    {"gemma4",
     "all layers share",
     UINT(SHARED, LAYERS4),
     {"\"" SHARED "\" is 4 at byte ", "must be from 0 to 3"}},
    {"gemma4", "more than all", UINT(SHARED, UINT32_MAX), {SHARED, "is 4294967295", "from 0 to 3"}},
    {"gemma4", "fewer than none", INT(SHARED, -1), {SHARED, "is -1", "from 0 to 3"}},
    {"gemma4",
     "no global layer before",
     UINT(SHARED, 3),
     {"\"" SHARED "\" is 3, but layer 1 then finds no global layer before layer 1 to share with"}},
    {"gemma4",
     "fewer than said",
     UINT(SHARED, 1),
     {"3 tensors are missing: blk.2.attn_k.weight, blk.2.attn_v.weight, blk.2.attn_k_norm.weight;"}},
    {"gemma4",
     "V of a local layer is missing",
     WITH(.large = true, .remove = "blk.2.attn_v.weight"),
     4,
     {"1 tensor is missing: blk.2.attn_v.weight;"}},
    {"gemma4",
     "V of one global layer is missing",
     WITH(.large = true, .add = {"blk.1.attn_v.weight", HIDDEN, HEAD4}),
     4,
     {"1 tensor is missing: blk.3.attn_v.weight;"}},
};

static const struct bad_case inputs[] = {
    {"gemma4",
     "a table with fewer rows than ids",
     WITH(.cut = {"per_layer_token_embd.weight", PIECES - 1, ROW_BYTES}),
     4,
     {"tensor per_layer_token_embd.weight at byte ",
      "has 301 rows, expected at least 302, one for each row of token_embd.weight"}},
    {"gemma4",
     "a width that is no part of the table's",
     UINT(WIDTH, 63),
     {"per_layer_token_embd.weight at byte ", "shape [302 x 256], expected [302 x 252]",
      "(its own rows x block_count * embedding_length_per_layer_input)"}},
    {"gemma4",
     "a width that is too large",
     UINT(WIDTH, UINT32_MAX),
     {WIDTH, "is 4294967295", "from 0 to 65536"}},
    {"gemma4",
     "a table without a width",
     UINT(WIDTH, 0),
     {"tensor per_layer_token_embd.weight at byte ",
      "is there, but metadata key \"" WIDTH "\" says that layers have no input of their own"}},
    {"gemma4",
     "a table without the key",
     DROP(WIDTH),
     4,
     {"per_layer_token_embd.weight", "is there, but metadata key \"" WIDTH "\""}},
    {"gemma4",
     "a width without a table",
     WITH(.remove = "per_layer_token_embd.weight"),
     4,
     {"1 tensor is missing: per_layer_token_embd.weight;"}},
    {"gemma4",
     "no projection",
     WITH(.remove = "per_layer_model_proj.weight"),
     4,
     {"1 tensor is missing: per_layer_model_proj.weight;"}},
    {"gemma4",
     "no gate",
     WITH(.remove = "blk.3.inp_gate.weight"),
     4,
     {"1 tensor is missing: blk.3.inp_gate.weight;"}},
    {"gemma4",
     "no scale of a layer",
     WITH(.remove = "blk.3.layer_output_scale.weight"),
     4,
     {"1 tensor is missing: blk.3.layer_output_scale.weight;"}},
};

static void sound_files(void **state)
{
    (void)state;
    BAD_RUN(sound);
}
static void values_by_layer(void **state)
{
    (void)state;
    BAD_RUN(arrays);
}
static void heads_of_two_widths(void **state)
{
    (void)state;
    BAD_RUN(heads);
}
static void angles_by_pair(void **state)
{
    (void)state;
    BAD_RUN(angles);
}
static void shared_keys_and_values(void **state)
{
    (void)state;
    BAD_RUN(sharing);
}
static void inputs_of_layers(void **state)
{
    (void)state;
    BAD_RUN(inputs);
}

/* The command on a file, with one id a position from 2 on; its output. */
static void logits_of(const char *dir, const char *file, char out[4096])
{
    struct bad_run r =
        bad_command(dir, file, (const char *const[8]){"logits", "@", "--ids", "2,9,40,77,5,6", "--top", "8"});
    if (r.exit)
        fail_msg("%s: %s", file, r.err);
    memcpy(out, r.out, sizeof r.out);
}

/* A packed file, which has no rope_freqs, runs as its origin does; angles count. */
static void packed_files_know_the_angles(void **state)
{
    (void)state;
    static const struct change forms[] = {{.large = false}, {.large = true}};
    for (size_t i = 0; i < CT_COUNT(forms); i++) {
        struct bad_place p = {0}, other = {0};
        struct change without = forms[i];
        char *dir = temp_dir(), *second = temp_dir(), packed[1100], a[4096], b[4096], c[4096];
        snprintf(p.dir, sizeof p.dir, "%s", dir);
        snprintf(other.dir, sizeof other.dir, "%s", second);
        changed(&p, &forms[i]);
        without.remove = "rope_freqs.weight";
        changed(&other, &without);
        snprintf(packed, sizeof packed, "%s/packed.carat", dir);
        assert_int_equal(bad_command(dir, p.path, (const char *const[8]){"pack", "@", "-o", packed}).exit, 0);
        logits_of(dir, p.path, a);
        logits_of(dir, packed, b);
        logits_of(dir, other.path, c);
        assert_string_equal(a, b);
        assert_string_not_equal(a, c);
        remove_dir(dir, (const char *const[]){"model.gguf", "packed.carat", "stdout", "stderr", NULL});
        remove_dir(second, (const char *const[]){"model.gguf", NULL});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_files),
        cmocka_unit_test(values_by_layer),
        cmocka_unit_test(heads_of_two_widths),
        cmocka_unit_test(angles_by_pair),
        cmocka_unit_test(shared_keys_and_values),
        cmocka_unit_test(inputs_of_layers),
        cmocka_unit_test(packed_files_know_the_angles),
    };
    return cmocka_run_group_tests_name("model: bad GGUF files of Gemma 4", tests, NULL, NULL);
}
