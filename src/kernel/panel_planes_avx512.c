/* panel_planes_avx512.c: products over panels of planes with 512-bit vectors (panel_planes.h); compiled for AVX-512 without byte dots and
 * again with them. */
#include "kernel/lanes_avx512.h"

#include "kernel/panel_planes.h"
