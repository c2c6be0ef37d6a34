/* SPDX-License-Identifier: Apache-2.0 */
/* language.c: see language.h. Building, and what is made of languages; how they become productions is
 * language_emit.c's. */
#include "grammar/language.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/utf8.h"

void ct_language_init(struct ct_language *l)
{
    *l = (struct ct_language){.start = -1};
}

void ct_language_free(struct ct_language *l)
{
    free(l->arc);
    free(l->accepts);
    ct_language_init(l);
}

/* ---- building ---- */

static bool language_room(struct ct_language *l, void *array, size_t *room, int32_t n, int32_t most,
                          size_t size)
{
    if (ct_language_failed(l))
        return false;
    if (ct_watch_ended(l->watch, 1)) {
        (void)ct_watch_fail(&l->error);
        return false;
    }
    if (n >= most) {
        (void)ct_fail(&l->error, CARAT_E_ARGUMENT, "more than %d states are needed", CT_STATES_MAX);
        return false;
    }
    if (ct_array_grow(array, room, (size_t)n + 1, size))
        return true;
    (void)ct_no_memory(&l->error, "a pattern");
    return false;
}

int32_t ct_language_state(struct ct_language *l, bool accepts)
{
    if (!language_room(l, &l->accepts, &l->state_room, l->n_states, CT_STATES_MAX, sizeof *l->accepts))
        return -1;
    l->accepts[l->n_states] = accepts;
    if (l->start < 0)
        l->start = l->n_states;
    return l->n_states++;
}

static void language_add(struct ct_language *l, const struct ct_arc *arc)
{
    if (arc->from >= 0 && arc->to >= 0 &&
        language_room(l, &l->arc, &l->arc_room, l->n_arcs, CT_ARCS_MAX, sizeof *l->arc))
        l->arc[l->n_arcs++] = *arc;
}

void ct_language_arc(struct ct_language *l, int32_t from, uint32_t low, uint32_t high, int32_t to)
{
    static const uint32_t part[][2] = {{0, 0xd7ff}, {0xe000, CT_LAST_CHAR}};

    for (size_t i = 0; i < CT_COUNT(part); i++) {
        const uint32_t first = CT_MAX(low, part[i][0]), last = CT_MIN(high, part[i][1]);
        if (first <= last)
            language_add(l, &(struct ct_arc){from, to, first, last});
    }
}

void ct_language_skip(struct ct_language *l, int32_t from, int32_t to)
{
    language_add(l, &(struct ct_arc){from, to, 1, 0});
}

/* The start, which is made where there is none. */
static int32_t language_start(struct ct_language *l)
{
    return l->start >= 0 ? l->start : ct_language_state(l, false);
}

void ct_language_text(struct ct_language *l, struct ct_str text)
{
    int32_t at = language_start(l);

    for (size_t i = 0; i < text.n;) {
        const uint8_t *p = (const uint8_t *)text.s + i;
        const size_t length = CT_MAX(ct_utf8_length(p, text.n - i), 1);
        const uint32_t code = ct_utf8_decode(p, length);
        const int32_t next = ct_language_state(l, false);
        ct_language_arc(l, at, code, code, next);
        at = next;
        i += length;
    }
    if (at >= 0)
        l->accepts[at] = 1;
}

void ct_language_lengths(struct ct_language *l, int32_t min, int32_t max)
{
    int32_t at = ct_language_state(l, min == 0);

    for (int32_t n = 1; n <= CT_MAX(min, max) && at >= 0; n++) {
        const int32_t next = ct_language_state(l, n >= min);
        ct_language_arc(l, at, 0, CT_LAST_CHAR, next);
        at = next;
    }
    if (max < 0)
        ct_language_arc(l, at, 0, CT_LAST_CHAR, at);
}

