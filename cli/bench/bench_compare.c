/* SPDX-License-Identifier: Apache-2.0 */
/* bench_compare.c: an older result (`carat bench -o json`, or llama-bench's own JSON) beside the tests of
 * this run: which of them belong together, what the machine explains, and a verdict for each. Reading it, and
 * what noise explains: bench_older.c. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_options.h"
#include "bench/fields.h"
#include "io/input.h"
#include "term/output.h"

static const char *name_of(const struct bench *b)
{
    return input_name(b->o->bench->compare);
}

/* Points for what an element has in common with a test's setting: two for as many threads, one for passes as
 * wide. */
static int likeness(const json_t *element, const struct setting *s)
{
    int threads, chunk;

    return 2 * (older_number(element, "n_threads", &threads) && threads == s->plan.threads) +
           (older_number(element, "n_ubatch", &chunk) && chunk == s->plan.chunk);
}

/* Puts an element beside the tests of this run that it belongs to, unless they have one that is more
 * alike. */
static int match(struct bench *b, const json_t *element, size_t i)
{
    const json_t *ours = json_object_get(element, "carat");
    int n_prompt, n_gen, depth, parallel = 1;
    struct spread spread;
    bool memory = true;

    if (!older_number(element, "n_prompt", &n_prompt) || !older_number(element, "n_gen", &n_gen))
        return older_refuse(name_of(b), "has no n_prompt and n_gen that count tokens", i);
    if (!older_number(element, "n_depth", &depth))
        return older_refuse(name_of(b), "has no n_depth that counts tokens", i);
    if (json_object_get(ours, "n_parallel") && !older_number(ours, "n_parallel", &parallel))
        return older_refuse(name_of(b), "has an n_parallel that counts no sequences", i);
    if (!older_samples(element, &spread, &memory))
        return older_refuse(name_of(b), "has no samples_ts, which are speeds above 0", i);
    if (!memory)
        return fail_memory();
    for (int k = 0; k < b->n; k++) {
        struct test *t = &b->test[k];
        bool same =
            t->n_prompt == n_prompt && t->n_gen == n_gen && t->depth == depth && t->parallel == parallel;
        bool better = !t->old.element || likeness(element, t->with) > likeness(t->old.element, t->with);
        if (same && better) {
            t->old.element = element;
            t->old.ts = spread;
        }
    }
    return DONE;
}

static int match_all(struct bench *b)
{
    int code = DONE;

    for (size_t i = 0; i < json_array_size(b->older) && code == DONE; i++)
        code = match(b, json_array_get(b->older, i), i);
    return code;
}

int bench_compare_open(struct bench *b)
{
    int code = older_read(b->o->bench->compare, &b->older), found = 0;

    if (code == DONE)
        code = match_all(b);
    for (int k = 0; k < b->n; k++)
        found += b->test[k].old.element != NULL;
    if (code == DONE && found == 0)
        return term_fail(
            USAGE, "bench: %s has no test of this run; -p, -n, -pg, -d and -npl choose those that are in it",
            name_of(b));
    return code;
}

/* ---- what is not the same ---- */

/* Something inside "carat" of an older result, or NULL. */
static const json_t *ours_at(const struct test *t, const char *key)
{
    return json_object_get(json_object_get(t->old.element, "carat"), key);
}

/* True: the older result is of this machine, used in the same way. Nothing can be said of another. */
static bool same_machine(const struct bench *b, const struct test *t)
{
    static const char *const same[] = {"cpu_info", "n_threads", "carat.isa"};

    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        if (!bench_field_equal(b, t, same[i], t->old.element))
            return false;
    return true;
}

/* The share of its speed that memory, or arithmetic, whichever binds the test, has lost. */
static double machine_lost(const struct test *t)
{
    const carat_limits *limits = &t->with->limits;
    const json_t *rates = ours_at(t, "limit_gop_s");
    double lost = -INFINITY;

    if (!(t->work.of_compute > t->work.of_read))
        lost = 1 - limits->read / 1e9 / json_number_value(ours_at(t, "limit_gb_s"));
    for (int a = 0; a < CARAT_N_ARITHMETIC && t->work.of_compute > t->work.of_read; a++) {
        double then = json_number_value(json_object_get(rates, arithmetic_names[a])) * 1e9;
        if (limits->operations[a] > 0)
            lost = fmax(lost, 1 - limits->operations[a] / then);
    }
    return lost > -INFINITY && lost < 1 ? lost : 0; /* a limit that is not in the older result is 0 */
}

/* The share that others leave of the processors which the threads need. */
static double left(const struct bench *b, const struct test *t, double foreign, double steal)
{
    return fmin(1, fmax(0.01, 1 - foreign - steal) * b->host.online / t->with->plan.threads);
}

