/* SPDX-License-Identifier: Apache-2.0 */
/* open_model.c: opening a checkpoint: the container, then configuration, tokenizer, weights and defaults, and
 * the way through the cache of packed models. Reading files is src/file's business, what they mean
 * src/model's and src/text's. */
#include "checkpoint/packed_cache.h"
#include "base/arguments.h"

#include "base/utf8.h"
#include "file/sbs.h"
#include "model/config_drafter.h"
#include "model/family.h"
#include "os/clock.h"
#include "text/tokenizer/alike.h"

#include <stdlib.h>

/* ---- the steps of opening ---- */

static bool wants_weights(const carat_model *m, const carat_model_options *o)
{
    return ct_file_kind(m->file) != CT_FILE_TOKENIZER && !o->tokenizer_only;
}

/* As they are reported; the first is the container. */
enum { BEFORE_TOKENIZER = 2, ALL_STEPS = 5 };

static carat_status load_tokenizer(carat_model *m, const carat_model_options *o, carat_error *err)
{
    carat_error found;
    if (m->beside)
        return CARAT_OK;
    if (o->tokenizer)
        CT_TRY(ct_file_open(&m->tokenizer_file, o->tokenizer, true, err));
    struct ct_listener listener = {o->progress, o->user, BEFORE_TOKENIZER, ALL_STEPS};
    carat_status status =
        ct_tokenizer_open(&m->tokenizer, o->tokenizer ? m->tokenizer_file : m->file, &listener, &found);

    if (status == CARAT_E_NOT_FOUND && m->drafts)
        return CARAT_OK;
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
    if (!wants_weights(m, o))
        return CARAT_OK;
    if (m->beside)
        return ct_drafter_config_beside(&m->config, &m->beside->config, m->file, err);
    if (!m->drafts && !o->drafter_alone)
        CT_TRY(ct_drafter_refuse(m->file, err));
    CT_TRY(ct_config_read(&m->config, m->file, err));
    if (o->log && m->config.made_global)
        o->log(o->user, "config.json says that the last layer is local; as in the reference, it is global");
    return CARAT_OK;
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

/* Rows of the table of a directory that is opened only for its tokenizer, as its config.json says; 0: it says
 * nothing that is understood. */
static int rows_beside(const struct ct_file *f)
{
    const struct ct_json_value *root = NULL, *text;
    int64_t rows = 0;

    if (ct_file_json(f, "config.json", "config.json", &root, NULL) != CARAT_OK || !root)
        return 0;
    text = ct_json_get(root, "text_config");
    const bool read = ct_json_integer(ct_json_get(text ? text : root, "vocab_size"), &rows);
    return read && rows > 0 && rows <= INT32_MAX ? (int)rows : 0;
}

/* Added tokens without a row stand for what this model does not read. */
static carat_status fit_tokenizer(carat_model *m, const carat_model_options *o, carat_error *err)
{
    char first[64], line[256];
    int n = 0;

    if (!m->tokenizer)
        return CARAT_OK;
    const int rows = m->has_weights ? m->config.n_vocab : o->tokenizer ? 0 : rows_beside(m->file);
    if (rows == 0)
        return CARAT_OK;
    const struct ct_str text = ct_tokenizer_piece(m->tokenizer, rows);
    snprintf(first, sizeof first, "%.*s", (int)ct_utf8_cut(text.s, text.n, sizeof first - 1), text.s);
    CT_TRY(ct_tokenizer_leave_out(m->tokenizer, rows, &n, err));
    snprintf(line, sizeof line,
             "%d added token%s, %s%s = %d, lie%s beyond the %d rows of the table: left out", n,
             n == 1 ? "" : "s", n == 1 ? "" : "from ", first, rows, n == 1 ? "s" : "", rows);
    if (n && o->log)
        o->log(o->user, line);
    return CARAT_OK;
}

static carat_status load_defaults(carat_model *m, const carat_model_options *o, carat_error *err)
{
    const char *architecture = m->has_weights ? m->config.architecture : "";
    int n_vocab = m->has_weights ? m->config.n_vocab : ct_tokenizer_size(m->tokenizer);
    const struct ct_meta *name = ct_file_meta(m->file, "general.name");
    const struct ct_sbs_config *sbs = ct_file_sbs(m->file);
    bool named = sbs || (name && name->type == CT_META_STRING);
    struct ct_str text = sbs     ? (struct ct_str){sbs->display_name, strlen(sbs->display_name)}
                         : named ? name->s
                                 : (struct ct_str){0};
    if (named && !(m->name = ct_arena_str(&m->arena, text.s, text.n)))
        return ct_no_memory(err, ct_file_path(m->file));
    if (m->drafts)
        return CARAT_OK;
    char note[CT_CHAT_NOTE];
    struct ct_chat_found found;
    CT_TRY(ct_chat_detect(m->file, architecture, &found, note, err));
    m->chat = found.chat;
    m->chat_state = found.state;
    m->chat_altered = found.altered;
    m->chat_origin = found.origin;
    if (*note && o->log)
        o->log(o->user, note);
    CT_TRY(ct_sampling_defaults(&m->sampling, m->file, err));
    CT_TRY(ct_stop_ids(m->file, m->tokenizer, ct_family_end_of_turn(architecture, n_vocab), m->chat, n_vocab,
                       m->stop, CT_MAX_STOP, &m->n_stop, err));
    return ct_banned_ids(m->file, m->tokenizer, n_vocab, m->banned, CT_MAX_BANNED, &m->n_banned, err);
}

static carat_status report_step(const carat_model_options *o, size_t done, carat_error *err)
{
    if (!o->progress || !o->progress(o->user, done, ALL_STEPS))
        return CARAT_OK;
    return ct_fail(err, CARAT_E_CANCELLED, "opening the model was cancelled after %zu of %d steps", done,
                   ALL_STEPS);
}

/* began: when the container was asked for. The configuration comes first: a model that carat does not run is
 * to be called by its name before its tokenizer is found odd. On failure the caller closes the model. */
static carat_status load_all(carat_model *m, const carat_model_options *o, double began, carat_error *err)
{
    double start = ct_os_seconds();

    m->times.open = start - began;
    CT_TRY(report_step(o, 1, err));
    CT_TRY(load_config(m, o, err));
    double config = ct_os_seconds();
    CT_TRY(report_step(o, BEFORE_TOKENIZER, err));
    CT_TRY(load_tokenizer(m, o, err));
    double tokenizer = ct_os_seconds();
    CT_TRY(report_step(o, 3, err));
    CT_TRY(load_weights(m, o, err));
    CT_TRY(fit_tokenizer(m, o, err));
    CT_TRY(report_step(o, 4, err));
    CT_TRY(load_defaults(m, o, err));
    m->times.parse += (config - start) + (ct_os_seconds() - tokenizer);
    m->times.tokenizer += tokenizer - config;
    CT_TRY(report_step(o, ALL_STEPS, err));
    m->file_bytes = ct_file_bytes(m->file); /* now: the list of buffers in memory is the caller's */
    m->times.packed = m->has_weights && ct_file_is_packed(m->file);
    return CARAT_OK;
}

/* ---- which models are taken ---- */

/* A draft is an id: it must stand for the same text in both. A drafter whose files have no vocabulary is
 * taken at its word. */
static carat_status check_vocabulary(const carat_model *drafter, const carat_model *m, carat_error *err)
{
    if (!drafter->tokenizer || !m->tokenizer)
        return CARAT_OK;
    const int32_t id = ct_tokenizer_first_other(m->tokenizer, drafter->tokenizer, m->config.n_text_vocab);
    if (id < 0)
        return CARAT_OK;
    const struct ct_str is = ct_tokenizer_piece(drafter->tokenizer, id),
                        expected = ct_tokenizer_piece(m->tokenizer, id);
    return ct_fail(err, CARAT_E_UNSUPPORTED,
                   "%s: the drafter has another vocabulary: its id %d is \"%.*s\", expected \"%.*s\", as in "
                   "the model; name a drafter with the model's tokenizer",
                   ct_file_path(drafter->file), (int)id, CT_BRIEF(is), CT_BRIEF(expected));
}

static carat_status check_suits(const carat_model *drafter, const carat_model *m, carat_error *err)
{
    CT_TRY(ct_drafter_suits(&drafter->config, &m->config, ct_file_path(drafter->file), err));
    return check_vocabulary(drafter, m, err);
}

/* The role that a file is opened in. */
struct role {
    const carat_model *of; /* the model that it drafts for; NULL: it is a model */
    bool beside;           /* it lies in the file of that model */
};

/* Asks whether the caller, or the model that it drafts for, wants this model, before anything is written. */
static carat_status check_taken(const carat_model *m, const carat_model_options *o, const struct role *role,
                                carat_error *err)
{
    if (role->of)
        return check_suits(m, role->of, err);
    if (o->takes && o->takes(o->user, m))
        return ct_fail(err, CARAT_E_CANCELLED, "%s: the model was opened, and not taken",
                       ct_file_path(m->file));
    return CARAT_OK;
}

/* ---- the cache of packed models ---- */

/* Frees what opening has filled so far. The times stay. */
static void empty_model(carat_model *m)
{
    carat_load_times times = m->times;

    if (m->cache)
        ct_cache_stop_reading(m->cache);
    ct_tokenizer_free(m->tokenizer);
    ct_file_close(m->tokenizer_file);
    ct_arena_free(&m->arena);
    ct_file_close(m->file);
    *m = (carat_model){.times = times, .cache = m->cache, .drafts = m->drafts, .beside = m->beside};
}

static carat_status open_origin(carat_model *m, const char *path, const carat_model_options *o,
                                carat_error *err)
{
    double began = ct_os_seconds();

    CT_TRY(ct_file_open(&m->file, path, o->tokenizer_only != 0, err));
    ct_cache_read_ahead(m->cache, m->file);
    return load_all(m, o, began, err);
}

/* Reads weights and vocabulary of the open model from its packed copy from now on; the rest was read
 * already. */
static carat_status move_to_copy(carat_model *m, struct ct_file *copy, carat_error *err)
{
    struct ct_tokenizer *tokenizer = NULL;

    if (m->tokenizer)
        CT_TRY(ct_tokenizer_open(&tokenizer, copy, NULL, err));
    carat_status status = ct_weights_move(&m->weights, &m->config, copy, &m->arena, err);
    if (status) {
        ct_tokenizer_free(tokenizer);
        return status;
    }
    ct_cache_stop_reading(m->cache);
    ct_tokenizer_free(m->tokenizer);
    ct_file_close(m->file);
    m->tokenizer = tokenizer;
    m->file = copy;
    m->times.packed = m->times.made = 1;
    return CARAT_OK;
}

/* Packs the open model. A copy that cannot be read is rejected; the model stays open. */
static carat_status pack_into_cache(carat_model *m, const char *path, carat_error *err)
{
    struct ct_file *copy = NULL;
    double began = ct_os_seconds();

    CT_TRY(ct_cache_write(m->cache, m, path, &copy, err));
    m->times.cache_needs = m->cache->needs;
    m->times.pack = ct_os_seconds() - began;
    if (copy && move_to_copy(m, copy, NULL) != CARAT_OK) {
        ct_file_close(copy);
        ct_cache_reject(m->cache);
    }
    return CARAT_OK;
}

static carat_status open_path(carat_model **model, const char *path, const carat_model_options *o,
                              const struct role *role, carat_error *err);

/* The drafter that the options name, which suits m. path: of m, NULL in memory. */
static carat_status open_named_drafter(carat_model **drafter, const carat_model *m, const char *path,
                                       const carat_model_options *o, carat_error *err)
{
    const bool self = strcmp(o->drafter, "self") == 0;
    carat_model_options drafters = *o;

    if (self && !path)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: a drafter beside a model is read from files only",
                       ct_file_path(m->file));
    drafters.tokenizer = NULL;
    if (self)
        drafters.cache = NULL; /* the copy there is the model's */
    return open_path(drafter, self ? path : o->drafter, &drafters, &(struct role){m, self}, err);
}

