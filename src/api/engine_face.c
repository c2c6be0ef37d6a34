/* SPDX-License-Identifier: Apache-2.0 */
/* engine_face.c: the functions of the public headers on engines, sessions and the machine: arguments are
 * checked here, engine/ and machine/ do the work. */
#include "api/sizes.h"
#include "engine/engine.h"
#include "kernel/level.h"
#include "quant/kv_type.h"
#include "machine/machine.h"

#include <stdlib.h>

/* Options of a caller, complete; *head is theirs. */
static carat_status take_options(carat_engine_options *o, carat_head_options *head,
                                 const carat_engine_options *given, carat_error *err)
{
    *o = (carat_engine_options){.size = sizeof *o};
    *head = (carat_head_options){.size = sizeof *head};
    CT_TRY(ct_take_struct(o, sizeof *o, given, "carat_engine_options", err));
    CT_TRY(ct_take_struct(head, sizeof *head, o->head, "carat_head_options", err));
    o->head = head;
    return CARAT_OK;
}

carat_status carat_plan_engine(const carat_model *model, const carat_engine_options *options,
                               carat_plan *plan, carat_error *err)
{
    carat_engine_options o;
    carat_head_options head;
    carat_plan full;

    CT_TRY(take_options(&o, &head, options, err));
    CT_TRY(ct_check_struct(plan, sizeof full, "carat_plan", err));
    CT_TRY(ct_plan_engine(model, &o, &full, err));
    ct_give_struct(plan, &full);
    return CARAT_OK;
}

carat_status carat_fit_engine(const carat_model *model, carat_engine_options *options, size_t bytes,
                              carat_error *err)
{
    carat_engine_options o, given = {.size = sizeof given};
    carat_head_options head;

    CT_GIVEN(options, err);
    CT_TRY(take_options(&o, &head, options, err));
    CT_TRY(ct_fit_engine(model, &o, bytes, err));
    CT_TRY(ct_take_struct(&given, sizeof given, options, "carat_engine_options", err));
    o.head = given.head;
    ct_give_struct(options, &o);
    return CARAT_OK;
}

carat_status carat_engine_create(carat_engine **engine, const carat_model *model,
                                 const carat_engine_options *options, carat_error *err)
{
    carat_engine_options o;
    carat_head_options head;
    carat_costs costs = {.size = sizeof costs};

    CT_GIVEN(engine, err);
    CT_TRY(take_options(&o, &head, options, err));
    CT_TRY(ct_take_struct(&costs, sizeof costs, o.costs, "carat_costs", err));
    o.costs = &costs;
    return ct_engine_create(engine, model, &o, err);
}

void carat_engine_close(carat_engine *engine)
{
    if (engine)
        ct_engine_close(engine);
}

int carat_engine_context(const carat_engine *engine)
{
    return engine ? engine->plan.context : 0;
}

carat_status carat_session_create(carat_session **session, carat_engine *engine,
                                  const carat_session_options *options, carat_error *err)
{
    carat_session_options o = {.size = sizeof o};

    CT_GIVEN(session, err);
    CT_GIVEN(engine, err);
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_session_options", err));
    carat_sampling sampling = engine->model->sampling;
    carat_chain chain;
    CT_TRY(ct_take_sampling(&sampling, &chain, o.sampling, err));
    if (o.sampling)
        o.sampling = &sampling;
    return ct_session_create(session, engine, &o, err);
}

void carat_session_close(carat_session *session)
{
    if (session)
        ct_session_close(session);
}

carat_status carat_sync(carat_session *session, const int32_t *tokens, int n, int *reused, carat_error *err)
{
    if (!session || !tokens || n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "session or tokens is NULL, or n = %d is below 1", n);
    return ct_sync(session, tokens, n, reused, err);
}

carat_status carat_append(carat_session *session, const int32_t *tokens, int n, carat_error *err)
{
    carat_row row = {.session = session, .tokens = tokens, .n = n};

    CT_GIVEN(session, err);
    return ct_step(session->engine, &row, 1, err);
}

