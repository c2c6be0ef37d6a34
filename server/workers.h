/* SPDX-License-Identifier: Apache-2.0 */
/* workers.h: the threads behind the connections: some make asks of requests, one draws the answers. */
#ifndef WORKERS_H
#define WORKERS_H

#include "state.h"

/* Bodies of threads, which end when their queue is closed and empty. */
void prepare_jobs(void *server); /* of several threads, so that nobody waits for a request that takes long */
void answer_jobs(void *server);
void embed_jobs(void *server); /* instead, of an embedding model */

int desk_open(struct desk *desk); /* nonzero: it could not */
void desk_free(struct desk *desk);

#endif
