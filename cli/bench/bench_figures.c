/* SPDX-License-Identifier: Apache-2.0 */
/* bench_figures.c: from samples and counts to figures: shares of the limits, names, and the command that
 * repeats a run. Measuring is bench_run.c's, spreads are model/spread.c's, telling is the others'. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_options.h"
#include "bench/notes.h"
#include "model/engine.h"
#include "model/stored.h"
#include "options/store.h"

int tokens_of(const struct test *t)
{
    return (t->n_prompt + t->n_gen) * t->parallel;
}

const char *test_name(char *out, size_t capacity, const struct test *t)
{
    char prompt[24] = "", gen[24] = "", parallel[16] = "", depth[16] = "";

    if (t->n_prompt)
        snprintf(prompt, sizeof prompt, "pp%d", t->n_prompt);
    if (t->n_gen)
        snprintf(gen, sizeof gen, "%stg%d", t->n_prompt ? "+" : "", t->n_gen);
    if (t->parallel > 1)
        snprintf(parallel, sizeof parallel, " x%d", t->parallel);
    if (t->depth)
        snprintf(depth, sizeof depth, " @ d%d", t->depth);
    snprintf(out, capacity, "%s%s%s%s", prompt, gen, parallel, depth);
    return out;
}

/* ---- work ---- */

static double share(double x)
{
    return x > 0 ? x : NAN;
}

/* Seconds that the multiplications take at the limit; NAN when the limit of one of them is not known. */
static double least_compute(const carat_limits *limits, const carat_operation *o)
{
    double least = 0;

    for (int a = 0; a < CARAT_N_ARITHMETIC; a++)
        if (o->operations[a])
            least += (double)o->operations[a] / share(limits->operations[a]);
    return least;
}

struct work work_of(const carat_limits *limits, const carat_operation *o, double seconds)
{
    struct work w = {.bytes = o->bytes, .seconds = seconds};

    for (int a = 0; a < CARAT_N_ARITHMETIC; a++)
        w.operations += o->operations[a];
    w.gb_s = seconds > 0 ? (double)w.bytes / seconds / 1e9 : 0;
    w.gop_s = seconds > 0 ? (double)w.operations / seconds / 1e9 : 0;
    w.of_read = seconds > 0 ? share((double)o->bytes / limits->read / seconds) : NAN;
    w.of_compute = seconds > 0 ? share(least_compute(limits, o) / seconds) : NAN;
    return w;
}

carat_operation sum_of(const carat_profile *p)
{
    carat_operation sum = {.name = "sum"};

    for (int i = 0; i < p->n; i++) {
        const carat_operation *o = &p->operation[i];
        sum.calls += o->calls;
        sum.seconds += o->seconds;
        sum.bytes += o->bytes;
        for (int a = 0; a < CARAT_N_ARITHMETIC; a++)
            sum.operations[a] += o->operations[a];
    }
    return sum;
}

void bench_sum_up(const struct bench *b, struct test *t)
{
    carat_operation sum = sum_of(&t->profile);
    double bound;

    t->work = work_of(&t->with->limits, &sum, t->ns.median / 1e9);
    bound = fmax(t->work.of_read, t->work.of_compute); /* of two, of which one may be NAN */
    t->limit = t->ts.median / bound;
    bench_judge(b, t);
}

/* ---- description ---- */

/* By layers, the sizes that Google gives its models. */
static const struct {
    const char *architecture;
    int n_layer;
    const char *size;
} sizes[] = {
    {"gemma", 18, "2B"},   {"gemma", 28, "7B"},    {"gemma2", 26, "2B"},   {"gemma2", 42, "9B"},
    {"gemma2", 46, "27B"}, {"gemma3", 18, "270M"}, {"gemma3", 26, "1B"},   {"gemma3", 34, "4B"},
    {"gemma3", 48, "12B"}, {"gemma3", 62, "27B"},  {"gemma3n", 30, "E2B"}, {"gemma3n", 35, "E4B"},
};

/* A word as a shell reads it. */
static void quote(FILE *f, const char *word)
{
    if (*word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%") ==
                     strlen(word)) {
        fputs(word, f);
        return;
    }
    fputc('\'', f);
    for (; *word; word++)
        fputs(*word == '\'' ? "'\\''" : (char[2]){*word, 0}, f);
    fputc('\'', f);
}

/* Is the option said, though it was not given, or left out, though it was? The form of the result is left
 * out, and of the cache the one type that its two are. */
static bool is_said(const struct options *o, const void *field)
{
    const struct bench_options *b = o->bench;
    const void *const always[] = {&b->n_prompt,   &b->n_gen,       &b->n_depth,
                                  &b->n_parallel, &b->repetitions, &b->thread_list,
                                  &b->chunk_list, &o->engine->kv,  &o->engine->isa};
    const void *const never[] = {&b->output, &o->json, &o->engine->cache_k, &o->engine->cache_v};

    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (field == never[i])
            return false;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (field == always[i])
            return true;
    return options_given(o, field);
}

/* Every option of the table that decides what is measured, with the values that the library chose. */
static int make_command(struct bench *b)
{
    const carat_plan *plan = &b->setting[0].plan;
    struct options o;
    char threads[16], chunk[16];
    size_t n;
    FILE *f;

    if (options_copy(&o, b->o) != DONE || !(f = open_memstream(&b->command, &n)))
        return fail_memory();
    struct bench_options *of = options_group(&o, GROUP_OF_bench);
    struct engine_options *engine = options_group(&o, GROUP_OF_engine);
    snprintf(threads, sizeof threads, "%d", plan->threads);
    snprintf(chunk, sizeof chunk, "%d", plan->chunk);
    if (!b->several_threads)
        of->thread_list = threads;
    if (!b->several_chunks)
        of->chunk_list = chunk;
    engine->kv = plan->kv;
    engine->isa = *b->setting[0].device.name ? NULL : plan->isa;
    fputs("carat bench ", f);
    quote(f, o.model);
    for (const struct option_row *r = table_rows(); r->option; r++) {
        const struct option *option = r->option;
        const void *field = option_field(&o, r);
        bool word = option->kind == TEXT || option->kind == IDS || option->kind == INTS ||
                    option->kind == CHOICE || option->kind == PATH;
        if (!verb_belongs(option->verbs, o.verb) || !is_said(&o, field))
            continue;
        if (option->kind == FLAG && *(const bool *)field)
            fprintf(f, " %s", option->names[0]);
        if (option->kind == INT)
            fprintf(f, " %s %d", option->names[0], *(const int *)field);
        if (word && *(const char *const *)field) {
            fprintf(f, " %s ", option->names[0]);
            quote(f, *(const char *const *)field);
        }
    }
    options_free(&o);
    return fclose(f) == 0 ? DONE : fail_memory();
}

int bench_describe(struct bench *b)
{
    char size[24];
    bool only;

    snprintf(size, sizeof size, "%.3g%s",
             (double)b->info.n_parameter / (b->info.n_parameter < 1e9 ? 1e6 : 1e9),
             b->info.n_parameter < 1e9 ? "M" : "B");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (strcmp(sizes[i].architecture, b->info.architecture) == 0 && sizes[i].n_layer == b->info.n_layer)
            snprintf(size, sizeof size, "%s", sizes[i].size);
    snprintf(b->type, sizeof b->type, "%s %s %s", b->info.architecture, size, stored_type(b->model, &only));
    snprintf(b->build, sizeof b->build, "carat %s", b->host.version);
    return make_command(b);
}
