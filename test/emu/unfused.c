/* SPDX-License-Identifier: Apache-2.0 */
/* unfused.c: the kernels once more, wrong: a product that is added to is rounded before, as by a device whose
 * fma is not fused. */
#include "fibre.h"

#undef FIBRE_ENTRY
#define FIBRE_ENTRY(name, args)                                                                              \
    void name##_unfused(const void *all)                                                                     \
    {                                                                                                        \
        name(*(const struct args *)all);                                                                     \
    }
#include "kernel/gpu/dialect.h"
#undef FMA
#define FMA(x, y, z) ADD(MUL(x, y), z)
#include "kernel/gpu/gpu.cu"
