/* SPDX-License-Identifier: Apache-2.0 */
/* weights_tensor.c: one tensor becomes one weight: its shape, its type and its bytes are held against what
 * the configuration says, so that kernels can trust every size; and what is missing is told of. Which tensor
 * that is weights.c knows. */
#include "model/weights_container.h"

#include <math.h>

#include "quant/palette.h"

enum { MOST_NAMED = 5 }; /* missing tensors in one message */

/* Bytes of a row, be it of values or indices, or of a panel; false for a type that has no such rows. */
static bool stored_row_bytes(const struct ct_tensor *t, int cols, size_t *bytes)
{
    if (!ct_type_row_bytes(t->type, (size_t)cols, bytes))
        return false;
    if (t->interleaved)
        *bytes = t->nibbles ? ct_palette_panel_bytes(cols) : ct_backend_panel_size(t->type, cols);
    if (t->palettes)
        *bytes = ct_palette_row_bytes(t->palettes->bits, cols);
    return *bytes > 0;
}

/* How many of them there are. */
static size_t stored_rows(const struct ct_tensor *t, int rows)
{
    return t->interleaved ? ((size_t)rows + CT_PANEL_ROWS - 1) / CT_PANEL_ROWS : (size_t)rows;
}

const char *ct_shape_text(const struct ct_tensor *t, char text[96])
{
    size_t n = 0;

    text[0] = 0;
    for (int i = 0; i < t->n_dim && n < 96; i++)
        n += (size_t)snprintf(text + n, 96 - n, "%s%lld", i ? " x " : "", (long long)t->dim[i]);
    return text;
}

static carat_status check_shape(const struct ct_binding *b, const struct ct_tensor *t, int rows, int cols)
{
    const char *const *key = b->origin->key, *types = b->origin->types;
    size_t row_bytes;
    char all_types[CT_TYPE_LIST];

    if (t->type == CT_TYPE_COUNT)
        return ct_fail(b->err, CARAT_E_UNSUPPORTED,
                       "%s: tensor %s at byte %llu is stored as %s, which carat does not read; it reads %s%s",
                       t->file, t->name, (unsigned long long)t->offset, t->type_name,
                       types ? types : ct_file_types(all_types),
                       types ? "" : "; the same model as a Q4_0, Q4_K_M or Q8_0 file works");
    bool vector = rows == 1 && t->n_dim == 1 && t->dim[0] == cols;
    bool matrix = t->n_dim == 2 && t->dim[0] == rows && t->dim[1] == cols;
    if (!vector && !matrix) {
        char found[96], expected[32];
        snprintf(expected, sizeof expected, rows == 1 ? "%d" : "%d x %d", rows == 1 ? cols : rows, cols);
        return ct_fail(b->err, CARAT_E_FORMAT,
                       "%s: tensor %s at byte %llu has shape [%s], expected [%s] from the configuration "
                       "(%s%s%s)",
                       t->file, t->name, (unsigned long long)t->offset, ct_shape_text(t, found), expected,
                       rows == 1 ? "" : key[b->rows], rows == 1 ? "" : " x ", key[b->cols]);
    }
    bool panels = b->container->prepared && rows > 1 && b->rows != CT_DIM_PLE_ROWS &&
                  ct_backend_panel_size(t->type, cols) > 0;
    if (t->interleaved != panels)
        return ct_fail(b->err, CARAT_E_FORMAT, "%s: tensor %s at byte %llu lies in %s, expected %s", t->file,
                       t->name, (unsigned long long)t->offset, t->interleaved ? "panels" : "rows",
                       panels ? "panels" : "rows");
    if (!stored_row_bytes(t, cols, &row_bytes) || row_bytes * stored_rows(t, rows) != t->size)
        return ct_fail(b->err, CARAT_E_FORMAT,
                       "%s: tensor %s at byte %llu has %zu bytes, which is not %d rows of %d %s values",
                       t->file, t->name, (unsigned long long)t->offset, t->size, rows, cols, t->type_name);
    return CARAT_OK;
}

