/* SPDX-License-Identifier: Apache-2.0 */
/* arithmetic.h: how an engine computes, by number and by name, as receipts and timelines keep it. What these
 * are: NUMERICS.md sections 1, 4 and 16. */
#ifndef CT_ARITHMETIC_H
#define CT_ARITHMETIC_H

#include <stddef.h>

enum ct_arithmetic { CT_FAST, CT_EXACT, CT_FAST8, CT_TENSOR };

/* NULL: there is no such. */
static inline const char *ct_arithmetic_name(int i)
{
    static const char *const names[] = {"fast", "exact", "fast8", "tensor"};
    return i >= 0 && (size_t)i < sizeof names / sizeof *names ? names[i] : NULL;
}

/* Those that files keep: the last one has bits that nobody could compute again. */
static inline const char *ct_kept_arithmetic_name(int i)
{
    return i == CT_TENSOR ? NULL : ct_arithmetic_name(i);
}

#endif
