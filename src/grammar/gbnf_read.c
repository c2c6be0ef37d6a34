/* SPDX-License-Identifier: Apache-2.0 */
/* gbnf_read.c: see gbnf_read.h. */
#include "grammar/gbnf_read.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/utf8.h"

void ct_gbnf_free(struct ct_gbnf *b)
{
    free(b->item);
    free(b->literal);
    ct_ranges_free(&b->ranges);
}

bool ct_gbnf_fail(struct ct_gbnf *b, size_t at, const char *format, ...)
{
    char text[240];
    size_t line = 1, begin = 0;

    CT_FORMAT(text, format);
    if (b->status != CARAT_OK)
        return false;
    for (size_t i = 0; i < at && i < b->text.n; i++)
        if (b->text.s[i] == '\n') {
            line++;
            begin = i + 1;
        }
    b->status = ct_fail(b->err, CARAT_E_ARGUMENT, "line %zu, column %zu: %s", line, at - begin + 1, text);
    return false;
}

bool ct_gbnf_memory(struct ct_gbnf *b)
{
    if (b->status == CARAT_OK)
        b->status = ct_no_memory(b->err, "a grammar");
    return false;
}

/* The byte at a distance from where the reader is; 0 behind the end (a grammar has no such byte). */
static char gbnf_peek(const struct ct_gbnf *b, size_t distance)
{
    return b->text.n - b->at > distance ? b->text.s[b->at + distance] : 0;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-';
}

static bool is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || is_line_end(c);
}

/* ---- characters ---- */

static const struct {
    char letter, code;
} short_escapes[] = {{'t', '\t'}, {'r', '\r'}, {'n', '\n'}, {'\\', '\\'},
                     {'"', '"'},  {'[', '['},  {']', ']'},  {'-', '-'}};

static const struct {
    char letter;
    uint8_t digits;
} long_escapes[] = {{'x', 2}, {'u', 4}, {'U', 8}};

/* A character of a literal or class. */
static bool read_char(struct ct_gbnf *b, uint32_t *code)
{
    const size_t at = b->at;
    const char letter = gbnf_peek(b, 1);

    if (gbnf_peek(b, 0) != '\\') {
        const uint8_t *p = (const uint8_t *)b->text.s + at;
        const size_t n = ct_utf8_length(p, b->text.n - at);
        b->at += n;
        *code = ct_utf8_decode(p, n);
        return true;
    }
    b->at += 2;
    for (size_t i = 0; i < CT_COUNT(short_escapes); i++)
        if (letter == short_escapes[i].letter) {
            *code = (uint32_t)short_escapes[i].code;
            return true;
        }
    for (size_t i = 0; i < CT_COUNT(long_escapes); i++) {
        const size_t n = long_escapes[i].digits;
        if (letter != long_escapes[i].letter)
            continue;
        if (b->at > b->text.n || !ct_hex_number(b->text.s + b->at, b->text.n - b->at, n, code))
            return ct_gbnf_fail(b, at, "found \\%c, expected %zu hexadecimal digits behind it", letter, n);
        b->at += n;
        if (*code > CT_LAST_CHAR)
            return ct_gbnf_fail(b, at, "found the number %x, expected 10ffff at most", (unsigned)*code);
        if (ct_is_surrogate(*code))
            return ct_gbnf_fail(b, at, "found %x, which is half of a pair, expected \\U and eight digits",
                                (unsigned)*code);
        return true;
    }
    return ct_gbnf_fail(b, at, "found an escape that is not known, expected one of tnrxuU\\\"[]-");
}

/* "..." */
static bool read_literal(struct ct_gbnf *b, struct ct_gbnf_item *item)
{
    const size_t at = b->at++;

    item->kind = CT_GBNF_LITERAL;
    item->first = (uint32_t)b->n_literal;
    while (gbnf_peek(b, 0) != '"') {
        uint32_t code;
        if (b->at >= b->text.n)
            return ct_gbnf_fail(b, at, "found \" without the one that ends the text");
        if (!read_char(b, &code))
            return false;
        b->n_literal += ct_utf8_encode(code, b->literal + b->n_literal);
    }
    b->at++;
    item->n = (uint32_t)b->n_literal - item->first;
    return true;
}

