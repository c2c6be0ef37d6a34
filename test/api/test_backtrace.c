/* SPDX-License-Identifier: Apache-2.0 */
/* test_backtrace.c: backtrace() from a callback of the library reaches main, so that a crash in a program
 * that uses it can be read. Also in a release, whose frames have no frame pointers: the library has unwind
 * tables. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <execinfo.h>
#include <unwind.h>

#include "carat.h"

#define TINY CT_TEST_DATA "/../../models/tiny"

int main(void);

struct seen {
    int calls, reached; /* main */
};

static int look(void *user, size_t done, size_t total)
{
    struct seen *seen = user;
    void *frame[64];
    int n = backtrace(frame, 64);
    int reached = 0;
    (void)done;
    (void)total;
    for (int i = 0; i < n; i++)
        reached |= _Unwind_FindEnclosingFunction((char *)frame[i] - 1) == (void *)(uintptr_t)main;
    seen->calls++;
    seen->reached += reached;
    return 0;
}

static void check(const struct seen *seen)
{
    assert_true(seen->calls > 0);
    assert_int_equal(seen->reached, seen->calls);
}

static void callbacks_reach_main(void **state)
{
    struct seen opening = {0, 0}, packing = {0, 0}, evaluating = {0, 0};
    carat_model_options m;
    carat_model_options_default(&m);
    carat_engine_options e;
    carat_engine_options_default(&e);
    carat_session_options s;
    carat_session_options_default(&s);
    carat_model *model = NULL;
    carat_engine *engine = NULL;
    carat_session *session = NULL;
    const int32_t ids[] = {2, 7, 8, 9};
    (void)state;
    m.progress = e.progress = s.watch = look;
    m.user = &opening;
    e.user = &packing;
    s.user = &evaluating;
    e.threads = 2;
    assert_int_equal(carat_model_open(&model, TINY, &m, NULL), CARAT_OK);
    assert_int_equal(carat_engine_create(&engine, model, &e, NULL), CARAT_OK);
    assert_int_equal(carat_session_create(&session, engine, &s, NULL), CARAT_OK);
    assert_int_equal(carat_sync(session, ids, 4, NULL, NULL), CARAT_OK);
    check(&opening);
    check(&packing);
    check(&evaluating);
    carat_session_close(session);
    carat_engine_close(engine);
    carat_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(callbacks_reach_main)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
