/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_program.h: carat-fetch, the program that opens connections: a plan in JSON on its standard input,
 * events back from it, a line each (fetch/report.h). */
#ifndef MODEL_FETCH_PROGRAM_H
#define MODEL_FETCH_PROGRAM_H

#include <stdbool.h>

#include <jansson.h>

/* Bytes that came behind a line lie in it as the text "bytes", which need not be UTF-8. */
typedef int (*fetch_hear)(void *user, const char *event, json_t *line);
/* Starts it, sends the plan, which it takes over (NULL: out of memory), and hears what comes of it until
 * `hear` returns another code than DONE. What the program refuses is said. An exit code. */
int fetch_program(json_t *plan, fetch_hear hear, void *user);
/* True: the program was built, and lies where it is looked for. */
bool has_fetch_program(void);

/* ---- rehash.c ---- */

/* Checks that the files of a model in the hub's cache, or the weights in a store of ollama, are what the
 * publisher hashed: their names there are those hashes. carat-fetch hashes them; it asks nobody. */

enum { REHASHED_TEXT = 512 };
struct rehashed {
    int files, wrong;         /* 0 files: there are none to hash, or nobody to do it */
    char text[REHASHED_TEXT]; /* what was found, as the end of a line; "": no file is named by a hash */
};

/* path: where a model was found. An exit code: 0 also where files are wrong. */
int names_rehash(struct rehashed *r, const char *path);

#endif
