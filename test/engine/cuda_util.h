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

/* Whether a GPU computes the model. Some test models have heads of other widths than it takes, and are
 * refused for that. */
UNUSED static bool runs_on_gpu(const carat_model *model)
{
    carat_engine_options o = cuda_options();
    carat_plan plan = {.size = sizeof plan};

    o.context = 0;
    carat_error why = {CARAT_OK, ""};
    const carat_status status = carat_plan_engine(model, &o, &plan, &why);
    assert_true(status == CARAT_OK ||
                (status == CARAT_E_UNSUPPORTED && strstr(why.message, "multiples of 4 alone")));
    return status == CARAT_OK;
}

UNUSED static int calls_until_made_with(carat_model *model, const carat_engine_options *o, const char *name)
{
    carat_engine *engine = NULL;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *found = NULL;
    int (*count)(const char *) = NULL;

    assert_true(driver && (found = dlsym(driver, "emu_count")));
    memcpy(&count, &found, sizeof found);
    OK(carat_engine_create(&engine, model, o, err));
    const int n = count(name);
    carat_engine_close(engine);
    dlclose(driver);
    return n;
}

UNUSED static int calls_until_made(carat_model *model, const char *name)
{
    const carat_engine_options o = cuda_options();

    return calls_until_made_with(model, &o, name);
}

#endif
