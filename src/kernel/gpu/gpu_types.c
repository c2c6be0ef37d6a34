/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_types.c: stored types as the kernels for GPUs read them. Panels are those of the CPU (layout/panel.h),
 * but for types whose blocks are numbers of codebook entries or digits: these become codes of 4 bits, numbers
 * of a table's 16 values, in panels like those of Q6_K. What bits mean: quant/quant.c.
 *
 * Weights lie in the CPU's panels, so that packing them, and a packed file, serve both. Two kernels multiply
 * every type, one by int8, one by f32, eight rows of the pass for a weight that is read. */
#include "kernel/gpu/gpu_types.h"

#include "layout/panel.h"
#include "quant/grids.h"

/* An expanded panel, of 256 k: d of each row, two factors of each group, a line of 64 bytes for each 8 k. */
enum { EXPANDED_K = 256, FACTORS = 64, LINES = 320, EXPANDED = LINES + EXPANDED_K / 8 * 64 };

static const int8_t levels_iq1[] = {1, 7, 9}, levels_tq[] = {1};

/* The forms of codes and factors of a type, where its panel does not say them. */
static const struct row {
    enum ct_gpu_form form;
    int bits, factors;    /* of a value; bytes of a group */
    int minus, times;     /* times 0: once */
    const int8_t *values; /* [16] by code */
    const int8_t *levels; /* [n_levels] of an expanded type: values 0 to 7; 8 to 15 are their negatives */
    int n_levels;
    float by; /* 0: once */
} table[CT_TYPE_COUNT] = {
    [CT_F32] = {.form = CT_GPU_F32, .bits = 32},
    [CT_F16] = {.form = CT_GPU_F16, .bits = 16},
    [CT_BF16] = {.form = CT_GPU_BF16, .bits = 16},
    [CT_SFP] = {.form = CT_GPU_SFP, .bits = 8},
    [CT_Q8_0] = {.form = CT_GPU_F16_SCALE, .bits = 8, .factors = 2},
    [CT_Q4_0] = {.form = CT_GPU_F16_SCALE, .bits = 4, .factors = 2, .minus = 8},
    [CT_Q4_1] = {.form = CT_GPU_F16_SCALE, .bits = 4, .factors = 4},
    [CT_Q5_0] = {.form = CT_GPU_F16_SCALE, .bits = 5, .factors = 2, .minus = 16},
    [CT_Q5_1] = {.form = CT_GPU_F16_SCALE, .bits = 5},
    [CT_Q2_K] = {.form = CT_GPU_NIBBLES, .bits = 2, .factors = 2},
    [CT_Q3_K] = {.form = CT_GPU_HALVES, .bits = 3, .factors = 2, .minus = 4},
    [CT_Q4_K] = {.form = CT_GPU_SIX_BITS, .bits = 4, .factors = 2},
    [CT_Q5_K] = {.form = CT_GPU_SIX_BITS, .bits = 5, .factors = 2},
    [CT_Q6_K] = {.form = CT_GPU_HALVES, .bits = 6, .factors = 2, .minus = 32},
    [CT_IQ4_NL] = {.form = CT_GPU_F16_SCALE, .bits = 4, .factors = 2, .values = ct_iq4_values},
    [CT_IQ4_XS] = {.form = CT_GPU_SIX_BITS, .bits = 4, .factors = 1, .values = ct_iq4_values},
    [CT_MXFP4] = {.form = CT_GPU_E8M0, .bits = 4, .factors = 1, .values = ct_mxfp4_values},
    [CT_IQ2_XXS] = {.levels = ct_levels_iq2, .n_levels = 3, .by = 0.125f},
    [CT_IQ2_XS] = {.levels = ct_levels_iq2, .n_levels = 3, .by = 0.125f},
    [CT_IQ2_S] = {.levels = ct_levels_iq2, .n_levels = 3, .by = 0.125f},
    [CT_IQ3_XXS] = {.levels = ct_levels_iq3_xxs, .n_levels = 8, .by = 0.25f},
    [CT_IQ3_S] = {.levels = ct_levels_iq3_s, .n_levels = 8},
    [CT_IQ1_S] = {.levels = levels_iq1, .n_levels = 3, .by = 0.125f},
    [CT_IQ1_M] = {.levels = levels_iq1, .n_levels = 3, .by = 0.125f},
    [CT_TQ1_0] = {.levels = levels_tq, .n_levels = 1},
    [CT_TQ2_0] = {.form = CT_GPU_F16_SCALE, .bits = 2, .minus = 1},
    [CT_Q1_0] = {.form = CT_GPU_F16_SCALE, .bits = 1, .minus = 1, .times = 2},
    [CT_Q2_0] = {.form = CT_GPU_F16_SCALE, .bits = 2, .minus = 1},
    [CT_NVFP4] = {.form = CT_GPU_E4M3, .bits = 4, .factors = 2, .values = ct_mxfp4_values},
    [CT_I8] = {.form = CT_GPU_BF16_SCALE, .bits = 8},
};

static uint32_t ones(uint32_t bits)
{
    return bits < 8 ? ((1u << bits) - 1) * 0x01010101u : ~0u;
}

/* Writes what the 16 codes of an expanded type stand for; those that no block has are 0. */
static void expanded_values(int8_t value[16], const struct row *row)
{
    memset(value, 0, 16);
    for (int i = 0; i < row->n_levels; i++) {
        value[i] = row->levels[i];
        value[8 + i] = (int8_t)-row->levels[i];
    }
}

