/* SPDX-License-Identifier: Apache-2.0 */
/* stats.h: what the passes of an engine did, how long they took, and what a pass of so many rows costs. All
 * of it is arithmetic on what step.c and session.c report; the engine's lock is held.
 *
 * Statistics are sums over completed passes, and cost two readings of the clock for each. What a pass of so
 * many rows costs comes from them, and from the table of an earlier engine. */
#ifndef CT_ENGINE_STATS_H
#define CT_ENGINE_STATS_H

#include "base/base.h"
#include "carat_tools.h"

/* Times by their logarithm: sixteen equal parts of each octave from a microsecond on, so that the middle of a
 * part is at most 3.2 % from every time in it. */
enum { CT_TIME_OCTAVES = 28, CT_TIME_PARTS = 16 };
struct ct_times {
    uint64_t n;
    double sum, squares; /* of seconds */
    uint32_t part[CT_TIME_OCTAVES * CT_TIME_PARTS];
};
void ct_times_add(struct ct_times *t, double seconds);
/* The time below which a share of all times lies; 0 when there is none. */
double ct_times_percentile(const struct ct_times *t, double share);

/* A whole pass. */
struct ct_pass_facts {
    int rows, depth; /* depth: positions that its furthest row sees */
    double seconds;
    bool all_logits;     /* every row wants them */
    bool on_gpu, chosen; /* chosen: by what passes cost there and on the CPU */
    carat_dispatch_reason why;
    bool decodes, one_by_one; /* one_by_one: a prompt's, cut to one row */
    int drafted, reevaluated; /* of its rows */
};

/* Counts what one kind of processor computed. */
struct ct_dispatched {
    struct ct_times times;
    uint64_t rows, by_reason[CARAT_DISPATCH_REASONS];
};

struct ct_stats {
    struct ct_times times[CARAT_ROW_BUCKETS];
    uint64_t rows[CARAT_ROW_BUCKETS];
    struct ct_dispatched by[2]; /* of the same passes: the CPU, a GPU */
    uint64_t prefill, decode, drafted, reevaluated, restored, one_by_one, snapshots_used;
    carat_costs costs;
    int depth;  /* of the latest pass */
    int single; /* passes of one row since the latest larger one, where these were cheaper */
};

/* The bucket of a number of rows. */
int ct_row_bucket(int rows);
void ct_stats_pass(struct ct_stats *s, const struct ct_pass_facts *pass);
/* E_ARGUMENT: a number of the table is not finite, or below 0. */
carat_status ct_stats_take_costs(struct ct_stats *s, const carat_costs *costs, carat_error *err);
/* Nanoseconds of a pass whose furthest row sees so many positions, as measured, or between what was measured;
 * 0: not known. */
double ct_cost_of(const carat_costs *costs, int rows, int depth, bool all_logits);
/* Which of two takes less time for such a pass; OPEN: not both are known. */
enum ct_turn { CT_TURN_OPEN, CT_TURN_HOST, CT_TURN_DEVICE };
enum ct_turn ct_faster_side(const carat_costs *costs, int rows, int depth, bool all_logits);
/* True when a pass over n rows of a prompt would take longer than n passes of one row; says no from time to
 * time all the same, so that what was measured stays true. */
bool ct_one_by_one(struct ct_stats *s, int n, int depth);

#endif
