/* SPDX-License-Identifier: Apache-2.0 */
/* written.c: the files that options name: whether those are there that are read, and those can be made that
 * are written; and no file that an option writes may be one that the command reads. Files are compared by
 * device and inode: links and other spellings of a path lead to the same one. What a model was read from is
 * the library's to say. */
#define _POSIX_C_SOURCE 200809L
#include "options/written.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "carat_tools.h"
#include "io/input.h"
#include "io/save.h"
#include "options/store.h"
#include "term/message.h"

/* The value of an option that names a file; NULL when it is not given. */
static const char *value_of(const struct options *o, const struct option_row *row)
{
    return *(const char *const *)option_field(o, row);
}

/* A regular file, which writing would empty; "-" is the descriptor. */
static bool identify(const char *path, int descriptor, struct stat *s)
{
    bool there = strcmp(path, "-") == 0 ? fstat(descriptor, s) == 0 : stat(path, s) == 0;
    return there && S_ISREG(s->st_mode);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The path that an option reads: also one behind the @ of --ids. NULL: none. */
static const char *read_by(const struct options *o, const struct option_row *row)
{
    const enum option_kind kind = row->option->kind;
    const char *value =
        kind == READS || kind == PATH || kind == MODEL || kind == IDS ? value_of(o, row) : NULL;

    if (value && kind == IDS)
        return *value == '@' ? value + 1 : NULL;
    return value && kind == MODEL && strcmp(value, "tiny") == 0 ? NULL : value;
}

/* Tells what a file is for, in words that follow "is what". */
static const char *use(const struct option *option)
{
    static char text[64];

    if (option->kind == MODEL)
        return "the model is read from";
    snprintf(text, sizeof text, "%s %s", option->names[0], option->kind == WRITES ? "writes, too" : "reads");
    return text;
}

/* One option that writes, against all others of the verb. */
static int check_one(const struct options *o, const struct option_row *writes)
{
    const char *path = value_of(o, writes);
    struct stat written, other;
    bool there = identify(path, STDOUT_FILENO, &written);

    for (const struct option_row *r = table_rows(); r->option; r++) {
        bool too = r > writes && r->option->kind == WRITES;
        const char *value = !verb_belongs(r->option->verbs, o->verb) ? NULL
                            : too                                    ? value_of(o, r)
                                                                     : read_by(o, r);
        if (!value)
            continue;
        if ((too && strcmp(value, path) == 0) ||
            (there && identify(value, too ? STDOUT_FILENO : STDIN_FILENO, &other) &&
             same_file(&written, &other)))
            return term_fail(USAGE, "%s: option %s: %s is what %s: name another file", o->verb->name,
                             writes->option->names[0], path, use(r->option));
    }
    return DONE;
}

int check_written(const struct options *o)
{
    int code = DONE;

    for (const struct option_row *r = table_rows(); r->option && code == DONE; r++)
        if (verb_belongs(r->option->verbs, o->verb) && r->option->kind == WRITES && value_of(o, r))
            code = check_one(o, r);
    return code;
}

int check_spares_model(const struct options *o, const carat_model *model)
{
    for (const struct option_row *r = table_rows(); r->option; r++) {
        const char *path = r->option->kind == WRITES ? value_of(o, r) : NULL;
        if (path && carat_model_reads(model, path))
            return term_fail(USAGE, "option %s: %s is what the model is read from: name another file",
                             r->option->names[0], path);
    }
    return DONE;
}

int check_named_files(const struct options *o)
{
    char what[64];
    int code = DONE;

    for (const struct option_row *r = table_rows(); r->option && code == DONE; r++) {
        const struct option *option = r->option;
        bool names_file = option->kind == PATH || option->kind == READS || option->kind == WRITES;
        const char *path = names_file ? value_of(o, r) : NULL;
        if (!path || !verb_belongs(option->verbs, o->verb) ||
            (option->kind != PATH && strcmp(path, "-") == 0))
            continue;
        snprintf(what, sizeof what, "option %s", option->names[option->names[1] != NULL]);
        code = option->kind == WRITES ? check_writable(what, path)
                                      : check_readable(what, path, option->kind == PATH);
    }
    return code;
}
