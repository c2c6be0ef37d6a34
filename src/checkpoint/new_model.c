/* SPDX-License-Identifier: Apache-2.0 */
/* new_model.c: see new_model.h. */
#include "checkpoint/new_model.h"

#include <stdlib.h>

int carat_model_reads(const carat_model *m, const char *path)
{
    return m && path &&
           (ct_file_reads(m->file, path) || (m->tokenizer_file && ct_file_reads(m->tokenizer_file, path)));
}

static carat_status check_path(const struct carat_model *m, const char *path, carat_error *err)
{
    if (!ct_os_replaceable(path))
        return ct_fail(err, CARAT_E_IO, "%s is not a regular file, so it cannot be replaced", path);
    if (carat_model_reads(m, path)) /* it would be overwritten */
        return ct_fail(err, CARAT_E_ARGUMENT, "%s is what the model is read from: name another file", path);
    return CARAT_OK;
}

carat_status ct_new_model(const struct carat_model *m, const char *path, ct_new_model_fill *fill, void *user,
                          carat_error *err)
{
    struct ct_os_new file = {.fd = -1};
    struct ct_os_id id;

    CT_TRY(check_path(m, path, err));
    char *part = malloc(strlen(path) + sizeof CT_PART);
    if (!part)
        return ct_no_memory(err, path);
    strcat(strcpy(part, path), CT_PART);
    carat_status status = ct_os_new_begin(&file, part, 0666, err);
    if (!status)
        status = fill(user, &file, err);
    if (!status)
        status = ct_os_new_finish(&file, path, &id, err);
    if (status)
        ct_os_new_abandon(&file);
    free(part);
    return status;
}
