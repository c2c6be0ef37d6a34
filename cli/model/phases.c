/* SPDX-License-Identifier: Apache-2.0 */
/* phases.c: see phases.h. The file comes with a model and is trusted as little as one: it is read whole when
 * it is small, and whatever it has that carat does not know is refused with its place. It is never
 * written. */
#define _POSIX_C_SOURCE 200809L
#include "model/phases.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <jansson.h>

#include "carat_tools.h"
#include "model/engine.h"
#include "names/located.h"
#include "term/message.h"

#define NAME "carat.json"
enum { MOST_FILE = 64 << 10 };

static const char *const phase_names[N_PHASE] = {"prefill", "decode"};

/* ---- what it says ---- */

static int take_number(const struct phases *p, const char *place, const json_t *value, int most, int *to)
{
    json_int_t n = json_integer_value(value);

    if (!json_is_integer(value) || n < 0 || n > most)
        return term_fail(USAGE, "%s: %s: expected a number from 0 to %d", p->path, place, most);
    *to = (int)n;
    return DONE;
}

static int take_level(const struct phases *p, const char *place, const json_t *value,
                      struct phase_settings *s)
{
    const char *name = json_string_value(value);

    for (int i = 0; name && carat_isa_name(i); i++)
        if (strcmp(carat_isa_name(i), name) == 0) {
            snprintf(s->isa, sizeof s->isa, "%s", name);
            return DONE;
        }
    return term_fail(USAGE, "%s: %s: expected a level of kernels, as --isa takes them", p->path, place);
}

static int take_phase(const struct phases *p, const char *phase, const json_t *object,
                      struct phase_settings *s)
{
    const char *key;
    json_t *value;
    int code = DONE;

    if (!json_is_object(object))
        return term_fail(USAGE, "%s: %s: expected an object", p->path, phase);
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        char place[64];
        snprintf(place, sizeof place, "%s.%.40s", phase, key);
        if (strcmp(key, "chunk") == 0)
            code = take_number(p, place, value, MOST_CHUNK, &s->chunk);
        else if (strcmp(key, "threads") == 0)
            code = take_number(p, place, value, MOST_THREADS, &s->threads);
        else if (strcmp(key, "isa") == 0)
            code = take_level(p, place, value, s);
        else
            code =
                term_fail(USAGE, "%s: %s: no such setting, expected chunk, threads or isa", p->path, place);
        if (code != DONE)
            return code;
    }
    return DONE;
}

static int take_text(struct phases *p, const char *text, size_t n)
{
    json_error_t e;
    json_t *all = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e), *value;
    const char *key;
    int code = DONE;

    if (!all)
        return term_fail(USAGE, "%s:%d:%d: %s", p->path, e.line, e.column, e.text);
    if (!json_is_object(all))
        code = term_fail(USAGE, "%s: expected an object with prefill and decode", p->path);
    json_object_foreach(all, key, value)
    {
        int phase = 0;
        while (phase < N_PHASE && strcmp(key, phase_names[phase]) != 0)
            phase++;
        if (phase == N_PHASE)
            code = term_fail(USAGE, "%s: %.40s: no such part, expected prefill or decode", p->path, key);
        else
            code = take_phase(p, key, value, &p->file[phase]);
        if (code != DONE)
            break;
    }
    json_decref(all);
    return code;
}

/* ---- the file ---- */

/* Beside the weights: in the directory of a model, or in that of its file. False: it cannot be there. */
static bool place_file(struct phases *p, const char *model)
{
    const char *slash = strrchr(model, '/');
    struct stat st;
    int n;

    if (stat(model, &st) != 0)
        return false;
    if (S_ISDIR(st.st_mode))
        n = snprintf(p->path, sizeof p->path, "%s/" NAME, model);
    else
        n = snprintf(p->path, sizeof p->path, "%.*s" NAME, slash ? (int)(slash - model) + 1 : 0, model);
    return n < (int)sizeof p->path;
}

