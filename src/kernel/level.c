/* SPDX-License-Identifier: Apache-2.0 */
/* level.c: the table of levels, and a kernel table filled for a CPU: the definition first (ref/, once per
 * instruction set), then what each usable level does better. A new level is a row here, and its files.
 *
 * Beside each entry ct_kernel names the level whose table wrote it, by which a level is seen to change what
 * it should. ref is compiled for the baseline and for AVX2+FMA; on Arm once, where the baseline has NEON and
 * fma. panel_*.c are the products of a level, attend_*.c its attention. Tests run levels that the CPU lacks
 * in emulation. */
#include "kernel/level.h"

#include <stdio.h>

#include "kernel/kernel.h"
#include "kernel/sizes.h"

/* A file of kernels writes its entries over those of the levels below it. */
typedef void init(struct ct_kernel *k);
init ct_kernel_init_ref, ct_attend_init_ref;
#if defined(__x86_64__)
init ct_kernel_init_avx2, ct_attend_init_avx2, ct_kv_write_init_avx2, ct_vector_init_avx2,
    ct_panels_init_avx2, ct_panels_init_avxvnni, ct_vector_init_avx512, ct_attend_init_avx512,
    ct_panels_init_avx512, ct_panels_init_one_stream_avx512, ct_prepare_init_avx512, ct_panels_init_vnni,
    ct_panels_init_one_stream_vnni, ct_attend_init_amx, ct_panels_init_amx;
#define X86(...) __VA_ARGS__
#define ARM(...) NULL
#elif defined(__aarch64__)
init ct_attend_init_neon, ct_vector_init_neon, ct_panels_init_neon, ct_panels_init_dotprod,
    ct_panels_init_i8mm;
#define X86(...) NULL
#define ARM(...) __VA_ARGS__
#else
#define X86(...) NULL
#define ARM(...) NULL
#endif

enum { REF, AVX2, AVXVNNI, AVX512, VNNI, AMX, NEON, DOTPROD, I8MM, N_LEVEL };

#define SIZES(level) ct_queries_##level, ct_rows_few_##level, ct_rows_many_##level

static const struct level {
    const char *name;
    const char *needs; /* of the processor: a level of os/cpu.h */
    int on;            /* the level whose processors it needs as well */
    int queries, rows_few, rows_many;
    init *init[5]; /* none: a level of another architecture */
    /* the instructions for values in f32, in bf16, in bytes, in bytes of which one side are nibbles */
    enum ct_multiply multiply[CARAT_N_ARITHMETIC];
    init *init_amd; /* what it does otherwise on processors of AMD */
} levels[N_LEVEL] = {
    [REF] = {"ref", "", REF, SIZES(ref), .init = {ct_kernel_init_ref, ct_attend_init_ref}},
    [AVX2] = {"avx2", "avx2+fma+f16c", REF, SIZES(avx2),
              .init = {X86(ct_kernel_init_avx2, ct_attend_init_avx2, ct_kv_write_init_avx2,
                           ct_vector_init_avx2, ct_panels_init_avx2)},
              .multiply = {CT_FMA_256, CT_FMA_256, CT_BYTES_256, CT_NIBBLES_256}},
    [AVXVNNI] = {"avxvnni", "avxvnni", AVX2, SIZES(avxvnni), .init = {X86(ct_panels_init_avxvnni)},
                 .multiply = {CT_FMA_256, CT_FMA_256, CT_DOT_256, CT_DOT_256}},
    [AVX512] = {"avx512", "avx512f+bw+vl+dq", AVX2, SIZES(avx512),
                .init = {X86(ct_vector_init_avx512, ct_attend_init_avx512, ct_panels_init_avx512,
                             ct_prepare_init_avx512)},
                .multiply = {CT_FMA_512, CT_FMA_512, CT_BYTES_512, CT_NIBBLES_512},
                .init_amd = X86(ct_panels_init_one_stream_avx512)},
    [VNNI] = {"vnni", "avx512vnni", AVX512, SIZES(vnni), .init = {X86(ct_panels_init_vnni)},
              .multiply = {CT_FMA_512, CT_FMA_512, CT_DOT_512, CT_DOT_512},
              .init_amd = X86(ct_panels_init_one_stream_vnni)},
    [AMX] = {"amx", "amx-tile+int8+bf16", VNNI, SIZES(amx),
             .init = {X86(ct_attend_init_amx, ct_panels_init_amx)},
             .multiply = {CT_FMA_512, CT_TILES_BF16, CT_TILES_INT8, CT_TILES_INT8}},
    [NEON] = {"neon", "neon", REF, SIZES(neon),
              .init = {ARM(ct_attend_init_neon, ct_vector_init_neon, ct_panels_init_neon)}},
    [DOTPROD] = {"dotprod", "dotprod", NEON, SIZES(dotprod), .init = {ARM(ct_panels_init_dotprod)}},
    [I8MM] = {"i8mm", "i8mm", DOTPROD, SIZES(i8mm), .init = {ARM(ct_panels_init_i8mm)}},
};

