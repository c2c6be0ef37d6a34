/* SPDX-License-Identifier: Apache-2.0 */
/* panel_kind.h: what kinds of panels there are and how a token's prepared input lies, for files of kernels. panel_X.c
 * includes this, defines integers() and floats() for its instruction set, and gets project_panels() around them. Layout
 * of panels: panel.h. */
#ifndef CT_PANEL_KIND_H
#define CT_PANEL_KIND_H

#include "kernel/layout/panel.h"
#include "kernel/ref/ref_math.h"
#include "kernel/x86/unroll.h"

/* How the bytes of a line stand for weights. */
enum code {
    BYTE,   /* weight + zero */
    NIBBLE, /* weight + zero, below 16 */
    TABLE,  /* nibbles that stand for the signed bytes of a table */
};

/* A kind of integer panel, constant where it is used. */
struct kind {
    enum code code;
    bool minimum;
    int zero; /* the code of weight 0 */
    const int8_t *table;
};

/* A block of `lanes` tokens of a prepared input (CT_INPUT_LANES). Below AMX a block is CT_LANES tokens, or one. */
struct tokens {
    const int8_t *q;    /* [k/4][lanes][4] */
    const float *scale; /* [group][lanes] */
    const int32_t *sum;
    const int32_t *pair; /* both halves' sums in 16 bits, the first low; 256-bit levels have them */
};

/* out[token][row] for rows [r0, r1); type and kind are constants here. scratch as project_panels has it. */
INLINE void floats(float *out, size_t ldo, const enum ct_type type, const struct ct_weight *w, int r0, int r1,
                   const struct ct_prepared *p, enum ct_input form);
INLINE void integers(float *out, size_t ldo, const struct kind kind, const struct ct_weight *w, int r0,
                     int r1, const struct ct_prepared *p, float *scratch);

/* Bytes of a chunk's scales and minima, of a group's lines, and of a chunk. */
INLINE int scale_bytes(const struct kind kind)
{
    return kind.minimum ? 128 : 64;
}

INLINE int group_bytes(const struct kind kind)
{
    return kind.code == BYTE ? 512 : 256;
}

INLINE int chunk_bytes(const struct kind kind)
{
    return scale_bytes(kind) + 2 * group_bytes(kind);
}

/* Products over panels of planes and of SFP are in files of their own, with inputs as panel_avx2.c and ref prepare them; a
 * level that has none of its own takes those of the level below. */
#ifdef CT_BELOW
#define OWN(name) CT_PASTE(name, CT_BELOW)
#else
#define OWN(name) CT_NAME(name)
#endif
void OWN(ct_project_planes)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                            const struct ct_prepared *x);
void OWN(ct_project_sfp)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                         const struct ct_prepared *x);

/* The entries of a level's table, and what levels above it use. */
void CT_NAME(ct_panels_init)(struct ct_kernel *k);
void CT_NAME(ct_panels_prepare)(struct ct_prepared *p, const float *x, int t0, int t1);
void CT_NAME(ct_panels_project)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                                const struct ct_prepared *x, enum ct_input form, float *scratch);

void CT_NAME(ct_panels_project)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                                const struct ct_prepared *x, enum ct_input form, float *scratch)
{
    if (ct_panel_of(w->type)->lines == CT_LINES_PLANES) {
        OWN(ct_project_planes)(out, ldo, w, r0, r1, x);
        return;
    }
    switch (w->type) {
    case CT_F32:
        floats(out, ldo, CT_F32, w, r0, r1, x, form);
        break;
    case CT_F16:
        floats(out, ldo, CT_F16, w, r0, r1, x, form);
        break;
    case CT_BF16:
        floats(out, ldo, CT_BF16, w, r0, r1, x, form);
        break;
    case CT_SFP:
        OWN(ct_project_sfp)(out, ldo, w, r0, r1, x);
        break;
    case CT_Q4_0:
        integers(out, ldo, (struct kind){NIBBLE, false, 8, NULL}, w, r0, r1, x, scratch);
        break;
    case CT_Q4_1:
        integers(out, ldo, (struct kind){NIBBLE, true, 0, NULL}, w, r0, r1, x, scratch);
        break;
    case CT_IQ4_NL:
        integers(out, ldo, (struct kind){TABLE, false, 0, ct_iq4_values}, w, r0, r1, x, scratch);
        break;
    default:
        integers(out, ldo, (struct kind){BYTE, false, 128, NULL}, w, r0, r1, x, scratch);
    }
}

#endif
