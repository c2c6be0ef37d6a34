/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_tell.c: what a sweep found, as JSON and as a table for a terminal: a line for each recipe where there
 * is room, some short ones where there is not. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "quality/sweep/sweep.h"
#include "quality/compare/compare_options.h"
#include "term/columns.h"
#include "term/out_json.h"
#include "term/output.h"

enum { NAME = 14, WIDE = 76 };

/* ---- JSON ---- */

static json_t *speed_json(double speed, double noise)
{
    return json_pack("{s:o, s:o}", "tokens_per_second", json_number(speed), "deviation", json_number(noise));
}

static json_t *made_json(const struct made *m)
{
    json_t *all =
        json_pack("{s:s, s:s?, s:I, s:o, s:o, s:o, s:o, s:o}", "name", m->name, "options", m->text, "bytes",
                  (json_int_t)m->bytes, "bits_per_weight", json_number(m->bits), "seconds",
                  json_number(m->seconds), "prompt", speed_json(m->prompt, m->prompt_noise), "generation",
                  speed_json(m->steps, m->steps_noise), "others_busy", json_number(m->others));
    static const char *const members[] = {"kl",       "correlation", "match_rate", "first_divergence",
                                          "diverged", "verdict",     "prompts",    "positions",
                                          "failed"};

    for (size_t i = 0; all && m->summary && i < sizeof members / sizeof *members; i++) {
        json_t *value = json_object_get(m->summary, members[i]);
        json_object_set(all, members[i], value ? value : json_null());
    }
    if (all && m->summary) {
        json_object_set_new(all, "advice", json_string(advice_words[m->advice]));
        json_object_set_new(all, "best_of_size", json_boolean(m->best));
    }
    return all;
}

json_t *sweep_json(const struct sweep *s)
{
    json_t *list = json_array();

    for (int i = 0; i < s->recipes.n; i++)
        json_array_append_new(list, made_json(&s->made[i]));
    json_t *run = s->recipes.n ? json_object_get(s->made[0].summary, "run") : NULL;
    json_t *all = json_pack("{s:o, s:o, s:o}", "source", made_json(&s->source), "data",
                            json_incref(run ? json_object_get(run, "data") : json_null()), "recipes", list);
    if (all && !isnan(s->o->sweep->max_kl))
        json_object_set_new(all, "max_kl",
                            json_pack("{s:f, s:s?}", "limit", s->o->sweep->max_kl, "smallest",
                                      s->chosen < 0 ? NULL : s->made[s->chosen].name));
    return all;
}

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

static const char *first_of(char out[16], const struct made *m)
{
    const json_t *at = json_object_get(json_object_get(m->summary, "first_divergence"), "index");

    if (!json_is_integer(at))
        return "-";
    snprintf(out, 16, "%lld", (long long)json_integer_value(at));
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
        out_print("%8s%7.4f%7.2f%6s", short_number(kl, m->kl), m->correlation, 100 * m->match,
                  first_of(first, m));
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
        out_print("  KL %s, correlation %.4f\n  match %.2f %%, parts at %s\n", short_number(kl, m->kl),
                  m->correlation, 100 * m->match, first_of(first, m));
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
