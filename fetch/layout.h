/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h: how files of a source lie in a folder, as a table of functions: which paths they have while they
 * come and when they are whole, and what leads to them then. store.c does the rest. Codes of report.h. */
#ifndef FETCH_LAYOUT_H
#define FETCH_LAYOUT_H

#include <stdatomic.h>

#include "plan.h"

struct store {
    const struct plan *plan;
    const struct layout *layout;
    atomic_bool *stops;         /* somebody has failed, so that nobody waits any longer; or NULL */
    char folder[2 * PLAN_PATH]; /* of this model, below which `place` puts everything but locks */
};

enum { PLACE_PATH = 3 * PLAN_PATH };
/* The paths of a file. */
struct place {
    char whole[PLACE_PATH];
    char part[PLACE_PATH + 32];  /* on its way: a plain beginning of it */
    char older[PLACE_PATH + 32]; /* that another program may have left so, or "" */
    char lock[PLACE_PATH + 64];
};

struct layout {
    bool by_hash; /* names are hashes, or versions that never change: what is there whole is right */
    void (*name)(struct store *s); /* writes s->folder; nothing is made yet */
    void (*place)(struct place *p, const struct store *s, const struct wanted *w);
    /* The file is whole: what leads to it. NULL: nothing has to. */
    int (*enter)(const struct store *s, const struct wanted *w);
    /* All are. path[] gets what the command is told. */
    int (*end)(const struct store *s, char *path, size_t capacity);
};

/* The hub's cache, which huggingface_hub reads; a folder with the files at their names (the plan's "out"). */
extern const struct layout hub_layout, folder_layout;
/* kagglehub's cache, with its marks; ollama's store. */
extern const struct layout kaggle_layout, ollama_layout;

enum { FOLDER_PATH = 4 * PLAN_PATH + 64 };
/* For layouts. The folders of a path, without its last part. */
int make_folders(const char *path);
/* make_folders without a message; false: errno says why, and folder[] is the one that cannot be made. */
bool make_path(char folder[FOLDER_PATH], const char *path);
int sync_folder(const char *path);
int fail_at(const char *path, const char *what);
/* A small file that appears whole; beside: where it is made, instead of next to it. */
int write_small(const char *path, const char *text);
int write_beside(const char *path, const char *beside, const char *text);

#endif
