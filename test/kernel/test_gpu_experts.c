/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_experts.c: what kernels for GPUs do where rows go through experts, as host C on fibres (test/emu),
 * against ref, bit for bit: which experts a row takes, products by matrices that rows chose, and the sum of
 * what these give. Other products: test_gpu_products.c. */
#include "gpu_util.h"

#include "kernel/gpu/gpu_types.h"
#include "quant/encode.h"

enum { ROWS = 3 };

/* Logits of which many are alike, so that numbers of experts decide. */
static float coarse(void)
{
    return (float)(int32_t)(bits() % 7) - 3;
}

/* Ids of ROWS rows, and as many weights, by both; what is not a number is so in both. */
static void check_route(const float *z, const float *scale, int n, int used)
{
    const size_t all = (size_t)(ROWS * used);
    int32_t *id = room(all * sizeof *id), *wanted_id = room(all * sizeof *wanted_id);
    float *weight = room(all * sizeof *weight), *wanted = room(all * sizeof *wanted);

    for (int row = 0; row < ROWS; row++)
        ref.route(wanted_id + row * used, wanted + row * used, z + row * n, n, used, scale);
    for (ORDERS(order)) {
        memset(id, 0xff, all * sizeof *id);
        fibre_run(
            route_thread,
            &(struct ct_gpu_route){
                .id = id, .weight = weight, .logits = z, .scale = scale, .ldl = n, .n = n, .used = used},
            1, ROWS);
        assert_memory_equal(id, wanted_id, all * sizeof *id);
        for (size_t i = 0; i < all; i++)
            if (ct_f32_bits(weight[i]) != ct_f32_bits(wanted[i]) &&
                !(weight[i] != weight[i] && wanted[i] != wanted[i]))
                fail_msg("%d of %d experts, order %d: weight %zu is %g, not %g", used, n, order, i,
                         (double)weight[i], (double)wanted[i]);
    }
    free(id);
    free(wanted_id);
    free(weight);
    free(wanted);
}

static void rows_take_the_experts_of_ref(void **unused)
{
    static const int sizes[][2] = {{1, 1}, {2, 1}, {7, 7}, {33, 5}, {128, 8}, {256, 40}, {300, 256}};

    (void)unused;
    state = 88172645463325252u;
    for (size_t s = 0; s < CT_COUNT(sizes); s++)
        for (int how = 0; how < 3; how++) {
            const int n = sizes[s][0], used = sizes[s][1];
            float *z = values((size_t)(ROWS * n), how ? coarse : mild), *scale = values((size_t)n, mild);
            if (how == 2) { /* a row that is spoiled, and one in which all are */
                z[n / 2] = INFINITY;
                for (int i = 0; i < n; i++)
                    z[n + i] = NAN;
            }
            check_route(z, scale, n, used);
            free(z);
            free(scale);
        }
}

static void what_experts_give_is_summed_as_by_ref(void **unused)
{
    enum { N = 300, USED = 5, APART = N + 7 };

    (void)unused;
    state = 362436069362436069u;
    float *y = values(ROWS * USED * APART, mild), *weight = values(ROWS * USED, mild),
          *out = room(ROWS * APART * 4), *wanted = room(ROWS * APART * 4);
    for (int row = 0; row < ROWS; row++)
        for (int k = 0; k < USED; k++)
            ref.add_scaled(wanted + row * APART, weight[row * USED + k], y + (row * USED + k) * APART, N);
    for (ORDERS(order)) {
        fibre_run(add_experts_thread,
                  &(struct ct_gpu_add_experts){
                      .out = out, .y = y, .weight = weight, .ldo = APART, .ldy = APART, .n = N, .used = USED},
                  (N + 255) / 256, ROWS);
        assert_memory_equal(out, wanted, ROWS * APART * 4);
    }
    free(y);
    free(weight);
    free(out);
    free(wanted);
}

/* ---- products ---- */

enum { EXPERTS = 5, OUTS = 37, COLS = 256 };

struct experts {
    struct ct_weight w[EXPERTS]; /* as a file has them */
    struct ct_gpu_expert table[EXPERTS];
    size_t panel;
};

static struct experts make_experts(enum ct_type type)
{
    struct experts e = {.panel = ct_gpu_panel_bytes(type, COLS)};
    uint8_t *spare = room(CT_GPU_SPARE(COLS));

