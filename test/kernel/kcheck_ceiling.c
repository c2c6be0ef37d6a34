/* SPDX-License-Identifier: Apache-2.0 */
/* kcheck_ceiling.c: what products of NUMERICS.md can reach at most: for each instruction set and kind of type
 * a loop, in registers, of just the instructions that its contract costs a group of 32 k, some tokens and a
 * vector of rows, and nothing else: no loads, no decoding of weights, which many tokens share. What is timed
 * with it is kcheck_bench.c's. The raw peak of an instruction, which no product reaches: machine/roofline.c.
 *
 * Beside the dots of a group, sections 3 to 5 ask for:
 *   floats       two chains of 16 fma, and two additions
 *   whole        isum to float, ws * xs, fma
 *   with minimum another fma
 *   by halves    (Q6_K, Q3_K) two sums: two conversions, each times its scale, then as whole ones
 *   and minima   (Q2_K) that, and the same of two minima: their sum, conversion, product, fma
 * Dots of bytes are 8 instructions with VNNI. Without it they are 8 products of pairs, in 16 bits, of which
 * `run` may be added before they are widened: 8 where codes are below 16, 4 below 32, 2 below 64; signed
 * bytes are widened at once, after their signs have changed sides. Scales of halves go into the widening, and
 * what codes stand above zero is taken away once. A tile of AMX is one group deep, and its sums leave it
 * through memory; conversion is a subtraction (panel_bytes_amx.c), and small scales of halves are in the
 * weights. Tiles of bf16 values need nothing else. */
#include "kcheck.h"

#if defined(__x86_64__)

#include "kernel/x86/amx/tile.h"

/* ---- one instruction, v: ymm or zmm. Registers: 14, 15 inputs, 12, 13 spare ---- */

#define I3(name, v, a, b, c) name " %%" v a ", %%" v b ", %%" v c "\n\t"
#define I2(name, v, a, b)    name " %%" v a ", %%" v b "\n\t"

/* Tokens: sums s, further sums p, results a. */
#define TOKENS(M, v) M(v, "0", "8", "4") M(v, "1", "9", "5") M(v, "2", "10", "6") M(v, "3", "11", "7")
enum { OF = 4 };

/* ---- dots ---- */

#define ZERO_S(v, s, p, a)    I3("vxorps", "ymm", s, s, s)
#define ZERO_P(v, s, p, a)    I3("vxorps", "ymm", p, p, p)
#define DOT_S_ymm(v, s, p, a) I3("%{vex%} vpdpbusd", v, "14", "15", s)
#define DOT_P_ymm(v, s, p, a) I3("%{vex%} vpdpbusd", v, "14", "15", p)
#define DOT_S_zmm(v, s, p, a) I3("vpdpbusd", v, "14", "15", s)
#define DOT_P_zmm(v, s, p, a) I3("vpdpbusd", v, "14", "15", p)
#define TWICE(M, v)           TOKENS(M, v) TOKENS(M, v)
#define FOUR_TIMES(M, v)      TWICE(M, v) TWICE(M, v)
#define VNNI(v)               TOKENS(ZERO_S, v) FOUR_TIMES(DOT_S_##v, #v) FOUR_TIMES(DOT_S_##v, #v)
#define ZERO_BOTH(v)          TOKENS(ZERO_S, v) TOKENS(ZERO_P, v)
#define VNNI_HALVES(v)        ZERO_BOTH(v) FOUR_TIMES(DOT_S_##v, #v) FOUR_TIMES(DOT_P_##v, #v)