int32_t ct_language_append(struct ct_language *l, const struct ct_language *other)
{
    const int32_t first = l->n_states;

    if (ct_language_failed(other) && !ct_language_failed(l))
        l->error = other->error;
    for (int32_t i = 0; i < other->n_states; i++)
        ct_language_state(l, other->accepts[i]);
    for (int32_t i = 0; i < other->n_arcs; i++) {
        struct ct_arc arc = other->arc[i];
        arc.from += first;
        arc.to += first;
        language_add(l, &arc);
    }
    return ct_language_failed(l) || other->start < 0 ? -1 : first + other->start;
}

void ct_language_unite(struct ct_language *l, const struct ct_language *other)
{
    const int32_t start = language_start(l);

    ct_language_skip(l, start, ct_language_append(l, other));
}

/* A failed operand's failure. */
static carat_status language_good(const struct ct_language *l, carat_error *err)
{
    return ct_language_failed(l) ? ct_fail(err, l->error.code, "%s", l->error.message) : CARAT_OK;
}

/* ---- arcs by their states ---- */

/* Copies of a language's arcs in the order of states and characters, skips apart. */
struct arcs {
    struct ct_arc *arc;
    int32_t *first; /* [n_states + 1] */
};

static int compare_arcs(const void *a, const void *b)
{
    const struct ct_arc *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    return x->high != y->high ? (x->high < y->high ? -1 : 1) : (x->to > y->to) - (x->to < y->to);
}

/* qsort allocates, and calls for each comparison; most of what is sorted here is short. */
enum { SHORT = 32 };

static void sort_arcs(struct ct_arc *arc, int32_t n)
{
    if (n > SHORT) {
        qsort(arc, (size_t)n, sizeof *arc, compare_arcs);
        return;
    }
    for (int32_t i = 1; i < n; i++) {
        const struct ct_arc own = arc[i];
        int32_t at = i;
        for (; at > 0 && compare_arcs(&arc[at - 1], &own) > 0; at--)
            arc[at] = arc[at - 1];
        arc[at] = own;
    }
}

static void arcs_close(struct arcs *a)
{
    free(a->arc);
    free(a->first);
    *a = (struct arcs){0};
}

static bool arcs_open(struct arcs *a, const struct ct_language *l, bool skips)
{
    *a = (struct arcs){.arc = malloc(((size_t)l->n_arcs + 1) * sizeof *a->arc),
                       .first = calloc((size_t)l->n_states + 2, sizeof *a->first)};
    if (!a->arc || !a->first) {
        arcs_close(a);
        return false;
    }
    for (int32_t i = 0; i < l->n_arcs; i++)
        if ((l->arc[i].low > l->arc[i].high) == skips)
            a->first[l->arc[i].from + 2]++;
    for (int32_t i = 1; i <= l->n_states; i++)
        a->first[i + 1] += a->first[i];
    for (int32_t i = 0; i < l->n_arcs; i++) /* first[from + 1] becomes the end of its arcs */
        if ((l->arc[i].low > l->arc[i].high) == skips)
            a->arc[a->first[l->arc[i].from + 1]++] = l->arc[i];
    for (int32_t i = 0; i < l->n_states; i++)
        sort_arcs(a->arc + a->first[i], a->first[i + 1] - a->first[i]);
    return true;
}

/* ---- sets of states that are the same ---- */

/* Sets of numbers, each kept once. */
struct sets {
    int32_t *item;
    uint32_t *begin; /* [n + 1] */
    int32_t *slot;   /* hash table: number + 1 */
    size_t item_room, begin_room, slots;
    int32_t n;
};

static void sets_close(struct sets *s)
{
    free(s->item);
    free(s->begin);
    free(s->slot);
}

static uint32_t hash_items(const int32_t *item, size_t n)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint32_t)item[i]) * 16777619u ^ h >> 15;
    return h;
}

static bool sets_rehash(struct sets *s)
{
    const size_t slots = s->slots ? 2 * s->slots : 256;
    int32_t *slot = calloc(slots, sizeof *slot);

    if (!slot)
        return false;
    for (int32_t i = 0; i < s->n; i++) {
        size_t at = hash_items(s->item + s->begin[i], s->begin[i + 1] - s->begin[i]) & (slots - 1);
        while (slot[at])
            at = (at + 1) & (slots - 1);
        slot[at] = i + 1;
    }
    free(s->slot);
    s->slot = slot;
    s->slots = slots;
    return true;
}

