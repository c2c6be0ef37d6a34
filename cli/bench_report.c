/* bench_report.c: tells what bench.c measured: the table that users of this field know, with --profile a table of
 * operations for each test, or JSON. Shares are of the limits measured in the same run. */
#include <stdio.h>
#include <string.h>

#include "bench.h"

static const char *const arithmetic_names[CARAT_N_ARITHMETIC] = {"f32", "bf16", "int8", "int4"};

/* What something had to read and compute, and how long it took. */
struct work {
    uint64_t bytes, operations;
    double seconds;
    double of_read, of_compute; /* of what could be done in that time; 0: nothing to do, or limit not known */
};

static struct work work_of(const struct bench *b, const carat_operation *o, double seconds)
{
    struct work w = {.bytes = o->bytes, .seconds = seconds};
    double least = 0;
    bool known = true;

    for (int a = 0; a < CARAT_N_ARITHMETIC; a++) {
        double rate = b->limits.operations[a];
        w.operations += o->operations[a];
        known &= rate > 0 || o->operations[a] == 0;
        least += rate > 0 ? (double)o->operations[a] / rate : 0;
    }
    if (seconds > 0) {
        w.of_read = (double)o->bytes / b->limits.read / seconds;
        w.of_compute = known ? least / seconds : 0;
    }
    return w;
}

/* All operations together. */
static carat_operation sum_of(const carat_profile *p)
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

/* The whole test at its median speed. */
static struct work work_of_test(const struct bench *b, const struct test *t)
{
    carat_operation sum = sum_of(&t->profile);
    return work_of(b, &sum, (double)t->tokens * t->parallel / t->median);
}

static double per_second(uint64_t n, double seconds)
{
    return seconds > 0 ? (double)n / seconds / 1e9 : 0;
}

/* ---- for people ---- */

static const char *test_name(char *out, size_t capacity, const struct test *t)
{
    int n = snprintf(out, capacity, t->parallel > 1 ? "%s%d x%d" : "%s%d", t->kind, t->tokens, t->parallel);

    if (t->depth)
        snprintf(out + n, capacity - (size_t)n, " @ d%d", t->depth);
    return out;
}

/* A number in its column, or nothing there. */
static void cell(const char *format, int width, double value)
{
    if (value > 0)
        out_print(format, value);
    else
        out_print("%*s", width, "");
    out_print(" |");
}

static void print_operation(const struct bench *b, const carat_operation *o, double seconds)
{
    struct work w = work_of(b, o, o->seconds);

    out_print("| %-16s |", o->name);
    cell(" %7.0f", 8, (double)o->calls);
    out_print(" %9.2f | %5.1f %% |", 1e3 * o->seconds, 100 * o->seconds / seconds);
    cell(" %9.1f", 10, o->calls ? 1e6 * o->seconds / (double)o->calls : 0);
    cell(" %5.1f", 6, per_second(w.bytes, w.seconds));
    cell(" %5.0f %%", 8, 100 * w.of_read);
    cell(" %7.1f", 8, per_second(w.operations, w.seconds));
    cell(" %8.0f %%", 11, 100 * w.of_compute);
    out_print("\n");
}

static void print_profile(const struct bench *b, const struct test *t)
{
    const carat_profile *p = &t->profile;
    carat_operation sum = sum_of(p);
    carat_operation outside = {.name = "outside of these", .seconds = t->seconds - sum.seconds};
    char name[32];

    out_print("\n%s: %.2f ms in %llu passes, the fastest run\n\n", test_name(name, sizeof name, t),
              1e3 * t->seconds, (unsigned long long)p->passes);
    out_print("| operation        |   calls |        ms |   share |   us/call |  GB/s | of read |   GOP/s | "
              "of compute |\n"
              "| ---------------- | ------: | --------: | ------: | --------: | ----: | ------: | ------: | "
              "---------: |\n");
    for (int i = 0; i < p->n; i++)
        if (p->operation[i].calls)
            print_operation(b, &p->operation[i], t->seconds);
    print_operation(b, &outside, t->seconds);
    sum.name = "all";
    sum.calls = 0;
    sum.seconds = t->seconds;
    print_operation(b, &sum, t->seconds);
}

static void print_limits(const struct bench *b)
{
    out_print("\nlimit: %.1f GB/s read from memory", b->limits.read / 1e9);
    for (int a = 0; a < CARAT_N_ARITHMETIC; a++)
        if (b->limits.operations[a] > 0)
            out_print(", %.0f GOP/s %s", b->limits.operations[a] / 1e9, arithmetic_names[a]);
    out_print(
        " by %d threads, measured in this run\n"
        "GB/s: weights, K and V, once a pass; GOP/s: two for each weight and token, and attention; both "
        "by the median\n",
        b->limits.threads);
}

