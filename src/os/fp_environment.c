/* SPDX-License-Identifier: Apache-2.0 */
/* fp_environment.c: sets and restores the floating-point environment of the calling thread. */
#include "os/fp_environment.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#if defined(__x86_64__)
ct_fpenv ct_os_fp_enter(void)
{
    enum { DAZ = 0x0040, ROUNDING = 0x6000, FTZ = 0x8000, MASKS = 0x1f80 };
    unsigned saved = _mm_getcsr();
    _mm_setcsr((saved & ~(unsigned)(DAZ | ROUNDING | FTZ)) | MASKS);
    return saved;
}
void ct_os_fp_leave(ct_fpenv saved)
{
    _mm_setcsr((unsigned)saved);
}
#elif defined(__aarch64__)
ct_fpenv ct_os_fp_enter(void)
{
    /* Trap enables, half-precision flush, rounding mode, flush to zero, default NaN, alternative half. */
    const uint64_t clear = 0x9f00u | 1u << 19 | 3u << 22 | 1u << 24 | 1u << 25 | 1u << 26;
    uint64_t saved;
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved));
    __asm__ volatile("msr fpcr, %0" : : "r"(saved & ~clear));
    return saved;
}
void ct_os_fp_leave(ct_fpenv saved)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(saved));
}
#else
#error "the floating-point environment of this processor is not known"
#endif
