/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_hf.c: the rows S of the list of bad inputs: Hugging Face directories whose safetensors or index
 * lie, given to the command. What is sound and not for carat is in test_refused.c, config.json in
 * test_bad_config.c. */
#include "cli/model/bad_hf.h"

/* ---- the base runs, and so do legal oddities ---- */

static void linked(struct bad_place *p, const void *with)
{
    char blobs[1024];
    sharded(p, with);
    snprintf(blobs, sizeof blobs, "%s/blobs", p->dir);
    assert_int_equal(mkdir(blobs, 0700), 0);
    static const char *const names[] = {"config.json", FIRST, SECOND, INDEX, "tokenizer.json"};
    snprintf(p->path, sizeof p->path, "%s/snapshot", p->dir);
    assert_int_equal(mkdir(p->path, 0700), 0);
    for (size_t i = 0; i < CT_COUNT(names); i++) {
        char to[1200];
        snprintf(to, sizeof to, "%s/%zu", blobs, i);
        assert_int_equal(rename(path_in(p->dir, names[i]), to), 0);
        snprintf(to, sizeof to, "../blobs/%zu", i);
        assert_int_equal(symlink(to, path_in(p->path, names[i])), 0);
    }
}

static const struct bad_case sound[] = {
    {"S0", "the base", whole, NULL, 0, {NULL}, LOGITS},
    {"S0", "the base in shards", sharded, NULL, 0, {NULL}, LOGITS},
    {"S9", "a hub cache: links into blobs", linked, NULL, 0, {NULL}, LOGITS},
    {"S2", "spaces after the header", whole, D({WHOLE, "]}}", "]}}         "}), 0, {NULL}, LOGITS},
};

/* ---- links that lead nowhere or in a circle ---- */

static void lost(struct bad_place *p, const void *with)
{
    whole(p, NULL);
    unlink(path_in(p->dir, with));
    assert_int_equal(symlink("../../blobs/0123", path_in(p->dir, with)), 0);
}
static void loop(struct bad_place *p, const void *with)
{
    whole(p, NULL);
    unlink(path_in(p->dir, with));
    assert_int_equal(symlink(with, path_in(p->dir, with)), 0);
}
#define LOST(name)                                                                                           \
    {                                                                                                        \
        "S9", name ": a link to nothing", lost, name, 3,                                                     \
        {                                                                                                    \
            name ": is a link to ../../blobs/0123, which is not"                                             \
        }                                                                                                    \
    }
#define LOOP(name)                                                                                           \
    {                                                                                                        \
        "S9", name ": a link to itself", loop, name, 3,                                                      \
        {                                                                                                    \
            name ": is a link that leads in a circle"                                                        \
        }                                                                                                    \
    }

static const struct bad_case links[] = {
    LOST("config.json"),
    LOST("generation_config.json"),
    LOST("tokenizer.json"),
    LOST("tokenizer.model"),
    LOST("tokenizer_config.json"),
    LOST("chat_template.jinja"),
    LOST("chat_template.json"),
    LOST("special_tokens_map.json"),
    LOST("added_tokens.json"),
    LOST("adapter_config.json"),
    LOST(INDEX),
    LOST(WHOLE),
    LOOP("generation_config.json"),
    LOOP("tokenizer.json"),
    LOOP("chat_template.jinja"),
    LOOP(INDEX),
    LOOP(WHOLE),
};

/* ---- safetensors ---- */

static void length_of(struct bad_place *p, const void *with)
{
    whole(p, NULL);
    struct buf b = bad_read(path_in(p->dir, WHOLE));
    memcpy(b.p, with, 8);
    bad_write(p, WHOLE, b.p, b.n);
    buf_free(&b);
}
static void cut_to(struct bad_place *p, const void *with)
{
    whole(p, NULL);
    assert_int_equal(truncate(path_in(p->dir, WHOLE), *(const off_t *)with), 0);
}
static void with_zip(struct bad_place *p, const void *with)
{
    whole(p, with);
    struct buf b = bad_read(path_in(p->dir, WHOLE));
    put(&b, "PK\3\4............", 16);
    bad_write(p, WHOLE, b.p, b.n);
    buf_free(&b);
}
#define LENGTH(n) length_of, &(const uint64_t){n}, 4
#define CUT(n)    cut_to, &(const off_t){n}, 4

