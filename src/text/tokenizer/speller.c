/* SPDX-License-Identifier: Apache-2.0 */
/* speller.c: see speller.h; and what an id adds to a text. */
#include "text/tokenizer/speller.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "text/tokenizer/bpe.h"

static_assert(CT_SPELLED_MAX <= CT_BPE_SHORT, "such texts are short runs");

size_t ct_tokenizer_bytes(const struct ct_tokenizer *t, int32_t id, char *out)
{
    static_assert(CT_TOKEN_BYTES >= CT_PIECE_MAX, "a piece has room");
    if (id < 0 || id >= t->n || ct_piece_is_control(t, id))
        return 0;
    const struct ct_str piece = ct_piece_text(t, id);
    if (t->piece[id].kind != CT_PIECE_BYTE)
        return ct_piece_put(out, piece);
    *out = (char)ct_piece_byte(piece);
    return 1;
}

struct ct_speller {
    struct ct_bpe bpe;
    carat_tokens out;
    int32_t ids[CT_BPE_SHORT]; /* a character may take several, a byte takes one */
};

carat_status ct_speller_create(struct ct_speller **speller, const struct ct_tokenizer *t, carat_error *err)
{
    struct ct_speller *s = malloc(sizeof *s);

    if (!s)
        return ct_no_memory(err, "a form");
    s->out = (carat_tokens){.ids = s->ids, .capacity = CT_BPE_SHORT};
    ct_bpe_init(&s->bpe, t, NULL, &s->out);
    if (!ct_bpe_reserve(&s->bpe)) {
        ct_speller_free(s);
        return ct_no_memory(err, "a form");
    }
    *speller = s;
    return CARAT_OK;
}

void ct_speller_free(struct ct_speller *s)
{
    if (s)
        ct_bpe_free(&s->bpe);
    free(s);
}

int ct_speller_spell(struct ct_speller *s, const char *text, size_t n, const int32_t **ids)
{
    assert(n <= CT_SPELLED_MAX);
    s->out.n = 0;
    *ids = s->ids;
    /* a byte that is part of no character would become three of another one */
    for (int cut = 0; cut < 3 && n > 0 && !ct_utf8_valid(text, n); cut++)
        n--;
    if (!ct_utf8_valid(text, n))
        return 0;
    return ct_bpe_text(&s->bpe, text, n, NULL) ? 0 : s->out.n;
}
