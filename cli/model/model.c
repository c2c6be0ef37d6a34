/* SPDX-License-Identifier: Apache-2.0 */
/* model.c: turns options into an open model and engine options, with the bars while loading and a word about
 * files that shrink while they are mapped. */
#define _POSIX_C_SOURCE 200809L
#include "model/model.h"

#include <string.h>

#include "io/input.h"
#include "model/side_settings.h"
#include "model/cache_place.h"
#include "model/embed.h"
#include "names/find_model.h"
#include "model/head.h"
#include "names/located.h"
#include "options/store.h"
#include "options/written.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/progress.h"

/* The options about opening a model. */
#define AT(field) offsetof(struct open_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_MODEL + 20, {"--tokenizer"}, PATH, AT(tokenizer), "/ opens", "FILE", NULL,
     "a tokenizer file, instead of the model's own", 0, 0},
    {ABOUT_MODEL + 30, {"--no-cache"}, FLAG, AT(no_cache), "/ opens", NULL, NULL,
     "neither read nor write the cache of packed models", 0, 0},
    {ABOUT_MODEL + 25, {"--model-draft", "-md", "--spec-draft-model"}, MODEL, AT(drafter), DRAWS " bench", "MODEL", NULL,
     "a drafter that guesses next tokens: faster, and the same tokens; Gemma 4's assistants, or a smaller "
     "model with the same vocabulary; self: the one in MODEL's own GGUF file", 0, 0},
    {ABOUT_MODEL + 40, {"--cache-size"}, SIZE, AT(cache_size), "pack cache doctor / " EVALUATES " embed compare replay", "SIZE", "4G",
     "the most that all packed models together may take (default {default})", 1, 1e18},
};
/* clang-format on */

const struct option_group open_group = OPTION_GROUP(rows, struct open_options, NULL);

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
        term_note("--cache-size %lluM keeps it, and the next start is faster",
                  (unsigned long long)((setup.cache_needs + ((1 << 20) - 1)) >> 20));
}

/* Are ids given instead of a text? */
static bool has_ids(const struct options *o)
{
    for (const struct option_row *r = table_rows(); r->option; r++)
        if (r->option->kind == IDS && *(const char *const *)option_field(o, r))
            return true;
    return false;
}

/* The embedded model as a drafter. */
static carat_status open_embedded_drafter(carat_model_options *options, carat_error *err)
{
    carat_model_options own;

    if (!options->drafter || strcmp(options->drafter, "tiny") != 0)
        return CARAT_OK;
    carat_model_options_default(&own);
    options->drafter = NULL;
    return open_embedded(&options->opened, &own, err);
}

/* path: of a model that is located. */
static carat_status open_named(carat_model **model, const struct options *o, const char *path,
                               carat_model_options *options, carat_error *err)
{
    carat_status status = open_embedded_drafter(options, err);

    if (status != CARAT_OK)
        return status;
    if (strcmp(o->model, "tiny") == 0)
        return open_embedded(model, options, err);
    if (strcmp(o->model, "-") == 0) {
        interrupt_on_fault("standard input");
        return open_stdin(model, options, err);
    }
    interrupt_on_fault(path);
    return carat_model_open(model, path, options, err);
}

/* The purpose that a model is opened for. */
enum purpose { TOKENIZE, LOOK, COMPUTE, COMPUTE_ITS_KIND, WRITE };

/* The places of the model and its drafter. */
struct places {
    carat_location model, drafter;
};

static int find_places(struct places *at, const struct options *o, enum purpose purpose)
{
    const bool drafts = purpose != TOKENIZE && purpose != WRITE;

    carat_location_default(&at->model);
    carat_location_default(&at->drafter);
    if (is_located(o->model))
        TRY(find_model(&at->model, o->model, o));
    if (drafts && o->open->drafter && is_located(o->open->drafter) && strcmp(o->open->drafter, "self") != 0)
        return find_model(&at->drafter, o->open->drafter, o);
    return DONE;
}

