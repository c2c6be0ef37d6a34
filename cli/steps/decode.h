/* SPDX-License-Identifier: Apache-2.0 */
/* decode.h: what `carat decode` is made of: the loop (decode.c), how it is told (decode_print.c), and
 * what must hold at its end (decode_check.c). */
#ifndef DECODE_H
#define DECODE_H

#include "carat_generate.h"
#include "carat_tools.h"
#include "model/engine_report.h"
#include "model/sampling.h"

/* The work of the head between two looks at the engine. */
struct head_work {
    uint64_t tokens, bytes, hits, misses, evictions, evaluated, rows_finished, fallbacks, audits;
    double recall, top1; /* sums over audits */
    uint64_t differences;
};
/* The work between `before` and `after`, two looks at an engine. */
struct head_work head_work_between(const carat_head_stats *before, const carat_head_stats *after);

struct step {
    int32_t id;
    double seconds; /* of its pass and its draw */
    float logprob;  /* with --logprobs, as the next */
    carat_logprob top[CARAT_MOST_LOGPROBS];
    int n_top;
};

struct round {
    double prefill_s, mean_s, p50_s, p90_s; /* the last three of steps */
    struct head_work head;                  /* of steps */
    carat_generation_info drafts;           /* with --lookup and --model-draft */
};

struct decoding {
    const struct options *o;
    carat_model *model;
    carat_engine *engine;
    carat_session *session;
    carat_generation *generation; /* which draws, with --logprobs and drafts */
    struct engine_report engine_report;
    bool drafts; /* from the text, or of a drafter */
    carat_model_info info;
    struct sampling how; /* of it */
    carat_sampling sampling;
    carat_tokens ids;
    int n_steps, n_rounds, top;
    struct step *drawn;      /* the one under way */
    struct step *steps;      /* [n_rounds][n_steps] */
    carat_candidate *best;   /* [n_rounds * n_steps][top] */
    struct round *rounds;    /* [n_rounds] */
    double *sorted;          /* [n_steps] scratch */
    double open_s, engine_s; /* of what came before the first round */
    carat_load_times opening;
    carat_head_stats head; /* at the end */
};

/* All that is known before the first round, if people read it. */
void decode_print_head(const struct decoding *d);
/* The use of drafts in the last round; NULL without them. */
const carat_generation_info *last_drafts(const struct decoding *d);
/* Each as it comes; codes are exit codes. */
int decode_print_step(const struct decoding *d, int round, int step);
int decode_print_round(const struct decoding *d, int round);
int decode_print_result(const struct decoding *d);

/* A strategy that is exact gives what dense gives, and every round what the first one gave. An exit code. */
int decode_check(const struct decoding *d);

#endif
