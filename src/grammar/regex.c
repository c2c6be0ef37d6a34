/* SPDX-License-Identifier: Apache-2.0 */
/* regex.c: see regex.h. A pattern is read once, from left to right, and becomes a network as it is read; open
 * groups stand on a stack of their own. */
#include "grammar/regex.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/utf8.h"
#include "grammar/char_ranges.h"
#include "grammar/language.h"

/* ---- networks ---- */

/* What a regular expression becomes while it is read: nodes, and arcs that take a character, nothing, or the
 * place that an anchor asks for. What is repeated lies together, so that a bounded repeat copies it. At the
 * end each text is followed with what is known of its place, and a language is left.
 *
 * The first thing that goes wrong sticks, and everything after it does nothing. */

/* On the way, before what nothing leads to is left out. */
enum { NETWORK_NODES = 200000, NETWORK_ARCS = 4 * NETWORK_NODES, NO_BOUND = -1 };

/* Arcs that take no character have one of these as low, and 0 as high. */
enum { ARC_SKIP = 1, ARC_BEGIN, ARC_END };

struct network {
    struct ct_arc *arc; /* [n_arcs] */
    size_t arc_room;
    int32_t n_arcs, n_nodes;
    struct ct_grammar_watch *watch; /* borrowed; or NULL */
    carat_status status;            /* CARAT_E_ARGUMENT: more nodes or arcs than there may be */
};

/* The part that a quantifier repeats: all nodes and arcs from the first ones on. No other arc leads to start,
 * but one from before, or away from end. */
struct piece {
    int32_t before, start, end;
    int32_t first_node, first_arc;
};

static void network_free(struct network *net)
{
    free(net->arc);
    *net = (struct network){0};
}

/* -1 after a failure, which all others take. */
static int32_t network_node(struct network *net)
{
    if (net->status == CARAT_OK && net->n_nodes == NETWORK_NODES)
        net->status = CARAT_E_ARGUMENT;
    return net->status == CARAT_OK ? net->n_nodes++ : -1;
}

static void network_arc(struct network *net, int32_t from, uint32_t low, uint32_t high, int32_t to)
{
    if (net->status != CARAT_OK || from < 0 || to < 0)
        return;
    if (ct_watch_ended(net->watch, 1))
        net->status = CARAT_E_CANCELLED;
    else if (net->n_arcs == NETWORK_ARCS)
        net->status = CARAT_E_ARGUMENT;
    else if (!ct_array_grow(&net->arc, &net->arc_room, (size_t)net->n_arcs + 1, sizeof *net->arc))
        net->status = CARAT_E_MEMORY;
    else
        net->arc[net->n_arcs++] = (struct ct_arc){from, to, low, high};
}

static void network_skip(struct network *net, int32_t from, int32_t to)
{
    if (from != to)
        network_arc(net, from, ARC_SKIP, 0, to);
}

/* n nodes of a piece, and its arcs up to last_arc, once more, behind all that is there. */
static void copy_piece(struct network *net, const struct piece *p, int32_t n, int32_t last_arc)
{
    const int32_t by = net->n_nodes - p->first_node;

    if (n > NETWORK_NODES - net->n_nodes)
        net->status = CARAT_E_ARGUMENT;
    else
        net->n_nodes += n;
    for (int32_t i = p->first_arc; i < last_arc && net->status == CARAT_OK; i++) {
        const struct ct_arc a = net->arc[i];
        network_arc(net, a.from + by, a.low, a.high, a.to + by);
    }
}

/* The piece min times at least, most times at most (NO_BOUND: without end). Returns the node where it
 * ends. */
static int32_t network_repeat(struct network *net, const struct piece *p, int32_t min, int32_t most)
{
    const int32_t copies = most == NO_BOUND ? CT_MAX(min, 1) : most;
    const int32_t n = net->n_nodes - p->first_node, last_arc = net->n_arcs, out = network_node(net);
    int32_t start = p->start, end = p->end;

    if (copies == 0)
        network_skip(net, p->before, out);
    for (int32_t i = 0; i < copies && net->status == CARAT_OK; i++) {
        if (i > 0) {
            const int32_t by = net->n_nodes - p->first_node, last = end;
            copy_piece(net, p, n, last_arc);
            start = p->start + by;
            end = p->end + by;
            network_skip(net, last, start);
        }
        if (i >= min)
            network_skip(net, start, out);
    }
    if (most == NO_BOUND)
        network_skip(net, end, start);
    if (copies > 0)
        network_skip(net, end, out);
    return net->status == CARAT_OK ? out : -1;
}

