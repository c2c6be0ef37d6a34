/* SPDX-License-Identifier: Apache-2.0 */
/* language.h: sets of texts, as networks over characters: what a pattern, a list of texts, a length and a
 * format say about a string, so that they can be put together before they become productions. How the
 * characters are spelled is no matter here until ct_language_emit.
 *
 * A network has states and arcs. An arc takes a character of a range of code points (never a surrogate), or
 * nothing. Several arcs of a state may take the same character.
 *
 * Builders add states and arcs. The first thing that goes wrong sticks, and everything after it does
 * nothing. Nothing here recurses. */
#ifndef CT_LANGUAGE_H
#define CT_LANGUAGE_H

#include "grammar/grammar.h"

/* Limits of one network; what needs more is refused. */
enum { CT_STATES_MAX = 40000, CT_ARCS_MAX = 8 * CT_STATES_MAX };
#define CT_LAST_CHAR 0x10ffffu

struct ct_arc {
    int32_t from, to;
    uint32_t low, high; /* low > high: nothing is taken */
};

struct ct_language {
    struct ct_arc *arc; /* [n_arcs] */
    uint8_t *accepts;   /* [n_states] 1: a text may end here */
    int32_t n_states, n_arcs;
    size_t arc_room, state_room;
    int32_t start;     /* the first state, unless a builder says another; -1 while there is none */
    carat_error error; /* code CARAT_OK: nothing has gone wrong */
};

void ct_language_init(struct ct_language *l); /* no text at all */
void ct_language_free(struct ct_language *l); /* may be called twice */

/* ---- building ---- */

static inline bool ct_language_failed(const struct ct_language *l)
{
    return l->error.code != CARAT_OK;
}
/* A new state; -1 after a failure, which all others take. */
int32_t ct_language_state(struct ct_language *l, bool accepts);
/* Takes a character from low to high; surrogates among them are left out. */
void ct_language_arc(struct ct_language *l, int32_t from, uint32_t low, uint32_t high, int32_t to);
void ct_language_skip(struct ct_language *l, int32_t from, int32_t to);

#endif
