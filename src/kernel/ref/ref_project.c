/* SPDX-License-Identifier: Apache-2.0 */
/* ref_project.c: matrix products of NUMERICS.md sections 3 to 5, and the preparation of their inputs. The
 * order of additions is the definition; lanes are tokens, so compilers can vectorise without changing it. */
#include "kernel/contract.h"
#include "kernel/ref/ref_math.h"
#include "layout/panel.h"
#include "kernel/ref/ref.h"

#define ROWS 4 /* output rows in flight: with two chains each they hide the latency of an fma */

/* A row as it is stored; spare holds 4 * cols bytes for one that lies in a panel. */
static const uint8_t *stored_row(const struct ct_weight *w, int row, void *spare)
{
    if (w->layout == CT_LAYOUT_ROWS)
        return (const uint8_t *)w->data + (size_t)row * w->row_bytes;
    ct_unpack(spare, w, row);
    return spare;
}

static void dequantize_stored(float *restrict out, const struct ct_weight *w, int row, float *spare)
{
    const uint8_t *p = stored_row(w, row, spare);
    size_t n = (size_t)w->cols;

    if (w->type == CT_BF16)
        for (size_t i = 0; i < n; i++)
            out[i] = ct_flush(ct_bf16_to_f32(ct_le16(p + 2 * i)));
    else if (w->type == CT_F16)
        for (size_t i = 0; i < n; i++)
            out[i] = ct_f16_value(ct_le16(p + 2 * i));
    else
        ct_dequantize(w->type, out, p, n);
}

void CT_NAME(ct_dequantize_row)(float *restrict out, const struct ct_weight *w, int row, float *scratch)
{
    assert(row >= 0 && row < w->rows && w->data);
    dequantize_stored(out, w, row, scratch);
    for (int i = 0; i < w->cols; i++)
        out[i] *= w->scale;
}

/* ---- inputs ---- */

static void prepare_value(struct ct_prepared *p, bool bf16, const float *x, size_t ldx,
                          struct ct_input_part part)
{
    int first = part.g0 * CT_GROUP, end = part.g1 * CT_GROUP, padded = ct_pad_group(p->cols);
    int lanes = p->n == 1 ? 1 : CT_LANES;

    for (int t = part.t0; t < CT_MIN(part.t1, p->n); t += lanes) {
        float *out = p->value + (size_t)t * (size_t)padded + (size_t)first * (size_t)lanes;
        for (int lane = 0; lane < lanes; lane++) {
            const float *in = x + (size_t)(t - part.t0 + lane) * ldx;
            int have = t + lane < p->n ? CT_MIN(end, p->cols) - first : 0;
            for (int k = 0; k < have; k++)
                out[(size_t)k * (size_t)lanes + (size_t)lane] = bf16 ? ct_bf16_round(in[k]) : in[k];
            for (int k = have; k < end - first; k++)
                out[(size_t)k * (size_t)lanes + (size_t)lane] = 0;
        }
    }
}

static void prepare_q8(struct ct_prepared *p, const float *x, size_t ldx, struct ct_input_part part)
{
    int cols = p->cols, padded = ct_pad_group(cols), groups = padded / CT_GROUP;

    for (int t = part.t0; t < CT_MIN(part.t1, p->n); t++)
        for (int g = part.g0; g < part.g1; g++) {
            const float *in = x + (size_t)(t - part.t0) * ldx + (size_t)(g - part.g0) * CT_GROUP;
            int8_t *q = p->q + (size_t)t * (size_t)padded + (size_t)g * CT_GROUP;
            int have = CT_MIN(CT_GROUP, cols - g * CT_GROUP);
            int32_t sum[2] = {0, 0};
            p->scale[(size_t)t * (size_t)groups + (size_t)g] = ct_quantise_group(q, in, have);
            for (int i = 0; i < CT_GROUP; i++)
                sum[i / CT_HALF] += q[i];
            memcpy(p->sum + 2 * ((size_t)t * (size_t)groups + (size_t)g), sum, sizeof sum);
        }
}

void CT_NAME(ct_prepare_input)(struct ct_prepared *p, enum ct_input form, const float *x, size_t ldx,
                               struct ct_input_part part)
{
    ct_assert_prepare(p, x, ldx, part);
    if (form == CT_INPUT_Q8)
        prepare_q8(p, x, ldx, part);
    else
        prepare_value(p, form != CT_INPUT_F32, x, ldx, part);
}

/* Panels are read row by row here, so their input is the one of rows. */
void CT_NAME(ct_prepare_lanes)(struct ct_prepared *p, const float *x, size_t ldx, struct ct_input_part part)
{
    prepare_q8(p, x, ldx, part);
}

/* ---- f32 and bf16 products: two chains per group ---- */

/* acc[r][t] of ROWS rows w[r][padded] and `lanes` tokens x[padded][lanes]; lanes is a constant where this
 * is called. */
