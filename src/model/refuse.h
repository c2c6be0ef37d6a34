/* SPDX-License-Identifier: Apache-2.0 */
/* refuse.h: refusals by name, for the readers of both containers. Each function that returns a status gives
 * E_UNSUPPORTED with one sentence that says what the file is and what works instead. */
#ifndef CT_REFUSE_H
#define CT_REFUSE_H

#include "file/file.h"

/* True when the name is of a relative of Gemma, or of a part of a model, that carat does not run. */
bool ct_refuse_knows(struct ct_str name);
/* True when it is of a drafter for Gemma 4, whose model_type may be that of a model. */
bool ct_refuse_drafts(struct ct_str name);
/* Always fails. key: where the name stands, "model_type" or "general.architecture". */
carat_status ct_refuse_name(const char *path, const char *key, struct ct_str name, carat_error *err);
carat_status ct_refuse_bidirectional(const char *path, const char *key, carat_error *err);
carat_status ct_refuse_quantised(const char *path, const char *key, struct ct_str method,
                                 struct ct_str detail, carat_error *err);
/* Fails when the names of the tensors belong to a quantised checkpoint, but int4 of compressed-tensors where
 * that is known of it, or to an adapter. */
carat_status ct_refuse_tensors(const struct ct_file *f, bool int4, carat_error *err);

#endif
