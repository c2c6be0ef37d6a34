/* SPDX-License-Identifier: Apache-2.0 */
/* mask.c: see mask.h.
 *
 * A walk skips what is below a node where the automaton is dead. Inside a string nothing is dead, and a walk
 * would go over the whole vocabulary: so states are known from which every plain character (trie.h) leads to
 * the same state. From there the ids with plain texts are looked at by their number of characters alone. And
 * where most characters lead from a state to itself, as in a pattern, those below it that do are passed over
 * without asking: only the others are walked. And where nearly every plain character leads to one state from
 * which all plain texts go on (a key that is none of the declared ones), all plain ids are put at once,
 * and the walk takes back what may not come.
 *
 * A mask is kept for a state as if any number of ids might come, with a number of ids that is enough to end
 * the form behind each of its ids. Where fewer may come the mask is made each time. */
#include "grammar/mask.h"

#include "os/memory.h"

/* A mask that is kept, in a ring from the newest to the oldest; the last one, of no state, ties the ends. */
struct ct_kept_mask {
    int32_t state;
    int32_t enough; /* ids that are enough for an end behind each id of the mask */
    int32_t newer, older;
};

/* ---- memory ---- */

carat_status ct_masks_open(struct ct_masks *m, struct ct_ids *ids, int32_t n, size_t bytes, carat_error *err)
{
    *m = (struct ct_masks){.ids = ids, .n = n, .words = ((size_t)n + 63) / 64};
    const size_t slots = bytes / (m->words * sizeof *m->bits + 1);
    m->n_slots = (int32_t)CT_MAX(CT_MIN(slots, CT_SETS_MAX), 1);
    m->by_length = ct_os_alloc((CT_PLAIN_MAX * m->words + 1) * sizeof *m->by_length);
    m->seen = ct_os_alloc(CT_SETS_MAX * sizeof *m->seen);
    m->plain = ct_os_alloc(CT_SETS_MAX * sizeof *m->plain);
    m->slot = ct_os_alloc(CT_SETS_MAX * sizeof *m->slot);
    m->bits = ct_os_alloc(((size_t)m->n_slots * m->words + 1) * sizeof *m->bits);
    m->kept = ct_os_alloc(((size_t)m->n_slots + 1) * sizeof *m->kept);
    if (m->by_length && m->seen && m->plain && m->slot && m->bits && m->kept) {
        m->kept[m->n_slots] = (struct ct_kept_mask){-1, 0, m->n_slots, m->n_slots};
        return CARAT_OK;
    }
    ct_masks_close(m);
    return ct_no_memory(err, "the masks of a form");
}

void ct_masks_close(struct ct_masks *m)
{
    ct_os_free(m->by_length);
    ct_os_free(m->seen);
    ct_os_free(m->plain);
    ct_os_free(m->slot);
    ct_os_free(m->bits);
    ct_os_free(m->kept);
    *m = (struct ct_masks){0};
}

void ct_masks_forget(struct ct_masks *m)
{
    const uint32_t sets = m->ids->automaton.n_sets;

    memset(m->slot, 0, sets * sizeof *m->slot);
    memset(m->plain, 0, sets * sizeof *m->plain);
    memset(m->seen, 0, sets * sizeof *m->seen);
    m->n_used = 0;
    m->kept[m->n_slots] = (struct ct_kept_mask){-1, 0, m->n_slots, m->n_slots};
}

/* ---- plain characters ---- */

/* All characters of plain texts, by the ranges of their bytes. */
static const struct {
    uint8_t n, low[4], high[4];
} characters[] = {
    {1, {0x20}, {0x21}},
    {1, {0x23}, {0x5b}},
    {1, {0x5d}, {0x7e}},
    {2, {0xc2, 0x80}, {0xdf, 0xbf}},
    {3, {0xe0, 0xa0, 0x80}, {0xe0, 0xbf, 0xbf}},
    {3, {0xe1, 0x80, 0x80}, {0xec, 0xbf, 0xbf}},
    {3, {0xed, 0x80, 0x80}, {0xed, 0x9f, 0xbf}},
    {3, {0xee, 0x80, 0x80}, {0xef, 0xbf, 0xbf}},
    {4, {0xf0, 0x90, 0x80, 0x80}, {0xf0, 0xbf, 0xbf, 0xbf}},
    {4, {0xf1, 0x80, 0x80, 0x80}, {0xf3, 0xbf, 0xbf, 0xbf}},
    {4, {0xf4, 0x80, 0x80, 0x80}, {0xf4, 0x8f, 0xbf, 0xbf}},
};

