/* SPDX-License-Identifier: Apache-2.0 */
/* unroll.h: how kernels become one function each, with all that is constant folded in. For files of kernels. */
#ifndef CT_UNROLL_H
#define CT_UNROLL_H

/* Emulation and sanitizers have no use for speed, and would compile for minutes. */
#if defined(CT_EMULATE) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INLINE static __attribute__((unused))
#define UNROLL
#else
#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")
#endif

#endif
