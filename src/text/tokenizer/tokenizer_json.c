/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer_json.c: reads tokenizer.json of the tokenizers library, as far as Gemma uses it: a BPE model
 * with byte fallback, a merge list in either spelling, spaces replaced by U+2581, added tokens. It refuses
 * any other normalizer, pre-tokenizer or decoder. It does not read the template of the post-processor:
 * CARAT_BOS puts <bos>.
 *
 * Members may come in any order. Merges name pieces: when they come before the vocabulary, their offset is
 * kept and they are read at the end. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/json_tree.h"
#include "base/utf8.h"
#include "text/tokenizer/merges.h"

#define ADDED_MAX     (1 << 16)
#define UNKNOWN_MAX   (1 << 20)      /* values in members that are passed over */
#define COMPONENT_MAX (1 << 12)      /* in a normalizer, pre-tokenizer or decoder */
#define META          "\xe2\x96\x81" /* U+2581 */

struct added {
    int64_t id;
    struct ct_str text; /* in the arena */
    size_t byte;        /* in the file */
    bool special;
};

struct reader {
    struct ct_tokenizer *t;
    const char *name;
    struct ct_bytes json;
    carat_error *err;
    const char *part; /* what is being read, for messages; its element item, where item is not NO_ITEM */
    size_t item;

    struct added *added;
    size_t n_added, added_capacity;
    struct ct_arena arena;

    struct ct_merge_list merges;
    size_t merges_at; /* where merges that must wait begin; 0: none wait */

    unsigned seen; /* members of the document */
    bool has_vocab, has_merges;
    char unknown[CT_PIECE_MAX + 1];
};

#define NO_ITEM SIZE_MAX

/* "file: added_tokens[3]: sentence (at byte 123)" */
static carat_status json_refuse(const struct reader *r, size_t byte, carat_status code, const char *format,
                                ...)
{
    char sentence[512], item[24] = "";
    CT_FORMAT(sentence, format);
    if (r->item != NO_ITEM)
        snprintf(item, sizeof item, "[%zu]", r->item);
    return ct_fail(r->err, code, "%s: %s%s: %s (at byte %zu)", r->name, r->part, item, sentence, byte);
}

static carat_status unsupported(const struct reader *r, const struct ct_json *j, const char *what)
{
    return json_refuse(r, j->start, CARAT_E_UNSUPPORTED, "%s", what);
}

/* Fails with the JSON reader's error, or says that the last token is not the one that was expected. */
static carat_status malformed(const struct reader *r, const struct ct_json *j, enum ct_json_token token,
                              const char *expected)
{
    static const char *const name[] = {[CT_JSON_END] = "the end of the document",
                                       [CT_JSON_OBJECT] = "an object",
                                       [CT_JSON_OBJECT_END] = "the end of an object",
                                       [CT_JSON_ARRAY] = "a list",
                                       [CT_JSON_ARRAY_END] = "the end of a list",
                                       [CT_JSON_KEY] = "the key",
                                       [CT_JSON_STRING] = "the string",
                                       [CT_JSON_TRUE] = "true",
                                       [CT_JSON_FALSE] = "false",
                                       [CT_JSON_NULL] = "null"};
    if (token == CT_JSON_ERROR)
        return ct_fail(r->err, j->error.code, "%s (in %s)", j->error.message, r->part);
    if (token == CT_JSON_NUMBER)
        return json_refuse(r, j->start, CARAT_E_FORMAT, "expected %s, found %.17g", expected, j->number);
    if (token == CT_JSON_KEY || token == CT_JSON_STRING)
        return json_refuse(r, j->start, CARAT_E_FORMAT, "expected %s, found %s \"%.*s\"", expected,
                           name[token], CT_BRIEF(j->string));
    return json_refuse(r, j->start, CARAT_E_FORMAT, "expected %s, found %s", expected, name[token]);
}

/* Passes on an error of ct_tokenizer_add and the like, with the place in the file. */
static carat_status json_add_place(const struct reader *r, size_t byte, const carat_error *why)
{
    return ct_fail(r->err, why->code, "%s (%s, at byte %zu)", why->message, r->part, byte);
}