carat_status carat_step(carat_engine *engine, carat_row *rows, size_t row_size, int n, carat_error *err)
{
    const void *all;
    void *copy;

    if (!engine || !rows || n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "engine or rows is NULL, or n = %d is below 1", n);
    CT_TRY(ct_take_array(&all, &copy, rows, row_size, n, sizeof *rows, "carat_row", err));
    carat_status status = ct_step(engine, copy ? copy : rows, n, err);
    free(copy);
    return status;
}

int carat_tokens_held(const carat_session *session, const int32_t **tokens)
{
    if (session)
        return ct_session_tokens(session, tokens);
    if (tokens)
        *tokens = NULL;
    return 0;
}

carat_status carat_rewind(carat_session *session, int n, carat_error *err)
{
    CT_GIVEN(session, err);
    return ct_rewind(session, n, err);
}

carat_status carat_fork(carat_session *from, int n, carat_session **session, carat_error *err)
{
    CT_GIVEN(from, err);
    CT_GIVEN(session, err);
    return ct_fork(from, n, session, err);
}

carat_status carat_reserve(carat_session *session, int positions, carat_error *err)
{
    CT_GIVEN(session, err);
    return ct_reserve(session, positions, err);
}

void carat_cancel(carat_session *session)
{
    if (session)
        ct_cancel(session);
}

carat_status carat_engine_use(carat_engine *engine, carat_use *use, carat_error *err)
{
    carat_use full = {.size = sizeof full};

    CT_GIVEN(engine, err);
    CT_TRY(ct_check_struct(use, sizeof full, "carat_use", err));
    ct_engine_use(engine, &full);
    ct_give_struct(use, &full);
    return CARAT_OK;
}

const float *carat_logits(const carat_session *session)
{
    return session ? ct_session_logits(session) : NULL;
}

carat_status carat_sample(carat_session *session, const carat_sampling *sampling, int32_t *id,
                          carat_error *err)
{
    CT_GIVEN(session, err);
    CT_GIVEN(id, err);
    carat_sampling o = session->engine->model->sampling;
    carat_chain chain;
    CT_TRY(ct_take_sampling(&o, &chain, sampling, err));
    return ct_sample(session, &o, id, err);
}

size_t carat_stream_text(carat_session *session, int32_t id, char *out, size_t capacity)
{
    if (!session || !out || !capacity)
        return 0;
    out[0] = 0;
    return ct_stream_text(session, id, out, capacity);
}

void carat_profile_begin(carat_engine *engine)
{
    if (engine)
        ct_profile_begin(engine);
}

carat_status carat_profile_end(carat_engine *engine, carat_profile *profile, carat_error *err)
{
    carat_profile full;

    CT_GIVEN(engine, err);
    CT_TRY(ct_check_struct(profile, sizeof full, "carat_profile", err));
    CT_TRY(ct_profile_end(engine, &full, err));
    ct_give_struct(profile, &full);
    return CARAT_OK;
}

carat_status carat_tap_begin(carat_engine *engine, carat_tap_callback callback, void *user, carat_error *err)
{
    CT_GIVEN(engine, err);
    CT_GIVEN(callback, err);
    return ct_tap_begin(engine, callback, user, err);
}

void carat_tap_end(carat_engine *engine)
{
    if (engine)
        ct_tap_end(engine);
}

int carat_tap_name(const carat_engine *engine, int i, char name[32])
{
    return engine && name ? ct_tap_name(engine, i, name) : 0;
}

const char *carat_kv_name(carat_kv kv)
{
    return ct_kv_name(kv);
}

const char *carat_isa_name(int i)
{
    return ct_isa_name(i);
}

const char *carat_isa_needs(int i)
{
    return ct_isa_needs(i);
}

carat_status carat_get_host(carat_host_info *info, carat_error *err)
{
    carat_host_info full;

    CT_TRY(ct_check_struct(info, sizeof full, "carat_host_info", err));
    ct_get_host(&full);
    ct_give_struct(info, &full);
    return CARAT_OK;
}

carat_status carat_measure_limits(int threads, const char *isa, carat_progress progress, void *user,
                                  carat_limits *limits, carat_error *err)
{
    carat_limits full;

    CT_TRY(ct_check_struct(limits, sizeof full, "carat_limits", err));
    CT_TRY(ct_measure_limits(threads, isa, progress, user, &full, err));
    ct_give_struct(limits, &full);
    return CARAT_OK;
}
