/* SPDX-License-Identifier: Apache-2.0 */
/* json.c: the pull reader of json.h. Strict RFC 8259: valid UTF-8, paired surrogates, no leading zeros, no
 * trailing bytes. What the members mean, and whether a key occurs twice, is left to the caller.
 *
 * It reads all JSON of the library. The command writes JSON with jansson, which the library does without. */
#include "base/json.h"

#include "base/array.h"
#include "base/utf8.h"

#include <stdlib.h>

/* The tokens that may come next; kept in ct_json.expect. */
enum {
    EXPECT_VALUE,
    EXPECT_VALUE_OR_END, /* after '[' */
    EXPECT_KEY_OR_END,   /* after '{' */
    EXPECT_COMMA_OR_END, /* after a value inside something */
    EXPECT_NOTHING,      /* after the top value */
    EXPECT_ERROR,
};

void ct_json_init(struct ct_json *j, const char *name, struct ct_bytes text)
{
    *j = (struct ct_json){.name = name ? name : "JSON",
                          .text = text.data,
                          .size = text.data ? text.size : 0,
                          .expect = EXPECT_VALUE};
}

void ct_json_free(struct ct_json *j)
{
    free(j->buffer);
    j->buffer = NULL;
    j->capacity = 0;
}

carat_status ct_json_fail(struct ct_json *j, const char *format, ...)
{
    if (j->error.code == CARAT_OK) {
        char message[600];
        CT_FORMAT(message, format);
        ct_fail(&j->error, CARAT_E_FORMAT, "%s: at byte %zu: %s", j->name, j->at, message);
    }
    j->expect = EXPECT_ERROR;
    return j->error.code;
}

/* Records "expected E, found what stands at the cursor". */
static enum ct_json_token scan_refuse(struct ct_json *j, const char *expected)
{
    if (j->at >= j->size)
        ct_json_fail(j, "expected %s, found the end of the text", expected);
    else if (j->text[j->at] > 0x20 && j->text[j->at] < 0x7f)
        ct_json_fail(j, "expected %s, found '%c'", expected, j->text[j->at]);
    else
        ct_json_fail(j, "expected %s, found the byte 0x%02x", expected, j->text[j->at]);
    return CT_JSON_ERROR;
}

/* Pretty-printed files are a newline and a run of spaces between most tokens, hence the eight at a time. */
static void scan_space(struct ct_json *j)
{
    const uint8_t *p = j->text + j->at, *end = p + CT_MIN(j->size - j->at, (size_t)CT_JSON_SPACE_MAX);
    while (p < end) {
        if (*p == ' ') {
            while (end - p >= 8 && ct_le64(p) == 0x2020202020202020u)
                p += 8;
            while (p < end && *p == ' ')
                p++;
        } else if (*p == '\n' || *p == '\r' || *p == '\t') {
            p++;
        } else {
            break;
        }
    }
    j->at = (size_t)(p - j->text);
}

/* Makes room for n bytes in the buffer. */
static bool scan_reserve(struct ct_json *j, size_t n)
{
    if (ct_array_grow(&j->buffer, &j->capacity, n, 1))
        return true;
    ct_fail(&j->error, CARAT_E_MEMORY, "%s: at byte %zu: no memory for %zu bytes of text", j->name, j->at, n);
    j->expect = EXPECT_ERROR;
    return false;
}

/* Four hexadecimal digits at the cursor, -1 when they are not. */
static int scan_hex4(const struct ct_json *j, size_t at)
{
    int v = 0;
    if (j->size - at < 4)
        return -1;
    for (size_t i = at; i < at + 4; i++) {
        int d = ct_hex_digit((char)j->text[i]);
        if (d < 0)
            return -1;
        v = v << 4 | d;
    }
    return v;
}

