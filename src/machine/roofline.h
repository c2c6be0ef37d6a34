/* SPDX-License-Identifier: Apache-2.0 */
/* roofline.h: loops that do nothing but multiply, or read: what an instruction set and a memory can do at
 * most. Who times them, on how many threads, is machine/measure.c, and kcheck --bench. */
#ifndef CT_ROOFLINE_H
#define CT_ROOFLINE_H

#include "base/base.h"
#include "carat_tools.h"

struct ct_roofline {
    void (*run)(long turns); /* NULL: not known */
    int operations;          /* of one turn; a multiplication and an addition are two */
};

/* The loop for what a level multiplies with. It may run only where the level does. */
struct ct_roofline ct_roofline_loop(const char *isa, carat_arithmetic a);

/* Reads everything once in four streams, each asked for ahead: what a product of one token does, without the
 * product. The result depends on all of it. data is aligned to 16 bytes. */
uint64_t ct_roofline_read(const void *data, size_t bytes);

#endif
