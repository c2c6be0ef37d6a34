/* cpu.h: what the processor and the system let us use, found once per engine by CPUID (x86) or the
 * auxiliary vector (Arm). It chooses nothing: kernel.c does. */
#ifndef CT_CPU_H
#define CT_CPU_H

#include "base/base.h"

struct ct_cpu {
    bool avx2_fma; /* AVX2 and FMA and F16C, and the OS saves YMM */
    char name[64]; /* brand string, or the architecture */
};
void ct_cpu_detect(struct ct_cpu *cpu);

#endif
