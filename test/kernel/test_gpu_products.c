/* SPDX-License-Identifier: Apache-2.0 */
/* test_gpu_products.c: products by kernels for GPUs, as host C on fibres (test/emu), against ref, bit for
 * bit: every type, hard values, numbers of rows about those of a block, and threads that take turns in three
 * orders. Behind weights is a page that nobody may read. Kernels without their barriers are seen to be
 * wrong. Also what lies on a device as weights do: panels and tables of embeddings. All other kernels:
 * test_gpu.c. */
#define _DEFAULT_SOURCE
#include "gpu_util.h"

#include <sys/mman.h>
#include <unistd.h>

#include "kernel/gpu/gpu_types.h"
#include "layout/panel.h"

struct product {
    struct ct_weight w;
    uint8_t *stored, *panels; /* rows of a file, and the same as a device has them */
    size_t panel;
    float *x, *expected;
    int groups, tokens, n_panels;
};

/* A block of any bits whose values are finite and not so large that sums are not. */
static void put_block(uint8_t *to, enum ct_type type)
{
    const struct ct_type_info *info = ct_type_info(type);
    float value[256];
    bool fits = false;

    while (!fits) {
        const float f = hard();
        for (int i = 0; i < info->bytes; i++)
            to[i] = (uint8_t)bits();
        if (type == CT_F32)
            memcpy(to, &f, sizeof f);
        ct_dequantize(type, value, to, (size_t)info->block);
        fits = true;
        for (int i = 0; i < info->block; i++)
            fits &= fabsf(value[i]) < 0x1p65f;
    }
}

/* Zeros, behind which nothing may be read. */
static uint8_t *walled(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = ct_round_up(bytes, page);
    uint8_t *p = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(p != MAP_FAILED);
    assert_int_equal(mprotect(p + whole, page, PROT_NONE), 0);
    return p + whole - bytes;
}

static void end_walled(uint8_t *p, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = ct_round_up(bytes, page);

    munmap(p + bytes - whole, whole + page);
}

static void pack_product(struct product *p, const struct ct_weight *w, uint8_t *to)
{
    uint8_t *spare = room(CT_GPU_SPARE(w->cols));

    for (int i = 0; i < p->n_panels; i++)
        ct_gpu_pack(to + (size_t)i * p->panel, w, i * CT_PANEL_ROWS, spare);
    free(spare);
}

static struct product make_product(enum ct_type type, int cols, int rows, int tokens)
{
    const struct ct_type_info *info = ct_type_info(type);
    struct product p = {.w = {.type = type, .rows = rows, .cols = cols, .scale = 0.75f},
                        .panel = ct_gpu_panel_bytes(type, cols),
                        .groups = ct_pad_group(cols) / CT_GROUP,
                        .tokens = tokens,
                        .n_panels = (rows + CT_PANEL_ROWS - 1) / CT_PANEL_ROWS};

    assert_true(ct_type_row_bytes(type, (size_t)cols, &p.w.row_bytes));
    const size_t stored = (size_t)rows * p.w.row_bytes;
    p.stored = room(stored);
    for (size_t at = 0; at < stored; at += (size_t)info->bytes)
        put_block(p.stored + at, type);
    p.w.data = p.stored;
    p.panels = walled((size_t)p.n_panels * p.panel);
    pack_product(&p, &p.w, p.panels);
    p.x = values((size_t)tokens * (size_t)cols, hard);
    for (int k = 0; k < cols && tokens > 1; k++) /* a row below what int8 takes for zeros */
        p.x[cols + k] = 0x1.8p-91f;
    p.expected = room((size_t)(tokens * rows) * sizeof(float));
    return p;
}

/* Words that nobody should read, or write. */
static void *filled(size_t n)
{
    uint8_t *words = room(n * 4);

    memset(words, 0xa5, n * 4);
    return words;
}

static void end_product(struct product *p)
{
    free(p->stored);
    end_walled(p->panels, (size_t)p->n_panels * p->panel);
    free(p->x);
    free(p->expected);
}

/* Which kernels multiply, as it is and without its barriers: by f32 or int8, as the weight wants it, or by
 * units for matrices. */
enum kernel { PLAIN, EIGHT, MATRIX, KERNELS };
static const struct way {
    int width, height; /* rows of the weight and of the pass that a block has */
    void (*thread[2])(const void *all);
    bool (*reads)(const struct ct_gpu_type *t);
} ways[KERNELS] = {
    [PLAIN] = {CT_GPU_ROWS, CT_GPU_TOKENS, {project_q8_thread, project_q8_planted}, NULL},
    [EIGHT] = {CT_GPU_PANEL, CT_GPU_TOKENS, {project_eight_thread, project_eight_planted}, ct_gpu_has_eight},
    [MATRIX] = {CT_GPU_STRIP,
                CT_GPU_TILE,
                {project_matrix_thread, project_matrix_planted},
                ct_gpu_has_matrix},
};

