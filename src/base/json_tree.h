/* SPDX-License-Identifier: Apache-2.0 */
/* json_tree.h: a small JSON document as a jansson tree. The pull reader reads it, because jansson's own parser does not
 * survive running out of memory; limits and messages are the pull reader's. Documents of megabytes are better read with
 * json.h alone, without a tree. */
#ifndef CT_JSON_TREE_H
#define CT_JSON_TREE_H

#include <jansson.h>

#include "base/base.h"

/* An object or a list; the caller gives *root back with json_decref. name says in messages what the text is. Fails with
 * code (E_ARGUMENT for a caller's text, E_FORMAT for a file), or E_MEMORY. A key that is there twice and a NUL
 * character are errors. At most CT_JSON_DEPTH levels deep. */
carat_status ct_json_tree(json_t **root, carat_status code, const char *name, struct ct_bytes text,
                          carat_error *err);

/* "FILE: KEY at byte 12 is VALUE, EXPECTED", for a value of a tree that cannot stay: a tree has no places, so
 * the text that it was built from is walked again. key leads to it from the root:
 * "text_config.rope_scaling.factor", "layer_types[3]". */
carat_status ct_json_refuse(carat_error *err, carat_status code, const char *file, struct ct_bytes text,
                            const char *key, const char *expected, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 6, 7)))
#endif
    ;

#endif
