/* SPDX-License-Identifier: Apache-2.0 */
/* attend_avx2.c: attention in vectors of 256 bits: attend_x86.h. */
#include "kernel/x86/avx2/simd_avx2.h"

#include "kernel/x86/attend_x86.h"
