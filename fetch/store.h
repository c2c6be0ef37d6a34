/* SPDX-License-Identifier: Apache-2.0 */
/* store.h: the hub's cache as it is written: blobs under their hashes, links to them in snapshots, refs. The
 * layout is huggingface_hub's, which reads what is written here. */
#ifndef FETCH_STORE_H
#define FETCH_STORE_H

#include "plan.h"

struct store {
    char folder[2 * PLAN_PATH]; /* models--OWNER--NAME */
    const struct plan *plan;
};
/* A file on its way. */
struct part {
    int fd, lock;
    char path[3 * PLAN_PATH + 32], blob[3 * PLAN_PATH]; /* until it is whole, and then */
    int64_t have;                                       /* bytes from its beginning on */
};

/* Makes the folders. Codes of report.h, here and below. */
int store_open(struct store *s, const struct plan *plan);
/* Whether the blob of a file is there, whole. */
bool store_has(const struct store *s, const struct wanted *w);
/* Takes the blob's lock, waiting for who has it, and opens what is there of it; *done: it is whole by now. */
int store_begin(const struct store *s, struct part *p, const struct wanted *w, bool *done);
/* What was written stays for the next time, unless it is wrong. */
void store_leave(struct part *p, bool wrong);
/* It is whole and right: gets its name. */
int store_finish(struct part *p);
/* Links the file into the snapshot. */
int store_link(const struct store *s, const struct wanted *w);
/* The revision is the commit's from now on. path[] gets the snapshot. */
int store_ref(const struct store *s, char *path, size_t capacity);

#endif
