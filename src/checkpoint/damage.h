/* SPDX-License-Identifier: Apache-2.0 */
/* damage.h: which value of a model is not finite, and where in its files that lies, for messages. */
#ifndef CT_DAMAGE_H
#define CT_DAMAGE_H

#include "checkpoint/content.h"

/* The place of a value of a weight. */
struct ct_value_place {
    const struct ct_tensor *tensor; /* NULL: no tensor of the file has it as it is */
    uint64_t offset;                /* in the tensor's file, of the value or of its block */
    const char *unit;               /* "value" or "block" */
};
struct ct_value_place ct_value_place(const struct ct_file *f, const struct ct_content_slot *slot, int row,
                                     int col);

/* E_NUMERIC, since logits of the model are not finite: names the first weight in the order of a pass that has
 * a value which is not, its file and where in it that is. Threads read the weights up to there. */
carat_status ct_fail_damaged(const struct carat_model *m, int threads, carat_error *err);

#endif
