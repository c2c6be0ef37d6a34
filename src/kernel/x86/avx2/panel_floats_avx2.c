/* SPDX-License-Identifier: Apache-2.0 */
/* panel_floats_avx2.c: products over panels of floats with 256-bit vectors (panel_floats.h);
 * both levels of this width share them. */
#include "kernel/x86/avx2/simd_avx2.h"

#include "kernel/x86/panel_floats.h"
