/* SPDX-License-Identifier: Apache-2.0 */
/* pair_weights.c: weights on their way to the two: which of them each goes to, by the part of the model that
 * it is of. The host reads vectors, and rows of an embedding, where they are stored. */
#include "backend/pair/pair_backend.h"

/* Who gets weights of the part that the backend is told of. */
static int homes_of(const struct ct_pair_backend *b)
{
    const int part = b->base.part;

    if (b->both || part == CT_PART_TIED)
        return CT_AT_BOTH;
    return part < b->o.host_layers ? CT_AT_HOST : CT_AT_DEVICE;
}

/* True when the host reads the weight where it is stored. From a table whose products the device computes it
 * reads only rows. */
static bool is_left(const struct ct_pair_backend *b, const struct ct_weight *w)
{
    return w->rows == 1 || (!b->both && b->base.part <= CT_PART_TIED);
}

static carat_status pair_plan_weight(struct ct_backend *base, const struct ct_weight *w, carat_error *err)
{
    struct ct_pair_backend *b = ct_pair(base);
    struct ct_backend *host = b->side[CT_HOST], *device = b->side[CT_DEVICE];
    const int homes = homes_of(b);

    if (w->layout == CT_LAYOUT_TABLE)
        return host->verb.plan_weight(host, w, err);
    b->n_planned += w->data != NULL;
    if (homes & CT_AT_HOST && !is_left(b, w))
        CT_TRY(host->verb.plan_weight(host, w, err));
    return homes & CT_AT_DEVICE ? device->verb.plan_weight(device, w, err) : CARAT_OK;
}

static bool pair_stays(const struct ct_backend *b, const struct ct_weight *w)
{
    (void)b, (void)w;
    return false;
}

static struct ct_weight pair_pack_weight(struct ct_backend *base, struct ct_weight w)
{
    struct ct_pair_backend *b = ct_pair(base);
    struct ct_backend *host = b->side[CT_HOST], *device = b->side[CT_DEVICE];

    if (!w.data)
        return w;
    if (w.layout == CT_LAYOUT_TABLE)
        return host->verb.pack_weight(host, w);
    assert(b->n_weights < b->n_planned);
    struct ct_pair_weight *to = &b->weight[b->n_weights++];
    to->has = (uint8_t)homes_of(b);
    if (to->has & CT_AT_DEVICE) /* first: the host lets go of what was stored */
        to->at[CT_DEVICE] = device->verb.pack_weight(device, w);
    if (to->has & CT_AT_HOST)
        to->at[CT_HOST] = is_left(b, &w) ? w : host->verb.pack_weight(host, w);
    w.layout = CT_LAYOUT_DEVICE;
    w.data = to;
    return w;
}

/* ---- weights that are made: who reads one has all of it ---- */

static void pair_plan_made(struct ct_backend *base, enum ct_type type, int rows, int cols)
{
    struct ct_pair_backend *b = ct_pair(base);

    b->n_planned++;
    for (int i = 0; i < CT_SIDES; i++)
        if (homes_of(b) >> i & 1)
            b->side[i]->verb.plan_made(b->side[i], type, rows, cols);
}

static struct ct_weight pair_take_made(struct ct_backend *base, enum ct_type type, int rows, int cols)
{
    struct ct_pair_backend *b = ct_pair(base);

    assert(b->n_weights < b->n_planned);
    struct ct_pair_weight *to = &b->weight[b->n_weights++];
    struct ct_weight w = {.data = NULL};
    to->has = (uint8_t)homes_of(b);
    for (int i = 0; i < CT_SIDES; i++)
        if (to->has >> i & 1)
            w = to->at[i] = b->side[i]->verb.take_made(b->side[i], type, rows, cols);
    w.layout = CT_LAYOUT_DEVICE;
    w.data = to;
    return w;
}

static bool pair_make(struct ct_backend *base, const struct ct_weight *w, const struct ct_weight *from,
                      int first, const struct ct_maker *maker)
{
    struct ct_pair_backend *b = ct_pair(base);
    bool whole = true;

    for (int i = 0; i < CT_SIDES; i++)
        if (ct_pair_homes(w) >> i & 1)
            whole &= b->side[i]->verb.make(b->side[i], ct_pair_at(w, i), from, first, maker);
    return whole;
}

/* ---- loading ---- */

static int report_both(void *user, size_t done, size_t total)
{
    struct ct_pair_loading *l = user;
    struct ct_pair_backend *b = l->pair;

    (void)total;
    l->done = done;
    done = b->loading[CT_HOST].done + b->loading[CT_DEVICE].done;
    b->stopped = b->stopped || b->progress(b->progress_user, CT_MIN(done, b->to_load), b->to_load);
    return b->stopped;
}

static void pair_load_begin(struct ct_backend *base, carat_progress progress, void *user)
{
    struct ct_pair_backend *b = ct_pair(base);
    carat_plan plan = {.size = sizeof plan};

    base->verb.count(base, &plan);
    b->progress = progress;
    b->progress_user = user;
    b->to_load = plan.weight_bytes >> 10;
    b->n_weights = 0;
    b->stopped = false;
    for (int i = 0; i < CT_SIDES; i++) {
        b->loading[i] = (struct ct_pair_loading){b, 0};
        b->side[i]->verb.load_begin(b->side[i], progress ? report_both : NULL, &b->loading[i]);
    }
}

static bool pair_load_end(struct ct_backend *base)
{
    struct ct_pair_backend *b = ct_pair(base);
    const bool host = b->side[CT_HOST]->verb.load_end(b->side[CT_HOST]),
               device = b->side[CT_DEVICE]->verb.load_end(b->side[CT_DEVICE]);

    ct_pair_told(b);
    return host && device;
}

static void pair_give_back(struct ct_backend *b, const struct ct_weight *w)
{
    (void)b, (void)w; /* nothing of it is read where it is stored */
}

void ct_pair_weight_verbs(struct ct_verbs *v)
{
    v->plan_weight = pair_plan_weight;
    v->stays = pair_stays;
    v->load_begin = pair_load_begin;
    v->load_end = pair_load_end;
    v->pack_weight = pair_pack_weight;
    v->plan_made = pair_plan_made;
    v->take_made = pair_take_made;
    v->make = pair_make;
    v->give_back = pair_give_back;
}
