/* SPDX-License-Identifier: Apache-2.0 */
/* regex.h: regular expressions as sets of texts: what ECMA 262 writes in its Unicode mode, as JSON Schema
 * wants it, and what Python's re and older patterns write besides, where both mean the same. Groups,
 * alternatives, classes, \d \w \s and their opposites, quantifiers, anchors; a lazy quantifier is one, for a
 * set knows no order. \d and \w are of ASCII; a dot is all but line ends; $ is the very end. Anything that a
 * set cannot say, or that two dialects read in two ways, is refused with its byte. */
#ifndef CT_REGEX_H
#define CT_REGEX_H

#include "grammar/language.h"

enum { CT_REGEX_MAX = 64 << 10 }; /* bytes */

/* Makes *out, an initialised language, the texts that the pattern fits: whole, or somewhere in them.
 * CARAT_E_ARGUMENT: "byte 3: ...", that byte in *at (may be NULL); CARAT_E_MEMORY; CARAT_E_CANCELLED, by the
 * watch of *out. */
carat_status ct_regex_language(struct ct_str pattern, bool whole, struct ct_language *out, size_t *at,
                               carat_error *err);
/* A rule whose texts are those that the pattern fits as a whole, in UTF-8. Errors as above; those of the
 * grammar itself stick in it. */
carat_status ct_regex_rule(struct ct_grammar *g, struct ct_str pattern, int32_t *rule, carat_error *err);

#endif
