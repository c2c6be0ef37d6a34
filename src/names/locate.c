/* SPDX-License-Identifier: Apache-2.0 */
/* locate.c: what the name of a model stands for, and where that lies. Layouts of stores are stores.h's, names
 * of members names.c's; what is found is opened by checkpoint/open_model.c. */
#include "base/arguments.h"
#include "base/path.h"
#include "names/stores.h"
#include "names/names.h"
#include "os/files.h"
#include "text/tokenizer/control.h"

/* A copy in the location's memory; NULL where there is none. */
static const char *keep(struct ct_arena *a, struct ct_str s)
{
    return ct_arena_str(a, s.s, s.n);
}

/* The part of s before the first of these characters, which leaves it. */
static struct ct_str take_until(struct ct_str *s, const char *ends)
{
    struct ct_str head = {s->s, 0};

    while (head.n < s->n && !strchr(ends, s->s[head.n]))
        head.n++;
    s->s += head.n;
    s->n -= head.n;
    return head;
}

static bool skip(struct ct_str *s, const char *prefix)
{
    size_t n = strlen(prefix);

    if (s->n < n || memcmp(s->s, prefix, n) != 0)
        return false;
    s->s += n;
    s->n -= n;
    return true;
}

/* ---- what is written ---- */

struct wanted {
    struct ct_str repository, revision, part;
    struct ct_ollama_name ollama; /* model.n is 0: it is no such name */
    struct ct_str kaggle;
    bool hub; /* the hub's host stands in front */
};

/* OWNER/NAME, then @REVISION or :PART or both, or as an address goes on: /tree/REVISION,
 * /resolve/REVISION/FILE. */
static bool read_repository(struct wanted *w, struct ct_str s)
{
    struct ct_str owner = take_until(&s, "/@:?#"), rest = s;

    *w = (struct wanted){.revision = ct_str_of("main")};
    if (!skip(&rest, "/"))
        return false;
    struct ct_str name = take_until(&rest, "/@:?#");
    w->repository = (struct ct_str){owner.s, owner.n + 1 + name.n};
    if (!ct_hub_is_repository(w->repository))
        return false;
    if (skip(&rest, "@"))
        w->revision = take_until(&rest, ":?#");
    if (skip(&rest, ":"))
        w->part = take_until(&rest, "?#");
    else if (skip(&rest, "/resolve/") || skip(&rest, "/blob/") || skip(&rest, "/tree/")) {
        w->revision = take_until(&rest, "/?#");
        if (skip(&rest, "/"))
            w->part = take_until(&rest, "?#");
    }
    return ct_hub_is_revision(w->revision) && (rest.n == 0 || *rest.s == '?' || *rest.s == '#');
}

static const char *const hub_hosts[] = {"huggingface.co/", "www.huggingface.co/", "hf.co/", NULL};
static const char *const ollama_hosts[] = {CT_OLLAMA_HOST "/", "ollama.com/", "www.ollama.com/", "ollama://",
                                           NULL};

/* Takes one of these hosts off the front. */
static bool take_host(struct ct_str *s, const char *const *hosts)
{
    struct ct_str rest = *s;

    if (!skip(&rest, "https://"))
        skip(&rest, "http://");
    for (; *hosts; hosts++)
        if (skip(&rest, *hosts)) {
            *s = rest;
            return true;
        }
    return false;
}

static bool is_file_name(struct ct_str s)
{
    static const char *const endings[] = {".gguf", ".sbs", ".safetensors", ".bin", ".json", ".carat"};

    for (size_t i = 0; i < CT_COUNT(endings); i++) {
        size_t n = strlen(endings[i]), j = 0;
        while (s.n > n && j < n && (s.s[s.n - n + j] | 0x20) == (endings[i][j] | 0x20))
            j++;
        if (j == n)
            return true;
    }
    return false;
}

/* "models/gemma" below a folder that is there is a path. */
static bool is_in_folder(struct ct_str repository)
{
    char folder[CT_HUB_REPOSITORY + 1];
    struct ct_str rest = repository, owner = take_until(&rest, "/");

    snprintf(folder, sizeof folder, "%.*s", (int)owner.n, owner.s);
    return !ct_os_absent(folder);
}

static carat_status refuse_member(const char *name, carat_error *err)
{
    return ct_fail(err, CARAT_E_NOT_FOUND,
                   "%.200s is the name of a model that carat does not run; it runs Gemma 1, 2, 3, 3n "
                   "and 4, CodeGemma, FunctionGemma and EmbeddingGemma",
                   name);
}

/* MODEL, OWNER/MODEL or what ollama's pages have in their addresses, library/MODEL, each perhaps with
 * :TAG. */
