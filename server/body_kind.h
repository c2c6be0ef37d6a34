/* SPDX-License-Identifier: Apache-2.0 */
/* body_kind.h: whose request a body is that a route of this server's own takes: explain and prepare. */
#ifndef BODY_KIND_H
#define BODY_KIND_H

#include "routes.h"

struct body_kind {
    const char *path; /* a pattern of paths.h: that of the route that answers it */
    bool draws;       /* else it gives vectors */
    bool (*prepare)(struct job *job, struct refusal *r);
};

/* That of the route whose path stands behind the one of the job's, or without any that whose fields the body
 * has. NULL: *r says why there is none. */
const struct body_kind *body_kind_find(const struct job *job, struct refusal *r);
/* That of chat completions. */
const struct body_kind *body_kind_chat(void);

#endif
