/* SPDX-License-Identifier: Apache-2.0 */
/* project_panels.h: products over panels by type. panel_X.c includes this, defines integers() for its
 * instruction set, and gets ct_panels_project() around it. Kinds: kernel/panel_kind.h. */
#ifndef CT_PROJECT_PANELS_H
#define CT_PROJECT_PANELS_H

#include "kernel/contract.h"
#include "kernel/panel_kind.h"
#include "kernel/ref/ref_math.h"
#include "kernel/sizes.h"

/* The way in which the bytes of a line stand for weights. */
enum code {
    BYTE,   /* weight + zero */
    NIBBLE, /* weight + zero, below 16 */
    TABLE,  /* nibbles that stand for the signed bytes of a table */
};

INLINE enum code code_of(const struct kind kind)
{
    return kind.bits == 8 ? BYTE : kind.table ? TABLE : NIBBLE;
}

/* out[token][row] for rows [r0, r1); kind is a constant here. scratch and next as project_panels has them. */
INLINE void CT_NAME(integers)(float *out, size_t ldo, const struct kind kind, const struct ct_weight *w,
                              int r0, int r1, const struct ct_prepared *p, float *scratch,
                              const struct ct_panels_next *next);

/* Products of floats are the same with and without a dot of bytes. */
#ifdef CT_DOT_VNNI
#define FLOATS CT_PASTE(ct_project_floats, CT_BELOW)
#else
#define FLOATS CT_NAME(ct_project_floats)
#endif

/* In files of their own, with inputs as panel_avx2.c and ref prepare them. */
void CT_NAME(ct_project_planes)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                                const struct ct_prepared *x, float *scratch);
void FLOATS(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1, const struct ct_prepared *x);

/* The entries of a level's table, and what levels above it use. */
void CT_NAME(ct_panels_init)(struct ct_kernel *k);
void CT_NAME(ct_panels_init_one_stream)(struct ct_kernel *k);
void CT_NAME(ct_panels_project)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                                const struct ct_prepared *x, enum ct_input form, float *scratch,
                                const struct ct_panels_next *next);

void CT_NAME(ct_panels_project)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                                const struct ct_prepared *x, enum ct_input form, float *scratch,
                                const struct ct_panels_next *next)
{
    ct_assert_project(out, ldo, w, r0, r1, x, form);
    switch (w->type) {
#define KIND(type, ...)                                                                                      \
    case type:                                                                                               \
        CT_NAME(integers)(out, ldo, (struct kind){__VA_ARGS__}, w, r0, r1, x, scratch, next);                \
        break;
        CT_KINDS_OF_LINES(KIND)
#undef KIND
    case CT_F32:
    case CT_F16:
    case CT_BF16:
    case CT_SFP:
        FLOATS(out, ldo, w, r0, r1, x);
        break;
    default:
        CT_NAME(ct_project_planes)(out, ldo, w, r0, r1, x, scratch);
    }
}

#endif
