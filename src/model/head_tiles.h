/* SPDX-License-Identifier: Apache-2.0 */
/* head_tiles.h: the head cut into tiles, which are its own rows or int8 made from them: made beforehand, or each
 * when it is first needed, and few of them kept; or few of them looked at. Which ones: tiles.h. */
#ifndef CT_HEAD_TILES_H
#define CT_HEAD_TILES_H

#include "model/head.h"

extern const struct ct_head_strategy ct_strategy_tiles;

/* The weight that tiles are read from; the head itself where they are no copies. */
const struct ct_weight *ct_head_tiles_weight(const struct ct_head *h);

#endif
