/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c: `carat compare`: how far two models, or two modes of one, are apart. Here options become what is
 * compared, and one prompt goes the whole way; many prompts are dataset.c's. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "carat_quality.h"
#include "io/input.h"
#include "model/engine.h"
#include "options/option.h"
#include "prompt/prompt.h"
#include "quality/compare/compare_options.h"
#include "quality/compare/dataset.h"
#include "term/clock.h"
#include "term/exit.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/output.h"

/* The options about comparing. */
#define AT(field) offsetof(struct compare_options, field)

/* clang-format off */
static const struct option compare_rows[] = {
    {ABOUT_GENERATION + 340, {"-n", "--max-tokens", "--max-new-tokens"}, INT, AT(predict), "compare sweep", "N", "64",
     "positions to compare for each prompt (default {default}; with --driver text all)", 1, INT_MAX},
    {ABOUT_GENERATION + 350, {"--ignore-eos"}, FLAG, AT(ignore_eos), "compare", NULL, NULL,
     "continue after the id that ends an answer; what follows is reported apart", 0, 0},
    {ABOUT_COMPARISON + 10, {"--ref"}, TEXT, AT(ref_mode), "compare", "WORDS", NULL,
     "the mode of REF, separated by commas: exact, kv=TYPE, isa=LEVEL, chunk=N, threads=N, layers=N, "
     "head=STRATEGY, activations=f16", 0, 0},
    {ABOUT_COMPARISON + 20, {"--test"}, TEXT, AT(test_mode), "compare", "WORDS", NULL,
     "the mode of TEST, in the same words", 0, 0},
    {ABOUT_COMPARISON + 30, {"--hf-reference"}, MODEL, AT(hf_reference), "/ compare", "MODEL", NULL,
     "another way to give REF; TEST is then the only argument", 0, 0},
    {ABOUT_COMPARISON + 40, {"--driver"}, CHOICE, AT(driver), "compare sweep", "ref|test|free|text|hf|coreml", "ref",
     "who chooses the next id: the highest logit of REF, or of TEST (hf and coreml are other names of "
     "these); free: each model its own, until they differ; text: the given ids (default {default})", 0, 0},
    {ABOUT_COMPARISON + 50, {"--at"}, INTS, AT(at), "compare", "N[,N...]", NULL,
     "print a line for each of these lengths, from one run", 1, INT_MAX},
    {ABOUT_COMPARISON + 60, {"--ref-logits"}, PATH, AT(ref_logits), "compare", "FILE.npy", NULL,
     "recorded logits instead of REF, a row for each id of --ids: float32, as carat logits --all and "
     "numpy.save write them", 0, 0},
    {ABOUT_COMPARISON + 70, {"--dataset"}, PATH, AT(dataset), "compare sweep", "FILE.jsonl", NULL,
     "a file of prompts, a JSON object a line with \"ids\", \"messages\", \"prompt\" or \"text\", and "
     "for --driver text \"answer\" or \"answer_ids\"", 0, 0},
    {ABOUT_COMPARISON + 80, {"--out", "--out-dir"}, TEXT, AT(out_dir), "compare sweep", "DIR", NULL,
     "write results, summary and report there; the same command continues where it was stopped", 0, 0},
    {ABOUT_COMPARISON + 90, {"--restart"}, FLAG, AT(restart), "/ compare sweep", NULL, NULL,
     "discard what DIR has and begin again", 0, 0},
    {ABOUT_COMPARISON + 100, {"--parallel"}, INT, AT(parallel), "/ compare sweep", "N", "4",
     "prompts evaluated together in a pass (default {default})", 1, 256},
    {ABOUT_COMPARISON + 110, {"--limits"}, TEXT, AT(limits), "compare sweep", "LIMITS",
     "kl=0.01:0.1, correlation=0.99:0.95, match=98:90, entropy=0.5:0.1, outside=0.01:0.1",
     "where healthy ends and concerning begins (default {default})", 0, 0},
    {ABOUT_COMPARISON + 120, {"--top"}, INT, AT(top), "/ compare", "K", "10",
     "compare the K highest ids of both (default {default})", 1, 1024},
    {ABOUT_COMPARISON + 130, {"--near-tie"}, REAL, AT(near_tie), "/ compare", "X", "0.05",
     "a position is a near-tie when the reference's two highest logits differ by less than X (default "
     "{default})", 0, 1e6},
    {ABOUT_COMPARISON + 140, {"--bisect"}, FLAG, AT(bisect), "compare", NULL, NULL,
     "find where the two begin to differ: the first operation that is wrong on the reference's own "
     "inputs", 0, 0},
    {ABOUT_COMPARISON + 150, {"--rows"}, INT, AT(bisect_rows), "/ compare", "N", "16",
     "how many tokens --bisect compares, spread over all (default {default})", 1, CARAT_MOST_BISECT_ROWS},
};
/* clang-format on */

const struct option_group compare_group = OPTION_GROUP(compare_rows, struct compare_options, NULL);

/* ---- options ---- */