enum { UNKNOWN, NOT_ALIKE, STATE }; /* of ct_masks.plain; STATE + a state */
enum { TOGETHER = 8 };

/* A few states, each once. */
struct some {
    int n; /* TOGETHER + 1: too many */
    int32_t state[TOGETHER];
};

static void add_state(struct some *s, int32_t state)
{
    for (int i = 0; i < s->n && i < TOGETHER; i++)
        if (s->state[i] == state)
            return;
    if (s->n < TOGETHER)
        s->state[s->n] = state;
    s->n = CT_MIN(s->n + 1, TOGETHER + 1);
}

/* The states that these lead to with bytes from low to high. */
static struct some lead_on(struct ct_automaton *a, const struct some *from, int low, int high)
{
    const uint8_t *class_of = a->grammar->class_of;
    struct some to = {0};

    for (int byte = low; byte <= high; byte++)
        for (int i = 0; i < from->n && (byte == low || class_of[byte] != class_of[byte - 1]); i++)
            add_state(&to, ct_automaton_byte(a, from->state[i], (uint8_t)byte));
    return to;
}

/* The state that every plain character leads to, perhaps CT_DEAD; -1: not all lead to one. */
static int32_t plain_step(struct ct_masks *m, int32_t state)
{
    struct some all = {0};

    if (m->plain[state] != UNKNOWN)
        return m->plain[state] - STATE;
    m->plain[state] = NOT_ALIKE;
    for (size_t k = 0; k < CT_COUNT(characters); k++) {
        struct some at = {1, {state}};
        for (int i = 0; i < characters[k].n; i++) {
            at = lead_on(&m->ids->automaton, &at, characters[k].low[i], characters[k].high[i]);
            if (at.n > TOGETHER)
                return -1;
        }
        for (int i = 0; i < at.n; i++)
            add_state(&all, at.state[i]);
        if (all.n > 1)
            return -1;
    }
    m->plain[state] = STATE + all.state[0];
    return all.state[0];
}

/* ---- a walk ---- */

static void note_roots(struct ct_masks *m)
{
    const struct ct_trie *trie = m->ids->trie;
    const uint32_t begin[] = {0, trie->plain, trie->n_nodes};

    for (int plain = 0; plain < 2; plain++) {
        struct ct_mask_root *root = m->root[plain];
        for (uint32_t at = begin[plain]; at < begin[plain + 1]; at = trie->node[at].next)
            *root++ = (struct ct_mask_root){at, (uint8_t)trie->node[at].byte};
        root->node = begin[plain + 1];
    }
}

/* True when an id may lead to a state. */
static bool may_reach(struct ct_masks *m, int32_t state, int most)
{
    if (m->seen[state] / 2 != m->pass) {
        int needs = (int)ct_automaton_least(&m->ids->automaton, state);
        if (most != INT32_MAX)
            needs = CT_MIN(needs, ct_ids_shortest(m->ids, state));
        m->enough = CT_MAX(m->enough, needs);
        m->seen[state] = 2 * m->pass + (needs <= most);
    }
    return m->seen[state] & 1;
}

static void put(const struct ct_masks *m, int32_t id, uint64_t *bits)
{
    if (id < m->n)
        bits[id / 64] |= UINT64_C(1) << id % 64;
}

static void take_back(const struct ct_masks *m, int32_t id, uint64_t *bits)
{
    if (id < m->n)
        bits[id / 64] &= ~(UINT64_C(1) << id % 64);
}

/* From a state that plain characters lead on from alike, how many of them ids may take: m->run. False: there
 * is a state on the way from which they do not lead alike. */
static bool plain_run(struct ct_masks *m, int32_t state, int most)
{
    if (m->run_from == state)
        return true;
    bool may[CT_PLAIN_MAX + 1] = {false};
    int32_t at = state;
    for (int i = 1; i <= CT_PLAIN_MAX && at != CT_DEAD; i++) {
        at = plain_step(m, at);
        if (at < 0)
            return false;
        may[i] = at != CT_DEAD && may_reach(m, at, most);
    }
    memcpy(m->run, may, sizeof may);
    m->run_from = state;
    return true;
}

