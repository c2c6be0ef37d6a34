/* SPDX-License-Identifier: Apache-2.0 */
/* log_jsonl.h: --log-jsonl: a line of JSON for each load, prompt and generation: numbers, never text. */
#ifndef LOG_JSONL_H
#define LOG_JSONL_H

#include "ask/converse.h"

/* Each appends its line to the file of the options, or does nothing without one. A file that cannot be
 * written is noted once and left alone. */
void log_load(struct converse *c);
void log_prompt(struct converse *c, int tokens);
void log_generation(struct converse *c);

#endif
