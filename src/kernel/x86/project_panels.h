/* SPDX-License-Identifier: Apache-2.0 */
/* project_panels.h: products over panels by type, for files of kernels. panel_X.c includes this, defines
 * integers() and floats() for its instruction set, and gets ct_panels_project() around them. Kinds:
 * kernel/panel_kind.h. */
#ifndef CT_PROJECT_PANELS_H
#define CT_PROJECT_PANELS_H

#include "kernel/contract.h"
#include "kernel/panel_kind.h"
#include "kernel/ref/ref_math.h"

/* How the bytes of a line stand for weights. */
enum code {
    BYTE,   /* weight + zero */
    NIBBLE, /* weight + zero, below 16 */
    TABLE,  /* nibbles that stand for the signed bytes of a table */
};

INLINE enum code code_of(const struct kind kind)
{
    return kind.bits == 8 ? BYTE : kind.table ? TABLE : NIBBLE;
}

/* out[token][row] for rows [r0, r1); type and kind are constants here. scratch and next as project_panels
 * has them. */
INLINE void CT_NAME(floats)(float *out, size_t ldo, const enum ct_type type, const struct ct_weight *w,
                            int r0, int r1, const struct ct_prepared *p, enum ct_input form);
INLINE void CT_NAME(integers)(float *out, size_t ldo, const struct kind kind, const struct ct_weight *w,
                              int r0, int r1, const struct ct_prepared *p, float *scratch,
                              const struct ct_panels_next *next);

/* Products over panels of planes and of SFP are in files of their own, with inputs as panel_avx2.c and ref
 * prepare them. */
void CT_NAME(ct_project_planes)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                                const struct ct_prepared *x, const struct ct_panels_next *next);
void CT_NAME(ct_project_sfp)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                             const struct ct_prepared *x);

/* The entries of a level's table, and what levels above it use. */
void CT_NAME(ct_panels_init)(struct ct_kernel *k);
void CT_NAME(ct_panels_init_one_stream)(struct ct_kernel *k);
void CT_NAME(ct_panels_prepare)(struct ct_prepared *p, const float *x, size_t ldx, struct ct_input_part part);
void CT_NAME(ct_panels_project)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                                const struct ct_prepared *x, enum ct_input form, float *scratch,
                                const struct ct_panels_next *next);

void CT_NAME(ct_panels_project)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                                const struct ct_prepared *x, enum ct_input form, float *scratch,
                                const struct ct_panels_next *next)
{
    ct_assert_project(out, ldo, w, r0, r1, x, form);
    if (ct_panel_of(w->type)->lines == CT_LINES_PLANES) {
        CT_NAME(ct_project_planes)(out, ldo, w, r0, r1, x, next);
        return;
    }
    switch (w->type) {
    case CT_F32:
        CT_NAME(floats)(out, ldo, CT_F32, w, r0, r1, x, form);
        break;
    case CT_F16:
        CT_NAME(floats)(out, ldo, CT_F16, w, r0, r1, x, form);
        break;
    case CT_BF16:
        CT_NAME(floats)(out, ldo, CT_BF16, w, r0, r1, x, form);
        break;
    case CT_SFP:
        CT_NAME(ct_project_sfp)(out, ldo, w, r0, r1, x);
        break;
#define KIND(type, ...)                                                                                      \
    case type:                                                                                               \
        CT_NAME(integers)(out, ldo, (struct kind){__VA_ARGS__}, w, r0, r1, x, scratch, next);                \
        break;
        CT_KINDS_OF_LINES(KIND)
#undef KIND
    default:
        break; /* no other type lies in lines */
    }
}

#endif
