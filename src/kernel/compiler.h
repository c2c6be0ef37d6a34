/* SPDX-License-Identifier: Apache-2.0 */
/* compiler.h: how kernels of any architecture control inlining, unrolling and registers. Emulations in tests
 * have macros of their own (test/kernel/emulate.h). */
#ifndef CT_COMPILER_H
#define CT_COMPILER_H

/* Under sanitizers or without optimisation inlined kernels would compile for minutes. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#define INLINE static __attribute__((unused))
#define UNROLL
#else
#define INLINE static inline __attribute__((always_inline, unused))
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* Keeps a vector in a register. Compilers would load it again for each use, and loads are what is short. */
#define PIN(v) __asm__("" : "+v"(v))
/* Hides where a pointer comes from, so that the compiler loads through it again instead of keeping
 * registers. */
#define ANEW(p) __asm__("" : "+r"(p))
/* sum += dots of bytes of a vector of AVX-512 and the same four bytes of memory, which GCC loads apart. */
#define DOT_BROADCAST(sum, u, p)                                                                             \
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(u), "m"(*(const int8_t(*)[4])(p)))
/* Delays loads through p until v is known: compilers load early, and registers run out. */
#define AFTER(p, v) __asm__("" : "+r"(p) : "v"(v))

#endif
