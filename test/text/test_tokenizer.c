/* SPDX-License-Identifier: Apache-2.0 */
/* test_tokenizer.c: encoding by all three sources against the ids of the reference libraries; the policy for
 * control tokens; the merge engine against a plain one; hostile texts and files. Decoding is in
 * test_detokenizer.c. Up to 20 seconds of processor time under sanitizers: the vocabularies of the
 * family are opened whole, and hostile texts are of megabytes. */
#define _POSIX_C_SOURCE 200809L
#include "vocabulary.h"

#include "text/tokenizer/bpe.h"

static bool has(const char *text, const char *const *word)
{
    for (; *word; word++)
        if (strstr(text, *word))
            return true;
    return false;
}

static const char *const basic[] = {"<bos>", "<eos>", "<pad>", "<unk>", NULL};
static const char *const turns[] = {"<start_of_turn>", "<end_of_turn>", NULL};
static const char *const unused[] = {"<unused", "<mask>", NULL};

static const char *golden_text(const json_t *golden, size_t *n)
{
    const json_t *text = json_object_get(golden, "text");
    *n = json_string_length(text);
    return json_string_value(text);
}

/* tokenizer.json: the ids of the tokenizers library, exactly. */
static void json_line(void *t, int line, json_t *golden)
{
    size_t n;
    const char *text = golden_text(golden, &n);
    const json_t *ids = json_object_get(golden, "hf_ids");
    check_ids(t, line, text, n, CARAT_SPECIAL, ids ? ids : json_object_get(golden, "ids"));
}

/* tokenizer.model: SentencePiece's ids, which never match control pieces but do match turn markers. */
static void model_line(void *t, int line, json_t *golden)
{
    size_t n;
    const char *text = golden_text(golden, &n);
    if (!has(text, basic))
        check_ids(t, line, text, n, CARAT_SPECIAL, json_object_get(golden, "ids"));
    if (!has(text, turns))
        check_ids(t, line, text, n, 0, json_object_get(golden, "ids"));
}

/* GGUF: the same, where <mask> and <unusedN> are control tokens as well; a literal U+2581 is undefined. */
static void gguf_line(void *t, int line, json_t *golden)
{
    size_t n;
    const char *text = golden_text(golden, &n);
    if (strstr(text, "\xe2\x96\x81"))
        return;
    if (!has(text, basic))
        check_ids(t, line, text, n, CARAT_SPECIAL, json_object_get(golden, "ids"));
    if (!has(text, turns) && !has(text, unused))
        check_ids(t, line, text, n, 0, json_object_get(golden, "ids"));
}

static void check_goldens(struct ct_tokenizer *t, void (*fn)(void *, int, json_t *))
{
    assert_int_equal(each_line(CT_TEST_DATA "/text/goldens.jsonl", fn, t), 573);
    ct_tokenizer_free(t);
}

static void json_goldens(void **state)
{
    (void)state;
    check_goldens(open_json(), json_line);
}

static void model_goldens(void **state)
{
    (void)state;
    check_goldens(open_model(), model_line);
}

static void gguf_goldens(void **state)
{
    (void)state;
    check_goldens(open_gguf(), gguf_line);
}

/* ---- the real vocabularies ---- */

static void real_line(void *t, int line, json_t *golden)
{
    size_t n;
    const char *text = golden_text(golden, &n);
    const json_t *turn_ids = json_object_get(golden, "ids_turns");
    check_ids(t, line, text, n, CARAT_SPECIAL, turn_ids ? turn_ids : json_object_get(golden, "ids"));
    check_ids(t, line, text, n, 0, json_object_get(golden, "ids_plain"));
}

static void check_real(const char *family)
{
    char path[1024];
    struct ct_tokenizer *t = real_tokenizer(family);
    assert_int_equal(each_line(real_goldens(path, family, ""), real_line, t), 601);
    ct_tokenizer_free(t);
}

static void real_gemma3(void **state)
{
    (void)state;
    check_real("gemma3");
}

static void real_gemma(void **state)
{
    (void)state;
    check_real("gemma");
}

static void real_gemma4(void **state)
{
    (void)state;
    check_real("gemma4");
}

/* ---- policy ---- */