static carat_status read_ollama(carat_location *l, const char *name, struct ct_str s, struct wanted *w,
                                carat_error *err)
{
    if (memchr(s.s, '?', s.n) || !ct_ollama_read_name(&w->ollama, s) ||
        !ct_str_is(w->ollama.host, CT_OLLAMA_HOST))
        return ct_fail(err, CARAT_E_NOT_FOUND,
                       "%.200s names no model of ollama's: expected MODEL:TAG behind the host, perhaps with "
                       "OWNER/ in front",
                       name);
    l->named = CARAT_NAMED_OLLAMA;
    return CARAT_OK;
}

static carat_status read_kaggle(carat_location *l, const char *name, struct ct_str s, struct wanted *w,
                                carat_error *err)
{
    if (!ct_kaggle_is_handle(s))
        return ct_fail(err, CARAT_E_NOT_FOUND,
                       "%.200s names no model of Kaggle's: expected OWNER/MODEL/FRAMEWORK/VARIATION behind "
                       "kaggle://, perhaps with /VERSION",
                       name);
    l->named = CARAT_NAMED_KAGGLE;
    w->kaggle = s;
    return CARAT_OK;
}

/* Fills what the name says of itself. */
static carat_status read_name(carat_location *l, const char *name, struct wanted *w, carat_error *err)
{
    struct ct_str s = ct_str_of(name);
    const struct ct_family_name *member = NULL;
    bool hub;

    if (skip(&s, "kaggle://"))
        return read_kaggle(l, name, s, w, err);
    if (take_host(&s, ollama_hosts))
        return read_ollama(l, name, s, w, err);
    hub = take_host(&s, hub_hosts);
    if (!hub && strstr(name, "://")) {
        l->named = CARAT_NAMED_ADDRESS;
    } else if (read_repository(w, s) &&
               (hub || (!is_file_name(w->repository) && !is_in_folder(w->repository)))) {
        const char *slash = memchr(w->repository.s, '/', w->repository.n);
        struct ct_str behind = {slash + 1, w->repository.n - (size_t)(slash + 1 - w->repository.s)};
        member = ct_family_name_find(behind);
        if (member && !member->repository)
            return refuse_member(name, err);
        l->named = CARAT_NAMED_REPOSITORY;
        w->hub = hub;
    } else if (hub) {
        return ct_fail(err, CARAT_E_NOT_FOUND,
                       "%.200s names no repository: expected OWNER/NAME behind the host", name);
    } else if (!memchr(s.s, '/', s.n) && !is_file_name(s) && (member = ct_family_name_find(s))) {
        if (!member->repository)
            return refuse_member(name, err);
        l->named = CARAT_NAMED_FAMILY;
        l->drafter = member->drafter;
        *w = (struct wanted){.repository = ct_str_of(member->repository), .revision = ct_str_of("main")};
        ct_ollama_read_name(&w->ollama, ct_str_of(member->name));
    }
    return CARAT_OK;
}

/* ---- where it lies ---- */

/* Takes what a store has: a path, or, where nothing else was found, what it lacks. */
static void take_found(carat_location *l, const struct ct_hub_model *m, const char *store)
{
    if (l->path || !(m->path || (m->missing && !l->missing)))
        return;
    l->path = m->path;
    l->missing = m->path ? NULL : m->missing;
    l->commit = NULL;
    l->store = store;
}

static carat_status look_into_hub(carat_location *l, const char *hub, struct ct_arena *a, carat_error *err)
{
    struct ct_store_names names = {.root = hub};
    const char *snapshot;
    struct ct_hub_model model;

    ct_store_split(&names, l->repository);
    const char *folder = ct_store_place(a, CT_AT_HUB_FOLDER, &names);
    if (!folder)
        return ct_no_memory(err, hub);
    CT_TRY(ct_hub_snapshot(&snapshot, folder, l->revision, a, err));
    if (!snapshot)
        return CARAT_OK;
    CT_TRY(ct_hub_find_model(&model, snapshot, l->repository, l->part, a, err));
    CT_TRY(ct_hub_check_links(hub, snapshot, a, err));
    take_found(l, &model, "Hugging Face");
    l->commit = strrchr(snapshot, '/') + 1;
    return CARAT_OK;
}

/* Takes a control token, a role or space from the front. */
static bool skip_own(struct ct_str *s)
{
    static const char *const words[] = {"user", "model", "system", "developer", " ", "\n", "\r", "\t"};

    for (size_t i = 0; i < CT_CONTROLS; i++)
        if (skip(s, ct_controls[i].text))
            return true;
    for (size_t i = 0; i < CT_COUNT(words); i++)
        if (skip(s, words[i]))
            return true;
    return false;
}

