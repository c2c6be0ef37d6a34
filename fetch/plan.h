/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: what is to be done, as it comes on standard input: an object of JSON. */
#ifndef FETCH_PLAN_H
#define FETCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLAN_PATH = 4096, PLAN_NAME = 1024, PLAN_HASH = 65, PLAN_MANIFEST = 1 << 16 };

/* A file of a repository. */
struct wanted {
    char name[PLAN_NAME];       /* in it, with folders */
    int64_t bytes, from, until; /* of a part: its first byte, and behind its last one */
    char hash[PLAN_HASH];       /* digits: SHA-256 (64), git's SHA-1 of a blob (40), MD5 (32); or "" */
};

/* The task of a plan. */
enum task {
    TASK_LIST,   /* the files of a repository are told, and nothing is fetched */
    TASK_CHECK,  /* those of the plan are told, and which of them are there */
    TASK_GET,    /* they are fetched */
    TASK_SEARCH, /* repositories are told */
    TASK_HASH,   /* files below root are hashed, and told as they are */
    TASK_PARTS,  /* parts of the plan's files are told, and nothing is kept */
    N_TASKS
};

struct plan {
    enum task task;              /* "do": "list", "check", "get", "search", "hash", "parts" */
    const struct source *source; /* source.h */
    char endpoint[PLAN_PATH];    /* "https://huggingface.co", without a slash behind it */
    char repository[256];        /* OWNER/NAME, or as the source has it */
    char revision[256];          /* branch, tag or commit */
    char user[256], token[1024]; /* for the endpoint alone, or "" */
    char query[256];             /* of a search: words */
    int64_t limit;               /* and how many repositories are told at most */
    /* of what is fetched */
    char root[PLAN_PATH], out[PLAN_PATH]; /* the source's cache; or a folder for the files. Made if missing */
    char commit[PLAN_HASH];               /* what they are pinned to */
    char manifest[PLAN_MANIFEST];         /* of ollama's, as it came: written behind all files */
    struct wanted *file;                  /* [n], malloc'd */
    int n;
    int64_t jobs;     /* connections at once; 4 unless said otherwise */
    int64_t rate;     /* bytes a second, all together; 0: as fast as they come */
    int64_t force;    /* 1: also what is there */
    int64_t patience; /* seconds of less than 1 KiB/s, behind which a connection counts as broken */
    struct tap *tap;  /* tap.h: hears the only file as it comes, or NULL; no part of what is read */
};

/* Returns a code of report.h. */
int plan_read(struct plan *plan, int fd);

#endif