/* Verbs that compute are for one kind of models: text, or vectors. */
static int check_kind(const struct options *o, const carat_model *model)
{
    carat_model_info info = {.size = sizeof info};
    const bool embeds = o->verb->embeds;

    if (carat_model_get_info(model, &info, NULL) != CARAT_OK || (info.kind == CARAT_EMBEDDER) == embeds)
        return DONE;
    if (embeds)
        return fail_as(
            BAD_MODEL, CARAT_E_UNSUPPORTED,
            "%s: a model of architecture %s generates text, expected an embedding model for embed: "
            "carat run %s",
            o->model, info.architecture, o->model);
    return fail_as(
        BAD_MODEL, CARAT_E_UNSUPPORTED,
        "%s: a model of architecture %s gives vectors of texts, expected one that generates for %s: "
        "carat embed %s",
        o->model, info.architecture, o->verb->name, o->model);
}

/* The test that decides if a model is taken, and the exit code of what was said if it is not. */
struct taking {
    struct progress bar; /* first: the other callbacks know nothing else */
    const struct options *o;
    bool kind;
    int code;
};

static int take_model(void *user, const carat_model *model)
{
    struct taking *t = user;

    t->code = t->kind ? check_kind(t->o, model) : DONE;
    if (t->code == DONE)
        t->code = check_spares_model(t->o, model);
    return t->code != DONE;
}

static int open_found(carat_model **model, const struct options *o, enum purpose purpose,
                      const struct places *at)
{
    const bool packs = purpose == COMPUTE || purpose == COMPUTE_ITS_KIND;
    struct taking taking = {.o = o, .kind = purpose == COMPUTE_ITS_KIND};
    carat_model_options options;
    carat_model_options_default(&options);
    struct cache_place cache;
    carat_error err;

    progress_begin(&taking.bar, "loading", NULL);
    options.log = note_line;
    options.progress = progress_opening;
    options.user = &taking;
    options.takes = take_model;
    options.tokenizer_only = purpose == TOKENIZE;
    options.tokenizer = o->open->tokenizer;
    if (purpose != TOKENIZE && purpose != WRITE)
        options.drafter = at->drafter.path ? at->drafter.path : o->open->drafter;
    options.drafter_alone = purpose == WRITE;
    options.needs_tokenizer =
        o->verb->tokenizer == TOKENIZER || (o->verb->tokenizer == TOKENIZER_UNLESS_IDS && !has_ids(o));
    if (!o->open->no_cache && purpose != WRITE) {
        cache_find(&cache);
        options.cache = *cache.path ? cache.path : NULL;
        options.cache_bytes = o->open->cache_size;
        options.cache_read_only = !packs;
    }
    const carat_status status = open_named(model, o, at->model.path, &options, &err);
    progress_end(&taking.bar);
    if (status != CARAT_OK) {
        carat_model_close(options.opened);
        return taking.code != DONE ? taking.code : fail_open(&err);
    }
    name_mapped(*model);
    if (packs)
        note_cache_size(*model);
    return DONE;
}

static int open_with(carat_model **model, const struct options *o, enum purpose purpose)
{
    struct places at;

    TRY(check_named_files(o));
    int code = find_places(&at, o, purpose);
    if (code == DONE && purpose != WRITE)
        side_settings_note(&at.model);
    if (code == DONE)
        code = open_found(model, o, purpose, &at);
    carat_location_free(&at.model);
    carat_location_free(&at.drafter);
    return code;
}

int open_model(carat_model **model, const struct options *o, bool tokenizer_only)
{
    return open_with(model, o, tokenizer_only ? TOKENIZE : LOOK);
}

int open_source(carat_model **model, const struct options *o)
{
    return open_with(model, o, WRITE);
}

int open_either(carat_model **model, const struct options *o)
{
    return open_with(model, o, COMPUTE);
}

int open_packed(carat_model **model, const struct options *o)
{
    return open_with(model, o, COMPUTE_ITS_KIND);
}