/* A header that costs something to read. */
enum monster { DEEP, KEYS, NAMES, STRING, ESCAPES, SPACES, DIGITS };
static void monster(struct bad_place *p, const void *with)
{
    struct buf b = {0};
    char entry[96];
    sides(p, NULL);
    put_u64(&b, 0);
    put_text(&b, "{");
    switch (*(const enum monster *)with) {
    case DEEP:
        put_text(&b, "\"a\":{\"shape\":");
        repeat(&b, "[", 10000);
        break;
    case KEYS:
        for (int i = 0; i < 1000000; i++) {
            snprintf(entry, sizeof entry, "\"%d\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},",
                     i);
            put_text(&b, entry);
        }
        break;
    case NAMES:
        put_text(&b, "\"a\":{");
        for (int i = 0; i < 1000000; i++) {
            snprintf(entry, sizeof entry, "\"%d\":0,", i);
            put_text(&b, entry);
        }
        break;
    case STRING:
        put_text(&b, "\"");
        repeat(&b, "0123456789abcdef", 50000000 / 16);
        put_text(&b, "\":{}}");
        break;
    case ESCAPES:
        put_text(&b, "\"__metadata__\":{\"a\":\"");
        repeat(&b, "\\u00e9", 50000000 / 6);
        put_text(&b, "\"},1}");
        break;
    case SPACES:
        repeat(&b, "                ", 50000000 / 16);
        put_text(&b, "!}");
        break;
    case DIGITS:
        put_text(&b, "\"a\":{\"shape\":[");
        repeat(&b, "1234567890", 5000000);
        put_text(&b, "]}}");
        break;
    }
    memcpy(b.p, &(uint64_t){b.n - 8}, 8);
    bad_write(p, WHOLE, b.p, b.n);
    buf_free(&b);
}
#define MONSTER(kind) monster, &(const enum monster){kind}, 4

#define NORM(more) "\"model.norm.weight\":{\"dtype\":\"BF16\",\"shape\":[16],\"data_offsets\":" more
#define AT(range)  HEAD_(NORM("[0,32]"), NORM(range))

