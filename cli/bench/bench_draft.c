/* SPDX-License-Identifier: Apache-2.0 */
/* bench_draft.c: `carat bench --draft-right A`: generations whose drafts are right with probability A, beside
 * the same generations without drafts and a loop of steps and draws that the library does not see; and `carat
 * bench -md DRAFTER`: with those of a drafter, or of both. All of them give the same ids, and say so if not.
 * What drafts of real text are like is not measured here. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/alone.h"
#include "bench/bench.h"
#include "bench/bench_options.h"
#include "model/engine.h"
#include "model/lookup.h"
#include "model/model.h"
#include "term/clock.h"
#include "term/interrupt.h"
#include "term/out_json.h"
#include "term/output.h"

enum way { LOOP, PLAIN, DRAFTED, N_WAY };
static const struct {
    const char *name, *field;
} ways[N_WAY] = {
    [LOOP] = {"carat_step and carat_sample", "loop"},
    [PLAIN] = {"generations without drafts", "plain"},
    [DRAFTED] = {"generations with drafts", "drafted"},
};

/* One of the sequences. */
struct stream {
    const struct drafting *of;
    carat_session *session;
    carat_generation *generation;
    int32_t *ids; /* [n_prompt + n_answer] the prompt, and what follows it */
    uint64_t luck;
    int given;
    bool differs; /* an id is another one than before */
};

struct drafting {
    const struct options *o;
    carat_model *model;
    carat_engine *engine;
    carat_model_info info;
    carat_plan plan;
    carat_host_info host;
    carat_sampling greedy;
    int n_prompt, n_answer, parallel, runs;
    struct stream *stream; /* [parallel] */
    double *sample[N_WAY]; /* [runs] seconds */
    struct spread ts[N_WAY];
    carat_generation_info last;                /* of the first sequence, in its last run with drafts */
    long passes, drafted, accepted, gained_us; /* of all runs with drafts */
    long of_drafter, right_of_drafter;         /* of those drafted, accepted */
    struct progress bar;
    bool json;
};

/* Do drafts come from a list of the right ids? */
static bool is_scripted(const struct options *o)
{
    return o->bench->draft_right >= 0;
}

static int check_drafting(const struct options *o)
{
    const struct bench_refusal own[] = {
        {"-d", options_given(o, &o->bench->n_depth)},
        {"--lookup off", !o->open->drafter && strcmp(o->lookup->lookup, "off") == 0},
        {"--spec-type none", o->lookup->spec_type && strcmp(o->lookup->spec_type, "none") == 0},
        {"--draft-max 0", o->lookup->draft_max == 0},
        {NULL, false}};

    if (is_scripted(o))
        TRY(bench_check_alone(o, own, "bench", "--draft-right times generations and takes no",
                              "--draft-right gives"));
    else
        TRY(bench_check_alone(o, own, "bench", "--model-draft times generations and takes no",
                              "--model-draft gives"));
    return check_lookup(o);
}

/* The number that a list has, and another one where it was not given. */
static int one_number(const struct options *o, const char *option, const char *const *list, int least,
                      int most, const char *or_else, int *value)
{
    const char *text = options_given(o, list) ? *list : or_else;
    size_t digits = strspn(text, "0123456789");
    long n = strtol(text, NULL, 10);

    if (!digits || digits > 7 || text[digits] || n < least || n > most)
        return term_fail(USAGE, "bench: --draft-right takes one number for %s, from %d to %d, not '%.80s'",
                         option, least, most, text);
    *value = (int)n;
    return DONE;
}

static int read_numbers(struct drafting *d)
{
    const struct options *o = d->o;

    TRY(one_number(o, "-p", &o->bench->n_prompt, 2, 1 << 20, DRAFT_PROMPT, &d->n_prompt));
    TRY(one_number(o, "-n", &o->bench->n_gen, 2, 1 << 20, DRAFT_ANSWER, &d->n_answer));
    return one_number(o, "-npl", &o->bench->n_parallel, 1, PACE_PARALLEL, o->bench->n_parallel, &d->parallel);
}

/* ---- the engine ---- */

static int fill_stream(struct stream *s, struct drafting *d, uint64_t seed)
{
    *s = (struct stream){.of = d, .luck = seed};
    s->ids = calloc((size_t)(d->n_prompt + d->n_answer), sizeof *s->ids);
    if (!s->ids)
        return fail_memory();
    random_ids(s->ids, d->n_prompt, &d->info, seed);
    return DONE;
}

