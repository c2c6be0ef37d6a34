/* SPDX-License-Identifier: Apache-2.0 */
/* panel_floats_avx512.c: products over panels of floats with 512-bit vectors (panel_floats.h);
 * both levels of this width share them. */
#include "kernel/x86/avx512/simd_avx512.h"

#include "kernel/x86/panel_floats.h"
