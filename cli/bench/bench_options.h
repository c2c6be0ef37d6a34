/* SPDX-License-Identifier: Apache-2.0 */
/* bench_options.h: what `carat bench` is asked to measure. */
#ifndef BENCH_BENCH_OPTIONS_H
#define BENCH_BENCH_OPTIONS_H

#include "options/options.h"

struct bench_options {
    const char *n_prompt, *n_gen, *n_depth, *n_parallel, *n_pair, *flash; /* lists */
    const char *thread_list, *chunk_list;
    const char *output, *compare, *plot, *bench_json;
    const char *prompt;              /* times whole generations */
    int predict, warmup, iterations; /* of these */
    double draft_right;              /* NAN: not given */
    const char *spectrum;            /* of lm-head */
    int steps;                       /* of lm-head */
    int repetitions;
    bool prefill_logits, profile;
    bool self_check;
};

#endif
