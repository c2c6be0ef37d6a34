/* SPDX-License-Identifier: Apache-2.0 */
/* hub_tree.c: what huggingface_hub, since version 2.4, writes down of a commit: trees/COMMIT.json beside
 * snapshots/ has the names of its files. What cannot be read there says nothing, as for that library. */
#include "names/hub.h"
#include "carat_tools.h"

#include "base/array.h"
#include "base/json.h"
#include "base/path.h"
#include "file/reader.h"
#include "os/files.h"

#include <stdlib.h>

enum { VERSION = 1, MOST_BYTES = 16 << 20 };

static bool take_names(struct ct_hub_tree *t, struct ct_json *j, struct ct_arena *arena)
{
    enum ct_json_token token;

    if (ct_json_next(j) != CT_JSON_OBJECT)
        return false;
    while ((token = ct_json_next(j)) == CT_JSON_KEY) {
        if (!ct_path_stays_inside(j->string) ||
            !ct_array_grow(&t->name, &t->capacity, t->n + 1, sizeof *t->name) ||
            !(t->name[t->n] = ct_arena_str(arena, j->string.s, j->string.n)))
            return false;
        t->n++;
        if (!ct_json_skip(j))
            return false;
    }
    return token == CT_JSON_OBJECT_END;
}

bool ct_hub_read_tree(struct ct_hub_tree *t, struct ct_bytes text, struct ct_arena *arena)
{
    struct ct_json j;
    enum ct_json_token token = CT_JSON_ERROR;
    bool known = false;

    *t = (struct ct_hub_tree){NULL, 0, 0};
    ct_json_init(&j, "tree", text);
    bool good = ct_json_next(&j) == CT_JSON_OBJECT;
    while (good && (token = ct_json_next(&j)) == CT_JSON_KEY) {
        if (ct_str_is(j.string, "format_version"))
            good = known = ct_json_next(&j) == CT_JSON_NUMBER && j.number == VERSION;
        else if (ct_str_is(j.string, "files") && t->n == 0)
            good = take_names(t, &j, arena);
        else
            good = ct_json_skip(&j);
    }
    good = good && known && token == CT_JSON_OBJECT_END && ct_json_next(&j) == CT_JSON_END;
    ct_json_free(&j);
    return good;
}

/* Files without which the others are as good: the other tokenizer, and what only other programs read. */
static bool can_lack(const char *snapshot, const char *name)
{
    static const char *const others[] = {"tokenizer_config.json", "special_tokens_map.json",
                                         "added_tokens.json", "chat_template.json"};

    for (size_t i = 0; i < CT_COUNT(others); i++)
        if (strcmp(name, others[i]) == 0)
            return true;
    return strcmp(name, "tokenizer.model") == 0  ? ct_exists_in(snapshot, "tokenizer.json")
           : strcmp(name, "tokenizer.json") == 0 ? ct_exists_in(snapshot, "tokenizer.model")
                                                 : false;
}

/* Of the files that a model without a choice needs, the first that the snapshot has not. */
static const char *find_missing(const struct ct_hub_tree *t, const char *snapshot)
{
    int *wanted = calloc(t->n + 1, sizeof *wanted);
    const char *missing = NULL;

    if (wanted && carat_choose_files(snapshot, t->name, (int)t->n, "", wanted, NULL) == CARAT_OK)
        for (size_t i = 0; i < t->n && !missing; i++)
            if (wanted[i] && !ct_exists_in(snapshot, t->name[i]) && !can_lack(snapshot, t->name[i]))
                missing = t->name[i];
    free(wanted);
    return missing;
}

const char *ct_hub_look_in_tree(const char *snapshot, struct ct_arena *arena)
{
    static const char folder[] = "/snapshots/";
    const char *commit = strrchr(snapshot, '/'), *missing = NULL;
    const size_t before = commit ? (size_t)(commit - snapshot) : 0;
    struct ct_hub_tree t;
    struct ct_map m;

    if (before < sizeof folder || memcmp(commit + 2 - sizeof folder, folder, sizeof folder - 1) != 0)
        return NULL;
    const struct ct_store_names names = {.root = ct_arena_str(arena, snapshot, before + 2 - sizeof folder),
                                         .version = ct_str_of(commit + 1)};
    const char *path = names.root ? ct_store_place(arena, CT_AT_HUB_TREE, &names) : NULL;
    if (!path || ct_os_kind(path) != 1 || ct_os_map(&m, path, NULL) != CARAT_OK)
        return NULL;
    if (m.bytes.size <= MOST_BYTES) {
        if (ct_hub_read_tree(&t, m.bytes, arena))
            missing = find_missing(&t, snapshot);
        free(t.name);
    }
    ct_os_unmap(&m);
    return missing;
}
