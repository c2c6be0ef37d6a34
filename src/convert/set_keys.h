/* SPDX-License-Identifier: Apache-2.0 */
/* set_keys.h: single keys of a new GGUF file that somebody wants to have other values. */
#ifndef CT_SET_KEYS_H
#define CT_SET_KEYS_H

#include "carat_convert.h"
#include "file/write.h"

/* Changes the keys in a head to which all of them were given. E_ARGUMENT: a text is wrong, or its key cannot
 * be changed, E_MEMORY. */
carat_status ct_set_keys(struct ct_new_head *h, const carat_convert_options *o, carat_error *err);

#endif
