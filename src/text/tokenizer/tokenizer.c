/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer.c: opens the tokenizer of a model, answers questions about pieces, and encodes text. The sources
 * are read in tokenizer_json.c, tokenizer_model.c and tokenizer_gguf.c; bpe.c merges; detokenizer.c
 * decodes.
 *
 * Encoding, for every source:
 * 1. Matchable pieces are cut out, leftmost first and longest at each place. User-defined pieces (JSON: added
 *    tokens that are not special) always match. Control tokens match only with CARAT_SPECIAL; without it they
 *    are ordinary text. Turn markers, image markers and FunctionGemma's seven tokens are control tokens even
 *    where a source stores them as user-defined (control.h): text from a user must not forge turns.
 *    - tokenizer.json: matched in the raw text. With CARAT_SPECIAL this is what the tokenizers library does.
 *      For Gemma 1 and 2, whose file lists only four added tokens, it is what that library would do if the
 *      turn markers were listed.
 *    - tokenizer.model: matched after space -> U+2581. SentencePiece itself never matches control pieces; its
 *      ids are those with CARAT_SPECIAL, except that here <bos>, <eos>, <pad> and <unk> are recognised.
 *    - GGUF with scores: matched in the raw text, where the converter has written runs of spaces as such.
 *      They match U+2581 in the text, too, as the pieces that they stand for do in tokenizer.json.
 *    - GGUF with merges, Gemma 4's: as tokenizer.json, from which it was made. llama.cpp splits a run of more
 *      than 31 line breaks otherwise.
 * 2. The text between them is turned into characters: a space becomes U+2581, a bad byte sequence U+FFFD (one
 *    per maximal subpart, like Python's and Rust's lossy decoding).
 * 3. Characters become symbols. Between two characters that stand side by side in no merged piece of this
 *    vocabulary nothing can ever merge, so the run is cut there. This is exact for any vocabulary; for Gemma
 *    it means one word at a time.
 * 4. A character without a piece becomes byte tokens (before merging with merges, after it with scores). */

#include "base/utf8.h"
#include "text/tokenizer/bpe.h"
#include "text/tokenizer/tokenizer_parts.h"

/* The name of the tokenizer in messages: the path, and the file in it where the path does not end with
 * that. */
static const char *message_name(char out[512], const struct ct_file *f, const char *name)
{
    const char *path = ct_file_path(f);
    size_t n = strlen(path), m = strlen(name);
    bool itself = n >= m && strcmp(path + n - m, name) == 0;
    snprintf(out, 512, "%.480s%s%s", path, itself ? "" : ": ", itself ? "" : name);
    return out;
}

carat_status ct_tokenizer_open(struct ct_tokenizer **t, const struct ct_file *f, struct ct_listener *listener,
                               carat_error *err)
{
    char name[512];
    bool trusted;
    struct ct_bytes tables = ct_file_tables(f, &trusted);
    if (tables.data)
        return ct_tokenizer_from_tables(t, ct_file_path(f), tables, trusted, err);
    if (ct_file_is_packed(f))
        return ct_fail(err, CARAT_E_NOT_FOUND, "%s: was packed without a tokenizer", ct_file_path(f));
    if (ct_file_kind(f) == CT_FILE_GGUF)
        return ct_tokenizer_from_gguf(t, f, listener, err);
    struct ct_bytes json = ct_file_side(f, "tokenizer.json");
    if (json.data)
        return ct_tokenizer_from_json(t, message_name(name, f, "tokenizer.json"), json, listener, err);
    struct ct_bytes model = ct_file_side(f, "tokenizer.model");
    if (model.data)
        return ct_tokenizer_from_model(t, message_name(name, f, "tokenizer.model"), model, listener, err);
    return ct_fail(err, CARAT_E_NOT_FOUND, "%s: holds neither tokenizer.json nor tokenizer.model%s",
                   ct_file_path(f),
                   ct_file_kind(f) == CT_FILE_SBS ? ", and no tokenizer.spm lies beside it" : "");
}

const char *ct_tokenizer_source(const struct ct_tokenizer *t)
{
    static const char *const name[] = {"tokenizer.json", "tokenizer.model", "gguf", "gguf"};
    return name[t->source];
}

int ct_tokenizer_size(const struct ct_tokenizer *t)
{
    return t->n;
}

struct ct_str ct_tokenizer_piece(const struct ct_tokenizer *t, int32_t id)
{
    return id >= 0 && id < t->n ? ct_piece_text(t, id) : (struct ct_str){"", 0};
}

bool ct_tokenizer_is_control(const struct ct_tokenizer *t, int32_t id)
{
    return id >= 0 && id < t->n && ct_piece_is_control(t, id);
}

int32_t ct_tokenizer_bos(const struct ct_tokenizer *t)
{
    return t->bos;
}

int ct_tokenizer_end_ids(const struct ct_tokenizer *t, int32_t *ids, int cap)
{
    int n = CT_MIN(t->n_end, cap);
    for (int i = 0; i < n; i++)
        ids[i] = t->end[i];
    return n;
}

/* One character of the text: its bytes after normalisation. */
struct character {
    const char *s;
    size_t n;        /* of s */
    size_t consumed; /* of the text */
};

static struct character next_character(const char *text, size_t n)
{
    bool whole;
    if (*text == ' ')
        return (struct character){"\xe2\x96\x81", 3, 1};
    size_t span = ct_utf8_span((const uint8_t *)text, n, &whole);
    if (!whole)
        return (struct character){CT_UTF8_REPLACEMENT, 3, span};
    return (struct character){text, span, span};
}

