/* SPDX-License-Identifier: Apache-2.0 */
/* batch.h: `carat run --jsonl`: a file of prompts, answered together. */
#ifndef ASK_BATCH_H
#define ASK_BATCH_H

#include "options/options.h"

/* All of it. An exit code. */
int answer_lines(const struct options *o);

#endif
