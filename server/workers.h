/* SPDX-License-Identifier: Apache-2.0 */
/* workers.h: the threads behind the connections: some make asks of requests, one draws the answers. */
#ifndef WORKERS_H
#define WORKERS_H

#include "state.h"

/* Bodies of threads, which end when their queue is closed and empty. */
void answer_jobs(void *server);
void embed_jobs(void *server); /* instead, of an embedding model */

/* Starts the first of several threads that prepare, so that nobody waits for a request that takes long; a
 * further one starts where all have one. False: the system starts none. */
bool prepare_begin(struct server *s);
void prepare_end(struct server *s); /* when all is prepared that has come */

int desk_open(struct desk *desk); /* nonzero: it could not */
void desk_free(struct desk *desk);

#endif
