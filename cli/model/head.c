/* SPDX-License-Identifier: Apache-2.0 */
/* head.c: see head.h. What a strategy makes of its numbers, and whether they fit the model, is the library's
 * business. */
#include "model/head.h"

#include <stdio.h>
#include <string.h>

#include "term/exit.h"
#include "term/message.h"

static const char *const quants[] = {[CARAT_QUANT_NATIVE] = "native",
                                     [CARAT_QUANT_GROUP] = "group",
                                     [CARAT_QUANT_CHANNEL] = "channel",
                                     [CARAT_QUANT_TENSOR] = "tensor"};

carat_head head_of_name(const char *name)
{
    int head = CARAT_HEAD_AUTO;

    while (head > CARAT_HEAD_DENSE && strcmp(name, carat_head_name((carat_head)head)) != 0)
        head--;
    return (carat_head)head;
}

carat_head_quant quant_of_name(const char *name)
{
    int quant = CARAT_QUANT_TENSOR;

    while (quant > CARAT_QUANT_NATIVE && strcmp(name, quants[quant]) != 0)
        quant--;
    return (carat_head_quant)quant;
}

const char *quant_name(carat_head_quant quant)
{
    return quants[quant];
}

/* What programs with an accelerator call what is done here without one. */
static const struct {
    const char *word, *own;
} foreign[] = {{"cpu", "dense"}, {"coral", "preload"}, {"coral-preload", "preload"}, {"coral-lazy", "lazy"}};

static const char *own_word(const char *word)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strcmp(word, foreign[i].word) == 0)
            return foreign[i].own;
    return NULL;
}

bool head_is_foreign(const struct option *option, const char *word)
{
    return option->field == offsetof(struct options, lm_head) && own_word(word);
}

static int settle_words(struct options *o, const char *verb)
{
    const char *own = o->lm_head ? own_word(o->lm_head) : NULL;

    if (own && strcmp(own, "dense") != 0)
        note("--lm-head %s: no accelerator is used; it is %s on the CPU", o->lm_head, own);
    o->lm_head = own ? own : o->lm_head;
    if (o->weight_quant) {
        const char *quant = o->weight_quant + strlen("per-");
        if (o->lm_quant && strcmp(o->lm_quant, quant) != 0)
            return fail(USAGE, "%s: --lm-quant %s and --weight-quant %s contradict each other", verb,
                        o->lm_quant, o->weight_quant);
        note("--weight-quant %s is --lm-quant %s: it is about the head; layers are quantised beforehand, in "
             "the "
             "model's file",
             o->weight_quant, quant);
        o->lm_quant = quant;
    }
    return DONE;
}

int settle_head(struct options *o)
{
    const char *verb = verb_texts[o->verb].name, *strategy;
    bool quantised, tiles;
    int code = settle_words(o, verb);

    if (code != DONE)
        return code;
    strategy = o->lm_head ? o->lm_head : "dense";
    quantised = o->lm_quant && strcmp(o->lm_quant, quants[CARAT_QUANT_NATIVE]) != 0;
    tiles = is_choice("preload|lazy|shortlist", strategy);
    if (o->lm_tile % 64 != 0)
        return fail(USAGE, "%s: --lm-tile is %d, expected a multiple of 64", verb, o->lm_tile);
    if (o->bench_of) /* takes one strategy after another, or none */
        return DONE;
    if (!tiles && (o->lm_tile || o->lm_capacity.n || o->lm_shortlist > 0))
        return fail(USAGE,
                    "%s: %s is about tiles, which --lm-head %s has not; preload, lazy and shortlist have",
                    verb,
                    o->lm_tile         ? "--lm-tile"
                    : o->lm_capacity.n ? "--lm-cache-capacity"
                                       : "--lm-shortlist-tiles",
                    strategy);
    if (quantised && !tiles && strcmp(strategy, "auto") != 0)
        return fail(
            USAGE,
            "%s: --lm-quant %s makes int8 tiles, which --lm-head %s has not; preload, lazy, shortlist and "
            "auto may have them",
            verb, o->lm_quant, strategy);
    if (o->min_recall >= 0 && !o->audit)
        note("--min-recall changes nothing without --audit M");
    return DONE;
}

const carat_head_options *head_options(const struct options *o)
{
    static carat_head_options head; /* until an engine or a plan has read it */

    if (!o->lm_head && !o->audit)
        return NULL;
    carat_head_options_default(&head);
    head.strategy = o->lm_head ? head_of_name(o->lm_head) : CARAT_HEAD_DENSE;
    head.quant = o->lm_quant ? quant_of_name(o->lm_quant) : CARAT_QUANT_NATIVE;
    head.tile = o->lm_tile;
    head.capacity = o->lm_capacity.bytes ? 0 : (int)o->lm_capacity.n;
    head.capacity_bytes = o->lm_capacity.bytes ? (size_t)o->lm_capacity.n : 0;
    head.shortlist_tiles = o->lm_shortlist > 0 ? o->lm_shortlist : 0;
    head.audit = o->audit;
    head.min_recall = o->min_recall >= 0 ? (float)o->min_recall : 0;
    head.log = note_line;
    return &head;
}

void tell_head(const struct options *o, carat_engine *engine, json_t *object)
{
    carat_head_stats head;
    carat_head_stats_default(&head);

    if (head_options(o) && carat_engine_get_head(engine, &head, NULL) == CARAT_OK)
        json_object_set_new(
            object, "head",
            json_pack("{s:s, s:b}", "strategy", carat_head_name(head.strategy), "exact", head.exact));
}
