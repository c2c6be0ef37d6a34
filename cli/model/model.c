/* SPDX-License-Identifier: Apache-2.0 */
/* model.c: turns options into an open model and engine options, with the bars while loading and a word about
 * files that shrink while they are mapped. */
#define _POSIX_C_SOURCE 200809L
#include "model/model.h"

#include <string.h>

#include "io/stdin.h"
#include "model/cache_place.h"
#include "model/embed.h"
#include "model/head.h"
#include "options/names.h"
#include "options/written.h"
#include "term/exit.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/progress.h"

enum { MOST_EMBEDDED = 16 };

const char *model_name(const char *path)
{
    const char *name = path;

    for (const char *p = path; *p; p++) {
        if (p[0] == '/' && p[1] && p[1] != '/')
            name = p + 1;
    }
    return name;
}

static carat_status open_embedded(carat_model **model, const carat_model_options *options, carat_error *err)
{
    carat_buffer files[MOST_EMBEDDED];
    int n = embedded_tiny_count < MOST_EMBEDDED ? embedded_tiny_count : MOST_EMBEDDED;

    for (int i = 0; i < n; i++) {
        const struct embedded *e = &embedded_tiny[i];
        files[i] = (carat_buffer){e->name, e->begin, (size_t)(e->end - e->begin)};
    }
    return carat_model_open_memory(model, files, sizeof(carat_buffer), n, options, err);
}

/* From now on it is the packed file that may be cut short, not the model that it was made from. */
static void name_mapped(const carat_model *model)
{
    carat_model_info info = {.size = sizeof info};

    if (carat_model_get_info(model, &info, NULL) == CARAT_OK && *info.packed_path)
        interrupt_on_fault(info.packed_path);
}

/* Behind the library's line, which knows no options. */
static void note_cache_size(const carat_model *model)
{
    carat_load_times setup = {.size = sizeof setup};

    if (carat_model_get_load_times(model, &setup, NULL) == CARAT_OK && setup.cache_needs)
        note("--cache-size %lluM keeps it, and the next start is faster",
             (unsigned long long)((setup.cache_needs + ((1 << 20) - 1)) >> 20));
}

static int open_with(carat_model **model, const struct options *o, bool tokenizer_only, bool packs)
{
    carat_model_options options;
    carat_model_options_default(&options);
    struct cache_place cache;
    struct progress bar;
    carat_error err;
    carat_status status;
    int code;

    if ((code = check_named_files(o)) != DONE)
        return code;
    if (strcmp(o->model, "tiny") != 0 && strcmp(o->model, "-") != 0 &&
        (code = explain_missing(o->model)) != DONE)
        return code;
    progress_begin(&bar, "loading", NULL);
    options.log = note_line;
    options.progress = progress_opening;
    options.user = &bar;
    options.tokenizer_only = tokenizer_only;
    options.tokenizer = o->tokenizer;
    options.needs_tokenizer = o->verb == PERPLEXITY || o->verb == EVAL ||
                              ((o->verb == RUN || o->verb == CHAT || o->verb == LOGITS) && !o->ids);
    if (!o->no_cache) {
        cache_find(&cache);
        options.cache = *cache.path ? cache.path : NULL;
        options.cache_bytes = o->cache_size;
        options.cache_read_only = !packs;
    }
    if (strcmp(o->model, "tiny") == 0) {
        status = open_embedded(model, &options, &err);
    } else if (strcmp(o->model, "-") == 0) {
        interrupt_on_fault("standard input");
        status = open_stdin(model, &options, &err);
    } else {
        interrupt_on_fault(o->model);
        status = carat_model_open(model, o->model, &options, &err);
    }
    progress_end(&bar);
    if (status != CARAT_OK)
        return fail_open(&err);
    name_mapped(*model);
    if (packs)
        note_cache_size(*model);
    return check_spares_model(o, *model);
}

int open_model(carat_model **model, const struct options *o, bool tokenizer_only)
{
    return open_with(model, o, tokenizer_only, false);
}

int open_packed(carat_model **model, const struct options *o)
{
    return open_with(model, o, false, true);
}

void engine_options(carat_engine_options *e, const struct options *o)
{
    carat_engine_options_default(e);
    e->threads = o->threads;
    e->context = o->context;
    e->chunk = o->chunk;
    e->layers = o->max_layers;
    e->snapshot_bytes = o->snapshots;
    e->exact = o->exact;
    e->isa = o->isa;
    e->head = head_options(o);
    /* the option table allows names of types only */
    for (int kv = 1; o->kv && carat_kv_name((carat_kv)kv); kv++)
        if (strcmp(o->kv, carat_kv_name((carat_kv)kv)) == 0)
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

int fit_engine(carat_engine_options *e, const carat_model *model, const struct options *o)
{
    const carat_kv asked = e->kv;
    carat_model_info info = {.size = sizeof info};
    carat_error err;

    if (carat_model_get_info(model, &info, &err) != CARAT_OK)
        return fail_status(&err);
    if (o->max_layers > info.n_layer)
        return fail(USAGE, "--max-layers is %d, expected 1 to %d, the layers of the model", o->max_layers,
                    info.n_layer);
    if (o->memory == NO_SIZE || o->memory == 0)
        return DONE;
    if (carat_fit_engine(model, e, (size_t)o->memory, &err) != CARAT_OK)
        return fail_status(&err);
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
