/* SPDX-License-Identifier: Apache-2.0 */
/* openai.h: chat completions and completions as OpenAI's clients know them. */
#ifndef OPENAI_H
#define OPENAI_H

#include "routes.h"

struct choice;

bool openai_chat(struct job *job, struct refusal *r); /* a route's prepare, as the next */
bool openai_text(struct job *job, struct refusal *r);
bool openai_vectors(struct job *job, struct refusal *r); /* embeddings */
extern const struct writer openai_chat_writer, openai_text_writer;
void openai_models(struct job *job, struct text path); /* a route's answer */
void openai_ping(struct job *job);                     /* a surface's */

/* Objects that several have. */
void openai_put_usage(struct buffer *out, const struct request *request);
void openai_chat_progress(struct job *job, int evaluated, int64_t ms); /* of a request */

/* vLLM's members of ids, behind others; nothing unless the request wants them. Those of an answer are what
 * was not told so far. */
void openai_put_prompt_ids(struct buffer *out, const struct request *request);
void openai_put_ids(struct buffer *out, const struct request *request, struct choice *c);

#endif
