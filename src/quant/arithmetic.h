/* SPDX-License-Identifier: Apache-2.0 */
/* arithmetic.h: how an engine computes, by number and by name, as receipts and timelines keep it. What the
 * three are: NUMERICS.md sections 1 and 4. */
#ifndef CT_ARITHMETIC_H
#define CT_ARITHMETIC_H

#include <stddef.h>

enum ct_arithmetic { CT_FAST, CT_EXACT, CT_FAST8 };

/* NULL: there is no such. */
static inline const char *ct_arithmetic_name(int i)
{
    static const char *const names[] = {"fast", "exact", "fast8"};
    return i >= 0 && (size_t)i < sizeof names / sizeof *names ? names[i] : NULL;
}

#endif
