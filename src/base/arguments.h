/* SPDX-License-Identifier: Apache-2.0 */
/* arguments.h: arguments of the public functions: pointers that must not be NULL, and structs of programs
 * that were built with an older header. The first member of a struct that can grow is its size there. */
#ifndef CT_ARGUMENTS_H
#define CT_ARGUMENTS_H

#include "base/base.h"

/* Refuses a NULL pointer by its name. */
#define CT_GIVEN(p, err) CT_TRY((p) ? CARAT_OK : ct_fail(err, CARAT_E_ARGUMENT, "argument %s is NULL", #p))

/* Refuses a number that is not one of least to most. */
carat_status ct_check_range(const char *name, int value, int least, int most, carat_error *err);

/* Copies what the caller's struct has over the defaults in full[size], and sets its size; NULL leaves the
 * defaults. E_ARGUMENT. */
carat_status ct_take_struct(void *full, size_t size, const void *given, const char *type, carat_error *err);
/* That a result of size bytes fits into the caller's struct as far as that goes. E_ARGUMENT, also for
 * NULL. */
carat_status ct_check_struct(const void *to, size_t size, const char *type, carat_error *err);
/* Copies a result into the caller's struct, whose size stays, once it is checked so. */
carat_status ct_give_struct(void *to, const void *full, size_t size, const char *type, carat_error *err);
/* The caller's n elements of `element` bytes as elements of size bytes, for free; NULL: they are that long.
 * E_ARGUMENT, E_MEMORY. */
carat_status ct_take_array(void **copy, const void *given, size_t element, int n, size_t size,
                           const char *type, carat_error *err);

#endif