/* A drafter that does not suit the model is refused before the model is packed. It is opened for good once
 * the model is: one may be the other. */
static carat_status look_at_drafter(const carat_model *m, const char *path, const carat_model_options *o,
                                    carat_error *err)
{
    carat_model_options quiet = *o;
    carat_model *drafter = NULL;

    if (o->opened)
        return check_suits(o->opened, m, err);
    if (!o->drafter)
        return CARAT_OK;
    quiet.cache_read_only = 1;
    quiet.log = NULL;
    quiet.progress = NULL;
    CT_TRY(open_named_drafter(&drafter, m, path, &quiet, err));
    carat_model_close(drafter);
    return CARAT_OK;
}

/* The packed form if there is one that can be used, else the origin, which is packed if that may be. */
static carat_status open_through_cache(carat_model *m, const char *path, const carat_model_options *o,
                                       const struct role *role, carat_error *err)
{
    bool packs = !o->tokenizer_only && !o->tokenizer, claimed = false;
    double began = ct_os_seconds();
    struct ct_file *other = NULL;

    CT_TRY(ct_cache_find(m->cache, path, &m->file, err));
    if (!m->file && packs)
        CT_TRY(ct_cache_claim(m->cache, path, &m->file, &claimed, err));
    m->times.map = ct_os_seconds() - began;
    if (m->file) {
        carat_status status = load_all(m, o, ct_os_seconds(), err);
        if (!status)
            return check_taken(m, o, role, err);
        if (status == CARAT_E_MEMORY || status == CARAT_E_CANCELLED)
            return status;
        empty_model(m);
        CT_TRY(open_origin(m, path, o, err)); /* which may be at fault itself */
        ct_cache_reject(m->cache);
        if (packs)
            CT_TRY(ct_cache_claim(m->cache, path, &other, &claimed, err));
        ct_file_close(other); /* next time */
    } else {
        CT_TRY(open_origin(m, path, o, err));
    }
    CT_TRY(check_taken(m, o, role, err));
    if (!claimed || !m->has_weights || ct_file_is_packed(m->file))
        return CARAT_OK;
    if (!role->of)
        CT_TRY(look_at_drafter(m, path, o, err));
    return pack_into_cache(m, path, err);
}

