/* SPDX-License-Identifier: Apache-2.0 */
/* test_bisect_judge.c: which made-up errors are flagged, just below and just beyond every limit that
 * QUALITY.md names ("Where it begins"), and how errors of channels are measured. What damage in a model looks
 * like is test_bisect.c's. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/bisect.h"

#include <cmocka.h>

#define STANDS_OUT "it stands out from the same operation in the other layers"
#define CHANNEL_IS "a channel is off by more than half of its size"
#define UNROUNDED  "rounding does not explain its error"

enum { MOST_OTHERS = 4, APART = 3 };
enum difference { ALIKE, OTHER_KIND, OTHER_REF, OTHER_TEST, OTHER_OPERATION, ABSENT };

struct row {
    const char *said; /* by QUALITY.md, of this limit */
    enum ct_operation op;
    const char *reason;
    double limit;         /* flagged beyond it, for this reason; INFINITY: never */
    enum ct_type type[2]; /* else F32 in both */
    bool exact[2];
    enum ct_kv_type kv[2];     /* else BF16 in both */
    int rows;                  /* 0: as many as ever */
    double other[MOST_OTHERS]; /* own errors of the operation in other layers, as many as are not 0 */
    enum difference apart;     /* if any: of three more, whose own errors are 0.01 */
};

#define OTHERS(...)          .other = {__VA_ARGS__}
#define JUDGED(o, why, most) .op = CT_OP_##o, .reason = why, .limit = most
#define CH(op, limit)        JUDGED(op, CHANNEL_IS, limit)
#define OWN(op, limit)       JUDGED(op, STANDS_OUT, limit)
#define RND(op, limit)       JUDGED(op, UNROUNDED, limit)
#define FLAT                 OTHERS(1e-9, 1e-9) /* a median below all else */
/* A product by a matrix of one type and of F32, which explains a millionth. */
#define TYPE(t, e) OWN(DOWN, 1e-5 + 0.05 + (1e-6 + e)), .type = {CT_F32, CT_##t}, FLAT

