/* SPDX-License-Identifier: Apache-2.0 */
/* bench_report.c: tells people what bench.c measured: the table that users of this field know, a second one
 * with what explains it, with --profile one of operations for each test, and a few lines on start, memory and
 * limits. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench_options.h"
#include "bench/notes.h"
#include "term/output.h"
#include "term/size.h"

/* The row of a test but for its speed, which stands last: "" where all tests have the same. */
static void setting_cells(struct table *table, const struct bench *b, const struct test *t)
{
    const carat_plan *plan = &t->with->plan;
    char name[64], size[SIZE_TEXT];

    table_cell(table, "%s", b->type);
    table_cell(table, "%s", size_text(size, (double)b->info.weight_bytes));
    table_cell(table, "%.2f M", (double)b->info.n_parameter / 1e6);
    table_cell(table, "%s %s", t->with->backend, *t->with->device.name ? t->with->device.name : plan->isa);
    table_cell(table, "%d", plan->threads);
    table_number(table, "%.0f", b->several_chunks ? plan->chunk : 0);
    table_cell(table, "%s", !b->several_flash ? "" : t->with->flash ? "1" : "0");
    table_cell(table, "%s", test_name(name, sizeof name, t));
}

void bench_print_head(struct bench *b)
{
    static const char *const titles[] = {
        "model", "size:", "params:", "backend", "threads:", "n_ubatch:", "fa:", "test:", "tok/s:", NULL};
    struct table *table = &b->speeds;

    table_begin(table, titles);
    for (int i = 0; i < b->n; i++) {
        setting_cells(table, b, &b->test[i]);
        table_cell(table, "%.2f ± %.2f", 10000.0, 100.0); /* as wide as most speeds */
    }
    table_measure(table);
    table_head(table);
    out_flush();
}

void bench_print_speed(struct bench *b, int i)
{
    const struct test *t = &b->test[i];
    struct table *table = &b->speeds;

    table->cells = (i + 1) * table->columns - 1;
    table_cell(table, "%.2f ± %.2f", t->ts.mean, t->ts.deviation);
    table_row(table, i);
    out_flush();
}

/* A test, and what it was measured with where that differs. */
static const char *full_name(char *out, size_t capacity, const struct bench *b, const struct test *t)
{
    char name[64], threads[24] = "", chunk[24] = "", flash[16] = "";

    if (b->several_threads)
        snprintf(threads, sizeof threads, " -t %d", t->with->plan.threads);
    if (b->several_chunks)
        snprintf(chunk, sizeof chunk, " -ub %d", t->with->plan.chunk);
    if (b->several_flash)
        snprintf(flash, sizeof flash, " -fa %d", t->with->flash);
    snprintf(out, capacity, "%s%s%s%s", test_name(name, sizeof name, t), threads, chunk, flash);
    return out;
}

/* Names the resource that binds it: the one that it uses the larger share of. */
static void limit_cell(struct table *table, const struct work *w)
{
    bool reads = !(w->of_compute > w->of_read);
    double of = reads ? w->of_read : w->of_compute;

    if (of > 0)
        table_cell(table, "%.0f %% %s", 100 * of, reads ? "read" : "compute");
    else
        table_cell(table, "%s", "");
}

static void print_details(const struct bench *b, struct table *table)
{
    static const char *const titles[] = {
        "test:", "median tok/s:", "± %:",  "first token ms:", "p90:",      "ms/token:",
        "p50:",  "p90:",          "GB/s:", "GOP/s:",          "of limit:", NULL};
    char name[96];

    table_begin(table, titles);
    for (int i = 0; i < b->n; i++) {
        const struct test *t = &b->test[i];
        table_cell(table, "%s", full_name(name, sizeof name, b, t));
        table_number(table, "%.2f", t->ts.median);
        table_number(table, "%.1f", 100 * t->ts.noise);
        table_number(table, "%.1f", t->first_ms.median);
        table_number(table, "%.1f", t->first_ms.p90);
        table_number(table, "%.2f", t->step_ms.mean);
        table_number(table, "%.2f", t->step_ms.median);
        table_number(table, "%.2f", t->step_ms.p90);
        table_number(table, "%.1f", t->work.gb_s);
        table_number(table, "%.1f", t->work.gop_s);
        limit_cell(table, &t->work);
    }
    out_print("\n");
    table_print(table);
}

/* ---- passes of different widths ---- */

/* Seconds of attention alone, in the profiled run. */
static double attention_seconds(const struct test *t)
{
    for (int i = 0; i < t->profile.n; i++)
        if (strcmp(t->profile.operation[i].name, "attention") == 0)
            return t->profile.operation[i].seconds;
    return 0;
}

/* True: b is the same test as a, except for the width of its passes. */
static bool is_other_width(const struct test *a, const struct test *b)
{
    return a->n_prompt == b->n_prompt && a->depth == b->depth && b->n_gen == 0 &&
           a->with->plan.threads == b->with->plan.threads && a->with->flash == b->with->flash;
}

