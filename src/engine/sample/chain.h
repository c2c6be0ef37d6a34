/* SPDX-License-Identifier: Apache-2.0 */
/* chain.h: the chain of a sampling as data: is it sound, a copy of it, and what its draws read of logits.
 * Which ids it edits: penalty.h. The arithmetic: kernel/ref/ref_{edit,chain,draw}.c. */
#ifndef CT_CHAIN_H
#define CT_CHAIN_H

#include "base/base.h"
#include "carat_generate.h"

/* E_ARGUMENT names what is wrong. c is complete; NULL is sound. */
carat_status ct_chain_check(const carat_chain *c, int n_vocab, carat_error *err);

/* A copy that shares nothing with the original, which is sound; *memory is for free. E_MEMORY. */
carat_status ct_sampling_copy(carat_sampling *to, void **memory, const carat_sampling *from,
                              carat_error *err);

/* How many of the best logits a draw reads, edited ones aside; 0: all of them. */
int ct_chain_best(const carat_sampling *o);
/* The ids that a chain may edit in draws behind held[first], held[first + 1] ... held[last]: at least
 * these, in any order, some more than once. Returns their number; -1: there are more than `room`. NULL:
 * none. */
int ct_chain_apart(const carat_chain *c, const int32_t *held, int first, int last, int32_t *ids, int room);

const char *ct_link_name(carat_link link);

#endif
