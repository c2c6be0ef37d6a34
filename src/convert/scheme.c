/* SPDX-License-Identifier: Apache-2.0 */
/* scheme.c: see scheme.h. */
#include "convert/scheme.h"

#include "quant/palette.h"

/* True when text begins with `what`; then it is taken off. */
static bool scheme_take(struct ct_str *text, const char *what)
{
    const size_t n = strlen(what);

    if (text->n < n || strncmp(text->s, what, n) != 0)
        return false;
    *text = (struct ct_str){text->s + n, text->n - n};
    return true;
}

/* A number from 1 on, of six digits at most. */
static bool scheme_number(struct ct_str *text, int *number)
{
    size_t n = 0;

    for (*number = 0; n < text->n && n < 6 && text->s[n] >= '0' && text->s[n] <= '9'; n++)
        *number = *number * 10 + (text->s[n] - '0');
    *text = (struct ct_str){text->s + n, text->n - n};
    return *number > 0;
}

bool ct_scheme_named(struct ct_str name, struct ct_scheme *s)
{
    *s = (struct ct_scheme){.kind = CT_BLOCKS};
    if (scheme_take(&name, "int8:")) {
        s->kind = CT_ALIKE;
        s->shared = scheme_take(&name, "channel") ? CT_CHANNEL : 0;
        if (s->shared || scheme_take(&name, "tensor"))
            return name.n == 0;
        return scheme_take(&name, "group=") && scheme_number(&name, &s->shared) && name.n == 0 &&
               s->shared % 32 == 0;
    }
    s->kind = CT_PALETTE;
    if (!scheme_take(&name, "lut") || !scheme_number(&name, &s->bits) || !ct_palette_bits(s->bits))
        return false;
    return name.n == 0 || (scheme_take(&name, "g") && scheme_number(&name, &s->shared) && name.n == 0);
}
