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
enum { CT_STATES_MAX = 100000, CT_ARCS_MAX = 8 * CT_STATES_MAX };
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
    int32_t start; /* the first state, unless a builder says another; -1 while there is none */
    struct ct_grammar_watch
        *watch;        /* borrowed; what is made of a language has it too. NULL: nobody asks to end it */
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
/* A path of these characters (valid UTF-8) from the start to an end of its own. */
void ct_language_text(struct ct_language *l, struct ct_str text);
/* All texts of min to max characters; max < 0: no end. */
void ct_language_lengths(struct ct_language *l, int32_t min, int32_t max);
/* Adds the states and arcs of another one; returns its start, which nothing leads to yet, or -1. */
int32_t ct_language_append(struct ct_language *l, const struct ct_language *other);
/* Adds all texts of another one. */
void ct_language_unite(struct ct_language *l, const struct ct_language *other);

/* ---- from languages to languages. Each takes out from nothing (it is initialised here), and gives up with
 * CARAT_E_ARGUMENT where more than CT_STATES_MAX states are needed, or with CARAT_E_MEMORY or
 * CARAT_E_CANCELLED. A failed operand hands its failure on. ---- */

/* At most one arc of a state takes a character, and none takes nothing; arcs are in the order of their states
 * and characters. */
carat_status ct_language_determine(const struct ct_language *l, struct ct_language *out, carat_error *err);
/* Makes an equal language with the fewest states, where it is not too large for that. */
carat_status ct_language_minimise(const struct ct_language *l, struct ct_language *out, carat_error *err);
carat_status ct_language_complement(const struct ct_language *l, struct ct_language *out, carat_error *err);
carat_status ct_language_intersect(const struct ct_language *a, const struct ct_language *b,
                                   struct ct_language *out, carat_error *err);
/* Tells whether there is no text at all. */
carat_status ct_language_empty(const struct ct_language *l, bool *empty, carat_error *err);
/* True when a text (valid UTF-8) is one of the language, which is determined. */
bool ct_language_takes(const struct ct_language *determined, struct ct_str text);

/* ---- as productions ---- */

/* Rules for sets of characters, which all languages of a grammar share. */
struct ct_charset {
    uint32_t first, n; /* of its ranges */
    int32_t rule;
    uint8_t spelling;
};
struct ct_charsets {
    struct ct_charset *set; /* [n] */
    uint32_t *bound;        /* [n_bounds] low and high of each range */
    int32_t n, n_bounds;
    size_t set_room, bound_room;
};
void ct_charsets_free(struct ct_charsets *c); /* starts from {0}, leaves {0} */

/* Paths of all texts from one node to another; what goes wrong is the grammar's failure. */
void ct_language_emit(struct ct_grammar *g, struct ct_charsets *shared, const struct ct_language *l,
                      int32_t from, enum ct_spelling spelling, int32_t to);
/* The characters of ranges, which ascend and do not touch: low and high of each in turn. */
void ct_charset_emit(struct ct_grammar *g, struct ct_charsets *shared, const uint32_t *bound, size_t n_bounds,
                     int32_t from, enum ct_spelling spelling, int32_t to);

#endif
