/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c: carat_verify: the checks of a model as a table, run in order. Each check of more than a few lines
 * has a file of its own, verify_<name>.c; what they call is in verify_report.c. */
#include "check/verify.h"
#include "base/arguments.h"
#include "checkpoint/content.h"

#include <stdlib.h>

#include "kernel/level.h"
#include "os/cgroup.h"
#include "os/clock.h"

enum { MOST_THREADS = 256 };

/* ---- checks that only look at what opening has found ---- */

static carat_status check_content(struct ct_verify *v, int *verdict, carat_error *err)
{
    const char *kept = ct_content_kept(v->model);
    bool same = !kept || strcmp(kept, v->content) == 0;

    (void)err;
    *verdict = same ? CT_PASSED : CT_FAILED;
    if (same)
        ct_verify_say(v, "XXH3-128 %s over the configuration, and type, shape and bytes of %.2f M weights",
                      v->content, (double)v->model->weights.n_parameter / 1e6);
    else
        ct_verify_say(v, "XXH3-128 %s, but the packed file says %.32s", v->content, kept);
    return CARAT_OK;
}

static carat_status check_chat(struct ct_verify *v, int *verdict, carat_error *err)
{
    const struct carat_model *m = v->model;
    char quoted[CT_QUOTE];

    (void)err;
    if (m->chat_altered)
        ct_verify_say(v,
                      "altered: the template is none of the published ones that carat knows, and the "
                      "built-in %s is used in its place",
                      ct_chat_name(m->chat));
    else
        ct_verify_say(v, m->chat == CT_CHAT_NONE ? "no chat template that carat knows" : "template %s",
                      ct_chat_name(m->chat));
    if (*m->chat_origin)
        ct_verify_say(v, ", %s", m->chat_origin);
    ct_verify_say(v, m->n_stop ? "; generation ends at" : "; no token ends generation");
    for (int i = 0; i < m->n_stop; i++) {
        ct_verify_say(v, "%s %d", i ? "," : "", (int)m->stop[i]);
        if (m->tokenizer)
            ct_verify_say(v, " %s", ct_quote(quoted, ct_tokenizer_piece(m->tokenizer, m->stop[i])));
    }
    if (m->chat != CT_CHAT_NONE && m->n_stop)
        *verdict = m->chat_altered ? CT_OTHERWISE : CT_PASSED;
    return CARAT_OK;
}

/* A check needs this, and a model may lack it. */
enum need { NOTHING, WEIGHTS, TOKENIZER, PACKED };

/* Names in words what the model lacks of that; NULL: nothing. */
static const char *lack_of(const struct carat_model *m, enum need need)
{
    return need == WEIGHTS && !m->has_weights                                  ? "only a tokenizer was opened"
           : need == TOKENIZER && !m->tokenizer                                ? "the model has no tokenizer"
           : need == PACKED && !(m->has_weights && ct_file_is_packed(m->file)) ? "no packed form is in use"
                                                                               : NULL;
}

static const struct entry {
    const char *name;
    ct_check *run;
    enum need need;
    size_t share; /* of the progress */
} entries[] = {
    {"packed", ct_verify_packed, PACKED, 300},
    {"values", ct_verify_values, WEIGHTS, 800},
    {"content", check_content, WEIGHTS, 0},
    {"shapes", ct_verify_shapes, WEIGHTS, 0},
    {"tokenizer", ct_verify_tokenizer, TOKENIZER, 50},
    {"vocabulary", ct_verify_vocabulary, TOKENIZER, 0},
    {"chat", check_chat, NOTHING, 0},
    {"kernels", ct_verify_kernels, WEIGHTS, 150},
};

/* ---- running them ---- */

