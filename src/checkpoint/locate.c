/* SPDX-License-Identifier: Apache-2.0 */
/* locate.c: what the name of a model stands for, and where that lies. Layouts of stores are src/file's, names
 * of members src/model's; what is found is opened in open_model.c. */
#include "checkpoint/checkpoint.h"
#include "file/hub.h"
#include "model/names.h"
#include "os/files.h"

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

/* Takes the hub's host off the front. */
static bool take_hub(struct ct_str *s)
{
    static const char *const hosts[] = {"huggingface.co/", "www.huggingface.co/", "hf.co/"};
    struct ct_str rest = *s;

    if (!skip(&rest, "https://"))
        skip(&rest, "http://");
    for (size_t i = 0; i < CT_COUNT(hosts); i++)
        if (skip(&rest, hosts[i])) {
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

/* Fills what the name says of itself. */
static carat_status read_name(carat_location *l, const char *name, struct wanted *w, carat_error *err)
{
    struct ct_str s = ct_str_of(name);
    const bool hub = take_hub(&s);
    const struct ct_family_name *member = NULL;

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
    } else if (hub) {
        return ct_fail(err, CARAT_E_NOT_FOUND,
                       "%.200s names no repository: expected OWNER/NAME behind the host", name);
    } else if (!memchr(s.s, '/', s.n) && !is_file_name(s) && (member = ct_family_name_find(s))) {
        if (!member->repository)
            return refuse_member(name, err);
        l->named = CARAT_NAMED_FAMILY;
        l->drafter = member->drafter;
        *w = (struct wanted){ct_str_of(member->repository), ct_str_of("main"), {"", 0}};
    }
    return CARAT_OK;
}

/* ---- where it lies ---- */

static carat_status look_into_hub(carat_location *l, const char *hub, struct ct_arena *a, carat_error *err)
{
    const char *slash = strchr(l->repository, '/');
    const size_t size = strlen(hub) + strlen(l->repository) + sizeof "/models----";
    char *folder = ct_arena_push(a, 1, size);
    const char *snapshot;
    struct ct_hub_model model;

    if (!folder)
        return ct_no_memory(err, hub);
    snprintf(folder, size, "%s/models--%.*s--%s", hub, (int)(slash - l->repository), l->repository,
             slash + 1);
    CT_TRY(ct_hub_snapshot(&snapshot, folder, l->revision, a, err));
    if (!snapshot)
        return CARAT_OK;
    l->commit = strrchr(snapshot, '/') + 1;
    CT_TRY(ct_hub_find_model(&model, snapshot, l->repository, l->part, a, err));
    l->path = model.path;
    l->missing = model.missing;
    return CARAT_OK;
}

static carat_status locate(carat_location *l, const char *name, const carat_places *places,
                           struct ct_arena *a, carat_error *err)
{
    struct wanted w = {{NULL, 0}, {NULL, 0}, {NULL, 0}};

    l->part = "";
    if (ct_os_absent(name))
        CT_TRY(read_name(l, name, &w, err));
    if (l->named == CARAT_NAMED_ADDRESS)
        return CARAT_OK;
    if (l->named == CARAT_NAMED_PATH) {
        l->word = ct_os_absent(name) && !strchr(name, '/') && !is_file_name(ct_str_of(name));
        l->path = keep(a, ct_str_of(name));
        return l->path ? CARAT_OK : ct_no_memory(err, name);
    }
    l->repository = keep(a, w.repository);
    l->revision = keep(a, w.revision);
    l->part = keep(a, w.part.n ? w.part : ct_str_of(""));
    if (!l->repository || !l->revision || !l->part)
        return ct_no_memory(err, name);
    return places->hub ? look_into_hub(l, places->hub, a, err) : CARAT_OK;
}

carat_status ct_locate(carat_location *location, const char *name, const carat_places *places,
                       carat_error *err)
{
    struct ct_arena arena = {NULL};
    carat_status status = locate(location, name, places, &arena, err);

    location->memory = arena.block;
    if (status)
        ct_location_free(location);
    return status;
}

void ct_location_free(carat_location *location)
{
    struct ct_arena arena = {location->memory};
    const size_t size = location->size;

    ct_arena_free(&arena);
    memset(location, 0, size);
    location->size = size;
}
