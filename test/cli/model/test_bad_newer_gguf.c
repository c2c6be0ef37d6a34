/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_newer_gguf.c: rows of the list of bad inputs that GGUF files of Gemma 3n and 4 alone can have:
 * values by layer, heads of two widths, shared K and V, inputs of layers, angles by pair, experts, streams.
 * What every GGUF file may say wrong is in test_bad_gguf_model.c, what config.json may in test_bad_gemma3n.c
 * and test_bad_gemma4.c. */
#include "cli/model/newer_gguf.h"

#include <math.h>

#define LOGITS                                                                                               \
    {                                                                                                        \
        "logits", "@", "--ids", "2,3"                                                                        \
    }

/* What becomes of a good file, where it is said. */
struct change {
    enum newer_form form;
    const char *drop, *remove;
    struct gguf_value set[3];
    struct {
        const char *name;
        uint64_t cols, rows; /* a tensor more, of F32 */
    } add;
    struct {
        const char *name;
        uint64_t rows; /* the first of a tensor of rows of `bytes` bytes, or its values */
        size_t bytes;
    } cut;
    bool apart;   /* gate and up of experts */
    float factor; /* of pair 3 in rope_freqs */
    bool last;    /* the last byte of the table of inputs is no 0 */
};

static void changed(struct bad_place *p, const void *with)
{
    static const struct change none;
    const struct change *c = with ? with : &none;
    struct gguf g;
    newer_init(&g, newer_published[c->form]);
    if (c->apart)
        newer_apart(&g);
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
    if (c->last) {
        struct buf *table = &gguf_find(&g, "per_layer_token_embd.weight")->data;
        memset(table->p + table->n - 34, 0x14, 34);
    }
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
    {"gemma4", "as 31B", WITH(.form = AS_31B), 0, {NULL}, LOGITS},
    {"gemma4", "as 26B", WITH(.form = AS_26B), 0, {NULL}, LOGITS},
    {"gemma4", "as 26B, gate and up apart", WITH(.form = AS_26B, .apart = true), 0, {NULL}, LOGITS},
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
     "experts of which nobody says how many a row takes",
     UINT(G("expert_count"), 8),
     {"metadata key \"gemma4.expert_used_count\" is missing; an integer from 1 to 8 was expected"}},
    {"gemma4",
     "more experts of a row than there are",
     WITH(.set = {{G("expert_count"), U32, &(const uint32_t){8}, 4},
                  {G("expert_used_count"), U32, &(const uint32_t){9}, 4}}),
     4,
     {"metadata key \"gemma4.expert_used_count\"", "9", "from 1 to 8"}},
    {"gemma4",
     "experts that are not there",
     WITH(.set = {{G("expert_count"), U32, &(const uint32_t){8}, 4},
                  {G("expert_used_count"), U32, &(const uint32_t){2}, 4},
                  {G("expert_feed_forward_length"), U32, &(const uint32_t){16}, 4}}),
     4,
     {"tensors are missing: blk.0.post_ffw_norm_1.weight, blk.0.ffn_gate_inp.scale, "
      "blk.0.ffn_gate_inp.weight, blk.0.pre_ffw_norm_2.weight, blk.0.ffn_down_exps.scale, ...;"}},
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
     WITH(.form = AS_31B, .remove = "blk.2.attn_v.weight"),
     4,
     {"1 tensor is missing: blk.2.attn_v.weight;"}},
    {"gemma4",
     "V of one global layer is missing",
     WITH(.form = AS_31B, .add = {"blk.1.attn_v.weight", HIDDEN, HEAD4}),
     4,
     {"1 tensor is missing: blk.3.attn_v.weight;"}},
    {"gemma4",
     "V of the first global layer is missing",
     WITH(.form = AS_31B, .add = {"blk.3.attn_v.weight", HIDDEN, HEAD4}),
     4,
     {"1 tensor is missing: blk.1.attn_v.weight;"}},
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