static const struct row rows[] = {
    /* channels */
    {"a channel beyond 0.5", CH(DOWN, 0.5)},
    {"a channel beyond 0.5", CH(DOWN, 0.5), OTHERS(0.01, 0.01, 0.01)},
    {"a channel beyond 0.5", CH(ATTEND, 0.5), FLAT},
    {"a channel beyond 0.5", CH(EMBED, 0.5)},
    {"a channel beyond 0.5", CH(HEAD, 0.5), .rows = 2},
    {"eight times the median", CH(DOWN, 0.8), OTHERS(0.1, 0.1)},
    {"eight times the median", CH(DOWN, 8 * 0.08), OTHERS(0.5, 0.01, 0.08)},
    {"eight times the median", CH(DOWN, 8 * 0.09), OTHERS(0.02, 0.1, 0.08, 0.5)},
    {"(two at least)", CH(DOWN, 0.5), OTHERS(0.1)},
    {"but at most 0.9", CH(DOWN, 0.9), OTHERS(0.2, 0.2)},
    {"(1 where a single row is compared)", CH(DOWN, 1), .rows = 1},
    {"(1 where a single row is compared)", CH(DOWN, 1), .rows = 1, OTHERS(0.2, 0.2)},
    {"twice the larger", CH(DOWN, 0.5), .type = {CT_F32, CT_Q4_0}},
    {"twice the larger", CH(DOWN, 0.9), .type = {CT_Q3_K, CT_F32}},
    {"twice the larger", CH(DOWN, 2 * 1.5), .type = {CT_F32, CT_IQ1_S}, FLAT},
    {"twice the larger", CH(DOWN, 2 * 1.5), .type = {CT_IQ1_S, CT_Q2_K}, OTHERS(0.2, 0.2)},
    {"twice the larger", CH(DOWN, 0.5), .type = {CT_IQ1_S, CT_IQ1_S}},
    {"four times", CH(DOWN, 4 * 0.55), .type = {CT_BF16, CT_IQ3_XXS}, .rows = 1},
    {"of `geglu` none", CH(GEGLU, INFINITY)},
    {"of `geglu` none", CH(GEGLU, INFINITY), .rows = 1, FLAT},

    /* which others make the median */
    {"three times the median", OWN(DOWN, 3 * 0.1), OTHERS(0.1, 0.1)},
    {"three times the median", OWN(GEGLU, 3 * 0.1), OTHERS(0.01, 0.1, 0.2)},
    {"three times the median", OWN(HEAD, INFINITY)},
    {"(two at least)", OWN(DOWN, INFINITY), OTHERS(0.1)},
    {"with the same stored types", OWN(DOWN, 3 * 0.1), OTHERS(0.1, 0.1), .apart = OTHER_REF},
    {"with the same stored types", OWN(DOWN, 3 * 0.1), OTHERS(0.1, 0.1), .apart = OTHER_TEST},
    {"of the same operation", OWN(DOWN, 3 * 0.1), OTHERS(0.1, 0.1), .apart = OTHER_OPERATION},
    {"of the same operation", OWN(DOWN, 3 * 0.1), OTHERS(0.1, 0.1), .apart = ABSENT},
    {"(attention and RoPE: of the same kind of layer)", OWN(DOWN, 3 * 0.01), OTHERS(0.1, 0.1),
     .apart = OTHER_KIND},
    {"(attention and RoPE: of the same kind of layer)", CH(ATTEND, 0.8), OTHERS(0.1, 0.1),
     .apart = OTHER_KIND},
    {"(attention and RoPE: of the same kind of layer)", CH(Q_ROPE, 0.8), OTHERS(0.1, 0.1),
     .apart = OTHER_KIND},
    {"(attention and RoPE: of the same kind of layer)", CH(K_ROPE, 0.8), OTHERS(0.1, 0.1),
     .apart = OTHER_KIND},

    /* what types and arithmetic explain */
    {"1e-5 where both are the same", OWN(DOWN, 1e-5), FLAT},
    {"1e-5 where both are the same", OWN(DOWN, 1e-5), FLAT, .type = {CT_Q4_0, CT_Q4_0}, .exact = {1, 1}},
    {"1e-5 where both are the same", OWN(DOWN, 1e-5), FLAT, .kv = {CT_KV_F32, CT_KV_Q8}},
    {"0.05 more for inputs of int8", OWN(DOWN, 1e-5 + 0.05), FLAT, .exact = {1, 0}},
    {"0.05 more for inputs of int8", OWN(GATE, 1e-5 + 0.05), FLAT, .exact = {0, 1}},
    {"0.05 more for inputs of int8", OWN(DOWN, 3 * 0.1), OTHERS(0.1, 0.1), .exact = {1, 0}},
    {"the sum of", OWN(DOWN, 1e-5 + 0.05 + (0.01 + 0.25)), FLAT, .type = {CT_BF16, CT_Q4_0}},
    {"the sum of", OWN(DOWN, 1e-5 + 0.05 + (0.03 + 0.01)), FLAT, .type = {CT_Q8_0, CT_BF16}, .exact = {1, 0}},
    {"0.001 for F16", TYPE(F16, 0.001)},
    {"0.01 for BF16", TYPE(BF16, 0.01)},
    {"0.03 for Q8_0 and I8", TYPE(Q8_0, 0.03)},
    {"0.03 for Q8_0 and I8", TYPE(I8, 0.03)},
    {"0.06 for Q6_K", TYPE(Q6_K, 0.06)},
    {"0.12 for five bits and SFP", TYPE(Q5_0, 0.12)},
    {"0.12 for five bits and SFP", TYPE(Q5_1, 0.12)},
    {"0.12 for five bits and SFP", TYPE(Q5_K, 0.12)},
    {"0.12 for five bits and SFP", TYPE(SFP, 0.12)},
    {"0.25 for four bits and NUQ", TYPE(Q4_0, 0.25)},
    {"0.25 for four bits and NUQ", TYPE(Q4_1, 0.25)},
    {"0.25 for four bits and NUQ", TYPE(Q4_K, 0.25)},
    {"0.25 for four bits and NUQ", TYPE(IQ4_NL, 0.25)},
    {"0.25 for four bits and NUQ", TYPE(IQ4_XS, 0.25)},
    {"0.25 for four bits and NUQ", TYPE(NUQ, 0.25)},
    {"0.45 for MXFP4, NVFP4, Q3_K and IQ3_S", TYPE(MXFP4, 0.45)},
    {"0.45 for MXFP4, NVFP4, Q3_K and IQ3_S", TYPE(NVFP4, 0.45)},
    {"0.45 for MXFP4, NVFP4, Q3_K and IQ3_S", TYPE(Q3_K, 0.45)},
    {"0.45 for MXFP4, NVFP4, Q3_K and IQ3_S", TYPE(IQ3_S, 0.45)},
    {"0.55 for IQ3_XXS", TYPE(IQ3_XXS, 0.55)},
    {"0.75 for IQ2_S", TYPE(IQ2_S, 0.75)},
    {"0.85 for Q2_K", TYPE(Q2_K, 0.85)},
    {"0.9 for IQ2_XS", TYPE(IQ2_XS, 0.9)},
    {"1.05 for IQ2_XXS", TYPE(IQ2_XXS, 1.05)},
    {"1.4 for IQ1_M", TYPE(IQ1_M, 1.4)},
    {"1.5 for IQ1_S", TYPE(IQ1_S, 1.5)},
    {"1.85 for Q1_0", TYPE(Q1_0, 1.85)},
    {"2.15 for Q2_0", TYPE(Q2_0, 2.15)},
    {"2.45 for TQ1_0 and TQ2_0", TYPE(TQ1_0, 2.45)},
    {"2.45 for TQ1_0 and TQ2_0", TYPE(TQ2_0, 2.45)},

    /* operations without a matrix */
    {"0.01 for a norm", RND(ATTN_NORM, 0.01)},
    {"0.01 for a norm", RND(FINAL_NORM, 0.01)},
    {"0.01 for a norm", RND(K_NORM, 0.01), OTHERS(0.1, 0.1), .exact = {1, 0}},
    {"0.01 for BF16", RND(FFN_NORM, 1e-5 + (0.01 + 1e-6)), .type = {CT_BF16, CT_F32}},
    {"three times the median", OWN(ATTN_NORM, 3 * 0.002), OTHERS(0.002, 0.002)},
    {"0.004 for the embedding", RND(EMBED, 0.004)},
    {"0.03 for Q8_0 and I8", RND(EMBED, 1e-5 + (0.03 + 0.01)), .type = {CT_Q8_0, CT_BF16}},
    {"1e-5 where both are the same", RND(Q_ROPE, 1e-5), .exact = {1, 0}},
    {"1e-5 where both are the same", RND(K_ROPE, 1e-5), .kv = {CT_KV_F32, CT_KV_Q8}},
    {"1e-5 where both are the same", RND(ATTEND, 1e-5), .kv = {CT_KV_Q8, CT_KV_Q8}, .exact = {1, 1}},
    {"0.005, 0.02 and 0.05 for K and V of f16, bf16 and q8", RND(ATTEND, 1e-5 + 0.005),
     .kv = {CT_KV_F16, CT_KV_F32}},
    {"0.005, 0.02 and 0.05 for K and V of f16, bf16 and q8", RND(ATTEND, 1e-5 + 0.02),
     .kv = {CT_KV_F32, CT_KV_BF16}},
    {"0.005, 0.02 and 0.05 for K and V of f16, bf16 and q8", RND(ATTEND, 1e-5 + 0.05),
     .kv = {CT_KV_F32, CT_KV_Q8}},
    {"0.005, 0.02 and 0.05 for K and V of f16, bf16 and q8", RND(ATTEND, 1e-5 + (0.02 + 0.05)),
     .kv = {CT_KV_BF16, CT_KV_Q8}},
    {"0.01 for attention of exact against fast arithmetic", RND(ATTEND, 1e-5 + 0.01), .exact = {0, 1}},
    {"0.01 for attention of exact against fast arithmetic", RND(ATTEND, 1e-5 + (0.005 + 0.02) + 0.01),
     .exact = {1, 0}, .kv = {CT_KV_F16, CT_KV_BF16}},
};

