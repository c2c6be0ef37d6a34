/* bench_report.c: tells people what bench.c measured: the table that users of this field know, a second one with what
 * explains it, with --profile one of operations for each test, and a few lines on start, memory and limits. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "machine.h"

static double mib(size_t bytes)
{
    return (double)bytes / (1 << 20);
}

static void print_speeds(const struct bench *b, struct table *table)
{
    static const char *const titles[] = {"model",    "size:", "params:", "backend",
                                         "threads:", "test:", "t/s:",    NULL};
    char name[64];

    table_begin(table, titles);
    for (int i = 0; i < b->n; i++) {
        const struct test *t = &b->test[i];
        table_cell(table, "%s", b->type);
        table_cell(table, "%.2f MiB", mib(b->info.weight_bytes));
        table_cell(table, "%.2f M", (double)b->info.n_parameter / 1e6);
        table_cell(table, "CPU %s", b->plan.isa);
        table_cell(table, "%d", b->plan.threads);
        table_cell(table, "%s", test_name(name, sizeof name, t));
        table_cell(table, "%.2f ± %.2f", t->ts.mean, t->ts.deviation);
    }
    table_print(table);
}

/* What binds it: the resource that it uses the larger share of. */
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
        "test:", "median t/s:", "± %:",  "first token ms:", "p90:",      "ms/token:",
        "p50:",  "p90:",        "GB/s:", "GOP/s:",          "of limit:", NULL};
    char name[64];

    table_begin(table, titles);
    for (int i = 0; i < b->n; i++) {
        const struct test *t = &b->test[i];
        table_cell(table, "%s", test_name(name, sizeof name, t));
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

static void operation_cells(struct table *table, const struct bench *b, const carat_operation *o, double all)
{
    struct work w = work_of(b, o, o->seconds);

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
    char name[64];

    out_print("\n%s: %.2f ms in %llu passes, the fastest run\n\n", test_name(name, sizeof name, t),
              1e3 * t->seconds, (unsigned long long)p->passes);
    table_begin(table, titles);
    for (int i = 0; i < p->n; i++)
        if (p->operation[i].calls)
            operation_cells(table, b, &p->operation[i], t->seconds);
    operation_cells(table, b, &outside, t->seconds);
    sum.name = "all";
    sum.calls = 0;
    sum.seconds = t->seconds;
    operation_cells(table, b, &sum, t->seconds);
    table_print(table);
}

static void print_start(const struct bench *b)
{
    const struct {
        const char *name;
        double seconds;
    } parts[] = {{"open", b->setup.open},           {"map", b->setup.map},     {"pack", b->setup.pack},
                 {"tokenizer", b->setup.tokenizer}, {"parse", b->setup.parse}, {"engine", b->engine_seconds}};
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
    out_print("\nmemory: peak %.1f MiB; weights %.1f, KV cache (%s) %.1f, work %.1f\n",
              mib(b->test[b->n - 1].peak_rss), mib(b->plan.weight_bytes), b->plan.kv, mib(b->plan.kv_bytes),
              mib(b->plan.work_bytes));
}

static void print_limits(const struct bench *b)
{
    out_print("limit: %.1f GB/s", b->limits.read / 1e9);
    for (int a = 0; a < CARAT_N_ARITHMETIC; a++)
        if (b->limits.operations[a] > 0)
            out_print(", %.0f GOP/s %s", b->limits.operations[a] / 1e9, arithmetic_names[a]);
    out_print(" by %d threads, measured in this run\n", b->limits.threads);
}

void bench_print(const struct bench *b)
{
    static struct table table; /* too large for a stack that somebody has made small */

    print_speeds(b, &table);
    print_details(b, &table);
    if (b->older)
        bench_print_comparison(b, &table);
    for (int i = 0; i < b->n && b->o->profile; i++)
        print_profile(b, &b->test[i], &table);
    print_start(b);
    print_limits(b);
    bench_print_notes(b);
    out_print("again: %s\n", b->command);
}
