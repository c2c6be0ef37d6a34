/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h: what `carat bench` is made of: tests that are planned (bench.c), run (bench_run.c) under a watch
 * on the machine (bench_load.c), summed up (bench_figures.c) and told: as a table for people
 * (bench_report.c), as fields for programs (bench_fields.c), against an older result (bench_compare.c) and as
 * a picture (bench_plot.c). Whole generations of a real prompt (bench_whole.c), what going back and keeping a
 * session in a file take (bench_timeline.c), what drafts bring (bench_draft.c) and what strategies of the
 * head do (bench_head.c) are apart from all that. */
#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>

#include <jansson.h>

#include "carat_device.h"
#include "bench/figures.h"
#include "bench/load.h"
#include "bench/older.h"
#include "bench/bench_table.h"
#include "model/pace.h"
#include "options/options.h"

enum { MOST_TESTS = 64, MOST_SETTINGS = 64, MOST_REPETITIONS = 1000 };

/* What may explain or distort the figures of a test. */
enum cause { NOISE, FOREIGN, STEAL, THROTTLED, FREQUENCY, THREADS, SHORT, BEYOND, UNSEEN, N_CAUSE };

/* What the tests of one engine have in common. */
struct setting {
    int threads, chunk; /* as asked for; 0: the library's choice */
    int flash;          /* of -fa: 0 or 1, which are one kernel */
    carat_plan plan;
    carat_limits limits;      /* of the machine with these threads, or of the GPU's memory */
    const char *backend;      /* "CPU", "CUDA" */
    carat_device device;      /* the GPU; name "": none */
    double free_mb, total_mb; /* of its memory */
    int gpu_layers;
    double engine_seconds; /* of its creation */
};

struct test {
    const struct setting *with;
    int n_prompt, n_gen, depth;
    int parallel; /* sequences in a pass */
    char time[24];
    double *spent; /* [repetitions] seconds */
    double *speed; /* [repetitions] tok/s of all sequences */
    double *first; /* [repetitions] seconds of the prompt and one draw; without a prompt not set */
    double *step;  /* [repetitions][n_gen] seconds */
    struct spread ns, ts, first_ms, step_ms;
    struct load load;
    size_t peak_rss;
    carat_profile profile; /* of the fastest run, or without --profile of the warm-up, for its counts */
    double seconds;        /* that the profiled run took */
    struct work work;
    double limit; /* tok/s that the limits allow; NAN: not known */
    struct verdict old;
    double cause[N_CAUSE]; /* NAN where it does not matter */
    char notes[512];       /* the same in words */
};

_Static_assert(MOST_ROWS > 2 * MOST_TESTS, "a table has two rows for a test, and one more");

struct bench {
    const struct options *o;
    carat_model *model;
    struct pace pace;
    carat_model_info info;
    carat_load_times setup;
    struct setting setting[MOST_SETTINGS];
    int n_setting;
    bool several_threads, several_chunks, several_flash; /* lists: columns of their own */
    carat_host_info host;
    int32_t *ids; /* [longest] */
    double open_seconds;
    double start_seconds; /* of that, and of creating the first engine */
    const char *path;
    int exact, fast8, tensor;
    char type[64]; /* as "gemma3 270M Q4_0" */
    char build[32];
    char *command; /* that repeats the run */
    json_t *older; /* result to compare with, or NULL */
    struct test test[MOST_TESTS];
    int n, longest, widest;
    struct table speeds; /* whose rows are printed as they are measured */
};

/* ---- bench_run.c: exit codes ---- */

int bench_open(struct bench *b);                     /* the model, and the plans of all engines */
int bench_begin(struct bench *b, struct setting *s); /* measures the limits, creates the engine */
int bench_run(struct bench *b, struct test *t);
int bench_end(struct bench *b, struct setting *s); /* closes it and measures the limits once more */

/* ---- bench_figures.c ---- */

/* "pp512 @ d4096"; returns out. */
const char *test_name(char *out, size_t capacity, const struct test *t);
int tokens_of(const struct test *t);                      /* of all sequences */
int bench_describe(struct bench *b);                      /* the model's type and the command; an exit code */
void bench_sum_up(const struct bench *b, struct test *t); /* when its setting has ended */

/* ---- bench_report.c ---- */

void bench_print_head(struct bench *b);         /* of the table of speeds */
void bench_print_speed(struct bench *b, int i); /* test i, just measured */
void bench_print(const struct bench *b);        /* all else, when everything is measured */
/* ---- bench_compare.c ---- */

int bench_compare_open(struct bench *b); /* reads and checks the older result; an exit code */
int bench_compare(struct bench *b);      /* when everything is measured; an exit code */
void bench_print_comparison(const struct bench *b, struct table *table);
int bench_compare_result(const struct bench *b); /* CHECK_FAILED when a test is slower */

/* ---- bench_plot.c ---- */

void bench_plot(const struct bench *b, FILE *f); /* SVG; errors stay in f */

#endif
