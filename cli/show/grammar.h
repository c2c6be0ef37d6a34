/* SPDX-License-Identifier: Apache-2.0 */
/* grammar.h: what `carat grammar` is asked for beside a file. */
#ifndef SHOW_GRAMMAR_H
#define SHOW_GRAMMAR_H

#include "options/options.h"

struct grammar_options {
    const char *as; /* schema, regex, grammar or auto */
    const char *check, *check_file;
};

#endif
