/* SPDX-License-Identifier: Apache-2.0 */
/* quality_face.c: the functions of carat_quality.h: arguments are checked here, check/ does the work. */
#include "base/sizes.h"
#include "carat_quality.h"
#include "check/bisect.h"
#include "check/quality.h"

#include <math.h>

static carat_status check_ids(const int32_t *ids, int n, carat_error *err)
{
    for (int i = 0; i < n; i++)
        if (ids[i] < 0 || (i && ids[i] <= ids[i - 1]))
            return ct_fail(err, CARAT_E_ARGUMENT,
                           "ids[%d] = %d is negative or does not ascend from %d before it", i, ids[i],
                           i ? ids[i - 1] : -1);
    return CARAT_OK;
}

carat_status carat_difference_of(const float *ref, const float *test, int n,
                                 const carat_difference_options *options, carat_difference *difference,
                                 carat_error *err)
{
    carat_difference_options o = {.size = sizeof o};
    carat_difference full = {.size = sizeof full};

    CT_GIVEN(ref, err);
    CT_GIVEN(test, err);
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_difference_options", err));
    if (n < 2)
        return ct_fail(err, CARAT_E_ARGUMENT, "n = %d logits, expected at least 2", n);
    if (o.top < 0 || o.top > CT_SCORE_TOP)
        return ct_fail(err, CARAT_E_ARGUMENT, "top = %d, expected 0 to %d", o.top, CT_SCORE_TOP);
    if (isnan(o.near_tie))
        return ct_fail(err, CARAT_E_ARGUMENT, "near_tie is not a number");
    if (o.ids)
        CT_TRY(check_ids(o.ids, n, err));
    if (o.has_next && (o.next < 0 || (!o.ids && o.next >= n)))
        return ct_fail(err, CARAT_E_ARGUMENT, "next = %d is not an id of %d logits", o.next, n);
    CT_TRY(ct_difference_of(ref, test, n, &o, &full, err));
    return ct_give_struct(difference, &full, sizeof full, "carat_difference", err);
}

carat_status carat_summarise(const double *values, const int64_t *counts, int n_prompts,
                             carat_summary *summary, carat_error *err)
{
    carat_summary full = {.size = sizeof full};
    int64_t n = 0;

    if (n_prompts < 0 || (n_prompts && !counts))
        return ct_fail(err, CARAT_E_ARGUMENT, "counts is NULL, or n_prompts = %d is negative", n_prompts);
    for (int i = 0; i < n_prompts; i++) {
        if (counts[i] < 0 || counts[i] > INT64_MAX / (int64_t)sizeof *values - n)
            return ct_fail(err, CARAT_E_ARGUMENT, "counts[%d] = %lld is negative or too large", i,
                           (long long)counts[i]);
        n += counts[i];
    }
    if (n && !values)
        return ct_fail(err, CARAT_E_ARGUMENT, "values is NULL, with %lld of them counted", (long long)n);
    CT_TRY(ct_summarise(values, counts, n_prompts, &full, err));
    return ct_give_struct(summary, &full, sizeof full, "carat_summary", err);
}

carat_status carat_repetition_of(const int32_t *ids, int n, carat_repetition *repetition, carat_error *err)
{
    carat_repetition full = {.size = sizeof full};

    if (n < 0 || (n && !ids))
        return ct_fail(err, CARAT_E_ARGUMENT, "ids is NULL, or n = %d is negative", n);
    CT_TRY(ct_repetition_of(ids, n, &full, err));
    return ct_give_struct(repetition, &full, sizeof full, "carat_repetition", err);
}

const char *carat_health_name(carat_health health)
{
    return ct_health_name(health);
}

void carat_get_quality_limits(carat_quality_limits *limits)
{
    carat_quality_limits full;

    ct_quality_limits(&full);
    (void)ct_give_struct(limits, &full, sizeof full, "carat_quality_limits", NULL);
}

