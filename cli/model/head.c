/* SPDX-License-Identifier: Apache-2.0 */
/* head.c: see head.h. What a strategy makes of its numbers, and whether they fit the model, is the library's
 * business. */
#include "model/head.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "options/table.h"
#include "term/message.h"

/* The options about the head. */
#define AT(field) offsetof(struct head_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_COMPUTING + 100, {"--lm-head"}, CHOICE, AT(lm_head), "decode bench show / " GENERATES " compare", "dense|preload|lazy|shortlist|exact-pruned|auto||cpu|coral|coral-preload|coral-lazy", "dense",
     "how logits are computed: dense all at once; preload and lazy tile by tile; shortlist those of few "
     "tiles (approximate); exact-pruned those of ids that can be among the best (the same ids and "
     "logits); auto the faster of dense and exact-pruned (default {default})", 0, 0},
    {ABOUT_COMPUTING + 110, {"--lm-tile"}, INT, AT(lm_tile), "decode bench show / " GENERATES, "N", NULL,
     "rows of a tile, a multiple of 64 (default 2624, or all of a smaller vocabulary)", 64, 1 << 24},
    {ABOUT_COMPUTING + 120, {"--lm-quant"}, CHOICE, AT(lm_quant), "decode bench show / " GENERATES, "native|group|channel|tensor", "native",
     "weights of tiles: native, the model's own; or int8 with a scale for 32 values, a row or all, which "
     "makes it another model (default {default})", 0, 0},
    {ABOUT_COMPUTING + 130, {"--lm-cache-capacity"}, AMOUNT, AT(lm_capacity), "decode bench show / " GENERATES, "N", NULL,
     "the most tiles that lazy and shortlist keep in memory, or with K, M or G their bytes (default all)", 1, 1 << 24},
    {ABOUT_COMPUTING + 140, {"--lm-shortlist-tiles"}, INT, AT(lm_shortlist), "decode bench show / " GENERATES, "N", "0",
     "the most tiles computed for a token; 0 is all (default {default}, with shortlist 16)", 0, 1 << 24},
    {ABOUT_COMPUTING + 150, {"--audit"}, INT, AT(audit), "decode bench show / " GENERATES, "M", NULL,
     "compute all logits at every M-th token, and compare (default: never)", 1, INT_MAX},
    {ABOUT_COMPUTING + 160, {"--min-recall"}, REAL, AT(min_recall), "decode bench show / " GENERATES, "X", "0.98",
     "give up a shortlist when an audit finds a smaller share of the best ids (default {default})", 1e-6, 1},
    {ABOUT_COMPUTING + 170, {"--weight-quant"}, CHOICE, AT(weight_quant), "/ " DRAWS " bench", "per-channel|per-tensor", NULL,
     "another name for --lm-quant channel and tensor", 0, 0},
};
/* clang-format on */

const struct option_group head_group = OPTION_GROUP(rows, struct head_options, NULL);

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

/* Words of programs with an accelerator for what is done here without one: the option takes them and does not
 * show them. */
static const struct {
    const char *word, *own;
} foreign[] = {{"cpu", "dense"}, {"coral", "preload"}, {"coral-preload", "preload"}, {"coral-lazy", "lazy"}};

static void settle_strategy(struct head_options *h)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        if (strcmp(h->lm_head, foreign[i].word) != 0)
            continue;
        if (strcmp(foreign[i].own, "dense") != 0)
            term_note("--lm-head %s: no accelerator is used; it is %s on the CPU", h->lm_head,
                      foreign[i].own);
        h->lm_head = foreign[i].own;
        return;
    }
}

static int settle_quant(const struct options *o, struct head_options *h)
{
    const char *quant = h->weight_quant + strlen("per-");

    if (options_given(o, &h->lm_quant) && strcmp(h->lm_quant, quant) != 0)
        return term_fail(USAGE, "%s: --lm-quant %s and --weight-quant %s contradict each other",
                         o->verb->name, h->lm_quant, h->weight_quant);
    term_note(
        "--weight-quant %s is --lm-quant %s: it is about the head; layers are quantised beforehand, in the "
        "model's file",
        h->weight_quant, quant);
    h->lm_quant = quant;
    return DONE;
}

int settle_head(struct options *o)
{
    struct head_options *h = options_group(o, GROUP_OF_head);
    const char *verb = o->verb->name;
    bool tiles;

    settle_strategy(h);
    if (h->weight_quant && settle_quant(o, h) != DONE)
        return USAGE;
    if (h->lm_tile % 64 != 0)
        return term_fail(USAGE, "%s: --lm-tile is %d, expected a multiple of 64", verb, h->lm_tile);
    if (o->word) /* bench takes one strategy after another, or none */
        return DONE;
    tiles = is_choice("preload|lazy|shortlist", h->lm_head);
    if (!tiles && (h->lm_tile || h->lm_capacity.n || h->lm_shortlist > 0))
        return term_fail(
            USAGE, "%s: %s is about tiles, which --lm-head %s has not; preload, lazy and shortlist have",
            verb,
            h->lm_tile         ? "--lm-tile"
            : h->lm_capacity.n ? "--lm-cache-capacity"
                               : "--lm-shortlist-tiles",
            h->lm_head);
    if (quant_of_name(h->lm_quant) != CARAT_QUANT_NATIVE && !tiles && strcmp(h->lm_head, "auto") != 0)
        return term_fail(USAGE,
                         "%s: --lm-quant %s makes int8 tiles, which --lm-head %s has not; preload, lazy, "
                         "shortlist and auto may have them",
                         verb, h->lm_quant, h->lm_head);
    if (options_given(o, &h->min_recall) && !h->audit)
        term_note("--min-recall changes nothing without --audit M");
    return DONE;
}

const carat_head_options *head_asked(const struct options *o)
{
    static carat_head_options head; /* until an engine or a plan has read it */
    const struct head_options *h = o->head;

    if (!options_given(o, &h->lm_head) && !h->audit)
        return NULL;
    carat_head_options_default(&head);
    head.strategy = head_of_name(h->lm_head);
    head.quant = quant_of_name(h->lm_quant);
    head.tile = h->lm_tile;
    head.capacity = h->lm_capacity.bytes ? 0 : (int)h->lm_capacity.n;
    head.capacity_bytes = h->lm_capacity.bytes ? (size_t)h->lm_capacity.n : 0;
    head.shortlist_tiles = h->lm_shortlist;
    head.audit = h->audit;
    head.min_recall = (float)h->min_recall;
    head.log = note_line;
    return &head;
}

void tell_head(const struct options *o, carat_engine *engine, json_t *object)
{
    carat_head_stats head;
    carat_head_stats_default(&head);

    if (head_asked(o) && carat_engine_get_head(engine, &head, NULL) == CARAT_OK)
        json_object_set_new(
            object, "head",
            json_pack("{s:s, s:b}", "strategy", carat_head_name(head.strategy), "exact", head.exact));
}