_Static_assert(N_LEVEL <= CT_MOST_LEVELS, "others keep a table of levels");

_Static_assert(CT_FIRST_ENTRY + CT_N_ENTRIES * sizeof(void (*)(void)) == sizeof(struct ct_kernel),
               "entries stand one after another");

static const struct level *find_level(const char *name)
{
    for (int i = 0; i < N_LEVEL; i++)
        if (strcmp(levels[i].name, name) == 0)
            return &levels[i];
    return NULL;
}

/* Writes what a level does better into the table, and its name beside the entries that changed. */
static void write_level(struct ct_kernel *k, const struct level *l, bool amd)
{
    const struct ct_kernel before = *k;

    for (size_t i = 0; i < CT_COUNT(l->init) && l->init[i]; i++)
        l->init[i](k);
    if (l->init_amd && amd)
        l->init_amd(k);
    for (size_t i = 0; i < CT_N_ENTRIES; i++) {
        const size_t at = CT_FIRST_ENTRY + i * sizeof(void (*)(void));
        if (memcmp((const char *)&before + at, (const char *)k + at, sizeof(void (*)(void))) != 0)
            k->by[i] = l->name;
    }
}

bool ct_kernel_choose(struct ct_kernel *k, const struct ct_cpu *cpu, const char *limit)
{
    const struct level *last = limit ? find_level(limit) : &levels[N_LEVEL - 1];
    bool usable[N_LEVEL] = {false};

    if (limit && (!last || !last->init[0]))
        return false;
    *k = (struct ct_kernel){0};
    for (const struct level *l = levels; l <= last; l++) {
        int at = (int)(l - levels);
        usable[at] = l->init[0] && (at == REF || (usable[l->on] && ct_cpu_usable(cpu, l->needs)));
        /* The system is asked for tiles last, only where they may be used. */
        if (!usable[at] || (at == AMX && !ct_cpu_allow_tiles()))
            continue;
        write_level(k, l, strcmp(cpu->vendor, "AuthenticAMD") == 0);
        k->isa = l->name;
        k->queries = l->queries;
        k->rows_few = l->rows_few;
        k->rows_many = l->rows_many;
    }
    return true;
}

enum ct_multiply ct_level_multiply(const char *isa, carat_arithmetic a)
{
    const struct level *l = find_level(isa);
    return l ? l->multiply[a] : CT_MULTIPLY_UNKNOWN;
}

struct ct_level_names ct_level_names(void)
{
    struct ct_level_names names = {""};
    int left = 0, used = 0;

    for (int i = 0; i < N_LEVEL; i++)
        left += levels[i].init[0] != NULL;
    for (const struct level *l = levels; left > 0; l++)
        if (l->init[0])
            used += snprintf(names.text + used, sizeof names.text - (size_t)used, "%s%s", l->name,
                             --left > 1  ? ", "
                             : left == 1 ? " and "
                                         : "");
    return names;
}

const char *carat_isa_name(int i)
{
    return i >= 0 && i < N_LEVEL ? levels[i].name : NULL;
}

const char *carat_isa_needs(int i)
{
    return i >= 0 && i < N_LEVEL ? levels[i].needs : NULL;
}
