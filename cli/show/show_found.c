/* SPDX-License-Identifier: Apache-2.0 */
/* show_found.c: see show_found.h. */
#define _POSIX_C_SOURCE 200809L
#include "show/show_found.h"

#include <string.h>
#include <unistd.h>

#include "model/aliases.h"
#include "model/beside.h"
#include "model/located.h"
#include "term/out_json.h"
#include "term/output.h"
#include "term/size.h"

static const char *const rules[] = {
    [CARAT_NAMED_PATH] = "path",
    [CARAT_NAMED_REPOSITORY] = "repository of the hub",
    [CARAT_NAMED_FAMILY] = "name of the family",
    [CARAT_NAMED_ADDRESS] = "address of a file",
    [CARAT_NAMED_OLLAMA] = "name of ollama",
    [CARAT_NAMED_KAGGLE] = "handle of Kaggle",
};

/* given: by the user, for what the rule is about; or "". */
static const char *rule_of(const struct options *o, const carat_location *at, char given[MOST_TARGET])
{
    if (!is_located(o->model))
        return strcmp(o->model, "-") == 0 ? "standard input" : "model inside this command";
    if (access(o->model, F_OK) == 0 || !alias_target(given, o->model))
        *given = 0;
    return rules[at->named];
}

static bool is_remote(const struct heads *heads)
{
    return heads->n > 0;
}

/* Of what is not here: "gemma3:1b is google/gemma-3-1b-it, commit 0123456789ab of main". */
static void print_remote(const struct options *o, const carat_location *at, const struct heads *heads)
{
    const bool one = heads->n == 1;
    char size[SIZE_TEXT];

    out_print("  %-18s", "found");
    if (at->repository && strcmp(at->repository, o->model) != 0)
        out_print("%s is ", o->model);
    out_print("%s", at->repository ? at->repository : o->model);
    if (at->repository)
        out_print(", commit %.12s of %s", heads->commit, at->revision);
    else if (at->named == CARAT_NAMED_KAGGLE)
        out_print(", version %s", heads->commit);
    out_print("\n  %-18s", "path");
    if (at->missing)
        out_print("none: of what is on this machine, %s\n", at->missing);
    else
        out_print("none: nothing of it is on this machine\n");
    out_print("  %-18s", "to fetch");
    if (one)
        out_name(heads->buffer[0].name, 256);
    else
        out_print("%d files", heads->n);
    out_print(", %s: carat pull %s\n", size_text(size, (double)heads->bytes), o->model);
}

void show_found(const struct options *o, const carat_location *at, const struct heads *heads)
{
    char text[LOCATED_TEXT], given[MOST_TARGET] = "";
    const char *rule = rule_of(o, at, given);

    out_print("  %-18s%s%s%s\n", "rule", rule, *given ? ", by the name that carat cp gave to " : "", given);
    if (is_remote(heads)) {
        print_remote(o, at, heads);
    } else if (is_located(o->model)) {
        if (located_text(text, at, o->model))
            out_print("  %-18s%s\n", "found", text);
        out_print("  %-18s%s\n", "path", at->path);
        beside_show(at);
    }
}

json_t *show_found_json(const struct options *o, const carat_location *at, const struct heads *heads)
{
    char given[MOST_TARGET] = "";
    const char *rule = rule_of(o, at, given);
    json_t *found =
        json_pack("{s:o, s:s, s:o?}", "name", json_text(o->model, strlen(o->model)), "rule", rule, "path",
                  at->path && !is_remote(heads) ? json_text(at->path, strlen(at->path)) : NULL);

    if (found && *given)
        json_object_set_new(found, "given_to", json_text(given, strlen(given)));
    if (found && at->repository)
        json_object_update_new(found, json_pack("{s:s, s:s, s:s?}", "repository", at->repository, "revision",
                                                at->revision, "commit",
                                                is_remote(heads) ? heads->commit : at->commit));
    if (found && is_remote(heads)) {
        json_t *files = json_array();
        for (int i = 0; i < heads->n; i++)
            json_array_append_new(files,
                                  json_pack("{s:o, s:I}", "name",
                                            json_text(heads->buffer[i].name, strlen(heads->buffer[i].name)),
                                            "bytes", (json_int_t)heads->buffer[i].size));
        json_object_update_new(found, json_pack("{s:I, s:I, s:o}", "missing_bytes", (json_int_t)heads->bytes,
                                                "fetched_bytes", (json_int_t)heads->fetched, "files", files));
    }
    return found;
}