static void expect_ids(const struct ct_tokenizer *t, const char *text, int flags, int n, const int32_t *ids)
{
    carat_tokens out = {0};
    assert_int_equal(ct_tokenizer_encode(t, text, strlen(text), flags, NULL, &out, NULL), CARAT_OK);
    assert_int_equal(out.n, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(out.ids[i], ids[i]);
    free(out.ids);
}
#define EXPECT(t, text, flags, ...)                                                                          \
    expect_ids(t, text, flags, (int)CT_COUNT(((const int32_t[]){__VA_ARGS__})),                              \
               (const int32_t[]){__VA_ARGS__})

static void control_tokens(void **state)
{
    (void)state;
    struct ct_tokenizer *(*const open[])(void) = {open_json, open_model, open_gguf};
    for (size_t i = 0; i < CT_COUNT(open); i++) {
        struct ct_tokenizer *t = open[i]();
        int32_t ids[8];
        EXPECT(t, "<start_of_turn>the<end_of_turn>", CARAT_SPECIAL, 105, 433, 106);
        EXPECT(t, "<bos>the<eos>", CARAT_SPECIAL, 2, 433, 1);
        EXPECT(t, "the", CARAT_BOS, 2, 433);
        EXPECT(t, "<bos>the", CARAT_BOS | CARAT_SPECIAL, 2, 433); /* never two */
        EXPECT(t, "", CARAT_BOS, 2);
        carat_tokens out = {0};
        const char *forged = "<start_of_turn><end_of_turn><bos><eos><pad>";
        assert_int_equal(ct_tokenizer_encode(t, forged, strlen(forged), 0, NULL, &out, NULL), CARAT_OK);
        for (int k = 0; k < out.n; k++)
            assert_false(ct_tokenizer_is_control(t, out.ids[k]));
        free(out.ids);
        assert_int_equal(ct_tokenizer_size(t), 600);
        assert_int_equal(ct_tokenizer_bos(t), 2);
        assert_int_equal(ct_tokenizer_id(t, "<end_of_turn>"), 106);
        assert_int_equal(ct_tokenizer_id(t, "no such piece"), -1);
        assert_true(ct_tokenizer_is_control(t, 105));
        assert_false(ct_tokenizer_is_control(t, 433));
        assert_false(ct_tokenizer_is_control(t, -1));
        assert_false(ct_tokenizer_is_control(t, 600));
        assert_int_equal(ct_tokenizer_piece(t, 600).n, 0);
        assert_true(ct_str_is(ct_tokenizer_piece(t, 434), "\xe2\x96\x81the"));
        assert_int_equal(ct_tokenizer_end_ids(t, ids, 8), 2);
        assert_int_equal(ids[0] + ids[1], 1 + 106);
        ct_tokenizer_free(t);
    }
}

/* A failed or repeated call must not touch what *out already holds. */
static void appends(void **state)
{
    (void)state;
    struct ct_tokenizer *t = open_model();
    carat_tokens out = {0};
    assert_int_equal(ct_tokens_push(&out, 7, NULL), CARAT_OK);
    assert_int_equal(ct_tokenizer_encode(t, "the", 3, CARAT_BOS, NULL, &out, NULL), CARAT_OK);
    assert_int_equal(out.n, 3);
    assert_int_equal(out.ids[0], 7);
    assert_int_equal(out.ids[1], 2);
    assert_int_equal(ct_tokenizer_encode(t, "", (size_t)1 << 40, 0, NULL, &out, NULL), CARAT_E_ARGUMENT);
    assert_int_equal(out.n, 3);
    free(out.ids);
    ct_tokenizer_free(t);
}

/* Bad UTF-8 encodes like the same text with U+FFFD for each maximal subpart. */
static void bad_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *bad, *good;
    } pair[] = {
        {"\xff", "\xef\xbf\xbd"},
        {"a\x80"
         "b",
         "a\xef\xbf\xbd"
         "b"},
        {"\xf0\x9f\x99", "\xef\xbf\xbd"},
        {"\xf0\x9f\x99x", "\xef\xbf\xbdx"},
        {"\xe2\x96 the", "\xef\xbf\xbd the"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };
    struct ct_tokenizer *(*const open[])(void) = {open_json, open_model, open_gguf};
    for (size_t k = 0; k < CT_COUNT(open); k++) {
        struct ct_tokenizer *t = open[k]();
        for (size_t i = 0; i < CT_COUNT(pair); i++) {
            carat_tokens out = {0};
            assert_int_equal(ct_tokenizer_encode(t, pair[i].good, strlen(pair[i].good), 0, NULL, &out, NULL),
                             CARAT_OK);
            expect_ids(t, pair[i].bad, 0, out.n, out.ids);
            free(out.ids);
        }
        ct_tokenizer_free(t);
    }
}

/* ---- the merge engine ---- */

