/* SPDX-License-Identifier: Apache-2.0 */
/* heads.h: what `carat bench lm-head` is made of: the matrix of rows (bench_head.c), measuring one
 * (head_run.c), what the ids and logits of one are beside dense's (head_like.c), and telling all of them
 * (head_tell.c). */
#ifndef HEADS_H
#define HEADS_H

#include "bench/bench.h"
#include "carat_generate.h"

enum { MOST_HEADS = 128, HEAD_K = 64, HEAD_COMPARED = 64 /* steps */ };

/* A strategy with its numbers, or the prompt. */
struct head_row {
    char name[CELL];
    carat_head_options options;
    int k;              /* the best that are read; 0: it is the prompt */
    bool prompt_logits; /* of the prompt */
    int group;          /* rows of one are set up alike */

    char refused[256];       /* why it cannot be run; "": it can */
    double *speed;           /* [runs] tok/s, means of a run */
    struct spread ts, ms;    /* ms: of all steps */
    struct spread dense_ms;  /* of dense, run by run beside it */
    carat_head_stats head;   /* what it is; counts are those of the timed runs */
    double cold_s, cached_s; /* set-up; NAN: not measured */
    double rss;
    int compared;                  /* steps */
    double kl, top1, recall, same; /* means over these; same: bit for bit */
    bool differs;                  /* it is exact, and is not */
    struct verdict old;
};

/* The results of dense, which the other rows are compared with. */
struct head_truth {
    int32_t *ids;          /* [n_ids + n_steps] the prompt, and what follows it */
    float *logits;         /* [compared][n_vocab] */
    carat_candidate *best; /* [compared][k] */
};

/* ---- head_spectrum.c ---- */

/* Puts a random model of that spectrum ("flat", "falling") in place of one, in memory that stays the caller's
 * to free once the model is closed, also after a failure. An exit code. */
int head_spectrum(carat_model **model, uint8_t **memory, size_t *n, const char *spectrum);
/* Opens it once more. */
int head_spectrum_open(carat_model **model, const uint8_t *memory, size_t n);

/* The model, engine and session that a row runs on. */
struct head_seat {
    carat_model *model;
    carat_engine *engine;
    carat_session *session;
};

struct heads {
    const struct options *o;
    struct head_seat dense,
        seat; /* dense stays open: a mapping of its own, which no other strategy gives back */
    carat_model_info info;
    carat_plan plan;
    carat_host_info host;
    int n_ids, n_steps, runs, compared, k; /* k: HEAD_K, or all of a smaller vocabulary */
    struct head_truth truth;
    double *seconds, *beside; /* [runs * n_steps] of steps, and of dense's; scratch */
    struct head_row row[MOST_HEADS];
    int n;
    uint8_t *memory; /* [n_memory] a random model that is measured in place of the one named; or NULL */
    size_t n_memory;
    json_t *older;
    struct table table;
    const char *format; /* md, csv, json, jsonl */
};

/* ---- head_run.c: exit codes ---- */

/* The ids that all rows go through, and what dense makes of them. */
int heads_find_truth(struct heads *h);
int heads_run(struct heads *h, struct head_row *row);
void head_seat_close(struct head_seat *s);

/* ---- head_like.c ---- */

/* Compares what a row gives behind step i, best[k], with what dense gave. */
void heads_liken(const struct heads *h, struct head_row *row, int i, const carat_candidate *best);

/* ---- head_tell.c ---- */

void heads_tell_begin(struct heads *h);
int heads_tell_row(struct heads *h, int i); /* an exit code, as the next */
int heads_tell_end(struct heads *h);

#endif
