/* SPDX-License-Identifier: Apache-2.0 */
/* vector_avx2.c: norm, geglu, soft-cap and log-softmax of vector_body.h in vectors of 256 bits. */
#include "kernel/x86/avx2/simd_avx2.h"

#include "kernel/vector_body.h"
