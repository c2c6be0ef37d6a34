/* panel_sfp_avx512.c: products over panels of SFP codes with 512-bit vectors (panel_sfp.h); compiled for AVX-512 without byte dots and
 * again with them. */
#include "kernel/lanes_avx512.h"

#include "kernel/panel_sfp.h"
