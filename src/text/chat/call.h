/* SPDX-License-Identifier: Apache-2.0 */
/* call.h: reads back the calls that a model writes in FunctionGemma's or Gemma 4's syntax; the inverse of
 * chat_calls.c. */
#ifndef CT_CALL_H
#define CT_CALL_H

#include "carat_tools.h"
#include "text/tokenizer/tokenizer.h"

/* As carat_parse_calls, whose declaration says what comes out. *out is written only on success. */
carat_status ct_calls_parse(const struct ct_tokenizer *t, const int32_t *ids, int n, const char *tools,
                            carat_calls *out, carat_error *err);
void ct_calls_free(carat_calls *c); /* leaves its size */

#endif
