/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_gguf_model.c: rows G18 to G21, G23, G24 and G26 of the list of bad inputs: GGUF files that are
 * well formed and make no sense as a model or a vocabulary, given to the command. Files whose bytes lie are
 * in test_bad_gguf.c. */
#include "cli/model/bad_gguf.h"

#include <math.h>

/* ---- makers ---- */

/* Without that metadata entry. */
static void drop(struct bad_place *p, const void *with)
{
    struct gguf g;
    gguf_init(&g);
    gguf_drop(&g, with);
    gguf_write(p, &g);
}

/* Without these tensors; a list that NULL ends. */
static void removed(struct bad_place *p, const void *with)
{
    struct gguf g;
    gguf_init(&g);
    for (const char *const *name = with; *name; name++)
        gguf_remove(&g, *name);
    gguf_write(p, &g);
}

/* With so many tensors that no Gemma has. */
static void added(struct bad_place *p, const void *with)
{
    static const char *const names[] = {"v.patch_embd.weight", "mm.0.weight", "mtp.0.weight"};
    struct gguf g;
    gguf_init(&g);
    for (int i = 0; i < *(const int *)with; i++)
        gguf_add(&g, names[i], T_F32, 16, 0);
    gguf_write(p, &g);
}

/* One piece of the vocabulary replaced, or one added, or the numbers of its pieces wrong. */
struct piece {
    int id; /* -1: none */
    const char *text;
    size_t n;
    int more;          /* pieces, scores and types behind the last */
    int type;          /* of the piece, when not 0 */
    float score;       /* of the piece, when not 0 */
    int scores, types; /* so many more of them; -1: one less */
};
static void vocabulary(struct bad_place *p, const void *with)
{
    const struct piece *c = with;
    struct gguf g;
    gguf_init(&g);
    struct buf old = gguf_key(&g, "tokenizer.ggml.tokens")->value, tokens = {0};
    size_t at = 16;
    put_u32(&tokens, ARRAY), put_u32(&tokens, STRING), put_u64(&tokens, (uint64_t)(PIECES + c->more));
    for (int id = 0; id < PIECES; id++) {
        size_t n = (size_t)ct_le64(old.p + at);
        bool this = id == c->id && c->text;
        put_u64(&tokens, this ? c->n : n);
        put(&tokens, this ? (const void *)c->text : old.p + at + 8, this ? c->n : n);
        at += 8 + n;
    }
    for (int i = 0; i < c->more; i++) {
        char s[16];
        snprintf(s, sizeof s, "more%d", i);
        put_str(&tokens, s);
    }
    buf_free(&gguf_key(&g, "tokenizer.ggml.tokens")->value);
    gguf_key(&g, "tokenizer.ggml.tokens")->value = tokens;

    struct buf *scores = &gguf_key(&g, "tokenizer.ggml.scores")->value;
    struct buf *types = &gguf_key(&g, "tokenizer.ggml.token_type")->value;
    if (c->score != 0)
        memcpy(scores->p + 16 + 4 * c->id, &c->score, 4);
    if (c->type)
        memcpy(types->p + 16 + 4 * c->id, &(int32_t){c->type}, 4);
    for (int i = 0; i < c->more + c->scores; i++)
        put_u32(scores, 0);
    for (int i = 0; i < c->more + c->types; i++)
        put_u32(types, 1);
    scores->n -= c->scores < 0 ? 4 : 0;
    memcpy(scores->p + 8, &(uint64_t){(uint64_t)(PIECES + c->more + c->scores)}, 8);
    memcpy(types->p + 8, &(uint64_t){(uint64_t)(PIECES + c->more + c->types)}, 8);
    gguf_write(p, &g);
}
/* A piece of 10 MiB. */
static void long_piece(struct bad_place *p, const void *with)
{
    const size_t n = 10 << 20;
    char *text = malloc(n);
    (void)with;
    assert_non_null(text);
    memset(text, 'x', n);
    vocabulary(p, &(struct piece){.id = 270, .text = text, .n = n});
    free(text);
}

/* Two bytes or a float of a tensor's data replaced. */
struct poke {
    const char *name;
    size_t at;
    const void *p;
    size_t n;
};
static void poke(struct bad_place *p, const void *with)
{
    const struct poke *c = with;
    struct gguf g;
    gguf_init(&g);
    memcpy(gguf_find(&g, c->name)->data.p + c->at, c->p, c->n);
    gguf_write(p, &g);
}