/* Takes the ranges of one class over. */
static bool keep_class(struct ct_gbnf *b, struct ct_gbnf_item *item, const struct ct_ranges *class)
{
    item->kind = CT_GBNF_CLASS;
    item->first = (uint32_t)b->ranges.n;
    item->n = (uint32_t) class->n;
    for (size_t i = 0; i < class->n; i++)
        if (!ct_ranges_add(&b->ranges, class->range[i].low, class->range[i].high))
            return ct_gbnf_memory(b);
    return true;
}

/* Reads what stands between [ and ], which are read by the caller. */
static bool read_members(struct ct_gbnf *b, size_t begin, struct ct_ranges *class)
{
    while (gbnf_peek(b, 0) != ']') {
        const size_t at = b->at;
        uint32_t low, high;
        if (b->at >= b->text.n)
            return ct_gbnf_fail(b, begin, "found [ without its ]");
        if (!read_char(b, &low))
            return false;
        high = low;
        if (gbnf_peek(b, 0) == '-' && b->text.n - b->at > 1 && gbnf_peek(b, 1) != ']') {
            b->at++;
            if (!read_char(b, &high))
                return false;
        }
        if (high < low)
            return ct_gbnf_fail(b, at, "found a range from U+%04X down to U+%04X", (unsigned)low,
                                (unsigned)high);
        if (!ct_ranges_add(class, low, high))
            return ct_gbnf_memory(b);
    }
    return true;
}

static bool read_class(struct ct_gbnf *b, struct ct_gbnf_item *item)
{
    const size_t at = b->at++;
    const bool inverts = gbnf_peek(b, 0) == '^';
    struct ct_ranges class = {0};

    b->at += inverts;
    if (gbnf_peek(b, 0) == ']')
        return ct_gbnf_fail(b, at, "found a class without characters, expected some before ]");
    const bool done = read_members(b, at, &class) &&
                      (ct_ranges_settle(&class, inverts) || ct_gbnf_memory(b)) && keep_class(b, item, &class);
    ct_ranges_free(&class);
    b->at++;
    return done;
}

/* A dot: any character, line ends too. */
static bool read_dot(struct ct_gbnf *b, struct ct_gbnf_item *item)
{
    struct ct_range all = {0, CT_LAST_CHAR};

    b->at++;
    return keep_class(b, item, &(struct ct_ranges){.range = &all, .n = 1});
}

/* ---- tokens ---- */

/* <name> or <[id]>, perhaps behind !. */
static bool read_token(struct ct_gbnf *b, struct ct_gbnf_item *item)
{
    const size_t at = b->at;
    const char *text = b->text.s;

    item->kind = gbnf_peek(b, 0) == '!' ? CT_GBNF_OTHERS : CT_GBNF_TOKEN;
    b->at += item->kind == CT_GBNF_OTHERS;
    const size_t begin = b->at;
    if (gbnf_peek(b, 0) != '<')
        return ct_gbnf_fail(b, at, "found ! without a token, expected < behind it");
    while (b->at < b->text.n && text[b->at] != '>' && !is_line_end(text[b->at]))
        b->at++;
    if (gbnf_peek(b, 0) != '>')
        return ct_gbnf_fail(b, begin, "found < without its >");
    b->at++;
    const struct ct_str name = {text + begin, b->at - begin};
    const struct ct_tokenizer *t = b->tokenizer;
    if (!t)
        return ct_gbnf_fail(b, begin, "found the token %.*s, and there is no vocabulary that would have it",
                            CT_BRIEF(name));
    if (name.n > 4 && text[begin + 1] == '[' && text[begin + name.n - 2] == ']') {
        for (size_t i = begin + 2; i < begin + name.n - 2; i++) {
            if (!is_digit(text[i]))
                return ct_gbnf_fail(b, begin, "found %.*s, expected the number of a token", CT_BRIEF(name));
            item->id = CT_MIN(item->id * 10 + (text[i] - '0'), INT32_MAX / 16);
        }
    } else {
        item->id = ct_tokenizer_find(t, name);
    }
    if (item->id < 0 || item->id >= ct_tokenizer_size(t))
        return ct_gbnf_fail(b, begin, "found the token %.*s, which the vocabulary has not", CT_BRIEF(name));
    if (!ct_tokenizer_is_control(t, item->id))
        return ct_gbnf_fail(b, begin, "found %.*s, which is text, expected it between quotes",
                            CT_BRIEF(name));
    return true;
}

