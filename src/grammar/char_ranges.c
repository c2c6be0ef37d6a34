/* SPDX-License-Identifier: Apache-2.0 */
/* char_ranges.c: see char_ranges.h. */
#include "grammar/char_ranges.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/utf8.h"

void ct_ranges_free(struct ct_ranges *r)
{
    free(r->range);
    *r = (struct ct_ranges){0};
}

bool ct_ranges_add(struct ct_ranges *r, uint32_t low, uint32_t high)
{
    if (!ct_array_grow(&r->range, &r->room, r->n + 1, sizeof *r->range))
        return false;
    r->range[r->n++] = (struct ct_range){low, high};
    return true;
}

bool ct_ranges_add_others(struct ct_ranges *r, const struct ct_range *range, size_t n)
{
    uint32_t next = 0; /* the first character that is not known to be in or out */

    for (size_t i = 0; i < n; i++) {
        if (next < range[i].low && !ct_ranges_add(r, next, range[i].low - 1))
            return false;
        next = range[i].high + 1;
    }
    return next > CT_LAST_CHAR || ct_ranges_add(r, next, CT_LAST_CHAR);
}

static int compare_ranges(const void *a, const void *b)
{
    const uint32_t left = ((const struct ct_range *)a)->low, right = ((const struct ct_range *)b)->low;

    return (left > right) - (left < right);
}

bool ct_ranges_settle(struct ct_ranges *r, bool inverts)
{
    size_t kept = 0;

    if (r->n > 1)
        qsort(r->range, r->n, sizeof *r->range, compare_ranges);
    for (size_t i = 0; i < r->n; i++) {
        struct ct_range *last = r->range + kept - 1;
        if (kept && r->range[i].low <= last->high + 1)
            last->high = CT_MAX(last->high, r->range[i].high);
        else
            r->range[kept++] = r->range[i];
    }
    r->n = kept;
    if (!inverts)
        return true;
    struct ct_ranges others = {0};
    const bool added = ct_ranges_add_others(&others, r->range, r->n);
    ct_ranges_free(r);
    *r = others;
    return added;
}

bool ct_hex_number(const char *s, size_t left, size_t n, uint32_t *out)
{
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        const int digit = i < left ? ct_hex_digit(s[i]) : -1;
        if (digit < 0)
            return false;
        *out = *out << 4 | (uint32_t)digit;
    }
    return true;
}

size_t ct_text_flaw(struct ct_str text)
{
    size_t at = 0;

    for (size_t n; at < text.n; at += n) {
        n = ct_utf8_length((const uint8_t *)text.s + at, text.n - at);
        if (n == 0 || text.s[at] == 0)
            break;
    }
    return at;
}