static carat_status json_expect(struct reader *r, struct ct_json *j, enum ct_json_token token,
                                const char *what)
{
    enum ct_json_token found = ct_json_next(j);
    return found == token ? CARAT_OK : malformed(r, j, found, what);
}

/* Reads on to the end of what was opened at this depth: at most so many tokens, so that a file which holds
 * nothing else is refused early. */
static carat_status json_leave(struct reader *r, struct ct_json *j, int depth, size_t most)
{
    for (size_t n = 0; j->depth > depth; n++) {
        if (ct_json_next(j) == CT_JSON_ERROR)
            return malformed(r, j, CT_JSON_ERROR, "a value");
        if (n == most)
            return json_refuse(r, j->start, CARAT_E_FORMAT, "expected at most %zu values", most);
    }
    return CARAT_OK;
}

static carat_status json_skip(struct reader *r, struct ct_json *j, size_t most)
{
    int depth = j->depth;
    enum ct_json_token token = ct_json_next(j);
    return token == CT_JSON_ERROR ? malformed(r, j, token, "a value") : json_leave(r, j, depth, most);
}

static carat_status read_bool(struct reader *r, struct ct_json *j, bool *out)
{
    enum ct_json_token token = ct_json_next(j);
    *out = token == CT_JSON_TRUE;
    return token == CT_JSON_TRUE || token == CT_JSON_FALSE ? CARAT_OK
                                                           : malformed(r, j, token, "true or false");
}

static carat_status json_id(struct reader *r, struct ct_json *j, int64_t *id)
{
    enum ct_json_token token = ct_json_next(j);
    if (token != CT_JSON_NUMBER || !(j->number >= 0 && j->number < CT_VOCAB_MAX) ||
        j->number != (double)(int64_t)j->number)
        return malformed(r, j, token, "a token id from 0 to 2097151");
    *id = (int64_t)j->number;
    return CARAT_OK;
}

/* ---- added tokens ---- */

static carat_status read_added(struct reader *r, struct ct_json *j)
{
    CT_TRY(json_expect(r, j, CT_JSON_ARRAY, "a list"));
    for (;;) {
        r->item = r->n_added;
        enum ct_json_token token = ct_json_next(j);
        if (token == CT_JSON_ARRAY_END)
            return CARAT_OK;
        if (token != CT_JSON_OBJECT)
            return malformed(r, j, token, "an object");
        if (r->n_added == ADDED_MAX)
            return json_refuse(r, j->start, CARAT_E_UNSUPPORTED, "expected at most %d added tokens",
                               ADDED_MAX);
        struct added a = {.id = -1, .byte = j->start};
        while ((token = ct_json_next(j)) == CT_JSON_KEY) {
            bool flag = false;
            if (ct_str_is(j->string, "id")) {
                CT_TRY(json_id(r, j, &a.id));
            } else if (ct_str_is(j->string, "content")) {
                CT_TRY(json_expect(r, j, CT_JSON_STRING, "the content of an added token"));
                if (a.text.s)
                    return malformed(r, j, CT_JSON_STRING, "one content");
                if (j->string.n == 0 || j->string.n > CT_PIECE_MAX)
                    return json_refuse(r, j->start, j->string.n ? CARAT_E_UNSUPPORTED : CARAT_E_FORMAT,
                                       "the content is %zu bytes long, expected 1 to %d", j->string.n,
                                       CT_PIECE_MAX);
                a.text = (struct ct_str){ct_arena_str(&r->arena, j->string.s, j->string.n), j->string.n};
                if (!a.text.s)
                    return ct_no_memory(r->err, r->name);
            } else if (ct_str_is(j->string, "special")) {
                CT_TRY(read_bool(r, j, &a.special));
            } else if (ct_str_is(j->string, "single_word") || ct_str_is(j->string, "lstrip") ||
                       ct_str_is(j->string, "rstrip") || ct_str_is(j->string, "normalized")) {
                CT_TRY(read_bool(r, j, &flag));
                if (flag)
                    return unsupported(
                        r, j, "single_word, lstrip, rstrip and normalized are not supported; expected false");
            } else {
                CT_TRY(json_skip(r, j, UNKNOWN_MAX));
            }
        }
        if (token != CT_JSON_OBJECT_END || a.id < 0 || !a.text.s)
            return malformed(r, j, token, "an added token with id and content");
        if (!ct_array_grow(&r->added, &r->added_capacity, r->n_added + 1, sizeof *r->added))
            return ct_no_memory(r->err, r->name);
        r->added[r->n_added++] = a;
    }
}

