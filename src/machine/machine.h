/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h: what this machine is (carat_tools.h says more), and the loops that measure what it can do at
 * most. */
#ifndef CT_MACHINE_H
#define CT_MACHINE_H

#include "base/base.h"
#include "carat_tools.h"

/* ---- loops that do nothing but multiply, or read; measure.c times them, and kcheck --bench ---- */

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
