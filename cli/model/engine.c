/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c: turns options into an engine, with a bar while it takes the weights, and evaluates ids in it. */
#include "model/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "carat_tools.h"
#include "model/head.h"
#include "term/message.h"
#include "term/progress.h"

bool rounds_activations(const struct options *o)
{
    return strstr(o->engine->activations, "16") != NULL;
}

/* A device that fails says so in the log of the head. */
static void choose_device(carat_engine_options *e, const char *device)
{
    static carat_head_options logged; /* until an engine or a plan has read it */

    if (!device || strcmp(device, "cpu") == 0 || strcmp(device, "none") == 0) /* as llama.cpp spells it */
        return;
    e->device = device;
    if (e->head)
        return;
    carat_head_options_default(&logged);
    logged.log = note_line;
    e->head = &logged;
}

void engine_options(carat_engine_options *e, const struct options *o)
{
    carat_engine_options_default(e);
    e->threads = o->engine->threads;
    e->context = o->engine->context;
    e->chunk = o->engine->chunk;
    e->layers = o->engine->max_layers;
    e->snapshot_bytes = o->engine->snapshots;
    e->exact = o->engine->exact || strcmp(o->engine->arith, "exact") == 0;
    e->fast8 = strcmp(o->engine->arith, "fast8") == 0;
    e->tensor = strcmp(o->engine->arith, "tensor") == 0;
    e->isa = o->engine->isa;
    e->activations_f16 = rounds_activations(o);
    e->ple_resident = strcmp(o->engine->ple, "resident") == 0;
    e->head = head_asked(o);
    choose_device(e, o->engine->device);
    /* the option table allows names of types only */
    for (int kv = 1; o->engine->kv && carat_kv_name((carat_kv)kv); kv++)
        if (strcmp(o->engine->kv, carat_kv_name((carat_kv)kv)) == 0)
            e->kv = (carat_kv)kv;
}

int create_engine(carat_engine **engine, const carat_model *model, const carat_engine_options *options)
{
    carat_engine_options watched = *options;
    struct progress bar;
    carat_error err;

    progress_begin(&bar, "loading", "MB");
    bar.scale = KIB_IN_MB;
    watched.progress = progress_update;
    watched.user = &bar;
    carat_status status = carat_engine_create(engine, model, &watched, &err);
    progress_end(&bar);
    return status == CARAT_OK ? DONE : fail_status(&err);
}

static int pass_over(void *user, int token, const float *logits)
{
    (void)user;
    (void)token;
    (void)logits;
    return 0;
}

int create_session(carat_session **session, carat_engine *engine, carat_progress watch, void *user)
{
    carat_session_options options;
    carat_error err;

    carat_session_options_default(&options);
    options.watch = watch;
    options.user = user;
    return carat_session_create(session, engine, &options, &err) == CARAT_OK ? DONE : fail_status(&err);
}

int evaluate_ids(carat_engine *engine, carat_session *session, const int32_t *ids, int n, bool logits)
{
    carat_row row = {.session = session,
                     .tokens = ids,
                     .n = n,
                     .wants = logits ? CARAT_WANTS_ALL : CARAT_WANTS_NONE,
                     .deliver = logits ? pass_over : NULL};
    carat_error err;

    return n == 0 || carat_step(engine, &row, sizeof row, 1, &err) == CARAT_OK ? DONE : fail_status(&err);
}

/* Keeps the table of layer inputs in memory where there is room for it. */
static void fit_table(carat_engine_options *e, const carat_model *model, const struct options *o)
{
    carat_engine_options resident = *e;
    carat_plan plan = {.size = sizeof plan};

    resident.ple_resident = 1;
    resident.max_bytes = (size_t)o->engine->memory;
    if (strcmp(o->engine->ple, "auto") == 0 && carat_plan_engine(model, &resident, &plan, NULL) == CARAT_OK)
        e->ple_resident = 1;
}

/* -ngl: the last layers are on the GPU. */
static int place_layers(carat_engine_options *e, int n_layer, const struct options *o)
{
    const char *asked = o->engine->gpu_layers, *words = " all auto -1 ";
    char *end, word[16];

    if (!asked)
        return DONE;
    snprintf(word, sizeof word, " %.12s ", asked);
    const long n = strstr(words, word) ? n_layer : strtol(asked, &end, 10);
    if (!strstr(words, word) && (end == asked || *end || n < 0))
        return fail(USAGE, "-ngl is \"%s\", expected a number of layers, or all", asked);
    if (!e->device) {
        note("ignored: -ngl, since --device is cpu");
    } else if (n > n_layer) {
        note("-ngl is %ld: all %d layers of the model are on the GPU", n, n_layer);
    } else if (n == 0) {
        e->device = NULL;
    } else if (n < n_layer) {
        e->gpu_layers = (int)n;
    }
    return DONE;
}

int fit_engine(carat_engine_options *e, const carat_model *model, const struct options *o)
{
    const carat_kv asked = e->kv;
    carat_model_info info = {.size = sizeof info};
    carat_error err;

    if (carat_model_get_info(model, &info, &err) != CARAT_OK)
        return fail_status(&err);
    if (o->engine->max_layers > info.n_layer)
        return fail(USAGE, "--max-layers is %d, expected 1 to %d, the layers of the model",
                    o->engine->max_layers, info.n_layer);
    TRY(place_layers(e, e->layers ? e->layers : info.n_layer, o));
    if (e->fast8)
        note("--arith fast8: weights of BF16, F16 and F32 become Q8_0, so this is another model than the "
             "file's");
    if (o->engine->memory == NO_SIZE || o->engine->memory == 0)
        return DONE;
    if (carat_fit_engine(model, e, (size_t)o->engine->memory, &err) != CARAT_OK)
        return fail_status(&err);
    fit_table(e, model, o);
    if (e->kv == CARAT_KV_Q8 && (o->verbose || asked == CARAT_KV_DEFAULT))
        note("--memory leaves room for a context of %d with a %s cache", e->context, carat_kv_name(e->kv));
    else if (o->verbose)
        note("--memory leaves room for a context of %d", e->context);
    return DONE;
}

int choose_snapshots(carat_engine_options *e, const carat_model *model)
{
    enum { WANTED = 8, MOST = 64 << 20 };
    carat_plan plan;
    carat_plan_default(&plan);
    carat_error err;

    if (carat_plan_engine(model, e, &plan, &err) != CARAT_OK)
        return fail_status(&err);
    size_t n = plan.snapshot_least ? MOST / plan.snapshot_least : 0;
    e->snapshot_bytes = plan.snapshot_least * (n > WANTED ? WANTED : n < 1 ? 1 : n);
    return DONE;
}
