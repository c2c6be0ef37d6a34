/* SPDX-License-Identifier: Apache-2.0 */
/* fibre.h: threads of a block as fibres of one thread, which give way at barriers and shuffles alone, in an
 * order that a test chooses. So what a barrier too few lets happen, happens, and always in the same way.
 * Blocks run one after another, in an order that goes with it. */
#ifndef FIBRE_H
#define FIBRE_H

#include <stdbool.h>
#include <stdint.h>

enum { FIBRE_MOST = 256, FIBRE_WARP = 32 };

struct fibre_barrier {
    int size, waiting, turn;
};
/* Of the thread that runs. */
extern struct fibre {
    int tid, x, y; /* its number in the block; the block's place in the grid */
    struct fibre_barrier block, warp[FIBRE_MOST / FIBRE_WARP];
} fibre;

/* In which order threads take turns. */
enum fibre_order { FIBRE_UP, FIBRE_DOWN, FIBRE_SCATTERED, FIBRE_ORDERS };
extern enum fibre_order fibre_order;

void fibre_wait(struct fibre_barrier *b);
/* What thread `from` of the warp passes as v; all threads of the warp call it. */
uint32_t fibre_read(uint32_t v, int from);
/* d += a * b, int8 in the fragments of kernel/gpu/matrix.cu; all threads of the warp call it. */
extern const bool fibre_multiplies; /* whether it is there */
void fibre_multiply(int32_t d[4], const uint32_t a[4], const uint32_t b[2]);
/* The same of bf16 or f16, as a unit sums (unit.h), in the fragments of kernel/gpu/tensor.cu. */
void fibre_multiply_floats(float d[4], const uint32_t a[4], const uint32_t b[2], bool bf16);
/* Runs a kernel with FIBRE_MOST threads for every block of a grid. */
void fibre_run(void (*thread)(const void *args), const void *args, int blocks, int rows);

/* Kernels are made for processors with a fused multiply and add, too, where these are many times faster. */
#if defined(__x86_64__) && !defined(__clang__)
#define FIBRE_CLONES __attribute__((target_clones("default", "fma")))
#else
#define FIBRE_CLONES
#endif
/* What a launch calls: `NAME_thread` with the arguments as bytes. */
#define FIBRE_ENTRY(name, args)                                                                              \
    void name##_thread(const void *all)                                                                      \
    {                                                                                                        \
        name(*(const struct args *)all);                                                                     \
    }

#endif
