/* SPDX-License-Identifier: Apache-2.0 */
/* look.h: routes that draw nothing: between text and ids, what a conversation becomes, what is served. They
 * are those of llama.cpp's and vLLM's clients. */
#ifndef LOOK_H
#define LOOK_H

#include "routes.h"

/* A route's prepare. */
bool look_tokenize(struct job *job, struct refusal *r);
bool look_detokenize(struct job *job, struct refusal *r);
bool look_template(struct job *job, struct refusal *r); /* the text of a chat completion's prompt */
bool look_render(struct job *job, struct refusal *r);   /* its ids and settings */
bool look_count(struct job *job, struct refusal *r);    /* the number of its ids */
bool look_tokenizer(struct job *job, struct refusal *r);
bool look_props(struct job *job, struct refusal *r);
/* A route's answer. */
void look_slots(struct job *job, struct text path);

#endif
