/* SPDX-License-Identifier: Apache-2.0 */
/* array.h: room in an array that grows. */
#ifndef CT_ARRAY_H
#define CT_ARRAY_H

#include "base/base.h"

bool ct_array_enlarge(void *array, size_t *capacity, size_t need, size_t size);

/* Makes room for need elements of size bytes. array is the address of a pointer to *capacity of them. Room
 * doubles, so that adding one by one costs constant time; the contents stay. False, and nothing has
 * changed, when memory is out. */
static inline bool ct_array_grow(void *array, size_t *capacity, size_t need, size_t size)
{
    return need <= *capacity || ct_array_enlarge(array, capacity, need, size);
}

#endif
