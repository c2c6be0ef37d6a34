/* SPDX-License-Identifier: Apache-2.0 */
/* schema_number.c: numbers as texts: ranges, multiples and lists of values become languages of digits.
 *
 * With bounds a number is written in one of two ways, as Python's json.dumps does: digits with a fraction, or
 * one digit, a fraction and an exponent. In the first the digits decide, in the second the exponent first. */
#include <math.h>
#include <stdlib.h>

#include "grammar/regex.h"
#include "grammar/schema_number.h"

/* ---- what items say ---- */

static void narrow_limit(struct limits *r, const struct decimal *d, int step)
{
    struct decimal *limit = step > 0 ? &r->low : &r->high;
    bool *has = step > 0 ? &r->has_low : &r->has_high;

    if (!*has || ct_decimal_compare(d, limit) * step > 0)
        *limit = *d;
    *has = true;
}

/* One of minimum, maximum and their exclusive kin. */
static bool read_limit(struct schema *s, const struct item *item, const char *key, const char *beside,
                       int step, bool excludes, bool whole, struct limits *r)
{
    const struct ct_json_value *v = ct_schema_get(item, key);
    struct decimal d;

    if (!v || ct_json_is_bool(v))
        return true;
    /* draft 4 writes minimum: 3, exclusiveMinimum: true */
    excludes = excludes || ct_json_is(beside ? ct_schema_get(item, beside) : NULL, CT_JSON_TRUE);
    if (!ct_decimal_read(v, &d)) {
        ct_schema_fail(s, item->schema, key, "%.*s is beyond what a double can hold", (int)CT_MIN(v->n, 64),
                       v->s);
        return false;
    }
    ct_decimal_inward(&d, step, excludes, whole);
    narrow_limit(r, &d, step);
    return true;
}

static bool read_limits(struct schema *s, const struct items *all, bool whole, struct limits *r)
{
    *r = (struct limits){.has_low = false};
    for (int i = 0; i < all->n; i++) {
        const struct item *item = &all->item[i];
        if (!read_limit(s, item, "minimum", "exclusiveMinimum", 1, false, whole, r) ||
            !read_limit(s, item, "exclusiveMinimum", NULL, 1, true, whole, r) ||
            !read_limit(s, item, "maximum", "exclusiveMaximum", -1, false, whole, r) ||
            !read_limit(s, item, "exclusiveMaximum", NULL, -1, true, whole, r))
            return false;
        if (r->has_low && r->has_high && ct_decimal_compare(&r->low, &r->high) > 0) {
            ct_schema_note(s, item->schema, NULL, "no number is between its limits");
            return false;
        }
    }
    return true;
}

enum { MULTIPLE_MAX = 10000 };

/* 0: a failure. 1: nothing is said. */
static int64_t read_multiple(struct schema *s, const struct items *all)
{
    int64_t multiple = 1;

    for (int i = 0; i < all->n; i++) {
        const struct ct_json_value *v = ct_schema_get(&all->item[i], "multipleOf");
        const double n = ct_json_double(v);
        if (!v)
            continue;
        if (n > 0 && (n > MULTIPLE_MAX || n != floor(n))) {
            ct_schema_unsupported(s, all->item[i].schema, "multipleOf",
                                  "%.*s, expected a whole number from 1 to %d", (int)CT_MIN(v->n, 64), v->s,
                                  MULTIPLE_MAX);
            return 0;
        }
        if (n <= 0) {
            ct_schema_fail(s, all->item[i].schema, "multipleOf", "%.*s, expected a whole number from 1 to %d",
                           (int)CT_MIN(v->n, 64), v->s, MULTIPLE_MAX);
            return 0;
        }
        int64_t a = multiple, b = (int64_t)n;
        while (b) {
            const int64_t rest = a % b;
            a = b;
            b = rest;
        }
        multiple = multiple / a * (int64_t)n;
        if (multiple > MULTIPLE_MAX) {
            ct_schema_unsupported(s, all->item[i].schema, "multipleOf",
                                  "%lld together with others, expected at most %d", (long long)multiple,
                                  MULTIPLE_MAX);
            return 0;
        }
    }
    return multiple;
}

/* ---- values that are listed ---- */

/* Digits, and a fraction if there is one. */
static size_t write_fixed(const struct decimal *d, char *text)
{
    size_t n = 0;

    if (d->negative)
        text[n++] = '-';
    if (d->n == 0 || d->exponent < 0)
        text[n++] = '0';
    for (int i = 0; i <= d->exponent && d->n; i++)
        text[n++] = (char)('0' + (i < d->n ? d->digit[i] : 0));
    if (!ct_decimal_whole(d))
        text[n++] = '.';
    for (int i = d->exponent + 1; i < d->n; i++)
        text[n++] = (char)('0' + (i < 0 ? 0 : d->digit[i]));
    return n;
}