static carat_status add_character(struct ct_bpe *b, struct character c, uint32_t code, carat_error *err)
{
    const struct ct_tokenizer *t = b->t;
    int32_t id = code < CT_CHARACTERS ? ct_tokenizer_character(t, code)
                                      : ct_tokenizer_find(t, (struct ct_str){c.s, c.n});
    if (id >= 0 || ct_tokenizer_by_text(t)) /* by text: what is unknown may still be part of a known piece */
        return ct_bpe_add(b, id, c.s, c.n, err);
    if (t->byte_fallback) {
        for (size_t i = 0; i < c.n; i++)
            CT_TRY(ct_bpe_add(b, t->byte_id[(uint8_t)c.s[i]], NULL, 0, err));
        return CARAT_OK;
    }
    bool after_unknown = b->n ? b->id[b->n - 1] == t->unknown : b->unknown_open;
    return t->fuse_unknown && after_unknown ? CARAT_OK : ct_bpe_add(b, t->unknown, NULL, 0, err);
}

/* Text between matched pieces. */
static carat_status encode_run(struct ct_bpe *b, const char *text, size_t n, bool prefix, carat_error *err)
{
    uint32_t before = 0;
    b->unknown_open = false;
    for (size_t i = 0, k = 0; i < n; k++) {
        bool is_prefix = prefix && k == 0;
        struct character c = is_prefix ? next_character(" ", 1) : next_character(text + i, n - i);
        uint32_t code = ct_utf8_decode((const uint8_t *)c.s, c.n);
        if (k && !ct_tokenizer_joins(b->t, before, code))
            CT_TRY(ct_bpe_run(b, err));
        CT_TRY(add_character(b, c, code, err));
        i += is_prefix ? 0 : c.consumed;
        b->taken += is_prefix ? 0 : c.consumed;
        before = code;
    }
    return ct_bpe_run(b, err);
}

/* prefix: as if behind a space, at the beginning of the text and after each control token. */
static carat_status encode_text(struct ct_bpe *b, const char *text, size_t n, bool special, bool prefix,
                                carat_error *err)
{
    const struct ct_tokenizer *t = b->t;
    size_t from = 0, at = 0;
    while (at < n) {
        int32_t id = -1;
        size_t length =
            t->begins[(uint8_t)text[at]] ? ct_tokenizer_match(t, text + at, n - at, special, &id) : 0;
        CT_TRY(ct_bpe_look(b, err));
        if (!length) {
            at++;
            continue;
        }
        if (from < at)
            CT_TRY(encode_run(b, text + from, at - from, prefix, err));
        CT_TRY(ct_tokens_push(b->out, id, err));
        prefix = t->space_prefix && ct_piece_is_control(t, id);
        at += length;
        b->taken += length;
        from = at;
    }
    return from < n ? encode_run(b, text + from, n - from, prefix, err) : CARAT_OK;
}

carat_status ct_bpe_text(struct ct_bpe *b, const char *text, size_t n, carat_error *err)
{
    return encode_text(b, text, n, false, false, err);
}

carat_status ct_tokenizer_encode(const struct ct_tokenizer *t, const char *text, size_t n, int flags,
                                 struct ct_listener *listener, carat_tokens *out, carat_error *err)
{
    bool special = flags & CARAT_SPECIAL;
    int had = out->n;
    int32_t first = -1;
    if (n > CT_TEXT_MAX)
        return ct_fail(err, CARAT_E_ARGUMENT, "the text is %zu bytes long, expected at most %zu", n,
                       CT_TEXT_MAX);
    if (n)
        ct_tokenizer_match(t, text, n, special, &first);
    if ((flags & CARAT_BOS) && t->bos >= 0 && first != t->bos)
        CT_TRY(ct_tokens_push(out, t->bos, err));
    struct ct_bpe b;
    ct_bpe_init(&b, t, listener, out);
    carat_status status = encode_text(&b, text, n, special, t->space_prefix, err);
    ct_bpe_free(&b);
    if (status != CARAT_OK)
        out->n = had;
    return status;
}

/* ---- and back: what an id stands for ---- */

/* Characters that no piece stands for; several where they share one id. */
static size_t covers_unknown(const struct ct_tokenizer *t, const char *text, size_t n)
{
    size_t at = 0;
    do {
        struct character c = next_character(text + at, n - at);
        if (at && ct_tokenizer_find(t, (struct ct_str){c.s, c.n}) >= 0)
            break;
        at += c.consumed;
    } while (t->fuse_unknown && at < n);
    return at;
}

size_t ct_tokenizer_covers(const struct ct_tokenizer *t, int32_t id, const char *text, size_t n)
{
    static const char space[] = "\xe2\x96\x81";
    const struct ct_str piece = ct_piece_text(t, id);
    size_t at = 0;
    if (t->piece[id].kind == CT_PIECE_BYTE)
        return CT_MIN(1, n);
    if (id == t->unknown && n && *text != *piece.s)
        return covers_unknown(t, text, n);
    for (size_t i = 0; i < piece.n && at < n; i++) {
        const bool spelled = n - at >= 3 && memcmp(text + at, space, 3) == 0,
                   meta = piece.n - i >= 3 && memcmp(piece.s + i, space, 3) == 0;
        if (meta || (piece.s[i] == ' ' && spelled))
            at += text[at] == ' ' ? 1 : spelled ? 3 : 0; /* or it is the space that texts begin with */
        else
            at += text[at] == piece.s[i];
        i += meta ? 2 : 0;
    }
    return at;
}
