/* SPDX-License-Identifier: Apache-2.0 */
/* importance_face.c: the functions of carat_convert.h about importance: arguments are checked here. Measuring
 * is engine/column_sums.c's. */
#include "base/arguments.h"
#include "engine/column_sums.h"

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
