/* SPDX-License-Identifier: Apache-2.0 */
/* json_reference.h: what the $ref of a JSON schema leads to, within the document that it is part of. Nothing
 * is ever fetched. What a schema means is others' business. */
#ifndef CT_JSON_REFERENCE_H
#define CT_JSON_REFERENCE_H

#include "base/json_tree.h"

/* The element or value of a list or object in which v lies, and its name (NULL in a list) or number. */
const struct ct_json_value *ct_json_part(const struct ct_json_value *in, const struct ct_json_value *v,
                                         const struct ct_json_value **key, size_t *number);
/* The schema that the $ref of a schema, which is part of root, leads to: by a pointer, an anchor, or either
 * behind the $id of the root. NULL: nothing is there, or it is *outside. */
const struct ct_json_value *ct_json_reference(const struct ct_json_value *root,
                                              const struct ct_json_value *schema, bool *outside);

#endif
