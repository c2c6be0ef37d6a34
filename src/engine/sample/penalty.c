/* SPDX-License-Identifier: Apache-2.0 */
/* penalty.c: which ids a chain edits: those with a bias, those that were among the last tokens, and those
 * that would go on with a repetition (DRY). What becomes of their logits is the kernel's (ref_edit.c). */
#include "engine/sample/penalty.h"

void ct_penalty_lay_out(struct ct_penalty *p, struct ct_backend *b, int n_vocab, int context)
{
    size_t words = ((size_t)n_vocab + 63) / 64;

    *p = (struct ct_penalty){.n_vocab = n_vocab, .context = context};
    p->set = b->verb.alloc_host(b, words * sizeof *p->set);
    p->before = b->verb.alloc_host(b, words * sizeof *p->before);
    p->run = b->verb.alloc_host(b, (size_t)context * sizeof *p->run);
    p->edits = b->verb.alloc_host(b, ct_most_edits(n_vocab, context) * sizeof *p->edits);
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

/* ---- DRY ---- */

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

/* ---- the list ---- */

static void penalty_mark(struct ct_penalty *p, int32_t id)
{
    p->set[id / 64] |= UINT64_C(1) << id % 64;
}

/* Where a marked id stands in the list, once all are marked. */
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
