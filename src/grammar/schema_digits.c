/* SPDX-License-Identifier: Apache-2.0 */
/* schema_digits.c: languages of numbers: digit by digit, a text is known to be below a limit, like it so far,
 * or above it. */
#include "grammar/schema_number.h"

enum { BELOW, LIKE, ABOVE, RELATIONS };

/* The relations to its limit that a text may have. */
struct side {
    struct ct_language *l;
    const struct decimal *limit; /* its size; the sign is somebody else's */
    bool good[RELATIONS];
};

static void digit_arc(struct ct_language *l, int32_t from, int low, int high, int32_t to)
{
    if (low <= high)
        ct_language_arc(l, from, (uint32_t)('0' + low), (uint32_t)('0' + high), to);
}

static void char_arc(struct ct_language *l, int32_t from, char c, int32_t to)
{
    ct_language_arc(l, from, (uint32_t)(unsigned char)c, (uint32_t)(unsigned char)c, to);
}

/* ---- digits and a fraction ---- */

/* The digit of the limit at a place before the point, counted from the first one there. */
static int whole_digit(const struct decimal *d, int i)
{
    return d->n == 0 || d->exponent < 0 || i >= d->n ? 0 : d->digit[i];
}

static int whole_digits(const struct decimal *d)
{
    return d->n == 0 || d->exponent < 0 ? 1 : d->exponent + 1;
}

static int fraction_digits(const struct decimal *d)
{
    return d->n == 0 ? 0 : CT_MAX(d->n - d->exponent - 1, 0);
}

static int fraction_digit(const struct decimal *d, int i)
{
    const int at = d->exponent + 1 + i;

    return at < 0 ? 0 : d->digit[at];
}

/* States behind a fraction that has parted from the limit: more digits change nothing. */
static int32_t free_digits(const struct side *x, int relation)
{
    const int32_t at = ct_language_state(x->l, x->good[relation]);

    digit_arc(x->l, at, 0, 9, at);
    return at;
}

/* Behind a point: the digits d[0..n) of a limit, that is like the text before the point. apart[r]: where more
 * digits change nothing. */
static int32_t fraction_like(const struct side *x, const int *digit, int n, const int32_t *apart, int32_t at)
{
    for (int i = 0; i < n; i++) {
        const bool last = i + 1 == n;
        const int32_t next = ct_language_state(x->l, x->good[last ? LIKE : BELOW]);
        digit_arc(x->l, at, 0, digit[i] - 1, apart[BELOW]);
        digit_arc(x->l, at, digit[i] + 1, 9, apart[ABOVE]);
        digit_arc(x->l, at, digit[i], digit[i], next);
        at = next;
    }
    if (n == 0) {
        const int32_t next = ct_language_state(x->l, x->good[LIKE]);
        digit_arc(x->l, at, 0, 0, next);
        digit_arc(x->l, at, 1, 9, apart[ABOVE]);
        at = next;
    }
    digit_arc(x->l, at, 0, 0, at);
    digit_arc(x->l, at, 1, 9, apart[ABOVE]);
    return at;
}

/* Adds what may come behind the digits before the point, which are in a relation to those of the limit. */
static void add_fraction(const struct side *x, int relation, const int32_t *apart, int32_t at)
{
    int digit[DECIMAL_DIGITS + 340];
    const int n = fraction_digits(x->limit);
    const int32_t point = ct_language_state(x->l, false);

    char_arc(x->l, at, '.', point);
    if (relation != LIKE) {
        digit_arc(x->l, point, 0, 9, apart[relation]);
        return;
    }
    for (int i = 0; i < n; i++)
        digit[i] = fraction_digit(x->limit, i);
    fraction_like(x, digit, n, apart, point);
}

/* True when a text may end where its digits before the point are in this relation to the limit's. */
static bool good_whole(const struct side *x, int relation)
{
    return x->good[relation == LIKE && fraction_digits(x->limit) ? BELOW : relation];
}

/* A state behind digits before the point, the first k of them; what is shorter than the limit is below it. */
static int32_t whole_state(const struct side *x, int k, int relation, bool fractions, const int32_t *apart)
{
    const int n = whole_digits(x->limit), now = k < n ? BELOW : k > n ? ABOVE : relation;
    const int32_t at = ct_language_state(x->l, good_whole(x, now));

    if (fractions)
        add_fraction(x, now, apart, at);
    return at;
}

