/* SPDX-License-Identifier: Apache-2.0 */
/* written.c: no file that an option writes may be one that the command reads. Files are compared by device
 * and inode: links and other spellings of a path lead to the same one. What a model was read from is the
 * library's to say. */
#define _POSIX_C_SOURCE 200809L
#include "options/written.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "carat_tools.h"
#include "options/options.h"
#include "term/exit.h"
#include "term/message.h"

/* The value of an option that names a file; NULL when it is not given. */
static const char *value_of(const struct options *o, const struct option *option)
{
    return *(const char *const *)((const char *)o + option->field);
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
static const char *read_by(const struct options *o, const struct option *option)
{
    bool ids = option->kind == TEXT && option->field == offsetof(struct options, ids);
    const char *value = option->kind == READS || option->kind == PATH || option->kind == MODEL || ids
                            ? value_of(o, option)
                            : NULL;

    if (value && ids)
        return *value == '@' ? value + 1 : NULL;
    return value && option->kind == MODEL && strcmp(value, "tiny") == 0 ? NULL : value;
}

/* What a file is for, after "is what". */
static const char *use(const struct option *option)
{
    static char text[64];

    if (option->kind == MODEL)
        return "the model is read from";
    snprintf(text, sizeof text, "%s %s", option->names[0], option->kind == WRITES ? "writes, too" : "reads");
    return text;
}

/* One option that writes, against all others of the verb. */
static int check_one(const struct options *o, enum verb verb, const struct option *writes)
{
    const char *path = value_of(o, writes);
    struct stat written, other;
    bool there = identify(path, STDOUT_FILENO, &written);

    for (int i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        bool too = option > writes && option->kind == WRITES;
        const char *value = !(option->verbs & ON(verb)) ? NULL
                            : too                       ? value_of(o, option)
                                                        : read_by(o, option);
        if (!value)
            continue;
        if ((too && strcmp(value, path) == 0) ||
            (there && identify(value, too ? STDOUT_FILENO : STDIN_FILENO, &other) &&
             same_file(&written, &other)))
            return fail(USAGE, "%s: option %s: %s is what %s: name another file", verb_texts[verb].name,
                        writes->names[0], path, use(option));
    }
    return DONE;
}

int check_written(const struct options *o, enum verb verb)
{
    int code = DONE;

    for (int i = 0; i < option_count && code == DONE; i++) {
        const struct option *option = &option_table[i];
        if (option->verbs & ON(verb) && option->kind == WRITES && value_of(o, option))
            code = check_one(o, verb, option);
    }
    return code;
}

int check_spares_model(const struct options *o, const carat_model *model)
{
    for (int i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        const char *path = option->kind == WRITES ? value_of(o, option) : NULL;
        if (path && carat_model_reads(model, path))
            return fail(USAGE, "option %s: %s is what the model is read from: name another file",
                        option->names[0], path);
    }
    return DONE;
}
