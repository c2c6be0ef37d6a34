/* SPDX-License-Identifier: Apache-2.0 */
/* ref.h: the entries that ref*.c define for the level being compiled; ref.c puts them into a table. */
#ifndef CT_REF_H
#define CT_REF_H

#include "kernel/ref/ref_math.h"

/* Declares ct_<entry> of this level, as struct ct_kernel has it. */
#define ENTRY(name) __typeof__(*((struct ct_kernel *)NULL)->name) CT_NAME(ct_##name)
ENTRY(dequantize_row);
ENTRY(prepare_input);
ENTRY(prepare_lanes);
ENTRY(project);
ENTRY(route);
ENTRY(kv_write);
ENTRY(attend_query);
ENTRY(attend_block);
ENTRY(altup_coefs);
ENTRY(altup_predict);
ENTRY(altup_correct);
ENTRY(altup_match);
ENTRY(cutoff);
ENTRY(input_norms);
ENTRY(prune);
ENTRY(uncap);
ENTRY(select);
ENTRY(above);
ENTRY(draw);
#undef ENTRY

/* ---- parts of a draw ---- */

/* The edits that a link makes to logits. */
enum ct_edit_kind { CT_EDIT_BIAS, CT_EDIT_PENALTIES, CT_EDIT_DRY };
/* value[l->n] are the logits of l's ids. */
void CT_NAME(ct_edit_all)(float *value, const struct ct_logits *l, enum ct_edit_kind kind,
                          const struct ct_draw *d);

/* Those that are left, best first. */
struct ct_candidates {
    const struct ct_logits *logits; /* order has places in it */
    struct ct_draw_room *room;      /* best, spare and edited of it are free */
    int32_t *order;
    float *value, *weight; /* logits as they are by now; their softmax where weighed */
    int n;
    bool weighed, cut; /* cut: some have gone since */
};
/* Makes weights of logits that have none. */
void CT_NAME(ct_chain_weigh)(struct ct_candidates *c);
/* True when a link changes nothing, whatever the logits; u: the random number of XTC's chance. */
bool CT_NAME(ct_chain_idle)(carat_link link, const struct ct_draw *d, float u);
void CT_NAME(ct_chain_link)(struct ct_candidates *c, carat_link link, const struct ct_draw *d, float u);

#endif
