/* run.c: `carat run`: a prompt in, text out as it is drawn, speed on stderr at the end. Where the prompt comes from
 * is decided in prompt.c. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "prompt.h"

struct generation {
    const struct options *o;
    carat_model *model;
    carat_engine *engine;
    carat_session *session;
    carat_model_info info;
    carat_sampling sampling;
    bool seed_is_random;
    carat_tokens prompt, ids;
    char *text; /* what was generated, for --json: [n_text], grown */
    size_t n_text, text_capacity;
    char last;        /* last byte of text, for a closing newline on a terminal */
    const char *stop; /* "stop", "length", "cancelled" */
    bool context_full;
    double load_s, prompt_s, generation_s;
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

    *s = carat_default_sampling(g->model);
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
static int emit(struct generation *g, const char *piece, size_t n)
{
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

/* One generated id, or -1 to flush the bytes that a last incomplete character has left. */
static int emit_id(struct generation *g, int32_t id)
{
    char piece[1024];
    size_t n;

    if (g->info.has_tokenizer)
        n = carat_detokenize(g->session, id, piece, sizeof piece);
    else if (id < 0 || g->o->json)
        n = 0;
    else
        n = (size_t)snprintf(piece, sizeof piece, "%s%d", g->ids.n > 1 ? " " : "", (int)id);
    return emit(g, piece, n);
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
        if (g->ids.n > 0 && carat_append(g->session, &g->ids.ids[g->ids.n - 1], 1, &err) != CARAT_OK)
            return fail_status(&err);
        if (carat_sample(g->session, &g->sampling, &id, &err) != CARAT_OK)
            return fail_status(&err);
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

static int evaluate_prompt(struct generation *g, struct progress *bar)
{
    int context = carat_engine_context(g->engine);
    carat_error err;
    carat_status status;

    if (g->prompt.n > context)
        return too_long(g, context);
    progress_begin(bar, "prompt", "tok");
    status = carat_sync(g->session, g->prompt.ids, g->prompt.n, NULL, &err);
    progress_end(bar);
    if (status == CARAT_E_CANCELLED) {
        g->stop = "cancelled";
        return DONE;
    }
    return status == CARAT_OK ? DONE : fail_status(&err);
}

static double rate(int n, double s)
{
    return s > 0 ? n / s : 0;
}

static void print_timings(const struct generation *g)
{
    const carat_sampling *s = &g->sampling;

    fprintf(stderr, "%sprompt %d tok in %.2f s (%.2f tok/s), generation %d tok in %.2f s (%.2f tok/s)",
            dim_on(), g->prompt.n, g->prompt_s, rate(g->prompt.n, g->prompt_s), g->ids.n, g->generation_s,
            rate(g->ids.n, g->generation_s));
    if (g->seed_is_random && s->temperature > 0)
        fprintf(stderr, ", seed %llu", (unsigned long long)s->seed);
    if (g->o->verbose)
        fprintf(stderr,
                "\nloaded in %.2f s, stopped: %s, temperature %g, top-k %d, top-p %g, min-p %g, seed %llu",
                g->load_s, g->stop, (double)s->temperature, s->top_k, (double)s->top_p, (double)s->min_p,
                (unsigned long long)s->seed);
    fprintf(stderr, "%s\n", dim_off());
}

static int print_json(const struct generation *g)
{
    json_t *timings = json_pack("{s:f, s:i, s:f, s:f, s:i, s:f, s:f, s:I}", "load_ms", g->load_s * 1e3,
                                "prompt_n", g->prompt.n, "prompt_ms", g->prompt_s * 1e3, "prompt_per_second",
                                rate(g->prompt.n, g->prompt_s), "predicted_n", g->ids.n, "predicted_ms",
                                g->generation_s * 1e3, "predicted_per_second",
                                rate(g->ids.n, g->generation_s), "seed", (json_int_t)g->sampling.seed);

    return out_json(json_pack("{s:o, s:o, s:o, s:s, s:o}", "prompt_ids", json_ids(g->prompt.ids, g->prompt.n),
                              "ids", json_ids(g->ids.ids, g->ids.n), "text",
                              json_text(g->text ? g->text : "", g->n_text), "stop", g->stop, "timings",
                              timings));
}

/* Everything between the open model and the last line of output. */
static int converse(struct generation *g)
{
    carat_engine_options engine;
    carat_session_options session = CARAT_SESSION_OPTIONS;
    carat_error err;
    struct progress bar;
    double start;
    int code;

    engine_options(&engine, g->o);
    if ((code = fit_engine(&engine, g->model, g->o)) != DONE)
        return code;
    progress_begin(&bar, "prompt", "tok");
    session.progress = progress_update;
    session.user = &bar;
    if (carat_engine_create(&g->engine, g->model, &engine, &err) != CARAT_OK ||
        carat_session_create(&g->session, g->engine, &session, &err) != CARAT_OK)
        return fail_status(&err);
    start = seconds();
    code = evaluate_prompt(g, &bar);
    g->prompt_s = seconds() - start;
    if (code == DONE && !g->stop) {
        start = seconds();
        code = generate(g);
        if (code == DONE)
            code = emit_id(g, -1);
        g->generation_s = seconds() - start;
    }
    if (code != DONE)
        return code;
    if (g->o->json)
        code = print_json(g);
    else if (g->ids.n > 0 && (!g->info.has_tokenizer || (out_is_terminal() && g->last != '\n')))
        out_print("\n");
    out_flush();
    if (g->context_full)
        note("the context of %d positions is full", carat_engine_context(g->engine));
    if (g->o->verbose || !(g->o->json || g->o->no_perf))
        print_timings(g);
    return code == DONE && strcmp(g->stop, "cancelled") == 0 ? INTERRUPTED : code;
}

int verb_run(const struct options *o)
{
    struct generation g = {.o = o, .info.size = sizeof g.info};
    carat_error err;
    double start = seconds();
    int code;

    interrupt_install();
    code = check_prompt_options(o);
    if (code == DONE)
        code = open_packed(&g.model, o);
    if (code == DONE && carat_model_get_info(g.model, &g.info, &err) != CARAT_OK)
        code = fail_status(&err);
    g.load_s = seconds() - start;
    if (code == DONE)
        code = make_prompt(g.model, &g.info, o, &g.prompt);
    if (code == DONE) {
        set_sampling(&g);
        code = converse(&g);
    }
    free(g.text);
    carat_tokens_free(&g.prompt);
    carat_tokens_free(&g.ids);
    carat_session_close(g.session);
    carat_engine_close(g.engine);
    carat_model_close(g.model);
    return code == FAILED && !out_flush() ? DONE : code; /* a write error is out_finish's to report */
}