/* A template of Gemma 3's that is too long. */
static void long_template(struct bad_place *p, const void *with)
{
    struct gguf g;
    struct buf text = {0};
    (void)with;
    put_text(&text, "<start_of_turn><end_of_turn>");
    while (text.n <= 1 << 20)
        put_text(&text, "{# nothing #}");
    gguf_init(&g);
    gguf_set(&g, "tokenizer.chat_template", STRING, text.p, text.n);
    gguf_write(p, &g);
    buf_free(&text);
}

/* ---- rows ---- */

#define SET(...)                                                                                             \
    gguf_make_set, &(const struct gguf_value)                                                                \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define UINT(key, v) SET(key, U32, &(const uint32_t){v}, 4)
#define INT(key, v)  SET(key, I32, &(const int32_t){v}, 4)
#define REAL(key, v) SET(key, F32, &(const float){v}, 4)
#define G(key)       "gemma3." key
#define BASE         G("rope.freq_base")
#define EPS          G("attention.layer_norm_rms_epsilon")
#define BLOCKS       G("block_count")
#define HEAD_COUNT   G("attention.head_count")

static const struct bad_case keys[] = {
    {"G18", "block_count missing", drop, BLOCKS, 4, {BLOCKS, "missing", "1 to 256"}},
    {"G18", "embedding_length missing", drop, G("embedding_length"), 4, {G("embedding_length"), "missing"}},
    {"G18",
     "feed_forward_length missing",
     drop,
     G("feed_forward_length"),
     4,
     {G("feed_forward_length"), "missing"}},
    {"G18", "head_count missing", drop, HEAD_COUNT, 4, {HEAD_COUNT, "missing"}},
    {"G18", "block_count 0", UINT(BLOCKS, 0), 4, {BLOCKS, "is 0 at byte", "from 1 to 256"}},
    {"G18", "block_count -1", INT(BLOCKS, -1), 4, {BLOCKS, "is -1 at byte", "from 1 to 256"}},
    {"G18", "block_count 257", UINT(BLOCKS, 257), 4, {BLOCKS, "is 257", "from 1 to 256"}},
    {"G18", "block_count 513", UINT(BLOCKS, 513), 4, {BLOCKS, "is 513", "from 1 to 256"}},
    {"G18", "block_count 2^32 - 1", UINT(BLOCKS, UINT32_MAX), 4, {BLOCKS, "is 4294967295", "from 1 to 256"}},
    {"G18", "block_count as text", SET(BLOCKS, STRING, "2", 1), 4, {BLOCKS, "a string"}},
    {"G18", "block_count as float", REAL(BLOCKS, 2), 4, {BLOCKS, "a float"}},
    {"G18", "block_count as bool", SET(BLOCKS, BOOL, "\1", 1), 4, {BLOCKS, "a bool"}},
    {"G18", "head_count 0", UINT(HEAD_COUNT, 0), 4, {HEAD_COUNT, "is 0", "from 1 to 1024"}},
    {"G18", "head_count_kv 0", UINT(G("attention.head_count_kv"), 0), 4, {"head_count_kv", "is 0", "from 1"}},
    {"G18", "key_length 0", UINT(G("attention.key_length"), 0), 4, {"key_length", "is 0", "from 1"}},
    {"G18", "key_length odd", UINT(G("attention.key_length"), 31), 4, {"31"}},
    {"G18", "key_length 65536", UINT(G("attention.key_length"), 65536), 4, {"65536"}},
    {"G18", "embedding_length 0", UINT(G("embedding_length"), 0), 4, {"embedding_length", "is 0", "from 1"}},
    {"G18",
     "embedding_length 2^32 - 1",
     UINT(G("embedding_length"), UINT32_MAX),
     4,
     {"embedding_length", "4294967295"}},
    {"G18",
     "feed_forward_length 2^31",
     UINT(G("feed_forward_length"), 1u << 31),
     4,
     {"feed_forward_length", "2147483648"}},
    {"G18", "context_length 0", UINT(G("context_length"), 0), 4, {"context_length", "is 0", "from 1"}},
    {"G18",
     "sliding_window 0",
     UINT(G("attention.sliding_window"), 0),
     4,
     {"sliding_window", "is 0", "from 1"}},
    {"G18",
     "sliding_window 2^31",
     UINT(G("attention.sliding_window"), 1u << 31),
     4,
     {"sliding_window", "2147483648"}},
    {"G18", "rope base 0", REAL(BASE, 0), 4, {BASE, "is 0 at byte", "from 1.0001 to 1000000000000"}},
    {"G18", "rope base negative", REAL(BASE, -1e6f), 4, {BASE, "is -1000000", "from 1.0001"}},
    {"G18", "rope base NaN", REAL(BASE, NAN), 4, {BASE, "nan", "at byte", "finite"}},
    {"G18", "rope base as text", SET(BASE, STRING, "x", 1), 4, {BASE, "a string"}},
    {"G18",
     "rope scaling by yarn",
     SET(G("rope.scaling.type"), STRING, "yarn", 4),
     4,
     {G("rope.scaling.type"), "at byte", "linear"}},
    {"G18", "epsilon NaN", REAL(EPS, NAN), 4, {EPS, "nan", "at byte", "finite"}},
    {"G18", "epsilon infinite", REAL(EPS, INFINITY), 4, {EPS, "inf", "at byte", "finite"}},
    {"G18", "epsilon negative", REAL(EPS, -1), 4, {EPS, "is -1 at byte", "from 0 to 1"}},
    {"G18", "epsilon 2", REAL(EPS, 2), 4, {EPS, "is 2 at byte", "from 0 to 1"}},
    {"G18", "soft cap NaN", REAL(G("attn_logit_softcapping"), NAN), 4, {"attn_logit_softcapping", "nan"}},
    {"G18",
     "embedding scale negative",
     REAL("carat.embedding_scale", -1),
     4,
     {"carat.embedding_scale", "is -1"}},
};

