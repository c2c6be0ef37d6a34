/* SPDX-License-Identifier: Apache-2.0 */
/* anthropic.h: the routes of Anthropic's clients. */
#ifndef ANTHROPIC_H
#define ANTHROPIC_H

#include "fields.h"
#include "messages.h"
#include "routes.h"

bool anthropic_messages(struct job *job, struct refusal *r); /* a route's prepare, as the next */
bool anthropic_count(struct job *job, struct refusal *r);
void anthropic_models(struct job *job, struct text path); /* of a request with Anthropic's version */

extern const struct writer anthropic_writer;
extern const struct surface surface_anthropic;

/* The conversation, tools and choice of a tool of a request. */
struct translation {
    struct document *d;
    struct said said;
    struct buffer
        text;       /* a JSON object of the tools and the choice, as OpenAI has them; empty: there are none */
    bool continues; /* the last message is an answer that goes on */
    bool cached;    /* somebody marked what is to be kept, which changes nothing */
};

/* Each of the values may be NULL. False: *d->r says why not. */
bool anthropic_translate(struct translation *t, const struct ct_json_value *system,
                         const struct ct_json_value *messages, const struct ct_json_value *tools,
                         const struct ct_json_value *tool_choice);

#endif
