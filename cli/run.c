/* SPDX-License-Identifier: Apache-2.0 */
/* run.c: `carat run`: a prompt in, text out as it is drawn, speed on stderr at the end. Where the prompt
 * comes from is decided in prompt.c. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calls.h"
#include "carat_generate.h"
#include "prompt.h"

struct generation {
    const struct options *o;
    carat_model *model;
    carat_engine *engine;
    carat_session *session;
    carat_model_info info;
    carat_sampling sampling;
    bool seed_is_random;
    struct conversation talk;
    struct calls calls;
    carat_tokens prompt, ids;
    char *text; /* what was generated, for --json: [n_text], grown */
    size_t n_text, text_capacity;
    char last;        /* last byte of text, for a closing newline */
    const char *stop; /* "stop", "length", "cancelled" */
    bool context_full;
    int not_kept; /* exit code of a timeline that could not be written, or 0 */
    double load_s, prompt_s, generation_s;
    int evaluated, passes; /* tokens of the prompt, and of the text, whose passes these times contain */
};

/* 32 bits are enough to tell runs apart and short enough to type. */
static int64_t random_seed(void)
{
    uint32_t seed;
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && read(fd, &seed, sizeof seed) == (ssize_t)sizeof seed;

    if (fd >= 0)
        close(fd);
    if (!good) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        seed = (uint32_t)now.tv_nsec ^ (uint32_t)now.tv_sec << 12 ^ (uint32_t)getpid();
    }
    return seed;
}

static void set_sampling(struct generation *g)
{
    const struct options *o = g->o;
    carat_sampling *s = &g->sampling;

    carat_sampling_default(g->model, s);
    if (o->temp >= 0)
        s->temperature = (float)o->temp;
    if (o->top_k >= 0)
        s->top_k = o->top_k;
    if (o->top_p >= 0)
        s->top_p = (float)o->top_p;
    if (o->min_p >= 0)
        s->min_p = (float)o->min_p;
    g->seed_is_random = o->seed < 0;
    s->seed = (uint64_t)(g->seed_is_random ? random_seed() : o->seed);
    if (o->ignore_eos)
        s->n_banned = carat_stop_ids(g->model, &s->banned);
}

/* Text goes out at once, or is kept for the JSON object. */
static int emit(void *user, const char *piece, size_t n)
{
    struct generation *g = user;

    if (n == 0)
        return DONE;
    g->last = piece[n - 1];
    if (!g->o->json) {
        out_write(piece, n);
        return out_flush() ? DONE : FAILED;
    }
    if (g->n_text + n > g->text_capacity) {
        size_t capacity = (g->n_text + n) * 2;
        char *text = realloc(g->text, capacity);
        if (!text)
            return fail_memory();
        g->text = text;
        g->text_capacity = capacity;
    }
    memcpy(g->text + g->n_text, piece, n);
    g->n_text += n;
    return DONE;
}

/* Text ends with a newline, wherever it goes and whatever ended it. */
static void end_text(struct generation *g)
{
    if (!g->o->json && g->last != '\n')
        out_print("\n");
    g->last = '\n';
    out_flush();
}

/* What is held of calls has come to its end. A line of its own begins, unless it goes into the JSON
 * object. */
static int emit_calls(struct generation *g)
{
    int code = DONE;

    if (!g->o->json && g->last && g->last != '\n')
        code = emit(g, "\n", 1);
    return code == DONE ? calls_finish(&g->calls, !g->o->json, emit, g) : code;
}

static int emit_id(struct generation *g, int32_t id);

/* An id of a call is kept until the call is whole. */
static int hold_id(struct generation *g, int32_t id)
{
    int code = g->calls.held.n == 0 ? emit_id(g, -1) : DONE;

    if (code == DONE)
        code = calls_hold(&g->calls, id, g->ids.n - 1);
    return code == DONE && id == g->calls.end ? emit_calls(g) : code;
}

