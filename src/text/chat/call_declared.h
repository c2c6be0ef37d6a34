/* SPDX-License-Identifier: Apache-2.0 */
/* call_declared.h: whether the keys of a call's arguments are declared. The reader of a call tells what it
 * comes upon; here is which schemas say something about it.
 *
 * Only keys are judged, and never more strictly than the schema is meant: where it leaves a choice (anyOf), a
 * key that one branch declares is good, and one that a pattern could fit is, too. So all that the form of
 * calls lets through (src/grammar/tool_call.h) is good. */
#ifndef CT_CALL_DECLARED_H
#define CT_CALL_DECLARED_H

#include "base/json_tree.h"

enum { CT_DECLARED_SCHEMAS = 512, CT_DECLARED_OF_ONE = 64 };

struct call_said {
    const struct ct_json_value *schema;
    bool branch; /* one of several: an object may fit another one */
    bool closed; /* a schema that holds it declares properties */
};

struct call_declared {
    const struct ct_json_value *root;
    struct call_said said[CT_DECLARED_SCHEMAS]; /* of each level, then of the value that comes next */
    int n;
    bool next_is_any; /* nothing is known of that value */
    int depth;
    struct {
        int first, end; /* in said */
        bool object, any, patterned;
    } level[CT_JSON_DEPTH];
};

/* The parameters come next; declared: they are those of a function, which may have none. */
void ct_declared_begin(struct call_declared *j, const struct ct_json_value *parameters, bool declared);
/* An object or a list begins, at most CT_JSON_DEPTH of them in each other; the innermost one ends. */
void ct_declared_open(struct call_declared *j, bool object);
void ct_declared_close(struct call_declared *j);
/* A key of the innermost object; its value comes next. False: the key is not declared. */
bool ct_declared_key(struct call_declared *j, struct ct_str key);

#endif