    for (int i = 0; i < EXPERTS; i++) {
        struct ct_weight *w = &e.w[i];
        *w = (struct ct_weight){.type = type, .rows = OUTS, .cols = COLS, .scale = 0.5f + (float)i / 8};
        assert_true(ct_type_row_bytes(type, COLS, &w->row_bytes));
        uint8_t *stored = room(OUTS * w->row_bytes),
                *panels = room((size_t)ct_round_up(OUTS, 16) / 16 * e.panel);
        float *value = values(OUTS * COLS, mild);
        for (int r = 0; r < OUTS; r++)
            ct_encode_row(type, stored + (size_t)r * w->row_bytes, value + r * COLS, COLS, NULL, false);
        w->data = stored;
        for (int p = 0; p * 16 < OUTS; p++)
            ct_gpu_pack(panels + (size_t)p * e.panel, w, p * 16, spare);
        e.table[i] = (struct ct_gpu_expert){.w = panels, .factor = w->scale};
        free(value);
    }
    free(spare);
    return e;
}

static void end_experts(struct experts *e)
{
    for (int i = 0; i < EXPERTS; i++) {
        free((void *)(uintptr_t)e->w[i].data);
        free((void *)(uintptr_t)e->table[i].w);
    }
}

/* What ref makes of a row of x and an expert. */
static void product(float *out, const float *x, const struct ct_weight *w, enum ct_input form)
{
    const size_t all = (size_t)CT_LANES * COLS;
    struct ct_prepared p = {1, COLS, room(all * 4), room(all), room(all), room(all)};
    float *scratch = room(CT_SCRATCH(COLS) * sizeof(float));

    ref.prepare_input(&p, form, x, COLS, ct_input_of_tokens(&p, 0, CT_LANES));
    ref.project(out, OUTS, w, 0, OUTS, &p, form, scratch, NULL);
    free(p.value);
    free(p.q);
    free(p.scale);
    free(p.sum);
    free(scratch);
}

/* Rows of which several are of one row of the input, or each of its own. */
static void check_chosen(const struct experts *e, int share, bool exact)
{
    enum { MADE = 11, GROUPS = COLS / 32 };
    static const int32_t id[MADE] = {3, 0, 4, 4, 1, 0, 2, 3, 3, 1, 0};
    const enum ct_input form = ct_input_form(&e->w[0], exact);
    const bool q8 = form == CT_INPUT_Q8;
    const int rows = (MADE + share - 1) / share, tiled = (int)ct_round_up((size_t)rows, CT_GPU_TILE);
    float *x = values((size_t)rows * COLS, mild), *to = room((size_t)tiled * COLS * 4),
          *scale = room((size_t)tiled * GROUPS * 4), *out = room(MADE * OUTS * 4),
          *wanted = room(MADE * OUTS * 4);
    int32_t *sum = room((size_t)tiled * GROUPS * 8);

    for (int i = 0; i < MADE; i++)
        product(wanted + i * OUTS, x + i / share * COLS, &e->w[id[i]], form);
    fibre_run(q8 ? prepare_q8_thread : prepare_value_thread,
              &(struct ct_gpu_prepare){.x = x,
                                       .to = to,
                                       .scale = scale,
                                       .sum = sum,
                                       .ldx = COLS,
                                       .cols = COLS,
                                       .padded = COLS,
                                       .bf16 = form == CT_INPUT_BF16},
              1, rows);
    for (ORDERS(order)) {
        memset(out, 0, MADE * OUTS * 4);
        fibre_run(q8 ? project_q8_thread : project_value_thread,
                  &(struct ct_gpu_project){.type = ct_gpu_type_of(e->w[0].type),
                                           .out = out,
                                           .x = to,
                                           .scale = scale,
                                           .sum = sum,
                                           .expert = e->table,
                                           .id = id,
                                           .panel = e->panel,
                                           .ldo = OUTS,
                                           .n = MADE,
                                           .rows = OUTS,
                                           .groups = GROUPS,
                                           .share = share},
                  (OUTS + 31) / 32, MADE);
        assert_memory_equal(out, wanted, MADE * OUTS * 4);
    }
    free(x);
    free(to);
    free(scale);
    free(out);
    free(wanted);
    free(sum);
}

static void products_are_by_the_expert_that_was_chosen(void **unused)
{
    static const enum ct_type types[] = {CT_BF16, CT_F32, CT_Q8_0, CT_Q4_0, CT_Q4_K, CT_Q6_K};

    (void)unused;
    state = 521288629521288629u;
    for (size_t t = 0; t < CT_COUNT(types); t++) {
        struct experts e = make_experts(types[t]);
        for (int share = 1; share <= 4; share += 3)
            for (int exact = 0; exact < 2; exact++)
                check_chosen(&e, share, exact);
        end_experts(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_take_the_experts_of_ref),
        cmocka_unit_test(what_experts_give_is_summed_as_by_ref),
        cmocka_unit_test(products_are_by_the_expert_that_was_chosen),
    };
    return cmocka_run_group_tests_name("kernel: experts on a GPU, emulated", tests, choose, NULL);
}
