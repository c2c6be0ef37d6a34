/* SPDX-License-Identifier: Apache-2.0 */
/* tree.h: a small JSON document as a jansson tree, with a bounded depth and errors in our words. Documents of
 * megabytes are read with base/json.h instead; what the tree must hold is the caller's business. */
#ifndef CT_TREE_H
#define CT_TREE_H

#include <jansson.h>

#include "base/base.h"

/* Nesting that is accepted. Everything that walks a tree may recurse: this is what bounds the stack. */
#define CT_TREE_DEPTH 64
/* A tree may take fifty times the room of its text; no side file of a checkpoint that is read as one comes near this. */
#define CT_TREE_FILE_MAX (1 << 20)

/* Parses n bytes; the caller gives *root back with json_decref. name says in messages what the text is. Fails with
 * code (E_ARGUMENT for a caller's text, E_FORMAT for a file), or E_MEMORY. Duplicate keys are an error. */
carat_status ct_tree_parse(json_t **root, carat_status code, const char *name, const char *text, size_t n,
                           carat_error *err);

#endif
