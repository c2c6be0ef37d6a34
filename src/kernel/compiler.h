/* SPDX-License-Identifier: Apache-2.0 */
/* compiler.h: what files of kernels tell compilers, of any architecture: how they become one function each,
 * with all that is constant folded in, and what stays in registers. Tests bring their own
 * (test/kernel/emulate.h). */
#ifndef CT_COMPILER_H
#define CT_COMPILER_H

/* Sanitizers and builds without optimisation have no use for speed, and would compile for minutes. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#define INLINE static __attribute__((unused))
#define UNROLL
#else
#define INLINE static inline __attribute__((always_inline, unused))
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Keeps a vector in a register: compilers read it from memory again for each of its uses, and loads run out
 * first. */
#define PIN(v) __asm__("" : "+v"(v))
/* Hides where a pointer comes from: else what is read through it is shared with what was read before, and
 * kept. */
#define ANEW(p) __asm__("" : "+r"(p))
/* Has what is read through p wait for v: compilers read early, and registers run out. */
#define AFTER(p, v) __asm__("" : "+r"(p) : "v"(v))

#endif
