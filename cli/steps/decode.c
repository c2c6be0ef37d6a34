/* SPDX-License-Identifier: Apache-2.0 */
/* decode.c: `carat decode`: the loop over tokens alone, step by step, on one engine for several rounds. What
 * it prints is in decode_print.c, what must hold at the end in decode_check.c. */
#include "steps/decode.h"

#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "model/engine.h"
#include "model/lookup.h"
#include "model/model.h"
#include "prompt/prompt.h"
#include "prompt/told.h"
#include "steps/steps_options.h"
#include "term/clock.h"
#include "term/exit.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/output.h"

/* The options about single steps. */
#define AT(field) offsetof(struct steps_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_OUTPUT + 10, {"--all"}, FLAG, AT(all), "logits", NULL, NULL,
     "logits after every id, not only after the last", 0, 0},
    {ABOUT_OUTPUT + 20, {"-o", "--out"}, WRITES, AT(out), "logits", "FILE", NULL,
     "write float32 NPY, [vocab] or with --all [n][vocab] (- is standard output)", 0, 0},
    {ABOUT_OUTPUT + 40, {"--top"}, INT, AT(top), "logits", "K", NULL,
     "print the K highest logits", 1, 1000},
    {ABOUT_OUTPUT + 50, {"--top"}, INT, AT(top), "decode", "K", "1",
     "print the K highest logits of each step (default {default})", 1, 1000},
    {ABOUT_MEASURING + 40, {"--steps"}, INT, AT(steps), "decode", "N", "16",
     "ids to generate in each round (default {default})", 1, 1 << 20},
    {ABOUT_MEASURING + 70, {"--rounds"}, INT, AT(rounds), "decode", "N", "1",
     "repeat everything N times (default {default})", 1, 1000},
    {ABOUT_MEASURING + 80, {"--prefill-logits"}, FLAG, AT(prefill_logits), "decode", NULL, NULL,
     "also compute the prompt's logits, which nobody reads", 0, 0},
    {ABOUT_COMPUTING + 180, {"--tap"}, TEXT, AT(tap), "logits", "NAME", NULL,
     "write these values to --out instead, a row for each id: embed, layer.N, layer.N.attn, .q, .k, .v, "
     "final_norm", 0, 0},
};
/* clang-format on */

const struct option_group steps_group = OPTION_GROUP(rows, struct steps_options, NULL);

/* ---- before the first step ---- */

/* The highest logit, unless an option of sampling is given. */
static int settle_sampling(struct decoding *d)
{
    const struct options *o = d->o;
    int code = sampling_take(&d->how, d->model, o);

    d->sampling = d->how.s;
    if (!sampling_is_asked(o))
        d->sampling.temperature = 0;
    d->sampling.seed = o->draw->seed >= 0 ? (uint64_t)o->draw->seed : 0;
    return code;
}

static int allocate_decoding(struct decoding *d)
{
    size_t n = (size_t)d->n_rounds * (size_t)d->n_steps;

    d->steps = calloc(n, sizeof *d->steps);
    d->best = calloc(n * (size_t)d->top, sizeof *d->best);
    d->rounds = calloc((size_t)d->n_rounds, sizeof *d->rounds);
    d->sorted = calloc((size_t)d->n_steps, sizeof *d->sorted);
    return d->steps && d->best && d->rounds && d->sorted ? DONE : fail_memory();
}

/* Does the loop go on from pass to pass of one generation? */
static bool drafts(const struct decoding *d)
{
    return d->drafts;
}

/* Do generations draw? They give no id beyond the context, whose last position the loop can use. */
static bool generates(const struct decoding *d)
{
    return drafts(d) || d->o->told->logprobs >= 0;
}

/* context: asked for; 0: it is to be as long as needed. */
static int check_ids(const struct decoding *d, int context)
{
    const int most = context ? context : d->info.max_context;

    for (int i = 0; i < d->ids.n; i++)
        if (d->ids.ids[i] < 0 || d->ids.ids[i] >= d->info.n_vocab)
            return term_fail(USAGE, "--ids: %d is not an id of the model, expected 0 to %d",
                             (int)d->ids.ids[i], d->info.n_vocab - 1);
    if (d->top > d->info.n_vocab)
        return term_fail(USAGE, "--top is %d, expected at most the %d ids of the model", d->top,
                         d->info.n_vocab);
    if (d->ids.n + d->n_steps - !generates(d) > most)
        return fail_as(FAILED, CARAT_E_CONTEXT,
                       "%d ids and %d steps are more than the %d positions of the %s", d->ids.n, d->n_steps,
                       most, context ? "context" : "model");
    return DONE;
}

