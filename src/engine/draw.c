/* SPDX-License-Identifier: Apache-2.0 */
/* draw.c: the id that comes next, by the logits behind the last token: as the sampling says; and where the
 * answer has a form that this id would leave, another one among those that the form allows (NUMERICS.md
 * section 8). The arithmetic of a draw is the backend's. */
#include "engine/engine.h"

/* allowed: bits of ids for the draw after one that was refused; NULL: the first one. */
static int32_t draw_once(carat_engine *e, const struct ct_logits *logits, const carat_sampling *o,
                         const int32_t *held, int n, const uint64_t *allowed)
{
    struct ct_logits text = *logits; /* its ids that stand for text */
    struct ct_draw d = {
        .temperature = o->temperature,
        .top_p = o->top_p,
        .min_p = o->min_p,
        .top_k = o->top_k,
        .seed = o->seed,
        .position = (uint32_t)n,
        .number = o->number,
        .banned = e->banned,
        .n_banned = ct_never_drawn(e, o, e->banned),
        .chain = o->chain,
        .edits = e->penalty.edits,
        .allowed = allowed,
        .again = allowed != NULL,
    };

    text.n = ct_logits_below(logits, e->model->config.n_text_vocab);
    if (o->chain)
        d.n_edits = ct_penalty_edits(&e->penalty, o->chain, held, n);
    return e->backend->verb.draw(e->backend, &text, &d);
}

static bool is_stop(const struct ct_draw_form *f, int32_t id)
{
    int i = 0;

    while (i < f->n_stop && f->stop[i] != id)
        i++;
    return i < f->n_stop;
}

/* Stop ids fit where the form may end, and nowhere else. */
static enum ct_fit fit_of(const struct ct_draw_form *f, int32_t id)
{
    const struct ct_matcher_verbs *verb = f->matcher->verb;

    if (is_stop(f, id))
        return verb->complete(f->matcher) ? CT_FITS : CT_FITS_NOT;
    return verb->fits(f->matcher, id, f->left);
}

static const uint64_t *ids_that_fit(const struct ct_draw_form *f)
{
    const bool complete = f->matcher->verb->complete(f->matcher);
    uint64_t *bits = f->matcher->verb->mask(f->matcher, f->left);

    for (int i = 0; i < f->n_stop; i++) {
        const uint64_t bit = UINT64_C(1) << f->stop[i] % 64;
        if (complete)
            bits[f->stop[i] / 64] |= bit;
        else
            bits[f->stop[i] / 64] &= ~bit;
    }
    return bits;
}

int32_t ct_draw(carat_engine *e, const struct ct_logits *logits, const carat_sampling *o,
                const struct ct_draw_form *form, const int32_t *held, int n, enum ct_fit *fit)
{
    const int32_t id = draw_once(e, logits, o, held, n, NULL);

    *fit = form->matcher && id >= 0 ? fit_of(form, id) : CT_FITS;
    return *fit == CT_FITS ? id : draw_once(e, logits, o, held, n, ids_that_fit(form));
}
