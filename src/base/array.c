/* SPDX-License-Identifier: Apache-2.0 */
/* array.c: doubles what array.h keeps. */
#include "base/array.h"

#include <stdlib.h>

enum { FIRST_BYTES = 256 };

bool ct_array_enlarge(void *array, size_t *capacity, size_t need, size_t size)
{
    size_t wanted, bytes;
    void *old, *grown;

    if (!ct_mul(*capacity, 2, &wanted) || wanted < need)
        wanted = CT_MAX(need, FIRST_BYTES / size + 1);
    memcpy(&old, array, sizeof old); /* a pointer to any type */
    if (!ct_mul(wanted, size, &bytes) || bytes > PTRDIFF_MAX || !(grown = realloc(old, bytes)))
        return false;
    memcpy(array, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}
