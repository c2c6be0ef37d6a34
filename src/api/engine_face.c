/* SPDX-License-Identifier: Apache-2.0 */
/* engine_face.c: the functions of the public headers on engines, sessions, generations and the machine. NULL
 * is refused here, and a call let into its session; engine/ and machine/ do the work. */
#include "engine/generate.h"
#include "engine/sample/chain.h"
#include "kernel/level.h"
#include "machine/machine.h"
#include "quant/kv_type.h"

#include <inttypes.h>
#include <stdlib.h>

carat_status carat_plan_engine(const carat_model *model, const carat_engine_options *options,
                               carat_plan *plan, carat_error *err)
{
    return ct_plan_engine(model, options, plan, err);
}

carat_status carat_fit_engine(const carat_model *model, carat_engine_options *options, size_t bytes,
                              carat_error *err)
{
    CT_GIVEN(options, err);
    return ct_fit_engine(model, options, bytes, err);
}

carat_status carat_engine_create(carat_engine **engine, const carat_model *model,
                                 const carat_engine_options *options, carat_error *err)
{
    CT_GIVEN(engine, err);
    return ct_engine_create(engine, model, options, err);
}

void carat_engine_close(carat_engine *engine)
{
    ct_engine_close(engine);
}

int carat_engine_context(const carat_engine *engine)
{
    return engine ? engine->plan.context : 0;
}

carat_status carat_session_create(carat_session **session, carat_engine *engine,
                                  const carat_session_options *options, carat_error *err)
{
    CT_GIVEN(session, err);
    CT_GIVEN(engine, err);
    return ct_session_create(session, engine, options, err);
}

void carat_session_close(carat_session *session)
{
    ct_session_close(session);
}

carat_status carat_sync(carat_session *session, const int32_t *tokens, int n, int *reused, carat_error *err)
{
    if (!tokens || n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "tokens is NULL, or n = %d is below 1", n);
    CT_TRY(ct_session_claim(session, err));
    return ct_session_release(session, ct_sync(session, tokens, n, reused, err));
}

carat_status carat_append(carat_session *session, const int32_t *tokens, int n, carat_error *err)
{
    CT_GIVEN(session, err);
    return ct_step(session->engine, &(carat_row){.session = session, .tokens = tokens, .n = n}, 1, err);
}

carat_status carat_step(carat_engine *engine, carat_row *rows, size_t row_size, int n, carat_error *err)
{
    void *copy;

    if (!engine || !rows || n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "engine or rows is NULL, or n = %d is below 1", n);
    CT_TRY(ct_take_array(&copy, rows, row_size, n, sizeof *rows, "carat_row", err));
    carat_status status = ct_step(engine, copy ? copy : rows, n, err);
    free(copy);
    return status;
}

int carat_tokens_held(const carat_session *session, const int32_t **tokens)
{
    return ct_session_tokens(session, tokens);
}

carat_status carat_rewind(carat_session *session, int n, carat_error *err)
{
    CT_TRY(ct_session_claim(session, err));
    return ct_session_release(session, ct_rewind(session, n, err));
}

carat_status carat_fork(carat_session *from, int n, carat_session **session, carat_error *err)
{
    CT_GIVEN(session, err);
    CT_TRY(ct_session_claim(from, err));
    return ct_session_release(from, ct_fork(from, n, session, err));
}

carat_status carat_reserve(carat_session *session, int positions, carat_error *err)
{
    CT_TRY(ct_session_claim(session, err));
    return ct_session_release(session, ct_reserve(session, positions, err));
}

void carat_cancel(carat_session *session)
{
    if (session)
        atomic_store(&session->cancel, true);
}

carat_status carat_find_prefix(carat_engine *engine, uint64_t owner, const int32_t *ids, int n,
                               carat_prefix *prefix, int32_t *next, int most, carat_error *err)
{
    carat_prefix full = {.size = sizeof full};

    CT_GIVEN(engine, err);
    CT_GIVEN(ids, err);
    CT_TRY(ct_check_struct(prefix, sizeof full, "carat_prefix", err));
    if (owner == 0 || n < 1 || most < 0 || (most > 0 && !next))
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "owner is %" PRIu64 ", n %d, most %d, expected an owner, at least one id and room for "
                       "those that follow",
                       owner, n, most);
    ct_find_prefix(engine, owner, ids, n, &full, next, most);
    return ct_give_struct(prefix, &full, sizeof full, "carat_prefix", err);
}

carat_status carat_engine_use(carat_engine *engine, carat_use *use, carat_error *err)
{
    CT_GIVEN(engine, err);
    return ct_engine_use(engine, use, err);
}

const float *carat_logits(const carat_session *session)
{
    return ct_session_logits(session);
}

carat_status carat_sample(carat_session *session, const carat_sampling *sampling, int32_t *id,
                          carat_error *err)
{
    CT_GIVEN(id, err);
    CT_TRY(ct_session_claim(session, err));
    return ct_session_release(session, ct_sample(session, sampling, id, err));
}

size_t carat_stream_text(carat_session *session, int32_t id, char *out, size_t capacity)
{
    return ct_stream_text(session, id, out, capacity);
}

