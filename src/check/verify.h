/* SPDX-License-Identifier: Apache-2.0 */
/* verify.h: what the checks of carat_verify share. verify.c runs them in order and tells the caller; each
 * verify_*.c is one subject, and verify_golden.c has texts for one of them. */
#ifndef CT_VERIFY_H
#define CT_VERIFY_H

#include "checkpoint/checkpoint.h"
#include "kernel/kernel.h"
#include "model/family.h"
#include "os/pool.h"

enum {
    CT_DETAIL = 1024,
    CT_FAILED = 0,
    CT_PASSED = 1,
    CT_NOTHING = -1, /* there is nothing to check */
    CT_OTHERWISE = 2 /* nothing is broken, but something is done otherwise than the files ask for */
};

struct ct_verify {
    const struct carat_model *model;
    const carat_verify_options *o;
    struct ct_pool *pool;
    struct ct_kernel kernel; /* the best level that is allowed */
    size_t done, share;      /* progress before the check under way, and what it is worth */
    size_t total, at;        /* as it was last reported */
    char detail[CT_DETAIL];  /* what the check under way has to say */
    char content[33];        /* the hash, when the weights were read; else "" */
};

/* A check says in *verdict what it found and in v->detail why. It fails only when it cannot be finished. */
typedef carat_status ct_check(struct ct_verify *v, int *verdict, carat_error *err);

ct_check ct_verify_packed;     /* verify_packed.c */
ct_check ct_verify_values;     /* verify_weights.c; also hashes, since it reads everything */
ct_check ct_verify_shapes;     /* verify_shapes.c */
ct_check ct_verify_tokenizer;  /* verify_tokenizer.c */
ct_check ct_verify_vocabulary; /* the same */
ct_check ct_verify_kernels;    /* verify_kernels.c */

/* ---- verify_report.c: what checks call ---- */

/* Adds to the detail; what does not fit is cut. */
void ct_verify_say(struct ct_verify *v, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;
/* ct_pool_run in the floating-point environment of NUMERICS.md. When the caller cancels it ends early, and
 * ct_verify_step, which must follow, says so. */
void ct_verify_run(struct ct_verify *v, int items, void (*fn)(void *arg, int item, int thread), void *arg);
/* Reports that part done of total of the check is over. CARAT_E_CANCELLED. */
carat_status ct_verify_step(struct ct_verify *v, size_t done, size_t total, carat_error *err);
/* For ct_pool_watch: asks the caller of v whether to go on. */
int ct_verify_ask(void *v);
carat_status ct_verify_cancelled(carat_error *err); /* CARAT_E_CANCELLED */

/* ---- verify_shapes.c ---- */

/* Writes the difference from the member, as a sentence, into out; false when there is none. */
bool ct_member_differs(const struct ct_member *m, const struct ct_config *c, char *out, size_t capacity);

/* ---- verify_kernels.c ---- */

/* Compares levels 1 to n - 1 with level 0, which is ref, on this model's weights and shapes; also one alone,
 * since ref takes rows and panels. */
carat_status ct_verify_levels(struct ct_verify *v, const struct ct_kernel *level, int n, int *verdict,
                              carat_error *err);

/* ---- verify_golden.c ---- */

/* Texts, and what the tokenizers of the family make of them; data only. */

enum { CT_VOCABULARIES = 2 };

/* A vocabulary that published members of the family share. */
struct ct_vocabulary {
    const char *name;
    uint64_t fingerprint; /* as verify_tokenizer.c computes it */
};
extern const struct ct_vocabulary ct_vocabulary[CT_VOCABULARIES];

struct ct_golden {
    const char *text;                    /* must come back as it is, whatever the vocabulary */
    int flags;                           /* that the ids were made with */
    const int32_t *ids[CT_VOCABULARIES]; /* ended by -1; NULL: none are known */
    const char *control; /* token that members which share a vocabulary may lack, who then skip it; or NULL */
};
extern const struct ct_golden ct_golden[];
extern const int ct_golden_count;

#endif
