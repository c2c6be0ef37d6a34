/* SPDX-License-Identifier: Apache-2.0 */
/* test_containers.c: one vocabulary gives the same ids from tokenizer.json and from GGUF with scores, as
 * llama.cpp's converter writes it and as carat does, however blanks are spelled, and from the tokenizer.json
 * that carat makes of scores, whose merges are those of the published one; added tokens that a model has no
 * row for are left out of it; and what is the same in the vocabulary of a drafter. */
#include "vocabulary_gguf.h"

#include "text/tokenizer/alike.h"
#include "text/tokenizer/vocab_write.h"

#define META "\xe2\x96\x81" /* U+2581, as which a blank is stored */

/* What carat writes. */
static struct ct_tokenizer *written_gguf(const struct ct_tokenizer *t)
{
    struct ct_new_head h = {.data = NULL};
    struct buf file = {0};
    assert_int_equal(ct_tokenizer_put_gguf(t, &h, NULL), CARAT_OK);
    put_header(&file, 3, 0, h.entries);
    put(&file, h.data, h.n);
    put_pad(&file, 32);
    ct_new_head_free(&h);
    return tokenizer_of(file);
}

static struct ct_tokenizer *written_json(const struct ct_tokenizer *t)
{
    struct ct_new_head h = {.data = NULL};
    assert_true(ct_tokenizer_fits_json(t));
    assert_int_equal(ct_tokenizer_put_json(t, &h, false, "it", NULL), CARAT_OK);
    struct ct_tokenizer *json = from_json((const char *)h.data, h.n);
    ct_new_head_free(&h);
    return json;
}

/* Both give the same ids, and these cover the text. */
static void check_alike(const struct ct_tokenizer *json, const struct ct_tokenizer *gguf, const char *text)
{
    const size_t n = strlen(text);
    carat_tokens a = {0}, b = {0};
    size_t covered = 0;
    assert_int_equal(ct_tokenizer_encode(json, text, n, CARAT_SPECIAL, NULL, &a, NULL), CARAT_OK);
    assert_int_equal(ct_tokenizer_encode(gguf, text, n, CARAT_SPECIAL, NULL, &b, NULL), CARAT_OK);
    for (int i = 0; i < b.n; i++) {
        if (i >= a.n || a.ids[i] != b.ids[i])
            fail_msg("\"%s\": id %d is %d, expected %d", text, i, b.ids[i], i < a.n ? a.ids[i] : -1);
        covered += ct_tokenizer_covers(gguf, b.ids[i], text + covered, n - covered);
    }
    assert_int_equal(a.n, b.n);
    assert_int_equal(covered, n);
    carat_tokens_free(&a);
    carat_tokens_free(&b);
}

static void blanks_of_gguf(void **state)
{
    (void)state;
    static const char *const parts[] = {" ",    "  ", META, META META,      META META META, "a", "the", "\n",
                                        "\n\n", "\t", "x",  "\xe2\x96\x82", "\xe2\x96\x85", ".", "1"};
    struct ct_tokenizer *json = open_json();
    struct ct_tokenizer *gguf[] = {open_gguf(), written_gguf(json), NULL, NULL, NULL};
    struct ct_bytes tables = tables_of(gguf[0]);
    uint64_t seed = 7;
    gguf[2] = from_tables(tables, true);
    gguf[3] = written_json(gguf[0]);
    gguf[4] = written_json(gguf[2]);
    check_alike(json, gguf[0], "loss " META META META "\xe2\x96\x82\xe2\x96\x83\xe2\x96\x85\xe2\x96\x88");
    for (int round = 0; round < 4000; round++) {
        char text[512];
        size_t n = 0, most = next_random(&seed) % 60;
        while (n < most) {
            const char *part = parts[next_random(&seed) % CT_COUNT(parts)];
            for (uint32_t times = next_random(&seed) % 30 ? 1 : 35; times && n < 380; times--) {
                memcpy(text + n, part, strlen(part));
                n += strlen(part);
            }
        }
        text[n] = 0;
        for (size_t i = 0; i < CT_COUNT(gguf); i++)
            check_alike(json, gguf[i], text);
    }
    for (size_t i = CT_COUNT(gguf); i-- > 0;)
        ct_tokenizer_free(gguf[i]);
    free((void *)tables.data);
    ct_tokenizer_free(json);
}

/* ---- tokenizer.json out of scores ---- */