static int read_file(struct phases *p, int fd)
{
    static char text[MOST_FILE + 1];
    size_t n = 0;
    ssize_t got;
    struct stat st;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return term_fail(USAGE, "%s: it is not a regular file", p->path);
    while (n < sizeof text && (got = read(fd, text + n, sizeof text - n)) != 0) {
        if (got < 0)
            return term_fail(FAILED, "%s: %s", p->path, strerror(errno));
        n += (size_t)got;
    }
    if (n > MOST_FILE)
        return term_fail(USAGE, "%s: it has more than %d bytes", p->path, MOST_FILE);
    return take_text(p, text, n);
}

int phases_read(struct phases *p, const struct options *o)
{
    carat_location at;
    bool looks = false;

    *p = (struct phases){.o = o};
    carat_location_default(&at);
    if (!o->engine->no_profile && is_located(o->model)) {
        TRY(look_for_model(&at, o->model));
        looks = at.path && place_file(p, at.snapshot ? at.snapshot : at.path);
        carat_location_free(&at);
    }
    int fd = looks ? open(p->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;

    if (looks && fd < 0 && errno != ENOENT && errno != ENOTDIR)
        return term_fail(FAILED, "%s: %s", p->path, strerror(errno));
    if (fd < 0) {
        p->path[0] = 0;
        return DONE;
    }
    int code = read_file(p, fd);
    close(fd);
    return code;
}

/* ---- what holds ---- */

/* The defaults of an engine. */
static int default_threads(void)
{
    carat_host_info host;
    carat_host_info_default(&host);

    return carat_get_host(&host, NULL) == CARAT_OK ? host.threads : 0;
}

void phases_options(const struct phases *p, carat_engine_options *e)
{
    const struct phase_settings *prefill = &p->file[PREFILL_PHASE], *decode = &p->file[DECODE_PHASE];
    const struct options *o = p->o;

    engine_options(e, o);
    e->threads = o->engine->threads_batch ? o->engine->threads_batch
                 : o->engine->threads     ? o->engine->threads
                                          : prefill->threads;
    e->decode_threads = o->engine->threads ? o->engine->threads : decode->threads;
    if (o->engine->threads_batch && !e->decode_threads)
        e->decode_threads = default_threads();
    if (!o->engine->chunk) {
        e->chunk = prefill->chunk;
        e->decode_chunk = decode->chunk;
    }
    if (!o->engine->isa) {
        e->isa = *prefill->isa ? prefill->isa : NULL;
        e->decode_isa = *decode->isa ? decode->isa : NULL;
    }
}

int phases_engine(struct phases *p, carat_engine_options *e, const struct options *o)
{
    int code = phases_read(p, o);

    phases_options(p, e);
    return code;
}

const char *phases_origin(const struct phases *p, const char *key)
{
    const char *dot = strchr(key, '.');
    int phase = 0;

    while (phase < N_PHASE && strncmp(key, phase_names[phase], strlen(phase_names[phase])) != 0)
        phase++;
    if (!dot || phase == N_PHASE || (size_t)(dot - key) != strlen(phase_names[phase]))
        return NULL;
    const struct phase_settings *own = &p->file[phase], *prefill = &p->file[PREFILL_PHASE];
    const struct options *o = p->o;
    bool threads = strcmp(dot, ".threads") == 0, chunk = strcmp(dot, ".chunk") == 0;
    bool batch = o->engine->threads_batch != 0;
    if (threads ? o->engine->threads || (batch && phase == PREFILL_PHASE)
        : chunk ? o->engine->chunk != 0
                : o->engine->isa != NULL)
        return "option";
    if (threads ? own->threads : chunk ? own->chunk : *own->isa)
        return NAME;
    return threads ? (prefill->threads && !batch ? "as prefill" : "default")
           : chunk ? (prefill->chunk ? "as prefill" : "default")
                   : (*prefill->isa ? "as prefill" : "default");
}
