/* SPDX-License-Identifier: Apache-2.0 */
/* verify_tokenizer.c: what must hold of a tokenizer by itself: sizes, bytes, control tokens, text that comes
 * back as it went in; and, where the vocabulary is one of the family's, the ids that the reference gives
 * (verify_golden.c). */
#include <stdlib.h>

#include "base/hash.h"

#include "check/verify.h"
#include "base/utf8.h"

enum {
    STRETCH = 1024, /* ids that a thread tries at once */
    BATCH = 32,     /* stretches between two reports of progress */
    REASON = 512,
    MOST_LISTED = 12, /* ids in a message */
    LISTED = 16 * MOST_LISTED,
};

/* Ids that one thread tries. */
struct stretch {
    carat_status status;
    int n, whole;        /* pieces that text can spell; those that become one id again */
    int control;         /* control tokens */
    char reason[REASON]; /* what is wrong with the first bad one; "" when nothing is */
};

struct trial {
    const struct ct_tokenizer *t;
    int size, first; /* ids; stretch of the batch */
    bool prefix;     /* text is encoded as if a space went before */
    struct stretch *stretch;
    int32_t byte_id[256], unknown;
};

static const char *list_ids(char out[LISTED], const int32_t *ids, int n)
{
    size_t at = (size_t)snprintf(out, LISTED, "%s", n ? "" : "nothing");

    for (int i = 0; i < CT_MIN(n, MOST_LISTED); i++)
        at += (size_t)snprintf(out + at, LISTED - at, "%s%d", i ? " " : "", (int)ids[i]);
    if (n > MOST_LISTED)
        snprintf(out + at, LISTED - at, " ...");
    return out;
}

static bool holds_id(const carat_tokens *ids, int32_t id)
{
    for (int i = 0; i < ids->n; i++)
        if (ids->ids[i] == id)
            return true;
    return false;
}

/* Encodes text into *ids. */
static carat_status encode_anew(const struct trial *tr, struct ct_str text, int flags, carat_tokens *ids)
{
    ids->n = 0;
    return ct_tokenizer_encode(tr->t, text.s, text.n, flags, NULL, ids, NULL);
}

/* Encodes and decodes a text without control tokens; compares what the ids decode to with the text. */
static carat_status round_trip(const struct trial *tr, struct ct_str text, carat_tokens *ids, bool *same)
{
    char *back = NULL;
    size_t n = 0;

    CT_TRY(encode_anew(tr, text, 0, ids));
    CT_TRY(ct_tokenizer_decode(tr->t, ids->ids, ids->n, CARAT_SPECIAL, &back, &n, NULL));
    size_t skip = tr->prefix && n == text.n + 1 && back[0] == ' ';
    *same = n - skip == text.n && memcmp(back + skip, text.s, text.n) == 0;
    free(back);
    return CARAT_OK;
}

/* ---- pieces ---- */

/* A control token is one id where it is recognised, and elsewhere its spelling is text. */
static carat_status try_control(struct stretch *s, const struct trial *tr, int32_t id, struct ct_str piece,
                                carat_tokens *ids)
{
    char quoted[CT_QUOTE], listed[LISTED];

    s->control++;
    CT_TRY(encode_anew(tr, piece, CARAT_SPECIAL, ids));
    if (ids->n != 1 || ids->ids[0] != id) {
        snprintf(s->reason, REASON, "control token %d, %s, is encoded as %s", (int)id,
                 ct_quote(quoted, piece), list_ids(listed, ids->ids, ids->n));
        return CARAT_OK;
    }
    CT_TRY(encode_anew(tr, piece, 0, ids));
    for (int i = 0; i < ids->n; i++)
        if (ct_tokenizer_is_control(tr->t, ids->ids[i]) && ids->ids[i] != tr->unknown)
            snprintf(s->reason, REASON, "the text %s makes control token %d where none may be made",
                     ct_quote(quoted, piece), (int)ids->ids[i]);
    return CARAT_OK;
}