void bench_print(const struct bench *b, const struct test *tests, int n)
{
    out_print("| model                | size       | params     | backend     | threads | test            |  "
              "         "
              "t/s      |   median |  GB/s |   GOP/s |     of limit |\n"
              "| -------------------- | ---------: | ---------: | ----------- | ------: | --------------: | "
              "-----------------: | -------: | ----: | ------: | -----------: |\n");
    for (int i = 0; i < n; i++) {
        struct work w = work_of_test(b, &tests[i]);
        bool reads = w.of_read > w.of_compute;
        char name[32];
        out_print("| %-20.20s | %6.1f MiB | %8.2f M | CPU %-7.7s | %7d | %15s | %10.2f ± %5.2f | %8.2f | ",
                  model_name(b->o->model), (double)b->info.weight_bytes / (1 << 20),
                  (double)b->info.n_parameter / 1e6, b->plan.isa, b->plan.threads,
                  test_name(name, sizeof name, &tests[i]), tests[i].mean, tests[i].deviation,
                  tests[i].median);
        out_print("%5.1f | %7.1f | %3.0f %% %-7s |\n", per_second(w.bytes, w.seconds),
                  per_second(w.operations, w.seconds), 100 * (reads ? w.of_read : w.of_compute),
                  reads ? "read" : "compute");
    }
    for (int i = 0; i < n && b->o->profile; i++)
        print_profile(b, &tests[i]);
    print_limits(b);
}

/* ---- for programs ---- */

/* A share, null where there is none. */
static json_t *share(double x)
{
    return x > 0 ? json_number(x) : json_null();
}

static json_t *operation_json(const struct bench *b, const carat_operation *o)
{
    struct work w = work_of(b, o, o->seconds);

    return json_pack("{s:s, s:I, s:f, s:I, s:I, s:o, s:o}", "name", o->name, "calls", (json_int_t)o->calls,
                     "seconds", o->seconds, "bytes", (json_int_t)w.bytes, "operations",
                     (json_int_t)w.operations, "of_read", share(w.of_read), "of_compute",
                     share(w.of_compute));
}

static json_t *profile_json(const struct bench *b, const struct test *t)
{
    json_t *list = json_array();

    for (int i = 0; i < t->profile.n; i++)
        if (t->profile.operation[i].calls)
            json_array_append_new(list, operation_json(b, &t->profile.operation[i]));
    return json_pack("{s:f, s:I, s:o}", "seconds", t->seconds, "passes", (json_int_t)t->profile.passes,
                     "operations", list);
}

static json_t *test_json(const struct bench *b, const struct test *t)
{
    struct work w = work_of_test(b, t);
    json_t *samples = json_array();

    for (int i = 0; i < b->o->repetitions; i++)
        json_array_append_new(samples, json_number(t->speed[i]));
    json_t *test = json_pack(
        "{s:s, s:i, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:o}", "test", t->kind,
        "tokens", t->tokens, "n_prompt", t->step > 1 ? t->tokens : 0, "n_gen", t->step > 1 ? 0 : t->tokens,
        "n_depth", t->depth, "n_parallel", t->parallel, "avg_ts", t->mean, "stddev_ts", t->deviation,
        "median_ts", t->median, "min_ts", t->low, "max_ts", t->high, "read_gb_s",
        per_second(w.bytes, w.seconds), "gop_s", per_second(w.operations, w.seconds), "of_read",
        share(w.of_read), "of_compute", share(w.of_compute), "samples_ts", samples);
    if (test && b->o->profile && json_object_set_new(test, "profile", profile_json(b, t)) != 0) {
        json_decref(test);
        return NULL;
    }
    return test;
}

int bench_print_json(const struct bench *b, const struct test *tests, int n)
{
    json_t *list = json_array(), *rates = json_object();
    const char *name = model_name(b->o->model);

    for (int i = 0; i < n; i++)
        json_array_append_new(list, test_json(b, &tests[i]));
    for (int a = 0; a < CARAT_N_ARITHMETIC; a++)
        json_object_set_new(rates, arithmetic_names[a], share(b->limits.operations[a] / 1e9));
    return out_json(json_pack("{s:o, s:I, s:I, s:s, s:s, s:b, s:i, s:i, s:i, s:f, s:o, s:o}", "model",
                              json_text(name, strlen(name)), "model_size", (json_int_t)b->info.weight_bytes,
                              "model_n_params", (json_int_t)b->info.n_parameter, "isa", b->plan.isa, "kv",
                              b->plan.kv, "exact", b->o->exact, "chunk", b->plan.chunk, "threads",
                              b->plan.threads, "repetitions", b->o->repetitions, "limit_gb_s",
                              b->limits.read / 1e9, "limit_gop_s", rates, "tests", list));
}