/* An added token gives a piece its kind; it may also name an id beyond the vocabulary, or rename an id. */
static carat_status apply(struct reader *r, const struct added *a, carat_error *why)
{
    struct ct_tokenizer *t = r->t;
    struct ct_str text = a->text;
    int kind = a->special ? CT_PIECE_CONTROL : CT_PIECE_USER;
    if (a->id >= t->n || t->piece[a->id].kind == CT_PIECE_ABSENT)
        return ct_tokenizer_add(t, r->name, a->id, text, kind, false, why);
    if (t->piece[a->id].kind != CT_PIECE_NORMAL && t->piece[a->id].kind != CT_PIECE_BYTE)
        return ct_bad_file(why, r->name, "two added tokens have the id %d", (int)a->id);
    if (!ct_str_same(ct_piece_text(t, (int32_t)a->id), text))
        CT_TRY(ct_tokenizer_rename(t, r->name, (int32_t)a->id, text, why));
    t->piece[a->id].kind = (unsigned)kind & 7;
    return CARAT_OK;
}

static carat_status apply_added(struct reader *r)
{
    carat_error why;
    r->part = "added_tokens";
    for (size_t i = 0; i < r->n_added; i++)
        if (apply(r, &r->added[i], &why) != CARAT_OK)
            return json_add_place(r, r->added[i].byte, &why);
    return CARAT_OK;
}

/* ---- the model ---- */

static carat_status read_vocab(struct reader *r, struct ct_json *j)
{
    enum ct_json_token token;
    carat_error why;
    r->part = "model.vocab";
    CT_TRY(json_expect(r, j, CT_JSON_OBJECT, "an object"));
    while ((token = ct_json_next(j)) == CT_JSON_KEY) {
        char text[CT_PIECE_MAX];
        struct ct_str s = j->string;
        size_t byte = j->start;
        int64_t id = 0;
        if (s.n > sizeof text)
            return json_refuse(r, byte, CARAT_E_UNSUPPORTED, "a token is %zu bytes long, expected at most %d",
                               s.n, CT_PIECE_MAX);
        memcpy(text, s.s, s.n);
        s.s = text; /* the number that follows ends the life of j->string */
        CT_TRY(json_id(r, j, &id));
        if (ct_tokenizer_add(r->t, r->name, id, s, ct_piece_byte(s) >= 0 ? CT_PIECE_BYTE : CT_PIECE_NORMAL,
                             false, &why) != CARAT_OK)
            return json_add_place(r, byte, &why);
    }
    return token == CT_JSON_OBJECT_END ? CARAT_OK : malformed(r, j, token, "a token");
}

static carat_status add_to_merge(const struct reader *r, const struct ct_json *j, struct ct_merge *m,
                                 struct ct_str part)
{
    if (ct_merge_add(m, part))
        return CARAT_OK;
    return json_refuse(r, j->start, CARAT_E_UNSUPPORTED, "a merge is longer than %d bytes", CT_PIECE_MAX);
}

/* The next merge, whose first token has been read: "a b" or ["a", "b"]. */
static carat_status read_merge(struct reader *r, struct ct_json *j, enum ct_json_token token,
                               struct ct_merge *m)
{
    m->n = 0;
    if (token == CT_JSON_ARRAY) {
        CT_TRY(json_expect(r, j, CT_JSON_STRING, "the left part of a merge"));
        CT_TRY(add_to_merge(r, j, m, j->string));
        m->left = m->n;
        CT_TRY(json_expect(r, j, CT_JSON_STRING, "the right part of a merge"));
        CT_TRY(add_to_merge(r, j, m, j->string));
        CT_TRY(json_expect(r, j, CT_JSON_ARRAY_END, "two parts of a merge"));
    } else if (token == CT_JSON_STRING) {
        struct ct_str left, right;
        if (!ct_merge_split(j->string, &left, &right))
            return malformed(r, j, token, "two parts with one space between them");
        CT_TRY(add_to_merge(r, j, m, left));
        m->left = m->n;
        CT_TRY(add_to_merge(r, j, m, right));
    } else {
        return malformed(r, j, token, "a merge");
    }
    m->at = j->start;
    return CARAT_OK;
}