static int open_decoding(struct decoding *d)
{
    const struct options *o = d->o;
    carat_engine_options options;
    carat_error err;
    double start = term_seconds();
    int code = sampling_check(o);

    if (code != DONE || (code = open_packed(&d->model, o)) != DONE)
        return code;
    d->open_s = term_seconds() - start;
    if (carat_model_get_info(d->model, &d->info, &err) != CARAT_OK ||
        carat_model_get_load_times(d->model, &d->opening, &err) != CARAT_OK)
        return fail_status(&err);
    if ((code = settle_sampling(d)) != DONE)
        return code;
    if ((code = engine_report_begin(&d->engine_report, &options, o)) != DONE ||
        (code = check_ids(d, options.context)) != DONE)
        return code;
    if (!options.context)
        options.context = d->ids.n + d->n_steps;
    if ((code = allocate_decoding(d)) != DONE || (code = fit_engine(&options, d->model, o)) != DONE ||
        (code = engine_report_costs(&d->engine_report, d->model, &options)) != DONE)
        return code;
    start = term_seconds();
    code = create_engine(&d->engine, d->model, &options);
    d->engine_s = term_seconds() - start;
    if (code == DONE && carat_engine_get_head(d->engine, &d->head, &err) != CARAT_OK)
        code = fail_status(&err);
    return code == DONE ? engine_report_engine(&d->engine_report, d->engine) : code;
}

/* ---- a round ---- */

static void close_session(struct decoding *d)
{
    carat_generation_close(d->generation);
    carat_session_close(d->session);
    d->generation = NULL;
    d->session = NULL;
}

/* Each round has a session of its own, without traces of earlier rounds. Its options say which logits will
 * be read after each id: those of the draw, and the best that are printed. */
static int open_session(struct decoding *d)
{
    carat_session_options options;
    carat_session_options_default(&options);
    carat_sampling read = d->sampling;
    carat_error err;

    if (d->top > 0 && (read.temperature <= 0 || read.top_k == 1)) {
        read.temperature = 1;
        read.top_k = d->top;
    } else if (read.top_k && read.top_k < d->top) {
        read.top_k = d->top;
    }
    close_session(d);
    options.watch = stop_when_interrupted;
    options.sampling = d->o->told->logprobs < 0 ? &read : NULL; /* whose sum is over all logits */
    return carat_session_create(&d->session, d->engine, &options, &err) == CARAT_OK ? DONE
                                                                                    : fail_status(&err);
}

static int take_given(void *user, const carat_given *given)
{
    struct step *step = (*(struct step **)user)++;

    step->id = given->id;
    step->logprob = given->logprob;
    step->n_top = given->n_top;
    for (int i = 0; i < given->n_top; i++)
        step->top[i] = given->top[i];
    return 0;
}

/* With --logprobs ids are drawn by a generation, which tells them: from what the session holds, as always.
 * With --lookup it also evaluates what it has given, and drafts. */
static int open_generation(struct decoding *d)
{
    static const int32_t none;
    carat_generation_options options;
    carat_error err;

    carat_generation_options_default(&options);
    options.sampling = &d->sampling;
    options.stop_ids = &none;
    options.on_token = take_given;
    options.user = &d->drawn;
    lookup_options(&options, d->o);
    options.max_tokens = drafts(d) ? d->n_steps : 0;
    options.logprobs = d->o->told->logprobs >= 0;
    options.top_logprobs = d->o->told->logprobs > 0 ? d->o->told->logprobs : 0;
    return carat_generation_create(&d->generation, d->session, &options, &err) == CARAT_OK
               ? DONE
               : fail_status(&err);
}

/* All ids but the last. */
static int prefill(struct decoding *d, struct round *round)
{
    double start = term_seconds();
    int code = evaluate_ids(d->engine, d->session, d->ids.ids, d->ids.n - 1, d->o->steps->prefill_logits);

    round->prefill_s = term_seconds() - start;
    return code;
}

/* The id before it is evaluated, the next one drawn; what else is read is not in its time. Drafts give
 * several steps, *n, which share the time of the pass. first: the generation holds no id yet. */
static int take_steps(struct decoding *d, int32_t id, bool first, struct step *step, carat_candidate *best,
                      int *n)
{
    double start = term_seconds();
    carat_error err;

    *n = 1;
    d->drawn = step;
    if (((first || !drafts(d)) && carat_append(d->session, &id, 1, &err) != CARAT_OK) ||
        (d->generation ? carat_generation_step(d->engine, &d->generation, 1, &err)
                       : carat_sample(d->session, &d->sampling, &step->id, &err)) != CARAT_OK)
        return fail_status(&err);
    if (d->generation)
        *n = (int)(d->drawn - step);
    for (int i = 0; i < *n; i++)
        step[i].seconds = (term_seconds() - start) / *n;
    return d->top == 0 || carat_top(d->session, d->top, best, &err) == CARAT_OK ? DONE : fail_status(&err);
}