static struct ct_judged operation(enum ct_operation op, const enum ct_type type[2])
{
    return (struct ct_judged){.op = op,
                              .width = 8,
                              .has_weight = op != CT_OP_Q_ROPE && op != CT_OP_K_ROPE && op != CT_OP_ATTEND,
                              .type = {type[CT_REF], type[CT_TEST]},
                              .attn_type = CT_LOCAL,
                              .result = {.reason = ""}};
}

static int alike(const struct row *r)
{
    int n = 0;

    while (n < MOST_OTHERS && r->other[n] > 0)
        n++;
    return n;
}

/* The k-th of the others. */
static struct ct_judged other_operation(const struct row *r, int k)
{
    struct ct_judged j = operation(r->op, r->type);

    j.result.own = k < alike(r) ? r->other[k] : 0.01;
    switch (k < alike(r) ? ALIKE : r->apart) {
    case ALIKE:
        break;
    case OTHER_KIND:
        j.attn_type = CT_GLOBAL;
        break;
    case OTHER_REF:
        j.type[CT_REF] = CT_BF16;
        break;
    case OTHER_TEST:
        j.type[CT_TEST] = CT_BF16;
        break;
    case OTHER_OPERATION:
        j.op = CT_OP_UP;
        break;
    case ABSENT:
        j.width = 0;
        break;
    }
    return j;
}

