/* SPDX-License-Identifier: Apache-2.0 */
/* verify_report.c: what every check of carat_verify calls: its findings in words, its work on the threads,
 * and how far it is. Which checks there are is verify.c's. */
#include "check/verify.h"

#include <stdarg.h>
#include <stdio.h>

#include "os/fp_environment.h"

void ct_verify_say(struct ct_verify *v, const char *format, ...)
{
    size_t n = strlen(v->detail);
    va_list args;

    va_start(args, format);
    vsnprintf(v->detail + n, sizeof v->detail - n, format, args);
    va_end(args);
}

void ct_verify_run(struct ct_verify *v, int items, void (*fn)(void *arg, int item, int thread), void *arg)
{
    ct_fpenv fp = ct_os_fp_enter();

    ct_pool_run(v->pool, items, fn, arg);
    ct_os_fp_leave(fp);
}

carat_status ct_verify_cancelled(carat_error *err)
{
    return ct_fail(err, CARAT_E_CANCELLED, "verifying the model was cancelled");
}

int ct_verify_ask(void *user)
{
    const struct ct_verify *v = user;
    return v->o->progress(v->o->user, v->at, v->total);
}

carat_status ct_verify_step(struct ct_verify *v, size_t done, size_t total, carat_error *err)
{
    assert(total > 0 && done <= total);
    v->at = v->done + (size_t)((double)v->share * (double)done / (double)total);
    bool stopped = !ct_pool_goes_on(v->pool, 0) || (v->o->progress && ct_verify_ask(v));
    return stopped ? ct_verify_cancelled(err) : CARAT_OK;
}
