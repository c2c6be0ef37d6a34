/* SPDX-License-Identifier: Apache-2.0 */
/* fake_told.c: what the library of fake_carat.h tells of itself: nothing is kept of any prompt, and every
 * model has one content. */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>

#include "carat_convert.h"
#include "carat_generate.h"
#include "carat_tools.h"

carat_status carat_find_prefix(carat_engine *e, uint64_t owner, const int32_t *ids, int n,
                               carat_prefix *prefix, int32_t *next, int most, carat_error *err)
{
    assert(e && ids && next && !err && owner != 0 && n > 0 && most > 0);
    return prefix->size == sizeof *prefix ? CARAT_OK : CARAT_E_ARGUMENT; /* nothing is kept */
}

carat_status carat_explain(const carat_engine *e, carat_explain_line line, void *user, carat_error *err)
{
    assert(e && !err);
    return line(user, "arithmetic", "none: it is a script") == 0 ? CARAT_OK : CARAT_E_CANCELLED;
}

carat_status carat_model_content(const carat_model *m, carat_progress progress, void *user, char content[33],
                                 carat_error *err)
{
    assert(m && !err);
    snprintf(content, 33, "%032d", 1);
    return progress(user, 1, 1) == 0 ? CARAT_OK : CARAT_E_CANCELLED;
}

const char *carat_model_mix(const carat_model *m)
{
    (void)m;
    return "";
}
