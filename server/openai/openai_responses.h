/* SPDX-License-Identifier: Apache-2.0 */
/* openai_responses.h: OpenAI's responses: conversations of items, and what is remembered of them. */
#ifndef OPENAI_RESPONSES_H
#define OPENAI_RESPONSES_H

#include "fields.h"
#include "messages.h"
#include "openai/openai.h"
#include "responding.h"

bool openai_responses(struct job *job, struct refusal *r);       /* a route's prepare, as the next */
bool openai_responses_count(struct job *job, struct refusal *r); /* the number of the prompt's ids */
bool openai_responses_get(struct job *job, struct refusal *r);   /* one that is remembered, or its items */
void openai_responses_delete(struct job *job, struct text path); /* a route's answer */

extern const struct writer openai_responses_writer;
extern const struct surface surface_responses;

/* ---- openai_responses_items.c: conversations ---- */

enum { IN_INSTRUCTIONS = -1, IN_HISTORY = -2 }; /* where a message came from that was no item of the input */

/* Items on their way to a conversation. */
struct items {
    struct document *d; /* that the items stand in; the refusals are its own */
    const char *id;     /* of the request, for items without a name */
    bool keeps;         /* the items are wanted as they are kept */
    bool is_history;    /* they are no items of the input */
    struct said said;
    struct document history; /* that what is remembered stands in, and its text */
    struct buffer history_text;
    struct buffer kept; /* items, between commas */
    int n_kept;
    struct buffer system; /* texts before the first turn */
    int system_sent;
    bool has_system, has_turn;
    /* the answer that is collected */
    struct buffer thought; /* before it was begun */
    int n_parts, n_calls, first;
};

/* Instructions come before all items. */
bool items_instruct(struct items *c, struct ct_str text);
/* A string, or a list of items. Each returns false when the refusal of *c->d says why not. */
bool items_add(struct items *c, const struct ct_json_value *items);
/* No further item comes. */
bool items_end(struct items *c);
void items_free(struct items *c);

/* Tools, and which of them is wanted, as chat completions have them: an object, or nothing. */
bool responses_tools(struct document *d, const struct ct_json_value *tools,
                     const struct ct_json_value *choice, struct buffer *out);

#endif
