/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_costs.c: what passes of a model cost on this machine, as its runs have measured and kept it: a pass
 * of one row, and the others against it. */
#include <stdio.h>
#include <string.h>

#include "model/model.h"
#include "show/doctor/doctor.h"
#include "term/exit.h"
#include "term/out_json.h"

static const char *const kind_names[COST_KINDS] = {"generation", "prompt", "generation on GPU",
                                                   "prompt on GPU"};
static const int depth_begins[CARAT_COST_DEPTHS] = {0, 1024, 4096, 16384};

int doctor_find_costs(struct report *r, const struct options *o)
{
    carat_model_info info = {.size = sizeof info};
    carat_model *model;

    TRY(open_model(&model, o, false));
    r->model = o->model;
    r->embeds = carat_model_get_info(model, &info, NULL) == CARAT_OK && info.kind == CARAT_EMBEDDER;
    r->has_costs = costs_place(&r->costs, model, NULL, o);
    const int code = doctor_find_unread(&r->unread, model);
    carat_model_close(model);
    return code;
}

static const carat_cost *one_row(carat_costs *table, int kind, int depth)
{
    const carat_cost *one = cost_at(table, kind, depth, 0);
    const int generation = kind / CARAT_COST_KINDS * CARAT_COST_KINDS;
    return one->passes ? one
                       : cost_at(table, generation, depth, 0); /* its logits are a part of what it costs */
}

/* "1: 12.3 ms, 4: 1.40 x, 8: 2.80 x"; "" when nothing is known. */
static void write_costs(char text[COSTS_TEXT], carat_costs *table, int kind, int depth)
{
    const carat_cost *one = one_row(table, kind, depth);
    size_t used = 0;

    text[0] = 0;
    for (int b = 0; b < CARAT_ROW_BUCKETS && used < COSTS_TEXT; b++) {
        const carat_cost *c = cost_at(table, kind, depth, b);
        if (!c->passes)
            continue;
        used += (size_t)snprintf(text + used, COSTS_TEXT - used, "%s%.0f: ", used ? ", " : "", c->rows);
        if (used >= COSTS_TEXT)
            break;
        if (b > 0 && one->passes)
            used +=
                (size_t)snprintf(text + used, COSTS_TEXT - used, "%.2f x", c->nanoseconds / one->nanoseconds);
        else
            used += (size_t)snprintf(text + used, COSTS_TEXT - used, "%.3g ms", c->nanoseconds * 1e-6);
    }
}

bool doctor_costs(const struct report *r, int i, char name[32], char text[COSTS_TEXT])
{
    carat_costs table;
    char settings[COSTS_SETTINGS];

    for (int t = 0; r->has_costs && costs_of_model(&r->costs, t, settings, &table); t++) {
        if (i-- == 0) {
            snprintf(name, 32, "%s", t ? "" : "costs");
            snprintf(text, COSTS_TEXT, "%.200s (tokens of a pass: time, others against one)", settings);
            return true;
        }
        for (int kind = 0; kind < COST_KINDS; kind++)
            for (int depth = 0; depth < CARAT_COST_DEPTHS; depth++) {
                write_costs(text, &table, kind, depth);
                if (!*text || i-- > 0)
                    continue;
                snprintf(name, 32, "  %s", kind_names[kind]);
                if (depth > 0)
                    snprintf(name, 32, "    from %d", depth_begins[depth]);
                return true;
            }
    }
    return false;
}

json_t *doctor_costs_json(const struct report *r)
{
    json_t *list = json_array();
    carat_costs table;
    char settings[COSTS_SETTINGS];

    for (int t = 0; r->has_costs && costs_of_model(&r->costs, t, settings, &table); t++) {
        json_t *passes = json_array();
        for (int k = 0; k < COST_KINDS; k++)
            for (int d = 0; d < CARAT_COST_DEPTHS; d++)
                for (int b = 0; b < CARAT_ROW_BUCKETS; b++) {
                    const carat_cost *c = cost_at(&table, k, d, b);
                    if (c->passes)
                        json_array_append_new(passes,
                                              json_pack("{s:s, s:i, s:f, s:f, s:i}", "of", kind_names[k],
                                                        "from", depth_begins[d], "rows", c->rows, "ms",
                                                        c->nanoseconds * 1e-6, "passes", (int)c->passes));
                }
        json_array_append_new(list, json_pack("{s:o, s:o}", "settings", json_text(settings, strlen(settings)),
                                              "passes", passes));
    }
    return list;
}
