/* SPDX-License-Identifier: Apache-2.0 */
/* ollama.h: the routes of Ollama's clients. */
#ifndef OLLAMA_H
#define OLLAMA_H

#include "fields.h"
#include "routes.h"

/* Those of a route that asks the model. */
bool ollama_chat(struct job *job, struct refusal *r);
bool ollama_generate(struct job *job, struct refusal *r);
bool ollama_show(struct job *job, struct refusal *r);
bool ollama_embed(struct job *job, struct refusal *r);      /* of texts */
bool ollama_embeddings(struct job *job, struct refusal *r); /* of one */
/* Those that answer at once. */
void ollama_root(struct job *job, struct text path);
void ollama_version(struct job *job, struct text path);
void ollama_tags(struct job *job, struct text path);
void ollama_ps(struct job *job, struct text path);
void ollama_store(struct job *job, struct text path); /* what would change a store */

extern const struct writer ollama_chat_writer, ollama_generate_writer;
extern const struct surface surface_ollama, surface_ollama_generate; /* which ping in their own forms */

/* An answer without a text: why there is one. */
void ollama_empty(struct job *job, bool chat, const char *why);
/* Whether a request is for the model that is served. */
bool ollama_is_served(struct document *d, const struct server *s, const struct ct_json_value *model);
/* What is known of the model. */
void ollama_put_facts(struct job *job);

#endif
