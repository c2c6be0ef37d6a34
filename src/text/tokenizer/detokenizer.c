/* SPDX-License-Identifier: Apache-2.0 */
/* detokenizer.c: ids back to text, whole (ct_tokenizer_decode) and as a stream (ct_detokenizer_push).
 *
 * U+2581 becomes a space everywhere. Control tokens are left out unless CARAT_SPECIAL, except FunctionGemma's
 * seven, whose spelling a caller needs in order to read a function call. Byte tokens are joined into
 * characters; bad ones become U+FFFD, by the rule of the source:
 * - tokenizer.json, and GGUF with merges: one bad byte spoils its whole run, each byte of which becomes
 *   U+FFFD; a control token that is left out does not end a run.
 * - tokenizer.model, and GGUF with scores: each byte that is in no valid character becomes U+FFFD; any token
 *   that is no byte ends a run. The unknown token becomes " U+2047 ".
 * The stream cannot take back what it has written, so it always uses the second rule for bad bytes; for valid
 * text it gives the text of the whole decode. */
#include "text/tokenizer/detokenizer.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "text/tokenizer/tokenizer_parts.h"

/* How an id contributes to the text. */
enum action {
    NOTHING,  /* and a run of bytes goes on (merges) */
    END_ONLY, /* nothing, but a run of bytes ends */
    BYTE,
    TEXT,
};

static enum action classify(const struct ct_tokenizer *t, int32_t id, int flags, struct ct_str *text)
{
    if (id < 0 || id >= t->n)
        return NOTHING;
    *text = ct_piece_text(t, id);
    if (ct_piece_is_control(t, id) && !(flags & CARAT_SPECIAL) && !ct_piece_is_visible(t, id)) {
        if (t->piece[id].kind != CT_PIECE_UNKNOWN)
            return ct_tokenizer_by_text(t) ? END_ONLY : NOTHING;
        *text = ct_str_of(t->surface);
    }
    return t->piece[id].kind == CT_PIECE_BYTE ? BYTE : TEXT;
}

static size_t put_replacements(char *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy(out + i * 3, CT_UTF8_REPLACEMENT, 3);
    return count * 3;
}

/* ---- whole ---- */

/* Writes the text of a run of byte tokens; at most three times as long. */
static size_t put_run(const struct ct_tokenizer *t, char *out, const char *run, size_t n)
{
    size_t used = 0;
    if (!ct_tokenizer_by_text(t) && !ct_utf8_valid(run, n))
        return put_replacements(out, n);
    for (size_t i = 0, width; i < n; i += CT_MAX(width, 1)) {
        width = ct_utf8_length((const uint8_t *)run + i, n - i);
        if (width)
            memcpy(out + used, run + i, width);
        used += width ? width : put_replacements(out + used, 1);
    }
    return used;
}

carat_status ct_tokenizer_decode(const struct ct_tokenizer *t, const int32_t *ids, int n_ids, int flags,
                                 char **text, size_t *n, carat_error *err)
{
    size_t bound = 1, bytes = 1, used = 0, n_run = 0;
    struct ct_str piece;
    for (int i = 0; i < n_ids; i++) {
        if (ids[i] < 0 || ids[i] >= t->n)
            return ct_fail(err, CARAT_E_ARGUMENT, "token %d is %d, expected 0 to %d", i, ids[i], t->n - 1);
        enum action a = classify(t, ids[i], flags, &piece);
        bound += a == BYTE ? 3 : a == TEXT ? piece.n : 0;
        bytes += a == BYTE;
    }
    char *out = malloc(bound), *run = malloc(bytes); /* run: the byte tokens at the end of the text */
    if (!out || !run) {
        free(out);
        free(run);
        return ct_fail(err, CARAT_E_MEMORY, "no memory to decode %d tokens", n_ids);
    }
    for (int i = 0; i < n_ids; i++) {
        enum action a = classify(t, ids[i], flags, &piece);
        if (a == BYTE)
            run[n_run++] = (char)ct_piece_byte(piece);
        if (a == BYTE || a == NOTHING)
            continue;
        used += put_run(t, out + used, run, n_run);
        n_run = 0;
        used += a == TEXT ? ct_piece_put(out + used, piece) : 0;
    }
    used += put_run(t, out + used, run, n_run);
    out[used] = 0;
    free(run);
    *text = out;
    *n = used;
    return CARAT_OK;
}

/* ---- stream ---- */

void ct_detokenizer_init(struct ct_detokenizer *d, const struct ct_tokenizer *t, int flags)
{
    memset(d, 0, sizeof *d);
    d->t = t;
    d->flags = flags;
}

/* Replaces the held bytes, which can no longer become a character. */
static size_t flush(struct ct_detokenizer *d, char *out)
{
    size_t n = put_replacements(out, (size_t)d->n_held);
    d->n_held = 0;
    return n;
}

/* Adds one byte; writes every character that is whole now and every byte that cannot become one. */
static size_t push_byte(struct ct_detokenizer *d, uint8_t byte, char *out)
{
    size_t n = 0;
    d->held[d->n_held++] = byte;
    while (d->n_held) {
        bool whole;
        size_t span = ct_utf8_span(d->held, (size_t)d->n_held, &whole);
        if (whole) {
            memcpy(out + n, d->held, span);
            n += span;
        } else if (span == (size_t)d->n_held && d->held[0] >= 0xc2 && d->held[0] < 0xf5) {
            break; /* may still become a character */
        } else {
            span = 1;
            n += put_replacements(out + n, 1);
        }
        d->n_held -= (int)span;
        memmove(d->held, d->held + span, (size_t)d->n_held);
    }
    return n;
}

/* Writes the text that the id completes into room for CT_STREAM_MAX bytes; not terminated. */
static size_t complete(struct ct_detokenizer *d, int32_t id, char *out)
{
    struct ct_str piece = {"", 0};
    enum action a = id < 0 ? END_ONLY : classify(d->t, id, d->flags, &piece);
    if (a == NOTHING)
        return 0;
    if (a == BYTE)
        return push_byte(d, (uint8_t)ct_piece_byte(piece), out);
    size_t n = flush(d, out);
    return n + (a == TEXT ? ct_piece_put(out + n, piece) : 0);
}

size_t ct_detokenizer_push(struct ct_detokenizer *d, int32_t id, char *out, size_t capacity)
{
    static_assert(CT_STREAM_MAX > 3 * sizeof d->held + CT_PIECE_MAX,
                  "held bytes, each replaced, and a piece");
    struct ct_detokenizer next = *d;
    char text[CT_STREAM_MAX];
    size_t n = complete(&next, id, text);
    if (n >= capacity)
        return n;
    memcpy(out, text, n);
    out[n] = 0;
    *d = next;
    return n;
}
