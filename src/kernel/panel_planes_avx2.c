/* panel_planes_avx2.c: products over panels of planes with 256-bit vectors (panel_planes.h); compiled for AVX2 and again for AVX-VNNI. */
#include "kernel/lanes_avx2.h"

#include "kernel/panel_planes.h"
