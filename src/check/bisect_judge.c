/* SPDX-License-Identifier: Apache-2.0 */
/* bisect_judge.c: which operations are flagged, from the sums that bisect_pass.c has added up: numbers alone,
 * it knows no engine.
 *
 * The error of a channel is measured against its size, or that of the middle channel, or an eighth of the
 * root mean square of all, whichever is largest: the rounding of weights is as large in a channel that
 * happens to be near zero as in the others, and would look like any factor there.
 *
 * GELU times up is one operation with gate and up, which are judged by themselves; what is wrong with its
 * channels is wrong with theirs. Its own are measured against the root mean square at least and are never
 * flagged: where gate is far below zero a little of gate is a large factor.
 *
 * Flagged is
 *   - a channel whose error is beyond half of its size, or eight times the median of the operation's own
 *     errors in the other layers where that is more, but at most 0.9: of ten thousands of channels of four
 *     bits some come near half (0.47 was seen in a random 1B), and a row that is negated, swapped or lost is
 *     beyond all of it. Types that lose more than four bits do have channels beyond that without damage, and
 *     limits in proportion;
 *   - an operation whose own error is beyond three times the median of the same operation in the other layers
 *     with the same stored types, and beyond what these types explain by themselves;
 *   - an operation without a matrix whose own error is beyond what rounding explains. It computes the same
 *     from the same input in every type, so it needs no other layers to stand out from: a changed window,
 *     base or scale is wrong in all of them. What types explain are bounds, not estimates: a matrix of one
 *     stored type against another is expected to be off by about a third of them. */
#include "check/bisect.h"

#include <math.h>
#include <stdlib.h>

#define CHANNEL_LIMIT      0.5
#define CHANNEL_FACTOR     8.0
#define MOST_CHANNEL_LIMIT 0.9 /* a channel that is lost is off by 1 */
#define LOSSES             2.0 /* of a type, that a channel may be off: 0.5 for four bits */
#define LIMIT_OF_ONE_ROW   1.0 /* a channel of a single row may be off by four times its rounding by chance */
#define LOSSES_OF_ONE_ROW  4.0
#define MEDIAN_FACTOR      3.0
#define FEWEST_LAYERS      2     /* other layers that make a median */
#define EXACT_LIMIT        1e-5  /* of the same arithmetic on the same types */
#define INT8_INPUT         0.05  /* inputs of a product in int8, bf16 or f32 */
#define EXACT_ATTENTION    0.01  /* attention of exact and of fast arithmetic */
#define NORM_LIMIT         0.01  /* gains of bf16 or f16, with 1 added */
#define EMBED_LIMIT        0.004 /* a scale that is rounded to bf16 in one container, and not in another */

static double root_ratio(double error, double size, double other)
{
    if (error == 0)
        return 0;
    return sqrt(error / (size > 0 ? size : other));
}

static int bisect_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void ct_bisect_channels(struct ct_judged *j, double *room)
{
    double error = 0, size = 0;

    for (int c = 0; c < j->width; c++) {
        error += j->error[c];
        size += j->size[c];
        room[c] = j->size[c];
    }
    qsort(room, (size_t)j->width, sizeof *room, bisect_order);
    const double mean = size / j->width;
    const double least = j->op == CT_OP_GEGLU ? mean : CT_MAX(room[j->width / 2], mean / 64);

    j->result.own = root_ratio(error, size, error);
    for (int c = 0; c < j->width; c++) {
        double e = root_ratio(j->error[c], CT_MAX(j->size[c], least), j->error[c]);
        if (c == 0 || e > j->result.channel_error) {
            j->result.channel = c;
            j->result.channel_error = e;
        }
    }
}

/* ---- what types explain ---- */

/* The error that is expected of attention when K and V are stored so. */
static const double kv_error[CT_KV_TYPE_COUNT] = {
    [CT_KV_F32] = 0, [CT_KV_F16] = 0.005, [CT_KV_BF16] = 0.02, [CT_KV_Q8] = 0.05};

static double loss_of(enum ct_type type)
{
    return ct_type_info(type)->loss;
}

