/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.h: whose request a body is that a route of this server's own takes: explain and prepare. */
#ifndef KINDS_H
#define KINDS_H

#include "routes.h"

struct kind {
    const char *path; /* a pattern of paths.h: that of the route that answers it */
    bool draws;       /* else it gives vectors */
    bool (*prepare)(struct job *job, struct refusal *r);
};

/* That of the route whose path stands behind the one of the job's, or without any that whose fields the body
 * has. NULL: *r says why there is none. */
const struct kind *kind_find(const struct job *job, struct refusal *r);
/* That of chat completions. */
const struct kind *kind_chat(void);

#endif