void carat_profile_begin(carat_engine *engine)
{
    if (engine)
        ct_profile_begin(engine);
}

carat_status carat_profile_end(carat_engine *engine, carat_profile *profile, carat_error *err)
{
    CT_GIVEN(engine, err);
    return ct_profile_end(engine, profile, err);
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

    ct_get_host(&full);
    return ct_give_struct(info, &full, sizeof full, "carat_host_info", err);
}

carat_status carat_measure_limits(int threads, const char *isa, carat_progress progress, void *user,
                                  carat_limits *limits, carat_error *err)
{
    carat_limits full;

    CT_TRY(ct_check_struct(limits, sizeof full, "carat_limits", err));
    CT_TRY(ct_measure_limits(threads, isa, progress, user, &full, err));
    return ct_give_struct(limits, &full, sizeof full, "carat_limits", err);
}

const char *carat_gpu_kernels(void)
{
    return ct_cuda_kernels();
}

carat_status carat_get_device(const char *name, int measure, carat_device *device, carat_error *err)
{
    carat_device full;

    CT_GIVEN(name, err);
    CT_TRY(ct_check_struct(device, sizeof full, "carat_device", err));
    CT_TRY(ct_cuda_describe(name, measure != 0, &full, err));
    return ct_give_struct(device, &full, sizeof full, "carat_device", err);
}

carat_status carat_save(carat_session *session, const char *path, const void *note, size_t n_note,
                        carat_error *err)
{
    if (!path || (n_note && !note))
        return ct_fail(err, CARAT_E_ARGUMENT, "path is NULL, or a note of %zu bytes", n_note);
    CT_TRY(ct_session_claim(session, err));
    return ct_session_release(session, ct_save(session, path, note, n_note, err));
}

carat_status carat_load(carat_session *session, const char *path, char **note, size_t *n_note,
                        carat_error *err)
{
    CT_GIVEN(path, err);
    CT_TRY(ct_session_claim(session, err));
    return ct_session_release(session, ct_load(session, path, note, n_note, err));
}

carat_status carat_load_note(const char *path, char **note, size_t *n_note, carat_error *err)
{
    CT_GIVEN(path, err);
    CT_GIVEN(note, err);
    return ct_load_note(path, note, n_note, err);
}

carat_status carat_mark(carat_session *session, carat_error *err)
{
    CT_TRY(ct_session_claim(session, err));
    ct_mark(session);
    return ct_session_release(session, CARAT_OK);
}

carat_status carat_session_get_stats(const carat_session *session, carat_session_stats *stats,
                                     carat_error *err)
{
    CT_TRY(ct_session_claim(session, err));
    return ct_session_release(session, ct_session_stats(session, stats, err));
}

carat_status carat_generation_create(carat_generation **generation, carat_session *session,
                                     const carat_generation_options *options, carat_error *err)
{
    CT_GIVEN(generation, err);
    CT_GIVEN(session, err);
    return ct_generation_create(generation, session, options, err);
}

void carat_generation_close(carat_generation *generation)
{
    ct_generation_close(generation);
}

carat_status carat_generation_prompt(carat_generation *generation, const carat_prompt *prompt, int *reused,
                                     carat_error *err)
{
    CT_GIVEN(generation, err);
    CT_GIVEN(prompt, err);
    return ct_generation_prompt(generation, prompt, reused, err);
}

carat_status carat_generation_pass(carat_engine *engine, carat_generation *const *generations, int n,
                                   int piece, carat_error *err)
{
    if (!engine || !generations || n < 1 || piece < 0)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "engine or generations is NULL, n = %d is below 1, or piece = %d below 0", n, piece);
    return ct_generation_pass(engine, generations, n, piece, err);
}

carat_status carat_generation_step(carat_engine *engine, carat_generation *const *generations, int n,
                                   carat_error *err)
{
    return carat_generation_pass(engine, generations, n, engine ? engine->plan.chunk : 0, err);
}

size_t carat_generation_rest(carat_generation *generation, char *out, size_t capacity)
{
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
    CT_GIVEN(generation, err);
    return ct_generation_info(generation, info, err);
}

const char *carat_reason_name(carat_reason reason)
{
    return ct_reason_name(reason);
}

carat_status carat_engine_get_stats(carat_engine *engine, carat_engine_stats *stats, carat_error *err)
{
    CT_GIVEN(engine, err);
    return ct_engine_stats(engine, stats, err);
}

carat_status carat_engine_get_costs(carat_engine *engine, carat_costs *costs, carat_error *err)
{
    CT_GIVEN(engine, err);
    return ct_engine_costs(engine, costs, err);
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
    CT_GIVEN(engine, err);
    return ct_engine_head(engine, stats, err);
}

carat_status carat_top(carat_session *session, int k, carat_candidate *out, carat_error *err)
{
    CT_GIVEN(out, err);
    CT_TRY(ct_session_claim(session, err));
    return ct_session_release(session, ct_top(session, k, out, err));
}

const char *carat_link_name(carat_link link)
{
    return ct_link_name(link);
}