#define WITH26B(...) WITH(.form = AS_26B, __VA_ARGS__), 4
#define APART(...)   WITH(.form = AS_26B, .apart = true, __VA_ARGS__), 4
#define STORED       (EXPERT_FFN * 2 * HIDDEN / 32 * 18) /* bytes of gate and up of an expert */

static const struct bad_case experts[] = {
    {"gemma4",
     "fewer than said",
     WITH26B(.cut = {"blk.1.ffn_gate_up_exps.weight", 3, STORED}),
     {"tensor blk.1.ffn_gate_up_exps.weight at byte ", "has shape [3 x 64 x 64], expected [4 x 64 x 64]",
      "(expert_count x 2 * expert_feed_forward_length x embedding_length)"}},
    {"gemma4",
     "fewer gates than said",
     APART(.cut = {"blk.1.ffn_gate_exps.weight", 3, STORED / 2}),
     {"tensor blk.1.ffn_gate_exps.weight at byte ", "has shape [3 x 32 x 64], expected [4 x 32 x 64]",
      "(expert_count x expert_feed_forward_length x embedding_length)"}},
    {"gemma4",
     "more ups than said",
     APART(.set = {{G("expert_count"), U32, &(const uint32_t){3}, 4}}),
     {"blk.0.ffn_gate_inp.weight at byte ", "shape [4 x 64], expected [3 x 64]"}},
    {"gemma4",
     "wider ups than said",
     APART(.remove = "blk.3.ffn_up_exps.weight", .add = {"blk.3.ffn_up_exps.weight", HIDDEN, 64}),
     {"tensor blk.3.ffn_up_exps.weight at byte ", "has shape [64 x 64], expected [4 x 32 x 64]"}},
    {"gemma4",
     "a gate that is one matrix",
     APART(.remove = "blk.0.ffn_gate_exps.weight", .add = {"blk.0.ffn_gate_exps.weight", HIDDEN, EXPERT_FFN}),
     {"tensor blk.0.ffn_gate_exps.weight at byte ", "has shape [32 x 64], expected [4 x 32 x 64]"}},
    {"gemma4",
     "both forms",
     WITH(.form = AS_26B, .add = {"blk.0.ffn_up_exps.weight", HIDDEN, EXPERT_FFN}),
     0,
     {NULL},
     LOGITS},
    {"gemma4",
     "no gate",
     APART(.remove = "blk.2.ffn_gate_exps.weight"),
     {"1 tensor is missing: blk.2.ffn_gate_exps.weight;"}},
    {"gemma4",
     "no up",
     APART(.remove = "blk.2.ffn_up_exps.weight"),
     {"1 tensor is missing: blk.2.ffn_up_exps.weight;"}},
    {"gemma4",
     "neither",
     WITH26B(.remove = "blk.2.ffn_gate_up_exps.weight"),
     {"1 tensor is missing: blk.2.ffn_gate_up_exps.weight;"}},
};

#define N(key)         "gemma3n." key
#define WITH3N(...)    WITH(.form = AS_3N, __VA_ARGS__), 4
#define UINT3N(key, v) WITH3N(.set = {{key, U32, &(const uint32_t){v}, 4}})
#define SPARSITY       N("activation_sparsity_scale")
#define SCALES(n, ...)                                                                                       \
    WITH3N(.set = {{SPARSITY, ARRAY, (&(const struct scales){F32, n, 0, {__VA_ARGS__}}), 12 + 4 * (n)}})
struct scales {
    uint32_t type;
    uint32_t n, zero;
    float v[4];
};

