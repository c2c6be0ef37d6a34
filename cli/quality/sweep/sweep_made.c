/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_made.c: one recipe of `carat sweep`: what it makes is written, timed and compared with the model;
 * what DIR has of the same question is taken from there. Comparing goes on behind the last whole line by
 * itself. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/members.h"
#include "io/save.h"
#include "model/conditions.h"
#include "model/engine.h"
#include "model/model.h"
#include "model/pace.h"
#include "model/spread.h"
#include "write/write_model.h"
#include "write/writing.h"
#include "prompt/converting.h"
#include "prompt/settle.h"
#include "quality/compare/compare.h"
#include "quality/compare/compare_options.h"
#include "quality/sweep/sweep.h"
#include "term/clock.h"
#include "term/exit.h"
#include "term/interrupt.h"
#include "term/message.h"

enum { PLACE = 4096 };

/* "DIR/NAME/FILE" */
static const char *place_of(char out[PLACE], const struct sweep *s, const char *name, const char *file)
{
    snprintf(out, PLACE, "%s/%s%s%s", s->dir, name, *file ? "/" : "", file);
    return out;
}

/* ---- what is kept ---- */

/* All that decides what is found. */
struct asked {
    struct words model, version, recipe, data, driver;
    int tokens, threads, n_prompt, n_gen, repetitions;
};

/* clang-format off */
#define A(member) .at = offsetof(struct asked, member)
static const struct field asked_fields[] = {
    {"model", FIELD_WORDS, A(model)},
    {"version", FIELD_WORDS, A(version)},
    {"recipe", FIELD_WORDS, A(recipe)},
    {"data", FIELD_WORDS, A(data)},
    {"driver", FIELD_WORDS, A(driver)},
    {"tokens", FIELD_INT, A(tokens)},
    {"threads", FIELD_INT, A(threads)},
    {"n_prompt", FIELD_INT, A(n_prompt)},
    {"n_gen", FIELD_INT, A(n_gen)},
    {"repetitions", FIELD_INT, A(repetitions)},
    {0},
};

/* recipe.json: it, and what was measured. */
struct kept {
    struct asked asked;
    struct made made;
};
#define K(member) .at = offsetof(struct kept, member)
static const struct field kept_fields[] = {
    {"asked", FIELD_PART, K(asked), .of = asked_fields},
    {"seconds", FIELD_REAL, K(made.seconds)},
    {"others_busy", FIELD_REAL, K(made.others)},
    {"prompt.tokens_per_second", FIELD_REAL, K(made.prompt)},
    {"prompt.deviation", FIELD_REAL, K(made.prompt_noise)},
    {"generation.tokens_per_second", FIELD_REAL, K(made.steps)},
    {"generation.deviation", FIELD_REAL, K(made.steps_noise)},
    {0},
};
/* clang-format on */

static struct asked asked(const struct sweep *s, const struct made *m)
{
    const struct compare_options *c = s->o->compare;
    const struct sweep_options *w = s->o->sweep;

    return (struct asked){words_of(s->content),
                          words_of(carat_version()),
                          m->text ? words_of(m->text) : (struct words){0},
                          words_of(s->data),
                          words_of(c->driver),
                          options_given(s->o, &c->predict) ? c->predict : 0,
                          s->o->engine->threads,
                          w->n_prompt,
                          w->n_gen,
                          w->repetitions};
}

static int keep_made(const struct sweep *s, const struct made *m)
{
    const struct kept kept = {asked(s, m), *m};
    char path[PLACE], *text = fields_text(kept_fields, &kept, JSON_INDENT(1));
    struct save file = {0};
    int code = text ? save_open(&file, place_of(path, s, m->name, "recipe.json")) : fail_memory();

    if (code == DONE)
        code = fprintf(file.file, "%s\n", text) < 0 ? save_failed(&file) : save_close(&file);
    save_abandon(&file);
    free(text);
    return code;
}