/* Takes a merge, or n = 0 at their end. */
static carat_status push_merge(struct reader *r, size_t n)
{
    struct ct_merge_missing missing;
    carat_status status = ct_merges_push(&r->merges, r->t, r->name, n, &missing, r->err);
    if (status != CARAT_E_FORMAT)
        return status;
    r->item = missing.index;
    return json_refuse(r, missing.at, status, "%s of the merge, \"%.*s\", is not in the vocabulary",
                       missing.part, CT_BRIEF(missing.text));
}

static carat_status read_merges(struct reader *r, struct ct_json *j)
{
    const size_t most = ct_merges_most(r->t);
    r->part = "model.merges";
    CT_TRY(json_expect(r, j, CT_JSON_ARRAY, "a list"));
    if (r->t->n == 0)
        return unsupported(r, j, "there are merges, but no vocabulary");
    for (;;) {
        r->item = r->merges.n + r->merges.n_batch;
        enum ct_json_token token = ct_json_next(j);
        if (token == CT_JSON_ARRAY_END)
            return push_merge(r, 0);
        if (token == CT_JSON_STRING && r->item == 0 && j->string.n >= 8 &&
            memcmp(j->string.s, "#version", 8) == 0)
            continue; /* the first line of the old merges.txt */
        if (r->item == most)
            return json_refuse(r, j->start, CARAT_E_FORMAT, "expected at most %zu merges for this vocabulary",
                               most);
        CT_TRY(read_merge(r, j, token, &r->merges.batch[r->merges.n_batch]));
        CT_TRY(push_merge(r, 1));
    }
}

/* null, false or "": a feature that is off. */
static carat_status read_off(struct reader *r, struct ct_json *j, const char *what)
{
    enum ct_json_token token = ct_json_next(j);
    if (token == CT_JSON_ERROR)
        return malformed(r, j, token, "a value");
    bool off = token == CT_JSON_NULL || token == CT_JSON_FALSE ||
               (token == CT_JSON_STRING && j->string.n == 0) || (token == CT_JSON_NUMBER && j->number == 0);
    return off ? CARAT_OK : unsupported(r, j, what);
}

static carat_status json_model(struct reader *r, struct ct_json *j)
{
    enum ct_json_token token;
    CT_TRY(json_expect(r, j, CT_JSON_OBJECT, "an object"));
    while ((token = ct_json_next(j)) == CT_JSON_KEY) {
        struct ct_str key = j->string;
        if (ct_str_is(key, "type")) {
            CT_TRY(json_expect(r, j, CT_JSON_STRING, "the type of the model"));
            if (!ct_str_is(j->string, "BPE"))
                return json_refuse(r, j->start, CARAT_E_UNSUPPORTED,
                                   "unsupported model \"%.*s\", expected BPE", CT_BRIEF(j->string));
        } else if (ct_str_is(key, "vocab")) {
            if (r->has_vocab)
                return malformed(r, j, token, "one vocabulary");
            r->has_vocab = true;
            CT_TRY(read_vocab(r, j));
            r->part = "model";
        } else if (ct_str_is(key, "merges")) {
            if (r->has_merges)
                return malformed(r, j, token, "one list of merges");
            r->has_merges = true;
            r->merges_at = r->has_vocab ? 0 : j->at;
            CT_TRY(r->has_vocab ? read_merges(r, j) : json_skip(r, j, (size_t)CT_MERGES_MAX * 4 + 2));
            r->part = "model";
            r->item = NO_ITEM;
        } else if (ct_str_is(key, "unk_token")) {
            CT_TRY(json_expect(r, j, CT_JSON_STRING, "the name of the unknown token"));
            if (j->string.n > CT_PIECE_MAX)
                return malformed(r, j, CT_JSON_STRING, "the name of the unknown token");
            memcpy(r->unknown, j->string.s, j->string.n);
            r->unknown[j->string.n] = 0;
        } else if (ct_str_is(key, "byte_fallback")) {
            CT_TRY(read_bool(r, j, &r->t->byte_fallback));
        } else if (ct_str_is(key, "fuse_unk")) {
            CT_TRY(read_bool(r, j, &r->t->fuse_unknown));
        } else if (ct_str_is(key, "dropout")) {
            CT_TRY(read_off(r, j, "the model asks for dropout"));
        } else if (ct_str_is(key, "continuing_subword_prefix") || ct_str_is(key, "end_of_word_suffix")) {
            CT_TRY(read_off(r, j, "the model marks subwords"));
        } else if (ct_str_is(key, "ignore_merges")) {
            CT_TRY(read_off(r, j, "the model sets ignore_merges"));
        } else {
            CT_TRY(json_skip(r, j, UNKNOWN_MAX));
        }
    }
    return token == CT_JSON_OBJECT_END ? CARAT_OK : malformed(r, j, token, "a member of the model");
}

