/* SPDX-License-Identifier: Apache-2.0 */
/* difference.c: the numbers of a pair of rows as carat_quality.h gives them: columns become ids. How they are
 * computed is metrics.c's. */
#include "check/quality.h"

#include <math.h>

#include "os/fp_environment.h"
#include "quant/logits.h"

static int32_t id_of(const int32_t *id, int column)
{
    return id ? id[column] : column;
}

void ct_difference(carat_difference *d, const struct ct_score_pair *pair, const int32_t *id, double near_tie)
{
    *d = (carat_difference){.size = sizeof *d,
                            .kl = pair->kl,
                            .kl_reverse = pair->kl_reverse,
                            .correlation = pair->correlation,
                            .cosine = pair->cosine,
                            .entropy_ref = pair->entropy_ref,
                            .entropy_test = pair->entropy_test,
                            .top_ref = id_of(id, pair->best_ref),
                            .top_test = id_of(id, pair->best_test),
                            .match = pair->best_ref == pair->best_test,
                            .margin_ref = pair->margin_ref,
                            .margin_test = pair->margin_test,
                            .near_tie = pair->margin_ref < near_tie,
                            .overlap = pair->overlap,
                            .largest = pair->largest,
                            .logprob_ref = pair->logprob_ref,
                            .logprob_test = pair->logprob_test,
                            .delta_p = pair->delta_p,
                            .outside = pair->outside};
}

static carat_status check_columns(const int32_t *ids, int n, carat_error *err)
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
    carat_difference_options o = {0};
    carat_difference d;
    struct ct_score_pair pair;

    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_difference_options", err));
    CT_TRY(ct_check_struct(difference, sizeof d, "carat_difference", err));
    if (!ref || !test)
        return ct_fail(err, CARAT_E_ARGUMENT, "ref or test is NULL");
    if (n < 2 || o.top < 0 || o.top > CT_SCORE_TOP || isnan(o.near_tie))
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "n = %d logits, top = %d, near_tie = %g; expected at least 2, 0 to %d, a number", n,
                       o.top, o.near_tie, CT_SCORE_TOP);
    if (o.ids)
        CT_TRY(check_columns(o.ids, n, err));
    if (o.has_next && (o.next < 0 || (!o.ids && o.next >= n)))
        return ct_fail(err, CARAT_E_ARGUMENT, "next = %d is not an id of %d logits", o.next, n);
    const int next =
        o.has_next ? ct_logits_place(&(struct ct_logits){.id = o.ids, .n = n}, o.next) : CT_SCORE_NO_NEXT;
    ct_fpenv saved = ct_os_fp_enter();
    ct_score()->pair(&pair, ref, test, n, next, o.top ? o.top : CT_DEFAULT_TOP);
    ct_os_fp_leave(saved);
    if (pair.wrong)
        return ct_fail(err, CARAT_E_NUMERIC, "the logits of %s hold %g for id %d",
                       pair.wrong == CT_SCORE_REF ? "ref" : "test",
                       (pair.wrong == CT_SCORE_REF ? ref : test)[pair.wrong_column],
                       id_of(o.ids, pair.wrong_column));
    ct_difference(&d, &pair, o.ids, o.near_tie != 0 ? o.near_tie : CT_DEFAULT_NEAR_TIE);
    d.compared = n;
    return ct_give_struct(difference, &d, sizeof d, "carat_difference", err);
}
