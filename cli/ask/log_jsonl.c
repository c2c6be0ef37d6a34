/* SPDX-License-Identifier: Apache-2.0 */
/* log_jsonl.c: what --log-jsonl asks for, see converse.h. A line is one write behind the end of the file, so
 * that several processes may share a log. */
#define _POSIX_C_SOURCE 200809L
#include "ask/converse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "term/message.h"

/* Consumes the members, which are NULL when memory is out. */
static char *line_of(const char *event, json_t *members)
{
    time_t now = time(NULL);
    struct tm utc;
    char when[24] = "", *text = NULL;

    if (gmtime_r(&now, &utc))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
    json_t *line = json_pack("{s:s, s:s}", "event", event, "time", when);
    if (line && members && json_object_update(line, members) == 0)
        text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(members);
    json_decref(line);
    return text;
}

static void append_line(struct converse *c, const char *event, json_t *members)
{
    const char *path = c->o->answer->log_jsonl;
    char *line = line_of(event, members);
    size_t n = line ? strlen(line) : 0;
    int fd = strcmp(path, "-") == 0 ? dup(STDOUT_FILENO)
                                    : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);

    errno = line ? errno : ENOMEM;
    if (line)
        line[n] = '\n'; /* in place of its end: the length is known */
    bool good = fd >= 0 && line && write(fd, line, n + 1) == (ssize_t)(n + 1);
    if (!good) {
        term_note("--log-jsonl: %s: cannot be written: %s; nothing more is logged", path, strerror(errno));
        c->log_failed = true;
    }
    if (fd >= 0)
        close(fd);
    free(line);
}

static bool logs(const struct converse *c)
{
    return c->o->answer->log_jsonl && !c->log_failed;
}

void log_load(struct converse *c)
{
    if (logs(c))
        append_line(c, "load",
                    json_pack("{s:s, s:i, s:s, s:s, s:f, s:i}", "carat", carat_version(), "numerics",
                              CARAT_NUMERICS_VERSION, "architecture", c->info.architecture, "container",
                              c->info.container, "ms", c->load_s * 1e3, "context",
                              carat_engine_context(c->engine)));
}

void log_prompt(struct converse *c, int tokens)
{
    if (logs(c))
        append_line(c, "prompt",
                    json_pack("{s:i, s:i, s:f}", "tokens", tokens, "evaluated", c->evaluated, "ms",
                              c->prompt_s * 1e3));
}

void log_generation(struct converse *c)
{
    const carat_sampling *s = &c->sampling;
    const carat_generation_info *info = &c->generation;

    if (logs(c))
        append_line(c, "generation",
                    json_pack("{s:i, s:i, s:i, s:i, s:i, s:f, s:I, s:f, s:i, s:f, s:f, s:s}", "tokens",
                              info->given, "thought_tokens", info->thought_ids, "passes", info->passes,
                              "drafted", info->drafted, "accepted", info->accepted, "ms",
                              c->generation_s * 1e3, "seed", (json_int_t)s->seed, "temperature",
                              (double)s->temperature, "top_k", s->top_k, "top_p", (double)s->top_p, "min_p",
                              (double)s->min_p, "stop", c->stop));
}
