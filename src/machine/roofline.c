/* SPDX-License-Identifier: Apache-2.0 */
/* roofline.c: the loops of roofline.h, in registers, one for each instruction that products of a level stand
 * on; nothing is computed. What a level does with the instructions is panel_*.c. */
#include "machine/roofline.h"

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
#define TWELVE(M) M("0") M("1") M("2") M("3") M("4") M("5") M("6") M("7") M("8") M("9") M("10") M("11")
#define CLOBBERS                                                                                             \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",        \
        "xmm12", "xmm13", "xmm14", "xmm15"
#define LOOP(name, body)                                                                                     \
    static void name(long n)                                                                                 \
    {                                                                                                        \
        __asm__ volatile("vzeroall" ::: CLOBBERS);                                                           \
        for (; n > 0; n--)                                                                                   \
            __asm__ volatile(body ::: CLOBBERS);                                                             \
        __asm__ volatile("vzeroupper" ::: CLOBBERS);                                                         \
    }

#define OP(name, v, r) name " %%" v "15, %%" v "14, %%" v r "\n\t"
#define BYTES(v, r)                                                                                          \
    OP("vpmaddubsw", v, "12")                                                                                \
    "vpmaddwd %%" v "12, %%" v "13, %%" v "12\n\tvpaddd %%" v "12, %%" v r ", %%" v r "\n\t"
#define NIBBLES(v, r) OP("vpmaddubsw", v, "12") "vpaddw %%" v "12, %%" v r ", %%" v r "\n\t"
#define FMA_Y(r)      OP("vfmadd231ps", "ymm", r)
#define FMA_Z(r)      OP("vfmadd231ps", "zmm", r)
#define DOT_Y(r)      OP("%{vex%} vpdpbusd", "ymm", r)
#define DOT_Z(r)      OP("vpdpbusd", "zmm", r)
#define BYTES_Y(r)    BYTES("ymm", r)
#define BYTES_Z(r)    BYTES("zmm", r)
#define NIBBLES_Y(r)  NIBBLES("ymm", r)
#define NIBBLES_Z(r)  NIBBLES("zmm", r)

LOOP(fma_y, TWELVE(FMA_Y))
LOOP(fma_z, TWELVE(FMA_Z))
LOOP(dot_y, TWELVE(DOT_Y))
LOOP(dot_z, TWELVE(DOT_Z))
LOOP(bytes_y, TWELVE(BYTES_Y))
LOOP(bytes_z, TWELVE(BYTES_Z))
LOOP(nibbles_y, TWELVE(NIBBLES_Y))
LOOP(nibbles_z, TWELVE(NIBBLES_Z))

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
    [CT_FMA_256] = {fma_y, 12 * 16},
    [CT_FMA_512] = {fma_z, 12 * 32},
    [CT_BYTES_256] = {bytes_y, 12 * 64},
    [CT_BYTES_512] = {bytes_z, 12 * 128},
    [CT_NIBBLES_256] = {nibbles_y, 12 * 64},
    [CT_NIBBLES_512] = {nibbles_z, 12 * 128},
    [CT_DOT_256] = {dot_y, 12 * 64},
    [CT_DOT_512] = {dot_z, 12 * 128},
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
