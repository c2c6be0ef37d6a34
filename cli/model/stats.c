/* SPDX-License-Identifier: Apache-2.0 */
/* stats.c: --stats: what the passes of an engine did, as a table for people and as an object for programs.
 * The figures are the library's. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "model/engine_report.h"
#include "model/lookup.h"
#include "term/columns.h"

/* "1", "3-4", "257+" */
static const char *rows_text(char out[32], const carat_pass_stats *p)
{
    if (p->last == INT32_MAX)
        snprintf(out, 32, "%d+", p->first);
    else if (p->last > p->first)
        snprintf(out, 32, "%d-%d", p->first, p->last);
    else
        snprintf(out, 32, "%d", p->first);
    return out;
}

/* "1.23 ms": three digits and a unit in nine columns. */
static const char *time_text(char out[32], double seconds)
{
    double value = seconds < 1e-3 ? seconds * 1e6 : seconds < 1 ? seconds * 1e3 : seconds;
    const char *unit = seconds < 1e-3 ? "us" : seconds < 1 ? "ms" : "s";

    snprintf(out, 32, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, unit);
    return out;
}

/* All columns where there is room for them. */
static bool is_wide(void)
{
    return columns_of(STDERR_FILENO, USUAL_COLUMNS) >= 66;
}

static void print_heading(const char *of, const char *what)
{
    const bool wide = is_wide();

    fprintf(stderr, "%s\n  %-8s%8s%10s%s%10s%s\n", of, what, "number", "mean", wide ? "       p50" : "",
            "p95", wide ? "       p99      cv" : "");
}

static void print_times(const char *what, const carat_pass_stats *p)
{
    const bool wide = is_wide();
    char mean[32], p50[32], p95[32], p99[32];

    fprintf(stderr, "  %-8s%8llu", what, (unsigned long long)p->passes);
    if (p->passes) {
        fprintf(stderr, "%10s", time_text(mean, p->mean));
        if (wide)
            fprintf(stderr, "%10s", time_text(p50, p->p50));
        fprintf(stderr, "%10s", time_text(p95, p->p95));
        if (wide)
            fprintf(stderr, "%10s%7.0f%%", time_text(p99, p->p99), 100 * p->cv);
    }
    fputc('\n', stderr);
}

static void print_passes(const carat_engine_stats *s)
{
    char rows[32];

    print_heading("passes", "rows");
    for (int i = 0; i < CARAT_ROW_BUCKETS; i++)
        if (s->by_rows[i].passes)
            print_times(rows_text(rows, &s->by_rows[i]), &s->by_rows[i]);
}

static void print_number(const char *name, uint64_t value)
{
    fprintf(stderr, "  %-20s%10llu\n", name, (unsigned long long)value);
}

static const struct {
    const char *key, *text;
} reasons[CARAT_DISPATCH_REASONS] = {
    [CARAT_DISPATCH_OPTION] = {"option", "as asked"},
    [CARAT_DISPATCH_NO_GPU] = {"no_gpu", "without a GPU"},
    [CARAT_DISPATCH_COST] = {"cost", "faster there"},
    [CARAT_DISPATCH_UNKNOWN] = {"unknown", "not known of both"},
    [CARAT_DISPATCH_MEASURE] = {"measure", "to measure it"},
};

static void print_dispatch(const char *name, const carat_dispatch *d)
{
    char text[32];

    print_times(name, &d->all);
    for (int i = 0; i < CARAT_DISPATCH_REASONS; i++)
        if (d->by_reason[i]) {
            snprintf(text, sizeof text, "  %s", reasons[i].text);
            print_number(text, d->by_reason[i]);
        }
}

static void print_drafts(const carat_generation_info *g)
{
    fprintf(stderr, "drafts of the last answer\n");
    print_number("drafted", (uint64_t)g->drafted);
    print_number("accepted", (uint64_t)g->accepted);
    fprintf(stderr, "  %-20s%7.1f ms\n", "gained", g->gained_ms);
    const bool several = g->use[CARAT_FROM_DRAFTER].drafted || g->use_of_form.drafted;
    for (int i = 0; i <= CARAT_FROM_FORM && several; i++) {
        const carat_draft_use *use = drafts_of(g, (carat_draft_source)i);
        fprintf(stderr, "  of the %-13s%7d drafted, %d accepted, %.1f ms gained\n",
                draft_source_name((carat_draft_source)i), use->drafted, use->accepted, use->gained_ms);
    }
    for (int i = 0; i < g->switched && i < CARAT_MOST_SWITCHES; i++) {
        const bool named = g->switched_source[i] != CARAT_FROM_TEXT;
        fprintf(stderr, "  %s%s%s%s after %d ids:\n    %s\n", named ? "the " : "",
                named ? draft_source_name(g->switched_source[i]) : "", named ? " " : "",
                g->switches[i].on ? "on" : "off", g->switches[i].given, g->switches[i].reason);
    }
}

static carat_engine_stats stats_of(carat_engine *engine)
{
    carat_engine_stats s;
    carat_engine_stats_default(&s);

    (void)carat_engine_get_stats(engine, &s, NULL); /* neither is NULL */
    return s;
}

