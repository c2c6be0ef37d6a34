/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.c: `carat sweep`: tries recipes and says which one to take. What is wrong with any of them is said
 * before the first is made. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "carat_tools.h"
#include "io/save.h"
#include "model/model.h"
#include "prompt/converting.h"
#include "quality/compare/compare.h"
#include "quality/compare/compare_options.h"
#include "quality/sweep/sweep.h"
#include "term/interrupt.h"
#include "term/out_json.h"
#include "term/output.h"

/* The options about trying recipes; those about comparing are compare's. */
#define AT(field) offsetof(struct sweep_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_COMPARISON + 200, {"--recipes"}, READS, AT(recipes), "sweep", "FILE", NULL,
     "what is tried: a name and options of convert in each line, behind # a remark", 0, 0},
    {ABOUT_COMPARISON + 210, {"--max-kl"}, REAL_OR_0, AT(max_kl), "sweep", "X", NULL,
     "name the smallest whose mean KL is at most X; exit code 7 if none is", 0, 1e6},
    {ABOUT_OUTPUT + 170, {"--keep"}, FLAG, AT(keep), "sweep", NULL, NULL,
     "leave what is made in DIR, as NAME.gguf", 0, 0},
    {ABOUT_MEASURING + 400, {"--n-prompt"}, INT, AT(n_prompt), "/ sweep", "N", "128",
     "ids of the prompt that is timed (default {default}; 0: none)", 0, 1 << 20},
    {ABOUT_MEASURING + 410, {"--n-gen"}, INT, AT(n_gen), "/ sweep", "N", "32",
     "steps of generation that are timed (default {default}; 0: none)", 0, 1 << 20},
    {ABOUT_MEASURING + 420, {"--repetitions"}, INT, AT(repetitions), "/ sweep", "N", "3",
     "how often both are timed, after a first time that does not count (default {default})", 1, 100},
};
/* clang-format on */

const struct option_group sweep_group = OPTION_GROUP(rows, struct sweep_options, NULL);

static int check_asked(const struct options *o)
{
    carat_quality_limits limits;

    if (!o->sweep->recipes || !o->compare->dataset || !o->compare->out_dir)
        return term_fail(USAGE,
                         "sweep needs --recipes FILE, what is tried, --dataset FILE.jsonl, on what, and "
                         "--out DIR, where the results go");
    return compare_limits(&limits, o->compare->limits);
}

/* FNV-1a over the bytes of the file. */
static int hash_data(struct sweep *s)
{
    const char *path = s->o->compare->dataset;
    uint64_t hash = 0xcbf29ce484222325u;
    FILE *f = fopen(path, "rb");
    int c;

    if (!f)
        return term_fail(USAGE, "--dataset: %s: %s", path, strerror(errno));
    while ((c = fgetc(f)) != EOF)
        hash = (hash ^ (uint64_t)c) * 0x100000001b3u;
    const bool good = !ferror(f);
    const int why = errno;
    fclose(f);
    snprintf(s->data, sizeof s->data, "%016llx", (unsigned long long)hash);
    return good ? DONE : term_fail(USAGE, "--dataset: %s: %s", path, strerror(why));
}

static int open_all(struct sweep *s)
{
    carat_model_info info = {.size = sizeof info};
    struct progress bar;
    carat_error err;

    TRY(open_source(&s->model, s->o));
    if (carat_model_get_info(s->model, &info, &err) != CARAT_OK)
        return fail_status(&err);
    if (info.kind != CARAT_GENERATOR)
        return fail_as(BAD_MODEL, CARAT_E_UNSUPPORTED,
                       "%s: does not generate text, so there are no logits to compare", s->o->model);
    progress_begin(&bar, "reading", NULL);
    const carat_status status = carat_model_content(s->model, progress_update, &bar, s->content, &err);
    progress_end(&bar);
    return status == CARAT_OK ? DONE : fail_status(&err);
}

/* Bytes of all tensors, and how many weights they have. */
struct sums {
    uint64_t bytes;
    double weights;
};

