/* SPDX-License-Identifier: Apache-2.0 */
/* schema_keys.h: which keys an object may have, and what their values are. */
#ifndef CT_SCHEMA_KEYS_H
#define CT_SCHEMA_KEYS_H

#include "grammar/schema_parts.h"

enum { LAYERS_MAX = 20000 };

/* A key that the schema names. */
struct declared {
    struct ct_str key;
    const struct ct_json_value *of; /* the object that names it, and the value there */
    const struct ct_json_value *value;
    int32_t rule; /* -1: no value fits */
    bool required;
};

/* Keys that no schema names, and that fit the same patterns. */
struct others {
    struct ct_language keys;
    bool all;         /* keys is empty: it is all there are */
    uint32_t fitting; /* bits of the patterns */
    int32_t rule;
};

enum { PATTERNS_MAX = 32, OTHERS_MAX = 64 };

struct keys {
    struct declared *declared; /* [n] */
    int32_t *slot;             /* hash table of declared: number + 1 */
    size_t room, slots;
    int n, n_required, n_allowed; /* allowed: with a value that may fit */
    int64_t min, max;             /* how many keys; max < 0: no end */
    struct others others[OTHERS_MAX];
    int n_others;
    struct ct_language pattern[PATTERNS_MAX];
    const struct ct_json_value *pattern_schema[PATTERNS_MAX];
    int pattern_item[PATTERNS_MAX];
    int n_patterns;
    /* of objects in order */
    int64_t layers, min_layer;
    bool counts_to_end; /* the last layer has no key more */
};

/* Into zeroed memory of ct_schema_memory, which is too much for a stack. False: nothing fits, or a failure;
 * keys_free follows in any case. */
bool ct_keys_read(struct schema *s, const struct items *all, struct keys *k);
void ct_keys_free(struct keys *k);

#endif
