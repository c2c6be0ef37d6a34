/* SPDX-License-Identifier: Apache-2.0 */
/* cp.c: `carat cp`: another name for a model. No byte of it is copied. */
#define _DEFAULT_SOURCE /* realpath */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "names/aliases.h"
#include "names/located.h"
#include "options/options.h"
#include "term/message.h"
#include "term/output.h"

/* One that every verb would find, and that hides nothing. */
static int check_name(const char *name)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_.:@+";
    carat_location at;

    if (!*name || *name == '-' || *name == '.' || strlen(name) > MOST_ALIAS ||
        strspn(name, letters) != strlen(name))
        return term_fail(USAGE, "cp: '%.80s' cannot be a name: expected letters, digits and - _ . : @ +",
                         name);
    if (strcmp(name, "tiny") == 0)
        return term_fail(USAGE, "cp: tiny is the model inside this command");
    if (access(name, F_OK) == 0)
        return term_fail(USAGE, "cp: %.200s is a file or folder here, which goes before a name", name);
    const int code = look_for_name(&at, name);
    if (code != DONE)
        return code;
    const bool free_ = at.word;
    carat_location_free(&at);
    return free_ ? DONE : term_fail(USAGE, "cp: %.200s is the name of a model already, or of a file", name);
}

/* Finds what the name stands for: a name of a store, or a path from the root. */
static int find_target(char target[MOST_TARGET], const char *typed)
{
    char real[PATH_MAX];
    carat_location at;
    const char *meant = typed;

    if (!is_located(typed))
        return term_fail(USAGE, "cp: %s needs no other name",
                         strcmp(typed, "-") == 0 ? "standard input" : typed);
    TRY(locate_model(&at, typed));
    if (at.named == CARAT_NAMED_PATH && !alias_target(target, typed)) {
        if (!realpath(typed, real)) {
            carat_location_free(&at);
            return term_fail(NOT_FOUND, "%.200s: there is no such file", typed);
        }
        meant = real;
    } else if (alias_target(target, typed)) {
        meant = target;
    }
    carat_location_free(&at);
    if (meant != target && strlen(meant) >= MOST_TARGET)
        return term_fail(USAGE, "cp: the path is too long");
    if (meant != target)
        strcpy(target, meant);
    return DONE;
}

int verb_cp(const struct options *o)
{
    char target[MOST_TARGET];

    TRY(find_target(target, o->model));
    json_t *all = aliases_read();
    int code = all ? DONE : fail_memory();
    if (code == DONE && !json_object_get(all, o->text))
        code = check_name(o->text);
    if (code == DONE && json_object_set_new(all, o->text, json_string(target)) != 0)
        code = term_fail(USAGE, "cp: the path is no UTF-8");
    if (code == DONE)
        code = aliases_write(all);
    json_decref(all);
    if (code == DONE)
        out_print("%s is %s\n", o->text, target);
    return code;
}