/* What ref makes of the product, and how many of the outputs of the kernels differ from it. */
static int wrong_outputs(struct product *p, bool exact, enum kernel kernel, bool planted)
{
    const enum ct_input form = ct_input_form(&p->w, exact);
    const bool q8 = form == CT_INPUT_Q8;
    const struct way *way = &ways[kernel];
    const int rows = p->w.rows;
    const size_t tokens = (size_t)p->tokens, padded = (size_t)p->groups * CT_GROUP,
                 all = ct_round_up(tokens, CT_LANES) * padded, tiled = ct_round_up(tokens, CT_GPU_TILE),
                 outs = tokens * (size_t)rows;
    struct ct_prepared x = {p->tokens, p->w.cols, room(all * 4), room(all), room(all), room(all)};
    float *scratch = room(CT_SCRATCH(p->w.cols) * sizeof(float)), *out = filled(outs + 1);
    float *to = filled(tiled * padded), *scale = filled(tiled * padded / CT_GROUP);
    int32_t *sum = filled(tiled * padded / CT_HALF);
    int wrong = 0;

    ref.prepare_input(&x, form, p->x, (size_t)p->w.cols,
                      ct_input_of_tokens(&x, 0, (int)ct_round_up(tokens, CT_LANES)));
    ref.project(p->expected, (size_t)rows, &p->w, 0, rows, &x, form, scratch, NULL);
    fibre_run(q8 ? prepare_q8_thread : prepare_value_thread,
              &(struct ct_gpu_prepare){.x = p->x,
                                       .to = to,
                                       .scale = scale,
                                       .sum = sum,
                                       .ldx = p->w.cols,
                                       .cols = p->w.cols,
                                       .padded = (int)padded,
                                       .bf16 = form == CT_INPUT_BF16},
              (int)(padded + 255) / 256, p->tokens);
    fibre_run(q8        ? way->thread[planted]
              : planted ? project_value_planted
                        : project_value_thread,
              &(struct ct_gpu_project){.type = ct_gpu_type_of(p->w.type),
                                       .out = out,
                                       .w = p->panels,
                                       .x = to,
                                       .scale = scale,
                                       .sum = sum,
                                       .panel = p->panel,
                                       .ldo = rows,
                                       .n = p->tokens,
                                       .rows = rows,
                                       .groups = p->groups,
                                       .factor = p->w.scale},
              (rows + way->width - 1) / way->width, (p->tokens + way->height - 1) / way->height);
    for (size_t i = 0; i < outs; i++)
        wrong += ct_f32_bits(out[i]) != ct_f32_bits(p->expected[i]);
    assert_int_equal(ct_f32_bits(out[outs]), 0xa5a5a5a5u);
    free(x.value);
    free(x.q);
    free(x.scale);
    free(x.sum);
    free(scratch);
    free(out);
    free(to);
    free(scale);
    free(sum);
    return wrong;
}

/* Columns for a type, of which plain ones need not be whole groups. */
static int cols_of(enum ct_type type, int i)
{
    const int block = ct_type_info(type)->block, chunks[] = {1, 3, 10};

    return block == 1 ? chunks[i] * 96 - 6 : chunks[i] * block;
}

static bool has(enum kernel kernel, enum ct_type type)
{
    const struct ct_gpu_type t = ct_gpu_type_of(type);

    return !ways[kernel].reads || (fibre_multiplies && ways[kernel].reads(&t));
}

/* Each way to multiply: exact, or as the type wants it, by every kernel that reads it. */
static void check_product(struct product *p)
{
    for (int way = 0; way <= KERNELS; way++) {
        const enum kernel kernel = way == KERNELS ? PLAIN : (enum kernel)way;
        const int wrong = has(kernel, p->w.type) ? wrong_outputs(p, way == KERNELS, kernel, false) : 0;
        if (wrong)
            fail_msg("%s, %d columns, %d rows, way %d, order %d: %d of %d outputs",
                     ct_type_info(p->w.type)->name, p->w.cols, p->tokens, way, (int)fibre_order, wrong,
                     p->tokens * p->w.rows);
    }
}

static void products_have_the_bits_of_ref(void **unused)
{
    static const int tokens[] = {3, 1, 9, 2, 8, 7, 16, 17};

    (void)unused;
    for (int type = 0; type < CT_TYPE_COUNT; type++)
        for (int i = 0; type != CT_NUQ && i < 3; i++) {
            state = 88172645463325252u + (uint64_t)(type * 3 + i);
            struct product p = make_product((enum ct_type)type, cols_of((enum ct_type)type, i), 70,
                                            tokens[(type + 3 * i) % 8]);
            for (ORDERS(order))
                check_product(&p);
            end_product(&p);
        }
}