/* ---- repeats ---- */

static bool repeat_count(struct ct_gbnf *b, int32_t *out)
{
    const size_t begin = b->at;

    *out = 0;
    for (; is_digit(gbnf_peek(b, 0)); b->at++)
        *out = CT_MIN(*out * 10 + (gbnf_peek(b, 0) - '0'), CT_NODES_MAX + 1);
    return b->at > begin;
}

static void skip_spaces(struct ct_gbnf *b)
{
    while (is_space(gbnf_peek(b, 0)))
        b->at++;
}

/* {m}, {m,} and {m,n} */
static bool read_braces(struct ct_gbnf *b, struct ct_gbnf_item *item)
{
    const size_t at = b->at++;

    skip_spaces(b);
    if (!repeat_count(b, &item->min))
        return ct_gbnf_fail(b, at, "found {, expected a number behind it");
    item->most = item->min;
    skip_spaces(b);
    if (gbnf_peek(b, 0) == ',') {
        b->at++;
        skip_spaces(b);
        if (!repeat_count(b, &item->most))
            item->most = CT_GBNF_NO_BOUND;
        skip_spaces(b);
    }
    if (gbnf_peek(b, 0) != '}')
        return ct_gbnf_fail(b, at, "found {, expected one number or two, and }");
    b->at++;
    if (item->min > CT_NODES_MAX || item->most > CT_NODES_MAX)
        return ct_gbnf_fail(b, at, "found a repeat of more than %d times", CT_NODES_MAX);
    if (item->most != CT_GBNF_NO_BOUND && item->most < item->min)
        return ct_gbnf_fail(b, at, "found a repeat of at least %d and at most %d times", (int)item->min,
                            (int)item->most);
    return true;
}

/* ---- all ---- */

/* Items of one character. */
static const struct {
    char sign;
    uint8_t kind;
    int8_t min, most;
} signs[] = {
    {'(', CT_GBNF_OPEN, 0, 0},
    {')', CT_GBNF_CLOSE, 0, 0},
    {'|', CT_GBNF_BAR, 0, 0},
    {'*', CT_GBNF_REPEAT, 0, CT_GBNF_NO_BOUND},
    {'+', CT_GBNF_REPEAT, 1, CT_GBNF_NO_BOUND},
    {'?', CT_GBNF_REPEAT, 0, 1},
    {'\n', CT_GBNF_LINE, 0, 0},
    {'\r', CT_GBNF_LINE, 0, 0},
};

/* Items that begin with a character. */
static const struct {
    char sign;
    bool (*read)(struct ct_gbnf *b, struct ct_gbnf_item *item);
} begins[] = {{'"', read_literal}, {'[', read_class}, {'.', read_dot},
              {'<', read_token},   {'!', read_token}, {'{', read_braces}};

