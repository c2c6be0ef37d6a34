/* SPDX-License-Identifier: Apache-2.0 */
/* alone.h: benches that go their own way, apart from the tests of bench.c. */
#ifndef BENCH_ALONE_H
#define BENCH_ALONE_H

#include <stdbool.h>
#include <stdint.h>

#include "carat.h"
#include "options/options.h"

/* All of --prompt, `bench timeline`, `bench lm-head` and --draft-right; exit codes. */
int bench_whole(const struct options *o);
int bench_timeline(const struct options *o);
int bench_head(const struct options *o);
int bench_draft(const struct options *o);
/* Times an embedding model, which stays the caller's. */
int bench_embed(const struct options *o, carat_model *model);

/* Options that a special bench refuses, besides those that all of them refuse; ended by name NULL. */
struct bench_refusal {
    const char *name;
    bool given;
};
/* Messages begin with who; takes leads to an option, gives to what -o may be, NULL:
 * everything, and --compare, too. An exit code. */
int bench_check_alone(const struct options *o, const struct bench_refusal *own, const char *who,
                      const char *takes, const char *gives);
#endif
