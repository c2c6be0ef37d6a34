/* SPDX-License-Identifier: Apache-2.0 */
/* quality_face.c: the functions of carat_quality.h: NULL is refused here, check/ does the rest. */
#include "check/bisect.h"
#include "check/quality.h"

carat_status carat_difference_of(const float *ref, const float *test, int n,
                                 const carat_difference_options *options, carat_difference *difference,
                                 carat_error *err)
{
    return ct_difference_of(ref, test, n, options, difference, err);
}

carat_status carat_summarise(const double *values, const int64_t *counts, int n_prompts,
                             carat_summary *summary, carat_error *err)
{
    return ct_summarise(values, counts, n_prompts, summary, err);
}

carat_status carat_repetition_of(const int32_t *ids, int n, carat_repetition *repetition, carat_error *err)
{
    return ct_repetition_of(ids, n, repetition, err);
}

const char *carat_health_name(carat_health health)
{
    return ct_health_name(health);
}

void carat_get_quality_limits(carat_quality_limits *limits)
{
    const carat_quality_limits full = ct_quality_limits();

    (void)ct_give_struct(limits, &full, sizeof full, "carat_quality_limits", NULL);
}

carat_status carat_judge(const carat_quality *quality, const carat_quality_limits *limits,
                         carat_judgement *judgement, carat_error *err)
{
    CT_GIVEN(quality, err);
    return ct_judge(quality, limits, judgement, err);
}

const char *carat_driver_name(carat_driver driver)
{
    return ct_driver_name(driver);
}

carat_status carat_compare(carat_engine *ref, carat_engine *test, const carat_compare_prompt *prompt,
                           const carat_compare_options *options, carat_error *err)
{
    CT_GIVEN(test, err);
    CT_GIVEN(prompt, err);
    return ct_compare(ref, test, prompt, options, err);
}

carat_status carat_score_with(carat_session *session, const int32_t *ids, int n, double *logprob,
                              const carat_score_options *options, carat_error *err)
{
    carat_score_options o = {0};

    if (!ids || n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "ids is NULL, or n = %d is below 1", n);
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_score_options", err));
    CT_TRY(ct_check_range("n_top", o.n_top, 0, CARAT_MOST_LOGPROBS, err));
    if (o.n_top && !o.top)
        return ct_fail(err, CARAT_E_ARGUMENT, "top is NULL and n_top is %d", o.n_top);
    CT_TRY(ct_session_claim(session, err));
    return ct_session_release(session, ct_score_ids(session, ids, n, logprob, &o, err));
}

carat_status carat_score(carat_session *session, const int32_t *ids, int n, double *logprob, carat_error *err)
{
    CT_GIVEN(logprob, err);
    return carat_score_with(session, ids, n, logprob, NULL, err);
}

carat_status carat_bisect(carat_engine *ref, carat_engine *test, const int32_t *tokens, int n,
                          const carat_bisect_options *options, carat_operation_error *first, carat_error *err)
{
    CT_GIVEN(ref, err);
    CT_GIVEN(test, err);
    CT_GIVEN(tokens, err);
    return ct_bisect(ref, test, tokens, n, options, first, err);
}

int carat_bisect_rows(const carat_engine *ref, const carat_engine *test, int n, int rows,
                      int32_t position[CARAT_MOST_BISECT_ROWS])
{
    return ref && test && position ? ct_bisect_rows(ref, test, n, rows, position) : 0;
}