/* Rows of the pass and of the weight about those of a block, of types that lie most differently. */
static void products_of_many_rows_have_the_bits_of_ref(void **unused)
{
    static const int tokens[] = {1, 2, 3, 7, 8, 9, 31, 32, 33, 64, 65}, rows[] = {1, 16, 33, 134};
    static const enum ct_type types[] = {CT_BF16, CT_F16,  CT_SFP,  CT_Q8_0, CT_Q4_0,
                                         CT_Q4_K, CT_Q6_K, CT_Q2_K, CT_NVFP4};

    (void)unused;
    for (size_t t = 0; t < CT_COUNT(types) * CT_COUNT(tokens); t++) {
        const enum ct_type type = types[t % CT_COUNT(types)];
        state = 19 + t;
        struct product p =
            make_product(type, cols_of(type, 1), rows[t % CT_COUNT(rows)], tokens[t / CT_COUNT(types)]);
        fibre_order = (enum fibre_order)(t % FIBRE_ORDERS);
        check_product(&p);
        end_product(&p);
    }
}

/* Packed files have panels, which become the same ones on a device. */
static void packed_weights_become_the_same_panels(void **unused)
{
    (void)unused;
    state = 31;
    for (int type = 0; type < CT_TYPE_COUNT; type++) {
        if (type == CT_NUQ)
            continue;
        struct product p = make_product((enum ct_type)type, cols_of((enum ct_type)type, 1), 70, 1);
        struct ct_weight packed = p.w;
        packed.layout = CT_LAYOUT_PANELS;
        packed.row_bytes = ct_panel_size(p.w.type, p.w.cols);
        const size_t bytes = (size_t)p.n_panels * p.panel;
        uint8_t *data = room((size_t)p.n_panels * packed.row_bytes), *panels = room(bytes);
        for (int i = 0; i < p.n_panels; i++)
            ct_pack(data + (size_t)i * packed.row_bytes, &p.w, i * CT_PANEL_ROWS);
        packed.data = data;
        pack_product(&p, &packed, panels);
        assert_memory_equal(panels, p.panels, bytes);
        free(data);
        free(panels);
        end_product(&p);
    }
}

/* A kernel whose threads do not wait for each other gives others. */
static void a_missing_barrier_is_seen(void **unused)
{
    (void)unused;
    state = 1234567;
    struct product q8 = make_product(CT_Q8_0, 1152, 70, 3), bf16 = make_product(CT_BF16, 1152, 70, 3);
    for (ORDERS(order)) {
        assert_true(wrong_outputs(&q8, false, PLAIN, true) > 3 * 70 / 2);
        assert_true(!has(EIGHT, CT_Q8_0) || wrong_outputs(&q8, false, EIGHT, true) > 70);
        assert_true(wrong_outputs(&bf16, false, PLAIN, true) > 3 * 70 / 2);
    }
    end_product(&q8);
    end_product(&bf16);
}

static void embeddings_have_the_bits_of_ref(void **unused)
{
    enum { COLS = 512, IDS = 3 };
    const int32_t token[IDS] = {69, 0, 33};
    float expected[COLS], out[IDS * COLS], scratch[CT_SCRATCH(COLS)];

    (void)unused;
    state = 77;
    for (int type = 0; type < CT_TYPE_COUNT; type++) {
        if (type == CT_NUQ)
            continue;
        struct product p = make_product((enum ct_type)type, COLS, 70, 1);
        fibre_order = FIBRE_SCATTERED;
        fibre_run(embed_thread,
                  &(struct ct_gpu_embed){.type = ct_gpu_type_of(p.w.type),
                                         .out = out,
                                         .table = p.panels,
                                         .token = token,
                                         .panel = p.panel,
                                         .ldo = COLS,
                                         .cols = COLS,
                                         .factor = p.w.scale,
                                         .scale = 16.25f},
                  2, IDS);
        for (int t = 0; t < IDS; t++) {
            ref.dequantize_row(expected, &p.w, token[t], scratch);
            ref.scale(expected, 16.25f, COLS);
            assert_memory_equal(out + t * COLS, expected, sizeof expected);
        }
        end_product(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_have_the_bits_of_ref),
        cmocka_unit_test(products_of_many_rows_have_the_bits_of_ref),
        cmocka_unit_test(a_missing_barrier_is_seen),
        cmocka_unit_test(packed_weights_become_the_same_panels),
        cmocka_unit_test(embeddings_have_the_bits_of_ref),
    };
    return cmocka_run_group_tests_name("kernel: gpu products, emulated", tests, choose, NULL);
}
