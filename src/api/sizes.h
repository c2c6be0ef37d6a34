/* SPDX-License-Identifier: Apache-2.0 */
/* sizes.h: structs of programs that were built with an older carat.h. The first member of every public struct
 * that can grow is its size there; the rooms below get and give whole structs. */
#ifndef CT_SIZES_H
#define CT_SIZES_H

#include "base/base.h"
#include "carat_generate.h"
#include "carat_tools.h"

/* Copies what the caller's struct has over the defaults in full[size]; given NULL leaves the defaults.
 * E_ARGUMENT. */
carat_status ct_take_struct(void *full, size_t size, const void *given, const char *type, carat_error *err);
/* The same for a sampling, whose chain then is *chain, complete, or NULL. */
carat_status ct_take_sampling(carat_sampling *full, carat_chain *chain, const carat_sampling *given,
                              carat_error *err);
/* That a result of size bytes fits into the caller's struct as far as that goes. E_ARGUMENT, also for NULL.
 */
carat_status ct_check_struct(const void *to, size_t size, const char *type, carat_error *err);
/* Copies full[size] into the caller's struct, which ct_check_struct has accepted and whose size stays. */
void ct_give_struct(void *to, const void *full);
/* The caller's n elements of `element` bytes as elements of size bytes: in *all, themselves when the sizes
 * are equal, else a copy, which is in *copy for free. E_ARGUMENT, E_MEMORY. */
carat_status ct_take_array(const void **all, void **copy, const void *given, size_t element, int n,
                           size_t size, const char *type, carat_error *err);

/* Refuses a NULL pointer by its name. */
#define CT_GIVEN(p, err) CT_TRY((p) ? CARAT_OK : ct_fail(err, CARAT_E_ARGUMENT, "argument %s is NULL", #p))

#endif