static const struct bad_case streams[] = {
    {"gemma3n",
     "three streams",
     UINT3N(N("altup.num_inputs"), 3),
     {"\"gemma3n.altup.num_inputs\"", "are 3 and 0, but carat runs models with 4 and 0 only"}},
    {"gemma3n", "another active stream", UINT3N(N("altup.active_idx"), 1), {"are 4 and 1, but"}},
    {"gemma3n",
     "cut-offs of three layers",
     SCALES(3, 0),
     {SPARSITY, "3 entries, expected one number for each of 4 layers"}},
    {"gemma3n",
     "one cut-off",
     WITH3N(.set = {{SPARSITY, F32, &(const float){1}, 4}}),
     {SPARSITY, "is no array, expected a number for each of 4 layers"}},
    {"gemma3n",
     "another cut-off",
     SCALES(4, 1.6448536f, 2, 0, 0),
     {SPARSITY, "has 2 for layer 1, but carat runs 1.64485359 and -inf only"}},
    {"gemma3n", "a cut-off that is no number", SCALES(4, NAN, 0, 0, 0), {SPARSITY, "has nan for layer 0"}},
    {"gemma3n",
     "no layers that share",
     WITH3N(.drop = N("attention.shared_kv_layers")),
     {N("attention.shared_kv_layers"), "is missing; an integer from 0 to 3"}},
    {"gemma3n",
     "no inputs of layers",
     UINT3N(N("embedding_length_per_layer_input"), 0),
     {"embedding_length_per_layer_input", "is 0 at byte", "from 1 to"}},
    {"gemma3n",
     "matrices of two streams",
     WITH3N(.cut = {"altup_proj.weight", 2, 2 * HIDDEN * 18}),
     {"tensor altup_proj.weight at byte ", "has 3 dimensions, the first of 2, expected 3, the first of 3"}},
    {"gemma3n",
     "a matrix in place of three",
     WITH3N(.remove = "altup_unembd_proj.weight", .add = {"altup_unembd_proj.weight", HIDDEN, 3}),
     {"tensor altup_unembd_proj.weight at byte ", "has 2 dimensions, the first of 3, expected 3"}},
    {"gemma3n",
     "no streams",
     WITH3N(.remove = "altup_proj.weight"),
     {"3 tensors are missing: altup_proj.0.weight, altup_proj.1.weight, altup_proj.2.weight;"}},
    {"gemma3n",
     "too few coefficients",
     WITH3N(.cut = {"blk.1.altup_predict_coef.weight", 12, 16}),
     {"blk.1.altup_predict_coef.weight at byte ", "shape [12 x 4], expected [16 x 4]"}},
    {"gemma3n",
     "another rank in one layer",
     WITH3N(.cut = {"blk.2.laurel_l.weight", 16, 36}),
     {"blk.2.laurel_l.weight at byte ", "shape [16 x 64], expected [32 x 64]",
      "(the rows of blk.0.laurel_l.weight x embedding_length)"}},
    {"gemma3n",
     "another rank in the first",
     WITH3N(.cut = {"blk.0.laurel_l.weight", 16, 36}),
     {"blk.0.laurel_r.weight at byte ", "shape [64 x 32], expected [64 x 16]"}},
    {"gemma3n",
     "no scale of the stream",
     WITH3N(.remove = "blk.0.altup_correct_scale.weight"),
     {"1 tensor is missing: blk.0.altup_correct_scale.weight;"}},
    {"gemma3n",
     "angles",
     WITH3N(.add = {"rope_freqs.weight", 16, 0}),
     {"tensor rope_freqs.weight at byte ", "does not apply to a model of architecture \"gemma3n\""}},
    {"gemma3n", "as published", WITH(.form = AS_3N), 0, {NULL}, LOGITS},
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
static void gate_and_up_of_experts(void **state)
{
    (void)state;
    BAD_RUN(experts);
}
static void inputs_of_layers(void **state)
{
    (void)state;
    BAD_RUN(inputs);
}

static void streams_of_gemma3n(void **state)
{
    (void)state;
    BAD_RUN(streams);
}

/* The command on a file; its output. One id is beyond the table of Gemma 3n. */
static void logits_of(const char *dir, const char *file, char out[4096])
{
    struct bad_run r = bad_command(
        dir, file, (const char *const[8]){"logits", "@", "--ids", "2,9,40,300,5,6", "--top", "8"});
    if (r.exit)
        fail_msg("%s: %s", file, r.err);
    memcpy(out, r.out, sizeof r.out);
}

/* A packed file runs as its origin does, though it has no rope_freqs, and no rows of zeros for ids that are
 * no text. Both count. */
static void packed_files_know_what_they_lack(void **state)
{
    (void)state;
    for (int form = AS_E2B; form <= AS_3N; form++) {
        struct bad_place p = {0}, other = {0};
        const struct change as = {.form = (enum newer_form)form};
        struct change without = as;
        char *dir = temp_dir(), *second = temp_dir(), packed[1100], a[4096], b[4096], c[4096];
        snprintf(p.dir, sizeof p.dir, "%s", dir);
        snprintf(other.dir, sizeof other.dir, "%s", second);
        changed(&p, &as);
        if (form == AS_3N) /* the last row is not zero */
            without.last = true;
        else
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

/* What layers have of their own, in words and as JSON. */
static void show_tells_of_layers(void **state)
{
    (void)state;
    static const char *const said[][4] = {
        [AS_E2B] = {"4, of them 2 local (window 16); the last 2 read keys and values of earlier ones\n",
                    "64 hidden, 96 ffn, 192 in the last 2\n",
                    "2, 1 for keys and values, of 32; global 1 of 64\n", "64 for each token and layer\n"},
        [AS_31B] = {"4, of them 2 local (window 16)\n", "64 hidden, 96 ffn\n",
                    "2, 2 for keys and values, of 32; global 1 of 64\n"},
        [AS_26B] = {"64 hidden, 96 ffn\n", "2, 2 for keys and values, of 32; global 1 of 64\n",
                    "4, 2 for each token, 32 ffn\n"},
        [AS_3N] = {"the last 2 read", "ffn, 192 in the last 2\n", "2, 1 for keys and values, of 32\n",
                   "64 for each token and layer\n"}};
    static const char *const json[] = {
        [AS_E2B] = "\"n_kv_head_global\":1,\"head_dim_global\":64,\"n_kv_shared\":2,\"ffn_shared\":192,"
                   "\"ple_width\":64,\"n_expert\":0",
        [AS_31B] = "\"n_kv_head_global\":1,\"head_dim_global\":64,\"n_kv_shared\":0,\"ffn_shared\":0,"
                   "\"ple_width\":0,\"n_expert\":0",
        [AS_26B] = "\"n_kv_head_global\":1,\"head_dim_global\":64,\"n_kv_shared\":0,\"ffn_shared\":0,"
                   "\"ple_width\":0,\"n_expert\":4",
        [AS_3N] = "\"n_kv_head_global\":1,\"head_dim_global\":32,\"n_kv_shared\":2,\"ffn_shared\":192,"
                  "\"ple_width\":64,\"n_expert\":0"};
    for (int form = AS_E2B; form <= AS_3N; form++) {
        struct bad_place p = {0};
        const struct change as = {.form = (enum newer_form)form};
        char *dir = temp_dir();
        snprintf(p.dir, sizeof p.dir, "%s", dir);
        changed(&p, &as);
        struct bad_run r = bad_command(dir, p.path, (const char *const[8]){"show", "@"});
        assert_int_equal(r.exit, 0);
        for (int i = 0; i < 4 && said[form][i]; i++)
            if (!strstr(r.out, said[form][i]))
                fail_msg("form %d: '%s' is not said:\n%s", form, said[form][i], r.out);
        r = bad_command(dir, p.path, (const char *const[8]){"show", "@", "--json"});
        if (!strstr(r.out, json[form]))
            fail_msg("form %d: %s", form, r.out);
        remove_dir(dir, (const char *const[]){"model.gguf", "stdout", "stderr", NULL});
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
        cmocka_unit_test(gate_and_up_of_experts),
        cmocka_unit_test(inputs_of_layers),
        cmocka_unit_test(streams_of_gemma3n),
        cmocka_unit_test(packed_files_know_what_they_lack),
        cmocka_unit_test(show_tells_of_layers),
    };
    return cmocka_run_group_tests_name("model: bad GGUF files of newer members", tests, NULL, NULL);
}