/* "kl=0.01:0.1", n bytes of it. */
static int take_limit(carat_quality_limits *l, const char *word, size_t n)
{
    const struct {
        const char *name;
        double *pair;
    } limits[] = {{"kl", l->kl},
                  {"correlation", l->correlation},
                  {"match", l->match},
                  {"entropy", l->entropy},
                  {"outside", l->outside}};
    const size_t name = strcspn(word, "=,");
    char copy[80], *end;

    for (size_t i = 0; i < sizeof limits / sizeof limits[0] && n < sizeof copy; i++) {
        if (strlen(limits[i].name) != name || strncmp(limits[i].name, word, name) != 0 || name >= n)
            continue;
        snprintf(copy, sizeof copy, "%.*s", (int)(n - name - 1), word + name + 1);
        limits[i].pair[0] = strtod(copy, &end);
        if (end == copy || *end != ':')
            break;
        const char *second = end + 1;
        limits[i].pair[1] = strtod(second, &end);
        if (end != second && !*end)
            return DONE;
        break;
    }
    return term_fail(
        USAGE,
        "--limits: '%.*s' is not a limit, as in kl=0.01:0.1; they are kl, correlation, match, entropy and "
        "outside, each with the value for healthy and the one for concerning",
        (int)(n < 60 ? n : 60), word);
}

int compare_limits(carat_quality_limits *l, const char *text)
{
    carat_quality nothing = {.size = sizeof nothing};
    carat_judgement judgement = {.size = sizeof judgement};
    carat_error err;
    int code = DONE;

    carat_quality_limits_default(l);
    while (code == DONE && text && *text) {
        const size_t n = strcspn(text, ",");
        code = take_limit(l, text, n);
        text += n + (text[n] == ',');
        text += strspn(text, " ");
    }
    if (code == DONE && carat_judge(&nothing, l, &judgement, &err) != CARAT_OK)
        code = term_fail(USAGE, "--limits: %s", err.message);
    return code;
}

static carat_driver driver_of(const struct compare *c)
{
    const struct options *o = c->o;
    static const struct {
        const char *name;
        carat_driver driver;
    } drivers[] = {{"test", CARAT_DRIVER_TEST},
                   {"coreml", CARAT_DRIVER_TEST},
                   {"free", CARAT_DRIVER_FREE},
                   {"text", CARAT_DRIVER_TEXT}};

    for (size_t i = 0; i < sizeof drivers / sizeof drivers[0]; i++)
        if (strcmp(drivers[i].name, o->compare->driver) == 0)
            return drivers[i].driver;
    return c->recorded ? CARAT_DRIVER_TEXT : CARAT_DRIVER_REF;
}

static int watch_compare(void *user, size_t done, size_t total)
{
    struct compare *c = user;
    (void)done;
    (void)total;

    return progress_update(&c->bar, c->told, c->expected);
}

static int settle_options(struct compare *c)
{
    const struct options *o = c->o;
    carat_compare_options *out = &c->options;
    const char *lengths = o->compare->at;
    int longest = 0;

    for (int n; (n = next_length(&lengths)) > 0;)
        longest = n > longest ? n : longest;

    carat_compare_options_default(out);
    out->driver = driver_of(c);
    out->max_tokens = options_given(o, &o->compare->predict) ? o->compare->predict
                      : longest                              ? longest
                      : out->driver == CARAT_DRIVER_TEXT     ? 0
                                                             : o->compare->predict;
    out->ignore_eos = o->compare->ignore_eos;
    out->parallel = o->compare->parallel;
    out->top = o->compare->top;
    out->near_tie = o->compare->near_tie > 0 ? o->compare->near_tie : -1;
    out->on_position = compared_position;
    out->on_compared = compared_end;
    out->watch = watch_compare;
    out->user = c;
    if (c->recorded && out->driver != CARAT_DRIVER_TEXT)
        return term_fail(
            USAGE, "compare: recorded logits belong to the ids that are given, so it takes no --driver %s",
            o->compare->driver);
    if (o->compare->ref_logits && o->compare->dataset)
        return term_fail(
            USAGE, "compare: the lines of --dataset name their \"logits\", so it takes no --ref-logits");
    if (o->compare->dataset &&
        (o->prompt->prompt || o->prompt->file || o->prompt->messages || o->prompt->ids || o->prompt->tools ||
         o->prompt->system || o->prompt->system_file))
        return term_fail(USAGE, "compare: the prompts are those of --dataset, so it takes no other one");
    if (!o->compare->dataset != !o->compare->out_dir)
        return term_fail(
            USAGE,
            "compare: --dataset and --out belong together: what is compared, and where the results go");
    if (o->compare->ref_logits && !o->prompt->ids && !o->compare->dataset)
        return term_fail(USAGE, "compare: --ref-logits needs --ids, which the logits belong to");
    if (o->compare->bisect && c->recorded)
        return term_fail(USAGE, "compare: --bisect looks into two models, and recorded logits are none");
    if (options_given(o, &o->compare->bisect_rows) && !o->compare->bisect)
        return term_fail(USAGE, "compare: --rows belongs to --bisect");
    return compare_limits(&c->limits, o->compare->limits);
}

/* ---- one prompt ---- */

