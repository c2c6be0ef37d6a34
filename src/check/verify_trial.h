/* SPDX-License-Identifier: Apache-2.0 */
/* verify_trial.h: one case of kernel_cases.h with what a model gives it. */
#ifndef CT_VERIFY_TRIAL_H
#define CT_VERIFY_TRIAL_H

#include "check/kernel_cases.h"
#include "checkpoint/checkpoint.h"

/* Levels on trial over one model. */
struct ct_comparison {
    const struct carat_model *model;
    const struct ct_kernel *level; /* [n_level], the first is ref */
    int n_level;
};

/* Draws what a case is given and runs it; false when memory is out. */
struct ct_trial;
typedef bool ct_try(struct ct_trial *t, const struct carat_model *m, struct ct_case *c);

struct ct_trial {
    ct_try *run;
    const char *name; /* of the kernel */
    char what[160];   /* it works on */
    const struct ct_weight *w;
    int r0, r1; /* rows of w; r0 begins a panel */
    int n;      /* tokens, values, queries, or the position */
    int at;     /* enum ct_elementwise, layer, or kind */
    bool exact; /* arithmetic */
    enum ct_kv_type kv;
    uint64_t random;   /* what inputs are drawn from */
    char differs[384]; /* what another level gave than ref, as a sentence; "" when none did */
};

/* Each uses the members that its kernel asks for. */
ct_try ct_try_product;        /* w r0 r1 n exact */
ct_try ct_try_dequantize_row; /* w r0 r1 */
ct_try ct_try_elementwise;    /* at n, w of a norm */
ct_try ct_try_rope;           /* at: kind, n: position */
ct_try ct_try_attend;         /* at: layer, n kv */
ct_try ct_try_finite;         /* n */
ct_try ct_try_log_sum;        /* n */
ct_try ct_try_entropy;        /* n */
ct_try ct_try_draw;           /* n */
ct_try ct_try_select;         /* n */
ct_try ct_try_input_norms;    /* n */
ct_try ct_try_prune;          /* n */
ct_try ct_try_uncap;          /* uses the model's soft-cap */

/* Runs one with every level. CARAT_E_MEMORY. */
carat_status ct_trial_run(struct ct_trial *t, const struct ct_comparison *c);

#endif