static size_t write_scientific(const struct decimal *d, char *text, size_t size)
{
    size_t n = 0;

    if (d->negative)
        text[n++] = '-';
    for (int i = 0; i < d->n; i++) {
        if (i == 1)
            text[n++] = '.';
        text[n++] = (char)('0' + d->digit[i]);
    }
    return n + (size_t)snprintf(text + n, size - n, "e%c%02d", d->exponent < 0 ? '-' : '+', abs(d->exponent));
}

/* A number in the ways that Python writes it, and as it is spelled in the schema. */
static void add_spellings(struct ct_language *l, const struct ct_json_value *v)
{
    char text[DECIMAL_DIGITS + 48];
    struct decimal d;

    ct_language_text(l, (struct ct_str){v->s, v->n});
    if (!ct_decimal_read(v, &d))
        return;
    if (d.n == 0) {
        ct_language_text(l, ct_str_of("0"));
        ct_language_text(l, ct_str_of("0.0"));
        ct_language_text(l, ct_str_of("-0.0"));
        return;
    }
    if (d.exponent >= -4 && d.exponent <= 20) {
        size_t n = write_fixed(&d, text);
        ct_language_text(l, (struct ct_str){text, n});
        if (ct_decimal_whole(&d)) {
            text[n++] = '.';
            text[n++] = '0';
            ct_language_text(l, (struct ct_str){text, n});
        }
    }
    if (d.exponent < -4 || d.exponent >= 16)
        ct_language_text(l, (struct ct_str){text, write_scientific(&d, text, sizeof text)});
}

/* False: nothing is listed. */
static bool listed_numbers(const struct items *all, struct ct_language *l)
{
    for (int i = 0; i < all->n; i++) {
        size_t n = 0;
        const struct ct_json_value *v = ct_schema_values(&all->item[i], &n);
        if (!v)
            continue;
        for (size_t k = 0; k < n && !ct_watch_ended(l->watch, CT_WATCH_STEPS); k++, v += v->span)
            if (ct_json_is(v, CT_JSON_NUMBER) && ct_schema_allows(all, v))
                add_spellings(l, v);
        return true;
    }
    return false;
}

/* ---- numbers of arguments, of which their reader takes those that a double holds ---- */

enum { ARGUMENT_DIGITS = 20 }; /* before the point where no limit asks for more, and behind it */

static int digits_of(const struct decimal *d)
{
    return d->n ? CT_MAX(d->exponent + 1, 0) : 0;
}

/* Makes a language equal with as few states as there can be; the old *l is given up. */
static void make_small(struct schema *s, struct ct_language *l)
{
    struct ct_language small;
    carat_error err = {CARAT_OK, ""};

    l->watch = s->g->watch;
    const carat_status status = ct_language_minimise(l, &small, &err);

    if (status)
        ct_grammar_fail(s->g, status, "%s", err.message);
    ct_language_free(l);
    *l = small;
}

/* Leaves of a language what has so few digits. */
static void cut_digits(struct schema *s, struct ct_language *l, const struct limits *r,
                       const struct ct_json_value *schema)
{
    struct ct_language few;
    char text[80];
    bool any = true;
    carat_error err = {CARAT_OK, ""};
    int whole = ARGUMENT_DIGITS;

    if (r->has_low)
        whole = CT_MAX(whole, digits_of(&r->low) + 1);
    if (r->has_high)
        whole = CT_MAX(whole, digits_of(&r->high) + 1);
    if (whole > DOUBLE_DIGITS)
        ct_schema_note(s, schema, NULL, "an argument has at most %d digits before the point", DOUBLE_DIGITS);
    snprintf(text, sizeof text, "-?[0-9]{1,%d}(?:\\.[0-9]{1,%d})?(?:[eE][+-]?[0-9]{1,3})?",
             CT_MIN(whole, DOUBLE_DIGITS), ARGUMENT_DIGITS);
    ct_language_init(&few);
    const carat_status status = ct_regex_language(ct_str_of(text), true, &few, NULL, &err);
    if (status) {
        ct_grammar_fail(s->g, status, "%s", err.message);
        ct_language_free(&few);
        return;
    }
    ct_schema_narrow(s, l, &any, &few, schema);
}

/* ---- a number ---- */

