/* SPDX-License-Identifier: Apache-2.0 */
/* out_json.h: JSON on stdout, and what JSON needs of text and numbers. */
#ifndef TERM_OUT_JSON_H
#define TERM_OUT_JSON_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* Valid UTF-8 or not, as a JSON string (bad bytes become U+FFFD). */
json_t *json_text(const char *text, size_t n);
json_t *json_ids(const int32_t *ids, int n);
/* null for what JSON cannot say. */
json_t *json_number(double value);
/* One line on stdout; consumes the value; NULL means that building it ran out of memory. Returns an exit
 * code. */
int out_json(json_t *value);
/* out_json for an object, with a list under `key` behind its own members; items are JSON already. */
int out_json_with(json_t *value, const char *key, const char *items);

#endif
