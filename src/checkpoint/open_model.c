/* SPDX-License-Identifier: Apache-2.0 */
/* open_model.c: opening a checkpoint: the steps after the container, and the way through the cache of packed models. Reading files
 * is file/'s business, what they mean model/'s and text/'s; the facts are told by model.c. */
#include "checkpoint/packed_cache.h"

#include "file/sbs.h"
#include "os/clock.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- opening: the steps after the container, in order; on failure the caller closes the model. The config comes first:
 * a model that carat does not run is to be called by its name before its tokenizer is found odd. ---- */

static bool wants_weights(const carat_model *m, const carat_model_options *o)
{
    return ct_file_kind(m->file) != CT_FILE_TOKENIZER && !o->tokenizer_only;
}

/* What opening reports: the steps below, and before them the container. */
enum { BEFORE_TOKENIZER = 2, ALL_STEPS = 5 };

static carat_status load_tokenizer(carat_model *m, const carat_model_options *o, carat_error *err)
{
    carat_error found;
    if (o->tokenizer)
        CT_TRY(ct_file_open(&m->tokenizer_file, o->tokenizer, true, err));
    struct ct_listener listener = {o->progress, o->user, BEFORE_TOKENIZER, ALL_STEPS};
    carat_status status =
        ct_tokenizer_open_for(&m->tokenizer, o->tokenizer ? m->tokenizer_file : m->file, &listener, &found);

    if (status == CARAT_E_NOT_FOUND && wants_weights(m, o) && !o->tokenizer) {
        const char *by_ids = ct_file_sbs(m->file)
                                 ? "the model has no tokenizer: it works by ids only; put its tokenizer.spm "
                                   "beside the file, or name it as the tokenizer"
                                 : "the model has no tokenizer: it works by ids only";
        if (o->needs_tokenizer)
            return ct_fail(err, status, "%s: %s", ct_file_path(m->file), by_ids);
        if (o->log)
            o->log(o->user, by_ids);
        return CARAT_OK;
    }
    return status ? ct_fail(err, status, "%s", found.message) : CARAT_OK;
}

static carat_status load_config(carat_model *m, const carat_model_options *o, carat_error *err)
{
    if (o->log && ct_file_note(m->file))
        o->log(o->user, ct_file_note(m->file));
    return wants_weights(m, o) ? ct_config_read(&m->config, m->file, err) : CARAT_OK;
}

static carat_status load_weights(carat_model *m, const carat_model_options *o, carat_error *err)
{
    if (!wants_weights(m, o))
        return CARAT_OK;
    CT_TRY(ct_weights_bind(&m->weights, &m->config, m->file, &m->arena, err));
    m->has_weights = true;
    const struct ct_weights *w = &m->weights;
    char line[256];
    if (m->config.multimodal)
        snprintf(line, sizeof line, "a multimodal checkpoint: only its text tower is used");
    else if (w->n_unused > 0)
        snprintf(line, sizeof line, "%d tensor%s in the file %s no part of the model: %s%s", w->n_unused,
                 w->n_unused == 1 ? "" : "s", w->n_unused == 1 ? "is" : "are", w->unused,
                 w->n_unused == 1 ? "" : ", ...");
    else
        return CARAT_OK;
    if (o->log)
        o->log(o->user, line);
    return CARAT_OK;
}

static carat_status load_defaults(carat_model *m, const carat_model_options *o, carat_error *err)
{
    (void)o;
    const char *architecture = m->has_weights ? m->config.architecture : "";
    int n_vocab = m->has_weights ? m->config.n_vocab : ct_tokenizer_size(m->tokenizer);
    const struct ct_meta *name = ct_file_meta(m->file, "general.name");
    const struct ct_sbs_config *sbs = ct_file_sbs(m->file);
    if (sbs)
        m->name = sbs->display_name; /* lives as long as the file */
    if (name && name->type == CT_META_STRING && !(m->name = ct_arena_str(&m->arena, name->s.s, name->s.n)))
        return ct_fail(err, CARAT_E_MEMORY, "%s: out of memory", ct_file_path(m->file));
    char note[CT_CHAT_NOTE];
    struct ct_chat_found found;
    CT_TRY(ct_chat_detect(m->file, architecture, &found, note, err));
    m->chat = found.chat;
    m->chat_altered = found.altered;
    m->chat_origin = found.origin;
    if (*note && o->log)
        o->log(o->user, note);
    CT_TRY(ct_sampling_defaults(&m->sampling, m->file, err));
    CT_TRY(ct_stop_ids(m->file, m->tokenizer, architecture, m->chat, n_vocab, m->stop, CT_MAX_STOP,
                       &m->n_stop, err));
    return ct_banned_ids(m->file, m->tokenizer, n_vocab, m->banned, CT_MAX_BANNED, &m->n_banned, err);
}

