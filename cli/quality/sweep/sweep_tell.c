/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_tell.c: what a sweep found, as JSON and as a table for a terminal: a line for each recipe where there
 * is room, some short ones where there is not. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "io/members.h"
#include "quality/sweep/sweep.h"
#include "quality/compare/compare_options.h"
#include "term/columns.h"
#include "term/output.h"

enum { NAME = 14, WIDE = 76 };

/* ---- JSON ---- */

static const char *advice_word(int advice)
{
    return advice_words[advice];
}

/* clang-format off */
#define Y(member) .at = offsetof(struct summary, member)
static const struct field shown_fields[] = {
    {"kl", FIELD_PART, Y(metric[KL]), .of = spread_fields},
    {"correlation", FIELD_PART, Y(metric[CORRELATION]), .of = spread_fields},
    {"match_rate", FIELD_PART, Y(metric[MATCH]), .of = spread_fields},
    {"first_divergence", FIELD_SOME, Y(first), .of = divergence_fields},
    {"diverged", FIELD_LONG, Y(diverged)},
    {"verdict", FIELD_PART, Y(verdict), .of = verdict_fields},
    {"prompts", FIELD_LONG, Y(prompts)},
    {"positions", FIELD_LONG, Y(positions)},
    {"failed", FIELD_LONG, Y(failed)},
    {0},
};

#define M(member) .at = offsetof(struct made, member)
static const struct field source_fields[] = {
    {"name", FIELD_STRING, M(name)},
    {"options", FIELD_STRING, M(text)},
    {"bytes", FIELD_LONG, M(bytes)},
    {"bits_per_weight", FIELD_REAL, M(bits)},
    {"seconds", FIELD_REAL, M(seconds)},
    {"prompt.tokens_per_second", FIELD_REAL, M(prompt)},
    {"prompt.deviation", FIELD_REAL, M(prompt_noise)},
    {"generation.tokens_per_second", FIELD_REAL, M(steps)},
    {"generation.deviation", FIELD_REAL, M(steps_noise)},
    {"others_busy", FIELD_REAL, M(others)},
    {0},
};
static const struct field recipe_fields[] = {
    {"", FIELD_PART, .at = 0, .of = source_fields},
    {"", FIELD_AT, M(summary), .of = shown_fields},
    {"advice", FIELD_NAMED, M(advice), .named = advice_word},
    {"best_of_size", FIELD_BOOL, M(best)},
    {0},
};

#define S(member) .at = offsetof(struct sweep, member)
static const struct field max_kl_fields[] = {
    {"limit", FIELD_REAL, .at = offsetof(struct sweep, max_kl.limit) - offsetof(struct sweep, max_kl)},
    {"smallest", FIELD_STRING, .at = offsetof(struct sweep, max_kl.smallest) - offsetof(struct sweep, max_kl)},
    {0},
};
const struct field sweep_fields[] = {
    {"source", FIELD_PART, S(source), .of = source_fields},
    {"data", FIELD_AT, S(compared), .of = data_fields},
    {"recipes", FIELD_LIST, S(made), .of = recipe_fields, .size = sizeof(struct made), .n_at = offsetof(struct sweep, recipes.n)},
    {"max_kl", FIELD_SOME | FIELD_OPTIONAL, S(max_kl), .of = max_kl_fields},
    {0},
};
/* clang-format on */

/* ---- words ---- */

bool was_loaded(const struct made *m)
{
    return m->others > 0.1; /* of a processor */
}

/* At most seven characters. */
static const char *short_number(char out[16], double value)
{
    const double size = fabs(value);

    if (isnan(value))
        return "-";
    snprintf(out, 16,
             value == 0    ? "0"
             : size < 1e-3 ? "%.1e"
             : size < 10   ? "%.3f"
             : size < 1000 ? "%.1f"
                           : "%.0f",
             value);
    return out;
}

static double metric_of(const struct made *m, enum metric metric)
{
    return m->summary->metric[metric].mean;
}

static const char *first_of(char out[16], const struct made *m)
{
    const struct divergence *first = &m->summary->first;

    if (!first->there)
        return "-";
    snprintf(out, 16, "%lld", (long long)first->index);
    return out;
}

static void print_row(const struct made *m)
{
    static const char marks[N_ADVICE] = {'*', '+', '~', ' '};
    char size[16], prompt[16], steps[16], kl[16], first[16];

    out_print("%c %-*.*s%7s%6.2f%8s%7s%c", m->summary ? marks[m->advice] : ' ', NAME, NAME, m->name,
              short_number(size, (double)m->bytes / 1e6), m->bits, short_number(prompt, m->prompt),
              short_number(steps, m->steps), was_loaded(m) ? '!' : ' ');
    if (m->summary)
        out_print("%8s%7.4f%7.2f%6s", short_number(kl, kl_of(m)), metric_of(m, CORRELATION),
                  100 * metric_of(m, MATCH), first_of(first, m));
    out_print("\n");
}

static void print_wide(const struct sweep *s)
{
    bool loaded = was_loaded(&s->source);

    out_print("  %-*s%7s%6s%8s%7s%9s%7s%7s%6s\n", NAME, "", "MB", "bits", "prompt", "gen.", "KL", "corr.",
              "match", "parts");
    print_row(&s->source);
    for (int i = 0; i < s->recipes.n; i++) {
        print_row(&s->made[i]);
        loaded |= was_loaded(&s->made[i]);
    }
    out_print("\n* recommended, + best of its size, ~ acceptable where size is critical\n");
    if (loaded)
        out_print("! other work kept processors busy while these speeds were measured\n");
}

static void print_narrow(const struct made *m)
{
    char size[16], prompt[16], steps[16], kl[16], first[16];

    out_print("%.40s\n", m->name);
    if (m->summary)
        out_print("  %s\n", advice_words[m->advice]);
    out_print("  %s MB, %.2f bits a weight\n", short_number(size, (double)m->bytes / 1e6), m->bits);
    out_print("  %s and %s tok/s%s\n", short_number(prompt, m->prompt), short_number(steps, m->steps),
              was_loaded(m) ? ", loaded" : "");
    if (m->summary)
        out_print("  KL %s, correlation %.4f\n  match %.2f %%, parts at %s\n", short_number(kl, kl_of(m)),
                  metric_of(m, CORRELATION), 100 * metric_of(m, MATCH), first_of(first, m));
}

void sweep_print(const struct sweep *s)
{
    const struct made *best = NULL;

    if (columns_of(STDOUT_FILENO, USUAL_COLUMNS) >= WIDE) {
        print_wide(s);
    } else {
        print_narrow(&s->source);
        for (int i = 0; i < s->recipes.n; i++)
            print_narrow(&s->made[i]);
    }
    for (int i = 0; i < s->recipes.n; i++)
        if (s->made[i].advice == RECOMMENDED)
            best = &s->made[i];
    out_fold(2);
    if (best)
        out_print("recommended: %s\n", best->name);
    else
        out_print("recommended: none, since %s\n", sweep_why_none(s));
    if (s->chosen >= 0)
        out_print("smallest with a KL of at most %g: %s\n", s->o->sweep->max_kl, s->made[s->chosen].name);
    out_fold(0);
}
