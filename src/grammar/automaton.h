/* SPDX-License-Identifier: Apache-2.0 */
/* automaton.h: runs a grammar over bytes and tokens. A state is the set of all places in the grammar where a
 * text can have led to; a place is a node and a frame, which says what comes behind the node's rule. States
 * and frames are interned: the same set has the same number, and where a state leads with a byte is worked
 * out once. They are made when they are first needed, in memory that is reserved at the beginning.
 *
 * Numbers of states hold until ct_automaton_compact. One caller at a time. */
#ifndef CT_AUTOMATON_H
#define CT_AUTOMATON_H

#include "grammar/grammar.h"

struct ct_set;

struct ct_automaton {
    const struct ct_grammar *grammar;
    struct ct_set *set; /* states and frames */
    uint64_t *place;    /* node << 32 | frame, ascending in each set */
    int32_t *row;       /* [rows][symbols] where a state leads + 1; 0: nobody has asked yet */
    int32_t *slot;      /* [slots] hash table of sets: number + 1; 0: empty */
    uint32_t n_sets, n_places, n_rows, rows, slots;
    int32_t symbols; /* classes of bytes, then tokens */
    int32_t start;
    bool full;                       /* a set found no room: what would have led to it leads nowhere */
    uint8_t *needed;                 /* sets that ct_automaton_compact leaves; all 0 in between */
    int32_t *moved;                  /* and their numbers then */
    uint32_t kept_sets, kept_places; /* that it has left */
    /* of the step under way */
    int32_t level;  /* of nesting behind it */
    uint64_t *work; /* places to look at */
    uint32_t n_work;
    uint64_t *seen; /* hash table of them: step << 32 | number */
    uint32_t seen_slots, step;
    uint64_t *pending; /* places that rules return to, until all that call a rule are known */
    uint32_t n_pending;
    uint32_t *called; /* [n_rules] the last of a rule's pending places + 1; 0: none */
    uint32_t *before; /* of each pending place, the one before of its rule + 1 */
    int32_t *waiting; /* rules that have pending places: a heap by their order */
    int32_t n_waiting;
    uint64_t *sorted; /* of the set that is made */
};

enum { CT_DEAD = 0, CT_NO_SYMBOL = -1 };
enum { CT_SETS_MAX = 1 << 17 }; /* states and frames that there are at once */

/* Reserves memory; pages that nothing is written to cost nothing. E_MEMORY. The grammar is borrowed. */
carat_status ct_automaton_open(struct ct_automaton *a, const struct ct_grammar *g, carat_error *err);
void ct_automaton_close(struct ct_automaton *a);

/* Make room between two questions, where memory is running out: whoever holds a state marks it, what nobody
 * needs is forgotten, and each marked state has the number that ct_automaton_moved tells, the start too. */
bool ct_automaton_crowded(const struct ct_automaton *a);
void ct_automaton_mark(struct ct_automaton *a, int32_t state);
void ct_automaton_compact(struct ct_automaton *a);
int32_t ct_automaton_moved(const struct ct_automaton *a, int32_t state);

/* The state behind a byte, or behind a token that stands for itself; CT_DEAD: no text of the grammar goes on
 * so. */
int32_t ct_automaton_byte(struct ct_automaton *a, int32_t state, uint8_t byte);
int32_t ct_automaton_token(struct ct_automaton *a, int32_t state, int32_t id);
/* [symbols] by class of byte, then by token: where a state leads + 1; 0: nobody has asked yet. NULL: there is
 * no room to keep it. */
int32_t *ct_automaton_row(struct ct_automaton *a, int32_t state);
/* True when the text may end here. */
bool ct_automaton_accepts(const struct ct_automaton *a, int32_t state);
/* Bytes and tokens of the shortest ending; 0: the text may end here. CT_NEVER of CT_DEAD. */
uint32_t ct_automaton_least(const struct ct_automaton *a, int32_t state);

/* A symbol is a byte, or 256 + the number of a token in grammar->token. This is the first one of the shortest
 * ending, of several the first in the order of nodes and edges; CT_NO_SYMBOL where there is nothing to
 * add. */
int32_t ct_automaton_shortest(const struct ct_automaton *a, int32_t state);
/* The only symbol that goes on from here; CT_NO_SYMBOL: there are several, or the text may end. */
int32_t ct_automaton_only(const struct ct_automaton *a, int32_t state);
int32_t ct_automaton_symbol(struct ct_automaton *a, int32_t state, int32_t symbol);

#endif
