/* SPDX-License-Identifier: Apache-2.0 */
/* fetcher.c: talks with carat-fetch: a plan in JSON on its standard input, events back from it, a line each
 * (fetch/report.h). First it tells the files of a repository; the library says which of them make the model;
 * then it fetches those. */
#define _GNU_SOURCE
#include "model/fetcher.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/located.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/progress.h"
#include "term/size.h"

extern char **environ;

enum { MOST_TOKEN = 1000, MOST_PATH = 4096 };

/* ---- the program ---- */

/* Beside the command, as it was built; or where both are installed. */
static bool find_program(char *path, size_t capacity)
{
    static const char *const places[] = {"carat-fetch", "../libexec/carat/carat-fetch"};
    char own[MOST_PATH];
    const ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);

    if (n <= 0)
        return false;
    own[n] = 0;
    char *slash = strrchr(own, '/');
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (snprintf(path, capacity, "%.*s/%s", (int)(slash - own), own, places[i]) < (int)capacity &&
            access(path, X_OK) == 0)
            return true;
    return false;
}

struct program {
    pid_t pid;
    int to;
    FILE *from;
};

static int start_program(struct program *p)
{
    char path[MOST_PATH];
    char *words[] = {path, NULL};
    posix_spawn_file_actions_t files;
    int in[2] = {-1, -1}, out[2] = {-1, -1}, error = ENOMEM;

    if (!find_program(path, sizeof path))
        return fail(FAILED, "carat-fetch is not beside this command: it was built without libcurl (Debian: "
                            "libcurl4-openssl-dev and libssl-dev)");
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        error = errno;
    else if (posix_spawn_file_actions_init(&files) == 0) {
        posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
        error = posix_spawn(&p->pid, path, &files, NULL, words, environ);
        posix_spawn_file_actions_destroy(&files);
    }
    if (in[0] >= 0)
        close(in[0]);
    if (out[1] >= 0)
        close(out[1]);
    p->to = in[1];
    p->from = error ? NULL : fdopen(out[0], "re");
    if (p->from)
        return DONE;
    if (out[0] >= 0)
        close(out[0]);
    if (in[1] >= 0)
        close(in[1]);
    return fail(FAILED, "%s: cannot be started: %s", path, strerror(error ? error : ENOMEM));
}

