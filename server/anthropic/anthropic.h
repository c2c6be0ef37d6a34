/* SPDX-License-Identifier: Apache-2.0 */
/* anthropic.h: the routes of Anthropic's clients. */
#ifndef ANTHROPIC_H
#define ANTHROPIC_H

#include "fields.h"
#include "routes.h"

bool anthropic_messages(struct job *job, struct refusal *r); /* a route's prepare, as the next */
bool anthropic_count(struct job *job, struct refusal *r);
void anthropic_models(struct job *job, struct text path); /* of a request with Anthropic's version */

extern const struct writer anthropic_writer;
extern const struct surface surface_anthropic;

/* The conversation, tools and choice of a tool of a request, as a JSON object of OpenAI's form. */
struct translation {
    struct document *d;
    struct buffer text; /* the object; its messages are complete when a translation is */
    struct buffer sent; /* an int for each message: the index of that which was sent, -1: system */
    bool continues;     /* the last one is an answer that goes on */
    bool cached;        /* somebody marked what is to be kept, which changes nothing */
};

/* Each of the values may be NULL. False: *d->r says why not. */
bool anthropic_translate(struct translation *t, const struct ct_json_value *system,
                         const struct ct_json_value *messages, const struct ct_json_value *tools,
                         const struct ct_json_value *tool_choice);

#endif
