/* SPDX-License-Identifier: Apache-2.0 */
/* panel_planes_avx2.c: products over panels of planes with 256-bit vectors (panel_planes.h); compiled for
 * AVX2 and again for AVX-VNNI. */
#include "kernel/x86/avx2/simd_avx2.h"

#include "kernel/x86/panel_planes.h"