/* Text of a template that the family has nowhere in its own: what remains without {{ actions }} and that. */
static bool has_odd_text(const char *text)
{
    struct ct_str s = ct_str_of(text);

    while (s.n) {
        if (skip(&s, "{{")) {
            const char *end = strstr(s.s, "}}");
            if (!end)
                return true;
            s = ct_str_of(end + 2);
        } else if (!skip_own(&s)) {
            return true;
        }
    }
    return false;
}

/* "registry.ollama.ai/library/gemma3:1b" */
static carat_status write_handle(carat_location *l, const struct ct_ollama_name *n, struct ct_arena *a,
                                 carat_error *err)
{
    const size_t size = n->host.n + n->owner.n + n->model.n + n->tag.n + 4;
    char *text = ct_arena_push(a, 1, size);

    l->handle = text;
    if (!text)
        return ct_no_memory(err, "a name");
    snprintf(text, size, "%.*s/%.*s/%.*s:%.*s", (int)n->host.n, n->host.s, (int)n->owner.n, n->owner.s,
             (int)n->model.n, n->model.s, (int)n->tag.n, n->tag.s);
    return CARAT_OK;
}

/* The user's store, the machine's, and carat's own, which is laid so. */
static carat_status look_into_ollama(carat_location *l, const carat_places *places,
                                     const struct ct_ollama_name *name, struct ct_arena *a, carat_error *err)
{
    const char *own = places->own ? ct_path_join(a, places->own, "ollama") : NULL;
    const char *const dirs[] = {places->ollama, places->ollama_system, own};

    for (size_t i = 0; i < CT_COUNT(dirs) && !l->path; i++) {
        struct ct_ollama_model m;
        if (!dirs[i])
            continue;
        CT_TRY(ct_ollama_find(&m, dirs[i], name, a, err));
        take_found(l, &m.model, dirs[i] == own ? "carat" : "ollama");
        if (l->path) {
            CT_TRY(write_handle(l, name, a, err));
            l->params = m.params;
            l->system = m.system;
            l->template_odd = m.template_text && has_odd_text(m.template_text) ? m.template_text : NULL;
        }
    }
    return CARAT_OK;
}

/* What no name of the hub stands in the way of: a store of ollama may have it. */
static carat_status look_for_word(carat_location *l, const char *name, const carat_places *places,
                                  struct ct_arena *a, carat_error *err)
{
    struct ct_ollama_name n;

    if (is_file_name(ct_str_of(name)) || !ct_ollama_read_name(&n, ct_str_of(name)))
        return CARAT_OK;
    CT_TRY(look_into_ollama(l, places, &n, a, err));
    if (l->store)
        l->named = CARAT_NAMED_OLLAMA;
    return CARAT_OK;
}

/* The hub's cache, then who else keeps files of its repositories. */
static carat_status look_for_repository(carat_location *l, const carat_places *places, const struct wanted *w,
                                        struct ct_arena *a, carat_error *err)
{
    struct ct_hub_model m = {NULL, NULL};

    if (places->hub)
        CT_TRY(look_into_hub(l, places->hub, a, err));
    if (l->path || strcmp(l->revision, "main") != 0)
        return CARAT_OK;
    if (places->llama_cpp) {
        CT_TRY(ct_llama_cpp_find(&m, places->llama_cpp, l->repository, l->part, a, err));
        take_found(l, &m, "llama.cpp");
    }
    if (!l->path && places->lm_studio) {
        CT_TRY(ct_lm_studio_find(&m, places->lm_studio, l->repository, l->part, a, err));
        take_found(l, &m, "LM Studio");
    }
    if (l->path || l->named != CARAT_NAMED_REPOSITORY)
        return CARAT_OK;
    const size_t size = sizeof "hf.co/:latest" + w->repository.n + strlen(l->part);
    char *name = ct_arena_push(a, 1, size);
    struct ct_ollama_name n;
    if (!name)
        return ct_no_memory(err, l->repository);
    snprintf(name, size, "%s%s:%s", w->hub ? "hf.co/" : "", l->repository, *l->part ? l->part : "latest");
    return ct_ollama_read_name(&n, ct_str_of(name)) ? look_into_ollama(l, places, &n, a, err) : CARAT_OK;
}

/* As it is typed, which may be more than the table knows, and as the table has it; then the publisher's. What
 * ollama has and carat cannot read is no obstacle where another store has the model. */
