/* SPDX-License-Identifier: Apache-2.0 */
/* receipts.h: receipts of answers whose clients want them. */
#ifndef RECEIPTS_H
#define RECEIPTS_H

#include "request.h"

/* Keeps a form for receipts and those who want to see it. False: there is no memory. */
bool receipt_keep_form(struct request *request, const carat_constraint_options *form);
/* Behind the beginning of a generation, before it has its prompt. */
carat_status receipt_begin(const struct request *request, struct choice *choice, carat_error *err);
void receipt_end(struct choice *choice); /* it has ended, and its session is as it left it */
/* A member of the object that an answer is, behind others: its receipt, if one is wanted. */
void receipt_put(struct buffer *out, const struct request *request, const struct choice *choice);
void receipt_free(struct request *request); /* the form that was kept */

#endif