#define PATTERN(bytes) SET(G("attention.sliding_window_pattern"), ARRAY, BYTES("\7\0\0\0" bytes))
static const struct bad_case shapes[] = {
    {"G19",
     "a wider feed-forward",
     UINT(G("feed_forward_length"), 128),
     4,
     {"blk.0.ffn_gate.weight", "shape [96 x 64]", "expected [128 x 64]", "at byte"}},
    {"G19",
     "a wider model",
     UINT(G("embedding_length"), 128),
     4,
     {"token_embd.weight", "shape [302 x 64]", "expected [302 x 128]"}},
    {"G19",
     "more heads",
     UINT(HEAD_COUNT, 4),
     4,
     {"blk.0.attn_q.weight", "shape [64 x 64]", "expected [128 x 64]"}},
    {"G19", "heads that cannot share", UINT(HEAD_COUNT, 3), 4, {"shape [64 x 64]", "expected [96 x 64]"}},
    {"G19",
     "more KV heads than heads",
     UINT(G("attention.head_count_kv"), 4),
     4,
     {"2 query heads", "4 KV heads"}},
    {"G19",
     "more KV heads",
     UINT(G("attention.head_count_kv"), 2),
     4,
     {"blk.0.attn_k.weight", "shape [32 x 64]", "expected [64 x 64]"}},
    {"G19",
     "values of another length",
     UINT(G("attention.value_length"), 16),
     4,
     {"value_length", "16", "32"}},
    {"G19",
     "heads as an array",
     SET(HEAD_COUNT, ARRAY, "\4\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0", 16),
     4,
     {HEAD_COUNT, "1 entries", "2 layers"}},
    {"G19",
     "too short a pattern",
     PATTERN("\1\0\0\0\0\0\0\0\1"),
     4,
     {"sliding_window_pattern", "1 entries", "2 layers"}},
    {"G19",
     "too long a pattern",
     PATTERN("\3\0\0\0\0\0\0\0\1\1\0"),
     4,
     {"sliding_window_pattern", "3 entries", "2 layers"}},
    {"G19",
     "more tokens than rows",
     vocabulary,
     &(const struct piece){.id = -1, .more = 1},
     4,
     {"token_embd.weight", "302 rows", "303", "tokenizer.ggml.tokens"}},
};

#define NAMES(...)                                                                                           \
    (const char *const[])                                                                                    \
    {                                                                                                        \
        __VA_ARGS__, NULL                                                                                    \
    }
