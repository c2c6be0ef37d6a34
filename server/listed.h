/* SPDX-License-Identifier: Apache-2.0 */
/* listed.h: prompts of one request that are answered one after another. */
#ifndef LISTED_H
#define LISTED_H

#include "ask.h"

/* One prompt of several. */
struct listed {
    carat_tokens ids;
    char *text; /* that is told before its answers, owned; NULL: none is */
    size_t n_text;
    int max_tokens;
};

/* The turn of the first prompt of the list, and of the next one. False: there is none. */
bool ask_begin_list(struct ask *ask);
bool ask_next(struct ask *ask);
/* The prompts are evaluated, and no answers given. */
void ask_evaluate(struct ask *ask);
static inline bool ask_is_last(const struct ask *ask)
{
    return ask->prompts.at + 1 >= ask->prompts.n_list;
}

#endif