static bool read_item(struct ct_gbnf *b, struct ct_gbnf_item *item)
{
    const char c = gbnf_peek(b, 0);

    *item = (struct ct_gbnf_item){.kind = CT_GBNF_REPEAT, .at = (uint32_t)b->at};
    for (size_t i = 0; i < CT_COUNT(signs); i++)
        if (c == signs[i].sign) {
            item->kind = signs[i].kind;
            item->min = signs[i].min;
            item->most = signs[i].most;
            b->at++;
            return true;
        }
    for (size_t i = 0; i < CT_COUNT(begins); i++)
        if (c == begins[i].sign)
            return begins[i].read(b, item);
    if (is_word(c)) {
        item->kind = CT_GBNF_NAME;
        item->first = item->at;
        while (is_word(gbnf_peek(b, 0)))
            b->at++;
        item->n = (uint32_t)b->at - item->first;
        if (gbnf_peek(b, 0) == '_')
            return ct_gbnf_fail(b, b->at, "found _ in a name, expected letters, digits and - alone");
        return true;
    }
    if (c == ':' && gbnf_peek(b, 1) == ':' && gbnf_peek(b, 2) == '=') {
        item->kind = CT_GBNF_DEFINE;
        b->at += 3;
        return true;
    }
    const size_t n = ct_utf8_length((const uint8_t *)b->text.s + b->at, b->text.n - b->at);
    return ct_gbnf_fail(b, b->at, "found %.*s, expected a name, a text, a class, a group or a line end",
                        (int)n, b->text.s + b->at);
}

static bool add_item(struct ct_gbnf *b, const struct ct_gbnf_item *item)
{
    if (!ct_array_grow(&b->item, &b->room, b->n + 1, sizeof *b->item))
        return ct_gbnf_memory(b);
    b->item[b->n++] = *item;
    return true;
}

static bool read_items(struct ct_gbnf *b)
{
    struct ct_gbnf_item item;

    while (b->at < b->text.n) {
        const char c = gbnf_peek(b, 0);
        if (c == '#')
            while (b->at < b->text.n && !is_line_end(gbnf_peek(b, 0)))
                b->at++;
        else if (c == ' ' || c == '\t')
            b->at++;
        else if (!read_item(b, &item) || !add_item(b, &item))
            return false;
    }
    return add_item(b, &(struct ct_gbnf_item){.kind = CT_GBNF_LINE, .at = (uint32_t)b->at});
}

/* Finds the brackets that belong together, and leaves out the lines that end no rule. The brackets that are
 * open are a list in their own ids. */
static bool match_items(struct ct_gbnf *b)
{
    int32_t open = -1;
    size_t kept = 0;

    for (size_t i = 0; i < b->n; i++) {
        const struct ct_gbnf_item item = b->item[i];
        const uint8_t last = kept ? b->item[kept - 1].kind : CT_GBNF_LINE;
        if (item.kind == CT_GBNF_LINE &&
            (open >= 0 || last == CT_GBNF_LINE || last == CT_GBNF_BAR || last == CT_GBNF_DEFINE) &&
            i + 1 < b->n)
            continue;
        kept -= item.kind == CT_GBNF_BAR && kept > 1 && last == CT_GBNF_LINE;
        b->item[kept] = item;
        if (item.kind == CT_GBNF_OPEN) {
            b->item[kept].id = open;
            open = (int32_t)kept;
        } else if (item.kind == CT_GBNF_CLOSE) {
            if (open < 0)
                return ct_gbnf_fail(b, item.at, "found ) without its (");
            const int32_t outer = b->item[open].id;
            b->item[open].id = (int32_t)kept;
            open = outer;
        }
        kept++;
    }
    b->n = kept - 1; /* a line is behind it */
    return open < 0 || ct_gbnf_fail(b, b->item[open].at, "found ( without its )");
}

bool ct_gbnf_read(struct ct_gbnf *b)
{
    if (b->text.n > CT_GBNF_MAX)
        return ct_gbnf_fail(b, CT_GBNF_MAX, "found a grammar of %zu bytes, expected %d at most", b->text.n,
                            CT_GBNF_MAX);
    const size_t flaw = ct_text_flaw(b->text);
    if (flaw < b->text.n)
        return ct_gbnf_fail(b, flaw, "%s", ct_text_flaw_name(b->text, flaw));
    b->literal = malloc(b->text.n + 1); /* no character is longer decoded than spelled */
    return (b->literal || ct_gbnf_memory(b)) && read_items(b) && match_items(b);
}