static carat_status look_for_member(carat_location *l, const char *name, const carat_places *places,
                                    const struct wanted *w, struct ct_arena *a, carat_error *err)
{
    struct ct_ollama_name typed;
    carat_error why;
    carat_status status = CARAT_OK;

    if (ct_ollama_read_name(&typed, ct_str_of(name)))
        status = look_into_ollama(l, places, &typed, a, &why);
    if (!status && !l->path)
        status = look_into_ollama(l, places, &w->ollama, a, &why);
    if (l->path)
        return CARAT_OK;
    l->missing = l->store = NULL;
    CT_TRY(look_for_repository(l, places, w, a, err));
    if (!status || l->path)
        return CARAT_OK;
    return ct_fail(err, status, "%s; %s is the publisher's", why.message, l->repository);
}

static carat_status look_for_kaggle(carat_location *l, const carat_places *places, struct ct_str handle,
                                    struct ct_arena *a, carat_error *err)
{
    struct ct_hub_model m;
    const char *version = NULL;

    l->handle = keep(a, handle);
    if (!l->handle)
        return ct_no_memory(err, "a name");
    if (!places->kaggle)
        return CARAT_OK;
    CT_TRY(ct_kaggle_find(&m, &version, places->kaggle, l->handle, a, err));
    take_found(l, &m, "Kaggle");
    l->commit = version;
    return CARAT_OK;
}

static carat_status look_for_address(carat_location *l, const char *address, const carat_places *places,
                                     struct ct_arena *a, carat_error *err)
{
    const char *files = places->own ? ct_path_join(a, places->own, "files") : NULL,
               *path = files ? ct_address_path(files, address, a) : NULL;

    if (!(l->handle = keep(a, ct_str_of(address))))
        return ct_no_memory(err, address);
    l->place = path;
    if (path && ct_os_kind(path) == 1)
        take_found(l, &(struct ct_hub_model){path, NULL}, "carat");
    return CARAT_OK;
}

static carat_status look_for_path(carat_location *l, const char *name, const carat_places *places,
                                  struct ct_arena *a, carat_error *err)
{
    const bool absent = ct_os_absent(name);

    if (absent) {
        CT_TRY(look_for_word(l, name, places, a, err));
        if (l->named == CARAT_NAMED_OLLAMA)
            return CARAT_OK;
    }
    l->word = absent && !strchr(name, '/') && !is_file_name(ct_str_of(name));
    l->path = keep(a, ct_str_of(name));
    if (!l->path)
        return ct_no_memory(err, name);
    if (ct_os_kind(name) == 2 && ct_hub_snapshot(&l->snapshot, l->path, "main", a, err) != CARAT_OK)
        l->snapshot = NULL; /* who opens the path says why */
    return CARAT_OK;
}

static carat_status locate(carat_location *l, const char *name, const carat_places *places,
                           struct ct_arena *a, carat_error *err)
{
    struct wanted w = {.repository = {NULL, 0}};

    l->part = "";
    if (ct_os_absent(name))
        CT_TRY(read_name(l, name, &w, err));
    switch (l->named) {
    case CARAT_NAMED_PATH:
        return look_for_path(l, name, places, a, err);
    case CARAT_NAMED_ADDRESS:
        return look_for_address(l, name, places, a, err);
    case CARAT_NAMED_KAGGLE:
        return look_for_kaggle(l, places, w.kaggle, a, err);
    case CARAT_NAMED_OLLAMA:
        CT_TRY(write_handle(l, &w.ollama, a, err));
        return look_into_ollama(l, places, &w.ollama, a, err);
    default:
        break;
    }
    l->repository = keep(a, w.repository);
    l->revision = keep(a, w.revision);
    l->part = keep(a, w.part.n ? w.part : ct_str_of(""));
    if (!l->repository || !l->revision || !l->part)
        return ct_no_memory(err, name);
    return l->named == CARAT_NAMED_FAMILY ? look_for_member(l, name, places, &w, a, err)
                                          : look_for_repository(l, places, &w, a, err);
}

carat_status carat_locate(carat_location *location, const char *name, const carat_places *places,
                          carat_error *err)
{
    carat_places p = {.size = sizeof p};
    carat_location full = {.size = sizeof full};
    struct ct_arena arena = {NULL};

    CT_GIVEN(name, err);
    CT_TRY(ct_check_struct(location, sizeof full, "carat_location", err));
    CT_TRY(ct_take_struct(&p, sizeof p, places, "carat_places", err));
    const carat_status status = locate(&full, name, &p, &arena, err);
    full.memory = arena.block;
    if (!status)
        return ct_give_struct(location, &full, sizeof full, "carat_location", err);
    carat_location_free(&full);
    return status;
}

void carat_location_free(carat_location *location)
{
    if (!location)
        return;
    struct ct_arena arena = {location->memory};
    const size_t size = location->size;

    ct_arena_free(&arena);
    memset(location, 0, size);
    location->size = size;
}