/* ends: it has said why it ends, and does what is left to do. */
static int end_program(struct program *p, int code, bool ends)
{
    int status = 0;

    if (code != DONE && !ends)
        kill(p->pid, SIGTERM);
    fclose(p->from);
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (code == DONE && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
        return fail(FAILED, "carat-fetch ended without a word");
    return code;
}

/* Sends the plan, which it takes over, and hears what comes of it until `hear` returns another code. */
static int run_program(json_t *plan, int (*hear)(void *user, const char *event, json_t *line), void *user)
{
    struct program p;
    char *text = json_dumps(plan, JSON_COMPACT), *line = NULL;
    size_t capacity = 0;
    bool ends = false;
    int code = text ? start_program(&p) : fail_memory();

    json_decref(plan);
    if (code != DONE) {
        free(text);
        return code;
    }
    for (size_t at = 0, n = strlen(text); at < n;) {
        const ssize_t put = write(p.to, text + at, n - at);
        if (put < 0 && errno != EINTR)
            break; /* it says why it did not listen */
        at += put > 0 ? (size_t)put : 0;
    }
    memset(text, 0, strlen(text)); /* it has the token */
    free(text);
    close(p.to);
    while (code == DONE && !interrupted() && getline(&line, &capacity, p.from) > 0) {
        json_t *event = json_loads(line, 0, NULL);
        const char *name = json_string_value(json_object_get(event, "event"));
        if (!name)
            code = fail(FAILED, "carat-fetch says what is not understood");
        else if (strcmp(name, "error") == 0) {
            progress_hide();
            ends = true;
            code = fail((int)json_integer_value(json_object_get(event, "code")), "%s",
                        json_string_value(json_object_get(event, "message")));
        } else {
            code = hear(user, name, event);
        }
        json_decref(event);
    }
    free(line);
    if (code == DONE && interrupted())
        code = INTERRUPTED;
    return end_program(&p, code, ends);
}

/* ---- plans ---- */

static bool read_token(char token[MOST_TOKEN], const char *path)
{
    FILE *f = fopen(path, "re");
    const bool read = f && fscanf(f, "%999s", token) == 1;

    if (f)
        fclose(f);
    return read;
}

/* As huggingface_hub looks for it. */
static void find_token(char token[MOST_TOKEN])
{
    const char *given = getenv("HF_TOKEN"), *file = getenv("HF_TOKEN_PATH"), *home = getenv("HF_HOME"),
               *implicit = getenv("HF_HUB_DISABLE_IMPLICIT_TOKEN");
    char path[MOST_PATH] = "";

    *token = 0;
    if (implicit && strcmp(implicit, "1") == 0)
        return;
    if (given && *given) {
        snprintf(token, MOST_TOKEN, "%s", given);
        return;
    }
    if (file && *file)
        snprintf(path, sizeof path, "%s", file);
    else if (home && *home)
        snprintf(path, sizeof path, "%s/token", home);
    else if ((home = getenv("XDG_CACHE_HOME")) && *home)
        snprintf(path, sizeof path, "%s/huggingface/token", home);
    else if ((home = getenv("HOME")) && *home)
        snprintf(path, sizeof path, "%s/.cache/huggingface/token", home);
    if (*path && !read_token(token, path))
        *token = 0;
}

static json_t *begin_plan(const char *what, const carat_location *at)
{
    const char *endpoint = getenv("HF_ENDPOINT");
    char address[MOST_PATH], token[MOST_TOKEN];

    snprintf(address, sizeof address, "%s", endpoint && *endpoint ? endpoint : "https://huggingface.co");
    while (*address && address[strlen(address) - 1] == '/')
        address[strlen(address) - 1] = 0;
    find_token(token);
    json_t *plan = json_pack("{s:s, s:s, s:s, s:s, s:s}", "do", what, "endpoint", address, "repository",
                             at->repository, "revision", at->revision, "token", token);
    memset(token, 0, sizeof token);
    return plan;
}

/* ---- what is there to fetch ---- */

struct listing {
    json_t *files; /* objects with name, bytes, hash */
    char commit[80];
};

static int hear_listing(void *user, const char *event, json_t *line)
{
    struct listing *l = user;

    if (strcmp(event, "listed") == 0)
        snprintf(l->commit, sizeof l->commit, "%s", json_string_value(json_object_get(line, "commit")));
    else if (strcmp(event, "file") == 0 && json_array_append(l->files, line) != 0)
        return fail_memory();
    return DONE;
}

/* Leaves the files that make the model. */
static int choose_files(struct listing *l, const carat_location *at)
{
    const size_t n = json_array_size(l->files);
    const char **names = calloc(n + 1, sizeof *names);
    int *wanted = calloc(n + 1, sizeof *wanted);
    carat_error err;
    int code = names && wanted ? DONE : fail_memory();

    for (size_t i = 0; i < n && code == DONE; i++)
        names[i] = json_string_value(json_object_get(json_array_get(l->files, i), "name"));
    if (code == DONE && carat_choose_files(at->repository, names, (int)n, at->part, wanted, &err) != CARAT_OK)
        code = fail_open(&err);
    for (size_t i = n; i-- > 0 && code == DONE;)
        if (!wanted[i])
            json_array_remove(l->files, i);
    free(names);
    free(wanted);
    return code;
}

static int hear_progress(void *user, const char *event, json_t *line)
{
    if (strcmp(event, "progress") == 0)
        progress_update(user, (size_t)json_integer_value(json_object_get(line, "done")) >> 10,
                        (size_t)json_integer_value(json_object_get(line, "total")) >> 10);
    return DONE;
}

static bool is_offline(void)
{
    static const char *const variables[] = {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"};

    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);
        if (value && *value && strcmp(value, "0") != 0 && strcasecmp(value, "false") != 0 &&
            strcasecmp(value, "no") != 0 && strcasecmp(value, "off") != 0)
            return true;
    }
    return false;
}

/* "1.2 GB" of all its files. */
static void tell_size(const struct listing *l, const carat_location *at, const char *hub)
{
    double bytes = 0;
    char size[SIZE_TEXT];
    size_t i;
    json_t *file;

    json_array_foreach(l->files, i, file) bytes += (double)json_integer_value(json_object_get(file, "bytes"));
    note("%s, commit %.12s: %zu files, %s, into %s", at->repository, l->commit, json_array_size(l->files),
         size_text(size, bytes), hub);
}

int fetch_model(const carat_location *at)
{
    char hub[MOST_PATH];
    struct listing l = {.files = NULL};
    struct progress bar;

    if (is_offline())
        return fail(
            NOT_FOUND,
            "%s is not on this machine, and HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE forbids to fetch it",
            at->repository);
    if (!find_hub(hub, sizeof hub))
        return fail(FAILED, "there is no place for models: HOME is not set, nor HF_HUB_CACHE");
    l.files = json_array();
    int code = run_program(begin_plan("list", at), hear_listing, &l);
    if (code == DONE)
        code = choose_files(&l, at);
    if (code == DONE) {
        json_t *plan = begin_plan("get", at);
        json_object_set_new(plan, "root", json_string(hub));
        json_object_set_new(plan, "commit", json_string(l.commit));
        json_object_set(plan, "files", l.files);
        tell_size(&l, at, hub);
        progress_begin(&bar, "fetching", "MB");
        bar.scale = KIB_IN_MB;
        code = run_program(plan, hear_progress, &bar);
        progress_end(&bar);
    }
    json_decref(l.files);
    return code;
}
