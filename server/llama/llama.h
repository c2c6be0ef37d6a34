/* SPDX-License-Identifier: Apache-2.0 */
/* llama.h: llama.cpp's own completions; what else its clients ask is inspect.c's. */
#ifndef LLAMA_H
#define LLAMA_H

#include "routes.h"

bool llama_completion(struct job *job, struct refusal *r); /* a route's prepare */

extern const struct writer llama_writer;
extern const struct surface surface_llama;

void llama_progress(struct job *job, int evaluated, int64_t ms); /* of a request */

#endif
