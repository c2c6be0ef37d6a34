/* SPDX-License-Identifier: Apache-2.0 */
/* constraint.h: forms and matchers (carat_constrain.h) as the engine sees them. A matcher begins with the
 * functions that a draw needs, so that a program that never makes one links no grammar. */
#ifndef CT_CONSTRAINT_H
#define CT_CONSTRAINT_H

#include "base/arguments.h"
#include "carat_constrain.h"

/* Whether an id may come: for the form; and whether the form can be ended behind it. */
enum ct_fit { CT_FITS, CT_FITS_NOT, CT_TOO_LONG };
/* Any number of ids may come. */
#define CT_ANY_NUMBER INT32_MAX

/* They lock what matchers of a form share. None allocates but copy. */
struct ct_matcher_verbs {
    carat_status (*copy)(carat_matcher **to, const carat_matcher *from, carat_error *err);
    void (*close)(carat_matcher *m);
    void (*assign)(carat_matcher *to, const carat_matcher *from); /* of the same form */
    const carat_model *(*model)(const carat_matcher *m);
    /* left: ids that may come, this one too */
    enum ct_fit (*fits)(const carat_matcher *m, int32_t id, int left);
    /* Bits of the ids that fit, in the matcher's own memory: one for each id of the vocabulary. */
    uint64_t *(*mask)(carat_matcher *m, int left);
    void (*accept)(carat_matcher *m, int32_t id); /* one that fits */
    void (*thinks)(carat_matcher *m);             /* the answer begins within a thought */
    bool (*complete)(const carat_matcher *m);
    int32_t (*ending)(const carat_matcher *m); /* the first id of the shortest ending; -1: none is needed */
    int (*shortest)(const carat_matcher *m);
    int (*draft)(const carat_matcher *m, int32_t *ids, int k);
};

struct carat_matcher {
    const struct ct_matcher_verbs *verb;
};

carat_status ct_constraint_create(carat_constraint **constraint, const carat_model *model,
                                  const carat_constraint_options *o, carat_error *err);
void ct_constraint_close(carat_constraint *c); /* may be NULL */
carat_status ct_constraint_info(carat_constraint *c, carat_constraint_info *info, carat_error *err);
carat_status ct_matcher_copy(carat_matcher **to, const carat_matcher *from, carat_error *err);
carat_status ct_matcher_create(carat_matcher **matcher, carat_constraint *c, carat_error *err);

#endif
