/* SPDX-License-Identifier: Apache-2.0 */
/* gbnf.c: see gbnf.h. Items (gbnf_read.h) become nodes and edges of the rule that they stand in; open groups
 * stand on a stack. What is repeated a number of times becomes a rule that is called so often, where it is
 * more than a node or two. */
#include "grammar/gbnf.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "grammar/gbnf_read.h"

/* An item that is repeated more often is a rule of its own, unless it needs no nodes. */
enum { COPIES_MAX = 4 };

struct name {
    uint32_t item;    /* where it is met first */
    uint32_t defined; /* the item + 1; 0: nowhere */
    int32_t rule;
};

/* A group that is open, or the whole of a rule. */
struct frame {
    int32_t rule;       /* nodes are made in it */
    int32_t start, end; /* of each alternative */
    int32_t after;      /* where the outer one goes on; of a helper, from where it is called */
    int32_t helper;     /* the rule that the group is, -1: none */
    size_t repeat;      /* the item that repeats the helper */
};

struct maker {
    struct ct_gbnf *b;
    struct ct_grammar *g;
    struct name *name; /* [n_names] */
    size_t n_names, name_room;
    uint32_t *slot; /* [slots] name + 1; 0: empty */
    size_t slots;
    struct frame *frame; /* [depth] */
    size_t depth, frame_room;
    size_t at;   /* the next item */
    int32_t now; /* the node up to which the alternative goes so far */
};

/* ---- names ---- */

static struct ct_str item_text(const struct maker *m, uint32_t i)
{
    const struct ct_gbnf_item *item = &m->b->item[i];

    return (struct ct_str){m->b->text.s + item->first, item->n};
}

/* Gives the item at i its name's number, and the name a rule. */
static bool find_name(struct maker *m, uint32_t i)
{
    const struct ct_str text = item_text(m, i);
    size_t slot = ct_hash64(text.s, text.n) & (m->slots - 1);
    char brief[48];

    while (m->slot[slot] && !ct_str_same(item_text(m, m->name[m->slot[slot] - 1].item), text))
        slot = (slot + 1) & (m->slots - 1);
    if (!m->slot[slot]) {
        if (!ct_array_grow(&m->name, &m->name_room, m->n_names + 1, sizeof *m->name))
            return ct_gbnf_memory(m->b);
        snprintf(brief, sizeof brief, "%.*s", (int)CT_MIN(text.n, sizeof brief), text.s);
        m->name[m->n_names] = (struct name){.item = i, .rule = ct_grammar_rule(m->g, brief)};
        m->slot[slot] = (uint32_t)++m->n_names;
    }
    m->b->item[i].id = (int32_t)m->slot[slot] - 1;
    return true;
}

static bool find_names(struct maker *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->b->n; i++)
        n += m->b->item[i].kind == CT_GBNF_NAME;
    for (m->slots = 16; m->slots < 2 * n; m->slots *= 2)
        ;
    m->slot = calloc(m->slots, sizeof *m->slot);
    if (!m->slot)
        return ct_gbnf_memory(m->b);
    for (uint32_t i = 0; i < m->b->n; i++)
        if (m->b->item[i].kind == CT_GBNF_NAME && !find_name(m, i))
            return false;
    return true;
}

/* ---- what takes text ---- */

/* The paths of one item between two nodes. */
static void item_paths(struct maker *m, const struct ct_gbnf_item *item, int32_t from, int32_t to)
{
    const struct ct_gbnf *b = m->b;

    switch ((enum ct_gbnf_kind)item->kind) {
    case CT_GBNF_NAME:
        ct_grammar_call(m->g, from, m->name[item->id].rule, to);
        break;
    case CT_GBNF_TOKEN:
        ct_grammar_token(m->g, from, item->id, to);
        break;
    case CT_GBNF_OTHERS:
        ct_grammar_chars(m->g, from, 0, CT_LAST_CHAR, CT_SPELL_PLAIN, to);
        break;
    case CT_GBNF_CLASS:
        for (uint32_t i = item->first; i < item->first + item->n; i++)
            ct_grammar_chars(m->g, from, b->ranges.range[i].low, b->ranges.range[i].high, CT_SPELL_PLAIN, to);
        break;
    default: /* a literal; one without characters leads nowhere else */
        if (item->n || from != to)
            ct_grammar_text(m->g, from, (struct ct_str){b->literal + item->first, item->n}, to);
    }
}

/* True when a few edges are enough, so that copies cost no more than calls. */
static bool is_small(const struct maker *m, const struct ct_gbnf_item *item)
{
    if (item->kind == CT_GBNF_CLASS) /* one of no characters has no edge */
        return item->n == 0 || (item->n <= 4 && m->b->ranges.range[item->first + item->n - 1].high < 0x80);
    return item->kind == CT_GBNF_NAME || item->kind == CT_GBNF_TOKEN ||
           (item->kind == CT_GBNF_LITERAL && item->n <= 1);
}

static bool is_single(const struct ct_gbnf_item *item)
{
    return item->kind <= CT_GBNF_OTHERS;
}

