/* SPDX-License-Identifier: Apache-2.0 */
/* tool_command.c: one run of the user's program that answers a call. Nothing that the model wrote becomes a
 * word of a command line: it goes through standard input only. */
#define _GNU_SOURCE /* pipe2, POSIX_SPAWN_SETPGROUP */
#include "prompt/tool_command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "term/clock.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/utf8.h"

extern char **environ;

struct tool {
    const char *name; /* the first word */
    pid_t pid;
    int to, from; /* its standard input and output; -1: closed */
    const char *call;
    size_t n_call, written;
    char *result;
    size_t n; /* bytes of it */
    double end;
};

/* ---- starting ---- */

/* The words of a command, separated by spaces and tabs; NULL: memory is out. Free the list and list[0], which
 * has the bytes of all. */
static char **split_words(const char *command)
{
    char *bytes = strdup(command), *rest = bytes, *word;
    char **list = calloc(strlen(command) / 2 + 3, sizeof *list);
    size_t n = 1;

    if (!bytes || !list) {
        free(bytes);
        free(list);
        return NULL;
    }
    list[0] = bytes; /* freed by this, also when the command begins with a space */
    while ((word = strtok_r(rest, " \t", &rest)))
        list[n++] = word;
    return list;
}

/* The program has a process group of its own, so that what it starts ends with it, and obeys signals as
 * usual. */
static int spawn_tool(struct tool *t, char **words, int in, int out)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, usual;

    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGINT);
    if (posix_spawn_file_actions_init(&files) != 0)
        return ENOMEM;
    if (posix_spawnattr_init(&how) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return ENOMEM;
    }
    posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &usual);
    int error = posix_spawnp(&t->pid, words[0], &files, &how, words, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int start_tool(struct tool *t, char **words)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    int error = pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 ? errno : 0;

    if (!error)
        error = spawn_tool(t, words, in[0], out[1]);
    close_end(&in[0]);
    close_end(&out[1]);
    t->to = in[1];
    t->from = out[0];
    if (!error)
        return DONE;
    close_end(&t->to);
    close_end(&t->from);
    return term_fail(FAILED, "--tool-command: cannot start %s: %s", t->name, strerror(error));
}

/* ---- talking ---- */

static void write_call(struct tool *t)
{
    ssize_t n = write(t->to, t->call + t->written, t->n_call - t->written);

    if (n > 0)
        t->written += (size_t)n;
    if ((n < 0 && errno != EAGAIN && errno != EINTR) || t->written == t->n_call)
        close_end(&t->to); /* a program need not read its call */
}

static int read_result(struct tool *t)
{
    ssize_t n = read(t->from, t->result + t->n, TOOL_BYTES + 1 - t->n);

    if (n > 0)
        t->n += (size_t)n;
    if (t->n > TOOL_BYTES)
        return term_fail(FAILED,
                         "--tool-command: %s wrote more than %d bytes, which is more than a result may have",
                         t->name, TOOL_BYTES);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_end(&t->from);
    return DONE;
}

/* Until the program has closed its output, failed to, or taken too long. */
static int talk_to(struct tool *t)
{
    int code = DONE;

    fcntl(t->to, F_SETFL, O_NONBLOCK);
    while (code == DONE && t->from >= 0) {
        struct pollfd ends[2] = {{.fd = t->from, .events = POLLIN}, {.fd = t->to, .events = POLLOUT}};
        if (term_interrupted())
            return INTERRUPTED;
        if (term_seconds() > t->end)
            return term_fail(FAILED, "--tool-command: %s gave no result in %d s", t->name, TOOL_SECONDS);
        if (poll(ends, 2, 100) < 0 && errno != EINTR)
            return term_fail(FAILED, "--tool-command: %s: %s", t->name, strerror(errno));
        if (t->to >= 0 && ends[1].revents)
            write_call(t);
        if (ends[0].revents)
            code = read_result(t);
    }
    return code;
}

/* It has closed its output and should end. */
static int wait_for(struct tool *t)
{
    int status;
    pid_t ended;

    while ((ended = waitpid(t->pid, &status, WNOHANG)) == 0) {
        if (term_interrupted())
            return INTERRUPTED;
        if (term_seconds() > t->end)
            return term_fail(FAILED, "--tool-command: %s closed its output and did not end in %d s", t->name,
                             TOOL_SECONDS);
        poll(NULL, 0, 5);
    }
    t->pid = 0;
    if (ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return DONE;
    if (ended > 0 && WIFSIGNALED(status))
        return term_fail(FAILED, "--tool-command: %s was ended by signal %d", t->name, WTERMSIG(status));
    return term_fail(FAILED, "--tool-command: %s ended with code %d, expected 0", t->name,
                     ended > 0 ? WEXITSTATUS(status) : -1);
}

static void end_tool(struct tool *t, pid_t group)
{
    close_end(&t->to);
    close_end(&t->from);
    kill(-group, SIGKILL); /* what it has started, too */
    if (t->pid > 0)
        waitpid(t->pid, NULL, 0);
}

static int run_tool(struct tool *t, char **words)
{
    int code = start_tool(t, words);
    pid_t group = t->pid;

    if (code != DONE)
        return code;
    code = talk_to(t);
    if (code == DONE)
        code = wait_for(t);
    end_tool(t, group);
    return code;
}

/* Text without newlines at its end. */
static int check_result(struct tool *t)
{
    while (t->n > 0 && t->result[t->n - 1] == '\n')
        t->n--;
    t->result[t->n] = 0;
    if (strlen(t->result) != t->n)
        return term_fail(FAILED,
                         "--tool-command: %s wrote a NUL byte at offset %zu of its result, expected text",
                         t->name, strlen(t->result));
    size_t good = utf8_valid(t->result, t->n);
    if (good != t->n)
        return term_fail(
            FAILED, "--tool-command: %s wrote byte 0x%02x at offset %zu of its result, which is not UTF-8",
            t->name, (unsigned char)t->result[good], good);
    return DONE;
}

int tool_command(const char *command, const char *call, char **result)
{
    char **words = split_words(command);
    size_t n = strlen(call);
    char *line = malloc(n + 2);
    struct tool t = {
        .to = -1, .from = -1, .result = malloc(TOOL_BYTES + 1), .end = term_seconds() + TOOL_SECONDS};
    int code = DONE;

    if (!words || !line || !t.result) {
        code = fail_memory();
    } else if (!words[1]) {
        code = term_fail(USAGE, "--tool-command is empty, expected a program and its arguments");
    } else {
        memcpy(line, call, n);
        memcpy(line + n, "\n", 2);
        t.call = line;
        t.n_call = n + 1;
        t.name = words[1];
        code = run_tool(&t, words + 1);
    }
    if (code == DONE)
        code = check_result(&t);
    if (code == DONE)
        *result = t.result;
    else
        free(t.result);
    free(line);
    if (words)
        free(words[0]);
    free(words);
    return code;
}

int tool_answer_calls(const char *command, struct talk *talk)
{
    int code = DONE;

    while (code == DONE && talk_awaits(talk)) {
        char *call = talk_awaited_call(talk), *result = NULL;
        code = call ? tool_command(command, call, &result) : fail_memory();
        if (code == DONE)
            code = talk_add_result(talk, result);
        free(call);
        free(result);
    }
    return code;
}
