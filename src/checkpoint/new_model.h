/* SPDX-License-Identifier: Apache-2.0 */
/* new_model.h: a model written to a new file, in whatever form. For src/checkpoint and src/convert. */
#ifndef CT_NEW_MODEL_H
#define CT_NEW_MODEL_H

#include "checkpoint/checkpoint.h"
#include "os/new_file.h"

/* The ending that a file's name has while it is written. */
#define CT_PART ".carat-part"

/* Makes the file at path, which replaces an older one when fill has written all of it: until then it has
 * another name, file->path, and on every failure nothing is left. The status of fill; E_ARGUMENT (m is read
 * from there), E_IO, E_BUSY, E_MEMORY. */
typedef carat_status ct_new_model_fill(void *user, struct ct_os_new *file, carat_error *err);
carat_status ct_new_model(const struct carat_model *m, const char *path, ct_new_model_fill *fill, void *user,
                          carat_error *err);

#endif