carat_status ct_point_at(const struct ct_binding *b, struct ct_weight *w, const struct ct_tensor *t, int rows,
                         int cols)
{
    size_t row_bytes = 0;

    CT_TRY(check_shape(b, t, rows, cols));
    stored_row_bytes(t, cols, &row_bytes);
    *w = (struct ct_weight){.type = t->type,
                            .layout = b->rows == CT_DIM_PLE_ROWS ? CT_LAYOUT_TABLE
                                      : t->nibbles               ? CT_LAYOUT_NIBBLES
                                      : t->interleaved           ? CT_LAYOUT_PANELS
                                      : t->palettes              ? CT_LAYOUT_PALETTE
                                                                 : CT_LAYOUT_ROWS,
                            .rows = rows,
                            .cols = cols,
                            .row_bytes = row_bytes,
                            .data = t->data,
                            .scale = t->scale,
                            .f32_input = b->rows == CT_DIM_EXPERTS || b->rows == CT_DIM_CENTROIDS,
                            .palettes = t->palettes};
    return CARAT_OK;
}

carat_status ct_bind_matrix(struct ct_binding *b, struct ct_weight *w, const struct ct_tensor *t, int rows,
                            int cols)
{
    CT_TRY(ct_point_at(b, w, t, rows, cols));
    if (b->container->factor)
        CT_TRY(b->container->factor(&w->scale, b, t));
    b->w->bytes += t->size;
    b->w->n_parameter += (uint64_t)rows * (uint64_t)cols;
    return CARAT_OK;
}

struct ct_weight ct_made_vector(const float *v, int n)
{
    return (struct ct_weight){CT_F32, CT_LAYOUT_ROWS, 1, n, (size_t)n * sizeof *v, v, 1, false, NULL};
}

/* A prepared file has it as the vector that it becomes. */
carat_status ct_bind_small(struct ct_binding *b, struct ct_weight *w, const struct ct_tensor *t, int rows,
                           int cols, float times)
{
    const int n = rows * cols;
    const bool whole = b->container->prepared;

    CT_TRY(check_shape(b, t, whole ? 1 : rows, whole ? n : cols));
    float *v = ct_arena_push(b->arena, (size_t)n, sizeof *v);
    if (!v)
        return ct_no_memory(b->err, t->file);
    ct_dequantize(t->type, v, t->data, (size_t)n);
    for (int i = 0; i < n; i++) {
        v[i] = v[i] * t->scale;
        if (b->c->norm_plus_one && !b->container->prepared)
            v[i] = v[i] + 1.0f;
        if (!b->container->prepared)
            v[i] = v[i] * times;
    }
    if (n == 1 && !isfinite(v[0])) /* it scales all of a layer */
        return ct_fail(b->err, CARAT_E_FORMAT, "%s: tensor %s at byte %llu is %s, expected a finite number",
                       t->file, t->name, (unsigned long long)t->offset, isnan(v[0]) ? "NaN" : "infinity");
    *w = ct_made_vector(v, n);
    b->w->bytes += t->size;
    b->w->n_parameter += (uint64_t)n;
    return CARAT_OK;
}

void ct_note_missing(struct ct_binding *b, const char *name)
{
    size_t n = strlen(b->missing);
    if (b->n_missing++ < MOST_NAMED)
        snprintf(b->missing + n, sizeof b->missing - n, "%s%s", n ? ", " : "", name);
}

carat_status ct_check_missing(struct ct_binding *b)
{
    if (b->n_missing == 0)
        return CARAT_OK;
    return ct_fail(b->err, CARAT_E_FORMAT,
                   "%s: %d tensor%s missing: %s%s; the configuration says %d layers (%s) of architecture %s",
                   ct_file_path(b->f), b->n_missing, b->n_missing == 1 ? " is" : "s are", b->missing,
                   b->n_missing > MOST_NAMED ? ", ..." : "", b->c->n_layer, b->origin->layers,
                   b->c->architecture);
}
