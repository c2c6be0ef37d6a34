/* SPDX-License-Identifier: Apache-2.0 */
/* ref_draw.c: a draw (NUMERICS.md section 8). Logits are edited and sorted as far as the chain needs it, its
 * links remove candidates (ref_chain.c), and a counter-based random number chooses one of the rest. */
#include "kernel/philox.h"
#include "kernel/ref/ref.h"

enum { OF_DRAW, OF_XTC }; /* third word of the counter */
#define MOST 0x1.fffffep127f

/* A random number below 1 of this draw. */
static float philox(const struct ct_draw *d, uint32_t third)
{
    return (float)ct_philox(d->seed, d->position, d->number, third, d->again) * 0x1p-24f;
}

struct drawing {
    const struct ct_draw *d;
    struct ct_logits l; /* as edited */
    struct ct_candidates c;
    float t;      /* the temperature, while they are not in order */
    bool ordered; /* c has those that are left; else they are all of l */
};

/* ---- before there is an order ---- */

/* The logits in memory of the draw, which may change them: those of a session are shared. */
static float *draw_own(struct drawing *g)
{
    float *own = g->c.room->edited;

    if (g->l.value != own)
        memcpy(own, g->l.value, (size_t)g->l.n * sizeof *own);
    g->l.value = own;
    return own;
}

static void draw_edit(struct drawing *g, enum ct_edit_kind kind)
{
    if (g->d->n_edits)
        CT_NAME(ct_edit_all)(draw_own(g), &g->l, kind, g->d);
}

/* Banned ids get the logit -infinity. */
static void draw_ban(struct drawing *g)
{
    float *own = g->d->n_banned ? draw_own(g) : NULL;

    for (int i = 0; i < g->d->n_banned; i++) {
        int at = ct_logits_place(&g->l, g->d->banned[i]);
        if (at >= 0)
            own[at] = -__builtin_inff();
    }
}

/* And so do those that are not allowed. Edits come before: none of them brings an id back. */
static __attribute__((noinline)) void draw_allow(struct drawing *g)
{
    const uint64_t *allowed = g->d->allowed;
    float *own = allowed ? draw_own(g) : NULL;

    for (int at = 0; allowed && g->l.id && at < g->l.n; at++)
        if (!(allowed[g->l.id[at] / 64] >> g->l.id[at] % 64 & 1))
            own[at] = -__builtin_inff();
    for (int at = 0; allowed && !g->l.id && at < g->l.n; at += 64) {
        const uint64_t word = allowed[at / 64];
        const int n = CT_MIN(g->l.n - at, 64);
        for (int j = 0; word != UINT64_MAX && j < n; j++)
            own[at + j] = word >> j & 1 ? own[at + j] : -__builtin_inff();
    }
}

/* The places of ids that are allowed, ascending. Returns their number. */
static int draw_allowed(const struct drawing *g, int32_t *place)
{
    const uint64_t *allowed = g->d->allowed;
    int n = 0;

    for (int at = 0; g->l.id && at < g->l.n; at++) {
        place[n] = at;
        n += allowed[g->l.id[at] / 64] >> g->l.id[at] % 64 & 1;
    }
    for (int at = 0; !g->l.id && at < g->l.n; at += 64)
        for (uint64_t word = allowed[at / 64]; word; word &= word - 1) {
            place[n] = at + __builtin_ctzll(word);
            n += place[n] < g->l.n;
        }
    return n;
}

/* Makes the n places in c.order, best first, the candidates. */
static void draw_take(struct drawing *g, int n)
{
    while (n > 0 && g->l.value[g->c.order[n - 1]] == -__builtin_inff())
        n--;
    for (int i = 0; i < n; i++)
        g->c.value[i] = g->l.value[g->c.order[i]];
    for (int i = 0; i < n; i++)
        g->c.value[i] = g->c.value[i] / g->t;
    g->c.n = n;
    g->ordered = true;
}

/* The k best of those that are allowed, into c.order. Returns their number. */
static int draw_select_allowed(struct drawing *g, int k)
{
    struct ct_draw_room *room = g->c.room;
    int32_t *place = g->c.order, *best = room->best, *id = g->l.id ? room->spare : place;
    const int n = draw_allowed(g, place);

    for (int i = 0; i < n; i++)
        g->c.value[i] = g->l.value[place[i]];
    for (int i = 0; g->l.id && i < n; i++)
        id[i] = g->l.id[place[i]];
    k = CT_NAME(ct_select)(best, &(struct ct_logits){g->c.value, id, n}, k, g->d->banned, g->d->n_banned,
                           g->c.weight);
    for (int i = 0; i < k; i++)
        best[i] = place[best[i]];
    memcpy(place, best, (size_t)k * sizeof *best);
    return k;
}

