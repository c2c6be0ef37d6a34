/* SPDX-License-Identifier: Apache-2.0 */
/* engine_report.h: what a verb that generates tells of its engine: --explain-plan before the first token,
 * --stats behind the last; and what it remembers of it, the costs of passes. */
#ifndef MODEL_ENGINE_REPORT_H
#define MODEL_ENGINE_REPORT_H

#include <jansson.h>

#include "model/costs.h"
#include "model/phases.h"

struct engine_report_options {
    bool explain_plan, stats;
};

struct engine_report {
    const struct options *o;
    struct phases phases;
    struct costs *costs; /* where costs are kept; NULL: nowhere */
    bool recalled;       /* an earlier run had kept some */
    json_t *plan;        /* --explain-plan with --json; else NULL */
};

/* Options and settings of the engine that is created next, before its context is chosen; *e points into i. An
 * exit code. */
int engine_report_begin(struct engine_report *i, carat_engine_options *e, const struct options *o);
/* And what its passes cost in an earlier run, behind all settings. An exit code. */
int engine_report_costs(struct engine_report *i, const carat_model *model, carat_engine_options *e);
/* The engine is there: what it is made of. An exit code. */
int engine_report_engine(struct engine_report *i, const carat_engine *engine);
/* The last token is there: what the engine did; generation (may be NULL) is the last one. With --json
 * and --jsonl insight_json has it. */
void engine_report_end(const struct engine_report *i, carat_engine *engine,
                       const carat_generation_info *generation);
/* Puts "plan" and "stats" into an object, as far as they were asked for. */
void engine_report_json(const struct engine_report *i, carat_engine *engine,
                        const carat_generation_info *generation, json_t *object);
void engine_report_free(struct engine_report *i);

/* stats.c: the statistics as a table on standard error, and as an object. */
void stats_print(carat_engine *engine, const carat_generation_info *generation);
json_t *stats_json(carat_engine *engine, const carat_generation_info *generation);

#endif