/* One generated id, or -1 to flush the bytes that a last incomplete character has left. */
static int emit_id(struct generation *g, int32_t id)
{
    char piece[1024];
    size_t n;

    if (calls_take(&g->calls, id))
        return hold_id(g, id);
    if (g->info.has_tokenizer)
        n = carat_stream_text(g->session, id, piece, sizeof piece);
    else if (id < 0 || g->o->json)
        n = 0;
    else
        n = (size_t)snprintf(piece, sizeof piece, "%s%d", g->ids.n > 1 ? " " : "", (int)id);
    return emit(g, piece, n);
}

/* The message must not stand behind the text. */
static int fail_in_text(struct generation *g, const carat_error *err)
{
    if (g->calls.held.n > 0)
        (void)emit_calls(g);
    if (g->last)
        end_text(g);
    return fail_status(err);
}

/* Draws until something ends it. An exit code; g->stop says what it was. */
static int generate(struct generation *g)
{
    const struct options *o = g->o;
    int context = carat_engine_context(g->engine), code;
    carat_error err;
    int32_t id;

    g->stop = "length";
    while (o->predict < 0 || g->ids.n < o->predict) {
        if (interrupted()) {
            g->stop = "cancelled";
            return DONE;
        }
        if (g->prompt.n + g->ids.n >= context) {
            g->context_full = true;
            return DONE;
        }
        bool pass = g->ids.n > 0;
        carat_status status = pass ? carat_append(g->session, &g->ids.ids[g->ids.n - 1], 1, &err) : CARAT_OK;
        if (status == CARAT_E_CANCELLED)
            continue; /* interrupted: that is looked at above */
        if (status != CARAT_OK)
            return fail_in_text(g, &err);
        g->passes += pass;
        if (carat_sample(g->session, &g->sampling, &id, &err) != CARAT_OK)
            return fail_in_text(g, &err);
        if (!o->ignore_eos && carat_is_stop(g->model, id)) {
            g->stop = "stop";
            return DONE;
        }
        if (!push_id(&g->ids, id))
            return fail_memory();
        if ((code = emit_id(g, id)) != DONE)
            return code;
    }
    return DONE;
}

/* With a hint that works: room for the prompt and for an answer, as far as the model goes. */
static int too_long(const struct generation *g, int context)
{
    int most = g->info.max_context, answer = g->o->predict > 0 ? g->o->predict : 256;
    int room = most - g->prompt.n < answer ? most : g->prompt.n + answer;

    if (g->prompt.n >= most)
        return fail_as(FAILED, CARAT_E_CONTEXT,
                       "the prompt has %d tokens, the context %d positions and the model %d", g->prompt.n,
                       context, most);
    return fail_as(FAILED, CARAT_E_CONTEXT,
                   "the prompt has %d tokens and the context %d positions; -c %d makes room for it",
                   g->prompt.n, context, room);
}

/* What --prompt-cache has is a help, never needed: a file that is of no use is noted. */
static void take_kept(const struct generation *g)
{
    const char *path = g->o->prompt_cache;
    carat_error err;
    carat_status status = path ? carat_load(g->session, path, NULL, NULL, &err) : CARAT_OK;

    if (status != CARAT_OK && status != CARAT_E_NOT_FOUND)
        note("%s; the prompt is evaluated", err.message);
}

/* An answer that could not be kept all the same is one: the exit code comes at the end. */
static void keep_timeline(struct generation *g)
{
    carat_error err;

    if (carat_save(g->session, g->o->prompt_cache, NULL, 0, &err) != CARAT_OK)
        g->not_kept = fail_status(&err);
}