/* The number of the set of n items in ascending order; -1: memory is out. It is new when it is s->n - 1 and
 * was not there before. */
static int32_t sets_number(struct sets *s, const int32_t *item, size_t n)
{
    if ((size_t)s->n * 2 >= s->slots && !sets_rehash(s))
        return -1;
    size_t at = hash_items(item, n) & (s->slots - 1);
    for (; s->slot[at]; at = (at + 1) & (s->slots - 1)) {
        const int32_t k = s->slot[at] - 1;
        if (s->begin[k + 1] - s->begin[k] == n && memcmp(s->item + s->begin[k], item, n * sizeof *item) == 0)
            return k;
    }
    const size_t used = s->n ? s->begin[s->n] : 0;
    if (!ct_array_grow(&s->begin, &s->begin_room, (size_t)s->n + 2, sizeof *s->begin) ||
        !ct_array_grow(&s->item, &s->item_room, used + n + 1, sizeof *s->item))
        return -1;
    memcpy(s->item + used, item, n * sizeof *item);
    s->begin[s->n] = (uint32_t)used;
    s->begin[s->n + 1] = (uint32_t)(used + n);
    s->slot[at] = s->n + 1;
    return s->n++;
}

/* ---- determining ---- */

enum {
    SETS_ITEMS_MAX = 2000000, /* states in all sets together */
    STEPS_MAX = 8 * SETS_ITEMS_MAX,
    /* larger languages stay as they are, and those that take longer */
    MINIMISE_MAX = 4000,
    MINIMISE_STEPS = 100000,
};

struct determining {
    const struct ct_language *l;
    struct ct_language *out;
    struct arcs arcs, skips;
    struct sets sets;
    int32_t *work;      /* [n_states] a set that is being made */
    uint8_t *in;        /* [n_states] is in it */
    struct ct_arc *arc; /* of all states of a set */
    int32_t *active;    /* those of them that take a character */
    int32_t n_work;
    int64_t steps, most; /* that were gone, and that may be: what goes longer is refused */
};

