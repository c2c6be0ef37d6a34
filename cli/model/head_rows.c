/* SPDX-License-Identifier: Apache-2.0 */
/* head_rows.c: the options about the head. */
#include <limits.h>

#include "model/head.h"

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
