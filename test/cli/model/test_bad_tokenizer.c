/* SPDX-License-Identifier: Apache-2.0 */
/* test_bad_tokenizer.c: the rows T1 to T6, T8 and T9 of the list of bad inputs: tokenizers that lie, and chat
 * templates that are none of ours, given to the command. Most are models/tiny's own tokenizer with one
 * stretch replaced. Long texts (T7) are in test/text/test_long.c. */
#include "cli/bad.h"

#define TOKENIZE                                                                                             \
    {                                                                                                        \
        "tokenize", "@", "a"                                                                                 \
    }

/* ---- makers ---- */

/* The text is the whole tokenizer.json. */
static void whole(struct bad_place *p, const void *with)
{
    bad_file(p, "tokenizer.json", with, strlen(with));
}

/* tiny's tokenizer.json with the first occurrence of one text replaced by another. */
struct swap {
    const char *old, *new;
};

static struct buf swapped(const struct swap *s)
{
    struct buf b = bad_read(CT_TEST_DATA "/../../models/tiny/tokenizer.json"), out = {0};
    put(&b, "", 1);
    char *at = strstr((char *)b.p, s->old);
    if (!at)
        fail_msg("tiny's tokenizer.json has no %s", s->old);
    put(&out, b.p, (size_t)(at - (char *)b.p));
    put(&out, s->new, strlen(s->new));
    put(&out, at + strlen(s->old), strlen(at + strlen(s->old)));
    buf_free(&b);
    return out;
}

static void swap(struct bad_place *p, const void *with)
{
    struct buf b = swapped(with);
    bad_file(p, "tokenizer.json", b.p, b.n);
    buf_free(&b);
}

/* The same in a model that works otherwise. */
static void swap_in_model(struct bad_place *p, const void *with)
{
    bad_tiny(p);
    struct buf b = swapped(with);
    bad_write(p, "tokenizer.json", b.p, b.n);
    buf_free(&b);
}

/* A file of 300 MiB: what begins it, a unit that fills the first part of it, and a hole. */
struct huge {
    const char *name, *begin, *unit;
};

static void huge(struct bad_place *p, const void *with)
{
    const struct huge *h = with;
    const off_t size = (off_t)300 << 20;
    bad_file(p, h->name, h->begin, strlen(h->begin));
    FILE *f = fopen(p->path, "ab");
    assert_non_null(f);
    size_t n = strlen(h->unit), filled = 0;
    char *block = malloc(1 << 20);
    assert_non_null(block);
    while (n && filled + n <= 1 << 20) {
        memcpy(block + filled, h->unit, n);
        filled += n;
    }
    for (off_t at = 0; n && at < (off_t)24 << 20; at += (off_t)filled)
        if (fwrite(block, 1, filled, f) != filled)
            p->skip = true; /* no room for it here */
    free(block);
    if (fclose(f) != 0 || truncate(p->path, size) != 0)
        p->skip = true;
}

/* The same beside a tokenizer that is good. */
static void huge_side(struct bad_place *p, const void *with)
{
    bad_tiny(p);
    huge(p, with);
    bad_model(p, "");
}

/* tokenizer_config.json is read for its template alone. */
static void huge_config(struct bad_place *p, const void *with)
{
    huge_side(p, with);
    bad_remove(p, "chat_template.jinja");
}

static void deep(struct bad_place *p, const void *with)
{
    struct buf b = {0};
    put(&b, "{\"x\":", 5);
    for (int i = 0; i < 10000; i++)
        put(&b, with, strlen(with));
    bad_file(p, "tokenizer.json", b.p, b.n);
    buf_free(&b);
}

/* ---- T1 to T4: tokenizer.json ---- */

