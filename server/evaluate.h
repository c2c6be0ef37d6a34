/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate.h: prompts that are evaluated now, so that an answer to them begins at once later. */
#ifndef EVALUATE_H
#define EVALUATE_H

#include "routes.h"

/* A route's prepare. The body is one that a route takes which draws, as explain.h has it. */
bool evaluate(struct job *job, struct refusal *r);

#endif