/* Prints what the prompt tests cost pass by pass, or what attention alone costs in them. */
static void print_widths(const struct bench *b, bool attention, struct table *table)
{
    static const char *const titles[] = {
        "test:", "passes:", "ms/pass:", "total ms:", "µs/token:", "× the first:", NULL};
    char name[96];

    table_begin(table, titles);
    for (int i = 0; i < b->n; i++) {
        const struct test *t = &b->test[i];
        int first = 0;
        if (t->n_gen > 0)
            continue;
        while (!is_other_width(t, &b->test[first]))
            first++;
        double all = attention ? attention_seconds(t) : t->ns.median / 1e9;
        double begun = attention ? attention_seconds(&b->test[first]) : b->test[first].ns.median / 1e9;
        table_cell(table, "%s", full_name(name, sizeof name, b, t));
        table_cell(table, "%llu", (unsigned long long)t->profile.passes);
        table_number(table, "%.2f", 1e3 * all / (double)t->profile.passes);
        table_number(table, "%.2f", 1e3 * all);
        table_number(table, "%.2f", 1e6 * all / t->n_prompt);
        table_number(table, "%.2f", begun / all);
    }
    if (table->cells) {
        out_print("\n%s\n\n", attention ? "attention alone, of the fastest run" : "passes of these widths");
        table_print(table);
    }
}

static void operation_cells(struct table *table, const struct test *t, const carat_operation *o, double all)
{
    struct work w = work_of(&t->with->limits, o, o->seconds);

    table_cell(table, "%s", o->name);
    table_number(table, "%.0f", (double)o->calls);
    table_cell(table, "%.2f", 1e3 * o->seconds);
    table_cell(table, "%.1f %%", 100 * o->seconds / all);
    table_number(table, "%.1f", o->calls ? 1e6 * o->seconds / (double)o->calls : 0);
    table_number(table, "%.1f", w.gb_s);
    table_number(table, "%.0f %%", 100 * w.of_read);
    table_number(table, "%.1f", w.gop_s);
    table_number(table, "%.0f %%", 100 * w.of_compute);
}

static void print_profile(const struct bench *b, const struct test *t, struct table *table)
{
    static const char *const titles[] = {"operation", "calls:",   "ms:",    "share:",      "us/call:",
                                         "GB/s:",     "of read:", "GOP/s:", "of compute:", NULL};
    const carat_profile *p = &t->profile;
    carat_operation sum = sum_of(p);
    carat_operation outside = {.name = "outside of these", .seconds = t->seconds - sum.seconds};
    char name[96];

    out_print("\n%s: %.2f ms in %llu passes, the fastest run\n\n", full_name(name, sizeof name, b, t),
              1e3 * t->seconds, (unsigned long long)p->passes);
    table_begin(table, titles);
    for (int i = 0; i < p->n; i++)
        if (p->operation[i].calls)
            operation_cells(table, t, &p->operation[i], t->seconds);
    operation_cells(table, t, &outside, t->seconds);
    sum.name = "all";
    sum.calls = 0;
    sum.seconds = t->seconds;
    operation_cells(table, t, &sum, t->seconds);
    table_print(table);
}

static void print_start(const struct bench *b)
{
    const struct {
        const char *name;
        double seconds;
    } parts[] = {{"open", b->setup.open},   {"map", b->setup.map},
                 {"pack", b->setup.pack},   {"tokenizer", b->setup.tokenizer},
                 {"parse", b->setup.parse}, {"engine", b->setting[0].engine_seconds}};
    const carat_plan *plan = &b->setting[b->n_setting - 1].plan;
    bool first = true;

    out_print("\nstart: %.1f ms", 1e3 * b->start_seconds);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].seconds > 0) {
            out_print("%s %s %.1f", first ? " =" : ",", parts[i].name, 1e3 * parts[i].seconds);
            first = false;
        }
    out_print("%s", b->setup.made     ? "; its packed form has been written"
                    : b->setup.packed ? "; its packed form was there"
                                      : "");
    char size[4][SIZE_TEXT];
    out_print("\nmemory: peak %s; weights %s, KV cache (%s) %s, work %s\n",
              size_text(size[0], (double)b->test[b->n - 1].peak_rss),
              size_text(size[1], (double)plan->weight_bytes), plan->kv,
              size_text(size[2], (double)plan->kv_bytes), size_text(size[3], (double)plan->work_bytes));
}

/* Once for each number of threads. */
static void print_limits(const struct bench *b)
{
    for (int i = 0; i < b->n_setting; i++) {
        const carat_limits *l = &b->setting[i].limits;
        bool told = false;
        for (int k = 0; k < i; k++)
            told |= b->setting[k].limits.threads == l->threads;
        if (told)
            continue;
        out_print("limit: %.1f GB/s", l->read / 1e9);
        for (int a = 0; a < CARAT_N_ARITHMETIC; a++)
            if (l->operations[a] > 0)
                out_print(", %.0f GOP/s %s", l->operations[a] / 1e9, arithmetic_names[a]);
        if (*b->setting[i].device.name)
            out_print(" read and written in copies of %s's memory, measured in this run\n",
                      b->setting[i].device.name);
        else
            out_print(" by %d threads, measured in this run\n", l->threads);
    }
}

void bench_print(const struct bench *b)
{
    static struct table table; /* too large for a small stack */

    print_details(b, &table);
    if (b->several_chunks) {
        print_widths(b, false, &table);
        if (b->o->bench->profile)
            print_widths(b, true, &table);
    }
    if (b->older)
        bench_print_comparison(b, &table);
    for (int i = 0; i < b->n && b->o->bench->profile; i++)
        print_profile(b, &b->test[i], &table);
    print_start(b);
    print_limits(b);
    bench_print_notes(b);
    out_print("again: %s\n", b->command);
}