/* True when all plain texts lead on from a state, and it may be reached itself. */
static bool takes_all(struct ct_masks *m, int32_t state, int most)
{
    return state != CT_DEAD && plain_run(m, state, most) && !memchr(m->run + 1, false, CT_PLAIN_MAX) &&
           may_reach(m, state, most);
}

/* The state to which all characters lead of which bytes a range of table `characters` is made, but the first,
 * which lies between low and high; -1: they do not lead to one state. */
static int32_t lead_to(struct ct_automaton *a, int32_t state, size_t k, int low, int high)
{
    struct some at = {1, {state}};

    at = lead_on(a, &at, low, high);
    for (int i = 1; i < characters[k].n && at.n == 1; i++)
        at = lead_on(a, &at, characters[k].low[i], characters[k].high[i]);
    return at.n == 1 ? at.state[0] : -1;
}

enum { FEW_CHARACTERS = 8, FEW_NODES = 100, MANY_LETTERS = 48 };

/* Finds the usual state behind the first character of a text: where more letters lead than elsewhere. */
static void find_usual(struct ct_masks *m, int32_t state, int most)
{
    struct ct_automaton *a = &m->ids->automaton;
    int32_t usual = CT_DEAD;
    int votes = 0, n = 0;

    for (int byte = 0x21; byte < 0x7f; byte++) { /* of a majority more votes are left than of all others */
        const int32_t to = ct_automaton_byte(a, state, (uint8_t)byte);
        votes += to == usual ? 1 : -1;
        if (votes < 0) {
            usual = to;
            votes = 1;
        }
    }
    memset(m->to_usual, 0, sizeof m->to_usual);
    for (size_t k = 0; k < CT_COUNT(characters); k++) {
        const int low = characters[k].low[0], high = characters[k].high[0];
        const bool all = low >= 0x80 && lead_to(a, state, k, low, high) == usual;
        for (int byte = low; byte <= high; byte++) {
            m->to_usual[byte] = all || (low < 0x80 && ct_automaton_byte(a, state, (uint8_t)byte) == usual);
            n += m->to_usual[byte];
        }
    }
    m->usual = n >= MANY_LETTERS && takes_all(m, usual, most) ? usual : -1;
}

/* True when many plain characters lead from a state to itself: m->around; bytes behind the first are part of
 * it. */
static bool leads_around(struct ct_masks *m, int32_t state)
{
    struct ct_automaton *a = &m->ids->automaton;
    int n = 0;

    if (m->around_from == state)
        return m->around[0x80];
    m->around_from = state;
    memset(m->around, 0, sizeof m->around);
    for (size_t k = 0; k < CT_COUNT(characters); k++) {
        const int low = characters[k].low[0], high = characters[k].high[0];
        if (low >= 0x80 && n < FEW_CHARACTERS)
            return false;
        for (int byte = low; byte <= high; byte++) {
            m->around[byte] = lead_to(a, state, k, byte, byte) == state;
            n += m->around[byte];
        }
    }
    memset(m->around + 0x80, true, 0x40);
    return true;
}

struct level {
    const int32_t *row;
    int32_t state;
    uint32_t end;       /* the node behind those that are below */
    uint8_t characters; /* whole ones of a plain text so far, or UNCOUNTED */
    uint8_t rest;       /* bytes that the last one lacks */
    bool around;        /* characters lead from the state to itself, also some levels below */
};
enum { UNCOUNTED = 255 };

/* Bytes that a character lacks behind one of its bytes. */
static uint8_t lacks(uint8_t byte, uint8_t before)
{
    return (uint8_t)(byte < 0x80 ? 0 : byte < 0xc0 ? before - 1 : 1 + (byte >= 0xe0) + (byte >= 0xf0));
}

/* Says of the ids of a part of the trie whether they may come. */
static void put_ids(struct ct_masks *m, uint32_t from, uint32_t to, bool may, uint64_t *bits)
{
    for (uint32_t i = from; i < to && may; i++)
        put(m, ct_trie_id(m->ids->trie->id[i]), bits);
    for (uint32_t i = from; i < to && !may && m->usual >= 0; i++)
        take_back(m, ct_trie_id(m->ids->trie->id[i]), bits);
}

/* Ids below a node in a state, by the number of characters behind the node's. False: the characters do not
 * lead to the same states, or it is not known how many were before. */