static double others_took(const struct bench *b, const struct test *t)
{
    const json_t *foreign = ours_at(t, "foreign_load"), *steal = ours_at(t, "steal");
    double then = left(b, t, json_number_value(foreign), json_number_value(steal));

    if (!json_is_number(foreign) || !json_is_number(steal) || isnan(t->load.foreign) || !(then > 0))
        return 0;
    return 1 - left(b, t, t->load.foreign, t->load.steal) / then;
}

/* Settings that differ are reported, and compared all the same. */
static void note_differences(const struct bench *b)
{
    static const char *const settings[] = {"model_type",  "model_size",   "cpu_info",   "n_threads",
                                           "type_k",      "type_v",       "carat.isa",  "carat.exact",
                                           "carat.fast8", "carat.tensor", "carat.chunk"};

    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        for (int k = 0; k < b->n; k++) {
            const struct test *t = &b->test[k];
            if (!t->old.element || bench_field_equal(b, t, settings[i], t->old.element))
                continue;
            bench_note_field(b, t, settings[i], t->old.element, name_of(b));
            break;
        }
}

/* ---- verdicts ---- */

/* The one of all tests that is farthest from 0. */
static double largest(const struct bench *b, size_t field)
{
    double most = 0;

    for (int k = 0; k < b->n; k++) {
        double x = *(const double *)((const char *)&b->test[k].old + field);
        most = fabs(x) > fabs(most) ? x : most;
    }
    return most;
}

/* Notes what the machine has lost or won since: a gain hides what the program has lost, so both directions
 * are named. */
static void note_machine(const struct bench *b)
{
    static const double much = 0.05;
    const struct {
        double lost;
        const char *what;
    } parts[] = {{largest(b, offsetof(struct verdict, lost)), "what this machine can do at most"},
                 {largest(b, offsetof(struct verdict, taken)), "what others left of the processors"}};

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (fabs(parts[i].lost) > much)
            term_note("%s: %s was up to %.0f %% %s than now", name_of(b), parts[i].what,
                      100 * fabs(1 / (1 - parts[i].lost) - 1), parts[i].lost > 0 ? "more" : "less");
}

/* The loss that a limit which fell explains: all of it, as long as the test uses the same share of the limit
 * (of_read, of_compute) as before. A share that rose beyond the noise shows a test that was not bound by the
 * limit. */
static double machine_explains(const struct verdict *v)
{
    double share = v->ratio / (1 - v->lost); /* new by old */

    return share <= 1 + v->allowed ? v->lost : 0;
}

static void judge(const struct bench *b, struct test *t)
{
    struct verdict *v = &t->old;

    older_allow(v, &t->ts);
    v->lost = same_machine(b, t) ? machine_lost(t) : 0;
    v->taken = same_machine(b, t) ? others_took(b, t) : 0;
    v->word = older_word(v, fmax(0, fmax(machine_explains(v), v->taken))); /* one is a part of the other */
}

int bench_compare(struct bench *b)
{
    int code = match_all(b); /* again, with the number of threads known */

    if (code != DONE)
        return code;
    note_differences(b);
    for (int k = 0; k < b->n; k++)
        if (b->test[k].old.element)
            judge(b, &b->test[k]);
    note_machine(b);
    return DONE;
}

void bench_print_comparison(const struct bench *b, struct table *table)
{
    static const char *const titles[] = {"test:",    "then tok/s:", "now tok/s:", "ratio:", "then ± %:",
                                         "now ± %:", "allowed %:",  "verdict",    NULL};
    char name[64];

    table_begin(table, titles);
    for (int k = 0; k < b->n; k++) {
        const struct test *t = &b->test[k];
        if (!t->old.element)
            continue;
        table_cell(table, "%s", test_name(name, sizeof name, t));
        table_cell(table, "%.2f", t->old.ts.median);
        table_cell(table, "%.2f", t->ts.median);
        table_cell(table, "%.3f", t->old.ratio);
        table_number(table, "%.1f", 100 * t->old.ts.noise);
        table_number(table, "%.1f", 100 * t->ts.noise);
        table_cell(table, "%.1f", 100 * t->old.allowed);
        table_cell(table, "%s", t->old.word);
    }
    out_print("\n");
    table_print(table);
}

int bench_compare_result(const struct bench *b)
{
    char name[64], names[512] = "";
    size_t used = 0;
    int slower = 0;

    for (int k = 0; k < b->n; k++) {
        const struct test *t = &b->test[k];
        if (!t->old.element || strcmp(t->old.word, "slower") != 0)
            continue;
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", slower ? ", " : "",
                                     test_name(name, sizeof name, t));
        slower++;
    }
    return slower
               ? term_fail(CHECK_FAILED, "bench: slower than in %s, beyond the noise: %s", name_of(b), names)
               : DONE;
}
