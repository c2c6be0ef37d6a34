/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.c: asks the processor (CPUID, and XGETBV for what the system saves on a context switch; on Arm the
 * auxiliary vector and MIDR). The levels are a table: what each needs of the answers. */
#define _GNU_SOURCE
#include "os/cpu.h"

#include <sys/syscall.h>
#include <unistd.h>

bool ct_cpu_usable(const struct ct_cpu *cpu, const char *level)
{
    for (int i = 0; i < cpu->n_level; i++)
        if (strcmp(cpu->level[i].name, level) == 0)
            return cpu->level[i].usable;
    return false;
}

bool ct_cpu_has_avx2(void)
{
    struct ct_cpu cpu;

    ct_cpu_detect(&cpu);
    return ct_cpu_usable(&cpu, "avx2+fma+f16c");
}

#if defined(__x86_64__)
#include <cpuid.h>

/* The words of CPUID's answers that levels are described by: leaf 1, leaf 7, and leaf 7's second page. */
enum word { L1_ECX, L1_EDX, L7_EBX, L7_ECX, L7_EDX, L71_EAX, N_WORD };
/* Parts of the registers that the system may or may not save: bits of XCR0. */
enum { YMM = 0x6, ZMM = 0xe6, TILES = 0x60000 };
#define BIT(n) (1u << (n))

static const struct needs {
    const char *name;
    uint64_t state; /* 0: every 64-bit system saves it */
    uint32_t need[N_WORD];
} levels[] = {
    {"sse2", 0, {[L1_EDX] = BIT(26)}},
    {"avx", YMM, {[L1_ECX] = BIT(28)}},
    {"avx2+fma+f16c", YMM, {[L1_ECX] = BIT(28) | BIT(12) | BIT(29), [L7_EBX] = BIT(5)}},
    {"avxvnni", YMM, {[L1_ECX] = BIT(28), [L71_EAX] = BIT(4)}},
    {"avx512f+bw+vl+dq", ZMM, {[L7_EBX] = BIT(16) | BIT(30) | BIT(31) | BIT(17)}},
    {"avx512vnni", ZMM, {[L7_EBX] = BIT(16), [L7_ECX] = BIT(11)}},
    {"amx-tile+int8+bf16", TILES, {[L7_EDX] = BIT(24) | BIT(25) | BIT(22)}},
};

static uint64_t saved_state(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static void ask(uint32_t word[N_WORD])
{
    unsigned a, b, c, d;

    memset(word, 0, N_WORD * sizeof *word);
    if (__get_cpuid(1, &a, &b, &c, &d)) {
        word[L1_ECX] = c;
        word[L1_EDX] = d;
    }
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        word[L7_EBX] = b;
        word[L7_ECX] = c;
        word[L7_EDX] = d;
        if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d))
            word[L71_EAX] = a;
    }
}

static struct ct_cpu_level find_level(const uint32_t word[N_WORD], const struct needs *l)
{
    const uint64_t saved = word[L1_ECX] & bit_OSXSAVE ? saved_state() : 0;
    bool present = true;

    for (int w = 0; w < N_WORD; w++)
        present = present && (word[w] & l->need[w]) == l->need[w];
    return (struct ct_cpu_level){l->name, present, present && (saved & l->state) == l->state};
}

static void find_levels(struct ct_cpu *cpu)
{
    uint32_t word[N_WORD];

    ask(word);
    for (size_t i = 0; i < CT_COUNT(levels); i++)
        cpu->level[cpu->n_level++] = find_level(word, &levels[i]);
}

bool ct_cpu_has_vbmi(void)
{
    static const struct needs vbmi = {"avx512vbmi", ZMM, {[L7_EBX] = BIT(16) | BIT(30), [L7_ECX] = BIT(1)}};
    uint32_t word[N_WORD];

    ask(word);
    return find_level(word, &vbmi).usable;
}

