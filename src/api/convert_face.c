/* SPDX-License-Identifier: Apache-2.0 */
/* convert_face.c: the functions of carat_convert.h: arguments are checked here. Writing is convert/'s, what
 * columns matter engine/column_sums.c's, how large values become engine/ranges.c's. */
#include "base/arguments.h"
#include "convert/convert.h"
#include "engine/column_sums.h"
#include "engine/ranges.h"

const char *carat_model_mix(const carat_model *model)
{
    return model ? ct_model_mix(model) : "";
}

carat_status carat_convert(const carat_model *model, const char *path, const carat_convert_options *options,
                           carat_error *err)
{
    carat_convert_options o = {.size = sizeof o};

    CT_GIVEN(model, err);
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_convert_options", err));
    if (!o.dry_run)
        CT_GIVEN(path, err);
    CT_TRY(ct_check_range("threads", o.threads, 0, 1024, err));
    return ct_convert(model, path, &o, err);
}

carat_status carat_importance_begin(carat_importance **importance, carat_engine *engine, carat_error *err)
{
    CT_GIVEN(importance, err);
    CT_GIVEN(engine, err);
    return ct_importance_begin(importance, engine, err);
}

carat_status carat_importance_write(const carat_importance *importance, const char *path, const char *dataset,
                                    int chunk, carat_error *err)
{
    CT_GIVEN(importance, err);
    CT_GIVEN(path, err);
    CT_TRY(ct_check_range("chunk", chunk, 1, INT32_MAX, err));
    return ct_importance_write(importance, path, dataset ? dataset : "", chunk, err);
}

void carat_importance_end(carat_importance *importance)
{
    ct_importance_end(importance);
}

carat_status carat_ranges_begin(carat_ranges **ranges, carat_engine *engine, carat_error *err)
{
    CT_GIVEN(ranges, err);
    CT_GIVEN(engine, err);
    return ct_ranges_begin(ranges, engine, err);
}

carat_status carat_ranges_visit(const carat_ranges *ranges, carat_range_visit visit, void *user,
                                carat_error *err)
{
    CT_GIVEN(ranges, err);
    CT_GIVEN(visit, err);
    ct_ranges_visit(ranges, visit, user);
    return CARAT_OK;
}

float carat_ranges_scale(const carat_ranges *ranges)
{
    return ranges ? ct_ranges_scale(ranges) : 1;
}

void carat_ranges_end(carat_ranges *ranges)
{
    ct_ranges_end(ranges);
}
