/* SPDX-License-Identifier: Apache-2.0 */
/* costs.h: what passes of a model cost on this machine, remembered in the cache directory from one run to the
 * next, so that drafts and prompts are cut well from the first token on. */
#ifndef COSTS_H
#define COSTS_H

#include "carat_device.h"
#include "carat_generate.h"
#include "model/cache_file.h"
#include "options/options.h"

/* Kinds of passes in a table: those of carat_costs, then the same on a GPU beside the CPU. */
enum { COST_KINDS = 2 * CARAT_COST_KINDS, COSTS_SETTINGS = 256 };
static inline carat_cost *cost_at(carat_costs *table, int kind, int depth, int bucket)
{
    return kind < CARAT_COST_KINDS ? &table->of[kind][depth][bucket]
                                   : &table->on_gpu[kind - CARAT_COST_KINDS][depth][bucket];
}

struct costs {
    struct cache_place cache;
    char machine[512];             /* processor, share of it, build: all that has to be the same */
    char settings[COSTS_SETTINGS]; /* of the engine, with its device */
    char content[33];              /* of the model */
};
/* Finds where the costs of a model are; e may be NULL for those of all settings. False: nowhere, since there
 * is no cache or the model is not in it. */
bool costs_place(struct costs *c, const carat_model *model, const carat_engine_options *e,
                 const struct options *o);
/* Those that an earlier run kept. False: none, or none that can be trusted. */
bool costs_recall(const struct costs *c, carat_costs *table);
/* True: they have passes on a GPU beside the CPU, which were measured when the engine was made. */
bool costs_are_of_two(carat_costs *table);
/* Has the next run recall them. In silence: it is a help, never needed. */
void costs_keep(const struct costs *c, carat_costs *table);
/* Table i of those that are remembered of a model on this machine, whatever its settings, which go to
 * settings. False after the last. */
bool costs_of_model(const struct costs *c, int i, char settings[COSTS_SETTINGS], carat_costs *table);

#endif