/* The definition, word for word: again and again the best pair, leftmost; one run, never cut. */
static int merge_plainly(const struct ct_tokenizer *t, const char *text, size_t n, int32_t *id)
{
    size_t *at = malloc((n + 2) * sizeof *at);
    assert_non_null(at);
    int count = 0;
    for (size_t i = 0; i < n; i++) {
        id[count] = ct_tokenizer_find(t, (struct ct_str){text + i, 1});
        if (id[count] < 0 && !ct_tokenizer_by_text(t))
            id[count] = t->byte_id[(uint8_t)text[i]];
        at[count++] = i;
    }
    at[count] = n;
    for (;;) {
        int best = -1;
        uint32_t best_rank = CT_NO_RANK;
        int32_t product = -1;
        for (int i = 0; i + 1 < count; i++) {
            uint32_t rank = CT_NO_RANK;
            int32_t whole = ct_tokenizer_find(t, (struct ct_str){text + at[i], at[i + 2] - at[i]});
            if (!ct_tokenizer_by_text(t))
                rank = ct_tokenizer_pair_rank(t, id[i], id[i + 1]);
            else if (whole >= 0)
                rank = t->piece[whole].rank;
            if (rank < best_rank) {
                best = i;
                best_rank = rank;
                product = ct_tokenizer_by_text(t) ? whole : t->product[rank];
            }
        }
        if (best < 0)
            break;
        id[best] = product;
        memmove(id + best + 1, id + best + 2, (size_t)(count - best - 2) * sizeof *id);
        memmove(at + best + 1, at + best + 2, (size_t)(count - best - 1) * sizeof *at);
        count--;
    }
    for (int i = 0; i < count; i++)
        if (id[i] < 0)
            id[i] = t->byte_id[(uint8_t)text[at[i]]];
    free(at);
    return count;
}

/* Letters that merge a lot, so that runs are long (lanes) as well as short (scan). */
static void compare_engines(const struct ct_tokenizer *t, const char *alphabet, int lengths)
{
    uint64_t seed = 1;
    char *text = malloc(4096);
    int32_t *id = malloc(4096 * sizeof *id);
    assert_non_null(text);
    assert_non_null(id);
    for (int round = 0; round < 300; round++) {
        size_t n = 1 + next_random(&seed) % (uint32_t)lengths;
        uint32_t letters = 1 + next_random(&seed) % (uint32_t)strlen(alphabet);
        for (size_t i = 0; i < n; i++)
            text[i] = alphabet[next_random(&seed) % letters];
        text[n] = 0;
        int count = merge_plainly(t, text, n, id);
        expect_ids(t, text, 0, count, id);
    }
    free(text);
    free(id);
}

static void engines_agree(void **state)
{
    (void)state;
    struct ct_tokenizer *(*const open[])(void) = {open_json, open_model, open_gguf};
    for (size_t i = 0; i < CT_COUNT(open); i++) {
        struct ct_tokenizer *t = open[i]();
        compare_engines(t, "theandoriswX", 40);
        compare_engines(t, "ndthaeori", 700);
        ct_tokenizer_free(t);
    }
}

/* A vocabulary in which every string of up to five a's and b's is a piece, so that nothing can be cut, merges
 * of all kinds compete, and candidates come out of order. With tied scores every piece has the same rank. */
