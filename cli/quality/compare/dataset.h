/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.h: `carat compare --dataset FILE --out DIR`: lines of a file as prompts, and the lines of
 * results in a directory, which a kill may end anywhere. QUALITY.md has the formats. */
#ifndef DATASET_H
#define DATASET_H

#include "io/npy.h"
#include "quality/compare/compare.h"

/* ---- dataset.c: lines of a file as prompts ---- */

struct dataset {
    /* given */
    const char *path;
    const struct side *side;   /* whose tokenizer and template make ids */
    const char *chat_template; /* NULL: the model's */
    bool raw;                  /* "prompt" is raw text, too */
    bool follows;              /* with the driver text: answers follow the prompt */
    bool recorded;             /* the reference is what each line names as "logits" */
    /* settled by dataset_check */
    json_int_t prompts;
    int longest;   /* ids of a prompt with its text */
    uint64_t hash; /* of the lines, and of what tells one recorded file from another */
    /* while it is read */
    FILE *file;
    char *line;
    size_t n, capacity;
    json_int_t number; /* of the line */
};

/* The prompt that a line asks for. Start from {0}. */
struct dataset_prompt {
    struct compared c; /* its id is as given, else the number of the line; NULL: there are no more lines */
    struct npy_rows recorded;
};

/* Does the first line of a file name recorded logits? Then all lines have to. An exit code. */
int dataset_look(const char *path, bool *recorded);
/* Opens the file and reads all of it: JSON, prompts, ids, conversations, recorded files. Nothing is
 * evaluated when a line is wrong. An exit code. */
int dataset_check(struct dataset *d);
/* Goes back to the beginning, and on behind so many prompts. */
int dataset_skip(struct dataset *d, json_int_t prompts);
int dataset_next(struct dataset *d, struct dataset_prompt *p);
void dataset_prompt_free(struct dataset_prompt *p);
void dataset_close(struct dataset *d);

/* ---- results.c: the lines in DIR ---- */

struct results {
    const char *dir;
    char *path;
    FILE *file;
    json_int_t lines; /* whole ones that are there */
    struct result first;
};

/* Makes or opens DIR and leaves its whole lines; `restart`: none. Refuses those of another run, and the
 * file of the data itself. An exit code. */
int results_open(struct results *r, const char *dir, const char *data, const struct run *run, bool restart);
/* Appends a line of n bytes, which ends with a newline. */
int results_add(struct results *r, const char *line, size_t n);
void results_close(struct results *r);

/* ---- dataset_run.c ---- */

/* The whole of it, behind sides_name. An exit code. */
int dataset_compare(struct compare *c);

#endif