/* False: DIR has it not, or an answer to another question. */
static bool take_made(const struct sweep *s, struct made *m)
{
    char path[PLACE];
    struct kept kept = {asked(s, m), *m};
    const struct asked wanted = kept.asked;
    json_t *all =
        s->o->compare->restart ? NULL : json_load_file(place_of(path, s, m->name, "recipe.json"), 0, NULL);

    fields_read(kept_fields, &kept, all);
    const bool same = all && fields_equal(asked_fields, &kept.asked, &wanted);
    if (same)
        *m = kept.made;
    json_decref(all);
    return same;
}

static int make_directory(const char *path)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST
               ? DONE
               : term_fail(FAILED, "%s: cannot be made: %s", path, strerror(errno));
}

/* ---- how fast ---- */

static int time_runs(struct pace *p, const struct sweep *s, double *prompt, double *steps)
{
    const struct sweep_options *w = s->o->sweep;
    const struct stretch stretch = {w->n_prompt, w->n_gen, 0, 1};

    for (int i = -1; i < w->repetitions; i++) { /* the first does not count */
        struct paced paced;
        TRY(pace_begin(p, &stretch));
        TRY(pace_run(p, &stretch, NULL, &paced));
        if (i >= 0) {
            prompt[i] = w->n_prompt / paced.prompt;
            steps[i] = w->n_gen / paced.steps;
        }
        if (term_interrupted())
            return INTERRUPTED;
    }
    return DONE;
}

static int time_model(const struct sweep *s, const carat_model *model, struct made *m)
{
    const struct sweep_options *w = s->o->sweep;
    const int n = w->n_prompt + w->n_gen;
    carat_model_info info = {.size = sizeof info};
    carat_engine_options options;
    struct spread prompt, steps;
    struct pace pace = {0};
    double *speed;
    int32_t *ids;
    carat_error err;

    m->prompt = m->steps = m->prompt_noise = m->steps_noise = m->others = NAN;
    if (n == 0)
        return DONE;
    if (carat_model_get_info(model, &info, &err) != CARAT_OK)
        return fail_status(&err);
    engine_options(&options, s->o);
    options.context = n;
    options.sessions = 1;
    pace.ids = ids = malloc((size_t)n * sizeof *ids);
    speed = malloc(2 * (size_t)w->repetitions * sizeof *speed);
    int code = ids && speed ? create_engine(&pace.engine, model, &options) : fail_memory();
    if (code == DONE) {
        random_ids(ids, n, &info, 1);
        const struct cpu_time before = cpu_time_now();
        code = time_runs(&pace, s, speed, speed + w->repetitions);
        const struct cpu_time after = cpu_time_now();
        const double others = cpu_time_others(&before, &after);
        m->others = others < 0 ? NAN : others;
    }
    if (code == DONE && !(spread_of(&prompt, speed, w->repetitions, 1) &&
                          spread_of(&steps, speed + w->repetitions, w->repetitions, 1)))
        code = fail_memory();
    pace_end(&pace);
    carat_engine_close(pace.engine);
    free(ids);
    free(speed);
    if (code == DONE && w->n_prompt) {
        m->prompt = prompt.mean;
        m->prompt_noise = prompt.deviation;
    }
    if (code == DONE && w->n_gen) {
        m->steps = steps.mean;
        m->steps_noise = steps.deviation;
    }
    return code;
}

int made_of_model(struct sweep *s)
{
    char path[PLACE];

    TRY(make_directory(s->dir));
    TRY(make_directory(place_of(path, s, s->source.name, "")));
    if (take_made(s, &s->source))
        return DONE;
    TRY(time_model(s, s->model, &s->source));
    return keep_made(s, &s->source);
}

/* ---- how near ---- */

