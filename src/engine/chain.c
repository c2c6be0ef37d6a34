/* SPDX-License-Identifier: Apache-2.0 */
/* chain.c: see chain.h. */
#include "engine/chain.h"

#include <math.h>
#include <stdlib.h>

#include "base/arguments.h"

static const char *const link_names[CARAT_LINKS] = {
    [CARAT_LINK_PENALTIES] = "penalties", [CARAT_LINK_DRY] = "dry",
    [CARAT_LINK_TOP_K] = "top_k",         [CARAT_LINK_TEMPERATURE] = "temperature",
    [CARAT_LINK_TYPICAL] = "typ_p",       [CARAT_LINK_TOP_P] = "top_p",
    [CARAT_LINK_MIN_P] = "min_p",         [CARAT_LINK_XTC] = "xtc",
};

const char *carat_link_name(carat_link link)
{
    return (unsigned)link < CARAT_LINKS ? link_names[link] : "";
}

/* The last tokens that a link looks at. */
static int penalty_window(int last_n, int n)
{
    return last_n < 0 ? n : CT_MIN(last_n, n);
}

static bool chain_has(const carat_chain *c, carat_link link)
{
    for (int i = 0; c->links && i < c->n_links; i++)
        if (c->links[i] == link)
            return true;
    return !c->links;
}

bool ct_chain_repeats(const carat_chain *c)
{
    return chain_has(c, CARAT_LINK_PENALTIES) && c->repeat_last_n != 0 &&
           (c->repeat_penalty != 1 || c->frequency_penalty != 0 || c->presence_penalty != 0);
}

bool ct_chain_is_dry(const carat_chain *c)
{
    return chain_has(c, CARAT_LINK_DRY) && c->dry_penalty_last_n != 0 && c->dry_multiplier != 0;
}

bool ct_chain_is_usual(const carat_chain *c)
{
    return !c || (!c->links && c->n_biases == 0 && c->typical_p >= 1 && c->xtc_probability <= 0 &&
                  !ct_chain_repeats(c) && !ct_chain_is_dry(c));
}

/* ---- is it sound? ---- */

/* NaN is outside every range. */
static carat_status check_numbers(const carat_chain *c, carat_error *err)
{
    const struct {
        const char *name;
        double value, low, high;
        const char *range;
    } check[] = {
        {"repeat_penalty", c->repeat_penalty, 0.001, 1000, "0.001 to 1000"},
        {"frequency_penalty", c->frequency_penalty, -1000, 1000, "-1000 to 1000"},
        {"presence_penalty", c->presence_penalty, -1000, 1000, "-1000 to 1000"},
        {"repeat_last_n", c->repeat_last_n, -1, INT32_MAX, "-1 (all) or more"},
        {"dry_multiplier", c->dry_multiplier, 0, 1000, "0 to 1000"},
        {"dry_base", c->dry_base, 1, 1000, "1 to 1000"},
        {"dry_allowed_length", c->dry_allowed_length, 0, INT32_MAX, "0 or more"},
        {"dry_penalty_last_n", c->dry_penalty_last_n, -1, INT32_MAX, "-1 (all) or more"},
        {"typical_p", c->typical_p, CARAT_TOP_P_MIN, 1, "0.000001 to 1"},
        {"xtc_probability", c->xtc_probability, 0, 1, "0 to 1"},
        {"xtc_threshold", c->xtc_threshold, 0, 1, "0 to 1"},
    };
    for (size_t i = 0; i < CT_COUNT(check); i++)
        if (!(check[i].value >= check[i].low && check[i].value <= check[i].high))
            return ct_fail(err, CARAT_E_ARGUMENT, "%s is %g, expected %s", check[i].name, check[i].value,
                           check[i].range);
    return CARAT_OK;
}

