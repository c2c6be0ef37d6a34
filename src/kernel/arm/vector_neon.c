/* SPDX-License-Identifier: Apache-2.0 */
/* vector_neon.c: norm, geglu, soft-cap and log-softmax of vector_body.h in vectors of 128 bits. */
#include "kernel/arm/simd_neon.h"

#include "kernel/vector_body.h"