/* The k best; the temperature does not change which. The weights are not yet in use. */
static void draw_order(struct drawing *g, int k)
{
    draw_take(g, g->d->allowed
                     ? draw_select_allowed(g, k)
                     : CT_NAME(ct_select)(g->c.order, &g->l, k, g->d->banned, g->d->n_banned, g->c.weight));
}

/* ---- all of them ---- */

/* The weights of all, by place, at most 1, and their sum; 0: there is nothing to draw. */
static float draw_weigh(struct drawing *g, float *top)
{
    float *weight = g->c.weight, t = g->t;
    const int n = g->l.n;

    draw_ban(g);
    draw_allow(g);
    const float *x = g->l.value;
    const float most = ct_top_of(x, n), most_t = most / t;
    if (most == -__builtin_inff())
        return 0;
    *top = most_t;
    for (int i = 0; i < n; i++)
        weight[i] = ct_exp(x[i] / t - most_t);
    return ct_sum(weight, n);
}

/* By ids ascending, where no link needed another order: the first at which the sum of the weights, in double,
 * exceeds the share u of what all weigh. */
static int32_t draw_of_all(struct drawing *g)
{
    float top, sum = draw_weigh(g, &top);
    const float *weight = g->c.weight;
    double target = (double)philox(g->d, OF_DRAW) * (double)sum, reached = 0;
    int at = 0, last = -1;

    for (; at < g->l.n && sum > 0; at++)
        if (weight[at] > 0) {
            last = at;
            if ((reached += (double)weight[at]) > target)
                break;
        }
    return last;
}

/* ---- as far as a link looks ---- */

/* Puts all with a logit of limit or more in order, with their share of the whole sum as weights. */
static void draw_order_from(struct drawing *g, float limit, float top, float sum)
{
    struct ct_draw_room *room = g->c.room;
    const float *x = g->l.value;
    int32_t *some = g->c.order, *best = room->best;
    int n = 0;

    for (int i = 0; i < g->l.n; i++) {
        some[n] = i;
        n += x[i] >= limit;
    }
    for (int i = 0; i < n; i++)
        g->c.value[i] = x[some[i]];
    CT_NAME(ct_select)(best, &(struct ct_logits){.value = g->c.value, .n = n}, n, NULL, 0, room->spare);
    for (int i = 0; i < n; i++)
        best[i] = some[best[i]];
    memcpy(some, best, (size_t)n * sizeof *best);
    draw_take(g, n);
    for (int i = 0; i < g->c.n; i++)
        g->c.weight[i] = ct_exp(g->c.value[i] - top);
    for (int i = 0; i < g->c.n; i++)
        g->c.weight[i] = g->c.weight[i] / sum;
    g->c.weighed = true;
    g->c.cut = false;
}

/* Limits are tried at 1, 1.5, 2.25 ... below the largest logit, in units of the temperature; beyond WIDEST
 * all are taken. */
enum { AT_ONCE = 4, WIDEST = 100 };
#define WIDER 1.5f

static float draw_limit(const struct drawing *g, float top, float margin)
{
    return margin > WIDEST ? -MOST : CT_MAX((top - margin) * g->t, -MOST);
}

/* The first margin within which the weights reach `mass`. Sums are in any order: they only choose how many
 * are sorted, and draw_order_for sees when these are too few. */
static float draw_margin(const struct drawing *g, float top, float mass)
{
    const float *x = g->l.value, *weight = g->c.weight;
    float next = 1;

    while (next <= WIDEST) {
        float margin[AT_ONCE], limit[AT_ONCE], p[AT_ONCE][32] = {{0}};
        for (int k = 0; k < AT_ONCE; k++, next *= WIDER) {
            margin[k] = next;
            limit[k] = draw_limit(g, top, next);
        }
        for (int i = 0; i + 32 <= g->l.n; i += 32)
            for (int k = 0; k < AT_ONCE; k++)
                for (int j = 0; j < 32; j++)
                    p[k][j] += x[i + j] >= limit[k] ? weight[i + j] : 0;
        for (int k = 0; k < AT_ONCE; k++)
            if (ct_fold(p[k]) >= mass)
                return margin[k];
    }
    return next;
}

/* True when top-p ends among them. */
static bool draw_reaches(const struct ct_candidates *c, float top_p)
{
    float before = 0;
    int i = 0;

    for (; i < c->n && before < top_p; i++)
        before += c->weight[i];
    return i < c->n;
}

