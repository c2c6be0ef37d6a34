/* SPDX-License-Identifier: Apache-2.0 */
/* constrain_face.c: the functions of carat_constrain.h: arguments are checked here. Forms and matchers are
 * engine/constraint.c's. */
#include "engine/constraint.h"
#include "engine/generate.h"

carat_status carat_constraint_create(carat_constraint **constraint, const carat_model *model,
                                     const carat_constraint_options *options, carat_error *err)
{
    CT_GIVEN(constraint, err);
    CT_GIVEN(model, err);
    CT_GIVEN(options, err);
    return ct_constraint_create(constraint, model, options, err);
}

void carat_constraint_close(carat_constraint *constraint)
{
    ct_constraint_close(constraint);
}

carat_status carat_constraint_get_info(carat_constraint *constraint, carat_constraint_info *info,
                                       carat_error *err)
{
    CT_GIVEN(constraint, err);
    return ct_constraint_info(constraint, info, err);
}

carat_status carat_matcher_create(carat_matcher **matcher, carat_constraint *constraint, carat_error *err)
{
    CT_GIVEN(matcher, err);
    CT_GIVEN(constraint, err);
    return ct_matcher_create(matcher, constraint, err);
}

carat_status carat_matcher_copy(carat_matcher **matcher, const carat_matcher *from, carat_error *err)
{
    CT_GIVEN(matcher, err);
    CT_GIVEN(from, err);
    return ct_matcher_copy(matcher, from, err);
}

void carat_matcher_close(carat_matcher *matcher)
{
    ct_matcher_close(matcher);
}

/* 0 stands for any number in the public functions. */
static int left_of(int left)
{
    return left > 0 ? left : CT_ANY_NUMBER;
}

carat_status carat_matcher_accept(carat_matcher *matcher, int32_t id, carat_error *err)
{
    CT_GIVEN(matcher, err);
    if (ct_matcher_fits(matcher, id, CT_ANY_NUMBER) != CT_FITS)
        return ct_fail(err, CARAT_E_CONSTRAINT, "the form of the answer does not go on with id %d", (int)id);
    ct_matcher_accept(matcher, id);
    return CARAT_OK;
}

int carat_matcher_allows(const carat_matcher *matcher, int32_t id, int left)
{
    return matcher && ct_matcher_fits(matcher, id, left_of(left)) == CT_FITS;
}

const uint64_t *carat_matcher_mask(carat_matcher *matcher, int left)
{
    return matcher ? ct_matcher_mask(matcher, left_of(left)) : NULL;
}

int carat_matcher_draft(const carat_matcher *matcher, int32_t *ids, int k)
{
    return matcher && ids && k > 0 ? ct_matcher_draft(matcher, ids, k) : 0;
}

int carat_matcher_complete(const carat_matcher *matcher)
{
    return matcher && ct_matcher_complete(matcher);
}

int carat_matcher_shortest(const carat_matcher *matcher)
{
    return matcher ? ct_matcher_shortest(matcher) : 0;
}

carat_status carat_generation_get_matcher(const carat_generation *generation, carat_matcher **matcher,
                                          carat_error *err)
{
    carat_matcher *copy = NULL;

    CT_GIVEN(generation, err);
    CT_GIVEN(matcher, err);
    CT_TRY(ct_session_claim(generation->session, err));
    carat_status status =
        generation->form.given ? ct_matcher_copy(&copy, generation->form.given, err) : CARAT_OK;
    if (!status)
        *matcher = copy;
    return ct_session_release(generation->session, status);
}
