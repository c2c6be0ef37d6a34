/* SPDX-License-Identifier: Apache-2.0 */
/* library.h: libraries that may be there or not. */
#ifndef CT_OS_LIBRARY_H
#define CT_OS_LIBRARY_H

/* A library by its soname, where the system looks for libraries and nowhere else: a file of that name in the
 * working directory is none. NULL: there is none, or it cannot be used. */
void *ct_os_library_open(const char *soname);
/* A function of it; NULL: it has none of that name. */
void (*ct_os_library_function(void *library, const char *name))(void);
void ct_os_library_close(void *library); /* NULL is allowed */

#endif
