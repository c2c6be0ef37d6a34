/* SPDX-License-Identifier: Apache-2.0 */
/* ids.h: an automaton seen in the ids of a vocabulary: where an id leads, the ids of the shortest ending, and
 * those that must follow. One caller at a time. */
#ifndef CT_IDS_H
#define CT_IDS_H

#include "grammar/automaton.h"
#include "text/tokenizer/speller.h"
#include "text/tokenizer/trie.h"

struct ct_ids {
    struct ct_automaton automaton;
    const struct ct_tokenizer *tokenizer;
    const struct ct_trie *trie;
    struct ct_speller *speller;
    int32_t *shortest; /* [CT_SETS_MAX] ids of the shortest ending of a state + 1; 0: nobody has asked yet */
};

/* Both are borrowed. E_ARGUMENT, and what ct_tokenizer_trie returns. */
carat_status ct_ids_open(struct ct_ids *x, const struct ct_grammar *g, const struct ct_tokenizer *t,
                         carat_error *err);
void ct_ids_close(struct ct_ids *x); /* {0} is closed */

/* The numbers of states are about to change. */
void ct_ids_forget(struct ct_ids *x);

/* The state behind an id: behind its bytes, or behind a token that stands for itself. CT_DEAD, also for an id
 * without bytes. */
int32_t ct_ids_follow(struct ct_ids *x, int32_t state, int32_t id);
/* The first id of the shortest ending in bytes, as the tokenizer spells its beginning; -1: none is needed, or
 * the vocabulary has none for it. */
int32_t ct_ids_ending(struct ct_ids *x, int32_t state);
/* The number of such ids that come, one after another; INT32_MAX: they do not lead to an end. */
int ct_ids_shortest(struct ct_ids *x, int32_t state);
/* True when these are at most so many. */
bool ct_ids_ends_within(struct ct_ids *x, int32_t state, int most);
/* Puts at most k ids of what alone can follow into ids and returns their number. */
int ct_ids_draft(struct ct_ids *x, int32_t state, int32_t *ids, int k);

#endif
