/* panel_sfp_avx2.c: products over panels of SFP codes with 256-bit vectors (panel_sfp.h); compiled for AVX2 and again for AVX-VNNI. */
#include "kernel/lanes_avx2.h"

#include "kernel/panel_sfp.h"
