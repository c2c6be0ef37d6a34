/* SPDX-License-Identifier: Apache-2.0 */
/* panel_factor.h: what the small factors of a group are, for files of kernels that read panels whose weights lie in
 * planes. Where they lie: panel.h; which type has which: the kernels' tables. */
#ifndef CT_PANEL_FACTOR_H
#define CT_PANEL_FACTOR_H

#include "kernel/layout/panel.h"
#include "kernel/x86/unroll.h"

enum factor {
    OWN,      /* an f16 scale of each group */
    OWN_PAIR, /* an f16 scale, an f16 minimum */
    PAIR,     /* d * scale, dmin * minimum */
    HALVES,   /* d, a signed scale for each half */
    NIBBLES,  /* d, dmin, a scale and a minimum for each half */
    SIGNED,   /* d * signed scale */
    EXPONENT, /* 2^(e - 128) */
    BLOCK,    /* scale, zero * scale */
};

INLINE bool by_halves(const enum factor factor)
{
    return factor == HALVES || factor == NIBBLES;
}

#endif
