/* SPDX-License-Identifier: Apache-2.0 */
/* host_fp.h: the floating-point state that some host programs set: what is tiny becomes zero on the way in
 * and out, and rounding is upwards. For tests that the library neither minds nor changes it. */
#ifndef CT_TEST_HOST_FP_H
#define CT_TEST_HOST_FP_H

#include <stdint.h>

#if defined(__x86_64__)
enum { HOST_FP = 0x8000 | 0x0040 | 0x4000 }; /* FTZ, DAZ, up */
static uint64_t host_fp_read(void)
{
    return __builtin_ia32_stmxcsr() & ~0x3fu; /* less what has happened so far */
}
static void host_fp_write(uint64_t state)
{
    __builtin_ia32_ldmxcsr((unsigned)state);
}
#elif defined(__aarch64__)
enum { HOST_FP = 1 << 24 | 1 << 22 }; /* FZ, up */
static uint64_t host_fp_read(void)
{
    uint64_t state;
    __asm__ volatile("mrs %0, fpcr" : "=r"(state));
    return state;
}
static void host_fp_write(uint64_t state)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(state));
}
#endif

/* Gives the state before, for host_fp_write. */
static inline uint64_t host_fp_enter(void)
{
    uint64_t saved = host_fp_read();
    host_fp_write(saved | HOST_FP);
    return saved;
}

#endif
