/* SPDX-License-Identifier: Apache-2.0 */
/* quality_face.c: the functions of carat_quality.h: arguments are checked here, check/ does the work. */
#include "api/sizes.h"
#include "carat_quality.h"
#include "check/statistics.h"

carat_status carat_summarise(const double *values, const int64_t *counts, int n_prompts,
                             carat_summary *summary, carat_error *err)
{
    carat_summary full = {.size = sizeof full};
    int64_t n = 0;

    CT_TRY(ct_check_struct(summary, sizeof full, "carat_summary", err));
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
    ct_give_struct(summary, &full);
    return CARAT_OK;
}

carat_status carat_repetition_of(const int32_t *ids, int n, carat_repetition *repetition, carat_error *err)
{
    carat_repetition full = {.size = sizeof full};

    CT_TRY(ct_check_struct(repetition, sizeof full, "carat_repetition", err));
    if (n < 0 || (n && !ids))
        return ct_fail(err, CARAT_E_ARGUMENT, "ids is NULL, or n = %d is negative", n);
    CT_TRY(ct_repetition_of(ids, n, &full, err));
    ct_give_struct(repetition, &full);
    return CARAT_OK;
}