/* ---- anchors ---- */

/* Facts about a place in a text, in bits. */
enum { TAKEN = 1, ENDED = 2, PLACES = 4 };

/* Nodes with what is known there, in the order in which they are met. */
struct anchored {
    const struct network *net;
    int32_t *first, *arc; /* arcs of a node, by their indices */
    int32_t *state;       /* [n_nodes * PLACES] of the language, -1: not met */
    int32_t *queue;
    int32_t n;
    bool begins; /* there are arcs that ask for the beginning */
};

static bool anchored_open(struct anchored *a)
{
    const struct network *net = a->net;
    const size_t nodes = (size_t)net->n_nodes, pairs = nodes * PLACES;

    a->first = calloc(nodes + 2, sizeof *a->first);
    a->arc = malloc(((size_t)net->n_arcs + 1) * sizeof *a->arc);
    a->state = malloc(pairs * sizeof *a->state);
    a->queue = malloc(pairs * sizeof *a->queue);
    if (!a->first || !a->arc || !a->state || !a->queue)
        return false;
    for (size_t i = 0; i < pairs; i++)
        a->state[i] = -1;
    for (int32_t i = 0; i < net->n_arcs; i++) {
        const struct ct_arc *arc = &net->arc[i];
        a->first[arc->from + 2]++;
        a->begins |= arc->high == 0 && arc->low == ARC_BEGIN;
    }
    for (int32_t i = 0; i < net->n_nodes; i++)
        a->first[i + 2] += a->first[i + 1];
    for (int32_t i = 0; i < net->n_arcs; i++)
        a->arc[a->first[net->arc[i].from + 1]++] = i;
    return true;
}

/* A node from which one arc leads away, and takes nothing, is the node behind it. */
static int32_t node_behind(const struct anchored *a, int32_t node, int32_t end)
{
    for (int hops = 0; hops < 64 && node != end && a->first[node + 1] - a->first[node] == 1; hops++) {
        const struct ct_arc *arc = &a->net->arc[a->arc[a->first[node]]];
        if (arc->high != 0 || arc->low != ARC_SKIP)
            break;
        node = arc->to;
    }
    return node;
}

static int32_t anchored_state(struct anchored *a, int32_t node, int place, int32_t end,
                              struct ct_language *out)
{
    node = node_behind(a, node, end);
    const int32_t pair = node * PLACES + place;

    if (a->state[pair] < 0) {
        a->state[pair] = ct_language_state(out, node == end);
        if (a->state[pair] >= 0)
            a->queue[a->n++] = pair;
    }
    return a->state[pair];
}

/* Follows the arcs from start on: characters only before the end of a text, ^ only while none was taken. */
static void anchored_run(struct anchored *a, int32_t start, int32_t end, struct ct_language *out)
{
    anchored_state(a, start, 0, end, out);
    for (int32_t next = 0; next < a->n && !ct_language_failed(out); next++) {
        const int32_t node = a->queue[next] / PLACES, from = a->state[a->queue[next]];
        const int place = a->queue[next] % PLACES;
        for (int32_t i = a->first[node]; i < a->first[node + 1]; i++) {
            const struct ct_arc *arc = &a->net->arc[a->arc[i]];
            const bool takes = arc->low <= arc->high;
            if ((takes && (place & ENDED)) || (!takes && arc->low == ARC_BEGIN && (place & TAKEN)))
                continue;
            const int then =
                place | (takes && a->begins ? TAKEN : 0) | (!takes && arc->low == ARC_END ? ENDED : 0);
            const int32_t to = anchored_state(a, arc->to, then, end, out);
            if (takes)
                ct_language_arc(out, from, arc->low, arc->high, to);
            else
                ct_language_skip(out, from, to);
        }
    }
}

/* The texts from node start to node end. */
static carat_status network_language(const struct network *net, int32_t start, int32_t end,
                                     struct ct_language *out, carat_error *err)
{
    struct anchored a = {.net = net};
    const bool open = anchored_open(&a);

