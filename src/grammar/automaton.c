/* SPDX-License-Identifier: Apache-2.0 */
/* automaton.c: see automaton.h.
 *
 * A step takes the places of a state that go on with the symbol, and closes the set: over edges that take
 * nothing, over ends of rules, which lead back to the places in the frame, and into rules. All places that
 * call a rule in one step share one frame, so that the number of places does not grow with the number of
 * ways in which a text can be read. That needs all callers of a rule before it is entered: rules are entered
 * in the order in which they begin with one another (finish.c), and one that may be empty is passed over
 * where it is called. A call behind which nothing comes but the end of its rule adds no frame.
 *
 * A frame is a set of places, too. That of a bag has marks besides: of each member that was written.
 *
 * How deep brackets lie in each other follows from the bytes of a text, so a state has a level. Where levels
 * are limited (calls), a place whose shortest ending has no room is in no state (is_shallow); so what is let
 * through has an end within them. */
#include "grammar/automaton_parts.h"

#include <stdlib.h>

#include "os/memory.h"

enum { SLOTS = 2 * CT_SETS_MAX, SLOTS_FIRST = 1 << 12, PLACES = 1 << 20, ROW_BYTES = 32 << 20 };
enum { WORK = 1 << 18, SEEN = 2 * WORK, SEEN_FIRST = 1 << 10 };

/* ---- costs ---- */

static uint32_t place_cost(const struct ct_automaton *a, uint64_t place, int32_t level)
{
    const struct ct_grammar *g = a->grammar;
    const int32_t node = place_node(place), frame = place_frame(place);

    if (node == LAST)
        return 0;
    const struct ct_rule *r = &g->rule[g->owner[node]];
    const uint64_t own = r->n_members < 0 ? g->least[node] : ct_unordered_cost(a, r, node, frame, level);
    return (uint32_t)CT_MIN(own + a->set[frame].least, CT_NEVER);
}

/* ---- sets ---- */

static void sort_places(uint64_t *place, uint32_t n)
{
    for (uint32_t gap = n / 2; gap > 0; gap /= 2)
        for (uint32_t i = gap; i < n; i++) {
            const uint64_t own = place[i];
            uint32_t at = i;
            for (; at >= gap && place[at - gap] > own; at -= gap)
                place[at] = place[at - gap];
            place[at] = own;
        }
}