/* The language of what items say, with few states; an empty one after a failure, or where nothing fits. */
static void number_language(struct schema *s, const struct items *all, bool fractions, struct ct_language *l)
{
    struct ct_language more;
    struct limits r;
    bool any = true;
    carat_error err = {CARAT_OK, ""};

    if (!read_limits(s, all, !fractions, &r))
        return;
    const int64_t multiple = read_multiple(s, all);
    const carat_status status = ct_number_language(&r, fractions, l, &err);
    if (status)
        ct_grammar_fail(s->g, status, "%s", err.message);
    ct_language_init(&more);
    more.watch = s->g->watch;
    const bool listed = listed_numbers(all, &more);
    if (listed && !ct_schema_narrow(s, l, &any, &more, all->item[0].schema))
        return;
    if (multiple > 1) {
        ct_language_init(&more);
        ct_multiples_language(&more, (int)multiple);
        make_small(s, &more); /* what a text of 100 is a multiple of depends on two digits */
        ct_schema_narrow(s, l, &any, &more, all->item[0].schema);
    }
    make_small(s, l);
    if (s->o->argument && !listed)
        cut_digits(s, l, &r, all->item[0].schema);
}

void ct_schema_emit_number(struct schema *s, const struct items *all, int types, int32_t from, int32_t to)
{
    static const char *const says[] = {
        "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "const", "enum"};
    const bool fractions = types & TYPE_FRACTION;
    bool plain = true;
    struct ct_language l;

    for (int i = 0; i < all->n; i++)
        for (size_t k = 0; k < CT_COUNT(says); k++)
            plain = plain && !(all->item[i].done & ITEM_VALUE) && !ct_schema_get(&all->item[i], says[k]);
    if (plain) {
        ct_grammar_call(s->g, from,
                        ct_schema_common_rule(s, fractions ? CT_COMMON_NUMBER : CT_COMMON_INTEGER), to);
        return;
    }
    ct_language_init(&l);
    number_language(s, all, fractions, &l);
    ct_language_emit(s->g, &s->shared->charsets, &l, from, CT_SPELL_PLAIN, to);
    ct_language_free(&l);
}

/* Any number that a double holds: an exponent of three digits has one digit before the point, and the largest
 * one only what is below the largest double. */
#define WHOLE "-?(?:0|[1-9][0-9]*)"
#define D     "[0-9]*"
#define LARGEST                                                                                              \
    "(?:\\."                                                                                                 \
    "(?:[0-6]" D "|7(?:[0-8]" D "|9(?:[0-6]" D "|7(?:[0-5]" D "|6(?:[0-8]" D "|9(?:[0-2]" D "|3(?:0" D       \
    "|1(?:[0-2]" D "|3(?:[0-3]" D "|4(?:[0-7]" D "|8(?:[0-5]" D "|6(?:[0-1]" D "|2(?:[0-2]" D "|3(?:0" D     \
    "|1(?:[0-4]" D "|5[0-7]?)?)?)?)?)?)?)?)?)?)?)?)?)?)?)"                                                   \
    ")?"
#define NUMBER(whole, fraction)                                                                              \
    whole fraction "(?:[eE][+-]?[0-9]{1,2})?|"                                                               \
                   "-?[1-9]" fraction "[eE](?:-[0-9]{3}|[+]?(?:[0-2][0-9]{2}|30[0-7]))"
/* A number of an argument has at most 200 digits before the point, so that an exponent of two digits leads
 * beyond no double. */
#define FEW "-?(?:0|[1-9][0-9]{0,199})"
static const char *const any_number[2][2] = {
    {WHOLE, NUMBER(WHOLE, "(?:\\.[0-9]+)?") "|-?1" LARGEST "[eE][+]?308"},
    {FEW, NUMBER(FEW, "(?:\\.[0-9]{1,200})?")},
};

void ct_schema_fill_number(struct schema *s, int32_t rule, bool fractions)
{
    struct ct_language raw, l;
    carat_error err = {CARAT_OK, ""};

    ct_language_init(&raw);
    ct_language_init(&l);
    carat_status status =
        ct_regex_language(ct_str_of(any_number[s->o->argument][fractions]), true, &raw, NULL, &err);
    if (!status)
        status = ct_language_determine(&raw, &l, &err);
    if (status)
        ct_grammar_fail(s->g, status, "%s", err.message);
    ct_language_emit(s->g, &s->shared->charsets, &l, ct_rule_start(s->g, rule), CT_SPELL_PLAIN,
                     ct_rule_end(s->g, rule));
    ct_language_free(&raw);
    ct_language_free(&l);
}
