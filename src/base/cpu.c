/* cpu.c: asks the processor (CPUID, and XGETBV for what the system saves on a context switch). */
#include "base/cpu.h"

#include <stdio.h>

#if defined(__x86_64__)
#include <cpuid.h>

static uint64_t saved_state(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static bool has_avx2_fma(void)
{
    enum { YMM = 0x6 }; /* XCR0: XMM and the upper halves of YMM */
    unsigned a, b, c, d;
    const unsigned leaf1 = bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & leaf1) != leaf1)
        return false;
    if ((saved_state() & YMM) != YMM)
        return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2);
}

static void brand(char name[64])
{
    unsigned reg[12], a, b, c, d;
    if (!__get_cpuid(0x80000000u, &a, &b, &c, &d) || a < 0x80000004u) {
        snprintf(name, 64, "x86-64");
        return;
    }
    for (unsigned i = 0; i < 3; i++)
        __get_cpuid(0x80000002u + i, &reg[4 * i], &reg[4 * i + 1], &reg[4 * i + 2], &reg[4 * i + 3]);
    char text[sizeof reg + 1];
    memcpy(text, reg, sizeof reg);
    text[sizeof reg] = 0;
    char *s = text; /* some brands are padded on the left, most on the right */
    while (*s == ' ')
        s++;
    size_t n = strlen(s);
    while (n > 0 && s[n - 1] == ' ')
        n--;
    snprintf(name, 64, "%.*s", (int)n, n ? s : "");
    if (!n)
        snprintf(name, 64, "x86-64");
}
#endif

void ct_cpu_detect(struct ct_cpu *cpu)
{
    *cpu = (struct ct_cpu){0};
#if defined(__x86_64__)
    cpu->avx2_fma = has_avx2_fma();
    brand(cpu->name);
#elif defined(__aarch64__)
    snprintf(cpu->name, sizeof cpu->name, "aarch64");
#else
    snprintf(cpu->name, sizeof cpu->name, "unknown");
#endif
}