/* only: the one check that runs; NULL: all do. */
static carat_status run_checks(struct ct_verify *v, ct_check *only, carat_verdict *result, carat_error *err)
{
    for (size_t i = 0; i < CT_COUNT(entries); i++)
        if ((!only || entries[i].run == only) && !lack_of(v->model, entries[i].need))
            v->total += entries[i].share;
    for (size_t i = 0; i < CT_COUNT(entries); i++) {
        const struct entry *e = &entries[i];
        const char *lack = lack_of(v->model, e->need);
        double began = ct_os_seconds();
        int verdict = CT_NOTHING;
        if (only && e->run != only)
            continue;
        *v->detail = 0;
        if (lack) {
            ct_verify_say(v, "%s", lack);
        } else {
            v->share = e->share;
            CT_TRY(e->run(v, &verdict, err));
            CT_TRY(ct_verify_step(v, 1, 1, err));
            v->done += v->share;
        }
        result->passed += verdict == CT_PASSED;
        result->failed += verdict == CT_FAILED;
        carat_check check = {sizeof check, e->name, verdict, v->detail, ct_os_seconds() - began};
        if (v->o->report && v->o->report(v->o->user, &check))
            return ct_verify_cancelled(err);
    }
    memcpy(result->content, v->content, sizeof result->content);
    return CARAT_OK;
}

static carat_status prepare_checks(struct ct_verify *v, carat_error *err)
{
    struct ct_cpu cpu;
    int threads = v->o->threads;

    if (threads < 0 || threads > MOST_THREADS)
        return ct_fail(err, CARAT_E_ARGUMENT, "threads is %d, expected 0 to %d", threads, MOST_THREADS);
    ct_cpu_detect(&cpu);
    if (!ct_kernel_choose(&v->kernel, &cpu, v->o->isa))
        return ct_fail(err, CARAT_E_ARGUMENT, "isa is \"%s\"; there are %s", v->o->isa,
                       ct_level_names().text);
    CT_TRY(ct_pool_create(&v->pool, threads ? threads : ct_os_cpus(), err));
    ct_pool_watch(v->pool, v->o->progress ? ct_verify_ask : NULL, v);
    return CARAT_OK;
}

static carat_status verify_with(const carat_model *model, const carat_verify_options *o, ct_check *only,
                                carat_verdict *verdict, carat_error *err)
{
    carat_verdict result = {.size = sizeof result};

    struct ct_verify *v = calloc(1, sizeof *v);
    if (!v)
        return ct_no_memory(err, "verifying");
    v->model = model;
    v->o = o;
    carat_status status = prepare_checks(v, err);
    if (!status)
        status = run_checks(v, only, &result, err);
    ct_pool_destroy(v->pool);
    free(v);
    if (!status)
        *verdict = result;
    return status;
}

static carat_status verify_model(const carat_model *model, const carat_verify_options *o,
                                 carat_verdict *verdict, carat_error *err)
{
    return verify_with(model, o, NULL, verdict, err);
}

carat_status carat_verify(const carat_model *model, const carat_verify_options *options,
                          carat_verdict *verdict, carat_error *err)
{
    carat_verify_options o = {.size = sizeof o};
    carat_verdict full;

    CT_GIVEN(model, err);
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_verify_options", err));
    CT_TRY(ct_check_struct(verdict, sizeof full, "carat_verdict", err));
    CT_TRY(verify_model(model, &o, &full, err));
    return ct_give_struct(verdict, &full, sizeof full, "carat_verdict", err);
}

static carat_status content_of(const carat_model *model, const carat_verify_options *o, char content[33],
                               carat_error *err)
{
    carat_verdict verdict;

    if (!model->has_weights)
        return ct_fail(err, CARAT_E_ARGUMENT, "the model was opened as a tokenizer only");
    const char *kept = ct_content_kept(model);
    if (kept) {
        snprintf(content, sizeof verdict.content, "%s", kept);
        return CARAT_OK;
    }
    CT_TRY(verify_with(model, o, ct_verify_values, &verdict, err));
    memcpy(content, verdict.content, sizeof verdict.content);
    return CARAT_OK;
}

carat_status carat_model_content(const carat_model *model, carat_progress progress, void *user,
                                 char content[33], carat_error *err)
{
    CT_GIVEN(model, err);
    CT_GIVEN(content, err);
    return content_of(model, &(carat_verify_options){.progress = progress, .user = user}, content, err);
}
