/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_util.h: engines on the emulated GPU (test/emu), and how often one calls the driver until it is there:
 * a call that is to fail later is counted from there on. */
#ifndef CUDA_UTIL_H
#define CUDA_UTIL_H

#include <dlfcn.h>

#include "vector_util.h"

UNUSED static carat_engine_options cuda_options(void)
{
    carat_engine_options o;

    carat_engine_options_default(&o);
    o.device = "cuda";
    o.context = 600;
    return o;
}

UNUSED static int calls_until_made(carat_model *model, const char *name)
{
    carat_engine_options o = cuda_options();
    carat_engine *engine = NULL;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *found = NULL;
    int (*count)(const char *) = NULL;

    assert_true(driver && (found = dlsym(driver, "emu_count")));
    memcpy(&count, &found, sizeof found);
    OK(carat_engine_create(&engine, model, &o, err));
    const int n = count(name);
    carat_engine_close(engine);
    dlclose(driver);
    return n;
}

#endif