/* The next merge from rank *at on that has no tab; NULL at the end. */
static const char *next_merge(const struct ct_tokenizer *t, const uint64_t *by_rank, uint32_t *at,
                              char both[512])
{
    while (*at < t->n_rank) {
        const uint64_t pair = by_rank[(*at)++];
        const struct ct_str left = ct_piece_text(t, (int32_t)(pair >> CT_ID_BITS)),
                            right = ct_piece_text(t, (int32_t)(pair & (CT_VOCAB_MAX - 1)));
        snprintf(both, 512, "%.*s|%.*s", (int)left.n, left.s, (int)right.n, right.s);
        if (!strchr(both, '\t'))
            return both;
    }
    return NULL;
}

/* The library's converter made the committed tokenizer.json out of the committed tokenizer.model. It made a
 * piece of the byte 9, so that tabs merge; here they are user-defined. */
static void merges_of_scores(void **state)
{
    (void)state;
    struct ct_tokenizer *json = open_json(), *source[] = {open_model(), open_gguf()};
    uint64_t *wanted = malloc((json->n_rank + (size_t)1) * sizeof *wanted);
    assert_non_null(wanted);
    assert_int_equal(ct_tokenizer_stored_merges(json, wanted), json->n_rank);
    for (size_t i = 0; i < CT_COUNT(source); i++) {
        struct ct_tokenizer *made = written_json(source[i]);
        uint64_t *got = malloc((made->n_rank + (size_t)1) * sizeof *got);
        uint32_t at[2] = {0};
        char text[2][512];
        assert_non_null(got);
        assert_int_equal(made->n, json->n);
        assert_int_equal(ct_tokenizer_stored_merges(made, got), made->n_rank);
        for (;;) {
            const char *a = next_merge(json, wanted, &at[0], text[0]),
                       *b = next_merge(made, got, &at[1], text[1]);
            if (!a != !b || (a && strcmp(a, b) != 0))
                fail_msg("source %zu: merge %u is %s, expected %s", i, at[1], b ? b : "-", a ? a : "-");
            if (!a)
                break;
        }
        free(got);
        ct_tokenizer_free(made);
        ct_tokenizer_free(source[i]);
    }
    free(wanted);
    ct_tokenizer_free(json);
}

struct kind_of_piece {
    const char *text;
    int kind;
};

static struct ct_tokenizer *of_pieces(const struct kind_of_piece *p, int n, bool prefix)
{
    struct ct_tokenizer *t = NULL;
    carat_error err;
    float score[8] = {0};
    assert_int_equal(ct_tokenizer_create(&t, CT_SOURCE_GGUF, NULL, &err), CARAT_OK);
    for (int id = 0; id < n; id++)
        assert_int_equal(ct_tokenizer_add(t, "pieces", id, ct_str_of(p[id].text), p[id].kind, true, &err),
                         CARAT_OK);
    assert_int_equal(ct_tokenizer_scores(t, "pieces", score, &err), CARAT_OK);
    assert_int_equal(ct_tokenizer_finish(t, "pieces", &err), CARAT_OK);
    t->space_prefix = prefix;
    return t;
}

static void what_fits(void **state)
{
    (void)state;
    char blanks[81 + 1];
    memset(blanks, ' ', sizeof blanks - 1);
    blanks[sizeof blanks - 1] = 0;
    const struct {
        struct kind_of_piece a, b;
        bool prefix, fits;
    } cases[] = {
        {{"a", CT_PIECE_NORMAL}, {"b", CT_PIECE_NORMAL}, false, true},
        {{"a", CT_PIECE_NORMAL}, {"b", CT_PIECE_NORMAL}, true, false},
        {{"a", CT_PIECE_NORMAL}, {"a", CT_PIECE_UNUSED}, false, false},
        {{"a", CT_PIECE_NORMAL}, {"", CT_PIECE_UNUSED}, false, false},
        {{"  ", CT_PIECE_USER}, {META, CT_PIECE_NORMAL}, false, true},
        {{"  ", CT_PIECE_USER}, {META META, CT_PIECE_NORMAL}, false, false}, /* both are U+2581 there */
        {{" " META, CT_PIECE_USER}, {META " ", CT_PIECE_USER}, false, false},
        {{blanks + 1, CT_PIECE_USER}, {"b", CT_PIECE_NORMAL}, false, true},
        {{blanks, CT_PIECE_USER}, {"b", CT_PIECE_NORMAL}, false, false}, /* 243 bytes */
        {{"<0x41>", CT_PIECE_NORMAL}, {"b", CT_PIECE_NORMAL}, false, false},
        {{"<0x41>", CT_PIECE_BYTE}, {"b", CT_PIECE_NORMAL}, false, true},
        {{"a", CT_PIECE_UNUSED}, {"b", CT_PIECE_NORMAL}, false, false},
        {{"aa", CT_PIECE_UNUSED}, {"b", CT_PIECE_NORMAL}, false, true},
        {{"bb", CT_PIECE_NORMAL}, {"b", CT_PIECE_NORMAL}, false, true},
        {{"ba", CT_PIECE_NORMAL}, {"b", CT_PIECE_NORMAL}, false, false}, /* a is no piece */
        {{"aa", CT_PIECE_USER}, {"b", CT_PIECE_NORMAL}, false, true},
    };
    for (size_t i = 0; i < CT_COUNT(cases); i++) {
        const struct kind_of_piece p[] = {{"<unk>", CT_PIECE_UNKNOWN}, cases[i].a, cases[i].b};
        struct ct_tokenizer *t = of_pieces(p, CT_COUNT(p), cases[i].prefix);
        if (ct_tokenizer_fits_json(t) != cases[i].fits)
            fail_msg("case %zu: expected %d", i, cases[i].fits);
        if (cases[i].fits)
            ct_tokenizer_free(written_json(t)); /* which is read */
        ct_tokenizer_free(t);
    }
    struct ct_tokenizer *repeats = open_repeats();
    assert_false(ct_tokenizer_fits_json(repeats));
    ct_tokenizer_free(repeats);
}

