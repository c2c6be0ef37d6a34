/* SPDX-License-Identifier: Apache-2.0 */
/* canonical.c: see canonical.h. */
#include "base/canonical.h"

#include <stdlib.h>

#include "base/json.h"

static void canonical_bytes(struct ct_canonical *c, const char *p, size_t n)
{
    size_t most;

    if (c->failed)
        return;
    if (!ct_add(c->n, n + 1, &most) || most > c->capacity) {
        const size_t capacity = CT_MAX(most, 2 * c->capacity);
        char *text = most > c->n ? realloc(c->text, capacity) : NULL;
        c->failed = !text;
        if (!text)
            return;
        c->text = text;
        c->capacity = capacity;
    }
    memcpy(c->text + c->n, p, n);
    c->n += n;
    c->text[c->n] = 0;
}

void ct_canonical_put(struct ct_canonical *c, const char *spelled)
{
    canonical_bytes(c, spelled, strlen(spelled));
}

void ct_canonical_next(struct ct_canonical *c)
{
    if (c->n && !strchr("[{:", c->text[c->n - 1]))
        canonical_bytes(c, ",", 1);
}

void ct_canonical_key(struct ct_canonical *c, const char *name)
{
    ct_canonical_next(c);
    ct_canonical_string(c, ct_str_of(name));
    canonical_bytes(c, ":", 1);
}

void ct_canonical_string(struct ct_canonical *c, struct ct_str s)
{
    static const char escaped[] = "\b\t\n\f\r\"\\", letter[] = "btnfr\"\\";
    size_t from = 0;

    canonical_bytes(c, "\"", 1);
    for (size_t i = 0; i < s.n; i++) {
        const unsigned char byte = (unsigned char)s.s[i];
        const char *at = byte ? strchr(escaped, byte) : NULL;
        char spelled[8];
        if (byte >= 0x20 && !at)
            continue;
        canonical_bytes(c, s.s + from, i - from);
        from = i + 1;
        if (at)
            snprintf(spelled, sizeof spelled, "\\%c", letter[at - escaped]);
        else
            snprintf(spelled, sizeof spelled, "\\u%04x", byte);
        ct_canonical_put(c, spelled);
    }
    canonical_bytes(c, s.s + from, s.n - from);
    canonical_bytes(c, "\"", 1);
}

void ct_canonical_integer(struct ct_canonical *c, int64_t value)
{
    char spelled[24];

    snprintf(spelled, sizeof spelled, "%lld", (long long)value);
    ct_canonical_put(c, spelled);
}

/* Digits d.ddd of |value| and its exponent, of n digits; a locale may have another point. */
static int digits_of(double value, int n, char *digits)
{
    char spelled[40];
    int k = 0;

    snprintf(spelled, sizeof spelled, "%.*e", n - 1, value);
    const char *e = strrchr(spelled, 'e');
    for (const char *p = spelled; p < e; p++)
        if (*p >= '0' && *p <= '9')
            digits[k++] = *p;
    digits[k] = 0;
    return atoi(e + 1);
}

/* As Number::toString of ECMAScript prints d.ddd times ten to the power of exponent. */
static void spell(char *out, size_t capacity, const char *digits, int exponent)
{
    const int k = (int)strlen(digits), point = exponent + 1;

    if (k <= point && point <= 21)
        snprintf(out, capacity, "%s%.*s", digits, point - k, "000000000000000000000");
    else if (point > 0 && point <= 21)
        snprintf(out, capacity, "%.*s.%s", point, digits, digits + point);
    else if (point > -6 && point <= 0)
        snprintf(out, capacity, "0.%.*s%s", -point, "000000", digits);
    else
        snprintf(out, capacity, "%c%s%se%+d", digits[0], k > 1 ? "." : "", digits + 1, exponent);
}

void ct_canonical_float(struct ct_canonical *c, float value)
{
    char digits[24], spelled[64] = "0";
    const double size = value < 0 ? -(double)value : (double)value;
    bool same = value == 0;

    for (int n = 1; n <= 17 && !same; n++) { /* a last digit 0 was no more than the one before it said */
        const int exponent = digits_of(size, n, digits);
        spell(spelled, sizeof spelled, digits, exponent);
        same = (float)ct_json_decimal(ct_str_of(spelled)) == (float)size;
    }
    if (value < 0)
        canonical_bytes(c, "-", 1);
    ct_canonical_put(c, spelled);
}

void ct_canonical_hex(struct ct_canonical *c, const uint8_t *p, size_t n)
{
    canonical_bytes(c, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        const char pair[] = {"0123456789abcdef"[p[i] >> 4], "0123456789abcdef"[p[i] & 15]};
        canonical_bytes(c, pair, sizeof pair);
    }
    canonical_bytes(c, "\"", 1);
}

void ct_canonical_ids(struct ct_canonical *c, const int32_t *ids, int n)
{
    ct_canonical_put(c, "[");
    for (int i = 0; i < n; i++) {
        ct_canonical_next(c);
        ct_canonical_integer(c, ids[i]);
    }
    ct_canonical_put(c, "]");
}