static int compare_seconds(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sum_up(struct decoding *d, struct round *round, const struct step *steps)
{
    const int n = d->n_steps;

    for (int i = 0; i < n; i++) {
        d->sorted[i] = steps[i].seconds;
        round->mean_s += steps[i].seconds / n;
    }
    qsort(d->sorted, (size_t)n, sizeof *d->sorted, compare_seconds);
    round->p50_s = (d->sorted[(n - 1) / 2] + d->sorted[n / 2]) / 2;
    round->p90_s = d->sorted[(9 * n + 9) / 10 - 1];
}

static int run_round(struct decoding *d, int r)
{
    struct round *round = &d->rounds[r];
    struct step *steps = &d->steps[(size_t)r * (size_t)d->n_steps];
    int32_t id = d->ids.ids[d->ids.n - 1];
    carat_head_stats before = {.size = sizeof before};
    carat_error err;
    int code = open_session(d);

    carat_generation_info_default(&round->drafts);
    if (code == DONE && generates(d))
        code = open_generation(d);
    if (code == DONE)
        code = prefill(d, round);
    if (code == DONE && carat_engine_get_head(d->engine, &before, &err) != CARAT_OK)
        code = fail_status(&err);
    for (int i = 0, n = 0; i < d->n_steps && code == DONE; i += n) {
        size_t at = (size_t)r * (size_t)d->n_steps + (size_t)i;
        code = take_steps(d, id, i == 0, &steps[i], &d->best[at * (size_t)d->top], &n);
        for (int k = i; k < i + n && code == DONE; k++)
            code = decode_print_step(d, r, k);
        if (code == DONE)
            id = steps[i + n - 1].id;
    }
    if (code == DONE && drafts(d) &&
        carat_generation_get_info(d->generation, &round->drafts, &err) != CARAT_OK)
        code = fail_status(&err);
    if (code == DONE && carat_engine_get_head(d->engine, &d->head, &err) != CARAT_OK)
        code = fail_status(&err);
    if (code != DONE)
        return code;
    sum_up(d, round, steps);
    round->head = head_work_between(&before, &d->head);
    return decode_print_round(d, r);
}

/* ---- the verb ---- */

static int read_arguments(struct decoding *d)
{
    const struct options *o = d->o;

    if (!o->prompt->ids)
        return term_fail(USAGE, "decode: option --ids is needed: the ids to begin with, as in --ids 2,5,9");
    if (o->json && o->lines)
        return term_fail(USAGE, "decode: --json and --jsonl contradict each other");
    d->n_steps = o->steps->steps;
    d->n_rounds = o->steps->rounds;
    carat_generation_options asked;
    carat_generation_options_default(&asked);
    lookup_options(&asked, o);
    d->drafts = drafts_are_on(&asked);
    if (drafts(d) && options_given(o, &o->steps->top))
        return term_fail(USAGE,
                         "decode: --top needs the logits of every step, and --lookup keeps those of a pass's "
                         "last; --logprobs tells the likeliest ids");
    d->top = drafts(d) ? 0 : o->steps->top;
    if ((int64_t)d->n_steps * d->n_rounds * d->top > 1 << 24)
        return term_fail(USAGE, "decode: --rounds times --steps times --top are %lld, expected at most %d",
                         (long long)d->n_steps * d->n_rounds * d->top, 1 << 24);
    int code = read_ids(o->prompt->ids, "--ids", &d->ids);
    if (code == DONE && d->ids.n == 0)
        code = term_fail(USAGE, "--ids has no id, expected at least one, as in --ids 2,5,9");
    return code == DONE ? check_lookup(o) : code;
}

int verb_decode(const struct options *o)
{
    struct decoding d = {
        .o = o, .info.size = sizeof d.info, .opening.size = sizeof d.opening, .head.size = sizeof d.head};
    int code = read_arguments(&d);

    interrupt_install();
    if (code == DONE)
        code = open_decoding(&d);
    if (code == DONE)
        decode_print_head(&d);
    for (int i = 0; i < d.n_rounds && code == DONE; i++)
        code = run_round(&d, i);
    if (code == DONE)
        code = decode_print_result(&d);
    if (code == DONE)
        engine_report_end(&d.engine_report, d.engine, last_drafts(&d));
    if (code == DONE)
        code = decode_check(&d);
    engine_report_free(&d.engine_report);
    free(d.steps);
    free(d.best);
    free(d.rounds);
    free(d.sorted);
    carat_tokens_free(&d.ids);
    close_session(&d);
    carat_engine_close(d.engine);
    carat_model_close(d.model);
    return code == FAILED && !out_flush() ? DONE : code; /* a write error is out_finish's to report */
}
