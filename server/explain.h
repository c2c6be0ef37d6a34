/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h: what would become of a request. */
#ifndef EXPLAIN_H
#define EXPLAIN_H

#include "routes.h"

/* A route's prepare. The body is one that a route takes which draws or gives vectors: that whose path stands
 * behind the one of this, or without any that whose fields it has (body_kind.h). */
bool server_explain(struct job *job, struct refusal *r);
/* On the engine's thread: looks up what is kept of the prompt, and gives the job to those who prepare. */
void explain_look_up(struct job *job);
/* What was to be told behind that; the reply is complete. */
void explain_end(struct job *job);

/* ---- explain_cached.c: what is kept of the prompt ---- */

struct request;
bool explained_begin(struct request *request); /* false: there is no memory */
void explain_put_cached(struct buffer *out, struct server *s, const struct request *request);
int explain_reused(const struct request *request); /* tokens that would not be evaluated */

#endif