static const struct step {
    carat_status (*run)(carat_model *, const carat_model_options *, carat_error *);
    size_t seconds; /* where in carat_load_times its time goes */
} steps[] = {
    {load_config, offsetof(carat_load_times, parse)},
    {load_tokenizer, offsetof(carat_load_times, tokenizer)},
    {load_weights, offsetof(carat_load_times, parse)},
    {load_defaults, offsetof(carat_load_times, parse)},
};

static carat_status report(const carat_model_options *o, size_t done, carat_error *err)
{
    const size_t total = ALL_STEPS;
    static_assert(ALL_STEPS == 1 + CT_COUNT(steps), "the container is the first");

    if (!o->progress || !o->progress(o->user, done, total))
        return CARAT_OK;
    return ct_fail(err, CARAT_E_CANCELLED, "opening the model was cancelled after %zu of %zu steps", done,
                   total);
}

/* began: when the container was asked for. */
static carat_status load(carat_model *m, const carat_model_options *o, double began, carat_error *err)
{
    m->setup.open = ct_os_seconds() - began;
    CT_TRY(report(o, 1, err));
    for (size_t i = 0; i < CT_COUNT(steps); i++) {
        double start = ct_os_seconds();
        CT_TRY(steps[i].run(m, o, err));
        *(double *)(void *)((char *)&m->setup + steps[i].seconds) += ct_os_seconds() - start;
        CT_TRY(report(o, 2 + i, err));
    }
    m->file_bytes = ct_file_bytes(m->file); /* now: the list of buffers in memory is the caller's */
    m->setup.packed = m->has_weights && ct_file_is_packed(m->file);
    return CARAT_OK;
}

static const carat_model_options default_options = CARAT_MODEL_OPTIONS;

/* What opening has filled so far, but for the time it took. */
static void empty(carat_model *m)
{
    carat_load_times setup = m->setup;

    if (m->store)
        ct_store_read_no_more(m->store);
    ct_tokenizer_free(m->tokenizer);
    ct_file_close(m->tokenizer_file);
    ct_arena_free(&m->arena);
    ct_file_close(m->file);
    *m = (carat_model){.setup = setup, .store = m->store};
}

static carat_status open_origin(carat_model *m, const char *path, const carat_model_options *o,
                                carat_error *err)
{
    double began = ct_os_seconds();

    CT_TRY(ct_file_open(&m->file, path, o->tokenizer_only != 0, err));
    ct_store_read_ahead(m->store, m->file);
    return load(m, o, began, err);
}

/* Packs the open model and puts what was made in its place. */
static carat_status pack(carat_model *m, const char *path, const carat_model_options *o, carat_error *err)
{
    carat_model_options quiet = *o;
    struct ct_file *made = NULL;
    double began = ct_os_seconds();
    carat_error found;

    CT_TRY(ct_store_keep(m->store, m, path, &made, err));
    m->setup.cache_needs = m->store->needs;
    m->setup.pack = ct_os_seconds() - began;
    if (!made)
        return CARAT_OK;
    empty(m);
    m->file = made;
    quiet.log = NULL; /* it was all said */
    quiet.progress = NULL;
    if (load(m, &quiet, ct_os_seconds(), &found) != CARAT_OK) {
        ct_store_reject(m->store);
        empty(m);
        return open_origin(m, path, &quiet, err);
    }
    m->setup.made = 1;
    return CARAT_OK;
}