static int open_drafting(struct drafting *d)
{
    carat_engine_options options;
    carat_error err;
    int code = open_packed(&d->model, d->o);

    if (code != DONE)
        return code;
    if (carat_model_get_info(d->model, &d->info, &err) != CARAT_OK ||
        carat_get_host(&d->host, &err) != CARAT_OK)
        return fail_status(&err);
    engine_options(&options, d->o);
    options.context = d->n_prompt + d->n_answer;
    options.sessions = d->parallel;
    options.threads = atoi(d->o->bench->thread_list); /* one number, as checked */
    options.chunk = atoi(d->o->bench->chunk_list);
    if (options.context > d->info.max_context)
        return fail_as(FAILED, CARAT_E_CONTEXT,
                       "bench: a prompt of %d tokens and %d more exceed the %d positions of the model",
                       d->n_prompt, d->n_answer, d->info.max_context);
    if ((code = fit_engine(&options, d->model, d->o)) != DONE)
        return code;
    if (carat_plan_engine(d->model, &options, &d->plan, &err) != CARAT_OK)
        return fail_status(&err);
    code = create_engine(&d->engine, d->model, &options);
    carat_sampling_default(d->model, &d->greedy);
    d->greedy.temperature = 0;
    d->stream = calloc((size_t)d->parallel, sizeof *d->stream);
    for (int i = 0; i < N_WAY; i++)
        d->sample[i] = calloc((size_t)d->runs, sizeof *d->sample[i]);
    for (int i = 0; i < N_WAY; i++)
        if (!d->sample[i] || !d->stream)
            return fail_memory();
    for (int i = 0; i < d->parallel && code == DONE; i++)
        if ((code = fill_stream(&d->stream[i], d, (uint64_t)i + 1)) == DONE)
            code = create_session(&d->stream[i].session, d->engine, progress_update, &d->bar);
    return code;
}

/* ---- a run ---- */

/* All sessions hold their prompt alone. */
static int begin_run(struct drafting *d)
{
    carat_error err;

    for (int i = 0; i < d->parallel; i++) {
        struct stream *s = &d->stream[i];
        s->given = 0;
        progress_begin(&d->bar, "prompt", "tok");
        if (carat_sync(s->session, s->ids, d->n_prompt, NULL, &err) != CARAT_OK)
            return fail_status(&err);
    }
    progress_end(&d->bar);
    return DONE;
}

/* The loop that a program without generations has; it makes the ids that the others must give. */
static int run_loop(struct drafting *d)
{
    carat_row rows[PACE_PARALLEL];
    carat_error err;

    for (int k = d->n_prompt; k < d->n_prompt + d->n_answer; k++) {
        for (int i = 0; i < d->parallel; i++) {
            struct stream *s = &d->stream[i];
            if (carat_sample(s->session, &d->greedy, &s->ids[k], &err) != CARAT_OK)
                return fail_status(&err);
            rows[i] = (carat_row){.session = s->session, .tokens = &s->ids[k], .n = 1};
        }
        if (k + 1 < d->n_prompt + d->n_answer &&
            carat_step(d->engine, rows, sizeof(carat_row), d->parallel, &err) != CARAT_OK)
            return fail_status(&err);
    }
    return term_interrupted() ? INTERRUPTED : DONE;
}

static int take_id(void *user, const carat_given *given)
{
    struct stream *s = user;

    s->differs |= given->id != s->ids[given->position];
    s->given++;
    return term_interrupted();
}

/* The ids that will come, until luck ends. */
static int propose_known(void *user, const int32_t *ids, int n, int32_t *draft, int k)
{
    struct stream *s = user;
    const int all = s->of->n_prompt + s->of->n_answer;
    int i = 0;

    (void)ids;
    for (bool right = true; i < k && n + i < all; i++) {
        s->luck = s->luck * 6364136223846793005u + 1442695040888963407u;
        right &= (double)(s->luck >> 40) < s->of->o->bench->draft_right * (1 << 24);
        draft[i] = right ? s->ids[n + i] : (s->ids[n + i] + 1) % s->of->info.n_vocab;
    }
    return i;
}

