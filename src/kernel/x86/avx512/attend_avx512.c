/* SPDX-License-Identifier: Apache-2.0 */
/* attend_avx512.c: attention in vectors of 512 bits: attend_x86.h. */
#include "kernel/x86/avx512/simd_avx512.h"

#include "kernel/x86/attend_x86.h"