/* The packed form if there is one that can be used, else the origin, which is packed if that may be. */
static carat_status open_through_cache(carat_model *m, const char *path, const carat_model_options *o,
                                       carat_error *err)
{
    bool packs = !o->tokenizer_only && !o->tokenizer, claimed = false;
    double began = ct_os_seconds();
    struct ct_file *other = NULL;

    bool found = ct_store_find(m->store, path, &m->file);
    CT_TRY(ct_store_go_on(m->store, path, err));
    if (!found && packs)
        CT_TRY(ct_store_claim(m->store, path, &m->file, &claimed, err));
    m->setup.map = ct_os_seconds() - began;
    if (m->file) {
        carat_status status = load(m, o, ct_os_seconds(), err);
        if (!status || status == CARAT_E_MEMORY || status == CARAT_E_CANCELLED)
            return status;
        empty(m);
        CT_TRY(open_origin(m, path, o, err)); /* which may be at fault itself */
        ct_store_reject(m->store);
        if (packs)
            CT_TRY(ct_store_claim(m->store, path, &other, &claimed, err));
        ct_file_close(other); /* next time */
    } else {
        CT_TRY(open_origin(m, path, o, err));
    }
    return claimed && m->has_weights && !ct_file_is_packed(m->file) ? pack(m, path, o, err) : CARAT_OK;
}

carat_status carat_model_open(carat_model **model, const char *path, const carat_model_options *options,
                              carat_error *err)
{
    const carat_model_options *o = options ? options : &default_options;
    carat_model *m = NULL;
    char *at = NULL;
    carat_status status;

    if (!model || !path)
        return ct_fail(err, CARAT_E_ARGUMENT, "%s is NULL", model ? "path" : "model");
    CT_TRY(ct_check_size(o->size, sizeof *o, "carat_model_options", err));
    CT_TRY(report(o, 0, err));
    CT_TRY(ct_file_resolve(&at, path, o->tokenizer_only != 0, err));
    m = calloc(1, sizeof *m);
    struct ct_store *store = m ? calloc(1, sizeof *store) : NULL;
    if (!store) {
        free(m);
        free(at);
        return ct_fail(err, CARAT_E_MEMORY, "%s: out of memory", path);
    }
    m->store = store;
    if (ct_store_begin(m->store, at, o))
        status = open_through_cache(m, at, o, err);
    else
        status = open_origin(m, at, o, err);
    free(at);
    if (status) {
        carat_model_close(m);
        return status;
    }
    ct_store_say(m->store);
    *model = m;
    return CARAT_OK;
}

carat_status carat_model_open_memory(carat_model **model, const carat_buffer *buffers, int n,
                                     const carat_model_options *options, carat_error *err)
{
    const carat_model_options *o = options ? options : &default_options;
    carat_model *m = NULL;
    struct ct_part *part = NULL;
    double began = ct_os_seconds();
    carat_status status;

    if (!model || !buffers || n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "model or buffers is NULL, or n = %d is below 1", n);
    CT_TRY(ct_check_size(o->size, sizeof *o, "carat_model_options", err));
    for (int i = 0; i < n; i++)
        if (!buffers[i].name || !buffers[i].data)
            return ct_fail(err, CARAT_E_ARGUMENT, "buffer %d has no name or no data", i);
    CT_TRY(report(o, 0, err));
    m = calloc(1, sizeof *m);
    part = calloc((size_t)n, sizeof *part);
    if (!m || !part) {
        status = ct_fail(err, CARAT_E_MEMORY, "out of memory for %d buffers", n);
        goto fail;
    }
    for (int i = 0; i < n; i++)
        part[i] = (struct ct_part){buffers[i].name, {buffers[i].data, buffers[i].size}};
    status = ct_file_open_memory(&m->file, part, n, err);
    if (!status)
        status = load(m, o, began, err);
    if (status)
        goto fail;
    free(part);
    *model = m;
    return CARAT_OK;
fail:
    free(part);
    carat_model_close(m);
    return status;
}

void carat_model_close(carat_model *model)
{
    if (!model)
        return;
    empty(model);
    if (model->store)
        ct_store_end(model->store);
    free(model->store);
    free(model);
}

bool ct_model_reads(const struct carat_model *m, const char *path)
{
    return ct_file_reads(m->file, path) || (m->tokenizer_file && ct_file_reads(m->tokenizer_file, path));
}