static int open_generation(struct drafting *d, struct stream *s, bool drafts)
{
    static const int32_t none;
    carat_generation_options options;
    carat_error err;

    carat_generation_options_default(&options);
    options.sampling = &d->greedy;
    options.max_tokens = d->n_answer;
    options.stop_ids = &none;
    options.on_token = take_id;
    options.user = s;
    options.lookup = options.drafter = CARAT_LOOKUP_OFF;
    if (drafts) {
        lookup_options(&options, d->o);
        options.propose = is_scripted(d->o) ? propose_known : NULL;
    }
    return carat_generation_create(&s->generation, s->session, &options, &err) == CARAT_OK
               ? DONE
               : fail_status(&err);
}

static void close_generations(struct drafting *d)
{
    for (int i = 0; i < d->parallel; i++) {
        carat_generation_close(d->stream[i].generation);
        d->stream[i].generation = NULL;
    }
}

static int step_all(struct drafting *d)
{
    carat_generation *all[PACE_PARALLEL];
    carat_error err;
    int given = 0;

    for (int i = 0; i < d->parallel; i++)
        all[i] = d->stream[i].generation;
    while (given < d->parallel * d->n_answer) {
        if (carat_generation_step(d->engine, all, d->parallel, &err) != CARAT_OK)
            return fail_status(&err);
        given = 0;
        for (int i = 0; i < d->parallel; i++)
            given += d->stream[i].given;
        if (term_interrupted())
            return INTERRUPTED;
    }
    return DONE;
}

static int drafts_note(struct drafting *d)
{
    carat_error err;

    for (int i = d->parallel - 1; i >= 0; i--) {
        carat_generation_info_default(&d->last);
        if (carat_generation_get_info(d->stream[i].generation, &d->last, &err) != CARAT_OK)
            return fail_status(&err);
        d->passes += d->last.passes;
        d->drafted += d->last.drafted;
        d->accepted += d->last.accepted;
        d->of_drafter += d->last.use[CARAT_FROM_DRAFTER].drafted;
        d->right_of_drafter += d->last.use[CARAT_FROM_DRAFTER].accepted;
        d->gained_us += lround(d->last.gained_ms * 1e3);
    }
    return DONE;
}

static int run_generations(struct drafting *d, bool drafts, bool counts, double *spent)
{
    int code = DONE;

    for (int i = 0; i < d->parallel && code == DONE; i++)
        code = open_generation(d, &d->stream[i], drafts);
    double start = term_seconds();
    if (code == DONE)
        code = step_all(d);
    *spent = term_seconds() - start;
    if (code == DONE && drafts && counts)
        code = drafts_note(d);
    close_generations(d);
    for (int i = 0; i < d->parallel && code == DONE; i++)
        if (d->stream[i].differs)
            return term_fail(FAILED, "bench: a generation %s drafts gave other ids than steps and draws do",
                             drafts ? "with" : "without");
    return code;
}

/* Run i of each way, each time with another one first, or with -1 the warm-up, in which nothing is kept. */
static int run_ways(struct drafting *d, int i)
{
    double spent[N_WAY];
    int code = DONE;

    for (int k = 0; k < N_WAY && code == DONE; k++) {
        int way = i < 0 ? k : (i + k) % N_WAY;
        if ((code = begin_run(d)) != DONE)
            return code;
        double start = term_seconds();
        if (way == LOOP) {
            code = run_loop(d);
            spent[way] = term_seconds() - start;
        } else {
            code = run_generations(d, way == DRAFTED, i >= 0, &spent[way]);
        }
        if (code == DONE && i >= 0)
            d->sample[way][i] = d->parallel * d->n_answer / fmax(spent[way], 1e-9);
    }
    return code;
}

static int measure_ways(struct drafting *d)
{
    int code = DONE;

    for (int i = -1; i < d->runs && code == DONE; i++)
        code = run_ways(d, i);
    for (int way = 0; way < N_WAY && code == DONE; way++)
        if (!spread_of(&d->ts[way], d->sample[way], d->runs, 1))
            return fail_memory();
    return code;
}

/* ---- output ---- */

