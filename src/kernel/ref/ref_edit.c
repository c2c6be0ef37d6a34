/* SPDX-License-Identifier: Apache-2.0 */
/* ref_edit.c: edits of logits (NUMERICS.md section 8): bias, penalties on what was there, DRY. Which ids are
 * edited and what was there: engine/sample/chain.c. */
#include "kernel/ref/ref.h"

/* A finite logit stays finite: what an edit would take further is the largest float. */
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

/* The logit behind an edit of one kind. What is never drawn stays so. */
float CT_NAME(ct_edited)(float logit, enum ct_edit_kind kind, const struct ct_edit *e, const carat_chain *c)
{
    if (logit == -__builtin_inff())
        return logit;
    return kind == CT_EDIT_BIAS        ? edit_bias(logit, e)
           : kind == CT_EDIT_PENALTIES ? edit_penalties(logit, e, c)
                                       : edit_dry(logit, e, c);
}

/* The same for all logits that have one. */
void CT_NAME(ct_edit_all)(float *value, const struct ct_logits *l, enum ct_edit_kind kind,
                          const struct ct_draw *d)
{
    for (int i = 0; i < d->n_edits; i++) {
        int at = ct_logits_place(l, d->edits[i].id);
        if (at >= 0)
            value[at] = CT_NAME(ct_edited)(value[at], kind, &d->edits[i], d->chain);
    }
}
