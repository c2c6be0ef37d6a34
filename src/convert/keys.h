/* SPDX-License-Identifier: Apache-2.0 */
/* keys.h: what a GGUF file says of a model beside its tensors, and single keys that somebody wants
 * to have other values. */
#ifndef CT_KEYS_H
#define CT_KEYS_H

#include "carat_convert.h"
#include "checkpoint/checkpoint.h"
#include "file/write.h"

/* Metadata of the model, its vocabulary and its chat template, as llama.cpp's converter writes them.
 * file_type: llama.cpp's number for most of its tensors; embed_times: what the factor of its embedding is
 * multiplied by. E_FORMAT, E_MEMORY. */
carat_status ct_put_keys(struct ct_new_head *h, const struct carat_model *m, uint32_t file_type,
                         float embed_times, carat_error *err);

/* Writes those of these keys that are about text: vocabulary and chat template. E_FORMAT, E_MEMORY. */
carat_status ct_put_tokenizer_keys(struct ct_new_head *h, const struct carat_model *m, carat_error *err);

/* ---- set_keys.c ---- */

/* Changes the keys in a head to which all of them were given. E_ARGUMENT: a text is wrong, or its key cannot
 * be changed, E_MEMORY. */
carat_status ct_set_keys(struct ct_new_head *h, const carat_convert_options *o, carat_error *err);

#endif
