/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_line.h: one line of a data set. */
#ifndef DATASET_LINE_H
#define DATASET_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* The member that the prompt comes from; the first of them that a line has. */
enum prompt_kind { PROMPT_IDS, PROMPT_MESSAGES, PROMPT_USER, PROMPT_RAW };

struct dataset_line {
    json_t *root;
    json_t *id; /* NULL: the number of the line */
    enum prompt_kind kind;
    const json_t *ids; /* a list of integers from 0 to INT32_MAX, not empty */
    json_t *messages, *tools;
    const char *text; /* of PROMPT_USER (no NUL in it) and PROMPT_RAW */
    size_t n_text;
    const json_t *answer_ids; /* as ids; or NULL */
    const char *answer;       /* or NULL */
    size_t n_answer;
    const char *logits; /* a file; or NULL */
};

/* A fault of a line. */
struct line_fault {
    size_t byte; /* of the line, from 0 */
    bool memory; /* memory was out */
    char text[200];
};

/* Reads a line of n bytes; false: see fault, and nothing is to be freed. */
bool dataset_line_read(struct dataset_line *l, const char *text, size_t n, struct line_fault *fault);
void dataset_line_free(struct dataset_line *l);

#endif
