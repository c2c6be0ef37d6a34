/* SPDX-License-Identifier: Apache-2.0 */
/* test_head_bound.c: the bounds of a pruned head hold (NUMERICS.md section 12): for every type that a head is
 * pruned in, every sketch, rows and hidden states of many kinds, logits and scores by the kernels, no logit
 * is further from its score than its bound says; and hardly nearer where both are made to be as far apart as
 * can be, so that a bound too small by a tenth fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>

#include "kernel/kernel.h"
#include "model/head_bound.h"
#include "quant/blocks.h"
#include "quant/encode.h"

#include <cmocka.h>

enum { ROWS = 48, COLS = 768 };

static const enum ct_type head_types[] = {CT_F32, CT_F16, CT_BF16, CT_SFP, CT_Q8_0, CT_Q6_K, CT_Q5_0};
static const enum ct_type sketch_types[] = {CT_Q4_0, CT_Q5_0, CT_Q8_0};

struct scene {
    struct ct_kernel kernel;
    struct ct_weight head, sketch;
    _Alignas(64) uint8_t stored[ROWS * COLS * 4], sketched[ROWS * COLS * 2];
    float w[ROWS][COLS], s[ROWS][COLS]; /* decoded */
    struct ct_row_bound bound[ROWS];
    _Alignas(64) float scratch[8 * COLS];
    _Alignas(64) float value[COLS];
    _Alignas(64) int8_t q[COLS];
    _Alignas(64) float scale[COLS / CT_GROUP];
    _Alignas(64) int32_t sum[COLS / CT_HALF];
    float x[COLS];
    float logit[ROWS], score[ROWS];
    struct ct_token_bound token;
    uint64_t random;
};

static uint32_t scene_random(struct scene *c)
{
    uint64_t z = c->random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)((z ^ z >> 27) * 0x94d049bb133111ebu >> 32);
}
static float scene_uniform(struct scene *c)
{
    return (float)(int32_t)scene_random(c) * 0x1p-31f;
}
/* Nearly normal. */
static float scene_normal(struct scene *c)
{
    float sum = 0;
    for (int i = 0; i < 6; i++)
        sum += scene_uniform(c);
    return sum * 0.707f;
}

/* ---- rows ---- */

enum rows { ORDINARY, OUTLIERS, CONSTANT, TINY, HUGE_ROWS, ON_GRID, ROW_KINDS };

/* Values for a row; what its type cannot hold is rounded to it. */
static float scene_value(struct scene *c, enum rows kind, int row, int col)
{
    switch (kind) {
    case OUTLIERS:
        return scene_normal(c) * (scene_random(c) % 97 == 0 ? 3 : 0.02f);
    case CONSTANT:
        return (float)(row % 5 - 2) * 0.37f;
    case TINY:
        return scene_normal(c) * ldexpf(1, row % 3 == 0 ? -140 : row % 3 == 1 ? -24 : -60);
    case HUGE_ROWS:
        return scene_normal(c) * 900;
    case ON_GRID: /* the sketch is the row */
        return col % 32 == 0 ? -8 * 64 : (float)((int)(scene_random(c) % 15) - 7) * 64;
    default:
        return scene_normal(c) * 0.03f;
    }
}

static uint8_t sfp_of(float v)
{
    uint8_t best = 1;
    float least = INFINITY;
    for (int code = 1; code < 128; code++) {
        float value;
        uint8_t byte = (uint8_t)code;
        ct_dequantize(CT_SFP, &value, &byte, 1);
        if (fabsf(value - fabsf(v)) < least) {
            least = fabsf(value - fabsf(v));
            best = byte;
        }
    }
    return v < 0 ? best | 0x80 : best;
}

/* Blocks of Q6_K whose codes are random and whose factors give values of about that size. */
static void store_q6_k(struct scene *c, uint8_t *to, float size)
{
    const struct ct_type_info *t = ct_type_info(CT_Q6_K);
    const uint16_t most = 0x7bff;

    for (int first = 0; first < COLS; first += t->block, to += t->bytes) {
        float about = size * (0.5f + 0.5f * fabsf(scene_uniform(c)));
        for (int i = 0; i < t->bytes; i++)
            to[i] = (uint8_t)scene_random(c);
        ((struct ct_block_q6_k *)to)->d = CT_MIN(ct_f32_to_f16(about / 1200), most);
    }
}