static void print_drafting(const struct drafting *d)
{
    static const char *const titles[] = {"what", "tok/s:", "from:", "to:", "x plain:", NULL};
    static struct table table; /* too large for a small stack */

    out_print("%s: %d generations of %d tokens behind %d", model_name(d->o->model), d->parallel, d->n_answer,
              d->n_prompt);
    if (is_scripted(d->o))
        out_print(", drafts right with probability %g", d->o->bench->draft_right);
    if (d->o->open->drafter)
        out_print(", drafter %s", model_name(d->o->open->drafter));
    out_print("; %d runs\n", d->runs);
    out_print("%s, %s, %d threads, %s cache, carat %s\n\n", d->host.cpu, d->plan.isa, d->plan.threads,
              d->plan.kv, carat_version());
    table_begin(&table, titles);
    for (int way = 0; way < N_WAY; way++) {
        table_cell(&table, "%s", ways[way].name);
        table_cell(&table, "%.2f", d->ts[way].median);
        table_cell(&table, "%.2f", d->ts[way].low);
        table_cell(&table, "%.2f", d->ts[way].high);
        table_cell(&table, "%.3f", d->ts[way].median / d->ts[PLAIN].median);
    }
    table_print(&table);
    out_print("\n%ld passes, %ld ids drafted, %ld right; by the account %.1f ms gained\n", d->passes,
              d->drafted, d->accepted, (double)d->gained_us / 1e3);
    if (d->o->open->drafter)
        out_print("of the drafter %ld ids, %ld right\n", d->of_drafter, d->right_of_drafter);
    for (int i = 0; i < d->last.switched && i < CARAT_MOST_SWITCHES; i++)
        out_print("after %d ids: drafting %s%s, %s\n", d->last.switches[i].given,
                  d->last.switched_source[i] == CARAT_FROM_DRAFTER ? "by the drafter " : "",
                  d->last.switches[i].on ? "on" : "off", d->last.switches[i].reason);
}

static json_t *way_json(const struct drafting *d, int way)
{
    const struct spread *s = &d->ts[way];
    json_t *all = json_array();

    for (int i = 0; i < d->runs; i++)
        json_array_append_new(all, json_real(d->sample[way][i]));
    return json_pack("{s:f, s:f, s:f, s:f, s:o}", "median_ts", s->median, "low_ts", s->low, "high_ts",
                     s->high, "of_plain", s->median / d->ts[PLAIN].median, "samples_ts", all);
}

static int drafting_json(const struct drafting *d)
{
    json_t *all = json_object();

    for (int way = 0; way < N_WAY; way++)
        json_object_set_new(all, ways[way].field, way_json(d, way));
    return out_json(json_pack(
        "{s:s, s:s, s:s, s:s, s:i, s:s, s:i, s:i, s:i, s:i, s:o, s:I, s:I, s:I, s:I, s:I, s:f, s:i, "
        "s:o}",
        "model_filename", model_name(d->o->model), "version", carat_version(), "cpu_info", d->host.cpu, "isa",
        d->plan.isa, "n_threads", d->plan.threads, "kv", d->plan.kv, "n_prompt", d->n_prompt, "n_gen",
        d->n_answer, "n_parallel", d->parallel, "repetitions", d->runs, "draft_right",
        is_scripted(d->o) ? json_real(d->o->bench->draft_right) : json_null(), "passes",
        (json_int_t)d->passes, "drafted", (json_int_t)d->drafted, "accepted", (json_int_t)d->accepted,
        "drafted_by_drafter", (json_int_t)d->of_drafter, "accepted_of_drafter",
        (json_int_t)d->right_of_drafter, "gained_ms", (double)d->gained_us / 1e3, "switched",
        d->last.switched, "ways", all));
}

int bench_draft(const struct options *o)
{
    struct drafting d = {.o = o,
                         .info.size = sizeof d.info,
                         .plan.size = sizeof d.plan,
                         .host.size = sizeof d.host,
                         .runs = o->bench->repetitions,
                         .json = o->json || strcmp(o->bench->output, "json") == 0};
    int code = check_drafting(o);

    if (code == DONE)
        code = read_numbers(&d);
    if (code == DONE) {
        interrupt_install();
        code = open_drafting(&d);
    }
    if (code == DONE)
        code = measure_ways(&d);
    if (code == DONE && d.json)
        code = drafting_json(&d);
    else if (code == DONE)
        print_drafting(&d);
    for (int i = 0; i < N_WAY; i++)
        free(d.sample[i]);
    for (int i = 0; d.stream && i < d.parallel; i++) {
        carat_session_close(d.stream[i].session);
        free(d.stream[i].ids);
    }
    free(d.stream);
    carat_engine_close(d.engine);
    carat_model_close(d.model);
    return code;
}
