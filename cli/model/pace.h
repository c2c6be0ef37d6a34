/* SPDX-License-Identifier: Apache-2.0 */
/* pace.h: how long prompts and single steps take in an engine, on ids that mean nothing. */
#ifndef MODEL_PACE_H
#define MODEL_PACE_H

#include <stdint.h>

#include "carat.h"
#include "term/progress.h"

enum { PACE_PARALLEL = 256 }; /* sessions */

struct pace {
    carat_engine *engine;                  /* the caller's */
    const int32_t *ids;                    /* of every session, as many as it will hold */
    carat_session *session[PACE_PARALLEL]; /* NULL: not open */
    struct progress evaluating, bar;       /* what the pass under way has done; the steps of a generation */
};

/* The work that is timed: behind `depth` ids a prompt, then steps of so many sessions; a prompt is that of
 * one. */
struct stretch {
    int n_prompt, n_gen, depth, parallel;
};

/* Seconds. */
struct paced {
    double prompt, steps;
    double first; /* of the prompt and one draw behind it */
};

/* Draws random ids, the same for the same seed: a speed should not depend on them, but a comparison should
 * not have to trust that. */
void random_ids(int32_t *ids, int n, const carat_model_info *info, uint64_t seed);

/* Fresh sessions that hold `depth` ids. An exit code. */
int pace_begin(struct pace *p, const struct stretch *s);
/* With the clock on prompt passes and single steps alone; step: [n_gen] seconds of each, or NULL. An exit
 * code. */
int pace_run(struct pace *p, const struct stretch *s, double *step, struct paced *paced);
/* Closes the sessions; harmless on {0}. */
void pace_end(struct pace *p);

#endif
