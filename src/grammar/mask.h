/* SPDX-License-Identifier: Apache-2.0 */
/* mask.h: which ids of a vocabulary may come next, as bits: a walk of the texts of all ids (trie.h) with the
 * states of the automaton, and masks kept by state. One caller at a time. */
#ifndef CT_MASK_H
#define CT_MASK_H

#include "grammar/ids.h"

struct ct_kept_mask;

struct ct_masks {
    struct ct_ids *ids;
    int32_t n; /* ids below it are asked for */
    size_t words;
    uint64_t *bits;            /* [n_slots][words] masks that are kept */
    struct ct_kept_mask *kept; /* [n_slots + 1] */
    int32_t *slot;             /* [CT_SETS_MAX] of a state's mask + 1; 0: none is kept */
    int32_t n_slots, n_used;
    uint64_t *by_length; /* [CT_PLAIN_MAX][words] ids of plain texts by their characters; made when needed */
    bool by_length_made;
    /* first bytes of the texts in both trees of the trie, and their nodes, which lie far apart; behind them
     * where the tree ends */
    struct ct_mask_root {
        uint32_t node;
        uint8_t byte;
    } root[2][257];
    int32_t *plain; /* [CT_SETS_MAX] where every plain character leads from a state (mask.c) */
    /* of the mask that is made */
    uint32_t pass;
    uint32_t *seen; /* [CT_SETS_MAX] the pass in which ids have led to a state, * 2, + 1: they may */
    /* of the states that were asked about last in the pass; -1: none */
    int32_t run_from, around_from;
    bool run[CT_PLAIN_MAX + 1]; /* ids may lead on from it by so many plain characters */
    bool around[256];           /* plain characters that begin so lead from it to itself */
    int32_t usual;              /* the state that nearly all plain texts lead to, and all may; -1: none */
    bool to_usual[256];         /* plain characters that begin so lead to it, bytes behind the first too */
    int enough;                 /* ids for an end behind each of these states */
};

enum { CT_MASK_BYTES = 64 << 20 }; /* masks that are kept for a form */

/* Reserves memory, so that nothing else allocates; pages that nothing is written to cost nothing. At least
 * one mask is kept. ids is borrowed. E_MEMORY. */
carat_status ct_masks_open(struct ct_masks *m, struct ct_ids *ids, int32_t n, size_t bytes, carat_error *err);
void ct_masks_close(struct ct_masks *m); /* {0} is closed */

/* The numbers of states are about to change. */
void ct_masks_forget(struct ct_masks *m);

/* Sets the bits of all ids below n that lead from the state to one from which at most `most` ids lead to an
 * end, clears those of the others, up to a multiple of 64. most INT32_MAX: any number. */
void ct_masks_of(struct ct_masks *m, int32_t state, int most, uint64_t *bits);

#endif
