/* SPDX-License-Identifier: Apache-2.0 */
/* tokenize.h: `carat tokenize` and `carat detokenize`. */
#ifndef ASK_TOKENIZE_H
#define ASK_TOKENIZE_H

#include "options/options.h"

int verb_tokenize(const struct options *o);
int verb_detokenize(const struct options *o);

#endif
