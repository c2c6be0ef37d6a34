/* SPDX-License-Identifier: Apache-2.0 */
/* head_bound.c: the bounds of head_bound.h, in double. The proof that they hold: NUMERICS.md section 12; the
 * test: test/model/test_head_bound.c. */
#include "model/head_bound.h"

/* What n roundings of float32 add up to at most, relatively. */
static double bound_gamma(int n)
{
    return n * 0x1p-24 / (1 - n * 0x1p-24);
}

static int bound_groups(int cols)
{
    return (cols + 31) / 32;
}

/* The smallest f16 that is not below v. */
static uint16_t bound_round_up(double v)
{
    if (!(v <= 65504))
        return 0x7c00;
    uint16_t code = ct_f32_to_f16((float)v);
    return (uint16_t)(code + ((double)ct_f16_to_f32(code) < v));
}

/* Euclidean norms of cols values of w - s, s and w, in eight sums each, which compilers put into vectors. */
static void bound_norms(double norm[3], const float *restrict w, const float *restrict sketch, int cols)
{
    enum { SUMS = 8 };
    double sum[3][SUMS] = {{0}};
    int i = 0;

    for (; i + SUMS <= cols; i += SUMS)
        for (int j = 0; j < SUMS; j++) {
            double s = sketch[i + j], whole = w[i + j], rest = whole - s;
            sum[0][j] += rest * rest;
            sum[1][j] += s * s;
            sum[2][j] += whole * whole;
        }
    for (; i < cols; i++) {
        double s = sketch[i], whole = w[i], rest = whole - s;
        sum[0][0] += rest * rest;
        sum[1][0] += s * s;
        sum[2][0] += whole * whole;
    }
    for (int k = 0; k < 3; k++) {
        for (int j = 1; j < SUMS; j++)
            sum[k][0] += sum[k][j];
        norm[k] = __builtin_sqrt(sum[k][0]);
    }
}

void ct_head_bound_row(struct ct_row_bound *out, const float *w, const float *sketch, int cols)
{
    double norm[3]; /* of the residual, the sketch, the row */

    bound_norms(norm, w, sketch, cols);
    norm[0] += bound_gamma(bound_groups(cols) + 2) * norm[1];
    out->residual = bound_round_up((norm[0] + 0x1p-100) * (1 + 0x1p-20));
    out->norm = bound_round_up((norm[2] + 0x1p-100) * (1 + 0x1p-20));
}

/* The most roundings between w * x and a logit, those of the decoded row and of the factor on the whole head
 * among them. */
static int bound_roundings(const struct ct_weight *head)
{
    const struct ct_type_info *t = ct_type_info(head->type);

    assert(!t->minimum && !t->apart); /* two steps a group would be twice as many */
    return bound_groups(head->cols) + (t->expand ? 4 : 19);
}

struct ct_token_bound ct_head_bound_token(const struct ct_weight *head, const struct ct_input_norms *norms)
{
    const double most = 0x1p100, dense = bound_gamma(bound_roundings(head)) * norms->dense;

    if (!(norms->int8 < most && norms->apart < most && norms->dense < most &&
          __builtin_fabsf(head->scale) <= 0x1p8f))
        return (struct ct_token_bound){(double)__builtin_inff(), (double)__builtin_inff()};
    return (struct ct_token_bound){norms->int8 * (1 + 0x1p-40), (norms->apart + dense) * (1 + 0x1p-40)};
}