/* Checks a text that a piece decodes to: it must encode to ids that decode to the same. */
static carat_status try_text(struct stretch *s, const struct trial *tr, int32_t id, carat_tokens *ids)
{
    char *text = NULL, quoted[CT_QUOTE], listed[LISTED];
    size_t n = 0;
    bool same = false;

    CT_TRY(ct_tokenizer_decode(tr->t, &id, 1, CARAT_SPECIAL, &text, &n, NULL));
    carat_status status = round_trip(tr, (struct ct_str){text, n}, ids, &same);
    s->n++;
    s->whole += ids->n == 1 && ids->ids[0] == id;
    /* without bytes a vocabulary has pieces whose characters it cannot spell: text does not reach them */
    if (!status && !same && !holds_id(ids, tr->unknown))
        snprintf(s->reason, REASON, "piece %d, %s, is encoded as %s, which is another text", (int)id,
                 ct_quote(quoted, (struct ct_str){text, n}), list_ids(listed, ids->ids, ids->n));
    free(text);
    return status;
}

static void try_stretch(void *arg, int item, int thread)
{
    struct trial *tr = arg;
    struct stretch *s = &tr->stretch[tr->first + item];
    int first = (tr->first + item) * STRETCH;
    carat_tokens ids = {0};

    (void)thread;
    for (int32_t id = first; id < CT_MIN(first + STRETCH, tr->size) && !s->status && !*s->reason; id++) {
        struct ct_str piece = ct_tokenizer_piece(tr->t, id);
        int byte = piece.n == 6 ? 0 : 256;
        while (byte < 256 && tr->byte_id[byte] != id)
            byte++;
        if (piece.n == 0 || byte < 256)
            continue;
        if (!ct_tokenizer_is_control(tr->t, id))
            s->status = try_text(s, tr, id, &ids);
        else if (id != tr->unknown &&
                 ct_tokenizer_find(tr->t, piece) == id) /* a repeated text is the first one's */
            s->status = try_control(s, tr, id, piece, &ids);
    }
    carat_tokens_free(&ids);
}

static carat_status try_pieces(struct ct_verify *v, struct trial *tr, struct stretch *sum, carat_error *err)
{
    int n = (tr->size + STRETCH - 1) / STRETCH;

    for (; tr->first < n; tr->first += BATCH) {
        ct_verify_run(v, CT_MIN(BATCH, n - tr->first), try_stretch, tr);
        CT_TRY(ct_verify_step(v, (size_t)CT_MIN(tr->first + BATCH, n), (size_t)n, err));
    }
    for (int i = 0; i < n; i++) {
        const struct stretch *s = &tr->stretch[i];
        CT_TRY(s->status);
        sum->n += s->n;
        sum->whole += s->whole;
        sum->control += s->control;
        if (!*sum->reason)
            memcpy(sum->reason, s->reason, REASON);
    }
    return CARAT_OK;
}

/* ---- bytes ---- */

/* Finds the byte tokens, and in *n how many bytes have one. A piece that is only spelled like one decodes to
 * its spelling. Beside others, an ASCII character that is a piece itself needs none: tokenizer.json of Gemma
 * 1 and 2 has the tabulator instead of <0x09>. */
static carat_status find_bytes(struct trial *tr, int *n)
{
    for (int b = 255; b >= 0; b--) { /* the bytes that are no characters first */
        char name[16], *text = NULL, character = (char)b;
        size_t length = 0;
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)b & 0xff);
        tr->byte_id[b] = ct_tokenizer_id(tr->t, name);
        if (tr->byte_id[b] < 0 && b < 0x80 && *n > 0)
            tr->byte_id[b] = ct_tokenizer_find(tr->t, (struct ct_str){&character, 1});
        if (tr->byte_id[b] < 0)
            continue;
        CT_TRY(ct_tokenizer_decode(tr->t, &tr->byte_id[b], 1, CARAT_SPECIAL, &text, &length, NULL));
        if (length == 6 && memcmp(text, name, 6) == 0)
            tr->byte_id[b] = -1;
        else
            ++*n;
        free(text);
    }
    return CARAT_OK;
}

/* One character through its byte tokens: they decode to it, and where it is no piece they are what it encodes
 * to. */
