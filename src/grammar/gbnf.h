/* SPDX-License-Identifier: Apache-2.0 */
/* gbnf.h: grammars as llama.cpp spells them (GBNF): rules `name ::= ...` with literals, classes, groups,
 * alternatives and repeats; a text is what the rule root gives. Control tokens stand between angle brackets,
 * by name or as <[id]>; !<...> is text without that token, and only where it is repeated without end: that it
 * is one token cannot be told by the text.
 *
 * More is taken than llama.cpp takes in one place, a line that begins with | goes on with the rule above it,
 * and less in some: names that are defined twice, empty classes, and halves of surrogate pairs. */
#ifndef CT_GBNF_H
#define CT_GBNF_H

#include "grammar/grammar.h"
#include "text/tokenizer/tokenizer.h"

/* Adds the rules, and gives that of the name root. The tokenizer may be NULL; then no tokens are taken.
 * CARAT_E_ARGUMENT: "line 3, column 7: ..."; CARAT_E_MEMORY. What is too large sticks in the grammar. */
carat_status ct_gbnf(struct ct_grammar *g, struct ct_str text, const struct ct_tokenizer *t, int32_t *root,
                     carat_error *err);

#endif