/* Top-p or min-p of all: sorts as many as the link may keep. */
static void draw_order_for(struct drawing *g, carat_link link)
{
    const struct ct_draw *d = g->d;
    const bool top_p = link == CARAT_LINK_TOP_P;
    const struct ct_candidates *c = &g->c;
    float top = 0, sum = draw_weigh(g, &top);

    if (sum == 0) {
        draw_take(g, 0);
        return;
    }
    float margin = top_p ? draw_margin(g, top, d->top_p * sum) : 0.01f - ct_log(d->min_p);
    for (bool enough = false; !enough; margin *= WIDER) {
        draw_order_from(g, draw_limit(g, top, margin), top, sum);
        /* exp of neighbours may be equal or off by a little: what is far enough below stays below */
        enough =
            margin > WIDEST || (top_p ? draw_reaches(c, d->top_p)
                                      : c->n > 0 && c->weight[c->n - 1] < 0.999f * d->min_p * c->weight[0]);
    }
}

/* ---- the chain ---- */

/* One link while the candidates are not in order. False: it is one for those that are. */
static bool draw_link(struct drawing *g, carat_link link)
{
    const struct ct_draw *d = g->d;

    switch (link) {
    case CARAT_LINK_PENALTIES:
    case CARAT_LINK_DRY:
        if (g->t != 1) /* values are edited as the temperature has left them */
            break;
        draw_edit(g, link == CARAT_LINK_DRY ? CT_EDIT_DRY : CT_EDIT_PENALTIES);
        return true;
    case CARAT_LINK_TOP_K:
        draw_order(g, d->top_k);
        return true;
    case CARAT_LINK_TEMPERATURE:
        if (d->temperature == 0)
            draw_order(g, 1);
        else
            g->t = d->temperature;
        return true;
    case CARAT_LINK_TOP_P:
    case CARAT_LINK_MIN_P:
        draw_order_for(g, link);
        return false;
    case CARAT_LINK_TYPICAL:
    case CARAT_LINK_XTC:
        break;
    }
    draw_order(g, g->l.n);
    return false;
}

/* One of those that are left and in order. */
static int32_t draw_of_ordered(struct drawing *g)
{
    const struct ct_candidates *c = &g->c;
    float total = 0, reached = 0;

    if (c->n <= 1)
        return c->n ? c->order[0] : -1;
    CT_NAME(ct_chain_weigh)(&g->c);
    for (int i = 0; i < c->n; i++)
        total += c->weight[i];
    float target = philox(g->d, OF_DRAW) * total;
    for (int i = 0; i < c->n; i++) {
        reached += c->weight[i];
        if (reached > target)
            return c->order[i];
    }
    return c->order[c->n - 1];
}

int32_t CT_NAME(ct_draw)(const struct ct_logits *l, const struct ct_draw *d, struct ct_draw_room *room)
{
    static const carat_link usual[] = {CARAT_LINK_PENALTIES,   CARAT_LINK_DRY,     CARAT_LINK_TOP_K,
                                       CARAT_LINK_TEMPERATURE, CARAT_LINK_TYPICAL, CARAT_LINK_TOP_P,
                                       CARAT_LINK_MIN_P,       CARAT_LINK_XTC};
    const bool chosen = d->chain && d->chain->links;
    const carat_link *links = chosen ? d->chain->links : usual;
    const int n = chosen ? d->chain->n_links : (int)CT_COUNT(usual);
    struct drawing g = {.d = d, .l = *l, .t = 1};
    float xtc = d->chain && d->chain->xtc_probability > 0 ? philox(d, OF_XTC) : 1;

    assert(d->chain || d->n_edits == 0);
    g.c = (struct ct_candidates){
        .logits = l, .room = room, .order = room->order, .value = room->value, .weight = room->weight};
    draw_edit(&g, CT_EDIT_BIAS);
    for (int i = 0; i < n && !(g.ordered && g.c.n <= 1); i++) {
        if (links[i] == CARAT_LINK_TOP_K && i + 1 < n && links[i + 1] == CARAT_LINK_TEMPERATURE &&
            d->temperature == 0)
            continue; /* of all there is one best, too */
        if (CT_NAME(ct_chain_idle)(links[i], d, xtc))
            continue;
        if (g.ordered || !draw_link(&g, links[i]))
            CT_NAME(ct_chain_link)(&g.c, links[i], d, xtc);
    }
    int32_t at = g.ordered ? draw_of_ordered(&g) : draw_of_all(&g);
    return at < 0 ? -1 : ct_logits_id(l, at);
}