/* All numbers, written as digits and a fraction, that are good beside the limit. */
static void fixed_language(const struct side *x, bool fractions)
{
    const int n = whole_digits(x->limit), first = whole_digit(x->limit, 0);
    const int32_t start = ct_language_state(x->l, false);
    int32_t apart[RELATIONS] = {-1, -1, -1}, now[RELATIONS], next[RELATIONS];

    if (fractions) {
        apart[BELOW] = free_digits(x, BELOW);
        apart[ABOVE] = free_digits(x, ABOVE);
    }
    const int32_t longer = whole_state(x, n + 1, ABOVE, fractions, apart),
                  zero = whole_state(x, 1, first == 0 ? LIKE : BELOW, fractions, apart);
    digit_arc(x->l, longer, 0, 9, longer);
    digit_arc(x->l, start, 0, 0, zero);
    for (int r = 0; r < RELATIONS; r++)
        now[r] = whole_state(x, 1, r, fractions, apart);
    digit_arc(x->l, start, 1, first - 1, now[BELOW]);
    digit_arc(x->l, start, CT_MAX(first, 1), first, now[LIKE]);
    digit_arc(x->l, start, first + 1, 9, now[ABOVE]);
    for (int k = 1; k < n; k++) {
        const int digit = whole_digit(x->limit, k);
        for (int r = 0; r < RELATIONS; r++)
            next[r] = whole_state(x, k + 1, r, fractions, apart);
        digit_arc(x->l, now[BELOW], 0, 9, next[BELOW]);
        digit_arc(x->l, now[ABOVE], 0, 9, next[ABOVE]);
        digit_arc(x->l, now[LIKE], 0, digit - 1, next[BELOW]);
        digit_arc(x->l, now[LIKE], digit, digit, next[LIKE]);
        digit_arc(x->l, now[LIKE], digit + 1, 9, next[ABOVE]);
        memcpy(now, next, sizeof now);
    }
    for (int r = 0; r < RELATIONS; r++)
        digit_arc(x->l, now[r], 0, 9, longer);
}

/* ---- a digit, a fraction and an exponent ---- */

/* One to three digits whose number is from low to high. Each level of the loop is one digit. */
static void exponent_size(struct ct_language *l, int32_t from, int low, int high, int32_t end)
{
    for (int length = 1, all = 10; length <= 3; length++, all *= 10) {
        int32_t like[2] = {from, from}, inside = -1; /* like low, like high; both at first */
        const int top = CT_MIN(high, all - 1);
        bool both = true;
        if (low > top)
            continue;
        for (int unit = all / 10; unit > 0; unit /= 10) {
            const int a = low / unit % 10, b = top / unit % 10;
            const bool last = unit == 1;
            int32_t next[2] = {end, end}, within = end;
            if (!last) {
                next[0] = ct_language_state(l, false);
                next[1] = both && a == b ? next[0] : ct_language_state(l, false);
                within = ct_language_state(l, false);
            }
            if (both && a == b) {
                digit_arc(l, like[0], a, a, next[0]);
            } else if (both) {
                digit_arc(l, like[0], a, a, next[0]);
                digit_arc(l, like[0], a + 1, b - 1, within);
                digit_arc(l, like[0], b, b, next[1]);
                both = false;
            } else {
                digit_arc(l, like[0], a, a, next[0]);
                digit_arc(l, like[0], a + 1, 9, within);
                digit_arc(l, like[1], 0, b - 1, within);
                digit_arc(l, like[1], b, b, next[1]);
                digit_arc(l, inside, 0, 9, within);
            }
            like[0] = next[0];
            like[1] = next[1];
            inside = within;
        }
    }
}

/* Exponents from low to high, each of three digits at most. */
static void exponent_arcs(struct ct_language *l, int32_t from, int low, int high)
{
    const int32_t letter = ct_language_state(l, false), plus = ct_language_state(l, false),
                  minus = ct_language_state(l, false), end = ct_language_state(l, true);

    if (low > high)
        return;
    char_arc(l, from, 'e', letter);
    char_arc(l, from, 'E', letter);
    char_arc(l, letter, '-', minus);
    char_arc(l, letter, '+', plus);
    ct_language_skip(l, letter, plus);
    if (high >= 0)
        exponent_size(l, plus, CT_MAX(low, 0), high, end);
    if (low <= 0)
        exponent_size(l, minus, CT_MAX(-high, 0), -low, end);
}

/* All numbers, written with an exponent, that are good beside a limit that is not 0. */
static void scientific_language(const struct side *x)
{
    enum { LEAST = -400, MOST = 400 };
    const struct decimal *d = x->limit;
    const struct side mantissa = {x->l, d, {false, false, false}};
    const int32_t start = ct_language_state(x->l, false);
    int32_t apart[RELATIONS], one[RELATIONS], behind[RELATIONS];
    int digit[DECIMAL_DIGITS];

    for (int r = 0; r < RELATIONS; r++) {
        const bool below = x->good[BELOW]; /* the exponent decides before the digits do */
        behind[r] = ct_language_state(x->l, false);
        if (below)
            exponent_arcs(x->l, behind[r], LEAST, x->good[r] ? d->exponent : d->exponent - 1);
        else
            exponent_arcs(x->l, behind[r], x->good[r] ? d->exponent : d->exponent + 1, MOST);
    }
    for (int r = 0; r < RELATIONS; r++) {
        one[r] = ct_language_state(x->l, false);
        apart[r] = free_digits(&mantissa, r);
        ct_language_skip(x->l, apart[r], behind[r]);
        ct_language_skip(x->l, one[r], behind[r == LIKE && d->n > 1 ? BELOW : r]);
    }
    digit_arc(x->l, start, 1, d->digit[0] - 1, one[BELOW]);
    digit_arc(x->l, start, d->digit[0], d->digit[0], one[LIKE]);
    digit_arc(x->l, start, d->digit[0] + 1, 9, one[ABOVE]);
    for (int r = 0; r < RELATIONS; r++) {
        const int32_t point = ct_language_state(x->l, false);
        char_arc(x->l, one[r], '.', point);
        if (r != LIKE) {
            digit_arc(x->l, point, 0, 9, apart[r]);
            continue;
        }
        for (int i = 1; i < d->n; i++)
            digit[i - 1] = d->digit[i];
        const int32_t first = x->l->n_states, last = fraction_like(&mantissa, digit, d->n - 1, apart, point);
        for (int32_t at = first; at < last; at++)
            ct_language_skip(x->l, at, behind[BELOW]);
        ct_language_skip(x->l, last, behind[LIKE]);
    }
}

