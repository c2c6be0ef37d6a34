/* SPDX-License-Identifier: Apache-2.0 */
/* prompt_list.h: prompts of one request that are answered one after another. */
#ifndef PROMPT_LIST_H
#define PROMPT_LIST_H

#include "request.h"

/* One prompt of several. */
struct listed_prompt {
    carat_tokens ids;
    char *text; /* that is told before its answers, owned; NULL: none is */
    size_t n_text;
    int max_tokens;
};

/* The turn of the first prompt of the list, and of the next one. False: there is none. */
bool request_begin_list(struct request *request);
bool request_next(struct request *request);
/* The prompts are evaluated, and no answers given. */
void request_evaluate(struct request *request);
static inline bool request_is_last(const struct request *request)
{
    return request->prompts.at + 1 >= request->prompts.n_list;
}

#endif
