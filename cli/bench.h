/* bench.h: what `carat bench` measured (bench.c) and how it is told (bench_report.c). */
#ifndef BENCH_H
#define BENCH_H

#include "cli.h"

enum { BENCH_PARALLEL = 256 };

struct bench {
    const struct options *o;
    carat_model *model;
    carat_engine *engine;
    carat_session *session[BENCH_PARALLEL];
    carat_model_info info;
    carat_plan plan;
    carat_limits limits;
    struct progress bar;
    int32_t *ids; /* [longest] */
};

struct test {
    const char *kind; /* "pp", "tg" */
    int tokens, depth;
    int step;      /* tokens of a sequence per call: all of them, or one */
    int parallel;  /* sequences in a call */
    double *speed; /* [repetitions], tok/s of all sequences */
    double mean, deviation, median, low, high;
    carat_profile
        profile; /* of the fastest run with --profile, else of the warm-up, of which only the counts are used */
    double seconds; /* that the profiled run took */
};

/* Returns an exit code; the table cannot fail. */
void bench_print(const struct bench *b, const struct test *tests, int n);
int bench_print_json(const struct bench *b, const struct test *tests, int n);

#endif
