/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.c: see arguments.h. */
#include "base/arguments.h"

#include <stdlib.h>

carat_status ct_check_range(const char *name, int value, int least, int most, carat_error *err)
{
    if (value >= least && value <= most)
        return CARAT_OK;
    return ct_fail(err, CARAT_E_ARGUMENT, "%s is %d, expected %d to %d", name, value, least, most);
}

static carat_status check_size(size_t found, size_t known, size_t least, const char *type, carat_error *err)
{
    if (found >= least && found <= known)
        return CARAT_OK;
    return ct_fail(err, CARAT_E_ARGUMENT,
                   "%s has size %zu, expected %zu: set its size to that of the type in your header", type,
                   found, known);
}

static size_t size_of(const void *s)
{
    size_t size;
    memcpy(&size, s, sizeof size);
    return size;
}

carat_status ct_take_struct(void *full, size_t size, const void *given, const char *type, carat_error *err)
{
    memcpy(full, &size, sizeof size);
    if (!given)
        return CARAT_OK;
    CT_TRY(check_size(size_of(given), size, sizeof size, type, err));
    memcpy((char *)full + sizeof size, (const char *)given + sizeof size, size_of(given) - sizeof size);
    return CARAT_OK;
}

carat_status ct_check_struct(const void *to, size_t size, const char *type, carat_error *err)
{
    if (!to)
        return ct_fail(err, CARAT_E_ARGUMENT, "the %s is NULL", type);
    return check_size(size_of(to), size, sizeof size, type, err);
}

carat_status ct_give_struct(void *to, const void *full, size_t size, const char *type, carat_error *err)
{
    CT_TRY(ct_check_struct(to, size, type, err));
    memcpy((char *)to + sizeof size, (const char *)full + sizeof size, size_of(to) - sizeof size);
    return CARAT_OK;
}

carat_status ct_take_array(void **copy, const void *given, size_t element, int n, size_t size,
                           const char *type, carat_error *err)
{
    CT_TRY(check_size(element, size, 1, type, err));
    *copy = NULL;
    if (element == size)
        return CARAT_OK;
    char *to = calloc((size_t)n, size);
    if (!to)
        return ct_fail(err, CARAT_E_MEMORY, "out of memory for %d elements of %s", n, type);
    for (int i = 0; i < n; i++)
        memcpy(to + (size_t)i * size, (const char *)given + (size_t)i * element, element);
    *copy = to;
    return CARAT_OK;
}