/* The escape after the backslash at the cursor; writes at most 4 bytes, returns how many, 0 on error. */
static size_t scan_escape(struct ct_json *j, char *out)
{
    size_t at = j->at + 1;
    if (at >= j->size) {
        j->at = at;
        return scan_refuse(j, "an escape"), 0;
    }
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *simple = j->text[at] ? strchr(from, j->text[at]) : NULL;
    if (simple) {
        j->at = at + 1;
        out[0] = to[simple - from];
        return 1;
    }
    if (j->text[at] != 'u') {
        j->at = at;
        return scan_refuse(j, "one of \"\\/bfnrtu after a backslash"), 0;
    }
    int c = scan_hex4(j, at + 1);
    if (c < 0)
        return ct_json_fail(j, "\\u is not followed by four hexadecimal digits"), 0;
    at += 5;
    if (c >= 0xd800 && c < 0xe000) {
        int low = -1;
        if (c < 0xdc00 && j->size - at >= 2 && j->text[at] == '\\' && j->text[at + 1] == 'u')
            low = scan_hex4(j, at + 2);
        if (low < 0xdc00 || low >= 0xe000)
            return ct_json_fail(j, "the surrogate \\u%04x has no partner", (unsigned)c), 0;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        at += 6;
    }
    j->at = at;
    return ct_utf8_encode((uint32_t)c, out);
}

/* Index of the first byte from at on that is '"', '\\', a control character or invalid UTF-8, or lies
 * beyond end. */
static size_t scan_plain(const struct ct_json *j, size_t at, size_t end)
{
    while (at < end) {
        uint8_t c = j->text[at];
        if (c == '"' || c == '\\' || c < 0x20)
            break;
        size_t n = c < 0x80 ? 1 : ct_utf8_length(j->text + at, j->size - at);
        if (n == 0)
            break;
        at += n;
    }
    return at;
}

/* The string whose opening quote is at the cursor, into j->string. */
static bool scan_string(struct ct_json *j)
{
    size_t start = ++j->at, end = start + CT_MIN(j->size - start, (size_t)CT_JSON_STRING_MAX), used = 0;
    bool escaped = false;
    for (;;) {
        size_t stop = scan_plain(j, j->at, end);
        if (escaped || (stop < j->size && j->text[stop] == '\\')) {
            size_t run = stop - j->at;
            if (!scan_reserve(j, used + run + 4))
                return false;
            memcpy(j->buffer + used, j->text + j->at, run);
            used += run;
            escaped = true;
        }
        j->at = stop;
        if (stop >= j->size)
            return scan_refuse(j, "the closing '\"' of a string"), false;
        if (stop >= end && j->text[stop] != '"')
            return ct_json_fail(j, "the string is longer than %d bytes", CT_JSON_STRING_MAX), false;
        uint8_t c = j->text[stop];
        if (c == '"') {
            j->string.s = escaped ? j->buffer : (const char *)j->text + start;
            j->string.n = escaped ? used : stop - start;
            j->at = stop + 1;
            return true;
        }
        if (c != '\\')
            return ct_json_fail(j,
                                c < 0x20 ? "the control character 0x%02x stands unescaped in a string"
                                         : "the string is not valid UTF-8 (byte 0x%02x)",
                                c),
                   false;
        size_t n = scan_escape(j, j->buffer + used);
        if (n == 0)
            return false;
        used += n;
    }
}

/* Decimal digits and a power of ten to the nearest double. Small cases are one exact operation; the others
 * go to strtod in a spelling without a decimal point, so that the locale does not matter. */
static bool scan_double(struct ct_json *j, size_t from, uint64_t digits, int n_digits, long exponent)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    bool negative = j->text[from] == '-';
    if (n_digits <= 15 && exponent >= -22 && exponent <= 22) {
        double v = exponent < 0 ? (double)digits / power[-exponent] : (double)digits * power[exponent];
        j->number = negative ? -v : v;
        return true;
    }
    char spelled[CT_JSON_NUMBER_MAX + 32];
    size_t n = 0;
    for (size_t i = from; i < j->at && (j->text[i] | 32) != 'e'; i++)
        if (j->text[i] != '.')
            spelled[n++] = (char)j->text[i];
    snprintf(spelled + n, 32, "e%ld", exponent);
    double v = strtod(spelled, NULL);
    if (v - v != 0) {
        j->at = from;
        return ct_json_fail(j, "the number is beyond the range of a double"), false;
    }
    j->number = v;
    return true;
}

