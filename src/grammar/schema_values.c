/* SPDX-License-Identifier: Apache-2.0 */
/* schema_values.c: numbers as decimals, and which values are the same. A bound that is excluded is the next
 * double on its inner side, for a text of many digits may be read as the bound itself. */
#include <math.h>

#include "grammar/schema_number.h"

/* ---- numbers as they are spelled ---- */

/* The digits of a spelled number, without zeros in front and behind. */
void ct_decimal_spelled(struct ct_str spelled, struct decimal *d)
{
    int64_t exponent = 0;
    int point = -1, n = 0, seen = 0;
    size_t i = 0;

    *d = (struct decimal){.negative = spelled.n && *spelled.s == '-'};
    for (; i < spelled.n && (spelled.s[i] | 32) != 'e'; i++) {
        const char c = spelled.s[i];
        if (c == '.')
            point = seen;
        if (c < '0' || c > '9')
            continue;
        if (n > 0 || c != '0') {
            if (n == 0)
                d->exponent = seen;
            if (n < DECIMAL_DIGITS)
                d->digit[n] = (char)(c - '0');
            n++;
        }
        seen++;
    }
    if (point < 0)
        point = seen;
    if (i < spelled.n) {
        const bool minus = spelled.s[i + 1] == '-';
        for (i++; i < spelled.n; i++)
            if (spelled.s[i] >= '0' && spelled.s[i] <= '9' && exponent < 100000)
                exponent = 10 * exponent + spelled.s[i] - '0';
        exponent = minus ? -exponent : exponent;
    }
    d->n = n;
    d->exponent = (int)(point - 1 - d->exponent + exponent);
    n = CT_MIN(n, DECIMAL_DIGITS);
    while (n > 0 && d->digit[n - 1] == 0)
        n--;
    if (d->n <= DECIMAL_DIGITS)
        d->n = n;
    if (d->n == 0)
        *d = (struct decimal){.n = 0};
}

/* The shortest spelling that is read as this double. */
static void decimal_of_double(double value, struct decimal *d)
{
    char text[40];

    for (int digits = 0; digits <= 16; digits++) {
        snprintf(text, sizeof text, "%.*e", digits, value);
        for (char *c = text; *c; c++) /* whatever the program's language writes for the point */
            if (*c == ',')
                *c = '.';
        ct_decimal_spelled(ct_str_of(text), d);
        if (ct_json_decimal(ct_str_of(text)) == value)
            return;
    }
}

bool ct_decimal_read(const struct ct_json_value *v, struct decimal *d)
{
    const struct ct_str spelled = {v->s, v->n};
    const double value = ct_json_double(v);
    bool whole = true;

    for (size_t i = 0; i < spelled.n; i++)
        whole = whole && spelled.s[i] != '.' && (spelled.s[i] | 32) != 'e';
    if (!isfinite(value))
        return false;
    if (whole)
        ct_decimal_spelled(spelled, d);
    else
        decimal_of_double(value, d);
    return d->n <= DECIMAL_DIGITS;
}

bool ct_decimal_whole(const struct decimal *d)
{
    return d->n == 0 || d->n <= d->exponent + 1;
}

/* Without signs. */
static int compare_sizes(const struct decimal *a, const struct decimal *b)
{
    if (a->n == 0 || b->n == 0)
        return (a->n > 0) - (b->n > 0);
    if (a->exponent != b->exponent)
        return a->exponent < b->exponent ? -1 : 1;
    for (int i = 0; i < CT_MAX(a->n, b->n); i++) {
        const int x = i < a->n ? a->digit[i] : 0, y = i < b->n ? b->digit[i] : 0;
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

int ct_decimal_compare(const struct decimal *a, const struct decimal *b)
{
    if (a->negative != b->negative)
        return a->negative ? -1 : 1;
    return a->negative ? compare_sizes(b, a) : compare_sizes(a, b);
}

/* The next whole number towards infinity (step 1) or minus infinity (-1); one that is whole stays, unless it
 * is excluded. */
static void decimal_to_whole(struct decimal *d, int step, bool excluded)
{
    char digit[DECIMAL_DIGITS + 2] = {0};
    const int whole = d->n ? CT_MAX(d->exponent + 1, 0) : 0; /* digits before the point */
    const bool cut = !ct_decimal_whole(d), away = d->negative == (step < 0);
    int i = whole;

    for (int k = 0; k < whole; k++)
        digit[k + 1] = k < d->n ? d->digit[k] : 0;
    bool negative = d->negative;
    if (whole == 0 && d->n == 0)
        negative = step < 0;
    if ((cut && away) || (!cut && excluded && (away || d->n == 0))) { /* one more */
        while (digit[i] == 9)
            digit[i--] = 0;
        digit[i]++;
    } else if (!cut && excluded) { /* one less */
        while (digit[i] == 0)
            digit[i--] = 9;
        digit[i]--;
    }
    char text[DECIMAL_DIGITS + 4];
    size_t n = 0;
    text[n++] = negative ? '-' : '0';
    for (int k = 0; k <= whole; k++)
        text[n++] = (char)('0' + digit[k]);
    ct_decimal_spelled((struct ct_str){text, n}, d);
}

/* A bound that is excluded becomes one that is not. */
void ct_decimal_inward(struct decimal *d, int step, bool excluded, bool whole)
{
    char text[DECIMAL_DIGITS + 16];
    size_t n = 0;

    if (whole) {
        decimal_to_whole(d, step, excluded);
        return;
    }
    if (!excluded)
        return;
    if (d->negative)
        text[n++] = '-';
    for (int i = 0; i < d->n; i++)
        text[n++] = (char)('0' + d->digit[i]);
    snprintf(text + n, sizeof text - n, d->n ? "e%d" : "0", d->n ? d->exponent - d->n + 1 : 0);
    const double value = ct_json_decimal(ct_str_of(text));
    decimal_of_double(nextafter(value, step > 0 ? INFINITY : -INFINITY), d);
}

/* ---- values that are the same ---- */

bool ct_schema_same(const struct ct_json_value *a, const struct ct_json_value *b)
{
    struct decimal x, y;

    if (a->kind != b->kind)
        return false;
    if (ct_json_is(a, CT_JSON_STRING))
        return ct_str_same(ct_json_str(a), ct_json_str(b));
    if (ct_json_is(a, CT_JSON_NUMBER))
        return ct_decimal_read(a, &x) && ct_decimal_read(b, &y) && ct_decimal_compare(&x, &y) == 0;
    return !ct_json_is(a, CT_JSON_ARRAY) && !ct_json_is(a, CT_JSON_OBJECT);
}

static bool item_allows(const struct item *item, const struct ct_json_value *v)
{
    const struct ct_json_value *one = item->done & ITEM_CONST ? NULL : ct_schema_get(item, "const"),
                               *list = item->done & ITEM_ENUM ? NULL : ct_schema_get(item, "enum");
    bool found = list == NULL;

    if (item->done & ITEM_VALUE)
        one = item->schema;
    CT_JSON_EACH(e, list)
    found = found || ct_schema_same(e, v);
    return found && (!one || ct_schema_same(one, v));
}

bool ct_schema_allows(const struct items *all, const struct ct_json_value *v)
{
    for (int i = 0; i < all->n; i++)
        if (!item_allows(&all->item[i], v))
            return false;
    return true;
}