static int compare_states(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

static void sort_states(int32_t *state, int32_t n)
{
    if (n > SHORT) {
        qsort(state, (size_t)n, sizeof *state, compare_states);
        return;
    }
    for (int32_t i = 1; i < n; i++) {
        const int32_t own = state[i];
        int32_t at = i;
        for (; at > 0 && state[at - 1] > own; at--)
            state[at] = state[at - 1];
        state[at] = own;
    }
}

static void work_put(struct determining *d, int32_t state)
{
    if (!d->in[state]) {
        d->in[state] = 1;
        d->work[d->n_work++] = state;
    }
}

/* The number of the set in work, with what skips lead to. */
static int32_t work_number(struct determining *d)
{
    bool accepts = false;

    for (int32_t i = 0; i < d->n_work; i++)
        for (int32_t k = d->skips.first[d->work[i]]; k < d->skips.first[d->work[i] + 1]; k++)
            work_put(d, d->skips.arc[k].to);
    for (int32_t i = 0; i < d->n_work; i++) {
        d->in[d->work[i]] = 0;
        accepts = accepts || d->l->accepts[d->work[i]];
    }
    d->steps += d->n_work;
    sort_states(d->work, d->n_work);
    const int32_t before = d->sets.n, number = sets_number(&d->sets, d->work, (size_t)d->n_work);
    d->n_work = 0;
    if (number == before && ct_language_state(d->out, accepts) < 0)
        return -1;
    return number;
}

/* Adds an arc, or lengthens the one before it. */
static void determined_arc(struct ct_language *out, int32_t from, uint32_t low, uint32_t high, int32_t to)
{
    struct ct_arc *last = out->n_arcs ? &out->arc[out->n_arcs - 1] : NULL;

    if (last && last->from == from && last->to == to && last->high + 1 == low)
        last->high = high;
    else
        ct_language_arc(out, from, low, high, to);
}

/* All arcs of a set's states, in the order of their characters. */
static int32_t arcs_of_set(struct determining *d, int32_t set)
{
    const struct sets *s = &d->sets;
    int32_t n = 0;

    for (uint32_t i = s->begin[set]; i < s->begin[set + 1]; i++)
        for (int32_t k = d->arcs.first[s->item[i]]; k < d->arcs.first[s->item[i] + 1]; k++) {
            d->arc[n] = d->arcs.arc[k];
            d->arc[n++].from = 0;
        }
    if (s->begin[set + 1] - s->begin[set] > 1)
        sort_arcs(d->arc, n);
    return n;
}

/* Finds where the states of a set lead: characters are cut where an arc begins or ends. */
static bool determine_set(struct determining *d, int32_t set)
{
    const int32_t n = arcs_of_set(d, set);
    int32_t next = 0, n_active = 0;
    uint32_t low = 0;

    while (next < n || n_active) {
        if (!n_active)
            low = d->arc[next].low;
        while (next < n && d->arc[next].low == low)
            d->active[n_active++] = next++;
        uint32_t high = next < n ? d->arc[next].low - 1 : CT_LAST_CHAR;
        for (int32_t i = 0; i < n_active; i++) {
            high = CT_MIN(high, d->arc[d->active[i]].high);
            work_put(d, d->arc[d->active[i]].to);
        }
        d->steps += n_active;
        const int32_t to = work_number(d);
        if (to < 0)
            return false;
        determined_arc(d->out, set, low, high, to);
        int32_t kept = 0;
        for (int32_t i = 0; i < n_active; i++)
            if (d->arc[d->active[i]].high > high)
                d->active[kept++] = d->active[i];
        n_active = kept;
        low = high + 1;
    }
    return true;
}

static carat_status determine_all(struct determining *d, carat_error *err)
{
    work_put(d, d->l->start);
    if (work_number(d) < 0)
        return ct_no_memory(err, "a pattern");
    for (int32_t set = 0; set < d->sets.n; set++) {
        const int64_t before = d->steps;
        if (!determine_set(d, set) && !ct_language_failed(d->out))
            return ct_no_memory(err, "a pattern");
        if (ct_language_failed(d->out))
            return ct_fail(err, d->out->error.code, "%s", d->out->error.message);
        if (d->sets.begin[d->sets.n] > SETS_ITEMS_MAX || d->steps > d->most)
            return ct_fail(err, CARAT_E_ARGUMENT, "more than %d states are needed", CT_STATES_MAX);
        if (ct_watch_ended(d->l->watch, (size_t)(d->steps - before)))
            return ct_watch_fail(err);
    }
    return CARAT_OK;
}

static carat_status determine_within(const struct ct_language *l, int64_t most, struct ct_language *out,
                                     carat_error *err)
{
    const size_t states = (size_t)l->n_states + 1, arcs = (size_t)l->n_arcs + 1;
    carat_status status;

    ct_language_init(out);
    out->watch = l->watch;
    CT_TRY(language_good(l, err));
    if (l->start < 0)
        return CARAT_OK;
    struct determining d = {.l = l,
                            .out = out,
                            .most = most,
                            .work = malloc(states * sizeof *d.work),
                            .in = calloc(states, 1),
                            .arc = malloc(arcs * sizeof *d.arc),
                            .active = malloc(arcs * sizeof *d.active)};
    const bool sorted = arcs_open(&d.arcs, l, false), skips = arcs_open(&d.skips, l, true);
    if (sorted && skips && d.work && d.in && d.arc && d.active)
        status = determine_all(&d, err);
    else
        status = ct_no_memory(err, "a pattern");
    arcs_close(&d.arcs);
    arcs_close(&d.skips);
    sets_close(&d.sets);
    free(d.work);
    free(d.in);
    free(d.arc);
    free(d.active);
    if (status)
        ct_language_free(out);
    return status;
}

carat_status ct_language_determine(const struct ct_language *l, struct ct_language *out, carat_error *err)
{
    return determine_within(l, STEPS_MAX, out, err);
}

/* All texts backwards. */
static void reverse(const struct ct_language *l, struct ct_language *out)
{
    ct_language_init(out);
    out->watch = l->watch;
    const int32_t start = ct_language_state(out, false);
    for (int32_t i = 0; i < l->n_states; i++) {
        const int32_t state = ct_language_state(out, i == l->start);
        if (l->accepts[i])
            ct_language_skip(out, start, state);
    }
    for (int32_t i = 0; i < l->n_arcs; i++) {
        const struct ct_arc *arc = &l->arc[i];
        language_add(out, &(struct ct_arc){arc->to + 1, arc->from + 1, arc->low, arc->high});
    }
}

carat_status ct_language_minimise(const struct ct_language *l, struct ct_language *out, carat_error *err)
{
    struct ct_language once, twice = {.start = -1};
    carat_error ignored;

    ct_language_init(out);
    CT_TRY(language_good(l, err));
    /* Brzozowski: what is determined backwards and then forwards has the fewest states */
    reverse(l, &once);
    carat_status status = l->start < 0 || l->n_states > MINIMISE_MAX
                              ? CARAT_E_ARGUMENT
                              : determine_within(&once, MINIMISE_STEPS, &twice, &ignored);
    ct_language_free(&once);
    if (status == CARAT_E_MEMORY)
        return ct_no_memory(err, "a pattern");
    if (status == CARAT_E_CANCELLED)
        return ct_watch_fail(err);
    if (status) {
        ct_language_free(&twice);
        return ct_language_determine(l, out, err);
    }
    reverse(&twice, &once);
    status = ct_language_determine(&once, out, err);
    ct_language_free(&once);
    ct_language_free(&twice);
    return status;
}

carat_status ct_language_complement(const struct ct_language *l, struct ct_language *out, carat_error *err)
{
    struct ct_language d;
    int32_t next = 0;

    ct_language_init(out);
    out->watch = l->watch;
    CT_TRY(ct_language_determine(l, &d, err));
    if (d.start < 0)
        d.start = ct_language_state(&d, false);
    for (int32_t i = 0; i < d.n_states; i++)
        ct_language_state(out, !d.accepts[i]);
    const int32_t rest = ct_language_state(out, true);
    for (int32_t i = 0; i < d.n_states && !ct_language_failed(out); i++) {
        uint32_t low = 0;
        for (; next < d.n_arcs && d.arc[next].from == i; next++) {
            const struct ct_arc *arc = &d.arc[next];
            if (low < arc->low)
                ct_language_arc(out, i, low, arc->low - 1, rest);
            ct_language_arc(out, i, arc->low, arc->high, arc->to);
            low = arc->high + 1;
        }
        if (low <= CT_LAST_CHAR)
            ct_language_arc(out, i, low, CT_LAST_CHAR, rest);
    }
    ct_language_arc(out, rest, 0, CT_LAST_CHAR, rest);
    const carat_status status = ct_language_failed(&d) ? language_good(&d, err) : language_good(out, err);
    ct_language_free(&d);
    if (status)
        ct_language_free(out);
    return status;
}

/* ---- both ---- */

struct product {
    const struct ct_language *a, *b;
    struct ct_language *out;
    struct arcs arcs[2], skips[2];
    struct sets sets; /* pairs of states */
};

static int32_t product_state(struct product *p, int32_t a, int32_t b)
{
    const int32_t pair[] = {a, b}, before = p->sets.n, number = sets_number(&p->sets, pair, 2);

    if (number == before && ct_language_state(p->out, p->a->accepts[a] && p->b->accepts[b]) < 0)
        return -1;
    if (number < 0 && !ct_language_failed(p->out))
        (void)ct_no_memory(&p->out->error, "a pattern");
    return number;
}

static void product_arcs(struct product *p, int32_t from, int32_t a, int32_t b)
{
    const struct arcs *x = &p->arcs[0], *y = &p->arcs[1];
    int32_t first = y->first[b];
    const int32_t end = y->first[b + 1];

    if (ct_watch_ended(p->out->watch, (size_t)(x->first[a + 1] - x->first[a]) + (size_t)(end - first)))
        (void)ct_watch_fail(&p->out->error);
    for (int32_t i = p->skips[0].first[a]; i < p->skips[0].first[a + 1]; i++)
        ct_language_skip(p->out, from, product_state(p, p->skips[0].arc[i].to, b));
    for (int32_t i = p->skips[1].first[b]; i < p->skips[1].first[b + 1]; i++)
        ct_language_skip(p->out, from, product_state(p, a, p->skips[1].arc[i].to));
    for (int32_t i = x->first[a]; i < x->first[a + 1] && !ct_language_failed(p->out); i++) {
        const struct ct_arc *arc = &x->arc[i];
        while (first < end && y->arc[first].high < arc->low)
            first++;
        for (int32_t k = first; k < end && y->arc[k].low <= arc->high; k++)
            if (y->arc[k].high >= arc->low)
                ct_language_arc(p->out, from, CT_MAX(arc->low, y->arc[k].low),
                                CT_MIN(arc->high, y->arc[k].high), product_state(p, arc->to, y->arc[k].to));
    }
}

carat_status ct_language_intersect(const struct ct_language *a, const struct ct_language *b,
                                   struct ct_language *out, carat_error *err)
{
    struct product p = {.a = a, .b = b, .out = out};
    bool open = true;

    ct_language_init(out);
    out->watch = a->watch ? a->watch : b->watch;
    CT_TRY(language_good(a, err));
    CT_TRY(language_good(b, err));
    if (a->start < 0 || b->start < 0)
        return CARAT_OK;
    for (int i = 0; i < 2; i++) {
        open = arcs_open(&p.arcs[i], i ? b : a, false) && open;
        open = arcs_open(&p.skips[i], i ? b : a, true) && open;
    }
    if (open)
        product_state(&p, a->start, b->start);
    else
        (void)ct_no_memory(&out->error, "a pattern");
    for (int32_t i = 0; i < p.sets.n && !ct_language_failed(out); i++)
        product_arcs(&p, i, p.sets.item[2 * i], p.sets.item[2 * i + 1]);
    for (int i = 0; i < 2; i++) {
        arcs_close(&p.arcs[i]);
        arcs_close(&p.skips[i]);
    }
    sets_close(&p.sets);
    const carat_status status = language_good(out, err);
    if (status)
        ct_language_free(out);
    return status;
}

/* ---- questions ---- */

carat_status ct_language_empty(const struct ct_language *l, bool *empty, carat_error *err)
{
    struct ct_language d;

    /* a determined language has only states that are reached */
    CT_TRY(ct_language_determine(l, &d, err));
    *empty = true;
    for (int32_t i = 0; i < d.n_states; i++)
        *empty = *empty && !d.accepts[i];
    ct_language_free(&d);
    return CARAT_OK;
}

/* The arc of a determined language that takes a character from a state; -1: none. */
static int32_t find_arc(const struct ct_language *l, int32_t state, uint32_t code)
{
    int32_t low = 0, high = l->n_arcs;

    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        const struct ct_arc *arc = &l->arc[middle];
        if (arc->from < state || (arc->from == state && arc->high < code))
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->n_arcs && l->arc[low].from == state && l->arc[low].low <= code ? low : -1;
}

bool ct_language_takes(const struct ct_language *l, struct ct_str text)
{
    int32_t state = l->start;

    for (size_t i = 0; i < text.n && state >= 0;) {
        const uint8_t *p = (const uint8_t *)text.s + i;
        const size_t length = CT_MAX(ct_utf8_length(p, text.n - i), 1);
        const int32_t arc = find_arc(l, state, ct_utf8_decode(p, length));
        state = arc < 0 ? -1 : l->arc[arc].to;
        i += length;
    }
    return state >= 0 && l->accepts[state];
}
