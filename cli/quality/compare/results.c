/* SPDX-License-Identifier: Apache-2.0 */
/* results.c: the file of results in a directory: a line for each prompt, in the order of the data. A line
 * is there when its newline is; a process that is killed leaves whole lines and perhaps the beginning of
 * one, which the next drops. The first line says which run they belong to, and no other goes on with them. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "io/members.h"
#include "quality/compare/dataset.h"
#include "term/exit.h"
#include "term/message.h"

static int results_failed(const struct results *r, const char *what)
{
    return term_fail(FAILED, "%s: cannot be %s: %s", r->path, what, strerror(errno));
}

/* ---- whose they are ---- */

/* Members that have to be the same in a run; the rest changes no number. "options" has nothing but what
 * does. */
static const char *const telling[] = {
    "numerics",     "driver",    "ref.content", "ref.mode", "ref.recorded",
    "test.content", "test.mode", "data.hash",   "data.raw", "data.chat_template"};

static const char *shown_json(const json_t *value, char out[80])
{
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

    snprintf(out, 80, "%s", text ? text : "nothing");
    free(text);
    return out;
}

static int match_member(const struct results *r, const char *name, const json_t *there, const json_t *here)
{
    const json_t *found = field_find(there, name), *wanted = field_find(here, name);
    char a[80], b[80];

    if (found && wanted ? json_equal(found, wanted) : !found && !wanted)
        return DONE;
    return term_fail(FAILED,
                     "%s: holds results of another run: %s is %s there and %s here; --restart begins anew",
                     r->path, name, shown_json(found, a), shown_json(wanted, b));
}

/* All options that one of both has. */
static int match_options(const struct results *r, const json_t *of, const json_t *there, const json_t *here)
{
    char name[128];
    int code = DONE;

    for (void *at = json_object_iter(field_find(of, "options")); at && code == DONE;
         at = json_object_iter_next(field_find(of, "options"), at)) {
        snprintf(name, sizeof name, "options.%s", json_object_iter_key(at));
        code = match_member(r, name, there, here);
    }
    return code;
}

static int match_run(const struct results *r, const struct run *run)
{
    json_t *there = field_find(r->first.value, "run"), *here = fields_json(run_fields, run);
    int code = match_options(r, here, there, here);

    if (code == DONE)
        code = match_options(r, there, there, here);
    for (size_t i = 0; i < sizeof telling / sizeof *telling && code == DONE; i++)
        code = match_member(r, telling[i], there, here);
    json_decref(here);
    return code;
}

/* ---- what is there ---- */

/* The first line, of n bytes, says which run the file is of. */
static int results_first(struct results *r, const char *text, size_t n)
{
    struct result *first = &r->first;

    result_take(first, json_loadb(text, n, JSON_ALLOW_NUL, NULL));
    if (!first->run.there)
        return term_fail(FAILED, "%s: is not a file of results; --restart begins anew in its place", r->path);
    if (first->column[OF_LEFT_OUT] && !first->column[OF_OUTSIDE])
        return term_fail(FAILED,
                         "%s: leaves ids out, and does not say how likely they are; --restart begins anew",
                         r->path);
    return DONE;
}

/* Counts whole lines and finds where they end; a file that begins otherwise is not a results file. */
static int results_find(struct results *r, off_t *whole)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t n;
    int code = DONE;

    *whole = 0;
    while (code == DONE && (n = getline(&line, &capacity, r->file)) > 0) {
        static const char begin[] = "{\"id\":";
        size_t common = (size_t)n < sizeof begin - 1 ? (size_t)n : sizeof begin - 1;
        if (memcmp(line, begin, common) != 0)
            code = term_fail(FAILED, "%s: line %lld is none of results; --restart begins anew in its place",
                             r->path, (long long)r->lines + 1);
        else if (line[n - 1] != '\n')
            break;
        else if (r->lines == 0)
            code = results_first(r, line, (size_t)n);
        r->lines++;
        *whole += n;
    }
    if (code == DONE && ferror(r->file))
        code = results_failed(r, "read");
    free(line);
    return code;
}

static int results_directory(const char *dir)
{
    struct stat s;

    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return term_fail(FAILED, "%s: cannot be made: %s", dir, strerror(errno));
    if (stat(dir, &s) != 0 || !S_ISDIR(s.st_mode))
        return term_fail(FAILED, "%s: is not a directory", dir);
    return DONE;
}

/* Removes what a killed run left of a summary or a report: they get their names when they are whole.
 * The lock keeps other writers away. */
static void results_sweep(const char *dir)
{
    static const char *const begins[] = {"summary.json.", "report.html."};
    DIR *list = opendir(dir);
    struct dirent *entry;

    while (list && (entry = readdir(list)) != NULL) {
        size_t n = strlen(entry->d_name);
        for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
            if (strncmp(entry->d_name, begins[i], strlen(begins[i])) == 0 && n > 5 &&
                strcmp(entry->d_name + n - 5, ".part") == 0)
                unlinkat(dirfd(list), entry->d_name, 0);
        }
    }
    if (list)
        closedir(list);
}

/* data: the file that the prompts come from. */
static int results_lock(struct results *r, const char *data)
{
    int fd = open(r->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    struct stat s, of_data;

    if (fd < 0)
        return results_failed(r, "written");
    r->file = fdopen(fd, "r+b");
    if (!r->file) {
        close(fd);
        return fail_memory();
    }
    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode))
        return term_fail(FAILED, "%s: is not a regular file", r->path);
    if (stat(data, &of_data) == 0 && s.st_dev == of_data.st_dev && s.st_ino == of_data.st_ino)
        return term_fail(USAGE, "%s: is what --dataset reads: name another --out", r->path);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return term_fail(FAILED, "%s: another process writes it", r->path);
    return DONE;
}

int results_open(struct results *r, const char *dir, const char *data, const struct run *run, bool restart)
{
    static const char name[] = "/results.jsonl";
    off_t whole = 0;
    int code = results_directory(dir);

    *r = (struct results){.dir = dir, .path = malloc(strlen(dir) + sizeof name)};
    if (!r->path)
        return fail_memory();
    strcat(strcpy(r->path, dir), name);
    if (code == DONE)
        code = results_lock(r, data);
    if (code == DONE)
        results_sweep(dir);
    if (code == DONE && !restart)
        code = results_find(r, &whole);
    if (code == DONE && r->first.run.there)
        code = match_run(r, run);
    if (code == DONE && (ftruncate(fileno(r->file), whole) != 0 || fseeko(r->file, whole, SEEK_SET) != 0))
        code = results_failed(r, "written");
    if (code != DONE)
        results_close(r);
    return code;
}

int results_add(struct results *r, const char *line, size_t n)
{
    if (fwrite(line, 1, n, r->file) != n || fflush(r->file) != 0)
        return results_failed(r, "written");
    r->lines++;
    return DONE;
}

void results_close(struct results *r)
{
    if (r->file)
        fclose(r->file);
    free(r->path);
    result_free(&r->first);
    *r = (struct results){0};
}