/* ---- normalizer, pre-tokenizer, decoder: only Gemma's ---- */

static bool has_type(const struct ct_json_value *v, const char *type)
{
    return ct_json_is_text(ct_json_get(v, "type"), type);
}

/* False for a regular expression, too. */
static bool has_pattern(const struct ct_json_value *v, const char *text)
{
    const struct ct_json_value *pattern = ct_json_get(v, "pattern");
    return ct_json_count(pattern) == 1 && ct_json_is_text(ct_json_get(pattern, "String"), text);
}

static bool is_replace(const struct ct_json_value *v, const char *pattern, const char *content)
{
    return has_type(v, "Replace") && has_pattern(v, pattern) &&
           ct_json_is_text(ct_json_get(v, "content"), content);
}

static bool normalizer_fits(const struct ct_json_value *v)
{
    const struct ct_json_value *list = ct_json_get(v, "normalizers");
    return is_replace(has_type(v, "Sequence") && ct_json_count(list) == 1 ? ct_json_first(list) : v, " ",
                      META);
}

/* A split at spaces finds none, for they have been replaced. */
static bool pre_tokenizer_fits(const struct ct_json_value *v)
{
    const struct ct_json_value *invert = ct_json_get(v, "invert");
    return has_type(v, "Split") && has_pattern(v, " ") && (!invert || ct_json_is(invert, CT_JSON_FALSE));
}

static bool decoder_fits(const struct ct_json_value *v)
{
    const struct ct_json_value *list = ct_json_get(v, "decoders"), *first = ct_json_first(list);
    if (!has_type(v, "Sequence") || ct_json_count(list) != 3 || !is_replace(first, META, " "))
        return false;
    const struct ct_json_value *second = ct_json_after(first);
    return has_type(second, "ByteFallback") && has_type(ct_json_after(second), "Fuse");
}

/* ---- the document ---- */

static const struct member {
    const char *key;
    bool needed;
    carat_status (*read)(struct reader *r, struct ct_json *j);
    bool (*fits)(const struct ct_json_value *v); /* of what is compared as a tree instead */
    const char *expected;
} members[] = {
    {"added_tokens", false, read_added, NULL, NULL},
    {"normalizer", true, NULL, normalizer_fits, "Replace of \" \" by U+2581"},
    {"pre_tokenizer", false, NULL, pre_tokenizer_fits, "Split at \" \""},
    {"decoder", true, NULL, decoder_fits, "Sequence of Replace, ByteFallback, Fuse"},
    {"model", true, json_model, NULL, NULL},
};

static carat_status read_component(struct reader *r, struct ct_json *j, const struct member *m)
{
    struct ct_json_tree tree = {0};
    carat_status status = CARAT_OK;
    enum ct_json_token token = ct_json_next(j);
    size_t from = j->start;
    if (token == CT_JSON_NULL && !m->needed)
        return CARAT_OK;
    if (token != CT_JSON_OBJECT)
        return malformed(r, j, token, m->expected);
    if (!ct_json_tree_value(&tree, j, token, COMPONENT_MAX)) {
        if (tree.failed)
            status = ct_no_memory(r->err, r->name);
        else if (j->error.code)
            status = malformed(r, j, CT_JSON_ERROR, "a value");
        else
            status = json_refuse(r, j->start, CARAT_E_FORMAT, "expected at most %d values", COMPONENT_MAX);
    } else if (!m->fits(tree.value)) {
        const char *text = (const char *)j->text + from;
        status = json_refuse(r, from, CARAT_E_UNSUPPORTED, "unsupported %s %.*s, expected %s", m->key,
                             (int)ct_utf8_cut(text, j->at - from, 200), text, m->expected);
    }
    ct_json_tree_free(&tree);
    return status;
}