static carat_status try_character(const struct trial *tr, uint32_t code, carat_tokens *ids,
                                  char reason[REASON])
{
    char text[4], *back = NULL, listed[LISTED];
    int32_t bytes[4];
    size_t n = ct_utf8_encode(code, text), n_back = 0;
    bool same;

    for (size_t i = 0; i < n; i++)
        bytes[i] = tr->byte_id[(uint8_t)text[i]];
    CT_TRY(ct_tokenizer_decode(tr->t, bytes, (int)n, 0, &back, &n_back, NULL));
    if (n_back != n || memcmp(back, text, n) != 0)
        snprintf(reason, REASON, "the byte tokens %s do not decode to U+%04X",
                 list_ids(listed, bytes, (int)n), code);
    free(back);
    CT_TRY(round_trip(tr, (struct ct_str){text, n}, ids, &same));
    if (!same)
        snprintf(reason, REASON, "U+%04X is encoded as %s, which is another text", code,
                 list_ids(listed, ids->ids, ids->n));
    bool piece = ct_tokenizer_find(tr->t, (struct ct_str){text, n}) >= 0;
    if (!piece && code != ' ' && !tr->prefix &&
        (ids->n != (int)n || memcmp(ids->ids, bytes, n * sizeof *bytes) != 0))
        snprintf(reason, REASON, "U+%04X is not a piece, but it is encoded as %s instead of its bytes", code,
                 list_ids(listed, ids->ids, ids->n));
    return CARAT_OK;
}

/* Characters that have every byte which UTF-8 can have. */
static carat_status try_bytes(const struct trial *tr, carat_tokens *ids, char reason[REASON])
{
    for (uint32_t code = 0, step; code < 0x110000 && !*reason; code += step) {
        step = code < 0x800 ? 1 : code < 0x10000 ? 0x3f1 : 0x8ff1;
        if (code < 0xd800 || code > 0xdfff)
            CT_TRY(try_character(tr, code, ids, reason));
    }
    return CARAT_OK;
}

/* ---- the check ---- */

static carat_status try_strings(const struct trial *tr, carat_tokens *ids, char reason[REASON])
{
    char quoted[CT_QUOTE], listed[LISTED];
    bool same;

    for (int i = 0; i < ct_golden_count && !*reason; i++) {
        struct ct_str text = ct_str_of(ct_golden[i].text);
        CT_TRY(round_trip(tr, text, ids, &same));
        if (!same && !holds_id(ids, tr->unknown))
            snprintf(reason, REASON, "the text %s is encoded as %s, which is another text",
                     ct_quote(quoted, text), list_ids(listed, ids->ids, ids->n));
    }
    return CARAT_OK;
}

/* Pieces need rows of the embedding. Only control tokens may lie beyond them: the text models of Gemma 3 have
 * a token for images and no row for it. Returns how many do. */
static int beyond_rows(const struct ct_verify *v, const struct trial *tr, char reason[REASON])
{
    int rows = v->model->has_weights ? v->model->config.n_vocab : tr->size, control = 0;
    char quoted[CT_QUOTE];

    for (int32_t id = rows; id < tr->size && !*reason; id++) {
        control += ct_tokenizer_is_control(tr->t, id);
        if (!ct_tokenizer_is_control(tr->t, id))
            snprintf(reason, REASON, "piece %d, %s, has no row in the embedding, which has %d", (int)id,
                     ct_quote(quoted, ct_tokenizer_piece(tr->t, id)), rows);
    }
    return control;
}

static carat_status try_all(struct ct_verify *v, struct trial *tr, carat_tokens *ids, int *verdict,
                            carat_error *err)
{
    struct stretch sum = {0};
    int n_byte = 0, beyond = beyond_rows(v, tr, sum.reason);
    bool same;

    CT_TRY(round_trip(tr, (struct ct_str){"a", 1}, ids, &same));
    tr->prefix = !same;
    CT_TRY(find_bytes(tr, &n_byte));
    if (!*sum.reason && n_byte > 0 && n_byte < 256)
        snprintf(sum.reason, REASON, "the vocabulary has tokens for only %d of 256 bytes", n_byte);
    if (!*sum.reason && n_byte == 256)
        CT_TRY(try_bytes(tr, ids, sum.reason));
    if (!*sum.reason)
        CT_TRY(try_strings(tr, ids, sum.reason));
    if (!*sum.reason)
        CT_TRY(try_pieces(v, tr, &sum, err));
    *verdict = *sum.reason ? CT_FAILED : CT_PASSED;
    if (*sum.reason) {
        ct_verify_say(v, "%s", sum.reason);
        return CARAT_OK;
    }
    ct_verify_say(v, "%d pieces come back as they are, %d of them as one id; %d control tokens, %s", sum.n,
                  sum.whole, sum.control, n_byte ? "all bytes" : "no bytes");
    if (beyond)
        ct_verify_say(v, "; %d control token%s no row in the embedding", beyond,
                      beyond == 1 ? " has" : "s have");
    return CARAT_OK;
}