static const struct bad_case documents[] = {
    {"T1",
     "no JSON",
     whole,
     "{\"model\":nonsense}",
     4,
     {"tokenizer.json", "at byte 9", "found 'n'"},
     TOKENIZE},
    {"T1",
     "only the beginning",
     whole,
     "{\"model\":{\"vocab\":{\"a\":0,",
     4,
     {"at byte 25", "found the end", "model.vocab"},
     TOKENIZE},
    {"T1", "deep lists", deep, "[", 4, {"nested deeper than 64"}, TOKENIZE},
    {"T1", "deep objects", deep, "{\"a\":", 4, {"nested deeper than 64"}, TOKENIZE},
    {"T1",
     "300 MiB with a hole",
     huge,
     &(struct huge){"tokenizer.json", "{", ""},
     4,
     {"at byte 1", "found the byte 0x00"},
     TOKENIZE},
    {"T1",
     "300 MiB of one string",
     huge,
     &(struct huge){"tokenizer.json", "{\"a\":\"", "xyz "},
     4,
     {"longer than 16777216 bytes"},
     TOKENIZE},
    {"T1",
     "300 MiB of small values",
     huge,
     &(struct huge){"tokenizer.json", "{\"a\":[0", ",0"},
     4,
     {"expected at most 1048576 values"},
     TOKENIZE},
    {"T1",
     "300 MiB of added tokens",
     huge,
     &(struct huge){"tokenizer.json", "{\"added_tokens\":[{\"id\":0,\"content\":\"a\"}",
                    ",{\"id\":0,\"content\":\"a\"}"},
     4,
     {"added_tokens[65536]", "at most 65536"},
     TOKENIZE},
    {"T1",
     "an id of 2^31",
     swap,
     &(struct swap){"\"<unk>\":3,", "\"<unk>\":2147483648,"},
     4,
     {"model.vocab", "expected a token id from 0 to 2097151, found 2147483648", "at byte"},
     TOKENIZE},
    {"T1", "a negative id", swap, &(struct swap){"\"<unk>\":3,", "\"<unk>\":-1,"}, 4, {"found -1"}, TOKENIZE},
    {"T1",
     "a gap",
     swap,
     &(struct swap){"\"<0x00>\":", "\"<0x00>\":1000"},
     4,
     {"no token has the id"},
     TOKENIZE},
    {"T1",
     "an id twice",
     swap,
     &(struct swap){"\"<unk>\":3,", "\"<unk>\":2,"},
     4,
     {"token id 2 is given twice", "model.vocab", "at byte"},
     TOKENIZE},
    {"T1",
     "a token twice",
     swap,
     &(struct swap){"\"<unk>\":3,", "\"<bos>\":3,"},
     4,
     {"tokens 2 and 3 are the same text", "at byte"},
     TOKENIZE},
    {"T1",
     "an id that is text",
     swap,
     &(struct swap){"\"<unk>\":3,", "\"<unk>\":\"3\","},
     4,
     {"found the string \"3\""},
     TOKENIZE},
    {"T2",
     "a merge of an unknown token",
     swap,
     &(struct swap){"\"merges\":[", "\"merges\":[[\"\\u0001\",\"qqqq\"],"},
     4,
     {"model.merges[0]", "is not in the vocabulary", "at byte"},
     TOKENIZE},
    {"T2",
     "a merge with a control character",
     swap,
     &(struct swap){"\"merges\":[", "\"merges\":[[\"\\u001b[2J\",\"a\"],"},
     4,
     {"the left part of the merge, \" [2J\","},
     TOKENIZE},
    {"T2",
     "a merge of itself with nothing",
     swap,
     &(struct swap){"\"merges\":[", "\"merges\":[[\"\",\"a\"],"},
     4,
     {"the left part of the merge, \"\","},
     TOKENIZE},
    {"T2",
     "a merge of three",
     swap,
     &(struct swap){"\"merges\":[", "\"merges\":[\"a b c\","},
     4,
     {"two parts with one space"},
     TOKENIZE},
    {"T2",
     "a merge that is a number",
     swap,
     &(struct swap){"\"merges\":[", "\"merges\":[7,"},
     4,
     {"model.merges[0]: expected a merge, found 7"},
     TOKENIZE},
    {"T3",
     "another model",
     swap,
     &(struct swap){"\"type\":\"BPE\"", "\"type\":\"Unigram\""},
     4,
     {"unsupported model \"Unigram\", expected BPE"},
     TOKENIZE},
    {"T3",
     "another normalizer",
     swap,
     &(struct swap){"\"normalizer\":{\"type\":\"Replace\"", "\"normalizer\":{\"type\":\"NFKC\""},
     4,
     {"unsupported normalizer {\"type\":\"NFKC\""},
     TOKENIZE},
    {"T3",
     "another pre-tokenizer",
     swap,
     &(struct swap){"\"type\":\"Split\"", "\"type\":\"ByteLevel\""},
     4,
     {"unsupported pre_tokenizer {\"type\":\"ByteLevel\""},
     TOKENIZE},
    {"T3",
     "another decoder",
     swap,
     &(struct swap){"\"type\":\"ByteFallback\"", "\"type\":\"Metaspace\""},
     4,
     {"unsupported decoder {\"type\":\"Sequence\"", "{\"type\":\"Metaspace\"}"},
     TOKENIZE},
    {"T3",
     "a regular expression",
     swap,
     &(struct swap){"\"Split\",\"pattern\":{\"String\":\" \"}",
                    "\"Split\",\"pattern\":{\"Regex\":\"(a+)+$\"}"},
     4,
     {"unsupported pre_tokenizer {\"type\":\"Split\",\"pattern\":{\"Regex\":"},
     TOKENIZE},
    {"T3",
     "a type with an escape",
     swap,
     &(struct swap){"\"type\":\"BPE\"", "\"type\":\"\\u001b[31mred\\n\""},
     4,
     {"unsupported model \" [31mred \","},
     TOKENIZE},
    {"T4",
     "an empty added token",
     swap,
     &(struct swap){"\"content\":\"<mask>\"", "\"content\":\"\""},
     4,
     {"added_tokens[4]: the content is 0 bytes"},
     TOKENIZE},
    {"T4",
     "an added token that is another one",
     swap,
     &(struct swap){"\"content\":\"<mask>\"", "\"content\":\"<unused0>\""},
     4,
     {"same text", "added_tokens"},
     TOKENIZE},
    {"T4",
     "an id added twice",
     swap,
     &(struct swap){"{\"id\":5,", "{\"id\":4,"},
     4,
     {"two added tokens have the id 4"},
     TOKENIZE},
    {"T4",
     "an added token that strips",
     swap,
     &(struct swap){"\"lstrip\":false", "\"lstrip\":true"},
     4,
     {"lstrip"},
     TOKENIZE},
    {"T1",
     "no merges, in run",
     swap_in_model,
     &(struct swap){"\"merges\":", "\"mergers\":"},
     4,
     {"tokenizer.json", "expected a model with vocab and merges"},
     {"run", "@", "--no-perf", "-n", "1", "a"}},
};