/* True when the alternative ends before the item. */
static bool ends_alternative(const struct maker *m, size_t i)
{
    const uint8_t kind = m->b->item[i].kind;

    return kind == CT_GBNF_BAR || kind == CT_GBNF_CLOSE || kind == CT_GBNF_LINE;
}

/* The node behind what ends before item i: that of the group where nothing follows. */
static int32_t node_behind(struct maker *m, size_t i)
{
    const struct frame *f = &m->frame[m->depth - 1];

    return ends_alternative(m, i) ? f->end : ct_grammar_node(m->g, f->rule);
}

/* ---- repeats ---- */

static void skip_to(struct maker *m, int32_t from, int32_t to)
{
    if (from != to)
        ct_grammar_skip(m->g, from, to);
}

/* A number of times, from m->now on. The item, or a call of the rule where it is none. */
static void repeat_often(struct maker *m, const struct ct_gbnf_item *item, int32_t rule,
                         const struct ct_gbnf_item *repeat)
{
    const int32_t owner = m->frame[m->depth - 1].rule, out = ct_grammar_node(m->g, owner);
    const bool endless = repeat->most == CT_GBNF_NO_BOUND;
    const int32_t copies = endless ? repeat->min + 1 : repeat->most;

    if (rule < 0 && copies > COPIES_MAX && !is_small(m, item)) {
        rule = ct_grammar_rule(m->g, "a part that is repeated");
        item_paths(m, item, ct_rule_start(m->g, rule), ct_rule_end(m->g, rule));
    }
    for (int32_t i = 0; i < copies && !ct_grammar_failed(m->g); i++) {
        /* endless: min of them, and behind these a node that leads to itself */
        const int32_t next = endless && i + 1 == copies ? m->now : ct_grammar_node(m->g, owner);
        if (i >= repeat->min)
            skip_to(m, m->now, out);
        if (rule >= 0)
            ct_grammar_call(m->g, m->now, rule, next);
        else
            item_paths(m, item, m->now, next);
        m->now = next;
    }
    if (!endless)
        skip_to(m, m->now, out);
    m->now = out;
}

/* The number of times: once, at will, once or more, perhaps, and all other numbers. */
enum often { ONCE, AT_WILL, SOME, PERHAPS, OFTEN };

static enum often item_often(const struct ct_gbnf_item *repeat)
{
    if (!repeat || (repeat->min == 1 && repeat->most == 1))
        return ONCE;
    if (repeat->most == CT_GBNF_NO_BOUND && repeat->min < 2)
        return repeat->min == 0 ? AT_WILL : SOME;
    return repeat->min == 0 && repeat->most == 1 ? PERHAPS : OFTEN;
}

/* The nodes between which something stands that is there so often, and how it goes on: behind is the
 * item that follows. */
static void place_part(struct maker *m, enum often often, size_t behind, int32_t *start, int32_t *end)
{
    const int32_t owner = m->frame[m->depth - 1].rule;

    *start = m->now;
    if (often == AT_WILL || often == SOME) { /* what comes round does so at a node of its own */
        *start = ct_grammar_node(m->g, owner);
        ct_grammar_skip(m->g, m->now, *start);
    }
    *end = often == AT_WILL ? *start : often == SOME ? ct_grammar_node(m->g, owner) : node_behind(m, behind);
    if (often == SOME)
        ct_grammar_skip(m->g, *end, *start);
    if (often == PERHAPS)
        skip_to(m, *start, *end);
}

/* ---- sequences ---- */

static bool fail_item(struct maker *m, size_t i, const char *found, const char *expected)
{
    return ct_gbnf_fail(m->b, m->b->item[i].at, "found %s, expected %s", found, expected);
}

static bool fail_name(struct maker *m, uint32_t i, const char *how)
{
    const struct ct_str text = item_text(m, i);

    return ct_gbnf_fail(m->b, m->b->item[i].at, "found the rule %.*s %s", CT_BRIEF(text), how);
}

/* The item that repeats what ends before item i; NULL: none does. */
static const struct ct_gbnf_item *repeat_of(const struct maker *m, size_t i)
{
    return m->b->item[i].kind == CT_GBNF_REPEAT ? &m->b->item[i] : NULL;
}

/* The item at i, with the repeat at r, behind which the reader goes on. */
static bool make_single(struct maker *m, size_t i, size_t r)
{
    const struct ct_gbnf_item *item = &m->b->item[i], *repeat = repeat_of(m, r);
    const enum often often = item_often(repeat);
    int32_t start, end;

    m->at = r + (repeat != NULL);
    if (item->kind == CT_GBNF_OTHERS && often != AT_WILL && often != SOME)
        return fail_item(m, i, "one token that is another", "* or + behind it");
    if (often == OFTEN) {
        repeat_often(m, item, -1, repeat);
        return true;
    }
    place_part(m, often, m->at, &start, &end);
    item_paths(m, item, start, end);
    m->now = end;
    return true;
}

