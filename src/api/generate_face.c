/* SPDX-License-Identifier: Apache-2.0 */
/* generate_face.c: the functions of carat_generate.h: arguments are checked here, engine/ does the work. */
#include "api/sizes.h"
#include "engine/generate.h"
#include "engine/sample/chain.h"

carat_status carat_save(carat_session *session, const char *path, const void *note, size_t n_note,
                        carat_error *err)
{
    if (!session || !path || (n_note && !note))
        return ct_fail(err, CARAT_E_ARGUMENT, "session or path is NULL, or a note of %zu bytes", n_note);
    return ct_save(session, path, note, n_note, err);
}

carat_status carat_load(carat_session *session, const char *path, char **note, size_t *n_note,
                        carat_error *err)
{
    if (!session || !path)
        return ct_fail(err, CARAT_E_ARGUMENT, "session or path is NULL");
    return ct_load(session, path, note, n_note, err);
}

carat_status carat_load_note(const char *path, char **note, size_t *n_note, carat_error *err)
{
    if (!path || !note)
        return ct_fail(err, CARAT_E_ARGUMENT, "path or note is NULL");
    return ct_load_note(path, note, n_note, err);
}

carat_status carat_mark(carat_session *session, carat_error *err)
{
    CT_GIVEN(session, err);
    return ct_mark(session, err);
}

carat_status carat_session_get_stats(const carat_session *session, carat_session_stats *stats,
                                     carat_error *err)
{
    carat_session_stats full;

    CT_GIVEN(session, err);
    CT_TRY(ct_check_struct(stats, sizeof full, "carat_session_stats", err));
    CT_TRY(ct_session_stats(session, &full, err));
    ct_give_struct(stats, &full);
    return CARAT_OK;
}

carat_status carat_generation_create(carat_generation **generation, carat_session *session,
                                     const carat_generation_options *options, carat_error *err)
{
    carat_generation_options o = {.size = sizeof o};

    CT_GIVEN(generation, err);
    CT_GIVEN(session, err);
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_generation_options", err));
    carat_sampling sampling = session->engine->model->sampling;
    carat_chain chain;
    CT_TRY(ct_take_sampling(&sampling, &chain, o.sampling, err));
    o.sampling = &sampling;
    return ct_generation_create(generation, session, &o, err);
}

void carat_generation_close(carat_generation *generation)
{
    if (generation)
        ct_generation_close(generation);
}

carat_status carat_generation_step(carat_engine *engine, carat_generation *const *generations, int n,
                                   carat_error *err)
{
    if (!engine || !generations || n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "engine or generations is NULL, or n = %d is below 1", n);
    return ct_generation_step(engine, generations, n, err);
}

size_t carat_generation_rest(carat_generation *generation, char *out, size_t capacity)
{
    if (!generation || !out || !capacity)
        return 0;
    out[0] = 0;
    return ct_generation_rest(generation, out, capacity);
}

carat_status carat_generate(carat_generation *generation, carat_error *err)
{
    CT_GIVEN(generation, err);
    return ct_generate(generation, err);
}

carat_status carat_generation_get_info(const carat_generation *generation, carat_generation_info *info,
                                       carat_error *err)
{
    carat_generation_info full;

    CT_GIVEN(generation, err);
    CT_TRY(ct_check_struct(info, sizeof full, "carat_generation_info", err));
    CT_TRY(ct_generation_info(generation, &full, err));
    ct_give_struct(info, &full);
    return CARAT_OK;
}

const char *carat_reason_name(carat_reason reason)
{
    return ct_reason_name(reason);
}

carat_status carat_engine_get_stats(carat_engine *engine, carat_engine_stats *stats, carat_error *err)
{
    carat_engine_stats full;

    CT_GIVEN(engine, err);
    CT_TRY(ct_check_struct(stats, sizeof full, "carat_engine_stats", err));
    ct_engine_stats(engine, &full);
    ct_give_struct(stats, &full);
    return CARAT_OK;
}

carat_status carat_engine_get_costs(carat_engine *engine, carat_costs *costs, carat_error *err)
{
    carat_costs full;

    CT_GIVEN(engine, err);
    CT_TRY(ct_check_struct(costs, sizeof full, "carat_costs", err));
    ct_engine_costs(engine, &full);
    ct_give_struct(costs, &full);
    return CARAT_OK;
}

carat_status carat_explain(const carat_engine *engine, carat_explain_line line, void *user, carat_error *err)
{
    CT_GIVEN(engine, err);
    CT_GIVEN(line, err);
    return ct_explain(engine, line, user, err);
}

const char *carat_head_name(carat_head head)
{
    return ct_head_name(head);
}

carat_status carat_engine_get_head(carat_engine *engine, carat_head_stats *stats, carat_error *err)
{
    carat_head_stats full;

    CT_GIVEN(engine, err);
    CT_TRY(ct_check_struct(stats, sizeof full, "carat_head_stats", err));
    ct_engine_head(engine, &full);
    ct_give_struct(stats, &full);
    return CARAT_OK;
}

carat_status carat_top(carat_session *session, int k, carat_candidate *out, carat_error *err)
{
    CT_GIVEN(session, err);
    CT_GIVEN(out, err);
    return ct_top(session, k, out, err);
}

const char *carat_link_name(carat_link link)
{
    return ct_link_name(link);
}