carat_status ct_verify_tokenizer(struct ct_verify *v, int *verdict, carat_error *err)
{
    const struct ct_tokenizer *t = v->model->tokenizer;
    struct trial tr = {
        .t = t, .size = ct_tokenizer_size(t), .unknown = ct_tokenizer_control(t, CT_CONTROL_UNK)};
    carat_tokens ids = {0};

    tr.stretch = calloc((size_t)(tr.size / STRETCH + 1), sizeof *tr.stretch);
    carat_status status = tr.stretch ? try_all(v, &tr, &ids, verdict, err) : CARAT_E_MEMORY;
    carat_tokens_free(&ids);
    free(tr.stretch);
    /* nothing else makes encoding and decoding fail here */
    return status == CARAT_E_MEMORY ? ct_no_memory(err, "the pieces of the tokenizer") : status;
}

/* ---- the family's own vocabularies ---- */

/* XXH3-64 of the ids and texts of all pieces that are not spelled <...>: those are named differently by the
 * members that share a vocabulary. A piece's U+2581 counts as the space that it stands for; GGUF files have
 * some as spaces. */
static uint64_t fingerprint(const struct ct_tokenizer *t)
{
    struct ct_hash state;

    ct_hash_begin(&state);
    for (int32_t id = 0; id < ct_tokenizer_size(t); id++) {
        struct ct_str piece = ct_tokenizer_piece(t, id);
        if (piece.n == 0 || (piece.s[0] == '<' && piece.s[piece.n - 1] == '>'))
            continue;
        ct_hash_add(&state, &id, sizeof id);
        for (size_t i = 0, from = 0; i <= piece.n; i++) {
            bool space = piece.n - i >= 3 && memcmp(piece.s + i, "\xe2\x96\x81", 3) == 0;
            if (!space && i < piece.n)
                continue;
            ct_hash_add(&state, piece.s + from, i - from);
            ct_hash_add(&state, " ", space);
            i += space ? 2 : 0;
            from = i + 1;
        }
    }
    return ct_hash_end64(&state);
}

carat_status ct_verify_vocabulary(struct ct_verify *v, int *verdict, carat_error *err)
{
    const struct ct_tokenizer *t = v->model->tokenizer;
    uint64_t found = fingerprint(t);
    char quoted[CT_QUOTE], listed[LISTED], expected[LISTED];
    carat_tokens ids = {0};
    int known = 0, n = 0;

    while (known < CT_VOCABULARIES && ct_vocabulary[known].fingerprint != found)
        known++;
    if (known == CT_VOCABULARIES) {
        ct_verify_say(v, "%d pieces, fingerprint %016llx: none of the family's, so no ids are known",
                      ct_tokenizer_size(t), (unsigned long long)found);
        return CARAT_OK;
    }
    *verdict = CT_PASSED;
    for (int i = 0; i < ct_golden_count && *verdict == CT_PASSED; i++) {
        const struct ct_golden *g = &ct_golden[i];
        const int32_t *want = g->ids[known];
        int n_want = 0;
        if (!want || (g->control && ct_tokenizer_id(t, g->control) < 0))
            continue;
        while (want[n_want] >= 0)
            n_want++;
        ids.n = 0;
        carat_status status = ct_tokenizer_encode(t, g->text, strlen(g->text), g->flags, NULL, &ids, err);
        if (status) {
            carat_tokens_free(&ids);
            return status;
        }
        n++;
        if (ids.n == n_want && memcmp(ids.ids, want, (size_t)n_want * sizeof *want) == 0)
            continue;
        *verdict = CT_FAILED;
        ct_verify_say(v, "%s: the text %s is encoded as %s, expected %s", ct_vocabulary[known].name,
                      ct_quote(quoted, ct_str_of(g->text)), list_ids(listed, ids.ids, ids.n),
                      list_ids(expected, want, n_want));
    }
    if (*verdict == CT_PASSED)
        ct_verify_say(v, "%s (fingerprint %016llx): %d texts give the reference's ids",
                      ct_vocabulary[known].name, (unsigned long long)found, n);
    carat_tokens_free(&ids);
    return CARAT_OK;
}
