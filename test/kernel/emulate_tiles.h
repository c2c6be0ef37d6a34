/* SPDX-License-Identifier: Apache-2.0 */
/* emulate_tiles.h: the instructions of kernel/x86/amx/tile.h in plain C on an array, for sources that are
 * compiled with this before them: AMX kernels are proved so on any machine. What a tile loads and stores lies
 * in as few lines as it can, which costs a fifth of a product where it does not: here that is an error. */
#ifndef CT_EMULATE_TILES_H
#define CT_EMULATE_TILES_H

#include <stdio.h>
#include <stdlib.h>

#include "kernel/x86/amx/tile.h"

static _Thread_local struct {
    struct ct_tile_config config;
    uint8_t tile[8][16][64];
} ct_tiles;

/* Row r of tile t lies there: in one line of 64 bytes. */
static inline uint8_t *ct_tile_row(int t, const void *p, size_t apart, int r)
{
    uintptr_t at = (uintptr_t)p + (uintptr_t)r * apart;
    if (at % 64 + ct_tiles.config.row_bytes[t] > 64) {
        fprintf(stderr, "row %d of tile %d splits a line: %d bytes from %zu on\n", r, t,
                ct_tiles.config.row_bytes[t], (size_t)(at % 64));
        abort();
    }
    return (uint8_t *)at;
}

static inline void ct_tile_load(int t, const void *p, size_t apart)
{
    memset(ct_tiles.tile[t], 0, sizeof ct_tiles.tile[t]);
    for (int r = 0; r < ct_tiles.config.rows[t]; r++)
        memcpy(ct_tiles.tile[t][r], ct_tile_row(t, p, apart, r), ct_tiles.config.row_bytes[t]);
}

static inline void ct_tile_store(int t, void *p, size_t apart)
{
    for (int r = 0; r < ct_tiles.config.rows[t]; r++)
        memcpy(ct_tile_row(t, p, apart, r), ct_tiles.tile[t][r], ct_tiles.config.row_bytes[t]);
}

static inline void ct_tile_dot_bytes(int c, int a, int b)
{
    for (int r = 0; r < ct_tiles.config.rows[c]; r++)
        for (int n = 0; n < ct_tiles.config.row_bytes[c] / 4; n++) {
            int32_t sum;
            memcpy(&sum, &ct_tiles.tile[c][r][4 * n], 4);
            for (int k = 0; k < ct_tiles.config.row_bytes[a]; k++)
                sum += (int8_t)ct_tiles.tile[a][r][k] * (int8_t)ct_tiles.tile[b][k / 4][4 * n + k % 4];
            memcpy(&ct_tiles.tile[c][r][4 * n], &sum, 4);
        }
}

static inline float ct_tile_bf16(const uint8_t *p)
{
    return ct_f32_from_bits((uint32_t)ct_le16(p) << 16);
}

static inline void ct_tile_dot_bf16(int c, int a, int b)
{
    for (int r = 0; r < ct_tiles.config.rows[c]; r++)
        for (int n = 0; n < ct_tiles.config.row_bytes[c] / 4; n++) {
            float sum, even = 0, odd = 0;
            for (int k = 0; k < ct_tiles.config.row_bytes[a] / 4; k++) {
                const uint8_t *x = &ct_tiles.tile[a][r][4 * k], *w = &ct_tiles.tile[b][k][4 * n];
                even = __builtin_fmaf(ct_tile_bf16(w), ct_tile_bf16(x), even);
                odd = __builtin_fmaf(ct_tile_bf16(w + 2), ct_tile_bf16(x + 2), odd);
            }
            memcpy(&sum, &ct_tiles.tile[c][r][4 * n], 4);
            sum += even + odd;
            memcpy(&ct_tiles.tile[c][r][4 * n], &sum, 4);
        }
}

#undef CT_TILE_CONFIG
#undef CT_TILE_RELEASE
#undef CT_TILE_LOAD
#undef CT_TILE_STORE
#undef CT_TILE_ZERO
#undef CT_TILE_DOT_BYTES
#undef CT_TILE_DOT_BF16
#define CT_TILE_CONFIG(c)          (ct_tiles.config = *(c))
#define CT_TILE_RELEASE()          memset(&ct_tiles, 0, sizeof ct_tiles)
#define CT_TILE_LOAD(t, p, apart)  ct_tile_load(t, p, apart)
#define CT_TILE_STORE(t, p, apart) ct_tile_store(t, p, apart)
#define CT_TILE_ZERO(t)            memset(ct_tiles.tile[t], 0, sizeof ct_tiles.tile[t])
#define CT_TILE_DOT_BYTES(c, a, b) ct_tile_dot_bytes(c, a, b)
#define CT_TILE_DOT_BF16(c, a, b)  ct_tile_dot_bf16(c, a, b)

#endif
