/* SPDX-License-Identifier: Apache-2.0 */
/* convert_face.c: the functions of carat_convert.h: arguments are checked here. Writing is convert/'s. */
#include "base/arguments.h"
#include "convert/convert.h"

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