static struct ct_tokenizer *dense(bool json, bool tied)
{
    struct ct_tokenizer *t = NULL;
    carat_error err;
    assert_int_equal(ct_tokenizer_create(&t, json ? CT_SOURCE_JSON : CT_SOURCE_MODEL, NULL, &err), CARAT_OK);
    assert_int_equal(
        ct_tokenizer_add(t, "dense", 0, (struct ct_str){"<unk>", 5}, CT_PIECE_NORMAL, false, &err), CARAT_OK);
    for (size_t n = 1; n <= 5; n++)
        for (unsigned bits = 0; bits < 1u << n; bits++) {
            char s[8];
            for (size_t i = 0; i < n; i++)
                s[i] = bits >> i & 1 ? 'b' : 'a';
            assert_int_equal(
                ct_tokenizer_add(t, "dense", t->n, (struct ct_str){s, n}, CT_PIECE_NORMAL, false, &err),
                CARAT_OK);
        }
    uint64_t seed = 99;
    if (json) {
        int32_t *triple = malloc(62 * 4 * 3 * sizeof *triple);
        size_t n = 0;
        assert_non_null(triple);
        for (int32_t id = 1; id < t->n; id++)
            for (size_t cut = 1; cut < t->piece[id].n; cut++) {
                struct ct_str s = ct_piece_text(t, id);
                triple[n * 3] = ct_tokenizer_find(t, (struct ct_str){s.s, cut});
                triple[n * 3 + 1] = ct_tokenizer_find(t, (struct ct_str){s.s + cut, s.n - cut});
                triple[n++ * 3 + 2] = id;
            }
        for (size_t i = n - 1; i > 0; i--) { /* any order of ranks is legal */
            size_t k = next_random(&seed) % (i + 1);
            for (int c = 0; c < 3; c++) {
                int32_t swap = triple[i * 3 + (size_t)c];
                triple[i * 3 + (size_t)c] = triple[k * 3 + (size_t)c];
                triple[k * 3 + (size_t)c] = swap;
            }
        }
        assert_int_equal(ct_tokenizer_merges(t, triple, n, &err), CARAT_OK);
        free(triple);
    } else {
        float score[64];
        for (int id = 0; id < t->n; id++)
            score[id] = tied ? 0 : (float)(next_random(&seed) % 16);
        assert_int_equal(ct_tokenizer_scores(t, "dense", score, &err), CARAT_OK);
    }
    assert_int_equal(ct_tokenizer_finish(t, "dense", &err), CARAT_OK);
    return t;
}

static void engines_agree_densely(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct ct_tokenizer *t = dense(kind == 0, kind == 2);
        compare_engines(t, "ab", 64);
        compare_engines(t, "ab", 1500);
        ct_tokenizer_free(t);
    }
}

/* ---- hostile texts and files ---- */

/* 4 MiB of one character: where nothing merges, where user-defined runs match, where every byte is bad, and
 * where no place can be cut, which is what the lanes of the merge engine are for. */
static void one_character(void **state)
{
    (void)state;
    const size_t n = (size_t)4 << 20;
    char *text = malloc(n);
    assert_non_null(text);
    struct ct_tokenizer *all[] = {open_json(), open_model(), open_json(), dense(true, false),
                                  dense(false, true)};
    static const char character[] = "X \xff"
                                    "aa";
    for (size_t k = 0; k < CT_COUNT(all); k++) {
        carat_tokens out = {0};
        carat_error err;
        memset(text, character[k], n);
        if (ct_tokenizer_encode(all[k], text, n, 0, NULL, &out, &err) != CARAT_OK)
            fail_msg("%s", err.message);
        size_t bytes = 0;
        for (int i = 0; i < out.n; i++)
            bytes += ct_tokenizer_piece(all[k], out.ids[i]).n;
        if (k >= 3) /* nothing is lost on the way */
            assert_int_equal(bytes, n);
        assert_true(out.n > 0);
        free(out.ids);
        ct_tokenizer_free(all[k]);
    }
    free(text);
}

/* Every cut of both files is refused; no change of a byte does more than be refused or accepted. */
static void broken_files(void **state)
{
    (void)state;
    struct ct_bytes model = read_data("tokenizer.model"), json = read_data("tokenizer.json");
    uint8_t *copy = malloc(json.size);
    struct ct_tokenizer *t;
    carat_error err;
    assert_non_null(copy);
    for (size_t n = 0; n < json.size; n += n < 200 || json.size - n < 20 ? 1 : 997) {
        memcpy(copy, json.data, n);
        assert_int_not_equal(ct_tokenizer_from_json(&t, "x", (struct ct_bytes){copy, n}, NULL, &err),
                             CARAT_OK);
        assert_true(err.code == CARAT_E_FORMAT || err.code == CARAT_E_UNSUPPORTED);
    }
    for (size_t n = 0; n + 4 < model.size; n += 97) {
        memcpy(copy, model.data, n);
        assert_int_not_equal(ct_tokenizer_from_model(&t, "x", (struct ct_bytes){copy, n}, NULL, &err),
                             CARAT_OK);
    }
    uint64_t seed = 5;
    for (int round = 0; round < 2000; round++) {
        memcpy(copy, model.data, model.size);
        copy[next_random(&seed) % model.size] = (uint8_t)next_random(&seed);
        if (ct_tokenizer_from_model(&t, "x", (struct ct_bytes){copy, model.size}, NULL, &err) == CARAT_OK)
            ct_tokenizer_free(t);
    }
    free(copy);
    free((void *)model.data);
    free((void *)json.data);
}

#define HEAD                                                                                                 \
    "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xe2\x96\x81\"},"    \
    "\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":"        \
    "\"\xe2\x96\x81\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]},"