/* The command line of carat compare that the sweep stands for. */
static int compare_made(struct sweep *s, const struct recipe *r, const char *dir)
{
    const struct compare_options *c = s->o->compare;
    char parallel[16], tokens[16], threads[16], path[PLACE];
    const char *word[24] = {"--dataset", c->dataset, "--out",     dir,          "--driver",
                            c->driver,   "--limits", c->limits,   "--parallel", parallel,
                            "--threads", threads,    "--no-cache"};
    struct options o;
    int n = 13;

    snprintf(parallel, sizeof parallel, "%d", c->parallel);
    snprintf(tokens, sizeof tokens, "%d", c->predict);
    snprintf(threads, sizeof threads, "%d", s->o->engine->threads);
    if (options_given(s->o, &c->predict)) {
        word[n++] = "-n";
        word[n++] = tokens;
    }
    if (c->restart)
        word[n++] = "--restart";
    word[n++] = "--";
    word[n++] = s->o->model;
    word[n++] = r->path;
    unlink(place_of(path, s, r->name, "summary.json"));
    int code = options_parse(&o, find_verb("compare"), n, (char **)(uintptr_t)word);
    if (code == DONE)
        code = prompt_settle(&o);
    if (code == DONE)
        code = compare_models(&o, true);
    options_free(&o);
    if (code == FAILED && access(path, F_OK) == 0) { /* some prompts failed, the others are compared */
        s->code = FAILED;
        return DONE;
    }
    return code == CHECK_FAILED ? DONE : code;
}

static int read_summary(const struct sweep *s, struct made *m)
{
    carat_quality_limits limits;
    char path[PLACE];
    FILE *lines;

    TRY(compare_limits(&limits, s->o->compare->limits));
    lines = fopen(place_of(path, s, m->name, "results.jsonl"), "rb");
    if (!lines)
        return term_fail(FAILED, "%s: %s; --restart begins anew", path, strerror(errno));
    m->summary = calloc(1, sizeof *m->summary);
    int code = m->summary ? summary_make(lines, &limits, m->summary) : fail_memory();
    fclose(lines);
    return code;
}

/* ---- a recipe ---- */

/* Writes it, with what was measured of each tensor beside the comparison. */
static int write_made(const struct sweep *s, struct recipe *r, struct made *m)
{
    struct writing_options *writing = options_group(&r->options, GROUP_OF_writing);
    carat_convert_options how;
    char path[PLACE], *words = NULL;
    const double start = term_seconds();
    int code = convert_options(&how, &words, &r->options);

    writing->report = place_of(path, s, r->name, "tensors.json");
    if (code == DONE)
        code = convert_scale(&how.residual_scale, s->model, &how, &r->options);
    if (!how.threads)
        how.threads = s->o->engine->threads;
    if (code == DONE)
        code = write_model(s->model, r->path, &how, &r->options, false);
    writing->report = NULL;
    m->seconds = term_seconds() - start;
    free(words);
    return code;
}

static int time_made(const struct sweep *s, const struct recipe *r, struct made *m)
{
    carat_model *model = NULL;
    struct options o;
    int code = options_copy(&o, s->o);

    if (code == DONE) {
        struct open_options *open = options_group(&o, GROUP_OF_open);
        open->no_cache = true; /* it is there for minutes */
        o.model = r->path;
        code = open_packed(&model, &o);
    }
    if (code == DONE)
        code = time_model(s, model, m);
    carat_model_close(model);
    options_free(&o);
    return code;
}

int made_by_recipe(struct sweep *s, int i)
{
    struct recipe *r = &s->recipes.of[i];
    struct made *m = &s->made[i];
    char dir[PLACE];
    int code;

    if (take_made(s, m) && !(s->o->sweep->keep && access(r->path, F_OK) != 0))
        return read_summary(s, m);
    term_note("%s, %d of %d", r->name, i + 1, s->recipes.n);
    TRY(make_directory(place_of(dir, s, r->name, "")));
    code = write_made(s, r, m);
    if (code == DONE)
        code = time_made(s, r, m);
    if (code == DONE)
        code = compare_made(s, r, dir);
    if (!s->o->sweep->keep)
        unlink(r->path);
    if (code == DONE)
        code = read_summary(s, m);
    return code == DONE ? keep_made(s, m) : code;
}
