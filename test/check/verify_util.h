/* SPDX-License-Identifier: Apache-2.0 */
/* verify_util.h: what the tests of carat_verify share: what its checks said, as text to be looked at. */
#ifndef CT_TEST_VERIFY_UTIL_H
#define CT_TEST_VERIFY_UTIL_H

#include "engine/vector_util.h"

#include "check/verify.h"

enum { CHECKS = 16 };

/* What the checks of a model said. */
struct report {
    int n;
    struct {
        char name[32], detail[CT_DETAIL];
        int verdict;
    } check[CHECKS];
    carat_verdict verdict;
};

UNUSED static int keep(void *user, const carat_check *check)
{
    struct report *r = user;
    assert_int_equal(check->size, sizeof *check);
    assert_true(r->n < CHECKS && check->verdict >= -1 && check->verdict <= 1 && check->seconds >= 0);
    assert_true(*check->detail && !strchr(check->detail, '\n'));
    snprintf(r->check[r->n].name, sizeof r->check[0].name, "%s", check->name);
    snprintf(r->check[r->n].detail, sizeof r->check[0].detail, "%s", check->detail);
    r->check[r->n++].verdict = check->verdict;
    return 0;
}

UNUSED static struct report *verify(const carat_model *model, int threads)
{
    struct report *r = calloc(1, sizeof *r);
    carat_verify_options o;
    carat_verify_options_default(&o);
    o.threads = threads;
    o.report = keep;
    o.user = r;
    r->verdict.size = sizeof r->verdict;
    OK(carat_verify(model, &o, &r->verdict, err));
    int passed = 0, failed = 0;
    for (int i = 0; i < r->n; i++) {
        passed += r->check[i].verdict == 1;
        failed += r->check[i].verdict == 0;
    }
    assert_int_equal(r->verdict.passed, passed);
    assert_int_equal(r->verdict.failed, failed);
    return r;
}

UNUSED static const char *detail_of(const struct report *r, const char *name, int verdict)
{
    for (int i = 0; i < r->n; i++)
        if (strcmp(r->check[i].name, name) == 0) {
            if (r->check[i].verdict != verdict)
                fail_msg("%s gives %d, expected %d: %s", name, r->check[i].verdict, verdict,
                         r->check[i].detail);
            return r->check[i].detail;
        }
    fail_msg("there is no check %s", name);
    return "";
}

UNUSED static void holds(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

UNUSED static carat_model *open_path(const char *path)
{
    carat_model *m = NULL;
    OK(carat_model_open(&m, path, NULL, err));
    return m;
}

#endif
