/* SPDX-License-Identifier: Apache-2.0 */
/* vocabulary.h: the vocabularies that tests of src/text open: the committed one in each of its three
 * sources and two odd ones made here; and their tables. */
#ifndef VOCABULARY_H
#define VOCABULARY_H

#include "text_golden.h"

#include "text/tokenizer/tokenizer_parts.h"
#include "text/tokenizer/trie.h"

static inline uint32_t next_random(uint64_t *s)
{
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*s >> 33);
}

static inline struct ct_tokenizer *from_json(const char *text, size_t n)
{
    struct ct_tokenizer *t = NULL;
    carat_error err;
    if (ct_tokenizer_from_json(&t, "tokenizer.json", (struct ct_bytes){(const uint8_t *)text, n}, NULL,
                               &err) != CARAT_OK)
        fail_msg("%s", err.message);
    return t;
}

static inline struct ct_tokenizer *open_json(void)
{
    struct ct_bytes file = read_data("tokenizer.json");
    struct ct_tokenizer *t = from_json((const char *)file.data, file.size);
    free((void *)file.data);
    return t;
}

static inline struct ct_tokenizer *open_model(void)
{
    struct ct_tokenizer *t = NULL;
    carat_error err;
    struct ct_bytes file = read_data("tokenizer.model");
    if (ct_tokenizer_from_model(&t, "tokenizer.model", file, NULL, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    free((void *)file.data);
    return t;
}

static inline struct ct_tokenizer *open_gguf(void)
{
    struct ct_tokenizer *t = NULL;
    struct ct_file *f = NULL;
    carat_error err;
    struct ct_bytes file = read_data("vocab.gguf");
    struct ct_part part = {"model.gguf", file};
    if (ct_file_open_memory(&f, &part, 1, &err) != CARAT_OK ||
        ct_tokenizer_open(&t, f, NULL, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    ct_file_close(f);
    free((void *)file.data);
    return t;
}

/* One pair is merged twice, a piece that merges has another name than its parts, and nothing falls back to
 * bytes. */
static inline struct ct_tokenizer *open_odd(void)
{
    static const char json[] =
        "{\"added_tokens\":[{\"id\":4,\"content\":\"<ba>\",\"special\":false},"
        "{\"id\":7,\"content\":\"<bos>\",\"special\":true}],"
        "\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xe2\x96\x81\"},"
        "\"decoder\":{\"type\":\"Sequence\",\"decoders\":["
        "{\"type\":\"Replace\",\"pattern\":{\"String\":\"\xe2\x96\x81\"},\"content\":\" \"},"
        "{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]},"
        "\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"fuse_unk\":true,\"byte_fallback\":false,"
        "\"vocab\":{\"<unk>\":0,\"a\":1,\"b\":2,\"ab\":3,\"ba\":4,\"aba\":5,\"abab\":6},"
        "\"merges\":[\"a b\",\"b a\",\"ab a\",\"a ba\",\"ab ab\",\"a b\"]}}";
    return from_json(json, sizeof json - 1);
}

/* Every odd id repeats the text of the one before, the table of slots grows in between, and the last piece
 * is empty. */
static inline struct ct_tokenizer *open_repeats(void)
{
    enum { N = 6000 };
    struct ct_tokenizer *t = NULL;
    carat_error err;
    float *score = malloc(N * sizeof *score);
    assert_non_null(score);
    assert_int_equal(ct_tokenizer_create(&t, CT_SOURCE_GGUF, NULL, &err), CARAT_OK);
    for (int id = 0; id < N; id++) {
        char s[16];
        size_t n = id == N - 1 ? 0 : (size_t)snprintf(s, sizeof s, id ? "%d" : "<unk>", id / 2);
        int kind = id % 5 ? CT_PIECE_NORMAL : id ? CT_PIECE_USER : CT_PIECE_UNKNOWN;
        assert_int_equal(ct_tokenizer_add(t, "repeats", id, (struct ct_str){s, n}, kind, true, &err),
                         CARAT_OK);
        score[id] = (float)-(id / 8);
    }
    assert_int_equal(ct_tokenizer_id(t, "17"), 34);
    assert_int_equal(ct_tokenizer_scores(t, "repeats", score, &err), CARAT_OK);
    assert_int_equal(ct_tokenizer_finish(t, "repeats", &err), CARAT_OK);
    free(score);
    return t;
}

/* All of them. */
static struct ct_tokenizer *(*const open_small[])(void) = {open_json, open_model, open_gguf, open_odd,
                                                           open_repeats};

/* ---- their tables ---- */

static inline const struct ct_trie *trie_of(const struct ct_tokenizer *t)
{
    const struct ct_trie *trie;
    carat_error err;
    if (ct_tokenizer_trie(&trie, t, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    return trie;
}

/* With the trie, as in a packed model. As large as the tables and no larger, so that a sanitizer sees the
 * first byte read beyond them. */
static inline struct ct_bytes tables_of(const struct ct_tokenizer *t)
{
    trie_of(t);
    size_t size = ct_tokenizer_tables_size(t);
    uint8_t *data = malloc(size);
    assert_non_null(data);
    memset(data, 0xa5, size);
    ct_tokenizer_tables_write(t, data);
    return (struct ct_bytes){data, size};
}

static inline struct ct_tokenizer *from_tables(struct ct_bytes tables, bool trusted)
{
    struct ct_tokenizer *t = NULL;
    carat_error err;
    if (ct_tokenizer_from_tables(&t, "a.packed", tables, trusted, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    return t;
}

#endif