/* pairs begin, go on, are widened into sums that begin, go on */
#define PAIRS(v, s, p, a)     I3("vpmaddubsw", v, "14", "15", p)
#define MORE(v, s, p, a)      I3("vpmaddubsw", v, "14", "15", "12") I3("vpaddw", v, "12", p, p)
#define SIGN_ymm(v)           I3("vpsignb", v, "14", "15", "13")
#define SIGN_zmm(v)           "vpsubb %%zmm14, %%zmm15, %%zmm13%{%%k1%}\n\t"
#define BYTES_ymm(v, s, p, a) SIGN_ymm(v) I3("vpmaddubsw", v, "13", "15", p)
#define BYTES_zmm(v, s, p, a) SIGN_zmm(v) I3("vpmaddubsw", v, "13", "15", p)
#define FIRST(v, s, p, a)     I3("vpmaddwd", v, "14", p, s)
#define ADD(v, s, p, a)       I3("vpmaddwd", v, "14", p, p) I3("vpaddd", v, p, s, s)
#define THRICE(M, v)          TWICE(M, v) TOKENS(M, v)
#define RUN_8(v)              TOKENS(PAIRS, #v) FOUR_TIMES(MORE, #v) THRICE(MORE, #v) TOKENS(FIRST, #v)
#define RUN_4(v)                                                                                             \
    TOKENS(PAIRS, #v) THRICE(MORE, #v) TOKENS(FIRST, #v) TOKENS(PAIRS, #v) THRICE(MORE, #v) TOKENS(ADD, #v)
#define TWO_MORE(v)    TOKENS(PAIRS, #v) TOKENS(MORE, #v) TOKENS(ADD, #v)
#define RUN_OF_2(v)    TOKENS(PAIRS, #v) TOKENS(MORE, #v) TOKENS(FIRST, #v)
#define RUN_2(v)       RUN_OF_2(v) TWO_MORE(v) TWO_MORE(v) TWO_MORE(v)
#define ONE_BYTE(v)    TOKENS(BYTES_##v, #v) TOKENS(ADD, #v)
#define THREE_BYTES(v) ONE_BYTE(v) ONE_BYTE(v) ONE_BYTE(v)
#define RUN_0(v)       TOKENS(BYTES_##v, #v) TOKENS(FIRST, #v) ONE_BYTE(v) THREE_BYTES(v) THREE_BYTES(v)

/* ---- what follows the dots ---- */

#define SCALED(v, s, p, a)                                                                                   \
    I2("vcvtdq2ps", v, s, s) I3("vmulps", v, "14", "15", "12") I3("vfmadd231ps", v, "12", s, a)
#define ABOVE(v, s, p, a)   I3("vpsubd", v, "14", s, s) SCALED(v, s, p, a)
#define MINIMUM(v, s, p, a) SCALED(v, s, p, a) I3("vfmadd231ps", v, "14", "15", a)
#define MINIMA(v, s, p, a)                                                                                   \
    SCALED(v, s, p, a)                                                                                       \
    I3("vpmaddwd", v, "14", "15", "12")                                                                      \
    I2("vcvtdq2ps", v, "12", "12") I3("vmulps", v, "12", "14", "12") I3("vfnmadd231ps", v, "12", "15", a)
#define BOTH(v, s, p, a)                                                                                     \
    I2("vcvtdq2ps", v, s, s)                                                                                 \
    I2("vcvtdq2ps", v, p, p) I3("vmulps", v, "14", s, s) I3("vfmadd231ps", v, p, "15", s)
#define HALVES(v, s, p, a) BOTH(v, s, p, a) I3("vmulps", v, "14", "15", "12") I3("vfmadd231ps", v, "12", s, a)
#define HALVES_MINIMA(v, s, p, a)                                                                            \
    HALVES(v, s, p, a)                                                                                       \
    I3("vpmaddwd", v, "14", "15", "12")                                                                      \
    I2("vcvtdq2ps", v, "12", "12") I3("vmulps", v, "12", "14", "12") I3("vfnmadd231ps", v, "12", "15", a)

#define CHAINS(v, s, p, a)     I3("vfmadd231ps", v, "14", "15", s) I3("vfmadd231ps", v, "14", "15", p)
#define CHAINS_END(v, s, p, a) I3("vaddps", v, s, p, s) I3("vaddps", v, s, a, a)
#define FLOATS(v)                                                                                            \
    TOKENS(ZERO_S, v)                                                                                        \
    TOKENS(ZERO_P, v)                                                                                        \
    FOUR_TIMES(CHAINS, #v) FOUR_TIMES(CHAINS, #v) FOUR_TIMES(CHAINS, #v) FOUR_TIMES(CHAINS, #v)

/* ---- the loops ---- */

#define CLOBBERS                                                                                             \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",        \
        "xmm12", "xmm13", "xmm14", "xmm15"
#define LOOP(name, v, dots, after)                                                                           \
    static void name##_##v(long n)                                                                           \
    {                                                                                                        \
        __asm__ volatile("vzeroall" ::: CLOBBERS);                                                           \
        for (; n > 0; n--)                                                                                   \
            __asm__ volatile(dots(v) TOKENS(after, #v)::: CLOBBERS);                                         \
        __asm__ volatile("vzeroupper" ::: CLOBBERS);                                                         \
    }
#define BOTH_WIDTHS(name, dots, after) LOOP(name, ymm, dots, after) LOOP(name, zmm, dots, after)

BOTH_WIDTHS(floats, FLOATS, CHAINS_END)
BOTH_WIDTHS(dots, VNNI, SCALED)
BOTH_WIDTHS(dots_minimum, VNNI, MINIMUM)
BOTH_WIDTHS(dots_halves, VNNI_HALVES, HALVES)
BOTH_WIDTHS(dots_minima, VNNI_HALVES, HALVES_MINIMA)
BOTH_WIDTHS(run0, RUN_0, SCALED)
BOTH_WIDTHS(run0_minimum, RUN_0, MINIMUM)
BOTH_WIDTHS(run2, RUN_2, ABOVE)
BOTH_WIDTHS(run4, RUN_4, ABOVE)
BOTH_WIDTHS(run4_minimum, RUN_4, MINIMUM)
BOTH_WIDTHS(run4_minima, RUN_4, MINIMA)
BOTH_WIDTHS(run8, RUN_8, ABOVE)
BOTH_WIDTHS(run8_minimum, RUN_8, MINIMUM)

/* Rows of a tile of sums that has left: twelve results in turn. */
#define ROW(line, a)                                                                                         \
    "vsubps 64*" line "(%0), %%zmm14, %%zmm12\n\t"                                                           \
    "vmulps %%zmm15, %%zmm14, %%zmm13\n\t"                                                                   \
    "vfmadd231ps %%zmm13, %%zmm12, %%zmm" a "\n\t"
#define ROW_MINIMUM(line, a) ROW(line, a) "vfmadd231ps %%zmm14, %%zmm15, %%zmm" a "\n\t"
#define ROW_MINIMA(line, a)                                                                                  \
    ROW(line, a)                                                                                             \
    "vpmaddwd %%zmm14, %%zmm15, %%zmm12\n\tvcvtdq2ps %%zmm12, %%zmm12\n\t"                                   \
    "vmulps %%zmm12, %%zmm14, %%zmm12\n\tvfnmadd231ps %%zmm12, %%zmm15, %%zmm" a "\n\t"
#define ROW_HALVES(line, a)                                                                                  \
    "vsubps 64*" line "(%0), %%zmm14, %%zmm12\n\tvmulps %%zmm12, %%zmm15, %%zmm12\n\t"                       \
    "vsubps 64*" line "(%0), %%zmm14, %%zmm13\n\tvfmadd231ps %%zmm13, %%zmm15, %%zmm12\n\t"                  \
    "vmulps %%zmm15, %%zmm14, %%zmm13\n\tvfmadd231ps %%zmm13, %%zmm12, %%zmm" a "\n\t"
#define SIXTEEN(M)                                                                                           \
    M("0", "0")                                                                                              \
    M("1", "1")                                                                                              \
    M("2", "2")                                                                                              \
    M("3", "3")                                                                                              \
    M("4", "4")                                                                                              \
    M("5", "5")                                                                                              \
    M("6", "6")                                                                                              \
    M("7", "7")                                                                                              \
    M("8", "8") M("9", "9") M("10", "10") M("11", "11") M("12", "0") M("13", "1") M("14", "2") M("15", "3")

/* Tiles as a kernel has them: one is multiplied while the one before is stored and the one before that is
 * scaled. deep: k of a tile, and so many tiles to a group. */
#define TILES(name, deep, row)                                                                               \
    static void name(long n)                                                                                 \
    {                                                                                                        \
        static const _Alignas(64) int32_t line[16];                                                          \
        static _Thread_local _Alignas(64) int32_t sums[2][256];                                              \
        const struct ct_tile_config config = {                                                               \
            .palette = 1, .row_bytes = {64, 64, deep, 64}, .rows = {16, 16, 16, (deep) / 4}};                \
        CT_TILE_CONFIG(&config);                                                                             \
        CT_TILE_ZERO(0);                                                                                     \
        CT_TILE_ZERO(1);                                                                                     \
        CT_TILE_ZERO(2);                                                                                     \
        CT_TILE_ZERO(3);                                                                                     \
        __asm__ volatile("vzeroall" ::: CLOBBERS);                                                           \
        for (; n > 0; n--) {                                                                                 \
            for (int again = deep; again <= CT_GROUP; again += deep) {                                       \
                CT_TILE_LOAD(0, line, 0);                                                                    \
                CT_TILE_DOT_BYTES(0, 2, 3);                                                                  \
                CT_TILE_STORE(1, sums[1], 64);                                                               \
            }                                                                                                \
            __asm__ volatile(SIXTEEN(row)::"r"(sums[0]) : "memory", CLOBBERS);                               \
            for (int again = deep; again <= CT_GROUP; again += deep) {                                       \
                CT_TILE_LOAD(1, line, 0);                                                                    \
                CT_TILE_DOT_BYTES(1, 2, 3);                                                                  \
                CT_TILE_STORE(0, sums[0], 64);                                                               \
            }                                                                                                \
            __asm__ volatile(SIXTEEN(row)::"r"(sums[1]) : "memory", CLOBBERS);                               \
        }                                                                                                    \
        __asm__ volatile("vzeroupper" ::: CLOBBERS);                                                         \
        CT_TILE_RELEASE();                                                                                   \
    }
TILES(tiles, 32, ROW)
TILES(tiles_minimum, 32, ROW_MINIMUM)
TILES(tiles_minima, 32, ROW_MINIMA)
TILES(tiles_halves, 16, ROW_HALVES)

/* ---- which loop ---- */

enum kind { FLOAT, BYTE, BYTE_MINIMUM, NIBBLE, NIBBLE_MINIMUM, FIVE, FIVE_MINIMUM, Q6, Q3, Q2, KINDS };
static const enum kind kinds[CT_TYPE_COUNT] = {[CT_F32] = FLOAT,
                                               [CT_F16] = FLOAT,
                                               [CT_BF16] = FLOAT,
                                               [CT_SFP] = FLOAT,
                                               [CT_Q8_0] = BYTE,
                                               [CT_IQ4_NL] = BYTE,
                                               [CT_IQ4_XS] = BYTE,
                                               [CT_I8] = BYTE_MINIMUM,
                                               [CT_Q4_0] = NIBBLE,
                                               [CT_Q4_1] = NIBBLE_MINIMUM,
                                               [CT_Q4_K] = NIBBLE_MINIMUM,
                                               [CT_Q5_0] = FIVE,
                                               [CT_MXFP4] = FIVE,
                                               [CT_TQ2_0] = NIBBLE,
                                               [CT_Q1_0] = NIBBLE,
                                               [CT_Q2_0] = NIBBLE,
                                               [CT_NVFP4] = Q6, /* halves of their own */
                                               [CT_IQ2_XXS] = Q6,
                                               [CT_IQ2_XS] = Q6,
                                               [CT_IQ2_S] = Q6,
                                               [CT_IQ3_XXS] = Q6,
                                               [CT_IQ3_S] = Q6,
                                               [CT_IQ1_S] = Q6,
                                               [CT_IQ1_M] = Q6,
                                               [CT_TQ1_0] = Q6,
                                               [CT_Q5_1] = FIVE_MINIMUM,
                                               [CT_Q5_K] = FIVE_MINIMUM,
                                               [CT_Q6_K] = Q6,
                                               [CT_Q3_K] = Q3,
                                               [CT_Q2_K] = Q2};

typedef void loop(long n);
/* In the order of the kinds; rows: of a vector, of two tiles. */
static const struct {
    const char *isa;
    int rows, tokens;
    loop *run[KINDS];
} ceilings[] = {
#define WITHOUT(v)                                                                                           \
    {                                                                                                        \
        floats_##v, run0_##v, run0_minimum_##v, run8_##v, run8_minimum_##v, run4_##v, run4_minimum_##v,      \
            run2_##v, run4_##v, run4_minima_##v                                                              \
    }
#define WITH(v)                                                                                              \
    {                                                                                                        \
        floats_##v, dots_##v, dots_minimum_##v, dots_##v, dots_minimum_##v, dots_##v, dots_minimum_##v,      \
            dots_halves_##v, dots_halves_##v, dots_minima_##v                                                \
    }
    {"avx2", 8, OF, WITHOUT(ymm)},
    {"avxvnni", 8, OF, WITH(ymm)},
    {"avx512", 16, OF, WITHOUT(zmm)},
    {"vnni", 16, OF, WITH(zmm)},
    {"amx",
     16,
     32,
     {NULL, tiles, tiles_minimum, tiles, tiles_minimum, tiles, tiles_minimum, tiles_halves, tiles,
      tiles_minima}},
};

struct ct_roofline kc_ceiling(const char *isa, enum ct_type type)
{
    if (strcmp(isa, "amx") == 0 && type == CT_BF16)
        return ct_roofline_loop(isa, CARAT_BY_BF16);
    if (strcmp(isa, "amx") == 0 && kinds[type] == FLOAT)
        isa = "vnni";
    for (size_t i = 0; i < CT_COUNT(ceilings); i++)
        if (strcmp(ceilings[i].isa, isa) == 0)
            return (struct ct_roofline){ceilings[i].run[kinds[type]],
                                        2 * CT_GROUP * ceilings[i].rows * ceilings[i].tokens};
    return (struct ct_roofline){0};
}

#else

struct ct_roofline kc_ceiling(const char *isa, enum ct_type type)
{
    (void)isa;
    (void)type;
    return (struct ct_roofline){0};
}

#endif
