/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: what is to be done, as it comes on standard input: an object of JSON. */
#ifndef FETCH_PLAN_H
#define FETCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLAN_PATH = 4096, PLAN_NAME = 1024, PLAN_HASH = 65 };

/* A file of a repository. */
struct wanted {
    char name[PLAN_NAME]; /* in it, with folders */
    int64_t bytes;
    char hash[PLAN_HASH]; /* SHA-256 (64 digits), or git's SHA-1 of a blob (40) */
};

struct plan {
    char endpoint[PLAN_PATH]; /* "https://huggingface.co", without a slash behind it */
    char repository[256];     /* OWNER/NAME */
    char revision[256];       /* branch, tag or commit */
    char token[1024];         /* for the endpoint alone, or "" */
    bool lists;               /* the files of the repository are told, and nothing is fetched */
    /* of what is fetched */
    char hub[PLAN_PATH]; /* the cache, which is made where it is missing */
    char commit[PLAN_HASH];
    struct wanted *file; /* [n], malloc'd */
    int n;
};

/* Returns a code of report.h. */
int plan_read(struct plan *plan, int fd);

#endif
