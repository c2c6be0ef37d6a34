/* SPDX-License-Identifier: Apache-2.0 */
/* draw.c: the id that comes next, by the logits behind the last token: as the sampling says; and where the
 * answer has a form that this id would leave, another one among those that the form allows (NUMERICS.md
 * section 8). The arithmetic of a draw is the backend's.
 *
 * A draw is made as without a form, and once more only where its id does not fit. */
#include "engine/row_logits.h"

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

int32_t ct_draw(carat_engine *e, struct ct_draw_logits *logits, const carat_sampling *o,
                const struct ct_draw_form *form, const int32_t *held, int n, enum ct_fit *fit)
{
    const int32_t id = draw_once(e, &logits->have, o, held, n, NULL);

    *fit = CT_FITS;
    if (!form->matcher || id < 0)
        return id;
    const uint64_t *allowed = form->matcher->verb->refuse(form, id, fit);
    if (!allowed)
        return id;
    /* The draw begins with top-k where some ids are left out, and the places of the others do not matter. */
    const struct ct_reading reading = {.n = e->model->config.n_text_vocab, .allowed = allowed};
    if (!ct_draw_more(e, logits, &reading)) {
        *fit = CT_FIT_NOT_FINITE;
        return -1;
    }
    return draw_once(e, &logits->have, o, held, n, allowed);
}

const carat_sampling *ct_draws_alone(const carat_sampling *o)
{
    return ct_chain_is_usual(o->chain) && !o->matcher && (o->temperature == 0 || o->top_k > 0) ? o : NULL;
}
