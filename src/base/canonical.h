/* SPDX-License-Identifier: Apache-2.0 */
/* canonical.h: JSON in the canonical form of RFC 8785, written piece by piece: no white space, strings with
 * as few escapes as there can be, numbers as ECMAScript prints them. Members of an object must come in the
 * order of their names, which is the caller's business. */
#ifndef CT_CANONICAL_H
#define CT_CANONICAL_H

#include "base/base.h"

/* Starts from {0}; text is for free. */
struct ct_canonical {
    char *text; /* [n], terminated */
    size_t n, capacity;
    bool failed; /* memory ran out; nothing more is written */
};

/* Whatever is written so. */
void ct_canonical_put(struct ct_canonical *c, const char *spelled);
/* "name": with a comma before it unless it is the first of its object. */
void ct_canonical_key(struct ct_canonical *c, const char *name);
/* A comma unless a list has just begun. */
void ct_canonical_next(struct ct_canonical *c);
void ct_canonical_string(struct ct_canonical *c, struct ct_str s); /* UTF-8 */
void ct_canonical_integer(struct ct_canonical *c, int64_t value);  /* of at most 53 bits */
/* A finite float by the fewest digits from which ct_json_decimal makes it again. */
void ct_canonical_float(struct ct_canonical *c, float value);
/* Bytes as a string of hexadecimal digits. */
void ct_canonical_hex(struct ct_canonical *c, const uint8_t *p, size_t n);
void ct_canonical_ids(struct ct_canonical *c, const int32_t *ids, int n);

#endif