static carat_status open_text(struct ct_tokenizer **t, const char *text, carat_error *err)
{
    return ct_tokenizer_from_json(t, "x", (struct ct_bytes){(const uint8_t *)text, strlen(text)}, NULL, err);
}

static void small_json(void **state)
{
    (void)state;
    static const char *const good[] = {
        HEAD "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"fuse_unk\":true,\"vocab\":{\"<unk>\":0,"
             "\"a\":1,"
             "\"b\":2,\"ab\":3},\"merges\":[\"#version: 0.2\",\"a b\"]}}",
        HEAD "\"model\":{\"merges\":[[\"a\",\"b\"]],\"unk_token\":\"<unk>\",\"fuse_unk\":true,\"vocab\":{\"<"
             "unk>\":0,"
             "\"a\":1,\"b\":2,\"ab\":3}}}",
    };
    static const struct {
        carat_status code;
        const char *text, *says;
    } bad[] = {
        {CARAT_E_FORMAT, HEAD "\"model\":{\"vocab\":{\"<unk>\":0,\"a\":2},\"merges\":[]}}", "id 1"},
        {CARAT_E_FORMAT, HEAD "\"model\":{\"vocab\":{\"<unk>\":0,\"a\":0},\"merges\":[]}}", "twice"},
        {CARAT_E_FORMAT, HEAD "\"model\":{\"vocab\":{\"<unk>\":0,\"a\":1,\"a\":2},\"merges\":[]}}",
         "same text"},
        {CARAT_E_FORMAT, HEAD "\"model\":{\"vocab\":{\"<unk>\":0,\"a\":1.5},\"merges\":[]}}", "token id"},
        {CARAT_E_FORMAT, HEAD "\"model\":{\"vocab\":{\"<unk>\":0,\"a\":2147483648},\"merges\":[]}}",
         "token id"},
        {CARAT_E_FORMAT, HEAD "\"model\":{\"vocab\":{\"<unk>\":0,\"\":1},\"merges\":[]}}", "empty"},
        {CARAT_E_FORMAT, HEAD "\"model\":{\"vocab\":{\"<unk>\":0,\"a\":1},\"merges\":[\"a a\"]}}", "merge"},
        {CARAT_E_FORMAT, HEAD "\"model\":{\"vocab\":{\"<unk>\":0,\"a\":1},\"merges\":[\"aa\"]}}",
         "one space"},
        {CARAT_E_FORMAT, HEAD "\"model\":{\"vocab\":{\"<unk>\":0},\"merges\":[]}} x", "nothing after"},
        {CARAT_E_FORMAT, HEAD "\"added_tokens\":[{\"id\":0,\"content\":\"\"}]}",
         "added_tokens[0]: the content is 0"},
        {CARAT_E_FORMAT, HEAD "\"model\":{\"byte_fallback\":true,\"vocab\":{\"<unk>\":0},\"merges\":[]}}",
         "0x00"},
        {CARAT_E_UNSUPPORTED, HEAD "\"model\":{\"type\":\"WordPiece\",\"vocab\":{}}}", "BPE"},
        {CARAT_E_UNSUPPORTED, HEAD "\"model\":{\"vocab\":{\"a\":0},\"merges\":[]}}", "<unk>"},
        {CARAT_E_UNSUPPORTED, "{\"normalizer\":{\"type\":\"NFC\"}}",
         "normalizer: unsupported normalizer {\"type\":\"NFC\"}, expected Replace"},
        {CARAT_E_UNSUPPORTED,
         "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{}]}}",
         "\"normalizers\":[{\"type\":\"NFC\"},{}]}, expected"},
        {CARAT_E_UNSUPPORTED, "{\"pre_tokenizer\":{\"pattern\":{\"Regex\":\"(a+)+$\"},\"type\":\"Split\"}}",
         "unsupported pre_tokenizer {\"pattern\":{\"Regex\":"},
        {CARAT_E_UNSUPPORTED,
         "{\"pre_tokenizer\":{\"pattern\":{\"String\":\" \"},\"type\":\"Split\",\"invert\":true}}", "Split"},
        {CARAT_E_UNSUPPORTED,
         "{\"pre_tokenizer\":{\"pattern\":{\"String\":\" \",\"Regex\":\"a\"},\"type\":\"Split\"}}",
         "Split at"},
        {CARAT_E_UNSUPPORTED, "{\"decoder\":{\"type\":\"WordPiece\"}}",
         "unsupported decoder {\"type\":\"WordPiece\"}"},
        {CARAT_E_FORMAT, "{\"normalizer\":null}", "found null (at byte 14)"},
        {CARAT_E_FORMAT, "{\"decoder\":{\"type\":1,\"type\":2}}",
         "at byte 28: duplicate key type, expected once (in decoder)"},
        {CARAT_E_FORMAT, HEAD "\"normalizer\":{}}", "\"normalizer\" is there twice"},
        {CARAT_E_FORMAT, HEAD "\"added_tokens\":[]}", "expected a member \"model\""},
        {CARAT_E_FORMAT, HEAD "\"added_tokens\":[{\"content\":\"a\",\"content\":\"b\"}]}",
         "added_tokens[0]: expected one content, found the string \"b\""},
        {CARAT_E_FORMAT,
         HEAD
         "\"model\":{\"vocab\":{\"<unk>\":0,\"a\":1},\"merges\":[]},\"added_tokens\":[{\"id\":0,\"content\":"
         "\"x\"},{\"id\":0,\"content\":\"y\"}]}",
         "two added tokens have the id 0 (added_tokens"},
        {CARAT_E_FORMAT,
         HEAD "\"model\":{\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[[\"a\",\"b\"],[\"a\",\"c\"]]}}",
         "model.merges[1]: the right part of the merge, \"c\","},
        {CARAT_E_FORMAT,
         HEAD "\"model\":{\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\",\"a b\",\"a b\",\"a "
              "b\",\"a b\"]}}",
         "model.merges[4]: expected at most 4 merges"},
        {CARAT_E_FORMAT, "[]", "object"},
        {CARAT_E_FORMAT, "", "the end of the text"},
    };
    struct ct_tokenizer *t;
    carat_error err;
    for (size_t i = 0; i < CT_COUNT(good); i++) {
        if (open_text(&t, good[i], &err) != CARAT_OK)
            fail_msg("%s", err.message);
        EXPECT(t, "aabb", 0, 1, 3, 2);
        EXPECT(t, "axyb", 0, 1, 0, 2); /* unknown characters side by side are one token */
        ct_tokenizer_free(t);
    }
    for (size_t i = 0; i < CT_COUNT(bad); i++) {
        assert_int_equal(open_text(&t, bad[i].text, &err), bad[i].code);
        if (!strstr(err.message, bad[i].says))
            fail_msg("\"%s\" does not say \"%s\"", err.message, bad[i].says);
    }
}