static bool scan_is_digit(const struct ct_json *j, size_t at)
{
    return at < j->size && j->text[at] >= '0' && j->text[at] <= '9';
}

/* Takes the digits at the cursor, at least one, as far as a number that begins at `from` may go. The first 19
 * digits from one that is not 0 on make *digits; *n_digits counts all of these. False: there is none. */
static bool scan_digits(struct ct_json *j, size_t from, uint64_t *digits, int *n_digits)
{
    size_t at = j->at;
    if (!scan_is_digit(j, at))
        return scan_refuse(j, "a digit"), false;
    for (; scan_is_digit(j, at) && at - from <= CT_JSON_NUMBER_MAX; at++) {
        uint64_t digit = j->text[at] - (uint64_t)'0';
        *digits = *n_digits < 19 ? *digits * 10 + digit : *digits;
        *n_digits += *n_digits > 0 || digit > 0;
    }
    j->at = at;
    return true;
}

/* The character at the cursor; 0 at the end. */
static uint8_t scan_peek(const struct ct_json *j)
{
    return j->at < j->size ? j->text[j->at] : 0;
}

static enum ct_json_token scan_number(struct ct_json *j)
{
    size_t from = j->at;
    uint64_t digits = 0, e = 0;
    int n_digits = 0, n_e = 0;
    long exponent = 0;
    j->at += scan_peek(j) == '-';
    size_t first = j->at;
    if (!scan_digits(j, from, &digits, &n_digits))
        return CT_JSON_ERROR;
    if (j->text[first] == '0' && j->at - first > 1) {
        j->at = first;
        return ct_json_fail(j, "a number begins with a superfluous 0"), CT_JSON_ERROR;
    }
    if (scan_peek(j) == '.') {
        size_t fraction = ++j->at;
        if (!scan_digits(j, from, &digits, &n_digits))
            return CT_JSON_ERROR;
        exponent = -(long)(j->at - fraction);
    }
    if ((scan_peek(j) | 32) == 'e') {
        j->at++;
        bool negative = scan_peek(j) == '-';
        j->at += negative || scan_peek(j) == '+';
        if (!scan_digits(j, from, &e, &n_e))
            return CT_JSON_ERROR;
        exponent += (negative ? -1 : 1) * (long)CT_MIN(e, 100000000u);
    }
    if (j->at - from > CT_JSON_NUMBER_MAX)
        return ct_json_fail(j, "the number is longer than %d characters", CT_JSON_NUMBER_MAX), CT_JSON_ERROR;
    return scan_double(j, from, digits, n_digits, exponent) ? CT_JSON_NUMBER : CT_JSON_ERROR;
}

double ct_json_decimal(struct ct_str spelled)
{
    struct ct_json j = {.text = (const uint8_t *)spelled.s, .size = spelled.n};
    return scan_number(&j) == CT_JSON_NUMBER ? j.number : 0;
}

bool ct_json_whole(struct ct_str spelled, int64_t *out)
{
    bool negative = spelled.n && spelled.s[0] == '-';
    int64_t value = 0;
    for (size_t i = negative; i < spelled.n; i++) /* downwards: the lowest integer has no positive twin */
        if (spelled.s[i] < '0' || spelled.s[i] > '9' || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, spelled.s[i] - '0', &value))
            return false;
    if (!negative && __builtin_sub_overflow((int64_t)0, value, &value))
        return false;
    *out = value;
    return true;
}

static enum ct_json_token scan_word(struct ct_json *j, const char *spelling, enum ct_json_token token)
{
    size_t n = strlen(spelling);
    if (j->size - j->at < n || memcmp(j->text + j->at, spelling, n) != 0)
        return scan_refuse(j, "a value");
    j->at += n;
    return token;
}

