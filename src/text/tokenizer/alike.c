/* SPDX-License-Identifier: Apache-2.0 */
/* alike.c: see alike.h. */
#include "text/tokenizer/alike.h"

#include "text/tokenizer/tokenizer_parts.h"

/* Ids that no text has, by the names that converters give rows without a meaning. */
static bool is_unused(const struct ct_tokenizer *t, int32_t id)
{
    static const char *const names[] = {"<unused", "[PAD"};
    const struct ct_str s = ct_tokenizer_piece(t, id);

    if (s.n == 0 || t->piece[id].kind == CT_PIECE_UNUSED)
        return true;
    for (size_t i = 0; i < CT_COUNT(names); i++)
        if (s.n > strlen(names[i]) && memcmp(s.s, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* What a piece stands for: GGUF spells some blanks as such, Gemma 1's tokenizer.json one byte. */
static size_t meaning(char out[CT_PIECE_MAX], struct ct_str s)
{
    const int byte = ct_piece_byte(s);

    if (byte < 0)
        return ct_piece_put(out, s);
    out[0] = (char)byte;
    return 1;
}

static bool is_alike(struct ct_str a, struct ct_str b)
{
    char of_a[CT_PIECE_MAX], of_b[CT_PIECE_MAX];

    if (ct_str_same(a, b))
        return true;
    const size_t n = meaning(of_a, a);
    return n == meaning(of_b, b) && memcmp(of_a, of_b, n) == 0;
}

int32_t ct_tokenizer_first_other(const struct ct_tokenizer *a, const struct ct_tokenizer *b, int32_t n)
{
    for (int32_t id = 0; id < n; id++)
        if (!is_alike(ct_tokenizer_piece(a, id), ct_tokenizer_piece(b, id)) && !is_unused(a, id) &&
            !is_unused(b, id))
            return id;
    for (int c = 0; c < CT_CONTROLS; c++) {
        const int32_t of_a = ct_tokenizer_control(a, (enum ct_control)c),
                      of_b = ct_tokenizer_control(b, (enum ct_control)c);
        if (of_a != of_b && of_a >= 0 && of_b >= 0)
            return of_a;
    }
    return -1;
}