    if (open)
        anchored_run(&a, start, end, out);
    free(a.first);
    free(a.arc);
    free(a.state);
    free(a.queue);
    if (!open)
        return ct_no_memory(err, "a pattern");
    return ct_language_failed(out) ? ct_fail(err, out->error.code, "%s", out->error.message) : CARAT_OK;
}

/* ---- reading ---- */

struct group {
    int32_t before, start, end; /* end: -1 while the group has one alternative */
    int32_t first_node, first_arc;
    size_t at; /* of its bracket */
};

struct regex {
    const char *s;
    size_t n, at;
    struct network net;
    int32_t now;         /* where what was read so far ends */
    struct group *group; /* [depth]; the first one is the pattern */
    size_t depth, group_room;
    struct ct_ranges set; /* of the character or class that was read last */
    size_t error_at;
    carat_error *err;
    carat_status status;
};

static bool regex_fail(struct regex *r, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The first failure stays. Returns false. */
static bool regex_fail(struct regex *r, size_t at, const char *format, ...)
{
    char text[160];

    CT_FORMAT(text, format);
    if (r->status == CARAT_OK) {
        r->error_at = at;
        r->status = ct_fail(r->err, CARAT_E_ARGUMENT, "byte %zu: %s", at, text);
    }
    return false;
}

static bool regex_cancelled(struct regex *r)
{
    if (r->status == CARAT_OK)
        r->status = ct_watch_fail(r->err);
    return false;
}

static bool regex_memory(struct regex *r)
{
    if (r->status == CARAT_OK)
        r->status = ct_no_memory(r->err, "a pattern");
    return false;
}

/* The byte at a distance from where the reader is; 0 behind the end (a pattern has no such byte). */
static char regex_peek(const struct regex *r, size_t distance)
{
    return r->n - r->at > distance ? r->s[r->at + distance] : 0;
}

static bool regex_follows(const struct regex *r, const char *text)
{
    const size_t n = strlen(text);

    return r->n - r->at >= n && memcmp(r->s + r->at, text, n) == 0;
}

/* ---- quantifiers ---- */

/* A decimal number; what is larger than any pattern may need stays larger. */
static bool bound_of(const struct regex *r, size_t *at, int32_t *out)
{
    const size_t begin = *at;

    *out = 0;
    for (; *at < r->n && r->s[*at] >= '0' && r->s[*at] <= '9'; ++*at)
        *out = CT_MIN(*out * 10 + (r->s[*at] - '0'), NETWORK_NODES + 1);
    return *at > begin;
}

/* Reads what stands between braces: {m}, {m,} or {m,n}; 0 bytes: it is none, and its brace stands for
 * itself. */
static size_t read_braces(const struct regex *r, int32_t *min, int32_t *most)
{
    size_t at = r->at + 1;

    if (!bound_of(r, &at, min))
        return 0;
    *most = *min;
    if (at < r->n && r->s[at] == ',') {
        at++;
        if (!bound_of(r, &at, most))
            *most = NO_BOUND;
    }
    return at < r->n && r->s[at] == '}' ? at + 1 - r->at : 0;
}

/* The bytes of the quantifier that comes next, 0: none does. */
static size_t read_quantifier(const struct regex *r, int32_t *min, int32_t *most)
{
    static const struct {
        char sign;
        int8_t min, most;
    } sign[] = {{'*', 0, NO_BOUND}, {'+', 1, NO_BOUND}, {'?', 0, 1}};
    const char c = regex_peek(r, 0);

    for (size_t i = 0; i < CT_COUNT(sign); i++)
        if (c == sign[i].sign) {
            *min = sign[i].min;
            *most = sign[i].most;
            return 1;
        }
    return c == '{' ? read_braces(r, min, most) : 0;
}

static bool quantify(struct regex *r, const struct piece *p)
{
    int32_t min, most;
    const size_t begin = r->at, n = read_quantifier(r, &min, &most);

    if (n == 0) {
        size_t at = begin + 2;
        if (regex_follows(r, "{,")) {
            bound_of(r, &at, &most);
            if (at < r->n && r->s[at] == '}')
                return regex_fail(r, begin, "found {, which is read in two ways, expected {0, or \\{");
        }
        r->now = p->end;
        return true;
    }
    if (min > NETWORK_NODES || most > NETWORK_NODES)
        return regex_fail(r, begin, "found a repeat of more than %d times", NETWORK_NODES);
    if (most != NO_BOUND && most < min)
        return regex_fail(r, begin, "found a repeat of at least %d and at most %d times", (int)min,
                          (int)most);
    r->at += n;
    r->now = network_repeat(&r->net, p, min, most);
    if (regex_peek(r, 0) == '?') /* lazy */
        r->at++;
    if (regex_peek(r, 0) == '+')
        return regex_fail(r, r->at, "found + behind a quantifier, and possessive ones are not taken");
    if (read_quantifier(r, &min, &most))
        return regex_fail(r, r->at, "found %c behind a quantifier, expected something that it could repeat",
                          regex_peek(r, 0));
    return true;
}

/* ---- characters ---- */

static const struct ct_range digits[] = {{'0', '9'}};
static const struct ct_range word[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
/* WhiteSpace and LineTerminator of ECMA 262. */
static const struct ct_range space[] = {
    {0x09, 0x0d},     {0x20, 0x20},     {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
    {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff}};
static const struct ct_range line_ends[] = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

/* Classes that a letter behind a backslash names; with a capital letter, all but these. */
static const struct {
    char letter;
    uint8_t n;
    const struct ct_range *range;
} named[] = {{'d', CT_COUNT(digits), digits}, {'w', CT_COUNT(word), word}, {'s', CT_COUNT(space), space}};

static const struct {
    char letter, code;
} short_escapes[] = {{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'f', '\f'}, {'v', '\v'}};

/* Digits are those of back-references. */
static const struct {
    const char *letters, *what;
} refused_escapes[] = {
    {"bB", "the bound of a word"},
    {"123456789k", "a reference back"},
    {"pPX", "a property of characters"},
    {"N", "the name of a character"},
};

/* \xHH, \uHHHH, \u{H...}, \UHHHHHHHH: the digits behind the letter, which is read. */
static bool read_code(struct regex *r, size_t begin, char letter, uint32_t *code)
{
    size_t n = letter == 'x' ? 2 : letter == 'u' ? 4 : 8, close = 0;

    if (letter == 'u' && regex_peek(r, 0) == '{') {
        r->at++;
        for (n = 0; ct_hex_digit(regex_peek(r, n)) >= 0; n++)
            ;
        close = 1;
        if (n == 0 || regex_peek(r, n) != '}')
            return regex_fail(r, begin, "found \\u{, expected hexadecimal digits and } behind it");
        while (n > 8 && regex_peek(r, 0) == '0') { /* they may be many */
            r->at++;
            n--;
        }
        if (n > 8)
            return regex_fail(r, begin, "found a number of %zu digits, expected 10ffff at most", n);
    }
    if (!ct_hex_number(r->s + r->at, r->n - r->at, n, code))
        return regex_fail(r, begin, "found \\%c, expected %zu hexadecimal digits behind it", letter, n);
    r->at += n + close;
    /* two halves of a pair */
    uint32_t low;
    if (*code >= 0xd800 && *code <= 0xdbff && n == 4 && !close && regex_follows(r, "\\u") &&
        ct_hex_number(r->s + r->at + 2, r->n - r->at - 2, 4, &low) && low >= 0xdc00 && low <= 0xdfff) {
        *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
        r->at += 6;
    }
    if (*code > CT_LAST_CHAR)
        return regex_fail(r, begin, "found the number %x, expected 10ffff at most", (unsigned)*code);
    if (ct_is_surrogate(*code))
        return regex_fail(r, begin, "found %x, which is half of a pair, expected both", (unsigned)*code);
    return true;
}

static bool is_letter(char c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

/* A character that is spelled by itself: of several bytes, perhaps. */
static bool read_plain(struct regex *r, uint32_t *code)
{
    const uint8_t *at = (const uint8_t *)r->s + r->at;
    const size_t n = ct_utf8_length(at, r->n - r->at);

    r->at += n;
    *code = ct_utf8_decode(at, n);
    return true;
}

/* Reads what stands behind a backslash: *code; or a class, which is added to the set, and *code is
 * NO_CODE. */
#define NO_CODE UINT32_MAX
static bool read_escape(struct regex *r, uint32_t *code)
{
    const size_t begin = r->at++;
    const char c = regex_peek(r, 0);

    if (c == 0)
        return regex_fail(r, begin, "found a backslash at the end, expected a character behind it");
    if (!is_letter(c) && !(c >= '0' && c <= '9')) /* stands for itself */
        return read_plain(r, code);
    r->at++;
    for (size_t i = 0; i < CT_COUNT(short_escapes); i++)
        if (c == short_escapes[i].letter) {
            *code = (uint32_t)short_escapes[i].code;
            return true;
        }
    for (size_t i = 0; i < CT_COUNT(named); i++)
        if ((c | 32) == named[i].letter) {
            *code = NO_CODE;
            if (c != named[i].letter)
                return ct_ranges_add_others(&r->set, named[i].range, named[i].n) || regex_memory(r);
            for (size_t k = 0; k < named[i].n; k++)
                if (!ct_ranges_add(&r->set, named[i].range[k].low, named[i].range[k].high))
                    return regex_memory(r);
            return true;
        }
    if (c == 'x' || c == 'u' || c == 'U')
        return read_code(r, begin, c, code);
    if (c == 'c' && is_letter(regex_peek(r, 0))) {
        *code = (uint32_t)r->s[r->at++] & 31;
        return true;
    }
    if (c == '0' && !(regex_peek(r, 0) >= '0' && regex_peek(r, 0) <= '9')) {
        *code = 0;
        return true;
    }
    for (size_t i = 0; i < CT_COUNT(refused_escapes); i++)
        if (strchr(refused_escapes[i].letters, c))
            return regex_fail(r, begin, "found \\%c, %s, which is not taken", c, refused_escapes[i].what);
    return regex_fail(r, begin, "found \\%c, an escape that is not known", c);
}

/* A member of a class: a character, or NO_CODE for a class of its own. */
static bool read_member(struct regex *r, uint32_t *code)
{
    if (regex_peek(r, 0) != '\\')
        return read_plain(r, code);
    if (regex_peek(r, 1) == 'b') { /* a backspace here */
        r->at += 2;
        *code = '\b';
        return true;
    }
    return read_escape(r, code);
}

/* [...] becomes the set. */
static bool read_class(struct regex *r)
{
    const size_t begin = r->at++;
    const bool inverts = regex_peek(r, 0) == '^';

    r->at += inverts;
    if (regex_peek(r, 0) == ']')
        return regex_fail(r, begin,
                          "found %s, which is read in two ways, expected \\] for the bracket itself",
                          inverts ? "[^]" : "[]");
    while (regex_peek(r, 0) != ']') {
        const size_t at = r->at;
        uint32_t low, high;
        if (r->at == r->n)
            return regex_fail(r, begin, "found [ without its ]");
        if (!read_member(r, &low))
            return false;
        high = low;
        /* a hyphen beside a class of its own, or at the end, stands for itself */
        if (low != NO_CODE && regex_peek(r, 0) == '-' && r->n - r->at > 1 && regex_peek(r, 1) != ']') {
            r->at++;
            if (!read_member(r, &high))
                return false;
            if (high == NO_CODE) {
                high = low;
                if (!ct_ranges_add(&r->set, '-', '-'))
                    return regex_memory(r);
            }
        }
        if (low == NO_CODE)
            continue;
        if (high < low)
            return regex_fail(r, at, "found a range from U+%04X down to U+%04X", (unsigned)low,
                              (unsigned)high);
        if (!ct_ranges_add(&r->set, low, high))
            return regex_memory(r);
    }
    r->at++;
    return ct_ranges_settle(&r->set, inverts) || regex_memory(r);
}

/* A character, a class or a dot, and what repeats it. */
static bool read_single(struct regex *r)
{
    uint32_t code = NO_CODE;
    int32_t min, most;

    ct_ranges_clear(&r->set);
    if (regex_peek(r, 0) == '[') {
        if (!read_class(r))
            return false;
    } else if (regex_peek(r, 0) == '.') {
        r->at++;
        if (!ct_ranges_add_others(&r->set, line_ends, CT_COUNT(line_ends)))
            return regex_memory(r);
    } else if (!(regex_peek(r, 0) == '\\' ? read_escape(r, &code) : read_plain(r, &code)) ||
               (code != NO_CODE && !ct_ranges_add(&r->set, code, code))) {
        return regex_memory(r);
    }
    const int32_t before = r->now, first_node = r->net.n_nodes;
    const bool repeats = read_quantifier(r, &min, &most) > 0;
    const int32_t start =
        repeats ? network_node(&r->net) : before; /* what is repeated is entered by its own node */
    network_skip(&r->net, before, start);
    const int32_t first_arc = r->net.n_arcs, end = network_node(&r->net);
    for (size_t i = 0; i < r->set.n; i++)
        network_arc(&r->net, start, r->set.range[i].low, r->set.range[i].high, end);
    return quantify(r, &(struct piece){before, start, end, first_node, first_arc});
}

/* ---- groups ---- */

static bool open_group(struct regex *r, size_t at)
{
    if (!ct_array_grow(&r->group, &r->group_room, r->depth + 1, sizeof *r->group))
        return regex_memory(r);
    struct group *g = &r->group[r->depth++];
    *g = (struct group){.before = r->now, .end = -1, .first_node = r->net.n_nodes, .at = at};
    g->start = network_node(&r->net);
    if (r->depth > 1)
        network_skip(&r->net, g->before, g->start);
    g->first_arc = r->net.n_arcs;
    r->now = g->start;
    return true;
}

/* The beginnings of groups that have (?, and why one is refused. */
static const struct {
    const char *begins, *refused;
} group_kinds[] = {
    {"?:", NULL},
    {"?=", "looking ahead is not taken"},
    {"?!", "looking ahead is not taken"},
    {"?<=", "looking back is not taken"},
    {"?<!", "looking back is not taken"},
    {"?P<", NULL},
    {"?<", NULL},
    {"?P=", "a reference back is not taken"},
    {"?>", "an atomic group is not taken"},
    {"?#", "a comment is not taken"},
    {"?", "flags and kinds of groups other than (?: and (?<name> are not taken"},
};

static bool read_group(struct regex *r)
{
    const size_t begin = r->at++;

    for (size_t i = 0; i < CT_COUNT(group_kinds); i++) {
        if (!regex_follows(r, group_kinds[i].begins))
            continue;
        if (group_kinds[i].refused)
            return regex_fail(r, begin, "found (%s, and %s", group_kinds[i].begins, group_kinds[i].refused);
        r->at += strlen(group_kinds[i].begins);
        if (r->s[r->at - 1] != '<')
            break;
        const size_t name = r->at;
        while (is_letter(regex_peek(r, 0)) || regex_peek(r, 0) == '_' ||
               (r->at > name && regex_peek(r, 0) >= '0' && regex_peek(r, 0) <= '9'))
            r->at++;
        if (r->at == name || regex_peek(r, 0) != '>')
            return regex_fail(r, begin, "found (%s, expected a name and > behind it", group_kinds[i].begins);
        r->at++;
        break;
    }
    return open_group(r, begin);
}

static bool next_alternative(struct regex *r)
{
    struct group *g = &r->group[r->depth - 1];

    if (g->end < 0)
        g->end = network_node(&r->net);
    network_skip(&r->net, r->now, g->end);
    r->now = g->start;
    r->at++;
    return true;
}

/* The group that was opened last. */
static struct piece end_group(struct regex *r)
{
    const struct group *g = &r->group[--r->depth];

    if (g->end >= 0)
        network_skip(&r->net, r->now, g->end);
    return (struct piece){g->before, g->start, g->end < 0 ? r->now : g->end, g->first_node, g->first_arc};
}

static bool close_group(struct regex *r)
{
    if (r->depth == 1)
        return regex_fail(r, r->at, "found ) without its (");
    r->at++;
    const struct piece p = end_group(r);
    return quantify(r, &p);
}

/* ^ and $; \A and \Z. */
static bool read_anchor(struct regex *r, size_t n, uint32_t which)
{
    const int32_t from = r->now;
    int32_t min, most;

    r->at += n;
    if (read_quantifier(r, &min, &most))
        return regex_fail(r, r->at, "found %c behind an anchor, expected something that it could repeat",
                          regex_peek(r, 0));
    r->now = network_node(&r->net);
    network_arc(&r->net, from, which, 0, r->now);
    return true;
}

static bool read_next(struct regex *r)
{
    int32_t min, most;

    switch (regex_peek(r, 0)) {
    case '(':
        return read_group(r);
    case ')':
        return close_group(r);
    case '|':
        return next_alternative(r);
    case '^':
        return read_anchor(r, 1, ARC_BEGIN);
    case '$':
        return read_anchor(r, 1, ARC_END);
    case '\\':
        if (regex_peek(r, 1) == 'A' || regex_peek(r, 1) == 'Z')
            return read_anchor(r, 2, regex_peek(r, 1) == 'A' ? ARC_BEGIN : ARC_END);
        return read_single(r);
    default:
        if (read_quantifier(r, &min, &most))
            return regex_fail(r, r->at, "found %c, expected something before it that it could repeat",
                              regex_peek(r, 0));
        return read_single(r);
    }
}

/* The bytes themselves: *at is the first one that is wrong. */
static bool check_bytes(struct regex *r)
{
    if (r->n > CT_REGEX_MAX)
        return regex_fail(r, CT_REGEX_MAX, "found a pattern of %zu bytes, expected %d at most", r->n,
                          CT_REGEX_MAX);
    const struct ct_str text = {r->s, r->n};
    const size_t flaw = ct_text_flaw(text);
    return flaw == r->n || regex_fail(r, flaw, "%s", ct_text_flaw_name(text, flaw));
}

static bool read_all(struct regex *r)
{
    if (!check_bytes(r) || !open_group(r, 0))
        return false;
    while (r->at < r->n) {
        if (!read_next(r))
            return false;
        if (r->net.status == CARAT_E_MEMORY)
            return regex_memory(r);
        if (r->net.status == CARAT_E_CANCELLED || ct_watch_ended(r->net.watch, 1))
            return regex_cancelled(r);
        if (r->net.status != CARAT_OK)
            return regex_fail(r, r->at, "the pattern up to here needs more than %d states or %d arcs",
                              NETWORK_NODES, NETWORK_ARCS);
    }
    return r->depth == 1 || regex_fail(r, r->group[r->depth - 1].at, "found ( without its )");
}

/* ---- the whole ---- */

carat_status ct_regex_language(struct ct_str pattern, bool whole, struct ct_language *out, size_t *at,
                               carat_error *err)
{
    struct regex r = {.s = pattern.s, .n = pattern.n, .net.watch = out->watch, .err = err};

    if (read_all(&r)) {
        struct piece all = end_group(&r);
        if (!whole) { /* any characters before and behind it */
            const int32_t end = network_node(&r.net);
            network_arc(&r.net, all.start, 0, CT_LAST_CHAR, all.start);
            network_skip(&r.net, all.end, end);
            network_arc(&r.net, end, 0, CT_LAST_CHAR, end);
            all.end = end;
        }
        if (r.net.status == CARAT_E_CANCELLED)
            regex_cancelled(&r);
        else if (r.net.status != CARAT_OK)
            r.status = ct_fail(err, r.net.status, "the pattern is too large");
        else
            r.status = network_language(&r.net, all.start, all.end, out, err);
    }
    if (at)
        *at = r.error_at;
    network_free(&r.net);
    free(r.group);
    ct_ranges_free(&r.set);
    return r.status;
}

carat_status ct_regex_rule(struct ct_grammar *g, struct ct_str pattern, int32_t *rule, carat_error *err)
{
    struct ct_language language;
    struct ct_charsets sets = {0};

    ct_language_init(&language);
    language.watch = g->watch;
    *rule = -1;
    const carat_status status = ct_regex_language(pattern, true, &language, NULL, err);
    if (status == CARAT_OK) {
        *rule = ct_grammar_rule(g, "the pattern");
        ct_language_emit(g, &sets, &language, ct_rule_start(g, *rule), CT_SPELL_PLAIN, ct_rule_end(g, *rule));
    }
    ct_charsets_free(&sets);
    ct_language_free(&language);
    return status;
}
