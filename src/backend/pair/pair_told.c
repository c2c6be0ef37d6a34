/* SPDX-License-Identifier: Apache-2.0 */
/* pair_told.c: what the device tells, and the verbs beside a pass. Logits are in memory of the host, so draws
 * and what is told of them are the host's. */
#include "backend/pair/pair_backend.h"

#include <stdio.h>

void ct_pair_told(struct ct_pair_backend *b)
{
    struct ct_backend *device = b->side[CT_DEVICE];

    if (device->failure.code && !b->left && !b->base.failure.code)
        b->base.failure = device->failure;
    if (device->remark.code) {
        b->base.remark = device->remark;
        device->remark.code = CARAT_OK;
    }
}

static struct ct_backend *host_of(struct ct_backend *b)
{
    return ct_pair(b)->side[CT_HOST];
}

static int32_t pair_draw(struct ct_backend *b, const struct ct_logits *l, const struct ct_draw *d)
{
    return host_of(b)->verb.draw(host_of(b), l, d);
}

static void pair_top(struct ct_backend *b, const struct ct_logits *l, int k, carat_candidate *out)
{
    host_of(b)->verb.top(host_of(b), l, k, out);
}

static int pair_select(struct ct_backend *b, int32_t *place, const struct ct_logits *l, int k,
                       const int32_t *excluded, int n_excluded)
{
    return host_of(b)->verb.select(host_of(b), place, l, k, excluded, n_excluded);
}

static float pair_entropy(struct ct_backend *b, const struct ct_logits *l, int k, const int32_t *excluded,
                          int n_excluded)
{
    return host_of(b)->verb.entropy(host_of(b), l, k, excluded, n_excluded);
}

static float pair_logprob(struct ct_backend *b, const struct ct_logits *l, int32_t id, carat_logprob *top,
                          int k)
{
    return host_of(b)->verb.logprob(host_of(b), l, id, top, k);
}

/* The cost at the side that ran the verb: the event has what both count. */
static struct ct_cost pair_cost(const struct ct_backend *base, const struct ct_event *event)
{
    const struct ct_pair_backend *b = (const struct ct_pair_backend *)base;

    return b->side[b->last]->verb.cost(b->side[b->last], event);
}

static const int32_t *pair_chosen(const struct ct_backend *base, int row)
{
    const struct ct_pair_backend *b = (const struct ct_pair_backend *)base;

    return b->side[b->last]->verb.chosen(b->side[b->last], row);
}

static void pair_facts(const struct ct_backend *base, bool decodes, struct ct_backend_facts *f)
{
    const struct ct_pair_backend *b = (const struct ct_pair_backend *)base;
    struct ct_backend_facts device;

    b->side[CT_HOST]->verb.facts(b->side[CT_HOST], decodes, f);
    b->side[CT_DEVICE]->verb.facts(b->side[CT_DEVICE], decodes, &device);
    f->name = "cpu and cuda";
    const size_t used = strlen(f->why);
    snprintf(f->why + used, sizeof f->why - used, "; %s", device.why);
}

/* Says what the device does where both have the weight, or none has one. */
static bool pair_serving(const struct ct_backend *base, bool decodes, const char *verb,
                         const struct ct_weight *w, enum ct_kv_type kv, struct ct_serving *s)
{
    const struct ct_pair_backend *b = (const struct ct_pair_backend *)base;
    const int side = w && !(ct_pair_homes(w) & CT_AT_DEVICE) ? CT_HOST : CT_DEVICE;

    if (b->side[side]->verb.serving(b->side[side], decodes, verb, w ? ct_pair_at(w, side) : NULL, kv, s))
        return true;
    return !w && b->side[CT_HOST]->verb.serving(b->side[CT_HOST], decodes, verb, w, kv, s);
}

void ct_pair_told_verbs(struct ct_verbs *v)
{
    v->draw = pair_draw;
    v->top = pair_top;
    v->select = pair_select;
    v->entropy = pair_entropy;
    v->logprob = pair_logprob;
    v->cost = pair_cost;
    v->chosen = pair_chosen;
    v->facts = pair_facts;
    v->serving = pair_serving;
}