static int evaluate_prompt(struct generation *g, struct progress *bar)
{
    int context = carat_engine_context(g->engine);
    carat_error err;
    carat_status status;
    int reused = 0;

    if (g->prompt.n > context)
        return too_long(g, context);
    take_kept(g);
    progress_begin(bar, "prompt", "tok");
    status = carat_sync(g->session, g->prompt.ids, g->prompt.n, &reused, &err);
    progress_end(bar);
    g->evaluated = carat_tokens_held(g->session, NULL) - reused;
    if (status == CARAT_E_CANCELLED) {
        g->stop = "cancelled";
        return DONE;
    }
    if (status != CARAT_OK)
        return fail_status(&err);
    if (g->o->prompt_cache && !g->o->prompt_cache_ro && !g->o->prompt_cache_all && g->evaluated > 0)
        keep_timeline(g);
    return DONE;
}

/* NAN where nothing was evaluated. */
static double rate(int n, double s)
{
    return n > 0 && s > 0 ? n / s : NAN;
}

static bool draws(const carat_sampling *s)
{
    return s->temperature > 0 && s->top_k != 1;
}

/* The last words of a run, put together from pieces that are not broken by the end of a line. */
struct remarks {
    char line[80];
    int columns; /* at most 79 */
};

static void flush_remarks(struct remarks *r)
{
    if (*r->line)
        fprintf(stderr, "%s%s%s\n", dim_on(), r->line, dim_off());
    *r->line = 0;
}

PRINTF(2, 3)
static void remark(struct remarks *r, const char *format, ...)
{
    char piece[sizeof r->line];
    size_t n = strlen(r->line);
    va_list args;

    va_start(args, format);
    vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    if (n > 0 && n + 2 + strlen(piece) > (size_t)r->columns) {
        flush_remarks(r);
        n = 0;
    }
    snprintf(r->line + n, sizeof r->line - n, "%s%s", n ? ", " : "", piece);
}

/* "prompt 14 tokens (350 tok/s)"; of is the whole of which n are a part. */
static void remark_speed(struct remarks *r, const char *what, int n, int of, double speed)
{
    char part[16] = "", pace[32] = "";

    if (n < of)
        snprintf(part, sizeof part, "%d of ", n);
    if (isfinite(speed))
        snprintf(pace, sizeof pace, " (%.*f tok/s)", speed < 100, speed);
    remark(r, "%s %s%d token%s%s", what, part, of, of == 1 ? "" : "s", pace);
}

static void print_timings(const struct generation *g)
{
    const carat_sampling *s = &g->sampling;
    int columns = terminal_columns(STDERR_FILENO);
    struct remarks r = {.columns = columns > 1 && columns < 80 ? columns - 1 : 79};

    if (!g->o->no_perf) {
        remark_speed(&r, "prompt", g->evaluated, g->prompt.n, rate(g->evaluated, g->prompt_s));
        remark_speed(&r, "generation", g->ids.n, g->ids.n, rate(g->passes, g->generation_s));
    }
    if (draws(s) && (g->seed_is_random || g->o->verbose))
        remark(&r, "seed %llu", (unsigned long long)s->seed);
    if (g->o->verbose) {
        flush_remarks(&r);
        remark(&r, "loaded in %.2f s", g->load_s);
        remark(&r, "prompt in %.2f s", g->prompt_s);
        remark(&r, "generation in %.2f s", g->generation_s);
        remark(&r, "stopped: %s", g->stop);
        remark(&r, "temperature %g", (double)s->temperature);
        remark(&r, "top-k %d", s->top_k);
        remark(&r, "top-p %g", (double)s->top_p);
        remark(&r, "min-p %g", (double)s->min_p);
    }
    flush_remarks(&r);
}