static uint32_t hash_places(const uint64_t *place, uint32_t n)
{
    uint64_t h = n;

    for (uint32_t i = 0; i < n; i++) {
        h = (h ^ place[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return (uint32_t)(h ^ h >> 32);
}

static void put_into_table(struct ct_automaton *a, int32_t set)
{
    uint32_t slot = a->set[set].hash & (a->slots - 1);

    while (a->slot[slot])
        slot = (slot + 1) & (a->slots - 1);
    a->slot[slot] = set + 1;
}

/* Begins the table anew, with so many slots. It is as large as sets have needed it: each page of it that is
 * touched has to be cleared first. */
static void fill_table(struct ct_automaton *a, uint32_t slots)
{
    a->slots = slots;
    memset(a->slot, 0, slots * sizeof *a->slot);
    for (uint32_t set = 1; set < a->n_sets; set++)
        put_into_table(a, (int32_t)set);
}

/* The number of the set of these n places, which are sorted and made unique; CT_DEAD of none, or where there
 * is no room. */
static int32_t intern(struct ct_automaton *a, uint64_t *place, uint32_t n)
{
    uint32_t unique = 0, slot;

    sort_places(place, n);
    for (uint32_t i = 0; i < n; i++)
        if (!unique || place[i] != place[unique - 1])
            place[unique++] = place[i];
    if (!unique)
        return CT_DEAD;
    const uint32_t hash = hash_places(place, unique);
    for (slot = hash & (a->slots - 1); a->slot[slot]; slot = (slot + 1) & (a->slots - 1)) {
        const struct ct_set *s = &a->set[a->slot[slot] - 1];
        if (s->hash == hash && s->n == unique && memcmp(a->place + s->at, place, unique * sizeof *place) == 0)
            return a->slot[slot] - 1;
    }
    if (a->n_sets == CT_SETS_MAX || unique > PLACES - a->n_places) {
        a->full = true;
        return CT_DEAD;
    }
    struct ct_set *s = &a->set[a->n_sets];
    *s = (struct ct_set){.at = a->n_places, .n = unique, .hash = hash, .least = CT_NEVER, .level = a->level};
    memcpy(a->place + s->at, place, unique * sizeof *place);
    a->n_places += unique;
    for (uint32_t i = 0; i < unique && !is_member_mark(place[i]); i++)
        s->least = CT_MIN(s->least, place_cost(a, place[i], a->level));
    a->slot[slot] = (int32_t)++a->n_sets;
    if (2 * a->n_sets > a->slots && a->slots < SLOTS)
        fill_table(a, 2 * a->slots);
    return (int32_t)a->n_sets - 1;
}

/* The frame of a bag with one more member. */
static int32_t bag_with(struct ct_automaton *a, int32_t frame, int32_t member)
{
    const uint32_t n = a->set[frame].n;

    memcpy(a->sorted, set_places(a, frame), n * sizeof *a->sorted);
    a->sorted[n] = place_in(MARK + member, 0);
    return intern(a, a->sorted, n + 1);
}

/* ---- a step ---- */

static void step_begin(struct ct_automaton *a)
{
    a->step++;
    a->n_work = a->n_pending = 0;
}

/* The slot of a place of this step, or the empty one that it would take. */
static uint32_t seen_slot(const struct ct_automaton *a, uint64_t place)
{
    const uint32_t last = a->seen_slots - 1;
    uint32_t slot = (uint32_t)(place * 0x9e3779b97f4a7c15u >> 40) & last;

    while (a->seen[slot] >> 32 == a->step && a->work[(uint32_t)a->seen[slot]] != place)
        slot = (slot + 1) & last;
    return slot;
}

/* The table is as large as steps have needed it: most are small, and zeros take time. */
static void seen_grow(struct ct_automaton *a)
{
    a->seen_slots *= 2;
    memset(a->seen, 0, a->seen_slots * sizeof *a->seen);
    for (uint32_t i = 0; i < a->n_work; i++)
        a->seen[seen_slot(a, a->work[i])] = (uint64_t)a->step << 32 | i;
}

static void step_add(struct ct_automaton *a, int32_t node, int32_t frame)
{
    const uint64_t place = place_in(node, frame);
    const uint32_t slot = seen_slot(a, place);

    if (a->seen[slot] >> 32 == a->step || !is_shallow(a->grammar, node, a->level))
        return;
    if (a->n_work == WORK) {
        a->full = true;
        return;
    }
    a->seen[slot] = (uint64_t)a->step << 32 | a->n_work;
    a->work[a->n_work++] = place;
    if (2 * a->n_work > a->seen_slots)
        seen_grow(a);
}

static bool comes_before(const struct ct_automaton *a, int32_t rule, int32_t other)
{
    return a->grammar->rule[rule].order < a->grammar->rule[other].order;
}

static void wait_for(struct ct_automaton *a, int32_t rule)
{
    int32_t i = a->n_waiting++;

    for (; i > 0 && comes_before(a, rule, a->waiting[(i - 1) / 2]); i = (i - 1) / 2)
        a->waiting[i] = a->waiting[(i - 1) / 2];
    a->waiting[i] = rule;
}

static int32_t next_rule(struct ct_automaton *a)
{
    const int32_t first = a->waiting[0], last = a->waiting[--a->n_waiting];
    int32_t i = 0, next;

    while ((next = 2 * i + 1) < a->n_waiting) {
        next += next + 1 < a->n_waiting && comes_before(a, a->waiting[next + 1], a->waiting[next]);
        if (!comes_before(a, a->waiting[next], last))
            break;
        a->waiting[i] = a->waiting[next];
        i = next;
    }
    a->waiting[i] = last;
    return first;
}

/* A rule is called and returns to a place. */
static void step_call(struct ct_automaton *a, int32_t rule, uint64_t place)
{
    if (!is_shallow(a->grammar, place_node(place), a->level))
        return;
    if (a->n_pending == WORK) {
        a->full = true;
        return;
    }
    if (!a->called[rule])
        wait_for(a, rule);
    a->pending[a->n_pending] = place;
    a->before[a->n_pending] = a->called[rule];
    a->called[rule] = ++a->n_pending;
}

/* A rule ends: all places that its frame leads back to. */
static void step_return(struct ct_automaton *a, int32_t frame)
{
    const uint64_t *place = set_places(a, frame);

    for (uint32_t i = 0; i < a->set[frame].n && !is_member_mark(place[i]); i++)
        step_add(a, place_node(place[i]), place_frame(place[i]));
}

static void step_members(struct ct_automaton *a, const struct ct_rule *r, int32_t frame)
{
    for (int32_t i = 0; i < r->n_members; i++) {
        const struct ct_member *m = &a->grammar->member[r->first_member + i];
        const int32_t with = ct_unordered_has(a, frame, i) ? CT_DEAD : bag_with(a, frame, i);
        if (with != CT_DEAD && a->set[with].least < CT_NEVER && ct_member_least(a->grammar, m) < CT_NEVER)
            step_call(a, m->rule, place_in(r->after, with));
    }
}

/* A place in a bag. */
static void step_bag(struct ct_automaton *a, const struct ct_rule *r, int32_t node, int32_t frame)
{
    if (node == r->start || node == r->again)
        step_members(a, r, frame);
    const uint64_t missing = ct_unordered_cost(a, r, r->after, frame, a->level);
    if ((node == r->start || node == r->after) && missing == 0)
        step_add(a, r->end, frame);
    if (node == r->after && ct_unordered_cost(a, r, r->again, frame, a->level) < CT_NEVER)
        step_call(a, r->separator, place_in(r->again, frame));
}

static void step_rule_edge(struct ct_automaton *a, const struct ct_edge *e, int32_t frame)
{
    const struct ct_grammar *g = a->grammar;
    const bool may_be_empty = g->least[g->rule[e->what].start] == 0;

    if (!e->tail) {
        step_call(a, e->what, place_in(e->to, frame));
        if (may_be_empty)
            step_add(a, e->to, frame);
        return;
    }
    for (uint32_t i = 0; i < a->set[frame].n; i++)
        step_call(a, e->what, set_places(a, frame)[i]);
    if (may_be_empty)
        step_return(a, frame);
}

static void step_place(struct ct_automaton *a, uint64_t place)
{
    const struct ct_grammar *g = a->grammar;
    const int32_t node = place_node(place), frame = place_frame(place);

    if (node == LAST)
        return;
    const struct ct_rule *r = &g->rule[g->owner[node]];
    if (node == r->end)
        step_return(a, frame);
    if (r->n_members >= 0)
        step_bag(a, r, node, frame);
    for (int32_t i = g->first[node]; i < g->first[node + 1]; i++)
        if (g->edge[i].kind == CT_EDGE_SKIP)
            step_add(a, g->edge[i].to, frame);
        else if (g->edge[i].kind == CT_EDGE_RULE)
            step_rule_edge(a, &g->edge[i], frame);
}

/* True when a place goes on with a symbol, or is the end of the text: only these are kept in a state. */
static bool is_kept(const struct ct_automaton *a, uint64_t place)
{
    const struct ct_grammar *g = a->grammar;
    const int32_t node = place_node(place);

    if (node == LAST)
        return true;
    for (int32_t i = g->first[node]; i < g->first[node + 1]; i++)
        if (g->edge[i].kind == CT_EDGE_BYTES || g->edge[i].kind == CT_EDGE_TOKEN)
            return true;
    return false;
}

/* The state of the places that were added, and of all that they lead to without a symbol. */
static int32_t step_end(struct ct_automaton *a)
{
    uint32_t at = 0, n = 0;

    for (;;) {
        while (at < a->n_work && !ct_watch_ended(a->grammar->watch, 1))
            step_place(a, a->work[at++]);
        if (!a->n_waiting)
            break;
        const int32_t rule = next_rule(a);
        for (uint32_t i = a->called[rule]; i; i = a->before[i - 1])
            a->sorted[n++] = a->pending[i - 1];
        a->called[rule] = 0;
        const int32_t frame = ct_watch_ended(a->grammar->watch, n) ? CT_DEAD : intern(a, a->sorted, n);
        n = 0;
        if (frame != CT_DEAD)
            step_add(a, a->grammar->rule[rule].start, frame);
    }
    for (uint32_t i = 0; i < a->n_work; i++)
        if (is_kept(a, a->work[i]))
            a->sorted[n++] = a->work[i];
    const int32_t state = intern(a, a->sorted, n);
    return a->set[state].least < CT_NEVER ? state : CT_DEAD;
}

/* The first state, of which every text begins. */
static carat_status automaton_begin(struct ct_automaton *a, carat_error *err)
{
    uint64_t end = place_in(LAST, 0);

    a->n_sets = 1; /* CT_DEAD has no places */
    fill_table(a, SLOTS_FIRST);
    a->set[CT_DEAD] = (struct ct_set){.least = CT_NEVER};
    a->seen_slots = SEEN_FIRST;
    memset(a->seen, 0, SEEN_FIRST * sizeof *a->seen);
    a->level = 0;
    step_begin(a);
    step_add(a, a->grammar->rule[a->grammar->root].start, intern(a, &end, 1));
    a->start = step_end(a);
    if (ct_watch_ended(a->grammar->watch, 1))
        return ct_watch_fail(err);
    if (a->start == CT_DEAD || a->full)
        return ct_fail(err, CARAT_E_ARGUMENT, "the grammar needs more than %d places at once", WORK);
    return CARAT_OK;
}

/* ---- memory ---- */

carat_status ct_automaton_open(struct ct_automaton *a, const struct ct_grammar *g, carat_error *err)
{
    *a = (struct ct_automaton){.grammar = g, .symbols = g->n_classes + g->n_tokens};
    a->rows = (uint32_t)ROW_BYTES / sizeof *a->row / (uint32_t)a->symbols;
    a->set = ct_os_alloc(CT_SETS_MAX * sizeof *a->set);
    a->place = ct_os_alloc(PLACES * sizeof *a->place);
    a->row = ct_os_alloc((size_t)a->rows * (size_t)a->symbols * sizeof *a->row);
    a->slot = ct_os_alloc(SLOTS * sizeof *a->slot);
    a->needed = ct_os_alloc(CT_SETS_MAX * sizeof *a->needed);
    a->moved = ct_os_alloc(CT_SETS_MAX * sizeof *a->moved);
    a->work = ct_os_alloc(WORK * sizeof *a->work);
    a->seen = ct_os_alloc(SEEN * sizeof *a->seen);
    a->pending = ct_os_alloc(WORK * sizeof *a->pending);
    a->before = ct_os_alloc(WORK * sizeof *a->before);
    a->sorted = ct_os_alloc((WORK + 1) * sizeof *a->sorted);
    a->called = calloc((size_t)g->n_rules + 1, sizeof *a->called);
    a->waiting = malloc(((size_t)g->n_rules + 1) * sizeof *a->waiting);
    carat_status status = a->set && a->place && a->row && a->slot && a->needed && a->moved && a->work &&
                                  a->seen && a->pending && a->before && a->sorted && a->called && a->waiting
                              ? automaton_begin(a, err)
                              : ct_no_memory(err, "the states of a grammar");
    if (status)
        ct_automaton_close(a);
    return status;
}

void ct_automaton_close(struct ct_automaton *a)
{
    ct_os_free(a->set);
    ct_os_free(a->place);
    ct_os_free(a->row);
    ct_os_free(a->slot);
    ct_os_free(a->needed);
    ct_os_free(a->moved);
    ct_os_free(a->work);
    ct_os_free(a->seen);
    ct_os_free(a->pending);
    ct_os_free(a->before);
    ct_os_free(a->sorted);
    free(a->called);
    free(a->waiting);
    *a = (struct ct_automaton){0};
}

/* ---- forgetting ---- */

bool ct_automaton_crowded(const struct ct_automaton *a)
{
    const uint32_t sets = CT_SETS_MAX / 4 * 3, places = PLACES / 4 * 3;

    return (a->n_sets > sets && a->n_sets - a->kept_sets > CT_SETS_MAX / 8) ||
           (a->n_places > places && a->n_places - a->kept_places > PLACES / 8) ||
           (a->n_rows == a->rows && a->n_sets > 2 * a->kept_sets);
}

void ct_automaton_mark(struct ct_automaton *a, int32_t state)
{
    a->needed[state] = 1;
}

int32_t ct_automaton_moved(const struct ct_automaton *a, int32_t state)
{
    return a->moved[state];
}

static bool has_frame(uint64_t place)
{
    return place_node(place) < LAST;
}

/* Moves a set to the end of those that stay. Frames have lower numbers than the sets that name them, and keep
 * their order: so places stay in order, too. */
static void move_set(struct ct_automaton *a, uint32_t set)
{
    struct ct_set *to = &a->set[a->n_sets];
    const struct ct_set from = a->set[set];
    uint64_t *place = a->place + a->n_places;

    for (uint32_t i = 0; i < from.n; i++) {
        const uint64_t own = a->place[from.at + i];
        place[i] = has_frame(own) ? place_in(place_node(own), a->moved[place_frame(own)]) : own;
    }
    *to = (struct ct_set){.at = a->n_places,
                          .n = from.n,
                          .hash = hash_places(place, from.n),
                          .least = from.least,
                          .level = from.level};
    a->n_places += from.n;
    a->moved[set] = (int32_t)a->n_sets++;
}

void ct_automaton_compact(struct ct_automaton *a)
{
    const uint32_t sets = a->n_sets;

    ct_automaton_mark(a, a->start);
    for (uint32_t set = sets; set-- > 1;)
        for (uint32_t i = 0; i < a->set[set].n && a->needed[set]; i++)
            if (has_frame(a->place[a->set[set].at + i]))
                ct_automaton_mark(a, place_frame(a->place[a->set[set].at + i]));
    a->n_rows = a->n_places = 0;
    a->n_sets = 1;
    a->moved[CT_DEAD] = CT_DEAD;
    for (uint32_t set = 1; set < sets; set++)
        if (a->needed[set])
            move_set(a, set);
    fill_table(a, a->slots);
    a->start = a->moved[a->start];
    memset(a->needed, 0, sets * sizeof *a->needed);
    a->kept_sets = a->n_sets;
    a->kept_places = a->n_places;
    a->full = false;
}

/* ---- asking ---- */

/* The number of a token that edges take. */
static int32_t token_number(const struct ct_grammar *g, int32_t id)
{
    int32_t low = 0, high = g->n_tokens;

    while (low < high) {
        const int32_t middle = (low + high) / 2;
        if (g->token[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < g->n_tokens && g->token[low] == id ? low : CT_NO_SYMBOL;
}

/* Symbols that no edge takes lead nowhere: most, so that a walk need not ask for each. */
static void row_begin(const struct ct_automaton *a, int32_t state, int32_t *row)
{
    const struct ct_grammar *g = a->grammar;

    for (int32_t i = 0; i < a->symbols; i++)
        row[i] = CT_DEAD + 1;
    for (uint32_t i = 0; i < a->set[state].n; i++) {
        const int32_t node = place_node(set_places(a, state)[i]);
        for (int32_t k = node >= LAST ? 0 : g->first[node]; node < LAST && k < g->first[node + 1]; k++) {
            const struct ct_edge *e = &g->edge[k];
            for (int c = g->class_of[e->low]; e->kind == CT_EDGE_BYTES && c <= g->class_of[e->high]; c++)
                row[c] = 0;
            if (e->kind == CT_EDGE_TOKEN)
                row[g->n_classes + token_number(g, e->what)] = 0;
        }
    }
}

int32_t *ct_automaton_row(struct ct_automaton *a, int32_t state)
{
    struct ct_set *s = &a->set[state];
    const size_t symbols = (size_t)a->symbols;

    if (!s->row && a->n_rows < a->rows) {
        s->row = (int32_t)++a->n_rows;
        row_begin(a, state, a->row + (size_t)(s->row - 1) * symbols);
    }
    return s->row ? a->row + (size_t)(s->row - 1) * symbols : NULL;
}

static bool edge_takes(const struct ct_edge *e, int32_t symbol, const int32_t *token)
{
    return symbol < 256 ? e->kind == CT_EDGE_BYTES && e->low <= symbol && symbol <= e->high
                        : e->kind == CT_EDGE_TOKEN && e->what == token[symbol - 256];
}

/* The level behind an edge that is taken at a level. */
static int32_t level_behind(const struct ct_edge *e, int32_t level)
{
    return e->kind == CT_EDGE_BYTES ? level + e->what : level;
}

static int32_t make_step(struct ct_automaton *a, int32_t state, int32_t symbol)
{
    const struct ct_grammar *g = a->grammar;

    step_begin(a);
    for (uint32_t i = 0; i < a->set[state].n; i++) {
        const uint64_t place = set_places(a, state)[i];
        const int32_t node = place_node(place);
        for (int32_t k = node == LAST ? 0 : g->first[node]; node != LAST && k < g->first[node + 1]; k++)
            if (edge_takes(&g->edge[k], symbol, g->token)) {
                a->level = level_behind(&g->edge[k], a->set[state].level);
                step_add(a, g->edge[k].to, place_frame(place));
            }
    }
    return step_end(a);
}

int32_t ct_automaton_symbol(struct ct_automaton *a, int32_t state, int32_t symbol)
{
    const int32_t column = symbol < 256 ? a->grammar->class_of[symbol] : a->grammar->n_classes + symbol - 256;

    if (state == CT_DEAD)
        return CT_DEAD;
    int32_t *row = ct_automaton_row(a, state);
    if (row && row[column])
        return row[column] - 1;
    const int32_t to = make_step(a, state, symbol);
    if (row)
        row[column] = to + 1;
    return to;
}

int32_t ct_automaton_byte(struct ct_automaton *a, int32_t state, uint8_t byte)
{
    return ct_automaton_symbol(a, state, byte);
}

int32_t ct_automaton_token(struct ct_automaton *a, int32_t state, int32_t id)
{
    const int32_t number = token_number(a->grammar, id);

    return number != CT_NO_SYMBOL ? ct_automaton_symbol(a, state, 256 + number) : CT_DEAD;
}

bool ct_automaton_accepts(const struct ct_automaton *a, int32_t state)
{
    const struct ct_set *s = &a->set[state];

    return s->n > 0 && place_node(a->place[s->at + s->n - 1]) == LAST;
}

uint32_t ct_automaton_least(const struct ct_automaton *a, int32_t state)
{
    return a->set[state].least;
}

/* The first symbol of an edge. */
static int32_t edge_symbol(const struct ct_automaton *a, const struct ct_edge *e)
{
    return e->kind == CT_EDGE_BYTES ? e->low : 256 + token_number(a->grammar, e->what);
}

int32_t ct_automaton_shortest(const struct ct_automaton *a, int32_t state)
{
    const struct ct_grammar *g = a->grammar;
    const struct ct_set *s = &a->set[state];

    for (uint32_t i = 0; i < s->n && s->least > 0; i++) {
        const uint64_t place = a->place[s->at + i];
        const int32_t node = place_node(place), frame = place_frame(place);
        for (int32_t k = g->first[node]; k < g->first[node + 1]; k++) {
            const struct ct_edge *e = &g->edge[k];
            const int32_t level = level_behind(e, s->level);
            if ((e->kind == CT_EDGE_BYTES || e->kind == CT_EDGE_TOKEN) && is_shallow(g, e->to, level) &&
                place_cost(a, place_in(e->to, frame), level) == s->least - 1)
                return edge_symbol(a, e);
        }
    }
    return CT_NO_SYMBOL;
}

int32_t ct_automaton_only(const struct ct_automaton *a, int32_t state)
{
    const struct ct_grammar *g = a->grammar;
    const struct ct_set *s = &a->set[state];
    int32_t only = CT_NO_SYMBOL;

    if (ct_automaton_accepts(a, state))
        return CT_NO_SYMBOL;
    for (uint32_t i = 0; i < s->n; i++) {
        const int32_t node = place_node(a->place[s->at + i]);
        for (int32_t k = g->first[node]; k < g->first[node + 1]; k++) {
            const struct ct_edge *e = &g->edge[k];
            if (e->kind != CT_EDGE_BYTES && e->kind != CT_EDGE_TOKEN)
                continue;
            const int32_t symbol = edge_symbol(a, e);
            if ((e->kind == CT_EDGE_BYTES && e->low != e->high) || (only != CT_NO_SYMBOL && only != symbol))
                return CT_NO_SYMBOL;
            only = symbol;
        }
    }
    return only;
}
