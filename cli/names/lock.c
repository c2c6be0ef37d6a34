/* SPDX-License-Identifier: Apache-2.0 */
/* lock.c: see lock.h. {"models": {"gemma3:1b": {"repository": "google/gemma-3-1b-it", "commit": "...",
 * "files": {"model.safetensors": "...", ...}}}}; hashes are those by which the hub's cache names files. */
#include "names/lock.h"

#include <stdio.h>
#include <string.h>

#include "io/object.h"
#include "io/save.h"
#include "names/hub_links.h"
#include "term/exit.h"
#include "term/message.h"

static const char path[] = "models.lock";

static int read_lock(json_t **all)
{
    char why[OBJECT_WHY];

    *all = object_read(path, why);
    return *all ? DONE : term_fail(FAILED, "%s: %s", path, why);
}

static const char *text_of(const json_t *entry, const char *key)
{
    const char *text = json_string_value(json_object_get(entry, key));

    return text ? text : "";
}

int lock_find(json_t **entry, char name[LOCKED_NAME], const carat_location *at, const char *typed)
{
    json_t *all;

    TRY(read_lock(&all));
    *entry = json_incref(json_object_get(json_object_get(all, "models"), typed));
    json_decref(all);
    if (!*entry)
        return DONE;
    const char *repository = text_of(*entry, "repository"), *commit = text_of(*entry, "commit");
    int code = DONE;
    if (strcmp(repository, at->repository) != 0)
        code = term_fail(FAILED, "%s: %.200s is '%.200s' there, and %.200s here", path, typed, repository,
                         at->repository);
    else if (!is_hub_hash(commit, 40))
        code = term_fail(FAILED, "%s: the commit of %.200s is '%.80s', expected 40 digits of a hash", path,
                         typed, commit);
    else if (snprintf(name, LOCKED_NAME, "%s@%s%s%s", at->repository, commit, *at->part ? ":" : "",
                      at->part) >= LOCKED_NAME)
        code = term_fail(FAILED, "%s: the name of %.200s is too long", path, typed);
    if (code != DONE) {
        json_decref(*entry);
        *entry = NULL;
    }
    return code;
}

static const char *hash_of(const struct hub_link *l)
{
    return l->wanted && l->blob ? strrchr(l->blob, '/') + 1 : "";
}

static const char *locked_file(const struct hub_links *l, size_t i)
{
    return l->link[i].path + strlen(l->snapshot) + 1;
}

int lock_check(const json_t *entry, const carat_location *at, const char *typed)
{
    const json_t *files = json_object_get(entry, "files");
    struct hub_links l;
    int code = DONE;

    for (size_t i = 0, n = hub_links_read(&l, at->path) ? l.n : 0; i < n && code == DONE; i++) {
        const char *wanted = l.link[i].wanted ? text_of(files, locked_file(&l, i)) : "";
        if (*wanted && strcmp(wanted, hash_of(&l.link[i])) != 0)
            code = term_fail(NOT_FOUND, "%.200s: %.200s has hash %.64s, and %s has %.64s", typed,
                             locked_file(&l, i), hash_of(&l.link[i]), path, wanted);
    }
    hub_links_free(&l);
    return code;
}

static int save(const json_t *all)
{
    struct save file = {0};
    int code = save_open(&file, path);

    if (code == DONE)
        code =
            json_dumpf(all, file.file, JSON_INDENT(1) | JSON_SORT_KEYS) == 0 && fputc('\n', file.file) != EOF
                ? save_close(&file)
                : save_failed(&file);
    save_abandon(&file);
    return code;
}

int lock_add(const carat_location *at, const char *typed)
{
    struct hub_links l;
    json_t *all, *files = json_object();

    TRY(read_lock(&all));
    if (hub_links_read(&l, at->path))
        for (size_t i = 0; i < l.n; i++)
            if (*hash_of(&l.link[i]))
                json_object_set_new(files, locked_file(&l, i), json_string(hash_of(&l.link[i])));
    hub_links_free(&l);
    if (!json_is_object(json_object_get(all, "models")))
        json_object_set_new(all, "models", json_object());
    json_object_set_new(
        json_object_get(all, "models"), typed,
        json_pack("{s:s, s:s, s:o}", "repository", at->repository, "commit", at->commit, "files", files));
    const int code = save(all);
    json_decref(all);
    return code;
}
