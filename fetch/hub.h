/* SPDX-License-Identifier: Apache-2.0 */
/* hub.h: what the hub says of a repository: its commit, its files. */
#ifndef FETCH_HUB_H
#define FETCH_HUB_H

#include "http.h"
#include "plan.h"

/* Tells of every file of the repository at plan->revision, pinned to a commit. A code of report.h. */
int hub_list(struct http *h, const struct plan *plan);
/* The address of a file at that commit; false: it is too long. */
bool hub_address(char *url, size_t capacity, const struct plan *plan, const char *name);
/* Says why an answer is not what was asked for: missing, gated, private; what: for the message. */
int hub_refuse(const struct plan *plan, const struct http_reply *reply, const char *what);

#endif
