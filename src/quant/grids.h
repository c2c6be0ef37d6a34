/* SPDX-License-Identifier: Apache-2.0 */
/* grids.h: the codebooks of IQ1, IQ2 and IQ3: entries of 4 or 8 weights that a block names by number. An
 * entry is kept as the numbers of its weights' levels, the first weight in the lowest bits. */
#ifndef CT_GRIDS_H
#define CT_GRIDS_H

#include <stdint.h>

/* 8 weights of 2 bits each: levels 8, 25, 43 */
extern const uint16_t ct_grid_iq2_xxs[256], ct_grid_iq2_xs[512], ct_grid_iq2_s[1024];
/* 4 weights of 3 bits each: levels 4, 12, 20, 28, 36, 44, 52, 62, and 1, 3, 5, 7, 9, 11, 13, 15 */
extern const uint16_t ct_grid_iq3_xxs[256], ct_grid_iq3_s[512];
/* 8 weights of 2 bits each: levels -1, 0, 1 */
extern const uint16_t ct_grid_iq1[2048];

extern const int8_t ct_levels_iq2[4], ct_levels_iq3_xxs[8], ct_levels_iq3_s[8]; /* by number */

#endif
