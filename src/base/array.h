/* SPDX-License-Identifier: Apache-2.0 */
/* array.h: room in an array that grows. */
#ifndef CT_ARRAY_H
#define CT_ARRAY_H

#include "base/base.h"

/* array: the address of a pointer to elements of size bytes, *capacity of them. Makes room for need of
 * them, at least twice of what there was, so that adding one by one costs constant time. The contents
 * stay. False, and nothing has changed, when memory is out. */
bool ct_array_grow(void *array, size_t *capacity, size_t need, size_t size);

#endif
