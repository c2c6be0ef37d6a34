/* SPDX-License-Identifier: Apache-2.0 */
/* forms.h: compiled forms that answers share, and that are kept for those who come with the same form again.
 * Any thread. */
#ifndef FORMS_H
#define FORMS_H

#include <stdatomic.h>
#include <uv.h>

#include "carat_constrain.h"

struct kept_form;

struct forms {
    const carat_model *model;
    size_t mask_bytes; /* bits of the vocabulary */
    uv_mutex_t lock;
    uv_cond_t compiled;
    struct kept_form *first; /* linked, the one that was asked for last first */
};

int forms_open(struct forms *f, const carat_model *model, int n_vocab); /* nonzero: it could not */
void forms_close(struct forms *f);                                      /* nobody has one */

/* Processor time that a form may take; it is refused by name. */
enum { FORM_MS = 200 };

/* The form, compiled by whoever comes first; the others wait for him. It ends when all of them have been
 * cancelled. *kept is for forms_give. What carat_constraint_create returns; CARAT_E_ARGUMENT: it takes too
 * long. */
carat_status forms_take(struct forms *f, const carat_constraint_options *form, const atomic_bool *cancelled,
                        struct kept_form **kept, carat_error *err);
carat_constraint *form_constraint(struct kept_form *kept);
/* NULL is allowed. */
void forms_give(struct kept_form *kept);

#endif
