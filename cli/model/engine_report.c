/* SPDX-License-Identifier: Apache-2.0 */
/* engine_report.c: see engine_report.h. */
#include "model/engine_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/costs.h"
#include "model/engine.h"
#include "model/lookup.h"
#include "term/out_json.h"

/* The options about what an engine says of itself. */
#define AT(field) offsetof(struct engine_report_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_MESSAGES + 10, {"--explain-plan"}, FLAG, AT(explain_plan), "/ " DRAWS, NULL, NULL,
     "before the first token, print which kernels are used and why", 0, 0},
    {ABOUT_MESSAGES + 20, {"--stats"}, FLAG, AT(stats), "/ " DRAWS, NULL, NULL,
     "after the last token, print the passes and how long they took", 0, 0},
};
/* clang-format on */

const struct option_group engine_report_group = OPTION_GROUP(rows, struct engine_report_options, NULL);

/* Passes of a run below which it has learned nothing about costs. */
enum { ENOUGH_PASSES = 16 };

int engine_report_begin(struct engine_report *i, carat_engine_options *e, const struct options *o)
{
    i->o = o;
    return phases_engine(&i->phases, e, o);
}

int engine_report_costs(struct engine_report *i, const carat_model *model, carat_engine_options *e)
{
    static carat_costs recalled; /* until the engine has copied it */

    i->costs = calloc(1, sizeof *i->costs);
    if (!i->costs)
        return fail_memory();
    if (!costs_place(i->costs, model, e, i->o)) {
        free(i->costs);
        i->costs = NULL;
    } else if (costs_recall(i->costs, &recalled)) {
        e->costs = &recalled;
        i->recalled = true;
    }
    return DONE;
}

/* True: the result is an object that has a place for plan and statistics. */
static bool as_json(const struct options *o)
{
    return o->json || o->lines;
}

/* ---- the plan ---- */

/* Tells if answers of this command draft from the text itself, and why. */
static const char *lookup_text(const struct options *o)
{
    static const char *const texts[] = {
        [CARAT_LOOKUP_AUTO] = "auto: as long as drafts pay by what passes cost",
        [CARAT_LOOKUP_ON] = "on: it was asked for",
        [CARAT_LOOKUP_OFF] = "off: it was asked for",
    };
    carat_generation_options g;
    carat_generation_options_default(&g);

    lookup_options(&g, o);
    if (o->engine->naive)
        return "off: every token is evaluated anew";
    if (g.drafter != CARAT_LOOKUP_OFF)
        return g.lookup == CARAT_LOOKUP_OFF ? "off; the drafter of --model-draft guesses"
                                            : "as the drafter of --model-draft: whichever pays more";
    bool asked = options_given(o, &o->lookup->lookup) || o->lookup->spec_type || o->lookup->draft_max == 0;
    return g.lookup == CARAT_LOOKUP_OFF && !asked ? "off: it was not asked for" : texts[g.lookup];
}

/* "key: value", or a member of the object; settings with their origin. */
static int engine_report_take(void *user, const char *key, const char *value)
{
    struct engine_report *i = user;
    const char *origin = phases_origin(&i->phases, key);
    char from[64];

    if (strcmp(key, "lookup") == 0)
        value = lookup_text(i->o);
    if (i->plan) {
        json_object_set_new(i->plan, key, json_text(value, strlen(value)));
        snprintf(from, sizeof from, "%s.from", key);
        if (origin)
            json_object_set_new(i->plan, from, json_string(origin));
    } else {
        fprintf(stderr, "%s: %s%s%s%s\n", key, value, origin ? " (" : "", origin ? origin : "",
                origin ? ")" : "");
    }
    return 0;
}

int engine_report_engine(struct engine_report *i, const carat_engine *engine)
{
    carat_error err;

    if (!i->o->engine_report->explain_plan)
        return DONE;
    if (as_json(i->o) && !(i->plan = json_object()))
        return fail_memory();
    if (*i->phases.path)
        engine_report_take(i, "settings", i->phases.path);
    return carat_explain(engine, engine_report_take, i, &err) == CARAT_OK ? DONE : fail_status(&err);
}

/* ---- the end ---- */

static void keep_costs(const struct engine_report *i, carat_engine *engine)
{
    carat_engine_stats s;
    carat_engine_stats_default(&s);
    carat_costs table;
    carat_costs_default(&table);

    if (!i->costs || carat_engine_get_stats(engine, &s, NULL) != CARAT_OK ||
        carat_engine_get_costs(engine, &table, NULL) != CARAT_OK)
        return;
    if (s.passes >= ENOUGH_PASSES || (!i->recalled && costs_are_of_two(&table)))
        costs_keep(i->costs, &table);
}

void engine_report_end(const struct engine_report *i, carat_engine *engine,
                       const carat_generation_info *generation)
{
    keep_costs(i, engine);
    if (i->o->engine_report->stats && !as_json(i->o))
        stats_print(engine, generation);
}

void engine_report_json(const struct engine_report *i, carat_engine *engine,
                        const carat_generation_info *generation, json_t *object)
{
    if (object && i->plan)
        json_object_set(object, "plan", i->plan);
    if (object && i->o->engine_report->stats)
        json_object_set_new(object, "stats", stats_json(engine, generation));
}

void engine_report_free(struct engine_report *i)
{
    json_decref(i->plan);
    free(i->costs);
}