static void store_row(struct scene *c, uint8_t *to, enum rows kind, int row)
{
    float x[COLS];
    const float size = kind == HUGE_ROWS || kind == ON_GRID ? 900 : kind == TINY ? 0x1p-20f : 0.05f;

    for (int i = 0; i < COLS; i++)
        x[i] = scene_value(c, kind, row, i);
    for (int i = 0; i < COLS; i++)
        switch (c->head.type) {
        case CT_F32:
            memcpy(to + 4 * i, &x[i], 4);
            break;
        case CT_F16:
            memcpy(to + 2 * i, &(uint16_t){ct_f32_to_f16(x[i])}, 2);
            break;
        case CT_BF16:
            memcpy(to + 2 * i, &(uint16_t){ct_f32_to_bf16(x[i])}, 2);
            break;
        case CT_SFP:
            to[i] = sfp_of(kind == HUGE_ROWS || kind == ON_GRID ? x[i] / 900 : x[i]);
            break;
        default:
            break;
        }
    if (ct_encodes(c->head.type))
        ct_encode(c->head.type, to, x, COLS);
    else if (c->head.type == CT_Q6_K)
        store_q6_k(c, to, size);
}

static void scene_rows(struct scene *c, enum ct_type type, enum ct_type sketch, enum rows kind, float factor)
{
    size_t bytes, sketch_bytes;

    assert_true(ct_type_row_bytes(type, COLS, &bytes));
    assert_true(ct_type_row_bytes(sketch, COLS, &sketch_bytes));
    c->head = (struct ct_weight){type, CT_LAYOUT_ROWS, ROWS, COLS, bytes, c->stored, factor, false, NULL};
    c->sketch =
        (struct ct_weight){sketch, CT_LAYOUT_ROWS, ROWS, COLS, sketch_bytes, c->sketched, 1, false, NULL};
    for (int r = 0; r < ROWS; r++) {
        uint8_t *stored = c->stored + (size_t)r * bytes;
        store_row(c, stored, kind, r);
        c->kernel.dequantize_row(c->w[r], &c->head, r, c->scratch);
        ct_encode(sketch, c->sketched + (size_t)r * sketch_bytes, c->w[r], COLS);
        c->kernel.dequantize_row(c->s[r], &c->sketch, r, c->scratch);
        ct_head_bound_row(&c->bound[r], c->w[r], c->s[r], COLS);
    }
}

/* ---- a token ---- */

static void scene_project(struct scene *c, float *out, const struct ct_weight *w)
{
    const enum ct_input form = ct_input_form(w, false);
    struct ct_prepared p = {1, COLS, c->value, c->q, c->scale, c->sum};

    c->kernel.prepare_input(&p, form, c->x, COLS, ct_input_of_tokens(&p, 0, CT_LANES));
    c->kernel.project(out, ROWS, w, 0, ROWS, &p, form, c->scratch, NULL);
}

/* How far logits are from scores, as a part of the bound: the most of all rows; every one must hold. */
static double scene_token(struct scene *c)
{
    struct ct_input_norms norms;
    double most = 0;

    scene_project(c, c->logit, &c->head);
    scene_project(c, c->score, &c->sketch);
    c->kernel.input_norms(&norms, c->x, COLS, ct_input_form(&c->head, false));
    c->token = ct_head_bound_token(&c->head, &norms);
    for (int r = 0; r < ROWS; r++) {
        double slack = (double)ct_f16_to_f32(c->bound[r].residual) * c->token.x +
                       (double)ct_f16_to_f32(c->bound[r].norm) * c->token.y + 0x1p-120;
        double apart = fabs((double)c->logit[r] - (double)c->score[r]);
        if (!(slack < (double)INFINITY))
            continue;
        if (!(apart <= slack))
            fail_msg("%s, sketch %s: logit %a, score %a, bound %a", ct_type_info(c->head.type)->name,
                     ct_type_info(c->sketch.type)->name, (double)c->logit[r], (double)c->score[r], slack);
        most = fmax(most, apart / slack);
    }
    return most;
}

/* No row leaves whose logit reaches the bar, for bars at and beside every logit. */
static void scene_prunes(struct scene *c)
{
    int32_t panels[ROWS / CT_PANEL_ROWS];

    for (int at = 0; at < ROWS; at++)
        for (int beside = -1; beside <= 1; beside++) {
            float bar = beside ? nextafterf(c->logit[at], (float)beside * INFINITY) : c->logit[at];
            struct ct_prune p = {c->score, c->bound, ROWS, c->token, bar, NULL};
            int rows, n = c->kernel.prune(panels, &rows, &p), found = 0;
            bool stays[ROWS / CT_PANEL_ROWS] = {false};
            for (int i = 0; i < n; i++)
                stays[panels[i]] = true;
            for (int r = 0; r < ROWS; r++) {
                assert_true(!(c->logit[r] >= bar) || stays[r / CT_PANEL_ROWS]);
                found += c->logit[r] >= bar;
            }
            assert_true(rows >= found);
        }
}

