/* SPDX-License-Identifier: Apache-2.0 */
/* aliases.c: see aliases.h. The file is read anew for each question: it is small, and mostly not there. */
#define _POSIX_C_SOURCE 200809L
#include "names/aliases.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/object.h"
#include "io/save.h"
#include "term/message.h"

enum { PATH_TEXT = 4096 };

bool aliases_path(char *path, size_t capacity)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    const bool set = config && *config == '/';

    if (!set && !(home && *home))
        return false;
    return snprintf(path, capacity, "%s%s/carat/names.json", set ? config : home, set ? "" : "/.config") <
           (int)capacity;
}

/* Reads the file of names. A damaged file names nothing. */
static json_t *read_file(const char *path)
{
    char why[OBJECT_WHY];
    json_t *all = object_read(path, why);

    if (!all)
        term_note("%s: %s", path, why);
    return all ? all : json_object();
}

json_t *aliases_read(void)
{
    char path[PATH_TEXT];

    return aliases_path(path, sizeof path) ? read_file(path) : json_object();
}

bool alias_target(char target[MOST_TARGET], const char *name)
{
    if (strchr(name, '/') || strlen(name) > MOST_ALIAS)
        return false;
    json_t *all = aliases_read();
    const char *found = json_string_value(json_object_get(all, name));
    const bool good = found && *found && snprintf(target, MOST_TARGET, "%s", found) < MOST_TARGET;

    json_decref(all);
    return good;
}

/* Makes the folders of a path. */
static int make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        const int made = mkdir(path, 0777), why = errno;
        if (made != 0 && why != EEXIST)
            return term_fail(FAILED, "%s: cannot be made: %s", path, strerror(why));
        *slash = '/';
    }
    return DONE;
}

int aliases_write(const json_t *aliases)
{
    char path[PATH_TEXT];
    struct save s;

    if (!aliases_path(path, sizeof path))
        return term_fail(FAILED, "there is no place for names: HOME is not set, nor XDG_CONFIG_HOME");
    TRY(make_folders(path));
    TRY(save_open(&s, path));
    if (json_dumpf(aliases, s.file, JSON_INDENT(2) | JSON_SORT_KEYS) != 0 || fputc('\n', s.file) == EOF) {
        const int code = save_failed(&s);
        save_abandon(&s);
        return code;
    }
    return save_close(&s);
}
