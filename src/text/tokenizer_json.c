/* tokenizer_json.c: reads tokenizer.json of the tokenizers library, as far as Gemma uses it: a BPE model with
 * byte fallback and a merge list in either spelling, spaces replaced by U+2581, added tokens. Any other
 * normalizer, pre-tokenizer or decoder is refused, never guessed. The template of the post-processor is not
 * read: <bos> is put by CARAT_BOS.
 *
 * Members may come in any order. Merges name pieces, so when they come before the vocabulary, their place is
 * remembered and they are read at the end. */
#include <stdlib.h>

#include "base/json.h"
#include "text/vocab.h"

struct added {
    int64_t id;
    size_t at, n; /* in reader.text */
    bool special;
};

#define BATCH (CT_WARM_MAX / 3)

struct merge {
    char text[CT_PIECE_MAX]; /* both parts, side by side */
    size_t left, n;          /* bytes of the left part and of both */
    size_t at;               /* in the file */
};

struct reader {
    struct ct_tokenizer *t;
    const char *name;
    struct ct_bytes json;
    carat_error *err;

    struct added *added;
    size_t n_added, added_capacity;
    char *text; /* contents of added tokens */
    size_t n_text, text_capacity;

    int32_t *triple; /* [n_triple][3] */
    size_t n_triple, triple_capacity;
    size_t merges_at; /* where merges that must wait begin; 0: none wait */

    bool has_model, has_vocab, has_merges, has_decoder, has_normalizer;
    char unknown[CT_PIECE_MAX + 1];
};

static carat_status unsupported(const struct reader *r, const struct ct_json *j, const char *what)
{
    return ct_fail(r->err, CARAT_E_UNSUPPORTED, "%s: at byte %zu: %s", r->name, j->at, what);
}

/* The reader's own complaint, or that the document has an unexpected shape. */
static carat_status malformed(const struct reader *r, struct ct_json *j, const char *expected)
{
    ct_json_fail(j, "expected %s", expected);
    if (r->err)
        *r->err = j->error;
    return j->error.code;
}

static carat_status no_memory(const struct reader *r)
{
    return ct_fail(r->err, CARAT_E_MEMORY, "%s: no memory for the tokenizer", r->name);
}