static bool put_below(struct ct_masks *m, const struct level *in, int most, uint32_t at, uint64_t *bits)
{
    const struct ct_trie *trie = m->ids->trie;

    if (!plain_run(m, in->state, most) ||
        (in->characters == UNCOUNTED && memchr(m->run + 1, false, CT_PLAIN_MAX)))
        return false;
    for (uint32_t i = trie->node[at].first; i < trie->node[in->end].first; i++)
        put_ids(m, i, i + 1,
                in->characters == UNCOUNTED || m->run[ct_trie_characters(trie->id[i]) - in->characters],
                bits);
    return true;
}

/* Passes over nodes from whose characters a state leads to itself. */
static uint32_t pass_around(struct ct_masks *m, const struct level *in, int most, uint32_t at, uint64_t *bits)
{
    const struct ct_trie_node *node = m->ids->trie->node;
    const uint32_t from = at;

    leads_around(m, in->state);
    while (at < in->end && m->around[node[at].byte])
        at++;
    if (node[from].first < node[at].first)
        put_ids(m, node[from].first, node[at].first, may_reach(m, in->state, most), bits);
    return at;
}

/* The next root, from one on, that a walk has to look at: not those of which all is known from the byte. */
static const struct ct_mask_root *next_root(const struct ct_masks *m, const struct ct_mask_root *root,
                                            const int32_t *row, bool plain, uint32_t end)
{
    const uint8_t *class_of = m->ids->automaton.grammar->class_of;
    const bool usual = plain && m->usual >= 0;

    while (root->node < end &&
           (usual ? m->to_usual[root->byte] : row && row[class_of[root->byte]] == CT_DEAD + 1))
        root++;
    return root;
}

static void walk(struct ct_masks *m, int32_t state, int most, bool plain, uint64_t *bits)
{
    struct ct_automaton *a = &m->ids->automaton;
    const struct ct_trie *trie = m->ids->trie;
    const uint8_t *class_of = a->grammar->class_of;
    const uint32_t end = plain ? trie->n_nodes : trie->plain;
    const struct ct_mask_root *root = m->root[plain];
    uint32_t at = root->node;
    struct level level[CT_TOKEN_BYTES + 1] = {
        {ct_automaton_row(a, state), state, end, 0, 0, plain && leads_around(m, state)}};
    struct level *in = level;

    while (at < end) {
        while (at == in->end)
            in--;
        if (in == level && !in->around) { /* else it may be inside of what was passed over */
            while (root->node < at)
                root++;
            root = next_root(m, root, in->row, plain, end);
            if ((at = root->node) == end)
                break;
        }
        if (in->around && (at = pass_around(m, in, most, at, bits)) == in->end)
            continue;
        const struct ct_trie_node node = trie->node[at];
        int32_t to = in->row ? in->row[class_of[node.byte]] - 1 : -1;
        if (to < 0)
            to = ct_automaton_byte(a, in->state, node.byte);
        const bool whole = to == CT_DEAD || (plain && to == m->usual);
        at = whole ? node.next : at + 1;
        const uint32_t behind = trie->node[at].first;
        if (node.first < behind && to != m->usual)
            put_ids(m, node.first, behind, to != CT_DEAD && may_reach(m, to, most), bits);
        if (whole || at == node.next)
            continue;
        struct level below = {
            .row = ct_automaton_row(a, to),
            .state = to,
            .end = node.next,
            .characters = UNCOUNTED,
            .rest = lacks(node.byte, in->rest),
        };
        if (!in->around && in->characters != UNCOUNTED)
            below.characters = (uint8_t)(in->characters + (below.rest == 0));
        if (plain && below.rest == 0 && put_below(m, &below, most, at, bits)) {
            at = node.next;
            continue;
        }
        below.around = plain && below.rest == 0 && node.next - at > FEW_NODES && leads_around(m, to);
        *++in = below;
    }
}

/* Ids of plain texts of these numbers of characters. */
static void put_by_length(struct ct_masks *m, const bool may[CT_PLAIN_MAX + 1], uint64_t *bits)
{
    const struct ct_trie *trie = m->ids->trie;

    for (uint32_t i = trie->node[trie->plain].first; i < trie->n_ids && !m->by_length_made; i++) {
        const size_t length = ct_trie_characters(trie->id[i]) - 1;
        put(m, ct_trie_id(trie->id[i]), m->by_length + length * m->words);
    }
    m->by_length_made = true;
    for (size_t k = 0; k < CT_PLAIN_MAX; k++)
        for (size_t i = 0; i < m->words && may[k + 1]; i++)
            bits[i] |= m->by_length[k * m->words + i];
}

