/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h: what the processor and the system let us use, found once per engine by CPUID (x86) or the
 * auxiliary vector (Arm). It chooses nothing: kernel/level.c does. */
#ifndef CT_CPU_H
#define CT_CPU_H

#include "base/base.h"

struct ct_cpu_level {
    const char *name; /* "avx2+fma+f16c" */
    bool present;     /* the processor has all of it */
    bool usable;      /* and the system saves its registers */
};

struct ct_cpu {
    char name[64];               /* brand string, or the architecture */
    char vendor[16];             /* of CPUID, or Arm's implementer */
    int family, model, stepping; /* on Arm: implementer, part, 16 * variant + revision */
    int n_level;
    struct ct_cpu_level level[8]; /* [n_level], weakest first */
};
void ct_cpu_detect(struct ct_cpu *cpu);
/* True when the level of that name is usable; false for a name that this architecture does not know. */
bool ct_cpu_usable(const struct ct_cpu *cpu, const char *level);

/* True when AVX-512's permutations of bytes (VBMI) are usable: no level, but a way to do what levels do. */
bool ct_cpu_has_vbmi(void);
/* AVX2 with FMA and F16C, for what is compiled for the baseline and once more for these. */
bool ct_cpu_has_avx2(void);

/* Asks that this process may use AMX tiles, as Linux demands; once granted it stays so. False where that is
 * not known. */
bool ct_cpu_allow_tiles(void);

#endif
