/* SPDX-License-Identifier: Apache-2.0 */
/* config_int4.h: the one form of quantised safetensors that carat reads. */
#ifndef CT_CONFIG_INT4_H
#define CT_CONFIG_INT4_H

#include "file/file.h"

/* Whether the object q, to which key leads in config.json (`text`, at `path`), says compressed-tensors' form
 * "pack-quantized" with groups of layers. */
bool ct_int4_is(const struct ct_json_value *q);
/* Such a one: refuses what weights_compressed.c does not read. E_UNSUPPORTED names file, key and place. */
carat_status ct_int4_check(const struct ct_json_value *q, const char *path, struct ct_bytes text,
                           const char *key, carat_error *err);

#endif
