/* SPDX-License-Identifier: Apache-2.0 */
/* store.h: a file on its way into a folder. What has come is always a beginning of it, under another name,
 * until it is whole. Which names these are is the layout's (layout.h). Codes of report.h. */
#ifndef FETCH_STORE_H
#define FETCH_STORE_H

#include "layout.h"

struct part {
    int fd, lock;
    struct place at;
    int64_t have; /* bytes from its beginning on */
};

/* Makes nothing yet. */
void store_open(struct store *s, const struct plan *plan);
/* Whether the file is there, whole. */
bool store_has(const struct store *s, const struct wanted *w);
/* Takes the file's lock, waiting for who has it, and opens what is there of it; *done: it is whole by now. */
int store_begin(const struct store *s, struct part *p, const struct wanted *w, bool *done);
/* What was written stays for the next time, unless it is wrong. */
void store_leave(struct part *p, bool wrong);
/* It is whole and right: gets its name. */
int store_finish(struct part *p);
/* What leads to it. */
int store_enter(const struct store *s, const struct wanted *w);
/* All files are there. path[] gets what the command is told. */
int store_end(const struct store *s, char *path, size_t capacity);

#endif