static carat_status check_links(const carat_chain *c, carat_error *err)
{
    unsigned seen = 0;

    if (!c->links)
        return CARAT_OK;
    CT_TRY(ct_check_range("n_links", c->n_links, 0, CARAT_LINKS, err));
    for (int i = 0; i < c->n_links; i++) {
        if ((unsigned)c->links[i] >= CARAT_LINKS)
            return ct_fail(err, CARAT_E_ARGUMENT, "links[%d] is %d, expected 0 to %d", i, (int)c->links[i],
                           CARAT_LINKS - 1);
        if (seen >> c->links[i] & 1)
            return ct_fail(err, CARAT_E_ARGUMENT, "links[%d] is %s once more, expected each link once", i,
                           link_names[c->links[i]]);
        seen |= 1u << c->links[i];
    }
    return CARAT_OK;
}

static carat_status check_list(const char *name, const void *list, int n, int most, carat_error *err)
{
    if (n < 0 || n > most)
        return ct_fail(err, CARAT_E_ARGUMENT, "n_%s is %d, expected 0 to %d", name, n, most);
    if (n && !list)
        return ct_fail(err, CARAT_E_ARGUMENT, "n_%s is %d and %s is NULL, expected a list of that length",
                       name, n, name);
    return CARAT_OK;
}

/* A table of the ids so far tells whether one comes twice. */
static carat_status check_biases(const carat_chain *c, int n_vocab, carat_error *err)
{
    enum { SLOTS = 2 * CARAT_MOST_BIASES };
    int32_t seen[SLOTS];

    memset(seen, -1, sizeof seen);
    for (int i = 0; i < c->n_biases; i++) {
        const carat_bias *b = &c->biases[i];
        if (b->id < 0 || b->id >= n_vocab)
            return ct_fail(err, CARAT_E_ARGUMENT, "biases[%d].id is %d, expected an id from 0 to %d", i,
                           (int)b->id, n_vocab - 1);
        if (!(b->bias >= -1e38f && b->bias <= 1e38f) && b->bias != -INFINITY)
            return ct_fail(err, CARAT_E_ARGUMENT,
                           "biases[%d].bias of id %d is %g, expected -1e38 to 1e38, or -infinity", i,
                           (int)b->id, (double)b->bias);
        int at = b->id % SLOTS;
        while (seen[at] >= 0 && seen[at] != b->id)
            at = (at + 1) % SLOTS;
        if (seen[at] == b->id)
            return ct_fail(err, CARAT_E_ARGUMENT, "biases[%d].id is %d once more, expected each id once", i,
                           (int)b->id);
        seen[at] = b->id;
    }
    return CARAT_OK;
}

carat_status ct_chain_check(const carat_chain *c, int n_vocab, carat_error *err)
{
    if (!c)
        return CARAT_OK;
    CT_TRY(check_numbers(c, err));
    CT_TRY(check_links(c, err));
    CT_TRY(check_list("biases", c->biases, c->n_biases, CARAT_MOST_BIASES, err));
    CT_TRY(check_biases(c, n_vocab, err));
    CT_TRY(check_list("dry_breakers", c->dry_breakers, c->n_dry_breakers, CARAT_MOST_BREAKERS, err));
    for (int i = 0; i < c->n_dry_breakers; i++)
        if (c->dry_breakers[i] < 0 || c->dry_breakers[i] >= n_vocab)
            return ct_fail(err, CARAT_E_ARGUMENT, "dry_breakers[%d] is %d, expected an id from 0 to %d", i,
                           (int)c->dry_breakers[i], n_vocab - 1);
    return CARAT_OK;
}

/* ---- a copy ---- */

/* Everything that a sampling points to. */
struct sampling_memory {
    carat_chain chain;
    carat_link links[CARAT_LINKS];
    carat_bias biases[CARAT_MOST_BIASES];
    int32_t breakers[CARAT_MOST_BREAKERS];
    int32_t banned[];
};