static int print_json(const struct generation *g)
{
    json_t *timings = json_pack("{s:f, s:i, s:f, s:o, s:i, s:f, s:o}", "load_ms", g->load_s * 1e3, "prompt_n",
                                g->evaluated, "prompt_ms", g->prompt_s * 1e3, "prompt_per_second",
                                json_number(rate(g->evaluated, g->prompt_s)), "predicted_n", g->ids.n,
                                "predicted_ms", g->generation_s * 1e3, "predicted_per_second",
                                json_number(rate(g->passes, g->generation_s)));

    /* a seed that decided nothing, and that nobody gave, is no part of the result */
    if (timings && (draws(&g->sampling) || !g->seed_is_random) &&
        json_object_set_new(timings, "seed", json_integer((json_int_t)g->sampling.seed)) != 0) {
        json_decref(timings);
        timings = NULL;
    }
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:s, s:o}", "prompt_ids", json_ids(g->prompt.ids, g->prompt.n), "ids",
                  json_ids(g->ids.ids, g->ids.n), "text", json_text(g->text ? g->text : "", g->n_text),
                  "stop", g->stop, "timings", timings);
    return out_json_with(object, g->o->raw_calls ? NULL : "calls", g->calls.list ? g->calls.list : "");
}

/* Everything between the open model and the last line of output. */
static int converse(struct generation *g)
{
    carat_engine_options engine;
    carat_session_options session;
    carat_session_options_default(&session);
    carat_error err;
    struct progress bar;
    double start;
    int code;

    engine_options(&engine, g->o);
    if ((code = fit_engine(&engine, g->model, g->o)) != DONE)
        return code;
    session.watch = progress_update;
    session.user = &bar;
    if ((code = create_engine(&g->engine, g->model, &engine)) != DONE)
        return code;
    if (carat_session_create(&g->session, g->engine, &session, &err) != CARAT_OK)
        return fail_status(&err);
    start = seconds();
    code = evaluate_prompt(g, &bar);
    g->prompt_s = seconds() - start;
    if (code == DONE && !g->stop) {
        start = seconds();
        code = generate(g);
        if (code == DONE)
            code = emit_id(g, -1);
        if (code == DONE && g->calls.held.n > 0)
            code = emit_calls(g);
        if (g->o->prompt_cache && g->o->prompt_cache_all && !g->o->prompt_cache_ro)
            keep_timeline(g);
        g->generation_s = seconds() - start;
    }
    if (code != DONE)
        return code;
    if (g->o->json)
        code = print_json(g);
    else if (g->last || strcmp(g->stop, "stop") == 0) /* an answer, be it empty */
        end_text(g);
    out_flush();
    if (g->context_full)
        note("the context of %d positions is full", carat_engine_context(g->engine));
    if (g->o->verbose || (!g->o->json && out_is_terminal() && isatty(STDERR_FILENO)))
        print_timings(g);
    if (code == DONE && strcmp(g->stop, "cancelled") == 0)
        return INTERRUPTED;
    return code == DONE ? g->not_kept : code;
}

int verb_run(const struct options *o)
{
    struct generation g = {.o = o, .info.size = sizeof g.info};
    carat_error err;
    double start = seconds();
    int code;

    interrupt_install();
    code = read_prompt_files(&g.talk, o, RUN, &g.prompt);
    if (code == DONE)
        code = open_packed(&g.model, o);
    if (code == DONE && carat_model_get_info(g.model, &g.info, &err) != CARAT_OK)
        code = fail_status(&err);
    g.load_s = seconds() - start;
    if (code == DONE)
        code = make_prompt(g.model, &g.info, &g.talk, &g.prompt);
    g.calls.start = -1;
    if (code == DONE && g.info.has_tokenizer && !o->raw_calls && (o->json || o->tools))
        calls_start(&g.calls, g.model, g.talk.tools);
    if (code == DONE) {
        set_sampling(&g);
        code = converse(&g);
    }
    free(g.text);
    calls_free(&g.calls);
    conversation_free(&g.talk);
    carat_tokens_free(&g.prompt);
    carat_tokens_free(&g.ids);
    carat_session_close(g.session);
    carat_engine_close(g.engine);
    carat_model_close(g.model);
    return code == FAILED && !out_flush() ? DONE : code; /* a write error is out_finish's to report */
}
