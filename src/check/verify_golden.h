/* SPDX-License-Identifier: Apache-2.0 */
/* verify_golden.h: texts, and what the tokenizers of the family make of them; data only. */
#ifndef CT_VERIFY_GOLDEN_H
#define CT_VERIFY_GOLDEN_H

#include "base/base.h"

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
