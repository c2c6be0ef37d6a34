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
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "carat_device.h"
#include "carat_tools.h"
#include "model/conditions.h"
#include "model/pace.h"
#include "model/spread.h"
#include "options/options.h"
#include "term/message.h"

/* ---- what work costs ---- */

/* The bytes and operations that something needed, and the time it took. */
struct work {
    uint64_t bytes, operations;
    double seconds;
    double gb_s, gop_s;
    double of_read,
        of_compute; /* of what could be done in that time; NAN: nothing to do, or limit not known */
};
struct work work_of(const carat_limits *limits, const carat_operation *o, double seconds);
carat_operation sum_of(const carat_profile *p); /* all operations together */

/* ---- an older result of `carat bench`, and what it says of a new one ---- */

/* Beside the same test of an older result; without one NULL, 0 and NAN. */
struct verdict {
    const json_t *element; /* of the older result; NULL: it has no such test */
    struct spread ts;
    double ratio;   /* of the medians, new by old */
    double allowed; /* the share that noise explains */
    double lost;    /* the share of its speed that the machine itself has lost since; below 0: won */
    double taken;   /* the share of the processors' time that others have taken away since; below 0: given */
    const char *word; /* "same", "slower", ... */
};

/* Reads what --compare names, as a list of elements; an exit code, as of the next. */
int older_read(const char *option, json_t **list);
int older_refuse(const char *name, const char *why, size_t i); /* element i of the file called so */
/* A whole number from 0 on. */
bool older_number(const json_t *object, const char *key, int *value);
/* The speeds of all runs of a test; false when they are none. */
bool older_samples(const json_t *object, struct spread *spread, bool *memory);
/* Sets ratio and allowed beside v->ts, and then the word: explained is the share that the machine lost. */
void older_allow(struct verdict *v, const struct spread *now);
const char *older_word(const struct verdict *v, double explained);

/* ---- what else happens on the machine while something is timed ---- */

/* Load by others while a test ran: shares of the time of all processors, except for throttled, which is a
 * share of the time that passed. NAN: not known, or too short to be known. */
struct load {
    double foreign, steal, throttled;
    double mhz,
        mhz_most;      /* of the fastest processor right after a run, and the most it can do; 0: not known */
    char governor[32]; /* of its frequency; "" when not known */
};

struct load_mark {
    struct cpu_time time;
    double throttled; /* seconds; NAN: not known */
};
void load_begin(const carat_host_info *host, struct load_mark *m);
void load_end(const carat_host_info *host, const struct load_mark *m, struct load *load);
void load_frequency(struct load *load); /* notes the highest of several calls */
size_t peak_rss(void);

/* ---- bench_table.c: a markdown table as wide as what is in it ---- */

enum { MOST_COLUMNS = 12, MOST_ROWS = 129, CELL = 48 };

struct table {
    int columns, cells;
    const char *title[MOST_COLUMNS]; /* a colon at its end aligns to the right */
    int width[MOST_COLUMNS];
    char cell[MOST_ROWS * MOST_COLUMNS][CELL];
};
/* titles are ended by NULL. */
void table_begin(struct table *t, const char *const *titles);
void table_cell(struct table *t, const char *format, ...) PRINTF(2, 3);
/* Nothing where there is nothing to say: the number is NAN or not above 0. */
void table_number(struct table *t, const char *format, double value);
void table_print(struct table *t);
/* table_print in steps, for rows that come one by one: measure sets the widths, out of all that stands there;
 * head prints the titles; row prints one row. */
void table_measure(struct table *t);
void table_head(const struct table *t);
void table_row(const struct table *t, int row);

enum { MOST_TESTS = 64, MOST_SETTINGS = 64, MOST_REPETITIONS = 1000 };

/* Causes that may explain or distort the figures of a test. */
enum cause { NOISE, FOREIGN, STEAL, THROTTLED, FREQUENCY, THREADS, SHORT, BEYOND, UNSEEN, N_CAUSE };

/* The setting that all tests of one engine share. */
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