static const struct bad_case headers[] = {
    {"S1", "an empty file", CUT(0), {WHOLE, "ends at byte 0 inside the header length"}},
    {"S1", "seven bytes", CUT(7), {WHOLE, "ends at byte 7 inside the header length, which takes 8 bytes"}},
    {"S1", "the length alone", CUT(8), {WHOLE, "not a safetensors file"}},
    {"S1", "half a header", CUT(1000), {WHOLE, "ends at byte 1000 inside the header"}},
    {"S1", "half the data", CUT(20000), {WHOLE, "bytes are missing; download the file again"}},
    {"S1", "header length 0", LENGTH(0), {WHOLE, "at byte 8", "the end of the text"}},
    {"S1", "header length 1", LENGTH(1), {WHOLE, "at byte 9", "the end of the text"}},
    {"S1", "header length 1e6", LENGTH(1000000), {WHOLE, "header, which takes 1000000 bytes from byte 8"}},
    {"S1", "header length 1e8 + 1", LENGTH(100000001), {WHOLE, "100000001 bytes; the limit", "100000000"}},
    {"S1", "header length 2^64 - 1", LENGTH(UINT64_MAX), {WHOLE, "18446744073709551615 bytes; the limit"}},
    {"S2", "not UTF-8", HEAD_("model.norm", "model.\xffnorm"), {WHOLE, "at byte 16", "not valid UTF-8"}},
    {"S2", "an array", HEAD_("{", "[{"), {WHOLE, "not a safetensors file"}},
    {"S2", "a number", HEAD_("{", "1{"), {WHOLE, "not a safetensors file"}},
    {"S2", "a byte order mark", HEAD_("{", "\xef\xbb\xbf{"), {WHOLE, "not a safetensors file"}},
    {"S2",
     "more after it",
     HEAD_("]}}", "]}}{}"),
     {WHOLE, "at byte ", "expected nothing after the document"}},
    {"S2", "a comma too many", HEAD_("]},", "]},,"), {WHOLE, "at byte ", "expected a key, found ','"}},
    {"S2", "not JSON", HEAD_("\"dtype\":", "dtype:"), {WHOLE, "at byte ", "found 'd'"}},
    {"S3", "nested 10 000 deep", MONSTER(DEEP), {WHOLE, "at byte ", "array of at most 8 integers"}},
    {"S3", "1 000 000 tensors", MONSTER(KEYS), {WHOLE, "more than 262144 tensors"}},
    {"S3", "1 000 000 keys of a tensor", MONSTER(NAMES), {WHOLE, "found the key \"0\"", "tensor \"a\""}},
    {"S3", "a name of 50 MB", MONSTER(STRING), {WHOLE, "at byte "}},
    {"S3", "a string of 50 MB in escapes", MONSTER(ESCAPES), {WHOLE, "at byte "}},
    {"S3", "50 MB of spaces", MONSTER(SPACES), {WHOLE, "at byte ", "expected a key"}},
    {"S3", "a number of 50 MB", MONSTER(DIGITS), {WHOLE, "at byte ", "tensor \"a\""}},
    {"S3", "NUL in a name", HEAD_("model.norm", "model\\u0000norm"), {WHOLE, "at byte ", "1 to 4096 bytes"}},
    {"S3",
     "half a surrogate",
     HEAD_("model.norm", "model\\ud800"),
     {WHOLE, "surrogate \\ud800 has no partner"}},
    {"S4",
     "a tensor twice",
     HEAD_("\"scalar\"", "\"model.norm.weight\""),
     {WHOLE, "tensor \"model.norm.weight\" is there twice"}},
    {"S4",
     "the same name in other letters",
     HEAD_("\"scalar\"", "\"model.norm.weig\\u0068t\""),
     {"tensor \"model.norm.weight\" is there twice: at byte"}},
    {"S4",
     "two dtypes",
     HEAD_("\"dtype\":\"BF16\"", "\"dtype\":\"BF16\",\"dtype\":\"BF16\""),
     {WHOLE, "dtype is there twice", "tensor \"model.norm.weight\""}},
    {"S4",
     "metadata twice",
     HEAD_("{", "{\"__metadata__\":{},\"__metadata__\":{},"),
     {WHOLE, "at byte ", "__metadata__ is there twice"}},
    {"S5", "negative", AT("[-32,0]"), {WHOLE, "plain integer", "tensor \"model.norm.weight\""}},
    {"S5", "an exponent", AT("[0,32e0]"), {WHOLE, "plain integer", "tensor \"model.norm.weight\""}},
    {"S5", "a fraction", AT("[0.0,32]"), {WHOLE, "plain integer", "tensor \"model.norm.weight\""}},
    {"S5", "a string", AT("[\"0\",32]"), {WHOLE, "2 integers", "tensor \"model.norm.weight\""}},
    {"S5", "reversed", AT("[32,0]"), {"tensor \"model.norm.weight\"", "reversed data_offsets: 32 to 0"}},
    {"S5", "a hole", AT("[16,48]"), {"\"model.norm.weight\" leaves a gap before it: its data begin"}},
    {"S5",
     "an overlap",
     HEAD_("[],"
           "\"data_offsets\":[42336,42337]",
           "[2],"
           "\"data_offsets\":[42335,42337]"),
     {"tensor", "\"scalar\"", "overlaps another"}},
    {"S5",
     "past the end",
     AT("[50000,50032]"),
     {"tensor \"model.norm.weight\" ends at byte 50032 of the data"}},
    {"S5", "beyond 2^53", AT("[9007199254740993,9007199254741025]"), {"ends at byte 9007199254741025"}},
    {"S5", "beyond 2^63", AT("[0,9223372036854775808]"), {"plain integer from 0 to 2^63-1"}},
    {"S6", "a product that wraps", HEAD_("[1024,16]", "[4294967296,4294967296,16]"), {"countable number"}},
    {"S6", "other bytes", HEAD_("[1024,16]", "[1024,15]"), {"for 32768 bytes, but its shape", "take 30720"}},
    {"S6", "rank 0", HEAD_("\"shape\":[16]", "\"shape\":[]"), {"\"model.norm.weight\"", "for 32 bytes"}},
    {"S6", "an extent of 0", HEAD_("[1024,16]", "[0,16]"), {"embed_tokens.weight\"", "BF16 take 0"}},
    {"S6", "rank 9", HEAD_("[1024,16]", "[1,1,1,1,1,1,1,1024,16]"), {"at most 8", "embed_tokens"}},
    {"S6", "rank 5", HEAD_("[1024,16]", "[1,1,1,1024,16]"), {"embed_tokens.weight\" has 5 dimensions"}},
    {"S7",
     "an unknown dtype",
     HEAD_("BF16", "I4"),
     {"at byte ", "dtype \"I4\"", "tensor \"model.norm.weight\""}},
    {"S7", "no dtype", HEAD_("BF16", ""), {"the dtype \"\" is not one", "tensor \"model.norm.weight\""}},
    {"S7", "lower case", HEAD_("BF16", "bf16"), {"the dtype \"bf16\" is not one", "model.norm.weight"}},
    {"S7",
     "a known dtype that carat does not read",
     HEAD_("\"BF16\",\"shape\":[16]", "\"F8_E4M3\",\"shape\":[32]"),
     {WHOLE, "tensor model.norm.weight at byte ", "is stored as F8_E4M3, which carat does not read"}},
    {"S8",
     "a ZIP at the end",
     with_zip,
     NULL,
     4,
     {WHOLE, "the last tensor ends at byte ", "but the file has"}},
};