static int operations(const struct row *r)
{
    return 1 + alike(r) + (r->apart ? APART : 0);
}

/* The reason for which an error is flagged, at one place among the others. */
static const char *reason_at(const struct row *r, double error, int at)
{
    const struct ct_bisect_modes modes = {
        {r->exact[CT_REF], r->exact[CT_TEST]}, {r->kv[CT_REF], r->kv[CT_TEST]}, r->rows ? r->rows : 16};
    struct ct_judged judged[1 + MOST_OTHERS + APART];
    carat_error err;

    for (int i = 0, k = 0; i < operations(r); i++)
        judged[i] = i == at ? operation(r->op, r->type) : other_operation(r, k++);
    if (strcmp(r->reason, CHANNEL_IS) == 0)
        judged[at].result.channel_error = error;
    else
        judged[at].result.own = error;
    assert_int_equal(ct_bisect_judge(judged, operations(r), &modes, &err), CARAT_OK);
    assert_int_equal(judged[at].result.flagged, *judged[at].result.reason != 0);
    return judged[at].result.reason;
}

static void limits_part_what_is_flagged(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *r = &rows[i];
        const double below = isinf(r->limit) ? 1e9 : r->limit * (1 - 1e-9), beyond = r->limit * (1 + 1e-9);
        for (int at = 0; at < operations(r); at++) {
            const char *reason = reason_at(r, below, at);
            if (*reason)
                fail_msg("row %zu (%s): %.10g of %s is flagged: %s", i, r->said, below,
                         ct_operations[r->op].name, reason);
            reason = isinf(r->limit) ? r->reason : reason_at(r, beyond, at);
            if (strcmp(reason, r->reason) != 0)
                fail_msg("row %zu (%s): %.10g of %s is flagged for \"%s\", expected \"%s\"", i, r->said,
                         beyond, ct_operations[r->op].name, reason, r->reason);
        }
    }
}