static int say_no_later(void *user, size_t done, size_t total)
{
    assert_int_equal(done, 2);
    assert_int_equal(total, 5);
    return (*(int *)user)-- == 0;
}

/* Whoever waits for a large vocabulary is asked while pieces come and while merges do. */
static void reading_stops(void **state)
{
    (void)state;
    enum { N = 40000 };
    int32_t *triple = malloc(3 * N * sizeof *triple);
    struct ct_tokenizer *t = NULL;
    int left = 3, id = 0;
    struct ct_listener listener = {say_no_later, &left, 2, 5};
    carat_status status = CARAT_OK;
    carat_error err;
    assert_non_null(triple);
    assert_int_equal(ct_tokenizer_create(&t, CT_SOURCE_JSON, &listener, &err), CARAT_OK);
    while (status == CARAT_OK && id < N) {
        char s[16];
        size_t n = (size_t)snprintf(s, sizeof s, "%d", id);
        status = ct_tokenizer_add(t, "synthetic", id++, (struct ct_str){s, n}, CT_PIECE_NORMAL, false, &err);
    }
    assert_int_equal(status, CARAT_E_CANCELLED);
    assert_true(strlen(err.message) > 0 && left < 0);
    for (int i = 0; i < 3 * N; i++)
        triple[i] = i % (id - 1);
    left = 3;
    assert_int_equal(ct_tokenizer_merges(t, triple, N, &err), CARAT_E_CANCELLED);
    ct_tokenizer_free(t);
    free(triple);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_goldens),  cmocka_unit_test(model_goldens),
        cmocka_unit_test(gguf_goldens),  cmocka_unit_test(control_tokens),
        cmocka_unit_test(appends),       cmocka_unit_test(bad_utf8),
        cmocka_unit_test(engines_agree), cmocka_unit_test(engines_agree_densely),
        cmocka_unit_test(one_character), cmocka_unit_test(broken_files),
        cmocka_unit_test(small_json),    cmocka_unit_test(real_gemma3),
        cmocka_unit_test(real_gemma),    cmocka_unit_test(real_gemma4),
        cmocka_unit_test(reading_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