/* ---- limits on both sides ---- */

static carat_status narrow(struct ct_language *l, bool *any, struct ct_language *more, carat_error *err)
{
    struct ct_language both;

    if (!*any) {
        *l = *more;
        *any = true;
        return CARAT_OK;
    }
    const carat_status status = ct_language_intersect(l, more, &both, err);
    ct_language_free(l);
    ct_language_free(more);
    *l = both;
    return status;
}

/* Sizes from low to high, NULL where there is no limit, in one way of writing. */
static carat_status sizes_language(const struct decimal *low, const struct decimal *high, bool scientific,
                                   bool fractions, struct ct_language *out, carat_error *err)
{
    static const struct decimal zero = {.n = 0};
    bool any = false;

    if (!low && !scientific)
        low = &zero;
    for (int k = 0; k < 2; k++) {
        struct ct_language more;
        const struct side x = {&more, k ? high : low, {k == 1, true, k == 0}};
        if (!x.limit)
            continue;
        ct_language_init(&more);
        if (scientific)
            scientific_language(&x);
        else
            fixed_language(&x, fractions);
        CT_TRY(narrow(out, &any, &more, err));
    }
    return CARAT_OK;
}

/* The sizes that doubles hold, zero aside. */
static void double_sizes(struct decimal *least, struct decimal *most)
{
    ct_decimal_spelled(ct_str_of("5e-324"), least);
    ct_decimal_spelled(ct_str_of("1.7976931348623157e308"), most);
}

/* Adds the sizes from low to high, behind a minus or not. */
static carat_status add_sizes(struct ct_language *l, int32_t from, const struct decimal *low,
                              const struct decimal *high, bool fractions, carat_error *err)
{
    struct decimal least, most;
    const struct decimal *bottom = &least, *top = &most;

    double_sizes(&least, &most);
    if (low && ct_decimal_compare(low, &least) > 0)
        bottom = low;
    if (high && ct_decimal_compare(high, &most) < 0)
        top = high;
    for (int scientific = 0; scientific <= fractions; scientific++) {
        struct ct_language sizes;
        ct_language_init(&sizes);
        if (scientific && ct_decimal_compare(bottom, top) > 0)
            continue;
        const carat_status status = sizes_language(scientific ? bottom : low, scientific ? top : high,
                                                   scientific, fractions, &sizes, err);
        if (!status)
            ct_language_skip(l, from, ct_language_append(l, &sizes));
        ct_language_free(&sizes);
        CT_TRY(status);
    }
    return CARAT_OK;
}

/* Without its sign. */
static const struct decimal *size_of(const struct decimal *d, struct decimal *size)
{
    *size = *d;
    size->negative = false;
    return size;
}

carat_status ct_number_language(const struct limits *r, bool fractions, struct ct_language *out,
                                carat_error *err)
{
    struct decimal low, high;
    carat_status status = CARAT_OK;

    ct_language_init(out);
    const int32_t start = ct_language_state(out, false), minus = ct_language_state(out, false);
    char_arc(out, start, '-', minus);
    if (!r->has_high || !r->high.negative)
        status = add_sizes(out, start, r->has_low && !r->low.negative ? &r->low : NULL,
                           r->has_high ? &r->high : NULL, fractions, err);
    if (!status && (!r->has_low || r->low.negative || r->low.n == 0))
        status = add_sizes(out, minus, r->has_high && r->high.negative ? size_of(&r->high, &high) : NULL,
                           r->has_low ? size_of(&r->low, &low) : NULL, fractions, err);
    if (!status && ct_language_failed(out))
        status = ct_fail(err, out->error.code, "%s", out->error.message);
    if (status)
        ct_language_free(out);
    return status;
}

void ct_multiples_language(struct ct_language *l, int n)
{
    const int32_t start = ct_language_state(l, false), minus = ct_language_state(l, false),
                  zero = ct_language_state(l, true), first = l->n_states;

    char_arc(l, start, '-', minus);
    for (int i = 0; i < n; i++)
        ct_language_state(l, i == 0);
    for (int digit = 0; digit <= 9; digit++)
        for (int i = 0; i < 2; i++)
            digit_arc(l, i ? minus : start, digit, digit, digit ? first + digit % n : zero);
    for (int rest = 0; rest < n; rest++)
        for (int digit = 0; digit <= 9; digit++)
            digit_arc(l, first + rest, digit, digit, first + (10 * rest + digit) % n);
}