static const struct bad_case missing[] = {
    {"G20",
     "a tensor missing",
     removed,
     NAMES("blk.1.ffn_up.weight"),
     4,
     {"1 tensor is missing", "blk.1.ffn_up.weight", "2 layers"}},
    {"G20",
     "seven missing",
     removed,
     NAMES("blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight", "blk.0.ffn_up.weight",
           "blk.1.attn_q.weight", "blk.1.attn_k.weight", "output_norm.weight"),
     4,
     {"7 tensors are missing", "output_norm.weight",
      "blk.0.attn_q.weight, blk.0.attn_k.weight, blk.0.attn_v.weight", "blk.0.ffn_up.weight, ..."}},
    {"G20", "no embedding", removed, NAMES("token_embd.weight"), 4, {"token_embd.weight"}},
    {"G20",
     "a layer less than said",
     UINT(BLOCKS, 3),
     4,
     {"13 tensors are missing", "blk.2.attn_norm.weight", "3 layers"}},
    {"G20", "a tensor too much", added, &(const int){1}, 0, {"1 tensor ", "v.patch_embd.weight"}},
    {"G20", "three too much", added, &(const int){3}, 0, {"3 tensors ", "v.patch_embd.weight, ..."}},
};

#define ARCH(s) SET("general.architecture", STRING, s, sizeof(s) - 1)
static const struct bad_case architectures[] = {
    {"G21", "llama", ARCH("llama"), 4, {"general.architecture \"llama\"", "Gemma 1, 2, 3"}},
    {"G21", "gemma9", ARCH("gemma9"), 4, {"general.architecture \"gemma9\"", "Gemma 1, 2, 3"}},
    {"G21", "no name", ARCH(""), 4, {"general.architecture \"\"", "Gemma 1, 2, 3"}},
    {"G21", "a name that moves the cursor", ARCH("\x1b[2J\n"), 4, {"general.architecture \"?[2J?\""}},
    {"G21", "a number", UINT("general.architecture", 3), 4, {"general.architecture", "not a string"}},
    {"G21", "missing", drop, "general.architecture", 4, {"general.architecture", "missing"}},
};

#define BOS   "tokenizer.ggml.bos_token_id"
#define RANGE "from 0 to 301"
#define PIECE(...)                                                                                           \
    vocabulary, &(const struct piece)                                                                        \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define TEXT(s) .text = s, .n = sizeof(s) - 1
static const struct bad_case vocabularies[] = {
    {"G23", "bos -1", INT(BOS, -1), 4, {BOS, "is -1", RANGE}},
    {"G23", "bos behind the last", UINT(BOS, PIECES), 4, {BOS, "is 302", RANGE}},
    {"G23", "bos 2^32 - 1", UINT(BOS, UINT32_MAX), 4, {BOS, "is 4294967295", RANGE}},
    {"G23", "bos as text", SET(BOS, STRING, "<bos>", 5), 4, {BOS, "a string"}},
    {"G23", "eos -1", INT("tokenizer.ggml.eos_token_id", -1), 4, {"eos_token_id", "is -1", RANGE}},
    {"G23",
     "eot behind the last",
     UINT("tokenizer.ggml.eot_token_id", PIECES),
     4,
     {"eot_token_id", "is 302", RANGE}},
    {"G23",
     "unknown 2^32 - 1",
     UINT("tokenizer.ggml.unknown_token_id", UINT32_MAX),
     4,
     {"unknown_token_id", RANGE}},
    {"G23", "a score too much", PIECE(.id = -1, .scores = 1), 4, {"tokenizer.ggml.scores", "303", "302"}},
    {"G23", "a score too few", PIECE(.id = -1, .scores = -1), 4, {"tokenizer.ggml.scores", "301", "302"}},
    {"G23", "a type too much", PIECE(.id = -1, .types = 1), 4, {"tokenizer.ggml.token_type", "303", "302"}},
    {"G23", "no scores", drop, "tokenizer.ggml.scores", 4, {"tokenizer.ggml.scores", "missing"}},
    {"G23",
     "scores as text",
     SET("tokenizer.ggml.scores", STRING, "x", 1),
     4,
     {"tokenizer.ggml.scores", "numbers"}},
    {"G23", "a score NaN", PIECE(.id = 270, .score = NAN), 4, {"score of token 270"}},
    {"G23", "type 7", PIECE(.id = 270, .type = 7), 4, {"token_type", "token 270", "is 7", "0 to 6"}},
    {"G23", "type -1", PIECE(.id = 270, .type = -1), 4, {"token_type", "token 270", "is -1", "0 to 6"}},
    {"G23", "a token of 10 MiB", long_piece, NULL, 4, {"token 270", "10485760", "240"}},
    {"G23", "a byte below 0", PIECE(.id = 16, TEXT("<0x-1>")), 4, {"token 16", "<0x-1>", "<0x00>"}},
    {"G23", "a byte in no digits", PIECE(.id = 16, TEXT("<0xZZ>")), 4, {"token 16", "<0xZZ>", "<0x00>"}},
    {"G23", "a token that is not UTF-8", PIECE(.id = 270, TEXT("\xc3")), 4, {"token 270", "UTF-8"}},
    {"G23",
     "tokens as numbers",
     SET("tokenizer.ggml.tokens", ARRAY, "\4\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0", 16),
     4,
     {"tokenizer.ggml.tokens", "array of strings"}},
    {"G23",
     "no token at all",
     SET("tokenizer.ggml.tokens", ARRAY, "\x08\0\0\0\0\0\0\0\0\0\0\0", 12),
     4,
     {"tokenizer.ggml.tokens", "1 to 2097152"}},
    {"G23",
     "another kind of tokenizer",
     SET("tokenizer.ggml.model", STRING, "gpt2", 4),
     4,
     {"tokenizer.ggml.model", "llama"}},
};

