/* SPDX-License-Identifier: Apache-2.0 */
/* hf.h: a Hugging Face directory: its tensors are hf_tensors.c's, config.json and what stands beside it
 * hf_config.c's, and the directory itself hf_write.c's. */
#ifndef CT_CONVERT_HF_H
#define CT_CONVERT_HF_H

#include "carat_convert.h"
#include "convert/plan.h"

/* True when the source is such a directory too, and its config.json says of the new one what it says of
 * it. */
bool ct_hf_keeps_config(const struct ct_conversion *v);
/* Writes the planned directory. As carat_convert; E_IO: there is something at the path already. */
carat_status ct_hf_write(struct ct_conversion *v, const carat_convert_options *o, carat_error *err);

/* Opens the directory that is there, whose tensors stay. As carat_model_open; E_UNSUPPORTED: it is no such
 * directory. */
carat_status ct_hf_keep(struct ct_conversion *v, carat_error *err);
/* Writes what stands beside the tensors of that directory anew, when a model can be read of both. */
carat_status ct_hf_renew(struct ct_conversion *v, const carat_convert_options *o, carat_error *err);

/* Texts of JSON about the model: config.json, generation_config.json, and what a tokenizer is beside its
 * vocabulary. E_FORMAT, E_MEMORY. */
carat_status ct_hf_put_config(struct ct_new_head *h, const struct ct_conversion *v, carat_error *err);
carat_status ct_hf_put_generation(struct ct_new_head *h, const struct ct_conversion *v, carat_error *err);
carat_status ct_hf_put_tokenizer_config(struct ct_new_head *h, const struct ct_conversion *v,
                                        carat_error *err);
/* The type that the embedding becomes; the scale that a model gives it depends on that. */
enum ct_type ct_hf_embedding(const struct ct_conversion *v);

#endif