static void bad_documents(void **state)
{
    (void)state;
    BAD_RUN(documents);
}

/* A long added token: the tables above would have to spell it. */
static void long_added(struct bad_place *p, const void *with)
{
    char *token = malloc((1 << 20) + 16);
    assert_non_null(token);
    strcpy(token, "\"content\":\"");
    memset(token + 11, 'x', 1 << 20);
    strcpy(token + 11 + (1 << 20), "\"");
    swap(p, &(struct swap){with, token});
    free(token);
}

static const struct bad_case long_tokens[] = {
    {"T4",
     "an added token of 1 MiB",
     long_added,
     "\"content\":\"<mask>\"",
     4,
     {"added_tokens[4]: the content is 1048576 bytes long, expected 1 to 240"},
     TOKENIZE},
};

static void bad_long_tokens(void **state)
{
    (void)state;
    BAD_RUN(long_tokens);
}

/* ---- T5, T6: tokenizer.model ---- */

struct proto {
    const char *bytes;
    size_t n;
    int whole; /* these bytes only; otherwise they stand behind tiny's */
};
#define PROTO(s)                                                                                             \
    &(struct proto)                                                                                          \
    {                                                                                                        \
        s, sizeof s - 1, 0                                                                                   \
    }
#define ALONE(s)                                                                                             \
    &(struct proto)                                                                                          \
    {                                                                                                        \
        s, sizeof s - 1, 1                                                                                   \
    }

static void proto(struct bad_place *p, const void *with)
{
    const struct proto *t = with;
    struct buf b = {0};
    if (!t->whole)
        b = bad_read(CT_TEST_DATA "/../../models/tiny/tokenizer.model");
    put(&b, t->bytes, t->n);
    bad_file(p, "tokenizer.model", b.p, b.n);
    buf_free(&b);
}

/* One piece of 16 MiB. */
static void long_piece(struct bad_place *p, const void *with)
{
    struct buf b = {0};
    (void)with;
    put(&b, "\x0a\x85\x80\x80\x08\x0a\x80\x80\x80\x08", 10);
    char *text = calloc(1, 1 << 24);
    assert_non_null(text);
    memset(text, 'x', 1 << 24);
    put(&b, text, 1 << 24);
    free(text);
    bad_file(p, "tokenizer.model", b.p, b.n);
    buf_free(&b);
}

/* Ten million pieces, all different. */
static void many_pieces(struct bad_place *p, const void *with)
{
    (void)with;
    bad_file(p, "tokenizer.model", "", 0);
    FILE *f = fopen(p->path, "wb");
    assert_non_null(f);
    for (int i = 0; i < 10000000; i++) {
        char piece[12] = "\x0a\x0a\x0a\x08";
        for (int k = 0; k < 8; k++)
            piece[4 + k] = (char)('a' + (i >> (3 * k) & 7));
        fwrite(piece, 1, sizeof piece, f);
    }
    p->skip = fclose(f) != 0;
}

