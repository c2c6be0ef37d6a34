/* SPDX-License-Identifier: Apache-2.0 */
/* openai.h: chat completions as OpenAI's clients know them. */
#ifndef OPENAI_H
#define OPENAI_H

#include "routes.h"

bool openai_chat(struct job *job, struct refusal *r); /* a route's prepare */
extern const struct writer openai_chat_writer;
void openai_models(struct job *job, struct text path); /* a route's answer */

#endif
