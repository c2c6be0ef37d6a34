/* SPDX-License-Identifier: Apache-2.0 */
/* config_drafter.h: what drafters for Gemma 4 (its assistants) say beside what a model of that architecture
 * says: which model they read, and how their vocabulary is grouped. For config_hf.c and config_gguf.c, which
 * read all else of them; and whether a drafter suits a model. */
#ifndef CT_CONFIG_DRAFTER_H
#define CT_CONFIG_DRAFTER_H

#include "model/config_hf.h"

/* Into c, before the rest of it: config.json's own keys, around the layers; a GGUF file's, and the
 * architecture in it that says which of two writers made it. E_FORMAT. */
carat_status ct_drafter_config_hf(struct ct_config *c, struct ct_hf_reader *top);
carat_status ct_drafter_config_gguf(struct ct_config *c, const struct ct_file *f, carat_error *err);
/* E_UNSUPPORTED, by name: the file is a drafter, in the place of a model. */
carat_status ct_drafter_refuse(const struct ct_file *f, carat_error *err);
/* Of a drafter that lies in the GGUF file of its model: from the shapes of its tensors, and of the model what
 * it reads there. E_NOT_FOUND: none does; E_FORMAT. */
carat_status ct_drafter_config_beside(struct ct_config *c, const struct ct_config *model,
                                      const struct ct_file *f, carat_error *err);
/* True when a GGUF architecture is a drafter's. */
bool ct_drafter_named(struct ct_str architecture);
/* Every layer reads the K and V of another model. */
void ct_drafter_shares_all(struct ct_config *c);
/* Behind the rest of it. E_FORMAT, E_UNSUPPORTED: a drafter that is more than its step computes. */
carat_status ct_drafter_config_check(struct ct_config *c, const char *path, carat_error *err);
/* What the step of a drafter reads of a model is there, and its ids are the same; a drafter with K and V of
 * its own needs the same ids alone. E_ARGUMENT (it is none for this model); the message names path and both
 * values. */
carat_status ct_drafter_suits(const struct ct_config *drafter, const struct ct_config *model,
                              const char *path, carat_error *err);
/* The last layer of a model of the kind that has K and V of its own; -1: none. */
int ct_drafter_owner(const struct ct_config *model, int attn_type);

#endif