static carat_status open_path(carat_model **model, const char *path, const carat_model_options *o,
                              const struct role *role, carat_error *err)
{
    carat_model *m = NULL;
    char *at = NULL;
    carat_status status;

    CT_TRY(report_step(o, 0, err));
    CT_TRY(ct_file_resolve(&at, path, o->tokenizer_only != 0, err));
    m = calloc(1, sizeof *m);
    struct ct_packed_copy *copy = m ? calloc(1, sizeof *copy) : NULL;
    if (!copy) {
        free(m);
        free(at);
        return ct_no_memory(err, path);
    }
    m->cache = copy;
    m->drafts = role->of != NULL;
    m->beside = role->beside ? role->of : NULL;
    if (ct_cache_begin(m->cache, at, o))
        status = open_through_cache(m, at, o, role, err);
    else if ((status = open_origin(m, at, o, err)) == CARAT_OK)
        status = check_taken(m, o, role, err);
    free(at);
    if (status) {
        m->cache->unused = true;
        carat_model_close(m);
        return status;
    }
    ct_cache_log(m->cache);
    ct_cache_opened(m->cache);
    *model = m;
    return CARAT_OK;
}

/* ---- a model with its drafter ---- */

static carat_status open_drafter(carat_model *m, const char *path, const carat_model_options *o,
                                 carat_error *err)
{
    if (!m->has_weights || !(o->opened || o->drafter))
        return CARAT_OK;
    if (o->opened) {
        CT_TRY(check_suits(o->opened, m, err));
        m->drafter = o->opened;
        return CARAT_OK;
    }
    CT_TRY(open_named_drafter(&m->drafter, m, path, o, err));
    ct_tokenizer_free(m->drafter->tokenizer); /* its ids are the model's */
    m->drafter->tokenizer = NULL;
    return CARAT_OK;
}