/* The rows of --ref-logits, one behind each id. */
static int map_recorded(const struct compare *c, struct compared *p, struct npy_rows *rows)
{
    const size_t n = (size_t)p->prompt.n + (size_t)p->answer.n;
    int code = npy_map(rows, c->o->compare->ref_logits, (size_t)c->side[TEST].info.n_vocab, n);

    if (code == DONE && rows->rows != n)
        code = fail_as(BAD_MODEL, CARAT_E_FORMAT, "%s: it has %zu rows, and --ids has %zu ids",
                       c->o->compare->ref_logits, rows->rows, n);
    p->recorded = rows->value;
    p->n_recorded = (int)rows->rows;
    return code;
}

/* With the driver text the prompt's own ids are what follows its first one. */
static int split_text(struct compared *p)
{
    for (int i = 1; i < (int)p->prompt.n; i++)
        if (!push_id(&p->answer, p->prompt.ids[i]))
            return fail_memory();
    p->prompt.n = 1;
    p->whole = true;
    return DONE;
}

int compare_context(const struct compare *c, const struct compared *p)
{
    if (c->o->engine->context)
        return c->o->engine->context;
    return (int)(p->prompt.n +
                 (c->options.driver == CARAT_DRIVER_TEXT ? p->answer.n : c->options.max_tokens));
}

/* Appends a finished prompt to the results. */
static int write_line(const struct compare *c, const struct compared *p, FILE *results)
{
    char *text = compared_text(c, p, true);

    if (!text)
        return fail_memory();
    const bool written = fprintf(results, "%s\n", text) > 0 && fflush(results) == 0;
    free(text);
    return written ? DONE : term_fail(FAILED, "cannot write results: %s", strerror(errno));
}

static int compare_one(struct compare *c, struct compared *p, FILE *results)
{
    const carat_compare_prompt prompt = compared_prompt(p);
    struct summary summary = {0};
    struct bisection bisection = {0};
    carat_error err;

    progress_begin(&c->bar, "comparing", "tok");
    c->expected =
        c->options.driver == CARAT_DRIVER_TEXT ? (size_t)p->answer.n : (size_t)c->options.max_tokens;
    const double start = term_seconds();
    const carat_status status =
        carat_compare(c->side[REF].engine, c->side[TEST].engine, &prompt, &c->options, &err);
    const double took = term_seconds() - start;
    progress_end(&c->bar);
    if (term_interrupted())
        return INTERRUPTED;
    if (status != CARAT_OK && status != CARAT_E_NUMERIC)
        return fail_status(&err);
    int code = sides_run(c);
    if (code == DONE)
        code = write_line(c, p, results);
    if (code == DONE)
        code = summary_make(results, &c->limits, &summary);
    if (code == DONE && c->o->compare->bisect)
        code = bisect_compared(c, p, &bisection);
    if (code == DONE) {
        const struct timings timings = {took, (double)p->n / took, -1, -1};
        summary.bisect = c->o->compare->bisect ? &bisection : NULL;
        summary.timings = &timings;
        code = compare_tell(c, &summary);
    }
    bisect_free(&bisection);
    summary_free(&summary);
    return code;
}

static int one_prompt(struct compare *c)
{
    struct compared p = {.id = json_integer(1)};
    struct conversation talk = {0};
    struct npy_rows rows = {0};
    FILE *results = tmpfile();
    c->options.parallel = 1;
    int code =
        results && p.id ? DONE : term_fail(FAILED, "no file for results can be made: %s", strerror(errno));

    if (code == DONE)
        code = read_prompt_files(&talk, &c->side[TEST].o, &p.prompt);
    if (code == DONE)
        code = sides_open(c);
    if (code == DONE)
        code = make_prompt(c->side[TEST].model, &c->side[TEST].info, &talk, &p.prompt);
    if (code == DONE)
        code = check_prompt_ids(&p.prompt, &c->side[TEST].info);
    if (code == DONE && c->options.driver == CARAT_DRIVER_TEXT)
        code = split_text(&p);
    if (code == DONE && c->recorded)
        code = map_recorded(c, &p, &rows);
    if (code == DONE)
        code = sides_start(c, 1, compare_context(c, &p));
    if (code == DONE && c->o->compare->bisect)
        code = bisect_check(c);
    if (code == DONE)
        code = compare_one(c, &p, results);
    conversation_free(&talk);
    compared_free(&p);
    npy_unmap(&rows);
    if (results)
        fclose(results);
    return code;
}

int compare_models(const struct options *o, bool quiet)
{
    struct compare c = {.o = o, .recorded = o->compare->ref_logits != NULL, .quiet = quiet};
    int code = o->compare->dataset ? dataset_look(o->compare->dataset, &c.recorded) : DONE;

    if (code == DONE)
        code = settle_options(&c);
    interrupt_install();
    if (code == DONE)
        code = sides_name(&c);
    if (code == DONE)
        code = o->compare->dataset ? dataset_compare(&c) : one_prompt(&c);
    sides_close(&c);
    return code;
}

int verb_compare(const struct options *o)
{
    return compare_models(o, false);
}
