/* SPDX-License-Identifier: Apache-2.0 */
/* vector_avx512.c: norm, geglu, soft-cap and log-softmax of vector_body.h in vectors of 512 bits. */
#include "kernel/x86/avx512/simd_avx512.h"

#include "kernel/vector_body.h"
