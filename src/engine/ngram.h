/* SPDX-License-Identifier: Apache-2.0 */
/* ngram.h: drafts from the text itself: what followed the last tokens when they stood there before. */
#ifndef CT_NGRAM_H
#define CT_NGRAM_H

#include "base/base.h"

enum { CT_NGRAM_LEAST = 2, CT_NGRAM_MOST = 4, CT_NGRAM_LENGTHS = CT_NGRAM_MOST - CT_NGRAM_LEAST + 1 };

/* Where each run of 2, 3 and 4 tokens of a history last ended. A table has open addresses, and its entries
 * are compared with the history itself: whatever stands there can be useless, never wrong. */
struct ct_ngrams {
    size_t slots;                   /* of a table: a power of two, at least twice the longest history */
    int32_t *end[CT_NGRAM_LENGTHS]; /* [slots] tokens up to and with the run; 0: none */
    int indexed;                    /* tokens whose runs are in the tables */
};

/* False: there is no memory. Histories have at most so many tokens. */
bool ct_ngrams_open(struct ct_ngrams *g, int most);
void ct_ngrams_close(struct ct_ngrams *g);
/* Another history begins. */
void ct_ngrams_begin(struct ct_ngrams *g);
/* Puts up to k ids that may follow ids[n] into draft and returns their number: of the longest run of 4, 3 or
 * 2 tokens at the end that stood there before, what followed it last; 0: there is none. ids are those of the
 * call before, and more, unless another history began. */
int ct_ngrams_propose(struct ct_ngrams *g, const int32_t *ids, int n, int32_t *draft, int k);

#endif
