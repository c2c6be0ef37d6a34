/* SPDX-License-Identifier: Apache-2.0 */
/* philox.h: random numbers that are a function of a key and a counter (NUMERICS.md section 8). Kernels for
 * GPUs include it, too: their dialect has types of its own, and says DEVICE (gpu/dialect.h). */
#ifndef CT_PHILOX_H
#define CT_PHILOX_H

#ifdef DEVICE
#define CT_PHILOX_INLINE DEVICE
#else
#include <stdint.h>
#define CT_PHILOX_INLINE static inline
#endif

/* Philox4x32-10 (Salmon et al., 2011): the upper 24 bits of the first word; as a fraction of 2^24 they are
 * u. */
CT_PHILOX_INLINE uint32_t ct_philox(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);

    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c0 >> 8;
}

#endif
