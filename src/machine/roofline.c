/* SPDX-License-Identifier: Apache-2.0 */
/* roofline.c: the loops of machine.h, in registers, one for each instruction that products of a level stand
 * on; nothing is computed. What a level does with the instructions is panel_*.c. */
#include "machine/machine.h"

#include "kernel/kernel.h"
#include "kernel/level.h"

typedef uint64_t words __attribute__((vector_size(16), may_alias));
enum { STREAMS = 4, AHEAD = 2048, LINE = 64 };

uint64_t ct_roofline_read(const void *data, size_t bytes)
{
    const uint8_t *p = data;
    size_t stream = bytes / STREAMS / LINE * LINE;
    words sum[STREAMS] = {{0}};

    for (size_t at = 0; at < stream; at += LINE)
        for (size_t s = 0; s < STREAMS; s++) {
            const words *line = (const words *)(const void *)(p + s * stream + at);
            __builtin_prefetch((const char *)line + AHEAD, 0, 2);
            sum[s] ^= line[0] ^ line[1] ^ line[2] ^ line[3];
        }
    words all = sum[0] ^ sum[1] ^ sum[2] ^ sum[3];
    return all[0] ^ all[1];
}

#if defined(__x86_64__)

#include "kernel/x86/amx/tile.h"

/* A loop body of independent chains in twelve registers: more than any latency times its throughput. */
#define TWELVE(M, v)                                                                                         \
    M(v, "0")                                                                                                \
    M(v, "1")                                                                                                \
    M(v, "2") M(v, "3") M(v, "4") M(v, "5") M(v, "6") M(v, "7") M(v, "8") M(v, "9") M(v, "10") M(v, "11")
#define CLOBBERS                                                                                             \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",        \
        "xmm12", "xmm13", "xmm14", "xmm15"
/* Vectors are ymm or zmm. */
#define LOOP(name, M, v)                                                                                     \
    static void name(long n)                                                                                 \
    {                                                                                                        \
        __asm__ volatile("vzeroall" ::: CLOBBERS);                                                           \
        for (; n > 0; n--)                                                                                   \
            __asm__ volatile(TWELVE(M, v)::: CLOBBERS);                                                      \
        __asm__ volatile("vzeroupper" ::: CLOBBERS);                                                         \
    }

#define OP(name, v, r) name " %%" v "15, %%" v "14, %%" v r "\n\t"
#define BYTES(v, r)                                                                                          \
    OP("vpmaddubsw", v, "12")                                                                                \
    "vpmaddwd %%" v "12, %%" v "13, %%" v "12\n\tvpaddd %%" v "12, %%" v r ", %%" v r "\n\t"
#define NIBBLES(v, r) OP("vpmaddubsw", v, "12") "vpaddw %%" v "12, %%" v r ", %%" v r "\n\t"
#define FMA(v, r)     OP("vfmadd231ps", v, r)
#define DOT(v, r)     OP("vpdpbusd", v, r)
#define VEX_DOT(v, r) OP("%{vex%} vpdpbusd", v, r)

LOOP(fma_256, FMA, "ymm")
LOOP(fma_512, FMA, "zmm")
LOOP(dot_256, VEX_DOT, "ymm")
LOOP(dot_512, DOT, "zmm")
LOOP(bytes_256, BYTES, "ymm")
LOOP(bytes_512, BYTES, "zmm")
LOOP(nibbles_256, NIBBLES, "ymm")
LOOP(nibbles_512, NIBBLES, "zmm")

/* Tiles of 16 rows of 64 bytes: four sums, each of its own pair of inputs, as a kernel of 2 x 2 tiles has
 * them. */
#define FOUR(op)                                                                                             \
    op(0, 4, 6);                                                                                             \
    op(1, 4, 7);                                                                                             \
    op(2, 5, 6);                                                                                             \
    op(3, 5, 7)

/* Multiplies in as many k as a product of NUMERICS.md can at once: a group of 32, in either type. The values
 * are any, since a multiplier may be faster with zeros; those of bf16 lie between 0.5 and 2, of either
 * sign. */
static void tiles(long n, bool floats)
{
    const int group = floats ? CT_GROUP / 2 : CT_GROUP / 4; /* words of 4 bytes */
    struct ct_tile_config config = {.palette = 1};
    _Alignas(64) uint16_t values[4 * 512];
    uint32_t random = 1;

    for (int i = 0; i < 8; i++) {
        config.row_bytes[i] = (uint16_t)(i == 4 || i == 5 ? 4 * group : 64);
        config.rows[i] = (uint8_t)(i >= 6 ? group : 16);
    }
    for (size_t i = 0; i < CT_COUNT(values); i++) {
        random = random * 1664525u + 1013904223u;
        values[i] = (uint16_t)(floats ? (random >> 16 & 0x80ff) | 0x3f00 : random >> 16);
    }
    CT_TILE_CONFIG(&config);
    CT_TILE_ZERO(0);
    CT_TILE_ZERO(1);
    CT_TILE_ZERO(2);
    CT_TILE_ZERO(3);
    CT_TILE_LOAD(4, values, 64);
    CT_TILE_LOAD(5, values + 512, 64);
    CT_TILE_LOAD(6, values + 1024, 64);
    CT_TILE_LOAD(7, values + 1536, 64);
    for (; n > 0; n--)
        if (floats) {
            FOUR(CT_TILE_DOT_BF16);
        } else {
            FOUR(CT_TILE_DOT_BYTES);
        }
    CT_TILE_RELEASE();
}
static void tiles_int8(long n)
{
    tiles(n, false);
}
static void tiles_bf16(long n)
{
    tiles(n, true);
}

static const struct ct_roofline loops[CT_MULTIPLY_COUNT] = {
    [CT_FMA_256] = {fma_256, 12 * 16},
    [CT_FMA_512] = {fma_512, 12 * 32},
    [CT_BYTES_256] = {bytes_256, 12 * 64},
    [CT_BYTES_512] = {bytes_512, 12 * 128},
    [CT_NIBBLES_256] = {nibbles_256, 12 * 64},
    [CT_NIBBLES_512] = {nibbles_512, 12 * 128},
    [CT_DOT_256] = {dot_256, 12 * 64},
    [CT_DOT_512] = {dot_512, 12 * 128},
    [CT_TILES_BF16] = {tiles_bf16, 4 * 2 * 16 * 16 * CT_GROUP},
    [CT_TILES_INT8] = {tiles_int8, 4 * 2 * 16 * 16 * CT_GROUP},
};

#else

static const struct ct_roofline loops[CT_MULTIPLY_COUNT];

#endif

struct ct_roofline ct_roofline_loop(const char *isa, carat_arithmetic a)
{
    return loops[ct_level_multiply(isa, a)];
}
