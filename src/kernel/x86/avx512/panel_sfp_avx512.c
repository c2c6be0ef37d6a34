/* SPDX-License-Identifier: Apache-2.0 */
/* panel_sfp_avx512.c: products over panels of SFP codes with 512-bit vectors (panel_sfp.h); compiled for
 * AVX-512 without byte dots and again with them. */
#include "kernel/x86/avx512/simd_avx512.h"

#include "kernel/x86/panel_sfp.h"