struct ct_gpu_type ct_gpu_type_of(enum ct_type type)
{
    const struct ct_type_info *info = ct_type_info(type);
    const struct ct_panel *panel = ct_panel_of(type);
    const struct row *row = &table[type];
    const bool expanded = row->levels, in_groups = row->form == CT_GPU_F16_SCALE && row->factors;
    const int bits = expanded ? 4 : row->bits, factors = expanded ? 2 : row->factors;
    const int groups = (expanded ? EXPANDED_K : panel->k) / CT_GROUP;
    struct ct_gpu_type t = {.form = expanded ? CT_GPU_HALVES : row->form,
                            .more = info->apart     ? CT_GPU_APART
                                    : info->minimum ? CT_GPU_MINIMUM
                                                    : CT_GPU_ONE_STEP,
                            .low = (uint32_t)(bits < 16 ? ct_plane_bits(bits) : bits),
                            .chunk = (uint32_t)(expanded ? EXPANDED : panel->bytes),
                            .shift = (uint32_t)__builtin_ctz((unsigned)groups),
                            .stride = in_groups ? CT_PANEL_ROWS * 2 : 0,
                            .apart = CT_PANEL_ROWS * 2 * (factors == 4 ? (uint32_t)groups : 1),
                            .width = (uint32_t)CT_MIN(factors, 2),
                            .times = row->times ? (uint32_t)row->times : 1,
                            .minus = row->minus,
                            .flip = bits == 8 && info->expand ? 0x80808080u : 0,
                            .tabled = expanded || row->values,
                            .by = row->by != 0 ? row->by : 1};

    t.high = (uint32_t)bits - t.low;
    t.mask = ones(t.low);
    t.mask_high = ones(t.high);
    t.lines = t.chunk - (uint32_t)(groups * 64 * bits);
    t.bytes = t.lines - (uint32_t)(groups * CT_PANEL_ROWS * factors);
    if (expanded)
        expanded_values((int8_t *)t.value, row);
    else if (row->values)
        memcpy(t.value, row->values, sizeof t.value);
    return t;
}

size_t ct_gpu_panel_bytes(enum ct_type type, int cols)
{
    return table[type].levels ? (size_t)(cols / EXPANDED_K) * EXPANDED : ct_panel_size(type, cols);
}

/* ---- panels ---- */

static void put_group(uint8_t *chunk, const struct ct_group *group, int g, int r, bool halves,
                      const uint8_t code[256])
{
    uint8_t *factor = chunk + FACTORS + (g * CT_PANEL_ROWS + r) * 2,
            *lines = chunk + LINES + g * 4 * 64 + r * 4;

    for (int i = 0; i < 2; i++)
        factor[i] = halves ? (uint8_t)group->sc[i] : 1;
    for (int k = 0; k < CT_GROUP; k++)
        lines[k / 8 * 64 + k % 4] |= (uint8_t)(code[(uint8_t)group->q[k]] << k / 4 % 2 * 4);
}

/* A row of blocks among those of a panel, which is zeros before. */
static void expand(uint8_t *panel, enum ct_type type, const uint8_t *blocks, int r, int cols)
{
    const struct ct_type_info *info = ct_type_info(type);
    const struct ct_gpu_type t = ct_gpu_type_of(type);
    const int8_t *value = (const int8_t *)t.value;
    struct ct_group group[EXPANDED_K / CT_GROUP];
    uint8_t code[256] = {0};

    for (int i = 15; i >= 0; i--)
        code[(uint8_t)value[i]] = (uint8_t)i;
    for (int k = 0; k < cols; k += EXPANDED_K, blocks += info->bytes, panel += EXPANDED) {
        info->expand(group, blocks, EXPANDED_K);
        const uint16_t d = ct_f32_to_f16(group->ws / t.by);
        memcpy(panel + 2 * r, &d, sizeof d);
        for (int g = 0; g < EXPANDED_K / CT_GROUP; g++)
            put_group(panel, &group[g], g, r, info->halves, code);
    }
}

/* Rows as they are stored, of a weight in panels. */
static struct ct_weight rows_of(const struct ct_weight *w, int r0, int n, uint8_t *spare)
{
    struct ct_weight rows = *w;

    rows.layout = CT_LAYOUT_ROWS;
    rows.rows = n;
    rows.data = spare;
    ct_type_row_bytes(w->type, (size_t)w->cols, &rows.row_bytes);
    for (int r = 0; r < n; r++)
        ct_unpack(spare + (size_t)r * rows.row_bytes, w, r0 + r);
    return rows;
}

void ct_gpu_pack(uint8_t *panel, const struct ct_weight *w, int r0, uint8_t *spare)
{
    const int n = CT_MIN(CT_PANEL_ROWS, w->rows - r0);
    const bool expanded = table[w->type].levels;

    if (w->layout == CT_LAYOUT_PANELS && !expanded) {
        memcpy(panel, (const uint8_t *)w->data + (size_t)(r0 / CT_PANEL_ROWS) * w->row_bytes, w->row_bytes);
        return;
    }
    const struct ct_weight rows = ct_in_panels(w) ? rows_of(w, r0, n, spare) : ct_weight_rows(w, r0, r0 + n);
    if (!expanded) {
        ct_pack(panel, &rows, 0);
        return;
    }
    memset(panel, 0, ct_gpu_panel_bytes(w->type, w->cols));
    for (int r = 0; r < n; r++)
        expand(panel, w->type, (const uint8_t *)rows.data + (size_t)r * rows.row_bytes, r, w->cols);
}
