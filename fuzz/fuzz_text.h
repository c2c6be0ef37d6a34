/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_text.h: what every fuzz target for a tokenizer does with one that could be read: encode and decode
 * with it and check what must hold for any vocabulary. */
#ifndef FUZZ_TEXT_H
#define FUZZ_TEXT_H

#include <stdlib.h>

#include "base/utf8.h"
#include "text/tokenizer/detokenizer.h"
#include "text/tokenizer/tokenizer_parts.h"

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void must_be_utf8(const char *s, size_t n)
{
    for (size_t i = 0, width; i < n; i += width)
        must((width = ct_utf8_length((const uint8_t *)s + i, n - i)) > 0);
}

static void exercise_flags(const struct ct_tokenizer *t, const uint8_t *data, size_t size, int flags)
{
    carat_tokens out = {0};
    char *text, piece[256];
    size_t n;
    struct ct_detokenizer d;
    must(ct_tokenizer_encode(t, (const char *)data, size, flags, NULL, &out, NULL) == CARAT_OK);
    for (int i = 0; i < out.n; i++) {
        must(out.ids[i] >= 0 && out.ids[i] < ct_tokenizer_size(t));
        if (!(flags & CARAT_SPECIAL))
            must(i == 0 || out.ids[i] == t->unknown || ct_tokenizer_piece(t, out.ids[i]).n > 0);
    }
    must(ct_tokenizer_decode(t, out.ids, out.n, flags, &text, &n, NULL) == CARAT_OK);
    must_be_utf8(text, n);
    free(text);
    ct_detokenizer_init(&d, t, flags);
    for (int i = 0; i <= out.n; i++) {
        n = ct_detokenizer_push(&d, i < out.n ? out.ids[i] : -1, piece, sizeof piece);
        must(n < sizeof piece && piece[n] == 0);
        must_be_utf8(piece, n);
    }
    free(out.ids);
}

/* The file itself is the text: it holds the spelling of its own pieces. */
static void exercise(const struct ct_tokenizer *t, const uint8_t *data, size_t size)
{
    exercise_flags(t, data, size, 0);
    exercise_flags(t, data, size, CARAT_BOS | CARAT_SPECIAL);
}

#endif