static void has_text(struct ct_new_head *h, const char *text, bool expected)
{
    ct_new_head_put(h, "", 1);
    if ((strstr((const char *)h->data, text) != NULL) != expected)
        fail_msg("%s: expected %d", text, expected);
}

/* What other programs read: carat puts <bos> and <eos> itself. */
static void around_texts(void **state)
{
    (void)state;
    const struct kind_of_piece p[] = {{"<unk>", CT_PIECE_UNKNOWN}, {"<bos>", CT_PIECE_CONTROL},
                                      {"<eos>", CT_PIECE_CONTROL}, {"<b>", CT_PIECE_USER},
                                      {"  ", CT_PIECE_USER},       {"b", CT_PIECE_NORMAL}};
#define OF(id, type)  "{\"SpecialToken\":{\"id\":\"" id "\",\"type_id\":" type "}}"
#define SEQ(id, type) "{\"Sequence\":{\"id\":\"" id "\",\"type_id\":" type "}}"
#define SAYS(text, flag)                                                                                     \
    "\"content\":\"" text "\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":"       \
    "false,\"special\":" flag "}"
    for (int ends = 0; ends < 2; ends++) {
        struct ct_tokenizer *t = of_pieces(p, CT_COUNT(p), false);
        struct ct_new_head h = {.data = NULL};
        assert_int_equal(ct_tokenizer_put_json(t, &h, ends, "it", NULL), CARAT_OK);
        has_text(&h, "\"single\":[" OF("<bos>", "0") "," SEQ("A", "0") "],\"pair\":[", !ends);
        has_text(&h, "\"single\":[" OF("<bos>", "0") "," SEQ("A", "0") "," OF("<eos>", "0") "],\"pair\":[",
                 ends);
        has_text(&h, "," OF("<bos>", "1") "," SEQ("B", "1") "]", !ends);
        has_text(&h, "," OF("<bos>", "1") "," SEQ("B", "1") "," OF("<eos>", "1") "]", ends);
        has_text(&h, "\"<bos>\":{\"id\":\"<bos>\",\"ids\":[1],\"tokens\":[\"<bos>\"]}", true);
        has_text(&h, "\"<eos>\":{\"id\":\"<eos>\",\"ids\":[2],\"tokens\":[\"<eos>\"]}", ends);
        has_text(&h, "{\"id\":3," SAYS("<b>", "false"), true);
        has_text(&h, "{\"id\":2," SAYS("<eos>", "true"), true);
        has_text(&h, "{\"id\":4," SAYS(META META, "false"), true);
        ct_new_head_free(&h);
        ct_tokenizer_put_added(t, &h);
        has_text(&h, "\"0\": {" SAYS("<unk>", "true") ",", true);
        has_text(&h, "\"3\": {" SAYS("<b>", "false"), true);
        has_text(&h, "\"4\": {" SAYS(META META, "false"), true);
        has_text(&h, "\"5\"", false);
        ct_new_head_free(&h);
        ct_tokenizer_free(t);
    }
}

/* ---- added tokens beyond the table of a model ---- */

#define VOCABULARY                                                                                           \
    "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"" META "\"},"        \
    "\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":"        \
    "\"" META "\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]},"                    \
    "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"fuse_unk\":true,\"vocab\":{\"<unk>\":0,\"<\":1,"  \
    "\"i\":2,\">\":3,\"ii\":4,\"j\":5%s},\"merges\":[\"i i\"%s]},\"added_tokens\":[%s]}"

static struct ct_tokenizer *with_added(const char *vocab, const char *merges, const char *added)
{
    char text[2048];
    snprintf(text, sizeof text, VOCABULARY, vocab, merges, added);
    return from_json(text, strlen(text));
}