static void scan_value_done(struct ct_json *j)
{
    if (j->expect != EXPECT_ERROR)
        j->expect = j->depth ? EXPECT_COMMA_OR_END : EXPECT_NOTHING;
}

static enum ct_json_token scan_open(struct ct_json *j, uint8_t bracket)
{
    if (j->depth == CT_JSON_DEPTH)
        return ct_json_fail(j, "nested deeper than %d levels", CT_JSON_DEPTH), CT_JSON_ERROR;
    j->stack[j->depth++] = bracket;
    j->at++;
    j->expect = bracket == '{' ? EXPECT_KEY_OR_END : EXPECT_VALUE_OR_END;
    return bracket == '{' ? CT_JSON_OBJECT : CT_JSON_ARRAY;
}

static enum ct_json_token scan_close(struct ct_json *j)
{
    uint8_t bracket = j->stack[--j->depth];
    j->start = j->at;
    j->at++;
    scan_value_done(j);
    return bracket == '{' ? CT_JSON_OBJECT_END : CT_JSON_ARRAY_END;
}

static enum ct_json_token scan_value(struct ct_json *j)
{
    enum ct_json_token token;
    j->start = j->at;
    if (j->at >= j->size)
        return scan_refuse(j, "a value");
    switch (j->text[j->at]) {
    case '{':
    case '[':
        return scan_open(j, j->text[j->at]);
    case '"':
        token = scan_string(j) ? CT_JSON_STRING : CT_JSON_ERROR;
        break;
    case 't':
        token = scan_word(j, "true", CT_JSON_TRUE);
        break;
    case 'f':
        token = scan_word(j, "false", CT_JSON_FALSE);
        break;
    case 'n':
        token = scan_word(j, "null", CT_JSON_NULL);
        break;
    case '-':
        token = scan_number(j);
        break;
    default:
        token = scan_is_digit(j, j->at) ? scan_number(j) : scan_refuse(j, "a value");
    }
    scan_value_done(j);
    return token;
}

/* The key whose quote is at the cursor and its colon. */
static enum ct_json_token scan_key(struct ct_json *j)
{
    j->start = j->at;
    if (j->at >= j->size || j->text[j->at] != '"')
        return scan_refuse(j, "a key");
    if (!scan_string(j))
        return CT_JSON_ERROR;
    scan_space(j);
    if (j->at >= j->size || j->text[j->at] != ':')
        return scan_refuse(j, "':' after a key");
    j->at++;
    j->expect = EXPECT_VALUE;
    return CT_JSON_KEY;
}

enum ct_json_token ct_json_next(struct ct_json *j)
{
    if (j->expect == EXPECT_ERROR)
        return CT_JSON_ERROR;
    scan_space(j);
    uint8_t c = j->at < j->size ? j->text[j->at] : 0;
    bool in_object = j->depth && j->stack[j->depth - 1] == '{';
    switch (j->expect) {
    case EXPECT_VALUE_OR_END:
        return c == ']' ? scan_close(j) : scan_value(j);
    case EXPECT_KEY_OR_END:
        return c == '}' ? scan_close(j) : scan_key(j);
    case EXPECT_COMMA_OR_END:
        if (c == (in_object ? '}' : ']'))
            return scan_close(j);
        if (c != ',')
            return scan_refuse(j, in_object ? "',' or '}'" : "',' or ']'");
        j->at++;
        scan_space(j);
        return in_object ? scan_key(j) : scan_value(j);
    case EXPECT_NOTHING:
        return j->at < j->size ? scan_refuse(j, "nothing after the document") : CT_JSON_END;
    default:
        return scan_value(j);
    }
}

bool ct_json_skip(struct ct_json *j)
{
    int depth = j->depth;
    enum ct_json_token token;
    do
        token = ct_json_next(j);
    while (token != CT_JSON_ERROR && token != CT_JSON_END && (j->depth > depth || token == CT_JSON_KEY));
    return token != CT_JSON_ERROR;
}
