/* SPDX-License-Identifier: Apache-2.0 */
/* ref_chain.c: edits of logits, and what each link of the chain leaves of candidates that are in order
 * (NUMERICS.md section 8). How they come into order, and the draw: ref_draw.c. Which ids are edited:
 * engine/chain.c. */
#include "kernel/ref/ref.h"

/* ---- edits ---- */

/* A finite logit stays finite: an edit that would exceed the largest float gives the largest float. */
static float edit_limit(float logit)
{
    return CT_MIN(CT_MAX(logit, -0x1.fffffep127f), 0x1.fffffep127f);
}

static float edit_bias(float logit, const struct ct_edit *e)
{
    if (e->bias == 0)
        return logit;
    return e->bias == -__builtin_inff() ? e->bias : edit_limit(logit + e->bias);
}

static float edit_penalties(float logit, const struct ct_edit *e, const carat_chain *c)
{
    if (e->count == 0)
        return logit;
    if (c->repeat_penalty != 1)
        logit = edit_limit(logit > 0 ? logit / c->repeat_penalty : logit * c->repeat_penalty);
    return edit_limit(logit - ((float)e->count * c->frequency_penalty + c->presence_penalty));
}

/* multiplier * base^over, the power by squaring, in double. */
static float edit_dry(float logit, const struct ct_edit *e, const carat_chain *c)
{
    double power = c->dry_multiplier, square = c->dry_base;

    if (e->over < 0 || c->dry_multiplier == 0)
        return logit;
    for (uint32_t n = (uint32_t)e->over; n > 0; n >>= 1, square *= square)
        if (n & 1)
            power *= square;
    return edit_limit(logit - (float)CT_MIN(power, 0x1.fffffep127));
}

/* The logit after an edit of one kind. An id with -infinity is never drawn, whatever its edits. */
static float edit(float logit, enum ct_edit_kind kind, const struct ct_edit *e, const carat_chain *c)
{
    if (logit == -__builtin_inff())
        return logit;
    return kind == CT_EDIT_BIAS        ? edit_bias(logit, e)
           : kind == CT_EDIT_PENALTIES ? edit_penalties(logit, e, c)
                                       : edit_dry(logit, e, c);
}

/* Edits all logits that have an edit. */
void CT_NAME(ct_edit_all)(float *value, const struct ct_logits *l, enum ct_edit_kind kind,
                          const struct ct_draw *d)
{
    for (int i = 0; i < d->n_edits; i++) {
        int at = ct_logits_place(l, d->edits[i].id);
        if (at >= 0)
            value[at] = edit(value[at], kind, &d->edits[i], d->chain);
    }
}

/* ---- candidates ---- */

/* Makes the weights the softmax of the candidates. They are not when logits have changed (weighed is false)
 * or candidates have gone (cut). */
static void chain_softmax(struct ct_candidates *c)
{
    float p[32] = {0};

    if (!c->weighed) {
        float top = c->value[0];
        for (int i = 0; i < c->n; i++)
            c->weight[i] = ct_exp(c->value[i] - top);
    }
    for (int i = 0; i < c->n; i++)
        p[i % 32] += c->weight[i];
    float sum = ct_fold(p);
    for (int i = 0; i < c->n; i++)
        c->weight[i] = c->weight[i] / sum;
    c->weighed = true;
    c->cut = false;
}

void CT_NAME(ct_chain_weigh)(struct ct_candidates *c)
{
    if (!c->weighed)
        chain_softmax(c);
}

static void chain_weigh_anew(struct ct_candidates *c)
{
    if (!c->weighed || c->cut)
        chain_softmax(c);
}

static void chain_keep(struct ct_candidates *c, int n)
{
    c->cut |= n < c->n;
    c->n = n;
}

/* A candidate goes when the sum of the weights before it reaches top_p. */
static void chain_top_p(struct ct_candidates *c, float top_p)
{
    float before = 0;

    chain_weigh_anew(c);
    for (int i = 0; i < c->n; before += c->weight[i++])
        if (i > 0 && before >= top_p)
            chain_keep(c, i);
}

/* Only ratios of weights count: they stay the same when candidates have gone. */
static void chain_min_p(struct ct_candidates *c, float min_p)
{
    int n = c->n;

    CT_NAME(ct_chain_weigh)(c);
    while (n > 1 && c->weight[n - 1] < min_p * c->weight[0])
        n--;
    chain_keep(c, n);
}