carat_status ct_sampling_copy(carat_sampling *to, void **memory, const carat_sampling *from, carat_error *err)
{
    const carat_chain *c = from->chain;
    struct sampling_memory *m = malloc(sizeof *m + (size_t)from->n_banned * sizeof *m->banned);

    if (!m)
        return ct_fail(err, CARAT_E_MEMORY, "out of memory for a sampling");
    *to = *from;
    *memory = m;
    if (from->n_banned)
        memcpy(m->banned, from->banned, (size_t)from->n_banned * sizeof *m->banned);
    to->banned = m->banned;
    if (!c)
        return CARAT_OK;
    m->chain = *c;
    to->chain = &m->chain;
    if (c->links) {
        memcpy(m->links, c->links, (size_t)c->n_links * sizeof *c->links);
        m->chain.links = m->links;
    }
    if (c->n_biases)
        memcpy(m->biases, c->biases, (size_t)c->n_biases * sizeof *c->biases);
    if (c->n_dry_breakers)
        memcpy(m->breakers, c->dry_breakers, (size_t)c->n_dry_breakers * sizeof *c->dry_breakers);
    m->chain.biases = m->biases;
    m->chain.dry_breakers = m->breakers;
    return CARAT_OK;
}

/* ---- what is read ---- */

int ct_chain_best(const carat_sampling *o)
{
    static const carat_link plain[] = {CARAT_LINK_TOP_K, CARAT_LINK_TEMPERATURE};
    const carat_chain *c = o->chain;
    const carat_link *links = c && c->links ? c->links : plain;
    int n = c && c->links ? c->n_links : (int)CT_COUNT(plain);
    bool tempered = false; /* what is divided may become equal, and ties are another's */

    for (int i = 0; i < n; i++) {
        const carat_link link = links[i];
        if (link == CARAT_LINK_TOP_K && o->top_k > 0)
            return o->temperature == 0 && i + 1 < n && links[i + 1] == CARAT_LINK_TEMPERATURE ? 1 : o->top_k;
        if (link == CARAT_LINK_TEMPERATURE && o->temperature == 0)
            return 1;
        tempered |= link == CARAT_LINK_TEMPERATURE;
        if ((link == CARAT_LINK_PENALTIES && tempered && ct_chain_repeats(c)) ||
            (link == CARAT_LINK_DRY && tempered && ct_chain_is_dry(c)) ||
            (link == CARAT_LINK_TYPICAL && c->typical_p < 1) || (link == CARAT_LINK_TOP_P && o->top_p < 1) ||
            (link == CARAT_LINK_MIN_P && o->min_p > 0) || (link == CARAT_LINK_XTC && c->xtc_probability > 0))
            return 0;
    }
    return 0;
}

struct apart_ids {
    int32_t *ids;
    int n, room;
};

static void apart_add(struct apart_ids *a, int32_t id)
{
    if (a->n >= 0 && a->n < a->room)
        a->ids[a->n++] = id;
    else
        a->n = -1;
}

/* Tokens behind earlier places where the same ones stood as at the end, as many as DRY allows. */
static void apart_of_dry(struct apart_ids *a, const carat_chain *c, const int32_t *held, int n)
{
    const int window = penalty_window(c->dry_penalty_last_n, n);

    for (int k = 1; k < window && a->n >= 0; k++) {
        int m = 0;
        while (m < c->dry_allowed_length && k + m < window && held[n - 1 - m] == held[n - 1 - k - m])
            m++;
        if (m == c->dry_allowed_length)
            apart_add(a, held[n - k]);
    }
}

int ct_chain_apart(const carat_chain *c, const int32_t *held, int first, int last, int32_t *ids, int room)
{
    struct apart_ids a = {ids, 0, room};

    if (!c)
        return 0;
    for (int i = 0; i < c->n_biases; i++)
        apart_add(&a, c->biases[i].id);
    if (ct_chain_repeats(c)) {
        int from = first - penalty_window(c->repeat_last_n, first);
        for (int i = from; i < last && a.n >= 0; i++)
            apart_add(&a, held[i]);
    }
    for (int n = first; n <= last && ct_chain_is_dry(c); n++)
        apart_of_dry(&a, c, held, n);
    return a.n;
}

/* ---- what is edited: ids with a bias, those among the last tokens, and those that would go on with a
 * repetition (DRY). What becomes of their logits is the kernel's. ---- */