static void identify(struct ct_cpu *cpu)
{
    unsigned a, b, c, d;

    if (__get_cpuid(0, &a, &b, &c, &d)) {
        memcpy(cpu->vendor, &b, 4);
        memcpy(cpu->vendor + 4, &d, 4);
        memcpy(cpu->vendor + 8, &c, 4);
    }
    if (__get_cpuid(1, &a, &b, &c, &d)) {
        int family = a >> 8 & 15, model = a >> 4 & 15;
        cpu->family = family == 15 ? family + (int)(a >> 20 & 255) : family;
        cpu->model = family == 15 || family == 6 ? model + (int)(a >> 12 & 0xf0) : model;
        cpu->stepping = a & 15;
    }
}

static void brand(char name[64])
{
    unsigned reg[13] = {0}, a, b, c, d; /* the last one ends the text */

    if (__get_cpuid(0x80000000u, &a, &b, &c, &d) && a >= 0x80000004u)
        for (unsigned i = 0; i < 3; i++)
            __get_cpuid(0x80000002u + i, &reg[4 * i], &reg[4 * i + 1], &reg[4 * i + 2], &reg[4 * i + 3]);
    char text[sizeof reg];
    memcpy(text, reg, sizeof reg);
    const char *s = text + strspn(text, " "); /* some brands are padded on the left, most on the right */
    size_t n = strlen(s);
    while (n > 0 && s[n - 1] == ' ')
        n--;
    snprintf(name, 64, "%.*s", n ? (int)n : 6, n ? s : "x86-64");
}

void ct_cpu_detect(struct ct_cpu *cpu)
{
    *cpu = (struct ct_cpu){0};
    find_levels(cpu);
    identify(cpu);
    brand(cpu->name);
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

/* Bits of AT_HWCAP and AT_HWCAP2, which are the kernel's interface and do not change. */
enum { CPUID_REGISTERS = 1 << 11 };
static const struct {
    const char *name;
    unsigned long type, bit;
} levels[] = {
    {"neon", AT_HWCAP, 1ul << 1},
    {"dotprod", AT_HWCAP, 1ul << 20},
    {"i8mm", AT_HWCAP2, 1ul << 13},
};

static const struct {
    int id;
    const char *name;
} implementers[] = {
    {0x41, "Arm"},    {0x42, "Broadcom"}, {0x43, "Cavium"}, {0x46, "Fujitsu"}, {0x48, "HiSilicon"},
    {0x4e, "NVIDIA"}, {0x51, "Qualcomm"}, {0x61, "Apple"},  {0xc0, "Ampere"},
};

void ct_cpu_detect(struct ct_cpu *cpu)
{
    *cpu = (struct ct_cpu){.name = "aarch64"};
    for (size_t i = 0; i < CT_COUNT(levels); i++) {
        bool has = (getauxval(levels[i].type) & levels[i].bit) != 0;
        cpu->level[cpu->n_level++] = (struct ct_cpu_level){levels[i].name, has, has};
    }
    if (!(getauxval(AT_HWCAP) & CPUID_REGISTERS)) /* the kernel answers for MIDR only then */
        return;
    uint64_t midr;
    __asm__("mrs %0, midr_el1" : "=r"(midr));
    cpu->family = (int)(midr >> 24 & 255);
    cpu->model = (int)(midr >> 4 & 0xfff);
    cpu->stepping = (int)((midr >> 20 & 15) << 4 | (midr & 15));
    for (size_t i = 0; i < CT_COUNT(implementers); i++)
        if (implementers[i].id == cpu->family)
            snprintf(cpu->vendor, sizeof cpu->vendor, "%s", implementers[i].name);
}

#else
void ct_cpu_detect(struct ct_cpu *cpu)
{
    *cpu = (struct ct_cpu){.name = "unknown"};
}
#endif

#if !defined(__x86_64__)
bool ct_cpu_has_vbmi(void)
{
    return false;
}
#endif

bool ct_cpu_allow_tiles(void)
{
#if defined(__x86_64__)
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XTILEDATA = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA) == 0;
#else
    return false;
#endif
}