/* All ids with plain texts. */
static void put_all(const struct ct_masks *m, uint64_t *bits)
{
    const struct ct_trie *trie = m->ids->trie;

    for (size_t i = 0; i < CT_MIN(m->words, trie->n_words); i++)
        bits[i] |= trie->plain_ids[i];
}

/* Ids with plain texts, by the number of characters. False: the characters do not lead to the same states. */
static bool plain_ids(struct ct_masks *m, int32_t state, int most, uint64_t *bits)
{
    int n = 0;

    if (!plain_run(m, state, most))
        return false;
    for (int i = 1; i <= CT_PLAIN_MAX; i++)
        n += m->run[i];
    if (n == CT_PLAIN_MAX)
        put_all(m, bits);
    else if (n > 0)
        put_by_length(m, m->run, bits);
    return true;
}

/* Tokens that stand for themselves. */
static void tokens(struct ct_masks *m, int32_t state, int most, uint64_t *bits)
{
    const struct ct_grammar *g = m->ids->automaton.grammar;

    for (int32_t k = 0; k < g->n_tokens; k++) {
        char bytes[CT_TOKEN_BYTES];
        const int32_t to = ct_automaton_symbol(&m->ids->automaton, state, 256 + k);
        if (to != CT_DEAD && ct_tokenizer_bytes(m->ids->tokenizer, g->token[k], bytes) == 0 &&
            may_reach(m, to, most))
            put(m, g->token[k], bits);
    }
}

static void make(struct ct_masks *m, int32_t state, int most, uint64_t *bits)
{
    memset(bits, 0, m->words * sizeof *bits);
    m->enough = 0;
    m->run_from = m->around_from = m->usual = -1;
    if (m->pass == 0)
        note_roots(m);
    if (++m->pass == UINT32_MAX / 2) {
        memset(m->seen, 0, CT_SETS_MAX * sizeof *m->seen);
        m->pass = 1;
    }
    if (state == CT_DEAD)
        return;
    tokens(m, state, most, bits);
    walk(m, state, most, false, bits);
    if (!plain_ids(m, state, most, bits)) {
        find_usual(m, state, most);
        if (m->usual >= 0)
            put_all(m, bits);
        walk(m, state, most, true, bits);
    }
    if (m->n % 64) /* plain_ids puts whole words */
        bits[m->n / 64] &= (UINT64_C(1) << m->n % 64) - 1;
}

/* ---- masks that are kept ---- */

static void leave_ring(struct ct_masks *m, int32_t slot)
{
    const struct ct_kept_mask k = m->kept[slot];

    m->kept[k.newer].older = k.older;
    m->kept[k.older].newer = k.newer;
}

static void become_newest(struct ct_masks *m, int32_t slot)
{
    struct ct_kept_mask *ends = &m->kept[m->n_slots];

    m->kept[slot].newer = m->n_slots;
    m->kept[slot].older = ends->older;
    m->kept[ends->older].newer = slot;
    ends->older = slot;
}

/* A slot for one more mask: a new one, or that of the oldest. */
static int32_t take_slot(struct ct_masks *m)
{
    if (m->n_used < m->n_slots)
        return m->n_used++;
    const int32_t oldest = m->kept[m->n_slots].newer;
    m->slot[m->kept[oldest].state] = 0;
    leave_ring(m, oldest);
    return oldest;
}

/* The slot of a state's mask for any number of ids. */
static int32_t slot_of(struct ct_masks *m, int32_t state)
{
    int32_t slot = m->slot[state] - 1;

    if (slot >= 0) {
        leave_ring(m, slot);
    } else {
        slot = take_slot(m);
        make(m, state, INT32_MAX, m->bits + (size_t)slot * m->words);
        m->kept[slot] = (struct ct_kept_mask){.state = state, .enough = m->enough};
        m->slot[state] = slot + 1;
    }
    become_newest(m, slot);
    return slot;
}

void ct_masks_of(struct ct_masks *m, int32_t state, int most, uint64_t *bits)
{
    const int32_t slot = slot_of(m, state);
    struct ct_kept_mask *k = &m->kept[slot];

    if (most >= k->enough) {
        memcpy(bits, m->bits + (size_t)slot * m->words, m->words * sizeof *bits);
        return;
    }
    make(m, state, most, bits);
    k->enough = m->enough;
}