/* The section of QUALITY.md with single spaces. */
static void read_section(char *text, size_t size)
{
    FILE *f = fopen(CT_TEST_DATA "/../../QUALITY.md", "r");
    char line[256];
    size_t n = 0;
    bool inside = false;

    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        inside = strncmp(line, "## ", 3) == 0 ? strstr(line, "Where it begins") != NULL : inside;
        for (const char *c = line; inside && *c; c++)
            if ((*c != ' ' && *c != '\n') || (n && text[n - 1] != ' '))
                text[n++] = *c == '\n' ? ' ' : *c;
        assert_true(n + sizeof line < size);
    }
    text[n] = 0;
    fclose(f);
}

static void limits_are_what_is_written(void **state)
{
    static char text[1 << 14];
    (void)state;
    read_section(text, sizeof text);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strstr(text, rows[i].said))
            fail_msg("QUALITY.md does not say \"%s\"", rows[i].said);
}

static void absent_operations_and_what_is_carried(void **state)
{
    struct ct_judged judged[3] = {operation(CT_OP_Q_NORM, (enum ct_type[2]){0}),
                                  operation(CT_OP_O, (enum ct_type[2]){0}),
                                  operation(CT_OP_UP, (enum ct_type[2]){0})};
    const struct ct_bisect_modes modes = {.n_rows = 16};
    carat_error err;
    (void)state;
    judged[0].width = 0;
    judged[0].result.own = judged[0].result.channel_error = 9;
    memcpy(judged[1].carried, (double[2]){9, 4}, sizeof judged[1].carried);
    memcpy(judged[2].carried, (double[2]){9, 0}, sizeof judged[2].carried);
    assert_int_equal(ct_bisect_judge(judged, 3, &modes, &err), CARAT_OK);
    for (int i = 0; i < 3; i++)
        assert_false(judged[i].result.flagged);
    assert_float_equal(judged[1].result.carried, 1.5, 0);
    assert_float_equal(judged[2].result.carried, 1, 0); /* of nothing */
}

/* ---- channels ---- */

static void channels_against_their_size(void **state)
{
    static const struct {
        const char *what;
        enum ct_operation op;
        double size[8], error[8], own_squared, channel_error;
        int width, channel;
    } cases[] = {
        {"its own size", CT_OP_DOWN, {4, 16, 4, 4}, {0, 64, 1}, 65.0 / 28, 2, 4, 1},
        {"the middle size", CT_OP_DOWN, {4, 0, 1, 4, 9}, {0, 1, 0}, 1.0 / 18, 0.5, 5, 1},
        {"an eighth of the root of the mean", CT_OP_DOWN, {640}, {0, 0, 0.5}, 0.5 / 640, 0.5, 5, 2},
        {"the mean, of GELU times up", CT_OP_GEGLU, {9, 1, 1, 1}, {0, 12}, 1, 2, 4, 1},
        {"the first of several", CT_OP_UP, {1, 1, 1}, {0, 4, 4}, 8.0 / 3, 2, 3, 1},
        {"no error", CT_OP_UP, {1, 1, 1}, {0}, 0, 0, 3, 0},
        {"no size", CT_OP_UP, {0}, {0, 7}, 1, 1, 2, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double size[8], error[8], room[8];
        struct ct_judged j = {.op = cases[i].op, .width = cases[i].width, .size = size, .error = error};
        memcpy(size, cases[i].size, sizeof size);
        memcpy(error, cases[i].error, sizeof error);
        ct_bisect_channels(&j, room);
        const double own = sqrt(cases[i].own_squared);
        if (fabs(j.result.own - own) > 1e-12 ||
            fabs(j.result.channel_error - cases[i].channel_error) > 1e-12 ||
            j.result.channel != cases[i].channel)
            fail_msg("%s: own %g, channel %d %g, expected %g, %d, %g", cases[i].what, j.result.own,
                     j.result.channel, j.result.channel_error, own, cases[i].channel, cases[i].channel_error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_part_what_is_flagged),
        cmocka_unit_test(limits_are_what_is_written),
        cmocka_unit_test(absent_operations_and_what_is_carried),
        cmocka_unit_test(channels_against_their_size),
    };
    return cmocka_run_group_tests_name("check: judging operations", tests, NULL, NULL);
}
