/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_program.c: see fetch_program.h. */
#define _GNU_SOURCE
#include "names/fetch_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "term/interrupt.h"
#include "term/message.h"
#include "term/progress.h"

extern char **environ;

enum { MOST_PATH = 4096, MOST_RAW = 1 << 20 };

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

bool has_fetch_program(void)
{
    char path[MOST_PATH];

    return find_program(path, sizeof path);
}

/* The environment of the program, without what is secret in it: the plan says that. NULL: out of memory. */
static char **open_environment(void)
{
    static const char *const secrets[] = {
        "HF_TOKEN=", "HUGGING_FACE_HUB_TOKEN=", "KAGGLE_API_TOKEN=", "KAGGLE_KEY="};
    size_t n = 0, kept = 0;

    while (environ[n])
        n++;
    char **open = calloc(n + 1, sizeof *open);
    for (size_t i = 0; i < n && open; i++) {
        bool secret = false;
        for (size_t k = 0; k < sizeof secrets / sizeof secrets[0]; k++)
            secret |= strncmp(environ[i], secrets[k], strlen(secrets[k])) == 0;
        if (!secret)
            open[kept++] = environ[i];
    }
    return open;
}

static void forget_token(json_t *plan)
{
    const char *token = json_string_value(json_object_get(plan, "token"));

    if (token)
        explicit_bzero((char *)(uintptr_t)token, strlen(token));
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
    char **open;

    if (!find_program(path, sizeof path))
        return term_fail(FAILED,
                         "carat-fetch is not beside this command: it was built without libcurl (Debian: "
                         "libcurl4-openssl-dev, libssl-dev and zlib1g-dev)");
    open = open_environment();
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        error = errno;
    else if (open && posix_spawn_file_actions_init(&files) == 0) {
        posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
        error = posix_spawn(&p->pid, path, &files, NULL, words, open);
        posix_spawn_file_actions_destroy(&files);
    }
    free(open);
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
    return term_fail(FAILED, "%s: cannot be started: %s", path, strerror(error ? error : ENOMEM));
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
        return term_fail(FAILED, "carat-fetch ended without a word");
    return code;
}

/* The bytes behind a line that says how many they are. */
static int take_raw(json_t *event, FILE *from)
{
    const json_t *raw = json_object_get(event, "raw");
    const json_int_t n = json_integer_value(raw);
    int code = DONE;

    if (!raw)
        return DONE;
    char *bytes = n > 0 && n <= MOST_RAW ? malloc((size_t)n) : NULL;
    if (!bytes || fread(bytes, 1, (size_t)n, from) != (size_t)n)
        code = term_interrupted() ? INTERRUPTED : term_fail(FAILED, "carat-fetch says less than it promised");
    else if (json_object_set_new(event, "bytes", json_stringn_nocheck(bytes, (size_t)n)) != 0)
        code = fail_memory();
    free(bytes);
    return code;
}

int fetch_program(json_t *plan, fetch_hear hear, void *user)
{
    struct program p;
    char *text = json_dumps(plan, JSON_COMPACT), *line = NULL;
    size_t capacity = 0;
    bool ends = false;
    int code = text ? start_program(&p) : fail_memory();

    forget_token(plan);
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
    explicit_bzero(text, strlen(text)); /* it has the token */
    free(text);
    close(p.to);
    while (code == DONE && !term_interrupted() && getline(&line, &capacity, p.from) > 0) {
        json_t *event = json_loads(line, 0, NULL);
        const char *name = json_string_value(json_object_get(event, "event"));
        if (!name)
            code = term_fail(FAILED, "carat-fetch says what is not understood");
        else if (strcmp(name, "error") == 0) {
            progress_hide();
            ends = true;
            code = (int)json_integer_value(json_object_get(event, "code"));
            code = term_fail(code, "%s%s", json_string_value(json_object_get(event, "message")),
                             code == NO_CONNECTION ? "; models on this machine need none" : "");
        } else if ((code = take_raw(event, p.from)) == DONE) {
            code = hear(user, name, event);
        }
        json_decref(event);
    }
    free(line);
    if (code == DONE && term_interrupted())
        code = INTERRUPTED;
    return end_program(&p, code, ends);
}