/* ---- index and shards ---- */

static void many_shards(struct bad_place *p, const void *with)
{
    struct buf b = {0};
    char entry[64];
    sharded(p, NULL);
    put_text(&b, "{\"weight_map\":{");
    for (int i = 0; i < *(const int *)with; i++) {
        snprintf(entry, sizeof entry, "%s\"t%d\":\"s%d.safetensors\"", i ? "," : "", i, i);
        put_text(&b, entry);
    }
    put_text(&b, "}}");
    bad_write(p, INDEX, b.p, b.n);
    buf_free(&b);
}
static void outside(struct bad_place *p, const void *with)
{
    sharded(p, with);
    /* what the index names is there and sound, only elsewhere */
    snprintf(p->path, sizeof p->path, "%s/model", p->dir);
    assert_int_equal(mkdir(p->path, 0700), 0);
    static const char *const names[] = {"config.json", SECOND, INDEX, "tokenizer.json"};
    for (size_t i = 0; i < CT_COUNT(names); i++)
        assert_int_equal(rename(path_in(p->dir, names[i]), path_in(p->path, names[i])), 0);
}
static void with_pipe(struct bad_place *p, const void *with)
{
    sharded(p, with);
    bad_remove(p, SECOND);
    assert_int_equal(mkfifo(path_in(p->dir, SECOND), 0600), 0);
}
#define NORM_IN(file) "\"model.norm.weight\":\"" file "\""

static void two_models(struct bad_place *p, const void *with)
{
    whole(p, with);
    sharded(p, with);
}