enum hidden { NORMAL, SPIKES, SMALL, LARGE, ALIGNED, HIDDEN_KINDS };

static void scene_hidden(struct scene *c, enum hidden kind, int row)
{
    for (int i = 0; i < COLS; i++)
        switch (kind) {
        case SPIKES:
            c->x[i] = scene_normal(c) * (scene_random(c) % 61 == 0 ? 80 : 0.3f);
            break;
        case SMALL: /* subnormal, below what is quantised, or flushed */
            c->x[i] = scene_normal(c) * ldexpf(1, i / 32 % 3 == 0 ? -140 : i / 32 % 3 == 1 ? -92 : -51);
            break;
        case LARGE:
            c->x[i] = scene_normal(c) * 0x1p90f;
            break;
        case ALIGNED:
            c->x[i] = c->w[row][i] * 7;
            break;
        default:
            c->x[i] = scene_normal(c);
            break;
        }
}

static struct scene *scene_open(void)
{
    struct scene *c = aligned_alloc(64, ct_round_up(sizeof *c, 64));
    struct ct_cpu cpu;

    assert_non_null(c);
    memset(c, 0, sizeof *c);
    ct_cpu_detect(&cpu);
    assert_true(ct_kernel_choose(&c->kernel, &cpu, NULL));
    return c;
}

static void every_bound_holds(void **state)
{
    struct scene *c = scene_open();

    (void)state;
    for (size_t t = 0; t < CT_COUNT(head_types); t++)
        for (size_t s = 0; s < CT_COUNT(sketch_types); s++)
            for (int rows = 0; rows < ROW_KINDS; rows++) {
                const bool factor = ct_type_info(head_types[t])->ggml < 0 && rows % 2;
                scene_rows(c, head_types[t], sketch_types[s], (enum rows)rows, factor ? 1.37f : 1);
                for (int hidden = 0; hidden < HIDDEN_KINDS; hidden++)
                    for (int turn = 0; turn < 3; turn++) {
                        scene_hidden(c, (enum hidden)hidden, 7 * turn);
                        scene_token(c);
                        if (turn == 0)
                            scene_prunes(c);
                    }
            }
    free(c);
}

/* Hidden states along what the sketch leaves of a row: the bound is reached but for a tenth. */
static void the_residual_reaches_the_bound(void **state)
{
    struct scene *c = scene_open();

    (void)state;
    for (size_t t = 0; t < CT_COUNT(head_types); t++) {
        double most = 0;
        scene_rows(c, head_types[t], CT_Q4_0, ORDINARY, 1);
        for (int r = 0; r < ROWS; r++) {
            for (int i = 0; i < COLS; i++)
                c->x[i] = (c->w[r][i] - c->s[r][i]) * 100;
            most = fmax(most, scene_token(c));
            scene_prunes(c);
        }
        if (most < 0.9)
            fail_msg("%s: %.3f of the bound", ct_type_info(head_types[t])->name, most);
    }
    free(c);
}

/* Rows that their sketch has exactly, and hidden states of which int8 drops what points along a row: all that
 * is left is the other term. */
static void dropped_activations_reach_the_bound(void **state)
{
    static const enum ct_type floats[] = {CT_F32, CT_F16, CT_BF16};
    struct scene *c = scene_open();

    (void)state;
    for (size_t t = 0; t < CT_COUNT(floats); t++) {
        double most = 0;
        scene_rows(c, floats[t], CT_Q4_0, ON_GRID, 1);
        for (int r = 0; r < ROWS; r++) {
            for (int i = 0; i < COLS; i++)
                c->x[i] = i % 32 == 0 ? 1024 * 127 : c->w[r][i];
            most = fmax(most, scene_token(c));
        }
        if (most < 0.9)
            fail_msg("%s: %.3f of the bound", ct_type_info(floats[t])->name, most);
    }
    free(c);
}

/* Large rows that their sketch has exactly, in the activations of the head: nothing but roundings is left. */
static void roundings_count(void **state)
{
    struct scene *c = scene_open();
    double most = 0;

    (void)state;
    scene_rows(c, CT_F32, CT_Q4_0, ON_GRID, 1);
    for (int turn = 0; turn < 50; turn++) {
        for (int i = 0; i < COLS; i++)
            c->x[i] = i % 32 == 0 ? 127 : (float)((int)(scene_random(c) % 255) - 127);
        for (int i = 0; i < COLS; i++)
            c->x[i] = c->x[i] * 3e-5f + 0.0f;
        most = fmax(most, scene_token(c));
    }
    assert_true(most > 1e-3); /* there are some */
    free(c);
}