static carat_status json_member(struct reader *r, struct ct_json *j)
{
    r->item = NO_ITEM;
    for (const struct member *m = members; m < members + CT_COUNT(members); m++)
        if (ct_str_is(j->string, m->key)) {
            if (r->seen & 1u << (m - members))
                return json_refuse(r, j->start, CARAT_E_FORMAT, "\"%s\" is there twice", m->key);
            r->seen |= 1u << (m - members);
            r->part = m->key;
            return m->read ? m->read(r, j) : read_component(r, j, m);
        }
    return json_skip(r, j, UNKNOWN_MAX);
}

static carat_status read_document(struct reader *r, struct ct_json *j)
{
    enum ct_json_token token;
    CT_TRY(json_expect(r, j, CT_JSON_OBJECT, "an object"));
    while ((token = ct_json_next(j)) == CT_JSON_KEY) {
        CT_TRY(json_member(r, j));
        r->part = "the document";
        r->item = NO_ITEM;
    }
    if (token != CT_JSON_OBJECT_END || (token = ct_json_next(j)) != CT_JSON_END)
        return malformed(r, j, token, "a member of the document");
    for (size_t i = 0; i < CT_COUNT(members); i++)
        if (members[i].needed && !(r->seen & 1u << i))
            return json_refuse(r, j->start, CARAT_E_FORMAT, "expected a member \"%s\", found none",
                               members[i].key);
    if (!r->has_vocab || !r->has_merges)
        return json_refuse(r, j->start, CARAT_E_FORMAT, "expected a model with vocab and merges");
    return CARAT_OK;
}

static carat_status read_waiting_merges(struct reader *r)
{
    struct ct_json j;
    ct_json_init(&j, r->name, r->json);
    j.at = r->merges_at;
    carat_status status = read_merges(r, &j);
    ct_json_free(&j);
    return status;
}

static carat_status json_finish(struct reader *r)
{
    struct ct_tokenizer *t = r->t;
    if (r->merges_at)
        CT_TRY(read_waiting_merges(r));
    r->item = NO_ITEM;
    CT_TRY(apply_added(r));
    for (int32_t id = 0; id < t->n; id++)
        if (t->piece[id].kind == CT_PIECE_ABSENT)
            return ct_bad_file(r->err, r->name, "model.vocab: no token has the id %d, expected all up to %d",
                               id, t->n - 1);
    ct_tokenizer_name_controls(t);
    t->unknown = ct_tokenizer_find(t, ct_str_of(r->unknown));
    CT_TRY(ct_tokenizer_merges(t, r->merges.triple, r->merges.n, r->err));
    CT_TRY(ct_tokenizer_finish(t, r->name, r->err));
    int missing = t->byte_fallback ? ct_tokenizer_missing_byte(t) : -1;
    if (missing >= 0)
        return ct_bad_file(r->err, r->name,
                           "model.vocab: expected <0x%02X>, since byte_fallback is set, found none",
                           (unsigned)missing);
    return CARAT_OK;
}

carat_status ct_tokenizer_from_json(struct ct_tokenizer **t, const char *name, struct ct_bytes json,
                                    struct ct_listener *listener, carat_error *err)
{
    struct reader r = {.name = name, .part = "the document", .item = NO_ITEM, .json = json, .err = err};
    struct ct_json j;
    if (json.size > CT_TOKENIZER_MAX)
        return ct_tokenizer_too_large(name, json.size, err);
    ct_json_init(&j, name, json);
    carat_status status = ct_tokenizer_create(&r.t, CT_SOURCE_JSON, listener, err);
    if (status == CARAT_OK)
        status = read_document(&r, &j);
    if (status == CARAT_OK)
        status = json_finish(&r);
    ct_json_free(&j);
    free(r.added);
    ct_arena_free(&r.arena);
    free(r.merges.triple);
    return ct_tokenizer_give(t, r.t, status);
}