static void add_tensor(void *sums, const carat_converted *t)
{
    struct sums *s = sums;

    s->bytes += t->bytes;
    s->weights += (double)t->weights;
}

static int plan(const struct sweep *s, carat_convert_options *how, struct sums *sums)
{
    carat_error err;

    *sums = (struct sums){0, 0};
    how->dry_run = 1;
    how->tensor = add_tensor;
    how->user = sums;
    return carat_convert(s->model, NULL, how, &err) == CARAT_OK ? DONE : fail_status(&err);
}

/* Sizes of all that will be made, and what is wrong with a recipe. */
static int plan_all(struct sweep *s)
{
    carat_convert_options how;
    struct sums whole, sums;
    int code;

    carat_convert_options_default(&how);
    how.container = "gguf";
    TRY(plan(s, &how, &whole));
    s->source = (struct made){
        .name = "source", .bytes = whole.bytes, .bits = 8 * (double)whole.bytes / whole.weights};
    s->made = calloc((size_t)s->recipes.n, sizeof *s->made);
    if (!s->made)
        return fail_memory();
    for (int i = 0; i < s->recipes.n; i++) {
        const struct recipe *r = &s->recipes.of[i];
        char *words = NULL;
        recipe_speaks(s->o->sweep->recipes, r);
        code = strcmp(r->name, s->source.name) == 0 ? term_fail(USAGE, "the name 'source' is the model's own")
                                                    : convert_options(&how, &words, &r->options);
        how.container = "gguf";
        if (code == DONE)
            code = plan(s, &how, &sums);
        free(words);
        recipe_speaks(NULL, NULL);
        TRY(code);
        s->made[i] = (struct made){.name = r->name,
                                   .text = r->text,
                                   .bytes = sums.bytes,
                                   .bits = 8 * (double)sums.bytes / whole.weights};
    }
    return DONE;
}

/* sweep.json, and the page; both are functions of what DIR has. */
static int keep_all(const struct sweep *s)
{
    const size_t n = strlen(s->dir) + sizeof "/report.html";
    char *path = malloc(n), *text = fields_text(sweep_fields, s, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    struct save file = {0};
    int code = path && text ? DONE : fail_memory();

    if (code == DONE) {
        snprintf(path, n, "%s/sweep.json", s->dir);
        code = save_open(&file, path);
    }
    if (code == DONE)
        code = fprintf(file.file, "%s\n", text) < 0 ? save_failed(&file) : save_close(&file);
    save_abandon(&file);
    if (code == DONE) {
        snprintf(path, n, "%s/report.html", s->dir);
        code = sweep_page(s, path);
    }
    if (code == DONE && s->o->json)
        code = out_json(fields_json(sweep_fields, s));
    else if (code == DONE)
        sweep_print(s);
    free(text);
    free(path);
    return code;
}

static int run(struct sweep *s)
{
    TRY(check_asked(s->o));
    TRY(hash_data(s));
    TRY(recipes_read(&s->recipes, s->o->sweep->recipes, s->o->model, s->dir));
    TRY(open_all(s));
    TRY(plan_all(s));
    TRY(made_of_model(s));
    for (int i = 0; i < s->recipes.n; i++) {
        TRY(made_by_recipe(s, i));
        if (term_interrupted())
            return INTERRUPTED;
    }
    sweep_judge(s);
    TRY(keep_all(s));
    if (!isnan(s->o->sweep->max_kl) && s->chosen < 0)
        return term_fail(CHECK_FAILED, "no recipe has a mean KL of at most %g", s->o->sweep->max_kl);
    return s->code;
}

int verb_sweep(const struct options *o)
{
    struct sweep s = {.o = o, .dir = o->compare->out_dir, .chosen = -1};

    interrupt_install();
    const int code = run(&s);
    for (int i = 0; s.made && i < s.recipes.n; i++)
        if (s.made[i].summary) {
            summary_free(s.made[i].summary);
            free(s.made[i].summary);
        }
    free(s.made);
    recipes_free(&s.recipes);
    carat_model_close(s.model);
    return code;
}