void ct_penalty_lay_out(struct ct_penalty *p, struct ct_backend *b, int n_vocab, int context)
{
    size_t words = ((size_t)n_vocab + 63) / 64;

    *p = (struct ct_penalty){.n_vocab = n_vocab, .context = context};
    p->set = b->verb.alloc_host(b, words * sizeof *p->set);
    p->before = b->verb.alloc_host(b, words * sizeof *p->before);
    p->run = b->verb.alloc_host(b, (size_t)context * sizeof *p->run);
    p->edits = b->verb.alloc_host(b, CT_MIN((size_t)n_vocab, (size_t)context + CARAT_MOST_BIASES) *
                                         sizeof *p->edits);
}

/* The tokens behind the last breaker: no repetition is longer. */
static int dry_limit(const carat_chain *c, const int32_t *held, int n, int window)
{
    for (int i = 0; i < window; i++)
        for (int j = 0; j < c->n_dry_breakers; j++)
            if (held[n - 1 - i] == c->dry_breakers[j])
                return i;
    return window;
}

/* run[k], 0 < k < window: how many of the last tokens also stand k tokens earlier, in a row from the end.
 * What is known of one stretch tells most of the next (the Z-algorithm), so that this is linear. */
static void dry_runs(int32_t *run, const int32_t *held, int n, int window)
{
    const int32_t *end = held + n - 1; /* end[-i]: the i-th from the end */

    for (int k = 1, left = 0, right = 0; k < window; k++) {
        int m = k < right ? CT_MIN(run[k - left], right - k) : 0;
        while (k + m < window && end[-m] == end[-(k + m)])
            m++;
        run[k] = m;
        if (k + m > right) {
            left = k;
            right = k + m;
        }
    }
}

static void penalty_mark(struct ct_penalty *p, int32_t id)
{
    p->set[id / 64] |= UINT64_C(1) << id % 64;
}

/* The place of a marked id in the list, once all are marked. */
static struct ct_edit *penalty_edit(const struct ct_penalty *p, int32_t id)
{
    uint64_t below = p->set[id / 64] & ((UINT64_C(1) << id % 64) - 1);
    return &p->edits[p->before[id / 64] + __builtin_popcountll(below)];
}

/* Makes the list of the marked ids; returns their number. */
static int penalty_list(struct ct_penalty *p)
{
    int n = 0;

    for (int word = 0; word < (p->n_vocab + 63) / 64; word++) {
        p->before[word] = n;
        for (uint64_t left = p->set[word]; left; left &= left - 1)
            p->edits[n++] = (struct ct_edit){.id = 64 * word + __builtin_ctzll(left), .over = -1};
    }
    return n;
}

int ct_penalty_edits(struct ct_penalty *p, const carat_chain *c, const int32_t *held, int n)
{
    const int32_t *end = held + n;
    int repeated = ct_chain_repeats(c) ? penalty_window(c->repeat_last_n, n) : 0;
    int window = ct_chain_is_dry(c) ? penalty_window(c->dry_penalty_last_n, n) : 0;
    const int limit = dry_limit(c, held, n, window);

    if (window <= c->dry_allowed_length || limit < c->dry_allowed_length)
        window = 0;
    if (!c->n_biases && !repeated && !window)
        return 0;
    memset(p->set, 0, ((size_t)p->n_vocab + 63) / 64 * sizeof *p->set);
    dry_runs(p->run, held, n, window);
    for (int i = 0; i < c->n_biases; i++)
        penalty_mark(p, c->biases[i].id);
    for (int i = 1; i <= repeated; i++)
        penalty_mark(p, end[-i]);
    for (int k = 1; k < window; k++)
        if (CT_MIN(p->run[k], limit) >= c->dry_allowed_length)
            penalty_mark(p, end[-k]);
    int listed = penalty_list(p);
    for (int i = 0; i < c->n_biases; i++)
        penalty_edit(p, c->biases[i].id)->bias = c->biases[i].bias;
    for (int i = 1; i <= repeated; i++)
        penalty_edit(p, end[-i])->count++;
    for (int k = 1; k < window; k++)
        if (CT_MIN(p->run[k], limit) >= c->dry_allowed_length) {
            struct ct_edit *e = penalty_edit(p, end[-k]);
            e->over = CT_MAX(e->over, CT_MIN(p->run[k], limit) - c->dry_allowed_length);
        }
    return listed;
}