carat_status carat_judge(const carat_quality *quality, const carat_quality_limits *limits,
                         carat_judgement *judgement, carat_error *err)
{
    carat_quality q = {.size = sizeof q};
    carat_quality_limits l;
    carat_judgement full;

    CT_GIVEN(quality, err);
    CT_TRY(ct_take_struct(&q, sizeof q, quality, "carat_quality", err));
    ct_quality_limits(&l);
    CT_TRY(ct_take_struct(&l, sizeof l, limits, "carat_quality_limits", err));
    CT_TRY(ct_judge(&q, &l, &full, err));
    return ct_give_struct(judgement, &full, sizeof full, "carat_judgement", err);
}

const char *carat_driver_name(carat_driver driver)
{
    return ct_driver_name(driver);
}

carat_status carat_compare(carat_engine *ref, carat_engine *test, const carat_compare_prompt *prompt,
                           const carat_compare_options *options, carat_error *err)
{
    carat_compare_prompt p = {.size = sizeof p};
    carat_compare_options o = {.size = sizeof o};

    CT_GIVEN(test, err);
    CT_GIVEN(prompt, err);
    CT_TRY(ct_take_struct(&p, sizeof p, prompt, "carat_compare_prompt", err));
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_compare_options", err));
    if (!*ct_driver_name(o.driver))
        return ct_fail(err, CARAT_E_ARGUMENT, "driver is %d, which is not a carat_driver", (int)o.driver);
    if (o.max_tokens < 0 || o.parallel < 0 || o.top < 0 || o.top > CT_SCORE_TOP || isnan(o.near_tie))
        return ct_fail(
            err, CARAT_E_ARGUMENT,
            "max_tokens is %d, parallel %d, top %d, near_tie %g; expected numbers from 0 on, top up to %d",
            o.max_tokens, o.parallel, o.top, o.near_tie, CT_SCORE_TOP);
    o.parallel = o.parallel ? o.parallel : 1;
    o.top = o.top ? o.top : CT_DEFAULT_TOP;
    o.near_tie = o.near_tie != 0 ? o.near_tie : CT_DEFAULT_NEAR_TIE;
    return ct_compare(ref, test, &p, &o, err);
}

carat_status carat_score(carat_session *session, const int32_t *ids, int n, double *logprob, carat_error *err)
{
    if (!ids || !logprob || n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "ids or logprob is NULL, or n = %d is below 1", n);
    CT_TRY(ct_session_claim(session, err));
    return ct_session_release(session, ct_score_ids(session, ids, n, logprob, err));
}

carat_status carat_bisect(carat_engine *ref, carat_engine *test, const int32_t *tokens, int n,
                          const carat_bisect_options *options, carat_operation_error *first, carat_error *err)
{
    carat_bisect_options o = {.size = sizeof o};
    carat_operation_error full = {.size = sizeof full};

    CT_GIVEN(ref, err);
    CT_GIVEN(test, err);
    CT_GIVEN(tokens, err);
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_bisect_options", err));
    CT_TRY(ct_check_struct(first, sizeof full, "carat_operation_error", err));
    if (ref == test)
        return ct_fail(err, CARAT_E_ARGUMENT, "ref and test are the same engine, expected two");
    if (n < 2)
        return ct_fail(err, CARAT_E_ARGUMENT, "n is %d, expected at least 2 tokens", n);
    if (o.rows < 0 || o.rows > CARAT_MOST_BISECT_ROWS)
        return ct_fail(err, CARAT_E_ARGUMENT, "rows is %d, expected 0 to %d", o.rows, CARAT_MOST_BISECT_ROWS);
    if (o.rows == 0)
        o.rows = CT_BISECT_ROWS;
    if (o.bytes == 0)
        o.bytes = CT_BISECT_BYTES;
    CT_TRY(ct_bisect(ref, test, tokens, n, &o, &full, err));
    return ct_give_struct(first, &full, sizeof full, "carat_operation_error", err);
}

int carat_bisect_rows(const carat_engine *ref, const carat_engine *test, int n, int rows,
                      int32_t position[CARAT_MOST_BISECT_ROWS])
{
    if (!ref || !test || !position || n < 2 || rows < 0 || rows > CARAT_MOST_BISECT_ROWS)
        return 0;
    return ct_bisect_rows(ref, test, n, rows ? rows : CT_BISECT_ROWS, position);
}