static const struct bad_case shards[] = {
    {"S9",
     "a shard is missing",
     sharded,
     D({SECOND, NULL, NULL}),
     4,
     {SECOND " is missing", INDEX " puts tensor \"model.layers.1.", "into it"}},
    {"S9",
     "out of the directory",
     outside,
     D({INDEX, NORM_IN(FIRST), NORM_IN("../" FIRST)}),
     4,
     {INDEX, "at byte ", "\"../" FIRST "\" is not a plain file name"}},
    {"S9",
     "an absolute path",
     MAP(NORM_IN(FIRST), NORM_IN("/etc/passwd")),
     {"\"/etc/passwd\" is not a plain"}},
    {"S9", "the parent", MAP(NORM_IN(FIRST), NORM_IN("..")), {"\"..\" is not a plain file name"}},
    {"S9", "below", MAP(NORM_IN(FIRST), NORM_IN("a/" FIRST)), {"is not a plain file name"}},
    {"S9", "a backslash", MAP(NORM_IN(FIRST), NORM_IN("..\\\\x")), {"is not a plain file name"}},
    {"S9", "NUL", MAP(NORM_IN(FIRST), NORM_IN("a\\u0000b")), {"is not a plain file name"}},
    {"S9", "a number", MAP(NORM_IN(FIRST), "\"model.norm.weight\":1"), {INDEX, "weight_map must hold file"}},
    {"S9",
     "a tensor in the wrong shard",
     MAP(NORM_IN(FIRST), NORM_IN(SECOND)),
     {INDEX " puts tensor \"model.norm.weight\" into", SECOND ", which does not have it"}},
    {"S9",
     "a tensor in two shards",
     MAP(NORM_IN(FIRST), NORM_IN(FIRST) "," NORM_IN(SECOND)),
     {"\"model.norm.weight\" into", SECOND ", which does not have it"}},
    {"S9", "a tensor twice", MAP(NORM_IN(FIRST), NORM_IN(FIRST) "," NORM_IN(FIRST)), {"norm.weight\" twice"}},
    {"S9", "100 000 shards", many_shards, &(const int){100000}, 4, {INDEX " names 100000 files", "1024"}},
    {"S9", "1 000 000 tensors", many_shards, &(const int){1000000}, 4, {INDEX, "more than 262144 tensors"}},
    {"S9", "a pipe", with_pipe, NULL, 3, {SECOND, "is a pipe, expected a regular file"}},
    {"S9",
     "two models: whole weights beside the index",
     two_models,
     NULL,
     4,
     {INDEX, "found " WHOLE " beside it", "expected the weights of one model in the directory"}},
    {"S9", "an empty index", sharded, D({INDEX, NULL, "{}"}), 4, {INDEX, "has no weight_map"}},
    {"S9", "an index cut short", MAP("}}", ""), {INDEX, "at byte ", "found the end of the text"}},
    {"S9", "an index of a list", sharded, D({INDEX, NULL, "[]"}), 4, {INDEX, "must be a JSON object"}},
    {"S9", "an empty map", sharded, D({INDEX, NULL, "{\"weight_map\":{}}"}), 4, {"no token embedding"}},
    {"S10",
     "a shard of another model",
     sharded,
     D({SECOND, "1.mlp.gate_proj.weight\":{\"dtype\":\"BF16\",\"shape\":[32,16]",
        "1.mlp.gate_proj.weight\":{\"dtype\":\"BF16\",\"shape\":[16,32]"}),
     4,
     {SECOND ": tensor model.layers.1.mlp.gate_proj.weight", "shape [16 x 32], expected [32 x 16]"}},
    {"S10", "a shard is no shard", sharded, D({SECOND, NULL, "hello, world"}), 4, {SECOND " is not a"}},
};

/* ---- values ---- */

/* The 16 bits at this place of the data. */
struct value {
    size_t at;
    uint16_t bits;
};
static void valued(struct bad_place *p, const void *with)
{
    const struct value *v = with;
    whole(p, NULL);
    struct buf b = bad_read(path_in(p->dir, WHOLE));
    memcpy(b.p + 8 + ct_le64(b.p) + v->at, &v->bits, 2);
    bad_write(p, WHOLE, b.p, b.n);
    buf_free(&b);
}
#define VALUE(at, bits, ...)                                                                                 \
    valued, &(const struct value){at, bits}, 4, {"E_NUMERIC", WHOLE ": tensor ", __VA_ARGS__}, RUN

static const struct bad_case values[] = {
    {"S11", "NaN in the last norm",
     VALUE(0, 0x7fc0, "model.norm.weight has NaN in row 0, column 0, the value")},
    {"S11", "infinity in the last norm",
     VALUE(2, 0x7f80, "model.norm.weight has infinity in row 0, column 1, the value")},
    {"S11", "NaN in the embedding",
     VALUE(32 + 2 * HIDDEN * 2, 0xffc0, "model.embed_tokens.weight has NaN in row 2, column 0, the value")},
    {"S11", "NaN in a norm of a layer",
     VALUE(32800, 0x7fc0, "model.layers.0.input_layernorm.weight has NaN in row 0, column 0")},
    {"S11", "NaN in a matrix of a layer",
     VALUE(32832, 0x7fc0, "model.layers.0.self_attn.q_proj.weight has NaN in row 0, column 0")},
};

static void sound_models_run(void **state)
{
    (void)state;
    BAD_RUN(sound);
}
static void lost_links(void **state)
{
    (void)state;
    BAD_RUN(links);
}
static void bad_headers(void **state)
{
    (void)state;
    BAD_RUN(headers);
}
static void bad_shards(void **state)
{
    (void)state;
    BAD_RUN(shards);
}
static void bad_values(void **state)
{
    (void)state;
    BAD_RUN(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_models_run), cmocka_unit_test(lost_links), cmocka_unit_test(bad_headers),
        cmocka_unit_test(bad_shards),       cmocka_unit_test(bad_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
