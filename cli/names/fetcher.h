/* SPDX-License-Identifier: Apache-2.0 */
/* fetcher.h: models that are not on this machine, brought here by carat-fetch, a program of its own: this one
 * opens no connection. Or opened by the heads of their files alone (remote.c). */
#ifndef MODEL_FETCHER_H
#define MODEL_FETCHER_H

#include <stdint.h>

#include "carat_tools.h"
#include "names/fetch_program.h"
#include "options/options.h"

/* The options of verbs that fetch what they miss. */
struct fetch_options {
    bool offline, refresh, yes;
    const char *file;     /* of MODEL's repository */
    const char *token;    /* NULL: where huggingface_hub looks for it */
    char with_file[2048]; /* MODEL and the file together */
};

/* The source of a model's files. */
struct origin;
/* Gets the files that make a model, objects with name, bytes and hash, and what they are pinned to. */
typedef int (*fetch_look)(void *user, const struct origin *from, json_t *files, const char *commit);
/* A plan for parts of files (objects with from and until too), for fetch_program. */
json_t *fetch_parts(const struct origin *from, json_t *files, const char *commit);

/* Wishes beside a name. Everything may be 0 or NULL, and is so for those who only want the model. */
struct fetch_wish {
    const char *out;                       /* a folder for the files; NULL: the hub's cache */
    const char *token;                     /* NULL: it is looked for */
    const char *token_file;                /* NULL: where huggingface_hub looks for it */
    const struct texts *include, *exclude; /* patterns of names: instead of what makes the model; left out */
    bool force;                            /* also what is there */
    bool dry;                              /* only tells */
    bool quiet;                            /* no bar, no notes */
    bool offline;                          /* --offline */
    bool asks;                             /* somebody, before more than 20 GB */
    bool json;                             /* for what `dry` tells */
    int jobs;                              /* connections at once; 0: 4 */
    uint64_t rate;                         /* bytes a second; 0: as fast as they come */
    fetch_look look;                       /* instead of fetching; NULL: they are fetched */
    void *user;                            /* of `look` */
};

enum { FETCHED_PATH = 4096 };

/* The word that forbids to fetch: --offline, or the name of a variable; NULL: nothing forbids it. */
const char *forbids_fetching(bool offline);
/* Fetches what a repository's name stands for, at->part and at->revision, into the hub's cache, under a bar;
 * what is there already is not fetched again, and what has come stays when it ends early. Afterwards
 * locate_model finds it. An exit code; it is refused where something forbids it. */
int fetch_model(const carat_location *at, const struct fetch_options *how);
/* Fetches nothing: `look` gets the files. An exit code. */
int fetch_looks(const carat_location *at, const struct fetch_options *how, fetch_look look, void *user);
/* Fetches files as the wish says; path[] gets the snapshot, or where it went with `out`, "" with `dry`. */
int fetch_files(const carat_location *at, const struct fetch_wish *wish, char path[FETCHED_PATH]);
/* Asks the hub, or Kaggle, for at most so many models by words; hears "found" of each (fetch/report.h). */
int fetch_search(const char *words, bool kaggle, int limit, const struct fetch_options *how, fetch_hear hear,
                 void *user);
/* All files of a version that Kaggle has, into kagglehub's cache; at->handle says which. */
int fetch_kaggle(const carat_location *at, const struct fetch_wish *wish, char path[FETCHED_PATH]);
/* A model of ollama's registry, at->handle, into the user's own store of ollama, else into carat's. */
int fetch_ollama(const carat_location *at, const struct fetch_wish *wish, char path[FETCHED_PATH]);
/* The file of an address, to at->place, where names find it. */
int fetch_to_place(const carat_location *at, const struct fetch_wish *wish, char path[FETCHED_PATH]);
/* One file at an address, into wish->out. */
int fetch_address(const char *address, const struct fetch_wish *wish, char path[FETCHED_PATH]);

/* ---- remote.c ---- */

/* A model that is not on this machine, opened by the heads of its files: what they say of weights,
 * and the small files beside. The weights themselves read as zeros and are not fetched. */

struct head;
struct heads {
    carat_buffer *buffer; /* [n], by name; each as large as its file */
    struct head *head;    /* [n] */
    int n;
    char commit[80]; /* what the files are pinned to; a version of Kaggle's */
    uint64_t bytes, fetched;
};

/* True: heads of files of such a name can be asked for; false: something forbids it, there is no carat-fetch,
 * or the model is here. */
bool heads_can(const carat_location *at, const struct fetch_options *o);
/* Fetches the heads and opens the model, which is for looking at alone; tokenizer: a file with another one,
 * or NULL. An exit code. The heads are for heads_free, in any case, once the model is closed. */
int heads_open(carat_model **model, struct heads *h, const carat_location *at, const char *tokenizer,
               const struct fetch_options *o);
void heads_free(struct heads *h);

#endif
