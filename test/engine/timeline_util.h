/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_util.h: what the tests of timelines share beside invariance.h: what a session says of what it
 * kept, and the size of a snapshot. All functions are static and end the running test when something is
 * wrong. */
#ifndef CT_TEST_TIMELINE_UTIL_H
#define CT_TEST_TIMELINE_UTIL_H

#include "invariance.h"

#include <carat_generate.h>

/* Bytes of one snapshot at most. */
UNUSED static size_t snapshot_size(const carat_model *model, const carat_engine_options *o)
{
    carat_plan plan = {.size = sizeof plan};
    OK(carat_plan_engine(model, o, &plan, err));
    return plan.snapshot_least;
}

UNUSED static carat_session_stats stats_of(const carat_session *s)
{
    carat_session_stats stats;
    carat_session_stats_default(&stats);
    OK(carat_session_get_stats(s, &stats, err));
    return stats;
}

UNUSED static void check_stats(const carat_session *s, int kept, int restored_from, int reevaluated)
{
    carat_session_stats stats = stats_of(s);
    assert_int_equal(stats.kept, kept);
    assert_int_equal(stats.restored_from, restored_from);
    assert_int_equal(stats.reevaluated, reevaluated);
}

/* The logits after the tokens that s holds, which are the first of b. */
UNUSED static void check_logits(const carat_session *s, const struct baseline *b, int n_vocab,
                                const char *what)
{
    int n = carat_tokens_held(s, NULL);
    expect_same(carat_logits(s), row_of(b, n - 1, n_vocab), (size_t)n_vocab, what, n - 1);
}

#endif
