/* SPDX-License-Identifier: Apache-2.0 */
/* task.h: what embedders read before a text, and behind it. */
#ifndef CT_TASK_H
#define CT_TASK_H

#include "carat_embed.h"
#include "text/tokenizer/tokenizer.h"

/* Appends <bos>, the sentence of the task, the text, <eos>. The statuses of carat_embed_tokenize. */
carat_status ct_task_encode(const struct ct_tokenizer *t, carat_task task, const char *title,
                            const char *text, size_t n, carat_tokens *out, carat_error *err);

#endif
