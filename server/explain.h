/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h: what would become of a request. */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include "routes.h"

/* A route's prepare. The body is one that a route takes which draws: that whose path stands behind the one of
 * this, or without any that whose fields it has (kinds.h). */
bool explain(struct job *job, struct refusal *r);

#endif