/* Codes of f16 never lie below what they stand for. */
static void codes_are_rounded_up(void **state)
{
    float w[64], s[64] = {0};
    uint64_t up = 0;
    struct scene *c = scene_open();

    (void)state;
    for (int turn = 0; turn < 20000; turn++) {
        struct ct_row_bound b;
        double norm = 0;
        for (int i = 0; i < 64; i++) {
            w[i] = ldexpf(scene_uniform(c), turn % 50 - 36);
            norm += (double)w[i] * (double)w[i];
        }
        ct_head_bound_row(&b, w, s, 64);
        assert_true((double)ct_f16_to_f32(b.norm) >= sqrt(norm));
        assert_true((double)ct_f16_to_f32(b.residual) >= sqrt(norm));
        assert_true(b.norm == 0x7c00 || b.norm <= ct_f32_to_f16((float)sqrt(norm)) + 1);
        up += b.norm > ct_f32_to_f16((float)sqrt(norm));
    }
    assert_true(up > 1000);
    free(c);
}

/* Where sketch and activations are exact the roundings are left: as many as NUMERICS.md counts, of the row's
 * side and of the token's, whatever the other one would cover. */
static void roundings_are_counted(void **state)
{
    static const struct {
        enum ct_type type;
        int roundings;
    } counted[] = {{CT_F32, 24 + 19}, {CT_F16, 24 + 19}, {CT_BF16, 24 + 19}, {CT_SFP, 24 + 19},
                   {CT_Q8_0, 24 + 4}, {CT_Q6_K, 24 + 4}, {CT_Q5_0, 24 + 4}};
    float w[COLS];
    struct ct_row_bound b;

    (void)state;
    for (int i = 0; i < COLS; i++)
        w[i] = 1000;
    ct_head_bound_row(&b, w, w, COLS);
    assert_true(ct_f16_to_f32(b.residual) >= 26 * 0x1p-24 * 1000 * sqrt(COLS));
    assert_true(ct_f16_to_f32(b.residual) <= 26 * 0x1p-24 * 1000 * sqrt(COLS) * 1.002);
    for (size_t i = 0; i < CT_COUNT(counted); i++) {
        struct ct_weight head = {counted[i].type, CT_LAYOUT_ROWS, 1, COLS, 0, w, 1, false, NULL};
        struct ct_token_bound t = ct_head_bound_token(&head, &(struct ct_input_norms){2, 0.5, 3});
        assert_true(t.x > 2 && t.x < 2.0001);
        assert_true(t.y > 0.5 + counted[i].roundings * 0x1p-24 * 3);
        assert_true(t.y < 0.5 + counted[i].roundings * 0x1p-24 * 3.0001);
    }
}

/* What is not a number or too large has no bound, and no row of it leaves. */
static void nothing_is_said_of_what_is_no_number(void **state)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY, 1e30f, 66000};
    float w[64] = {1}, s[64] = {1};
    struct ct_row_bound b;
    const struct ct_weight head = {CT_BF16, CT_LAYOUT_ROWS, 16, 64, 128, w, 1, false, NULL};

    (void)state;
    ct_head_bound_row(&b, w, s, 64);
    assert_true(b.norm == 0x3c01 && b.residual > 0 && b.residual < 0x20);
    for (size_t i = 0; i < CT_COUNT(odd); i++) {
        w[9] = odd[i];
        ct_head_bound_row(&b, w, s, 64);
        assert_int_equal(b.norm, 0x7c00);
        assert_int_equal(b.residual, 0x7c00);
        w[9] = 0, s[9] = odd[i];
        ct_head_bound_row(&b, w, s, 64);
        assert_int_equal(b.residual, 0x7c00);
        s[9] = 0;
    }
    static const double large[] = {NAN, INFINITY, 0x1p100};
    for (size_t i = 0; i < CT_COUNT(large); i++) {
        struct ct_input_norms norms[] = {{large[i], 0, 1}, {1, large[i], 1}, {1, 0, large[i]}};
        for (size_t k = 0; k < CT_COUNT(norms); k++) {
            struct ct_token_bound t = ct_head_bound_token(&head, &norms[k]);
            assert_true(isinf(t.x) && isinf(t.y));
        }
    }
    struct ct_weight scaled = head;
    scaled.scale = 300;
    assert_true(isinf(ct_head_bound_token(&scaled, &(struct ct_input_norms){1, 0, 1}).x));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bound_holds),
        cmocka_unit_test(the_residual_reaches_the_bound),
        cmocka_unit_test(dropped_activations_reach_the_bound),
        cmocka_unit_test(roundings_count),
        cmocka_unit_test(codes_are_rounded_up),
        cmocka_unit_test(roundings_are_counted),
        cmocka_unit_test(nothing_is_said_of_what_is_no_number),
    };
    return cmocka_run_group_tests_name("head_bound", tests, NULL, NULL);
}