carat_status ct_model_open(carat_model **model, const char *path, const carat_model_options *o,
                           carat_error *err)
{
    carat_model *m = NULL;

    CT_TRY(open_path(&m, path, o, &(struct role){NULL, false}, err));
    carat_status status = open_drafter(m, path, o, err);
    if (status)
        carat_model_close(m);
    else
        *model = m;
    return status;
}

carat_status carat_model_open(carat_model **model, const char *path, const carat_model_options *options,
                              carat_error *err)
{
    carat_model_options o = {.size = sizeof o};

    CT_GIVEN(model, err);
    CT_GIVEN(path, err);
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_model_options", err));
    return ct_model_open(model, path, &o, err);
}

static carat_status open_memory(carat_model **model, const carat_buffer *buffers, int n,
                                const carat_model_options *o, carat_error *err)
{
    double began = ct_os_seconds();

    for (int i = 0; i < n; i++)
        if (!buffers[i].name || !buffers[i].data)
            return ct_fail(err, CARAT_E_ARGUMENT, "buffer %d has no name or no data", i);
    CT_TRY(report_step(o, 0, err));
    carat_model *m = calloc(1, sizeof *m);
    struct ct_part *part = calloc((size_t)n, sizeof *part);
    carat_status status = m && part ? CARAT_OK : ct_no_memory(err, buffers[0].name);
    for (int i = 0; i < n && !status; i++)
        part[i] = (struct ct_part){buffers[i].name, {buffers[i].data, buffers[i].size}};
    if (!status)
        status = ct_file_open_memory(&m->file, part, n, err);
    if (!status)
        status = load_all(m, o, began, err);
    if (!status)
        status = check_taken(m, o, &(struct role){NULL, false}, err);
    if (!status)
        status = open_drafter(m, NULL, o, err);
    free(part);
    if (status)
        carat_model_close(m);
    else
        *model = m;
    return status;
}

carat_status carat_model_open_memory(carat_model **model, const carat_buffer *buffers, size_t buffer_size,
                                     int n, const carat_model_options *options, carat_error *err)
{
    carat_model_options o = {.size = sizeof o};
    void *copy;

    if (!model || !buffers || n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "model or buffers is NULL, or n = %d is below 1", n);
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_model_options", err));
    CT_TRY(ct_take_array(&copy, buffers, buffer_size, n, sizeof *buffers, "carat_buffer", err));
    carat_status status = open_memory(model, copy ? copy : buffers, n, &o, err);
    free(copy);
    return status;
}

void carat_model_close(carat_model *model)
{
    if (!model)
        return;
    carat_model_close(model->drafter);
    empty_model(model);
    if (model->cache)
        ct_cache_end(model->cache);
    free(model->cache);
    free(model);
}
