/* SPDX-License-Identifier: Apache-2.0 */
/* constraint.h: forms and matchers (carat_constrain.h) as the engine sees them. A matcher begins with the
 * functions that the engine needs, so that a program that never makes one links no grammar. */
#ifndef CT_CONSTRAINT_H
#define CT_CONSTRAINT_H

#include "base/arguments.h"
#include "carat_constrain.h"

/* An id's fit: it may come in the form, and the form can still be ended behind it. A draw also has this one:
 * the logits that had to be computed for another id are not finite. */
enum ct_fit { CT_FITS, CT_FITS_NOT, CT_TOO_LONG, CT_FIT_NOT_FINITE };
/* Any number of ids may come. */
#define CT_ANY_NUMBER INT32_MAX

/* The form of a generation's answer: where it begins, where the ids given have come to, and those drawn;
 * NULL: the answer has none. */
struct ct_form {
    carat_matcher *begins, *given, *drawn;
};

/* The form of an answer at a draw; matcher NULL: it has none, and the rest is not looked at. */
struct ct_draw_form {
    carat_matcher *matcher;
    int left;            /* ids that may come, this one too; CT_ANY_NUMBER */
    const int32_t *stop; /* [n_stop] ids that end the answer: they fit where the form may end */
    int n_stop;
};

/* They lock what matchers of a form share. None allocates but open. */
struct ct_matcher_verbs {
    const carat_model *(*model)(const carat_matcher *m);
    carat_status (*open)(struct ct_form *f, const carat_matcher *begins, carat_error *err);
    void (*close)(struct ct_form *f);
    void (*begin)(struct ct_form *f, bool thinks); /* thinks: the answer begins within a thought */
    /* E_ARGUMENT: the shortest answer takes more ids than may come. */
    carat_status (*check)(const struct ct_form *f, int left, carat_error *err);
    void (*draws)(struct ct_form *f); /* what is drawn follows what is given */
    /* The number of ids of a draft that follow one another in the form. */
    int (*follow)(struct ct_form *f, const int32_t *draft, int k);
    int (*draft)(const carat_matcher *m, int32_t *ids, int k); /* what alone can follow */
    /* Tests whether a drawn id fits. If it does, NULL; if not, bits of the ids that do, in the matcher's own
     * memory. */
    const uint64_t *(*refuse)(const struct ct_draw_form *d, int32_t id, enum ct_fit *fit);
    void (*accept)(carat_matcher *m, int32_t id); /* one that fits */
    bool (*complete)(const carat_matcher *m);
    /* It is begun and complete, and a stop id came or nothing but white space, or a call, can follow. */
    bool (*closed)(const carat_matcher *m, bool stopped);
    bool (*begun)(const carat_matcher *m);     /* what can follow is not what can follow nothing */
    int32_t (*ending)(const carat_matcher *m); /* the first id of the shortest ending; -1: none is needed */
};

struct carat_matcher {
    const struct ct_matcher_verbs *verb;
};

void ct_matcher_accept(carat_matcher *m, int32_t id);
bool ct_matcher_complete(const carat_matcher *m);
enum ct_fit ct_matcher_fits(const carat_matcher *m, int32_t id, int left);
uint64_t *ct_matcher_mask(carat_matcher *m, int left);
int ct_matcher_shortest(const carat_matcher *m);
int ct_matcher_draft(const carat_matcher *m, int32_t *ids, int k);

#endif
