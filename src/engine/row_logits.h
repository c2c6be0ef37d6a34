/* SPDX-License-Identifier: Apache-2.0 */
/* row_logits.h: what passes leave behind tokens: the hidden state, and of the logits what somebody needed;
 * and what a draw makes of them. The engine's lock is held, unless said otherwise. */
#ifndef CT_ROW_LOGITS_H
#define CT_ROW_LOGITS_H

#include "engine/engine.h"

/* The logits and state that a pass leaves behind a token. Sessions that hold the same token share it. */
struct ct_row_logits {
    int32_t holders;
    bool has_hidden;         /* what the head reads is kept; not so when it comes out of a file */
    struct ct_logits logits; /* of all ids, or of some */
    /* of some: the reading that they serve */
    int k, n, n_apart;
    int32_t apart[64];
};

/* Logits as a draw reads them, and where more of them come from. */
struct ct_draw_logits {
    struct ct_logits have;
    int kept;                      /* the row logits that keep them; -1: none do */
    const carat_session *session;  /* behind its last token; NULL: in the pass under way */
    const struct ct_head_row *row; /* there, number nth of the rows that want logits */
    int nth;
};

static inline size_t ct_row_logits_count(const carat_engine *e)
{
    return 2 * (size_t)e->plan.sessions + (size_t)e->kept.slice;
}
/* One that nobody holds, with nothing known; and lets go of one, if there is one. */
int ct_row_logits_take(carat_engine *e);
void ct_row_logits_drop(carat_engine *e, int *i);
/* Memory for all its logits, and for its hidden state. */
float *ct_row_logits_memory(const carat_engine *e, int i);
float *ct_row_logits_hidden(const carat_engine *e, int i);
/* The hidden state that is kept for it; NULL: none is, or there are no row logits. */
const float *ct_row_logits_state(const carat_engine *e, int i);
/* Keeps what a head gave for it. */
void ct_row_logits_keep(carat_engine *e, int i, const struct ct_head_row *row);
/* Makes a claimed session have what is read of the logits behind its last token; reading NULL: all. The
 * engine's lock is held as long as they are looked at, unless they are all: a session that shares the token
 * may have more of them computed, in the same memory. E_ARGUMENT: there are none, E_NUMERIC. */
carat_status ct_session_read(const carat_session *s, const struct ct_reading *reading,
                             struct ct_logits *logits, carat_error *err);
/* Has more of them computed where those that there are do not serve a reading, in the same memory. The
 * engine's lock is held. False: they are not finite. */
bool ct_draw_more(carat_engine *e, struct ct_draw_logits *l, const struct ct_reading *reading);
/* E_NUMERIC: says why logits are not finite. The first who asks, with err, has all weights read. */
carat_status ct_fail_not_finite(carat_engine *e, carat_error *err);
/* The ids that are never drawn: the model's own, then those of a sampling; ids has room for CT_MOST_APART.
 * Returns their number. */
int ct_never_drawn(const carat_engine *e, const carat_sampling *o, int32_t *ids);
/* The reading that draws behind held[first] ... held[last] need; these are tokens held before them. apart has
 * room for CT_MOST_APART ids. held NULL: the tokens are not known yet. */
struct ct_reading ct_reading_of(const carat_engine *e, const carat_sampling *o, const int32_t *held,
                                int first, int last, int32_t *apart);

/* The caller's sampling, complete and checked; given NULL: the model's. *chain is its chain, if it has one.
 * E_ARGUMENT: a value is out of range. */
carat_status ct_take_sampling(const carat_engine *e, carat_sampling *full, carat_chain *chain,
                              const carat_sampling *given, carat_error *err);
/* draw.c: the id that comes behind held[n], by these logits, which serve the reading of the sampling; -1:
 * every id is banned, or each that fits, or more logits were needed and are not finite. *fit: whether the id
 * that was drawn first fits. The engine's lock is held. */
int32_t ct_draw(carat_engine *e, struct ct_draw_logits *logits, const carat_sampling *o,
                const struct ct_draw_form *form, const int32_t *held, int n, enum ct_fit *fit);
/* The sampling by which a device may guess that draw, if these logits alone decide and no form is asked; else
 * NULL. */
const carat_sampling *ct_draws_alone(const carat_sampling *o);
#define CT_ALL_BANNED "every id is banned"
#define CT_NONE_FITS  "every id that the form of the answer allows is banned"

#endif
