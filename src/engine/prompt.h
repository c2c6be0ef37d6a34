/* SPDX-License-Identifier: Apache-2.0 */
/* prompt.h: a prompt that a generation was given, and goes into passes piece by piece. Whose it is, and what
 * is drawn behind it, is generate.c's. The session is claimed. */
#ifndef CT_PROMPT_H
#define CT_PROMPT_H

#include "engine/engine.h"

/* The ids lie where those of the session do, behind those that are held by now. */
struct ct_given_prompt {
    int n;     /* tokens; 0: there is none, or it is through */
    int *stop; /* [n_stop] positions to which a session can go back later; the last one comes first */
    int n_stop;
};

/* The session keeps what it has of a prompt; the rest is to come, in place of what came before. state: the
 * hidden state behind the last token is needed. Errors as carat_generation_prompt. */
carat_status ct_prompt_give(struct ct_given_prompt *p, carat_session *s, const carat_prompt *prompt,
                            bool state, carat_error *err);
void ct_prompt_close(struct ct_given_prompt *p);
/* Tokens that have yet to be evaluated. */
int ct_prompt_left(const struct ct_given_prompt *p, const carat_session *s);
/* The row for at most `piece` of them, up to the next place where a session can go on later; with its last
 * token comes what is read of the logits. And what the session is told once that row is through. */
carat_row ct_prompt_row(const struct ct_given_prompt *p, carat_session *s, int piece,
                        const struct ct_reading *reading);
void ct_prompt_came(struct ct_given_prompt *p, carat_session *s);

#endif