/* p points at a pointer to elements of size bytes; makes room for need of them. */
static bool grow(void *p, size_t *capacity, size_t need, size_t size)
{
    void *old, *grown;
    if (need <= *capacity)
        return true;
    size_t wanted = CT_MAX(*capacity * 2, CT_MAX(need, (size_t)1024)), bytes;
    memcpy(&old, p, sizeof old);
    grown = ct_mul(wanted, size, &bytes) ? realloc(old, bytes) : NULL;
    if (!grown)
        return false;
    memcpy(p, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}

static carat_status expect(struct reader *r, struct ct_json *j, enum ct_json_token token, const char *what)
{
    return ct_json_next(j) == token ? CARAT_OK : malformed(r, j, what);
}

static carat_status skip(struct reader *r, struct ct_json *j)
{
    return ct_json_skip(j) ? CARAT_OK : malformed(r, j, "a value");
}

static carat_status read_bool(struct reader *r, struct ct_json *j, bool *out)
{
    enum ct_json_token token = ct_json_next(j);
    *out = token == CT_JSON_TRUE;
    return token == CT_JSON_TRUE || token == CT_JSON_FALSE ? CARAT_OK : malformed(r, j, "true or false");
}

static carat_status read_id(struct reader *r, struct ct_json *j, int64_t *id)
{
    if (ct_json_next(j) != CT_JSON_NUMBER)
        return malformed(r, j, "a token id");
    if (!(j->number >= 0 && j->number < CT_VOCAB_MAX) || j->number != (double)(int64_t)j->number)
        return malformed(r, j, "a token id from 0 to 2097151");
    *id = (int64_t)j->number;
    return CARAT_OK;
}

/* ---- added tokens ---- */

static carat_status read_added(struct reader *r, struct ct_json *j)
{
    CT_TRY(expect(r, j, CT_JSON_ARRAY, "the array of added tokens"));
    for (;;) {
        enum ct_json_token token = ct_json_next(j);
        if (token == CT_JSON_ARRAY_END)
            return CARAT_OK;
        if (token != CT_JSON_OBJECT)
            return malformed(r, j, "an added token");
        struct added a = {-1, 0, 0, false};
        bool has_content = false;
        while ((token = ct_json_next(j)) == CT_JSON_KEY) {
            bool flag = false;
            if (ct_str_is(j->string, "id")) {
                CT_TRY(read_id(r, j, &a.id));
            } else if (ct_str_is(j->string, "content")) {
                CT_TRY(expect(r, j, CT_JSON_STRING, "the content of an added token"));
                if (j->string.n == 0)
                    return malformed(r, j, "an added token that is not empty");
                if (!grow(&r->text, &r->text_capacity, r->n_text + j->string.n, 1))
                    return no_memory(r);
                memcpy(r->text + r->n_text, j->string.s, j->string.n);
                a.at = r->n_text;
                a.n = j->string.n;
                r->n_text += a.n;
                has_content = true;
            } else if (ct_str_is(j->string, "special")) {
                CT_TRY(read_bool(r, j, &a.special));
            } else if (ct_str_is(j->string, "single_word") || ct_str_is(j->string, "lstrip") ||
                       ct_str_is(j->string, "rstrip") || ct_str_is(j->string, "normalized")) {
                CT_TRY(read_bool(r, j, &flag));
                if (flag)
                    return unsupported(r, j, "an added token is single_word, lstrip, rstrip or normalized");
            } else {
                CT_TRY(skip(r, j));
            }
        }
        if (token != CT_JSON_OBJECT_END || a.id < 0 || !has_content)
            return malformed(r, j, "an added token with id and content");
        if (!grow(&r->added, &r->added_capacity, r->n_added + 1, sizeof *r->added))
            return no_memory(r);
        r->added[r->n_added++] = a;
    }
}

/* Added tokens give pieces their kind; they may also name ids beyond the vocabulary, or rename an id. */
static carat_status apply_added(struct reader *r)
{
    for (size_t i = 0; i < r->n_added; i++) {
        const struct added *a = &r->added[i];
        struct ct_str text = {r->text + a->at, a->n};
        int kind = a->special ? CT_PIECE_CONTROL : CT_PIECE_USER;
        if (a->id < r->t->n && r->t->piece[a->id].kind != CT_PIECE_ABSENT) {
            struct ct_str stored = ct_vocab_text(r->t, (int32_t)a->id);
            if (stored.n != text.n || memcmp(stored.s, text.s, text.n) != 0)
                CT_TRY(ct_vocab_rename(r->t, r->name, (int32_t)a->id, text, r->err));
            r->t->piece[a->id].kind = (uint8_t)kind;
        } else {
            CT_TRY(ct_vocab_add(r->t, r->name, a->id, text, kind, false, r->err));
        }
    }
    return CARAT_OK;
}

/* ---- the model ---- */

static carat_status read_vocab(struct reader *r, struct ct_json *j)
{
    enum ct_json_token token;
    CT_TRY(expect(r, j, CT_JSON_OBJECT, "the vocabulary"));
    while ((token = ct_json_next(j)) == CT_JSON_KEY) {
        char text[CT_PIECE_MAX];
        struct ct_str s = j->string;
        int64_t id;
        if (s.n > sizeof text)
            return unsupported(r, j, "a token is longer than 240 bytes");
        memcpy(text, s.s, s.n);
        s.s = text; /* the number that follows ends the life of j->string */
        CT_TRY(read_id(r, j, &id));
        CT_TRY(ct_vocab_add(r->t, r->name, id, s, ct_vocab_byte(s) >= 0 ? CT_PIECE_BYTE : CT_PIECE_NORMAL,
                            false, r->err));
    }
    return token == CT_JSON_OBJECT_END ? CARAT_OK : malformed(r, j, "a token of the vocabulary");
}

/* The next merge, whose first token has been read: "a b" or ["a", "b"]. */
static carat_status read_merge(struct reader *r, struct ct_json *j, enum ct_json_token token, struct merge *m)
{
    if (token == CT_JSON_ARRAY) {
        CT_TRY(expect(r, j, CT_JSON_STRING, "the left part of a merge"));
        m->left = j->string.n;
        if (m->left > sizeof m->text)
            return unsupported(r, j, "a merge is longer than 240 bytes");
        memcpy(m->text, j->string.s, m->left);
        CT_TRY(expect(r, j, CT_JSON_STRING, "the right part of a merge"));
        if (j->string.n > sizeof m->text - m->left)
            return unsupported(r, j, "a merge is longer than 240 bytes");
        memcpy(m->text + m->left, j->string.s, j->string.n);
        m->n = m->left + j->string.n;
        CT_TRY(expect(r, j, CT_JSON_ARRAY_END, "two parts of a merge"));
    } else if (token == CT_JSON_STRING) {
        const char *space = memchr(j->string.s, ' ', j->string.n);
        m->left = space ? (size_t)(space - j->string.s) : j->string.n;
        if (!space || memchr(space + 1, ' ', j->string.n - m->left - 1))
            return malformed(r, j, "a merge with exactly one space");
        m->n = j->string.n - 1;
        if (m->n > sizeof m->text)
            return unsupported(r, j, "a merge is longer than 240 bytes");
        memcpy(m->text, j->string.s, m->left);
        memcpy(m->text + m->left, space + 1, m->n - m->left);
    } else {
        return malformed(r, j, "a merge");
    }
    m->at = j->at;
    return CARAT_OK;
}

/* Looks up the parts and the whole of the merges read last. */
static carat_status resolve(struct reader *r, const struct merge *m, size_t n)
{
    struct ct_str text[BATCH * 3];
    if (n == 0)
        return CARAT_OK;
    if (!grow(&r->triple, &r->triple_capacity, (r->n_triple + n) * 3, sizeof *r->triple))
        return no_memory(r);
    for (size_t i = 0; i < n; i++) {
        text[i * 3] = (struct ct_str){m[i].text, m[i].left};
        text[i * 3 + 1] = (struct ct_str){m[i].text + m[i].left, m[i].n - m[i].left};
        text[i * 3 + 2] = (struct ct_str){m[i].text, m[i].n};
    }
    ct_vocab_warm(r->t, text, n * 3);
    for (size_t i = 0; i < n * 3; i++) {
        int32_t id = ct_vocab_find(r->t, text[i].s, text[i].n);
        if (id < 0)
            return ct_fail(r->err, CARAT_E_FORMAT,
                           "%s: at byte %zu: a part or the whole of merge %zu is not in the vocabulary",
                           r->name, m[i / 3].at, r->n_triple + i / 3);
        r->triple[r->n_triple * 3 + i] = id;
    }
    r->n_triple += n;
    return CARAT_OK;
}

static carat_status read_merges(struct reader *r, struct ct_json *j)
{
    struct merge batch[BATCH];
    size_t n = 0;
    CT_TRY(expect(r, j, CT_JSON_ARRAY, "the array of merges"));
    if (r->t->n == 0)
        return malformed(r, j, "a vocabulary that is not empty");
    for (;;) {
        enum ct_json_token token = ct_json_next(j);
        if (token == CT_JSON_ARRAY_END)
            return resolve(r, batch, n);
        if (token == CT_JSON_STRING && r->n_triple + n == 0 && j->string.n >= 8 &&
            memcmp(j->string.s, "#version", 8) == 0)
            continue; /* the first line of the old merges.txt */
        if (r->n_triple + n == CT_MERGES_MAX)
            return unsupported(r, j, "more than 8388608 merges");
        CT_TRY(read_merge(r, j, token, &batch[n]));
        if (++n == BATCH) {
            CT_TRY(resolve(r, batch, n));
            n = 0;
        }
    }
}

/* null, false or "": a feature that is off. */
static carat_status read_off(struct reader *r, struct ct_json *j, const char *what)
{
    enum ct_json_token token = ct_json_next(j);
    if (token == CT_JSON_ERROR)
        return malformed(r, j, "a value");
    bool off = token == CT_JSON_NULL || token == CT_JSON_FALSE ||
               (token == CT_JSON_STRING && j->string.n == 0) || (token == CT_JSON_NUMBER && j->number == 0);
    return off ? CARAT_OK : unsupported(r, j, what);
}

static carat_status read_model(struct reader *r, struct ct_json *j)
{
    enum ct_json_token token;
    CT_TRY(expect(r, j, CT_JSON_OBJECT, "the model"));
    if (r->has_model)
        return malformed(r, j, "only one model");
    r->has_model = true;
    while ((token = ct_json_next(j)) == CT_JSON_KEY) {
        struct ct_str key = j->string;
        if (ct_str_is(key, "type")) {
            CT_TRY(expect(r, j, CT_JSON_STRING, "the type of the model"));
            if (!ct_str_is(j->string, "BPE"))
                return unsupported(r, j, "the model is not of type BPE");
        } else if (ct_str_is(key, "vocab")) {
            if (r->has_vocab)
                return malformed(r, j, "only one vocabulary");
            r->has_vocab = true;
            CT_TRY(read_vocab(r, j));
        } else if (ct_str_is(key, "merges")) {
            if (r->has_merges)
                return malformed(r, j, "only one list of merges");
            r->has_merges = true;
            r->merges_at = r->has_vocab ? 0 : j->at;
            CT_TRY(r->has_vocab ? read_merges(r, j) : skip(r, j));
        } else if (ct_str_is(key, "unk_token")) {
            if (ct_json_next(j) != CT_JSON_STRING || j->string.n > CT_PIECE_MAX)
                return malformed(r, j, "the name of the unknown token");
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
            CT_TRY(skip(r, j));
        }
    }
    return token == CT_JSON_OBJECT_END ? CARAT_OK : malformed(r, j, "a member of the model");
}

/* ---- normalizer, pre-tokenizer, decoder ---- */

/* A component as far as Gemma's are concerned: {"type", "pattern": {"String"}, "content", "decoders"}. */
struct component {
    char type[24], pattern[8], content[8];
};

static void copy(char *out, size_t size, struct ct_str s)
{
    size_t n = s.n < size ? s.n : 0; /* too long for anything expected: leave it empty */
    memcpy(out, s.s, n);
    out[n] = 0;
}

/* Reads the members of an object that is open; nested[] takes the elements of "decoders" or "normalizers". */
static carat_status read_component(struct reader *r, struct ct_json *j, struct component *c,
                                   struct component *nested, int *n_nested)
{
    enum ct_json_token token;
    memset(c, 0, sizeof *c);
    while ((token = ct_json_next(j)) == CT_JSON_KEY) {
        if (ct_str_is(j->string, "type")) {
            CT_TRY(expect(r, j, CT_JSON_STRING, "a type"));
            copy(c->type, sizeof c->type, j->string);
        } else if (ct_str_is(j->string, "content")) {
            CT_TRY(expect(r, j, CT_JSON_STRING, "a string"));
            copy(c->content, sizeof c->content, j->string);
        } else if (ct_str_is(j->string, "pattern")) {
            CT_TRY(expect(r, j, CT_JSON_OBJECT, "a pattern"));
            CT_TRY(expect(r, j, CT_JSON_KEY, "a pattern"));
            if (!ct_str_is(j->string, "String"))
                return unsupported(r, j, "a pattern is a regular expression");
            CT_TRY(expect(r, j, CT_JSON_STRING, "a pattern"));
            copy(c->pattern, sizeof c->pattern, j->string);
            CT_TRY(expect(r, j, CT_JSON_OBJECT_END, "one pattern"));
        } else if (nested && (ct_str_is(j->string, "decoders") || ct_str_is(j->string, "normalizers"))) {
            CT_TRY(expect(r, j, CT_JSON_ARRAY, "an array"));
            while ((token = ct_json_next(j)) == CT_JSON_OBJECT) {
                if (*n_nested == 3)
                    return unsupported(r, j, "a sequence is longer than Gemma's");
                CT_TRY(read_component(r, j, &nested[(*n_nested)++], NULL, NULL)); /* one level: no deeper */
            }
            if (token != CT_JSON_ARRAY_END)
                return malformed(r, j, "an array of objects");
        } else {
            CT_TRY(skip(r, j));
        }
    }
    return token == CT_JSON_OBJECT_END ? CARAT_OK : malformed(r, j, "a member of an object");
}

static bool is_replace(const struct component *c, const char *pattern, const char *content)
{
    return strcmp(c->type, "Replace") == 0 && strcmp(c->pattern, pattern) == 0 &&
           strcmp(c->content, content) == 0;
}

#define META "\xe2\x96\x81" /* U+2581 */

static carat_status read_normalizer(struct reader *r, struct ct_json *j)
{
    struct component c, nested[3];
    int n = 0;
    if (ct_json_next(j) != CT_JSON_OBJECT)
        return malformed(r, j, "a normalizer");
    CT_TRY(read_component(r, j, &c, nested, &n));
    if (strcmp(c.type, "Sequence") == 0 && n == 1)
        c = nested[0];
    r->has_normalizer = is_replace(&c, " ", META);
    return r->has_normalizer ? CARAT_OK
                             : unsupported(r, j, "the normalizer is not \"replace space by U+2581\"");
}

static carat_status read_pre_tokenizer(struct reader *r, struct ct_json *j)
{
    struct component c;
    enum ct_json_token token = ct_json_next(j);
    if (token == CT_JSON_NULL)
        return CARAT_OK;
    if (token != CT_JSON_OBJECT)
        return malformed(r, j, "a pre-tokenizer");
    CT_TRY(read_component(r, j, &c, NULL, NULL));
    /* A split at spaces finds none, for they have been replaced. */
    if (strcmp(c.type, "Split") != 0 || strcmp(c.pattern, " ") != 0)
        return unsupported(r, j, "the pre-tokenizer is not \"split at spaces\"");
    return CARAT_OK;
}

static carat_status read_decoder(struct reader *r, struct ct_json *j)
{
    struct component c, nested[3];
    int n = 0;
    if (ct_json_next(j) != CT_JSON_OBJECT)
        return malformed(r, j, "a decoder");
    CT_TRY(read_component(r, j, &c, nested, &n));
    r->has_decoder = strcmp(c.type, "Sequence") == 0 && n == 3 && is_replace(&nested[0], META, " ") &&
                     strcmp(nested[1].type, "ByteFallback") == 0 && strcmp(nested[2].type, "Fuse") == 0;
    return r->has_decoder ? CARAT_OK : unsupported(r, j, "the decoder is not Replace, ByteFallback, Fuse");
}

/* ---- the document ---- */

static carat_status read_document(struct reader *r, struct ct_json *j)
{
    enum ct_json_token token;
    CT_TRY(expect(r, j, CT_JSON_OBJECT, "an object"));
    while ((token = ct_json_next(j)) == CT_JSON_KEY) {
        if (ct_str_is(j->string, "added_tokens"))
            CT_TRY(read_added(r, j));
        else if (ct_str_is(j->string, "model"))
            CT_TRY(read_model(r, j));
        else if (ct_str_is(j->string, "normalizer"))
            CT_TRY(read_normalizer(r, j));
        else if (ct_str_is(j->string, "pre_tokenizer"))
            CT_TRY(read_pre_tokenizer(r, j));
        else if (ct_str_is(j->string, "decoder"))
            CT_TRY(read_decoder(r, j));
        else
            CT_TRY(skip(r, j));
    }
    if (token != CT_JSON_OBJECT_END || ct_json_next(j) != CT_JSON_END)
        return malformed(r, j, "a member of the document");
    if (!r->has_vocab || !r->has_merges || !r->has_normalizer || !r->has_decoder)
        return ct_fail(r->err, CARAT_E_FORMAT,
                       "%s: expected a normalizer, a decoder and a model with vocab and merges", r->name);
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

static carat_status finish(struct reader *r)
{
    struct ct_tokenizer *t = r->t;
    if (r->merges_at)
        CT_TRY(read_waiting_merges(r));
    CT_TRY(apply_added(r));
    for (int32_t id = 0; id < t->n; id++)
        if (t->piece[id].kind == CT_PIECE_ABSENT)
            return ct_fail(r->err, CARAT_E_FORMAT, "%s: no token has the id %d, expected all up to %d",
                           r->name, id, t->n - 1);
    ct_vocab_name_controls(t);
    t->unknown = ct_vocab_find(t, r->unknown, strlen(r->unknown));
    CT_TRY(ct_vocab_merges(t, r->triple, r->n_triple, r->err));
    CT_TRY(ct_vocab_finish(t, r->name, r->err));
    for (int b = 0; b < 256 && t->byte_fallback; b++) {
        /* Gemma 1 spells <0x09> "\t": a byte that is a character of the vocabulary needs no token. */
        if (t->byte_id[b] < 0 && b < 128)
            t->byte_id[b] = t->character[b];
        if (t->byte_id[b] < 0)
            return ct_fail(r->err, CARAT_E_FORMAT, "%s: the vocabulary has byte_fallback but not <0x%02X>",
                           r->name, (unsigned)b);
    }
    return CARAT_OK;
}

carat_status ct_tokenizer_from_json(struct ct_tokenizer **t, const char *name, struct ct_bytes json,
                                    carat_error *err)
{
    struct reader r;
    struct ct_json j;
    memset(&r, 0, sizeof r);
    r.name = name;
    r.json = json;
    r.err = err;
    ct_json_init(&j, name, json);
    carat_status status = ct_vocab_create(&r.t, CT_SOURCE_JSON, err);
    if (status == CARAT_OK)
        status = read_document(&r, &j);
    if (status == CARAT_OK)
        status = finish(&r);
    ct_json_free(&j);
    free(r.added);
    free(r.text);
    free(r.triple);
    if (status != CARAT_OK)
        ct_tokenizer_free(r.t);
    else
        *t = r.t;
    return status;
}