void stats_print(carat_engine *engine, const carat_generation_info *g)
{
    const carat_engine_stats s = stats_of(engine);

    print_passes(&s);
    fprintf(stderr, "tokens\n");
    print_number("prefill", s.prefill);
    print_number("decode", s.decode);
    print_number("drafted", s.drafted);
    print_number("evaluated again", s.reevaluated);
    print_number("restored", s.restored);
    print_number("prompt, one by one", s.one_by_one);
    print_heading("dispatch", "by");
    print_dispatch("cpu", &s.cpu);
    print_dispatch("gpu", &s.gpu);
    fprintf(stderr, "    %s\n", s.cpu.reason);
    fprintf(stderr, "memory\n");
    print_number("blocks", (uint64_t)s.blocks);
    print_number("blocks held", (uint64_t)s.blocks_held);
    print_number("snapshots taken", s.snapshots_taken);
    print_number("snapshots used", s.snapshots_used);
    print_number("snapshots dropped", s.snapshots_dropped);
    print_number("rows padded", s.padded_rows);
    print_number("plans built", s.plans_built);
    if (g && (g->drafted || g->switched))
        print_drafts(g);
}

/* ---- for programs ---- */

/* Adds rows and times to an object that begins with what they are of. */
static json_t *with_times(json_t *all, const carat_pass_stats *p)
{
    json_t *times = json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f}", "rows", (json_int_t)p->rows, "ms",
                              p->seconds * 1e3, "mean_ms", p->mean * 1e3, "p50_ms", p->p50 * 1e3, "p95_ms",
                              p->p95 * 1e3, "p99_ms", p->p99 * 1e3, "cv", p->cv);

    json_object_update(all, times);
    json_decref(times);
    return all;
}

static json_t *passes_json(const carat_engine_stats *s)
{
    json_t *list = json_array();
    char rows[32];

    for (int i = 0; i < CARAT_ROW_BUCKETS; i++)
        if (s->by_rows[i].passes)
            json_array_append_new(list,
                                  with_times(json_pack("{s:s, s:I}", "of", rows_text(rows, &s->by_rows[i]),
                                                       "count", (json_int_t)s->by_rows[i].passes),
                                             &s->by_rows[i]));
    return list;
}

static json_t *dispatch_json(const carat_dispatch *d)
{
    json_t *all = with_times(json_pack("{s:I}", "passes", (json_int_t)d->all.passes), &d->all);
    json_t *by = json_object();

    for (int i = 0; i < CARAT_DISPATCH_REASONS; i++)
        if (d->by_reason[i])
            json_object_set_new(by, reasons[i].key, json_integer((json_int_t)d->by_reason[i]));
    json_object_set_new(all, "by_reason", by);
    json_object_set_new(all, "reason", json_string(d->reason));
    return all;
}

static json_t *drafts_json(const carat_generation_info *g)
{
    json_t *list = json_array();

    for (int i = 0; i < g->switched && i < CARAT_MOST_SWITCHES; i++)
        json_array_append_new(list, json_pack("{s:i, s:b, s:s, s:s}", "after", g->switches[i].given, "on",
                                              g->switches[i].on, "reason", g->switches[i].reason, "source",
                                              draft_source_name(g->switched_source[i])));
    json_t *all = json_pack("{s:i, s:i, s:f, s:o}", "drafted", g->drafted, "accepted", g->accepted,
                            "gained_ms", g->gained_ms, "switches", list);
    for (int i = 0; all && i <= CARAT_FROM_FORM; i++) {
        const carat_draft_use *use = drafts_of(g, (carat_draft_source)i);
        json_object_set_new(all, draft_source_name((carat_draft_source)i),
                            json_pack("{s:i, s:i, s:f}", "drafted", use->drafted, "accepted", use->accepted,
                                      "gained_ms", use->gained_ms));
    }
    return all;
}

json_t *stats_json(carat_engine *engine, const carat_generation_info *g)
{
    const carat_engine_stats s = stats_of(engine);
    json_t *tokens = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "prefill", (json_int_t)s.prefill, "decode",
                               (json_int_t)s.decode, "drafted", (json_int_t)s.drafted, "reevaluated",
                               (json_int_t)s.reevaluated, "restored", (json_int_t)s.restored, "one_by_one",
                               (json_int_t)s.one_by_one);
    json_t *snapshots = json_pack("{s:I, s:I, s:I}", "taken", (json_int_t)s.snapshots_taken, "used",
                                  (json_int_t)s.snapshots_used, "dropped", (json_int_t)s.snapshots_dropped);
    json_t *all =
        json_pack("{s:o, s:o, s:{s:o, s:o}, s:i, s:i, s:I, s:I, s:o}", "passes", passes_json(&s), "tokens",
                  tokens, "dispatch", "cpu", dispatch_json(&s.cpu), "gpu", dispatch_json(&s.gpu), "blocks",
                  s.blocks, "blocks_held", s.blocks_held, "padded_rows", (json_int_t)s.padded_rows,
                  "plans_built", (json_int_t)s.plans_built, "snapshots", snapshots);

    if (all && g)
        json_object_set_new(all, "drafts", drafts_json(g));
    return all;
}