static bool push_frame(struct maker *m, const struct frame *f)
{
    if (!ct_array_grow(&m->frame, &m->frame_room, m->depth + 1, sizeof *m->frame))
        return ct_gbnf_memory(m->b);
    m->frame[m->depth++] = *f;
    m->now = f->start;
    return true;
}

static bool open_group(struct maker *m)
{
    const size_t open = m->at, close = (size_t)m->b->item[open].id;
    const struct ct_gbnf_item *repeat = repeat_of(m, close + 1);
    const enum often often = item_often(repeat);
    struct frame f = {.rule = m->frame[m->depth - 1].rule, .helper = -1};

    if (close == open + 2 && is_single(&m->b->item[open + 1])) /* brackets that change nothing */
        return make_single(m, open + 1, close + 1);
    m->at++;
    if (often == OFTEN) {
        f.helper = f.rule = ct_grammar_rule(m->g, "a group that is repeated");
        f.start = ct_rule_start(m->g, f.rule);
        f.end = ct_rule_end(m->g, f.rule);
        f.after = m->now;
        f.repeat = close + 1;
    } else {
        place_part(m, often, close + 1 + (repeat != NULL), &f.start, &f.end);
        f.after = f.end;
    }
    return push_frame(m, &f);
}

/* The last alternative of the group, or of the rule, is over. */
static void close_frame(struct maker *m)
{
    const struct frame *f = &m->frame[--m->depth];

    skip_to(m, m->now, f->end);
    m->now = f->after;
}

static void close_group(struct maker *m)
{
    close_frame(m);
    const struct frame f = m->frame[m->depth]; /* still there */
    m->at++;
    const struct ct_gbnf_item *repeat = repeat_of(m, m->at);
    m->at += repeat != NULL;
    if (f.helper >= 0)
        repeat_often(m, NULL, f.helper, repeat);
}

/* One item of a rule, or what it opens or closes. */
static bool make_next(struct maker *m)
{
    const struct frame *f = &m->frame[m->depth - 1];

    switch ((enum ct_gbnf_kind)m->b->item[m->at].kind) {
    case CT_GBNF_OPEN:
        return open_group(m);
    case CT_GBNF_CLOSE:
        close_group(m);
        return true;
    case CT_GBNF_BAR:
        skip_to(m, m->now, f->end);
        m->now = f->start;
        m->at++;
        return true;
    case CT_GBNF_REPEAT:
        return fail_item(m, m->at, "a repeat", "something before it that it could repeat");
    case CT_GBNF_DEFINE:
        return fail_item(m, m->at, "::=", "a line break before its name");
    default:
        return make_single(m, m->at, m->at + 1);
    }
}

/* name ::= ... */
static bool make_rule(struct maker *m)
{
    const struct ct_gbnf_item *item = &m->b->item[m->at];

    if (item->kind != CT_GBNF_NAME)
        return fail_item(m, m->at, "something else at the beginning of a line", "the name of a rule");
    if (item[1].kind != CT_GBNF_DEFINE)
        return fail_item(m, m->at + 1, "something else behind a name", "::=");
    struct name *name = &m->name[item->id];
    if (name->defined)
        return fail_name(m, (uint32_t)m->at, "a second time");
    name->defined = (uint32_t)m->at + 1;
    m->at += 2;
    const int32_t end = ct_rule_end(m->g, name->rule);
    if (!push_frame(m, &(struct frame){name->rule, ct_rule_start(m->g, name->rule), end, end, -1, 0}))
        return false;
    while (m->b->item[m->at].kind != CT_GBNF_LINE)
        if (!make_next(m))
            return false;
    close_frame(m);
    m->at++;
    return true;
}

static bool make_rules(struct maker *m, int32_t *root)
{
    const struct ct_gbnf *b = m->b;

    if (!find_names(m))
        return false;
    m->at = b->item[0].kind == CT_GBNF_LINE;
    while (m->at < b->n && !ct_grammar_failed(m->g))
        if (!make_rule(m))
            return false;
    for (size_t i = 0; i < m->n_names && !ct_grammar_failed(m->g); i++) {
        const struct ct_str text = item_text(m, m->name[i].item);
        if (!m->name[i].defined)
            return fail_name(m, m->name[i].item, "that is defined nowhere");
        if (ct_str_is(text, "root"))
            *root = m->name[i].rule;
    }
    return *root >= 0 || ct_grammar_failed(m->g) ||
           ct_gbnf_fail(m->b, b->text.n, "found no rule with the name root, expected one");
}

carat_status ct_gbnf(struct ct_grammar *g, struct ct_str text, const struct ct_tokenizer *t, int32_t *root,
                     carat_error *err)
{
    struct ct_gbnf b = {.text = text, .tokenizer = t, .err = err};
    struct maker m = {.b = &b, .g = g};

    *root = -1;
    if (ct_gbnf_read(&b))
        make_rules(&m, root);
    ct_gbnf_free(&b);
    free(m.name);
    free(m.slot);
    free(m.frame);
    return b.status;
}