#define RUN                                                                                                  \
    {                                                                                                        \
        "run", "@", "hi", "-n", "1"                                                                          \
    }
#define BAD_LOGITS                                                                                           \
    {                                                                                                        \
        "NaN or infinity", "logits"                                                                          \
    }
#define POKE(name, at, value, n)                                                                             \
    poke, &(const struct poke)                                                                               \
    {                                                                                                        \
        name, at, &(value), n                                                                                \
    }
static const struct bad_case weights[] = {
    {"G24", "NaN in a norm: opening", POKE("output_norm.weight", 8, (const float){NAN}, 4), 0},
    {"G24", "NaN in a norm", POKE("output_norm.weight", 8, (const float){NAN}, 4), 4, BAD_LOGITS, RUN},
    {"G24", "infinity in a norm", POKE("blk.1.attn_norm.weight", 0, (const float){INFINITY}, 4), 4,
     BAD_LOGITS, RUN},
    {"G24", "NaN as a scale", POKE("blk.0.attn_v.weight", 0, (const uint16_t){0x7e00}, 2), 4, BAD_LOGITS,
     RUN},
    {"G24", "infinity as a scale", POKE("blk.1.attn_output.weight", 34, (const uint16_t){0x7c00}, 2), 4,
     BAD_LOGITS, RUN},
    {"G24", "NaN in the embedding", POKE("token_embd.weight", 4 * HIDDEN * 280, (const float){NAN}, 4), 4,
     BAD_LOGITS, RUN},
};

#define TEMPLATE(s) SET("tokenizer.chat_template", STRING, BYTES("<start_of_turn><end_of_turn>" s))
#define NO_TEXT                                                                                              \
    {                                                                                                        \
        "UTF-8 text of at most 1 MiB without NUL", "none is used"                                            \
    }
static const struct bad_case templates[] = {
    {"G26", "more than 1 MiB", long_template, NULL, 0, NO_TEXT},
    {"G26", "NUL", TEMPLATE("\0"), 0, NO_TEXT},
    {"G26", "not UTF-8", TEMPLATE("\xff"), 0, NO_TEXT},
    {"G26", "a number", UINT("tokenizer.chat_template", 1), 4, {"tokenizer.chat_template", "string"}},
    {"G26", "running without", TEMPLATE("\0"), 0, NO_TEXT, RUN},
    {"G26",
     "running with another",
     TEMPLATE("\0"),
     0,
     NO_TEXT,
     {"run", "@", "hi", "-n", "1", "--chat-template", "gemma3"}},
    {"G26", "a name that moves the cursor", SET("general.name", STRING, BYTES("\x1b[2J\n\xff")), 0},
    {"G26", "a name with NUL", SET("general.name", STRING, BYTES("a\0b")), 0},
};

/* ---- tests ---- */

#define TEST(name, cases)                                                                                    \
    static void name(void **state)                                                                           \
    {                                                                                                        \
        (void)state;                                                                                         \
        BAD_RUN(cases);                                                                                      \
    }
TEST(keys_make_no_sense, keys)
TEST(shapes_disagree, shapes)
TEST(tensors_are_missing, missing)
TEST(architecture_is_foreign, architectures)
TEST(vocabulary_is_broken, vocabularies)
TEST(weights_are_no_numbers, weights)
TEST(template_is_no_text, templates)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_make_no_sense),   cmocka_unit_test(shapes_disagree),
        cmocka_unit_test(tensors_are_missing),  cmocka_unit_test(architecture_is_foreign),
        cmocka_unit_test(vocabulary_is_broken), cmocka_unit_test(weights_are_no_numbers),
        cmocka_unit_test(template_is_no_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
