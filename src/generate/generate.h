/* SPDX-License-Identifier: Apache-2.0 */
/* generate.h: the loop that draws an answer: what carat_generate.h says of generations. Passes are step.c's,
 * what a session holds is session.c's. */
#ifndef CT_GENERATE_H
#define CT_GENERATE_H

#include "engine/row_logits.h"
#include "engine/session.h"
#include "generate/speculate.h"
#include "generate/readout.h"

/* ---- prompt.c ---- */

/* A prompt that a generation was given, and goes into passes piece by piece. Whose it is, and what is
 * drawn behind it, is generate.c's. The session is claimed. */

/* The ids lie where those of the session do, behind those that are held by now. */
struct ct_given_prompt {
    int n;     /* tokens; 0: there is none, or it is through */
    int *stop; /* [n_stop] positions to which a session can go back later; the last one comes first */
    int n_stop;
    int piece; /* tokens of it in the pass under way; 0: it waits */
};

/* The session keeps what it has of a prompt; the rest is to come, in place of what came before. state: the
 * hidden state behind the last token is needed. Errors as carat_generation_prompt. */
carat_status ct_prompt_give(struct ct_given_prompt *p, carat_session *s, const carat_prompt *prompt,
                            bool state, carat_error *err);
void ct_prompt_close(struct ct_given_prompt *p);
/* Tokens that have yet to be evaluated. */
int ct_prompt_left(const struct ct_given_prompt *p, const carat_session *s);
/* Up to `most` of them, but none behind the next place where a session can go on later, are its piece of the
 * pass under way. Returns how many; 0: none are left, or none may be. */
int ct_prompt_take(struct ct_given_prompt *p, const carat_session *s, int most);
/* The row of that piece; with its last token comes what is read of the logits. And what the session is told
 * once that row is through. */
struct ct_row ct_prompt_row(const struct ct_given_prompt *p, carat_session *s,
                            const struct ct_reading *reading);
void ct_prompt_came(struct ct_given_prompt *p, carat_session *s);

/* Somebody who keeps a record of what a generation draws (receipt/). None of these allocates. */
struct ct_witness {
    /* Ids begin behind tokens[n]. */
    void (*begin)(struct ct_witness *w, const int32_t *tokens, int n);
    /* Number i of a step has been drawn behind so many tokens, from the hidden state behind the last of them;
     * NULL: it is not kept. */
    void (*drawn)(struct ct_witness *w, int i, int position, int32_t id, const float *hidden);
    /* That number is given, or has ended the answer. */
    void (*given)(struct ct_witness *w, int i, int32_t id, bool stop);
    void (*closed)(struct ct_witness *w); /* the generation is gone */
};

/* The fields of a sampling besides the sampling itself. */
struct ct_own_sampling {
    void *memory;   /* what it points to */
    int n_banned;   /* of its banned ids, behind which the stop ids stand where there is a least length */
    int min_tokens; /* before which these are banned too */
};

struct carat_generation {
    carat_session *session; /* down to start nothing changes after creation */
    carat_sampling sampling;
    struct ct_own_sampling own;
    carat_on_token on_token;
    void *user; /* passed to it */
    bool naive;
    struct ct_witness *witness; /* NULL: nobody */
    int max_tokens;
    int context;        /* positions, as the answer counts them: those of the engine, or of one before */
    int thought_budget; /* ids of a thought; -1: any number */
    int32_t stop[CARAT_MOST_STOP_IDS];
    int n_stop;
    int32_t end_of_call; /* the id; -1: the model has none */
    double start;

    struct ct_given_prompt prompt;
    struct ct_speculation speculation;
    struct ct_readout readout;
    struct ct_form form;
    bool closes;                /* ids of the shortest ending follow, since the answer goes round */
    bool cut_short;             /* ids were chosen so that the form ends within max_tokens */
    struct ct_thought ahead;    /* where the ids drawn in the step under way have come to */
    carat_generation_info info; /* last: its id is the next pass's input */
    int32_t given_last;         /* the same id, also when the session holds it already */
    unsigned changes;           /* of the session, after the last step */

    /* of the step under way */
    bool steps, passes;                    /* it takes part; it has a row in the pass */
    int base;                              /* tokens that its session held before */
    int first;                             /* of its row, from which on ids are drawn */
    int n_ids, n_drawn;                    /* of ids and of drawn */
    int32_t ids[1 + CARAT_MOST_DRAFT];     /* info.last, then a draft */
    int32_t drawn[1 + CARAT_MOST_DRAFT];   /* what follows each */
    enum ct_fit fit[1 + CARAT_MOST_DRAFT]; /* of what was drawn first */
    bool forced[1 +
                CARAT_MOST_DRAFT]; /* the model would have gone on otherwise: it ends a thought or a form */
    struct ct_row row;             /* in the pass, where it has one */
    int32_t *all;                  /* [context] for naive: all tokens; else NULL */
    int n_all;                     /* those that a naive pass was to evaluate */
    struct ct_reading reading;     /* what draws read of logits */
    int32_t apart[CT_MOST_APART];  /* reading.apart */
};

/* For who follows an answer that is known (receipt/replay.c), in a session that nothing else steps: begins
 * behind what it holds. Then what draws of the n ids read, the first of them behind held[first]; and the next
 * id, drawn from such logits, or with NULL the one that came: it is given at once. Returns what was drawn;
 * -1: none could be. The engine's lock is held for the last. */
carat_status ct_generation_follow(carat_generation *g, carat_error *err);
const struct ct_reading *ct_generation_reads(carat_generation *g, const int32_t *held, int first, int n);
int32_t ct_generation_next(carat_generation *g, struct ct_draw_logits *logits, int32_t came,
                           const int32_t *held, int n);

#endif
