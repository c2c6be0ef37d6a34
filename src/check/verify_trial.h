/* SPDX-License-Identifier: Apache-2.0 */
/* verify_trial.h: one call of a kernel, to be made with every level. */
#ifndef CT_VERIFY_TRIAL_H
#define CT_VERIFY_TRIAL_H

#include "check/kernel_calls.h"
#include "checkpoint/checkpoint.h"

/* Levels on trial over one model. */
struct ct_comparison {
    const struct carat_model *model;
    const struct ct_kernel *level; /* [n_level], the first is ref */
    int n_level;
};

struct ct_trial {
    carat_status (*run)(struct ct_trial *t, const struct ct_comparison *c);
    const char *name; /* of the kernel */
    char what[160];   /* it works on */
    const struct ct_weight *w;
    int r0, r1; /* rows of w; r0 begins a panel */
    int n;      /* tokens, values, queries, or the position */
    int at;     /* enum ct_elementwise, layer, or kind */
    bool exact; /* arithmetic */
    enum ct_kv_type kv;
    uint64_t random; /* what inputs are drawn from */

    struct ct_arena arena; /* of the run; the caller frees it */
    char differs[384];     /* what another level gave than ref, as a sentence; "" when none did */
};

/* Each uses the members that its kernel asks for. CARAT_E_MEMORY. */
carat_status ct_try_product(struct ct_trial *t, const struct ct_comparison *c);        /* w r0 r1 n exact */
carat_status ct_try_dequantize_row(struct ct_trial *t, const struct ct_comparison *c); /* w r0 r1 */
carat_status ct_try_elementwise(struct ct_trial *t, const struct ct_comparison *c);    /* at n, w of a norm */
carat_status ct_try_rope(struct ct_trial *t, const struct ct_comparison *c);   /* at: kind, n: position */
carat_status ct_try_attend(struct ct_trial *t, const struct ct_comparison *c); /* at: layer, n kv */
carat_status ct_try_finite(struct ct_trial *t, const struct ct_comparison *c); /* n */
carat_status ct_try_draw(struct ct_trial *t, const struct ct_comparison *c);   /* n */

#endif
