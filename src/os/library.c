/* SPDX-License-Identifier: Apache-2.0 */
/* library.c: dlopen and what goes with it. */
#include "os/library.h"

#include <assert.h>
#include <dlfcn.h>
#include <string.h>

void *ct_os_library_open(const char *soname)
{
    assert(!strchr(soname, '/'));
    return dlopen(soname, RTLD_NOW | RTLD_LOCAL);
}

void (*ct_os_library_function(void *library, const char *name))(void)
{
    void *symbol = dlsym(library, name);
    void (*function)(void);

    memcpy(&function, &symbol, sizeof function); /* as POSIX promises */
    return function;
}

void ct_os_library_close(void *library)
{
    if (library)
        dlclose(library);
}