static inline __attribute__((always_inline)) void
dot_rows(float *restrict acc, const float *restrict w, const float *restrict x, int padded, const int lanes)
{
    for (int i = 0; i < ROWS * lanes; i++)
        acc[i] = 0;
    for (int g = 0; g < padded; g += CT_GROUP) {
        float e[ROWS * CT_LANES], o[ROWS * CT_LANES];
        for (int i = 0; i < ROWS * lanes; i++)
            e[i] = o[i] = 0;
        for (int k = g; k < g + CT_GROUP; k += 2) {
#pragma GCC unroll 4
            for (int r = 0; r < ROWS; r++) {
                float we = w[r * padded + k], wo = w[r * padded + k + 1];
                for (int t = 0; t < lanes; t++) {
                    e[r * lanes + t] = ct_fma(we, x[k * lanes + t], e[r * lanes + t]);
                    o[r * lanes + t] = ct_fma(wo, x[(k + 1) * lanes + t], o[r * lanes + t]);
                }
            }
        }
        for (int i = 0; i < ROWS * lanes; i++)
            acc[i] = acc[i] + (e[i] + o[i]);
    }
}

static void project_value(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                          const struct ct_prepared *x, float *scratch)
{
    const int padded = ct_pad_group(w->cols), lanes = x->n == 1 ? 1 : CT_LANES;

    for (int r = r0; r < r1; r += ROWS) {
        int rows = CT_MIN(ROWS, r1 - r);
        for (int i = 0; i < ROWS; i++) {
            float *row = scratch + (size_t)i * (size_t)padded;
            int have = i < rows ? w->cols : 0;
            if (have)
                dequantize_stored(row, w, r + i, scratch + (size_t)ROWS * (size_t)padded);
            for (int k = have; k < padded; k++)
                row[k] = 0;
        }
        for (int t = 0; t < x->n; t += lanes) {
            float acc[ROWS * CT_LANES];
            const float *in = x->value + (size_t)t * (size_t)padded;
            if (lanes == 1)
                dot_rows(acc, scratch, in, padded, 1);
            else
                dot_rows(acc, scratch, in, padded, CT_LANES);
            for (int lane = 0; lane < CT_MIN(lanes, x->n - t); lane++)
                for (int i = 0; i < rows; i++)
                    out[(size_t)(t + lane) * ldo + (size_t)(r + i)] = acc[i * lanes + lane] * w->scale;
        }
    }
}

/* ---- int8 products: exact integer dots, one fma per group ---- */

static inline int32_t dot(const int8_t *a, const int8_t *b, int n)
{
    int32_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += (int32_t)a[i] * b[i];
    return sum;
}

/* halves, minimum and apart are constants where this is called. */
static inline __attribute__((always_inline)) void
project_groups(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1, const struct ct_prepared *x,
               struct ct_group *group, const bool halves, const bool minimum, const bool apart)
{
    const struct ct_type_info *type = ct_type_info(w->type);
    int groups = w->cols / CT_GROUP;

    for (int r = r0; r < r1; r++) {
        type->expand(group, stored_row(w, r, group + groups), (size_t)w->cols);
        for (int t = 0; t < x->n; t++) {
            const int8_t *q = x->q + (size_t)t * (size_t)w->cols;
            const float *xs = x->scale + (size_t)t * (size_t)groups;
            const int32_t *xsum = x->sum + (size_t)t * (size_t)groups * 2;
            float acc = 0;
            for (int g = 0; g < groups; g++, q += CT_GROUP, xsum += 2) {
                const struct ct_group *b = &group[g];
                int32_t isum, msum;
                if (apart) { /* two factors of a group that no integer relates: a step each */
                    acc = ct_fma((float)dot(b->q, q, CT_HALF), b->ws * xs[g], acc);
                    acc = ct_fma((float)dot(b->q + CT_HALF, q + CT_HALF, CT_HALF), b->ws_apart * xs[g], acc);
                    continue;
                }
                if (halves) {
                    isum = b->sc[0] * dot(b->q, q, CT_HALF) +
                           b->sc[1] * dot(b->q + CT_HALF, q + CT_HALF, CT_HALF);
                    msum = minimum ? b->mn[0] * xsum[0] + b->mn[1] * xsum[1] : 0;
                } else {
                    isum = dot(b->q, q, CT_GROUP);
                    msum = xsum[0] + xsum[1];
                }
                acc = ct_fma((float)isum, b->ws * xs[g], acc);
                if (minimum)
                    acc = ct_fma(b->m, xs[g] * (float)msum, acc);
            }
            out[(size_t)t * ldo + (size_t)r] = acc * w->scale;
        }
    }
}

void CT_NAME(ct_project)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                         const struct ct_prepared *x, enum ct_input form, float *scratch,
                         const struct ct_panels_next *next)
{
    ct_assert_project(out, ldo, w, r0, r1, x, form);
    (void)next;
    const struct ct_type_info *type = ct_type_info(w->type);
    struct ct_group *group = (struct ct_group *)(void *)scratch;
    _Static_assert(sizeof *group <= 4 * CT_GROUP * sizeof *scratch,
                   "scratch holds a row of groups, and behind them a stored row");

    if (form != CT_INPUT_Q8 && form != CT_INPUT_LANES)
        project_value(out, ldo, w, r0, r1, x, scratch);
    else if (type->halves && type->minimum)
        project_groups(out, ldo, w, r0, r1, x, group, true, true, false);
    else if (type->halves)
        project_groups(out, ldo, w, r0, r1, x, group, true, false, false);
    else if (type->minimum)
        project_groups(out, ldo, w, r0, r1, x, group, false, true, false);
    else if (type->apart)
        project_groups(out, ldo, w, r0, r1, x, group, false, false, true);
    else
        project_groups(out, ldo, w, r0, r1, x, group, false, false, false);
}
