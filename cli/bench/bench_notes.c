/* SPDX-License-Identifier: Apache-2.0 */
/* bench_notes.c: what explains or distorts the figures of a test, said where it matters: a spread above 5 %,
 * and whatever may have caused it or made all runs slower alike. Only facts: what is not seen is said to be
 * not seen. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/notes.h"
#include "term/output.h"

static const double noisy = 0.05;     /* what more runs cannot hide: a gain that people look for is smaller */
static const double short_run = 20e6; /* ns; some interruptions by the system take a hundredth of that */

/* A value or a range stands where %s is; two decimals at most. */
static const struct {
    double scale;
    const char *text;
} texts[N_CAUSE] = {
    [NOISE] = {100, "runs differ by %s %%"},
    [FOREIGN] = {100, "other processes took %s %% of the processors' time"},
    [STEAL] = {100, "the hypervisor took %s %% of the processors' time (steal)"},
    [THROTTLED] = {100, "the quota of the control group stopped this process for %s %% of the time"},
    [FREQUENCY] = {100, "processors ran at %s %% of the frequency that they can have"},
    [THREADS] = {1, "more threads run than the %s that this process can use at once"},
    [SHORT] = {1e-6, "a run takes %s ms only: with more tokens it would be steadier"},
    [BEYOND] = {100, "%s %% of the limit: data that stays in a cache, or limits measured in a bad moment"},
    [UNSEEN] = {1, "no cause is seen from here%.0s: neighbours on the same memory, or heat"},
};

static void number(char *out, size_t capacity, double value)
{
    snprintf(out, capacity, value < 1 ? "%.2f" : value < 10 ? "%.1f" : "%.0f", value);
}

void bench_note(char *out, size_t capacity, enum cause cause, double low, double high)
{
    char from[32], to[32], both[72];

    number(from, sizeof from, low * texts[cause].scale);
    number(to, sizeof to, high * texts[cause].scale);
    if (strcmp(from, to) == 0)
        snprintf(both, sizeof both, "%s", from);
    else
        snprintf(both, sizeof both, "%s to %s", from, to);
    snprintf(out, capacity, texts[cause].text, both);
}

void bench_judge(const struct bench *b, struct test *t)
{
    const struct load *l = &t->load;
    bool spread = t->ts.noise > noisy, seen = false;
    double frequency = l->mhz_most > 0 ? l->mhz / l->mhz_most : NAN;
    double of_limit = fmax(t->work.of_read, t->work.of_compute); /* of two, of which one may be NAN */
    size_t used = 0;
    const struct {
        double value;
        bool matters;
    } found[UNSEEN] = {
        [NOISE] = {t->ts.noise, spread},
        [FOREIGN] = {l->foreign, l->foreign > 0.05},
        [STEAL] = {l->steal, l->steal > 0.01},
        [THROTTLED] = {l->throttled, l->throttled > 0.001},
        [FREQUENCY] = {frequency, frequency < 0.9},
        [THREADS] = {b->host.threads, t->with->plan.threads > b->host.threads},
        [BEYOND] = {of_limit, of_limit > 1},
        [SHORT] = {t->ns.median, spread && t->ns.median < short_run},
    };

    for (int i = 0; i < UNSEEN; i++) {
        t->cause[i] = found[i].matters ? found[i].value : NAN;
        seen |= i != NOISE && i != BEYOND && found[i].matters;
    }
    t->cause[UNSEEN] = spread && !seen ? 0 : NAN;
    t->notes[0] = 0;
    for (int i = 0; i < N_CAUSE; i++) {
        char one[128];
        if (isnan(t->cause[i]) || used >= sizeof t->notes)
            continue;
        bench_note(one, sizeof one, (enum cause)i, t->cause[i], t->cause[i]);
        used += (size_t)snprintf(t->notes + used, sizeof t->notes - used, "%s%s", used ? "; " : "", one);
    }
}

/* Each cause once, with the range that it has over the tests. */
void bench_print_notes(const struct bench *b)
{
    for (int i = 0; i < N_CAUSE; i++) {
        double low = INFINITY, high = -INFINITY;
        int n = 0;
        char one[160];
        for (int k = 0; k < b->n; k++) {
            low = fmin(low, b->test[k].cause[i]); /* of two, of which one may be NAN */
            high = fmax(high, b->test[k].cause[i]);
            n += !isnan(b->test[k].cause[i]);
        }
        if (n == 0)
            continue;
        bench_note(one, sizeof one, (enum cause)i, low, high);
        out_print("note: %s (%d of %d tests)\n", one, n, b->n);
    }
}