static bool has_other_type(const struct ct_judged *j)
{
    return j->has_weight && j->type[CT_REF] != j->type[CT_TEST];
}

static double explained_by_types(const struct ct_bisect_modes *m, const struct ct_judged *j)
{
    bool other_type = has_other_type(j);
    bool other_arithmetic = m->exact[CT_REF] != m->exact[CT_TEST];
    double e = EXACT_LIMIT;

    if (j->op == CT_OP_ATTEND && m->kv[CT_REF] != m->kv[CT_TEST])
        e += kv_error[m->kv[CT_REF]] + kv_error[m->kv[CT_TEST]];
    if (j->op == CT_OP_ATTEND && other_arithmetic)
        e += EXACT_ATTENTION;
    if (ct_operations[j->op].product && (other_arithmetic || other_type))
        e += INT8_INPUT;
    if (other_type)
        e += loss_of(j->type[CT_REF]) + loss_of(j->type[CT_TEST]);
    return e;
}

/* ---- what stands out ---- */

static bool in_one_group(const struct ct_judged *a, const struct ct_judged *b)
{
    bool turns = a->op == CT_OP_ATTEND || a->op == CT_OP_Q_ROPE || a->op == CT_OP_K_ROPE;

    return a != b && a->op == b->op && b->width > 0 && a->type[CT_REF] == b->type[CT_REF] &&
           a->type[CT_TEST] == b->type[CT_TEST] && (!turns || a->attn_type == b->attn_type);
}

/* The median of the own errors of the other layers; -1: there are too few. room: [n]. */
static double median_of_others(const struct ct_judged *judged, int n, const struct ct_judged *j, double *room)
{
    int others = 0;

    for (int i = 0; i < n; i++)
        if (in_one_group(j, &judged[i]))
            room[others++] = judged[i].result.own;
    if (others < FEWEST_LAYERS)
        return -1;
    qsort(room, (size_t)others, sizeof *room, bisect_order);
    return others % 2 ? room[others / 2] : (room[others / 2 - 1] + room[others / 2]) / 2;
}

/* median: of the others, -1 where they are too few. */
static const char *reason_of(const struct ct_judged *j, double median, const struct ct_bisect_modes *m)
{
    const double explained = explained_by_types(m, j);
    const bool table = j->op == CT_OP_EMBED || j->op == CT_OP_INPUTS;
    const double rounded = table ? EMBED_LIMIT : j->has_weight ? NORM_LIMIT : 0;

    const double seen = CT_MAX(CHANNEL_LIMIT, CT_MIN(CHANNEL_FACTOR * median, MOST_CHANNEL_LIMIT));
    const double loss = has_other_type(j) ? CT_MAX(loss_of(j->type[CT_REF]), loss_of(j->type[CT_TEST])) : 0;
    const double limit =
        m->n_rows > 1 ? CT_MAX(seen, LOSSES * loss) : CT_MAX(LIMIT_OF_ONE_ROW, LOSSES_OF_ONE_ROW * loss);

    if (j->op != CT_OP_GEGLU && j->result.channel_error > limit)
        return "a channel is off by more than half of its size";
    if (median >= 0 && j->result.own > CT_MAX(MEDIAN_FACTOR * median, explained))
        return "it stands out from the same operation in the other layers";
    if (!ct_operations[j->op].product && j->result.own > CT_MAX(explained, rounded))
        return "rounding does not explain its error";
    return "";
}

carat_status ct_bisect_judge(struct ct_judged *judged, int n, const struct ct_bisect_modes *modes,
                             carat_error *err)
{
    double *room = malloc((size_t)n * sizeof *room);

    if (!room)
        return ct_fail(err, CARAT_E_MEMORY, "out of memory for the errors of %d operations", n);
    for (int i = 0; i < n; i++) {
        struct ct_judged *j = &judged[i];
        if (j->width == 0)
            continue;
        j->result.carried = root_ratio(j->carried[0], j->carried[1], j->carried[0]);
        j->result.reason = reason_of(j, median_of_others(judged, n, j, room), modes);
        j->result.flagged = *j->result.reason != 0;
    }
    free(room);
    return CARAT_OK;
}
