/* SPDX-License-Identifier: Apache-2.0 */
/* warnings.h: what was passed over of a request, told in the body of its reply. */
#ifndef WARNINGS_H
#define WARNINGS_H

#include "request.h"

/* A member of an object, behind others: fields that nobody knew, and those
 * of other servers that change nothing here. Without any there is none. */
void warnings_put(struct buffer *out, const struct request *request);

#endif