/* The candidates stay whose surprise is nearest to the mean, until their weights exceed typical_p. */
static void chain_typical(struct ct_candidates *c, float typical_p)
{
    float *score = c->room->edited, p[32] = {0}, mass = 0;
    int32_t *best = c->room->best, *stays = c->room->spare;
    int kept = 0, n = 0;

    chain_weigh_anew(c);
    for (int i = 0; i < c->n; i++)
        score[i] = ct_log(c->weight[i]);
    for (int i = 0; i < c->n; i++)
        if (c->weight[i] > 0)
            p[i % 32] = ct_fma(-c->weight[i], score[i], p[i % 32]);
    float entropy = ct_fold(p);
    for (int i = 0; i < c->n; i++)
        score[i] = -__builtin_fabsf(score[i] + entropy);
    CT_NAME(ct_select)(best, &(struct ct_logits){.value = score, .n = c->n}, c->n, NULL, 0, stays);
    while (kept < c->n && mass <= typical_p)
        mass += c->weight[best[kept++]];
    memset(stays, 0, (size_t)c->n * sizeof *stays);
    for (int i = 0; i < kept; i++)
        stays[best[i]] = 1;
    for (int i = 0; i < c->n; i++)
        if (stays[i]) {
            c->order[n] = c->order[i];
            c->value[n] = c->value[i];
            c->weight[n++] = c->weight[i];
        }
    chain_keep(c, n);
}

/* XTC: of the candidates that reach the threshold only the least likely stays. */
static void chain_xtc(struct ct_candidates *c, float threshold)
{
    int last = 0;

    if (c->n < 2)
        return;
    chain_weigh_anew(c);
    while (last < c->n && c->weight[last] >= threshold)
        last++;
    if (last < 2)
        return;
    c->order += last - 1;
    c->value += last - 1;
    c->weight += last - 1;
    chain_keep(c, c->n - last + 1);
}

/* Edits the candidates and sorts them anew: first by id, which decides between equal logits, then by
 * logit. */
static void chain_edit(struct ct_candidates *c, enum ct_edit_kind kind, const struct ct_draw *d)
{
    struct ct_draw_room *room = c->room;
    int32_t *by_id = room->best, *best = room->spare;
    float *value = room->edited;

    for (int i = 0; i < c->n; i++)
        value[i] = -(float)c->order[i]; /* places are ordered as ids are, and below 2^24 */
    CT_NAME(ct_select)(by_id, &(struct ct_logits){.value = value, .n = c->n}, c->n, NULL, 0, room->spare);
    for (int i = 0; i < c->n; i++)
        value[i] = c->value[by_id[i]];
    for (int i = 0; i < c->n; i++)
        best[i] = c->order[by_id[i]];
    memcpy(c->order, best, (size_t)c->n * sizeof *best);
    for (int i = 0, at = 0; i < c->n; i++) {
        int32_t id = ct_logits_id(c->logits, c->order[i]);
        while (at < d->n_edits && d->edits[at].id < id)
            at++;
        if (at < d->n_edits && d->edits[at].id == id)
            value[i] = edit(value[i], kind, &d->edits[at], d->chain);
    }
    CT_NAME(ct_select)(best, &(struct ct_logits){.value = value, .n = c->n}, c->n, NULL, 0, c->weight);
    for (int i = 0; i < c->n; i++)
        by_id[i] = c->order[best[i]];
    memcpy(c->order, by_id, (size_t)c->n * sizeof *by_id);
    for (int i = 0; i < c->n; i++)
        c->value[i] = value[best[i]];
    c->weighed = false;
}

bool CT_NAME(ct_chain_idle)(carat_link link, const struct ct_draw *d, float u)
{
    const carat_chain *c = d->chain;

    return link == CARAT_LINK_TOP_K         ? d->top_k <= 0
           : link == CARAT_LINK_TEMPERATURE ? false
           : link == CARAT_LINK_TYPICAL     ? !c || c->typical_p >= 1
           : link == CARAT_LINK_TOP_P       ? d->top_p >= 1
           : link == CARAT_LINK_MIN_P       ? d->min_p <= 0
           : link == CARAT_LINK_XTC         ? !c || !(u < c->xtc_probability)
                                            : d->n_edits == 0;
}

void CT_NAME(ct_chain_link)(struct ct_candidates *c, carat_link link, const struct ct_draw *d, float u)
{
    if (CT_NAME(ct_chain_idle)(link, d, u))
        return;
    switch (link) {
    case CARAT_LINK_PENALTIES:
        chain_edit(c, CT_EDIT_PENALTIES, d);
        break;
    case CARAT_LINK_DRY:
        chain_edit(c, CT_EDIT_DRY, d);
        break;
    case CARAT_LINK_TOP_K:
        chain_keep(c, CT_MIN(c->n, d->top_k));
        break;
    case CARAT_LINK_TEMPERATURE:
        if (d->temperature == 0)
            chain_keep(c, 1);
        else
            for (int i = 0; i < c->n; i++)
                c->value[i] = c->value[i] / d->temperature;
        c->weighed = false;
        break;
    case CARAT_LINK_TYPICAL:
        chain_typical(c, d->chain->typical_p);
        break;
    case CARAT_LINK_TOP_P:
        chain_top_p(c, d->top_p);
        break;
    case CARAT_LINK_MIN_P:
        chain_min_p(c, d->min_p);
        break;
    case CARAT_LINK_XTC:
        chain_xtc(c, d->chain->xtc_threshold);
        break;
    }
}
