/* SPDX-License-Identifier: Apache-2.0 */
/* on_device.c: with CARAT_TEST_DEVICE=cuda the engines of a test program that name no device are on that one,
 * where it takes them: so the tests of the engine run a second time, over the emulated driver
 * (test/engine/test_on_cuda.sh). The linker puts this function before the library's own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <carat.h>

carat_status __real_carat_engine_create(carat_engine **engine, const carat_model *model,
                                        const carat_engine_options *options, carat_error *err);
carat_status __wrap_carat_engine_create(carat_engine **engine, const carat_model *model,
                                        const carat_engine_options *options, carat_error *err);

static void tell(void)
{
    fputs("engines were on the device\n", stderr);
}

carat_status __wrap_carat_engine_create(carat_engine **engine, const carat_model *model,
                                        const carat_engine_options *options, carat_error *err)
{
    static int told;
    carat_engine_options o;
    carat_status status = CARAT_E_UNSUPPORTED;
    const char *device = getenv("CARAT_TEST_DEVICE");

    carat_engine_options_default(&o);
    if (options && options->size <= sizeof o)
        memcpy(&o, options, options->size);
    if (device && model && !o.device && (!options || options->size == sizeof o)) {
        o.device = device;
        status = __real_carat_engine_create(engine, model, &o, err);
        if (status == CARAT_OK && !told++)
            atexit(tell);
    }
    return status == CARAT_E_UNSUPPORTED ? __real_carat_engine_create(engine, model, options, err) : status;
}