static const struct bad_case protos[] = {
    {"T5",
     "a varint cut off",
     proto,
     PROTO("\x0a\xff"),
     4,
     {"tokenizer.model", "field 1:", "at byte", "varint"},
     TOKENIZE},
    {"T5", "a key cut off", proto, PROTO("\xff"), 4, {"field ?:", "varint"}, TOKENIZE},
    {"T5",
     "a varint of 11 bytes",
     proto,
     PROTO("\x70\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
     4,
     {"field 14:", "at most 10 bytes"},
     TOKENIZE},
    {"T5",
     "a length past the end",
     proto,
     PROTO("\x0a\x05\x0a\x01x"),
     4,
     {"field 1:", "a length of 5 bytes found, expected at most the 3"},
     TOKENIZE},
    {"T5",
     "a length of 2^64-1",
     proto,
     PROTO("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
     4,
     {"18446744073709551615 bytes"},
     TOKENIZE},
    {"T5",
     "an inner length past the end",
     proto,
     PROTO("\x0a\x03\x0a\x09x"),
     4,
     {"field 1.1:", "a length of 9 bytes found, expected at most the 1"},
     TOKENIZE},
    {"T5", "a group", proto, PROTO("\x73\x74"), 4, {"field 14:", "groups"}, TOKENIZE},
    {"T5", "a field number 0", proto, PROTO("\x00\x00"), 4, {"field number"}, TOKENIZE},
    {"T5",
     "a score that is not a number",
     proto,
     PROTO("\x0a\x08\x0a\x01\x01\x15\x00\x00\xc0\x7f"),
     4,
     {"field 1.2:", "not a number"},
     TOKENIZE},
    {"T5",
     "a piece of type 7",
     proto,
     PROTO("\x0a\x05\x0a\x01\x01\x18\x07"),
     4,
     {"field 1.3:", "type 7"},
     TOKENIZE},
    {"T5", "a piece that is empty", proto, PROTO("\x0a\x00"), 4, {"is empty", "field 1.1"}, TOKENIZE},
    {"T5", "a piece twice", proto, PROTO("\x0a\x07\x0a\x05<bos>"), 4, {"same text", "field 1.1"}, TOKENIZE},
    {"T5",
     "a piece that is not UTF-8",
     proto,
     PROTO("\x0a\x03\x0a\x01\xff"),
     4,
     {"UTF-8", "field 1.1"},
     TOKENIZE},
    {"T5", "nothing but an unknown field", proto, ALONE("\x0a\x00"), 4, {"tokenizer.model"}, TOKENIZE},
    {"T5",
     "a piece of 16 MiB",
     long_piece,
     NULL,
     4,
     {"field 1", "16777216 bytes long, expected at most 240"},
     TOKENIZE},
    {"T5", "10^7 pieces", many_pieces, NULL, 4, {"field 1: more than 2097152 pieces"}, TOKENIZE},
    {"T5",
     "300 MiB with a hole",
     huge,
     &(struct huge){"tokenizer.model", "\x0a\x03\x0a\x01x", ""},
     4,
     {"field number", "at byte 6"},
     TOKENIZE},
    {"T6",
     "a character map",
     proto,
     PROTO("\x1a\x06\x12\x04\xff\xff\xff\xff"),
     4,
     {"character map"},
     TOKENIZE},
    {"T6",
     "a map for decoding",
     proto,
     PROTO("\x2a\x06\x12\x04\xff\xff\xff\xff"),
     4,
     {"denormaliser"},
     TOKENIZE},
    {"T3",
     "another model",
     proto,
     PROTO("\x12\x02\x18\x01"),
     4,
     {"model type 1 found, expected 2 (BPE)"},
     TOKENIZE},
};

static void bad_protos(void **state)
{
    (void)state;
    BAD_RUN(protos);
}

/* ---- what is good ---- */

static const struct bad_case accepted[] = {
    {"T2",
     "merges as text",
     whole,
     "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" "
     "\"},\"content\":\"\xe2\x96\x81\"},\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":"
     "\"Replace\",\"pattern\":{\"String\":\"\xe2\x96\x81\"},\"content\":\" "
     "\"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]},\"model\":{\"unk_token\":\"u\",\"vocab\":{\"u\":"
     "0,\"a\":1,\"b\":2,\"ab\":3,\"<unk>\":4},\"merges\":[\"a b\"]}}",
     0,
     {NULL},
     {"tokenize", "@", "ab"}},
    {"T5", "a piece with a NUL", proto, PROTO("\x0a\x05\x0a\x03x\0y"), 0, {NULL}, TOKENIZE},
    {"T5", "an unknown field", proto, PROTO("\xa2\x06\x03xyz\xa0\x06\x07"), 0, {NULL}, TOKENIZE},
    {"T4",
     "added tokens that overlap",
     swap,
     &(struct swap){"\"content\":\"<mask>\"", "\"content\":\"<unused\""},
     0,
     {NULL},
     TOKENIZE},
};

static void good_ones(void **state)
{
    (void)state;
    BAD_RUN(accepted);
}

/* ---- T9: ids ---- */

static void tiny(struct bad_place *p, const void *with)
{
    (void)with;
    bad_tiny(p);
}

static const struct bad_case ids[] = {
    {"T9", "-1", tiny, NULL, 2, {"'-1' is not a token id"}, {"run", "@", "-n", "1", "--ids", "2,-1"}},
    {"T9", "1.5", tiny, NULL, 2, {"'1.5' is not a token id"}, {"run", "@", "-n", "1", "--ids", "1.5"}},
    {"T9",
     "2^31",
     tiny,
     NULL,
     2,
     {"'2147483648' is not a token id"},
     {"run", "@", "-n", "1", "--ids", "2147483648"}},
    {"T9", "\"1\"", tiny, NULL, 2, {"'\"1\"' is not a token id"}, {"run", "@", "-n", "1", "--ids", "\"1\""}},
    {"T9", "n_vocab", tiny, NULL, 2, {"1024"}, {"run", "@", "-n", "1", "--ids", "2 1024"}},
    {"T9",
     "n_vocab, decoded",
     tiny,
     NULL,
     2,
     {"token 1 is 1024, expected 0 to 1023"},
     {"detokenize", "@", "5 1024"}},
    {"T9", "-1, decoded", tiny, NULL, 2, {"'-1' is not a token id"}, {"detokenize", "@", "5 -1"}},
};

static void bad_ids(void **state)
{
    (void)state;
    BAD_RUN(ids);
}

/* ---- chat templates: recognised or left alone, never replaced in silence ---- */

static void template_text(struct bad_place *p, const void *with)
{
    bad_tiny(p);
    bad_write(p, "chat_template.jinja", with, strlen(with));
}

static void config_text(struct bad_place *p, const void *with)
{
    bad_tiny(p);
    bad_remove(p, "chat_template.jinja");
    bad_write(p, "tokenizer_config.json", with, strlen(with));
}

static const struct bad_case templates[] = {
    {"T10",
     "a template of 300 MiB",
     huge_side,
     &(struct huge){"chat_template.jinja", "", "<start_of_turn>"},
     0,
     {"at most 1 MiB", "run raw"},
     {"run", "@", "--no-perf", "-n", "1", "a"}},
    {"T10",
     "a side file of 300 MiB",
     huge_config,
     &(struct huge){"tokenizer_config.json", "[0", ",0"},
     4,
     {"tokenizer_config.json: 314572800 bytes found, expected at most 16777216"},
     TOKENIZE},
    {"C1",
     "generation_config.json of 300 MiB",
     huge_side,
     &(struct huge){"generation_config.json", "{\"a\":[0", ",0"},
     4,
     {"generation_config.json: 314572800 bytes found, expected at most 1048576"},
     TOKENIZE},
    {"T10",
     "none of ours, run",
     template_text,
     "{{ '<|im_start|>' }}",
     0,
     {"its chat template is none of Gemma's", "run raw"},
     {"run", "@", "--no-perf", "-n", "1", "a"}},
    {"T10",
     "one with tools",
     template_text,
     "<start_of_turn>{{ tools }}",
     0,
     {"altered", " and has \"tools\", which the built-in one has not; the built-in template gemma3 is used"},
     {"run", "@", "--no-perf", "-n", "1", "a"}},
    {"T10",
     "a syntax error is none of our business",
     template_text,
     "{% if <start_of_turn>",
     0,
     {NULL},
     {"run", "@", "--no-perf", "-n", "1", "a"}},
    {"T10",
     "a side file that is not JSON",
     config_text,
     "{\"chat_template\":",
     4,
     {"tokenizer_config.json", "at byte 17"},
     {"run", "@", "--no-perf", "-n", "1", "a"}},
    {"T10",
     "a template that is a number",
     config_text,
     "{\"chat_template\":7}",
     4,
     {"tokenizer_config.json: at byte 17: chat_template is 7, expected a string"},
     {"run", "@", "--no-perf", "-n", "1", "a"}},
};

static void bad_templates(void **state)
{
    (void)state;
    BAD_RUN(templates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_documents), cmocka_unit_test(bad_long_tokens), cmocka_unit_test(bad_protos),
        cmocka_unit_test(good_ones),     cmocka_unit_test(bad_ids),         cmocka_unit_test(bad_templates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
