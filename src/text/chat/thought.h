/* SPDX-License-Identifier: Apache-2.0 */
/* thought.h: divides what a model writes into its thoughts and its answer, id by id. A thought stands between
 * two control tokens, behind the line that names its channel and before a line break, which are no part of
 * its text. Text that spells the tokens counts for nothing. Rendering thoughts is chat_gemma4.c's.
 *
 * A generation flags the text that it gives (generate/readout.c), so that the command, a server and bindings
 * divide it alike. */
#ifndef CT_THOUGHT_H
#define CT_THOUGHT_H

#include "text/tokenizer/tokenizer.h"

#define CT_CHANNEL_NAME "thought\n" /* the line */

/* The ids of a vocabulary around a thought; -1: it has none, and nothing is ever one. */
struct ct_thought_marks {
    const struct ct_tokenizer *t;
    int32_t begin, end;
};
struct ct_thought_marks ct_thought_marks(const struct ct_tokenizer *t); /* NULL has none */

/* Where a list of ids has come to; {0}: an answer. */
struct ct_thought {
    bool inside;
    int named; /* bytes of the naming line so far; all of them: the text has begun, behind it or without it */
    int ids;   /* of the text of the thought */
};
extern const struct ct_thought ct_thought_text_under_way; /* behind the naming line */
void ct_thought_follow(const struct ct_thought_marks *m, struct ct_thought *at, int32_t id);
/* Behind ids[n]. */
struct ct_thought ct_thought_after(const struct ct_thought_marks *m, const int32_t *ids, int n);
/* Its text has come to so many ids. */
bool ct_thought_reached(const struct ct_thought *at, int ids);
/* The ids of a prompt that every later rendering of the conversation begins with, whatever the answer: n, or
 * fewer when it ends with an empty thought, which is written again for an answer that is yet to come only. */
int ct_thought_turn(const struct ct_thought_marks *m, const int32_t *ids, int n);

/* The text of thoughts out of the text of their ids, as it comes. */
struct ct_thought_text {
    int named;
    bool line_break; /* held back: the last of a thought is not its own */
};
/* A thought begins, or goes on from there. */
void ct_thought_text_begin(struct ct_thought_text *x, const struct ct_thought *at);
/* Writes to out, which has room for CT_THOUGHT_HELD more than n, and returns the bytes. */
enum { CT_THOUGHT_HELD = sizeof CT_CHANNEL_NAME };
size_t ct_thought_text_push(struct ct_thought_text *x, const char *text, size_t n, char *out);

/* Divides ids[n], which begin within the text of a thought or not: *answer gets those outside thoughts,
 * appended, and *text (malloc'd, terminated; may be NULL) the text of all thoughts, an empty line between
 * two. E_MEMORY. */
carat_status ct_thoughts_split(const struct ct_tokenizer *t, const int32_t *ids, int n, bool inside,
                               carat_tokens *answer, char **text, size_t *n_text, carat_error *err);

#endif