#define PICTURE "{\"id\":6,\"content\":\"<i>\",\"special\":true}"

static void left_out(void **state)
{
    (void)state;
    static const struct cases {
        const char *vocab, *merges, *added;
        int rows, n;
        int32_t ids[3]; /* of "<i>", read as special */
    } cases[] = {
        {"", "", PICTURE, 7, 0, {6}},
        {"", "", PICTURE, 6, 1, {1, 2, 3}},
        {"", "", PICTURE ",{\"id\":7,\"content\":\"<ii>\"}", 6, 2, {1, 2, 3}},
        {"", "", PICTURE ",{\"id\":7,\"content\":\"<ii>\"}", 7, 1, {6}},
        {",\"<i>\":6", "", PICTURE, 6, 1, {1, 2, 3}},     /* listed twice, as in published files */
        {",\"renamed\":6", "", PICTURE, 6, 1, {1, 2, 3}}, /* one text of it stays in no table */
        {"", "", PICTURE, 5, 0, {6}},                     /* j is an ordinary piece: the wrong tokenizer */
        {",\"jj\":6", ",\"j j\"", "{\"id\":6,\"content\":\"jj\"}", 6, 0, {1, 2, 3}}, /* merges make it */
    };
    for (size_t i = 0; i < CT_COUNT(cases); i++) {
        const struct cases *c = &cases[i];
        struct ct_tokenizer *t = with_added(c->vocab, c->merges, c->added);
        carat_tokens out = {0};
        const int had = ct_tokenizer_size(t);
        int n = -1;
        assert_int_equal(ct_tokenizer_leave_out(t, c->rows, &n, NULL), CARAT_OK);
        assert_int_equal(n, c->n);
        assert_int_equal(ct_tokenizer_size(t), had - n);
        assert_int_equal(ct_tokenizer_id(t, "<i>"), c->ids[0] == 6 ? 6 : -1);
        assert_int_equal(ct_tokenizer_encode(t, "<i>", 3, CARAT_SPECIAL, NULL, &out, NULL), CARAT_OK);
        assert_int_equal(out.n, c->ids[0] == 6 ? 1 : 3);
        assert_memory_equal(out.ids, c->ids, (size_t)out.n * sizeof *out.ids);
        carat_tokens_free(&out);
        struct ct_bytes tables = tables_of(t);
        ct_tokenizer_free(from_tables(tables, false)); /* which checks every id */
        free((void *)tables.data);
        ct_tokenizer_free(t);
    }
}

/* ---- the vocabulary of a drafter ---- */

static void first_other(void **state)
{
    (void)state;
    const char *const turn = "{\"id\":6,\"content\":\"<start_of_turn>\",\"special\":true}",
                      *const unused = "{\"id\":6,\"content\":\"<unused0>\",\"special\":false}",
                      *const later = "{\"id\":6,\"content\":\"<unused0>\"},"
                                     "{\"id\":7,\"content\":\"<start_of_turn>\",\"special\":true}",
                      *const blanks = "{\"id\":6,\"content\":\"  \"}",
                      *const metas = "{\"id\":6,\"content\":\"" META META "\"}";
    const struct {
        const char *a, *b;
        int32_t n, id;
    } cases[] = {
        {turn, turn, 7, -1},    {turn, unused, 7, -1},  {unused, turn, 7, -1}, {turn, metas, 7, 6},
        {turn, metas, 6, -1},   {blanks, metas, 7, -1}, {blanks, turn, 7, 6},  {turn, later, 7, 6},
        {unused, later, 8, -1}, {"", turn, 7, -1},
    };
    for (size_t i = 0; i < CT_COUNT(cases); i++) {
        struct ct_tokenizer *a = with_added("", "", cases[i].a), *b = with_added("", "", cases[i].b);
        if (ct_tokenizer_first_other(a, b, cases[i].n) != cases[i].id)
            fail_msg("case %zu: %d, expected %d", i, ct_tokenizer_first_other(a, b, cases[i].n), cases[i].id);
        ct_tokenizer_free(a);
        ct_tokenizer_free(b);
    }
    struct ct_tokenizer *json = open_json(), *gguf = open_gguf(), *model = open_model();
    assert_int_equal(ct_tokenizer_first_other(json, gguf, ct_tokenizer_size(json)), -1);
    assert_int_equal(ct_tokenizer_first_other(gguf, model, ct_tokenizer_size(json)), -1);
    ct_tokenizer_free(json);
    ct_tokenizer_free(gguf);
    ct_tokenizer_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blanks_of_gguf), cmocka_unit_test(merges_of_scores),
                                       cmocka_unit_test(what_fits),      cmocka_unit_test(around_texts),
                                       cmocka_unit_test(left_out),       cmocka_unit_test(first_other)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
