/* SPDX-License-Identifier: Apache-2.0 */
/* config_hf.h: what the parts of the reader of config.json share: an object of it that is read key by key
 * (config_object.c), and the parts: angles (config_rope.c), layers that have something of their own
 * (config_layers.c), tensors that are quantised (config_int4.c). What members are made of: config_hf.c. */
#ifndef CT_CONFIG_HF_H
#define CT_CONFIG_HF_H

#include "model/config_keys.h"

/* A reader over one object that keeps its first error, so that reading is straight-line. */
struct ct_hf_reader {
    const char *path;
    struct ct_bytes text;
    const struct ct_json_value *root, *o;
    const char *within; /* leads to o from the root: "", "text_config.", ... */
    enum ct_hf_class class;
    uint8_t *seen;        /* by value from the root on: it has been looked at; NULL: nobody asks */
    carat_status *status; /* one for all readers of a file */
    carat_error *err;
};

/* The value under a key, null included; NULL: the key is absent. It counts as looked at. */
const struct ct_json_value *ct_hf_get(struct ct_hf_reader *r, const char *key);
/* The same, but NULL for null, which is refused where the class of the object does not take it. */
const struct ct_json_value *ct_hf_given(struct ct_hf_reader *r, const char *key);
/* A reader of the object under key, of no class. */
struct ct_hf_reader ct_hf_inside(const struct ct_hf_reader *r, const char *key, const struct ct_json_value *o,
                                 char within[64]);

/* Refuses a value, to which key leads from r->o, unless there is an error already. */
void ct_hf_refuse_value(struct ct_hf_reader *r, carat_status code, const struct ct_json_value *value,
                        const char *key, const char *expected);
/* The value under key, also a null, or that there is none. */
void ct_hf_refuse_key(struct ct_hf_reader *r, carat_status code, const char *key, const char *expected);

/* What stands under a key, or the fallback. */
double ct_hf_number(struct ct_hf_reader *r, const char *key, double fallback, double lo, double hi);
int ct_hf_integer(struct ct_hf_reader *r, const char *key, int fallback, int lo, int hi);
int ct_hf_count(struct ct_hf_reader *r, const char *key, int fallback, int hi);
bool ct_hf_flag(struct ct_hf_reader *r, const char *key, bool fallback);
const struct ct_json_value *ct_hf_string(struct ct_hf_reader *r, const char *key);
const struct ct_json_value *ct_hf_object(struct ct_hf_reader *r, const char *key);
/* The list under key, which has a value for each layer; NULL: it is absent, or refused. */
const struct ct_json_value *ct_hf_layer_list(struct ct_hf_reader *r, const char *key, int n_layer);
/* Refuses value i of such a list. */
void ct_hf_refuse_item(struct ct_hf_reader *r, carat_status code, const struct ct_json_value *value,
                       const char *key, int i, const char *expected);

/* What layer_types once called global layers. */
#define CT_HF_OLDER_GLOBAL "attention"

/* Reads config.json and notes in seen what it has looked at; the classes of the root and of the object with
 * the layers, which may be one. */
carat_status ct_config_see_hf(struct ct_config *c, const struct ct_file *f, uint8_t *seen,
                              enum ct_hf_class *around, enum ct_hf_class *layers, carat_error *err);
/* config_rope.c: window and rotary embedding of local and of global layers, once their heads are known. */
void ct_hf_kinds(struct ct_hf_reader *r, struct ct_config *c, const struct ct_architecture *a);
/* config_layers.c: heads of global layers, and what per_layer_config says layer by layer. */
void ct_hf_own_layers(struct ct_hf_reader *r, struct ct_config *c, const struct ct_architecture *a);

/* ---- config_int4.c ---- */

/* The one form of quantised safetensors that carat reads. */

/* True when the object q, to which key leads in config.json (`text`, at `path`), says compressed-tensors'
 * form "pack-quantized" with groups of layers. */
bool ct_int4_is(const struct ct_json_value *q);
/* Such a one: refuses what weights_compressed.c does not read. E_UNSUPPORTED names file, key and place. */
carat_status ct_int4_check(const struct ct_json_value *q, const char *path, struct ct_bytes text,
                           const char *key, carat_error *err);

#endif
