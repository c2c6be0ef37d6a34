/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c: see plan.h. Weights are taken as the forward pass has them, by the names of GGUF, so that no
 * container of a source matters here; what type each tensor gets: recipe.c, what a GGUF file says beside
 * them: keys.c. */
#include "convert/plan.h"

#include "convert/residual.h"
#include "quant/palette.h"

enum { CHUNK = 1 << 20 }; /* bytes of a tensor that a thread fills at once, but for long rows */
enum { OWN = 3 };         /* what a container adds to the weights of a model, at most, and the head apart */

static carat_status count_weight(void *user, const char *slot, const char *tensor, const struct ct_weight *w)
{
    (void)slot, (void)tensor, (void)w;
    ((struct ct_conversion *)user)->n++;
    return CARAT_OK;
}

/* The tensor of that name, one of the last; a new one at the end. Those of experts come by turns, and with
 * palettes there are four. */
static int tensor_named(struct ct_conversion *v, const char *name)
{
    int i = v->n_tensor;

    while (i > 0 && i > v->n_tensor - 4)
        if (strcmp(v->tensor[--i].name, name) == 0)
            return i;
    v->tensor[v->n_tensor] =
        (struct ct_new_tensor){.name = ct_arena_str(&v->arena, name, strlen(name)), .type = CT_TYPE_COUNT};
    return v->n_tensor++;
}

/* Rows that a thread fills together: those that share something are. */
static int rows_at_once(const struct ct_converted *c)
{
    const int some = (int)CT_MAX((size_t)CHUNK / c->row_bytes, (size_t)1), rows = c->w.rows;

    if (c->scheme.kind == CT_BLOCKS || (c->scheme.kind == CT_ALIKE && c->scheme.shared > 0))
        return some;
    if (c->scheme.shared == 0)
        return rows;
    const int shared = (int)ct_palette_rows(rows, ct_palette_groups(rows, c->scheme.shared));
    return CT_MAX(some / shared, 1) * shared;
}

void ct_plan_rows(struct ct_conversion *v, struct ct_converted *c, int several)
{
    struct ct_new_tensor *t = &v->tensor[c->tensor];
    const struct ct_weight *w = &c->w;

    c->row_bytes = w->row_bytes;
    if (t->bytes)
        c->row_bytes = ct_palette_row_bytes(c->scheme.bits, w->cols);
    else if (t->type != CT_TYPE_COUNT) /* the container has seen to it that this is possible */
        ct_type_row_bytes(t->type, (size_t)w->cols, &c->row_bytes);
    c->first = (int)(t->size / c->row_bytes);
    t->size += (size_t)w->rows * c->row_bytes;
    const int rows = c->first + w->rows;
    const int cols = t->bytes ? (int)c->row_bytes : w->cols;
    const int64_t dims[3][3] = {{cols}, {rows, cols}, {several, several ? rows / several : 0, cols}};
    t->n_dim = several ? 3 : rows == 1 ? 1 : 2;
    memcpy(t->dim, dims[t->n_dim - 1], sizeof dims[0]);
    c->rows = rows_at_once(c);
    c->chunks = v->n_chunk;
    v->n_chunk += (w->rows + c->rows - 1) / c->rows;
}

/* In place of the tensor of a name: that of the palettes, and that of the indices. Returns the number of the
 * latter. several: as ct_plan_rows has it. */
static int add_palettes(struct ct_conversion *v, struct ct_converted *c, const char *name, int rows,
                        int several)
{
    const int stem = (int)(strlen(name) - strlen(".weight"));
    const int64_t n = ct_palette_groups(rows, c->scheme.shared ? c->scheme.shared : rows);
    const int64_t entries = (int64_t)1 << c->scheme.bits;
    const size_t bytes = (size_t)entries * sizeof(uint16_t);
    char part[CT_NEW_NAME + 16];

    snprintf(part, sizeof part, "%.*s.palette", stem, name);
    c->palette = tensor_named(v, part);
    struct ct_new_tensor *t = &v->tensor[c->palette];
    const int64_t before = (int64_t)(t->size / bytes), all = before + n;
    c->palettes_before = (int)before;
    *t = (struct ct_new_tensor){
        .name = t->name, .type = CT_F16, .n_dim = 2, .dim = {all, entries}, .size = (size_t)all * bytes};
    if (several) {
        t->n_dim = 3;
        memcpy(t->dim, (const int64_t[]){several, all / several, entries}, 3 * sizeof *t->dim);
    }
    snprintf(part, sizeof part, "%.*s.index", stem, name);
    const int index = tensor_named(v, part);
    v->tensor[index].bytes = true;
    return index;
}

/* Scales a weight. Refuses one that is quantised in the source, unless that is allowed: it would be quantised
 * again. */
static carat_status scale_residual(const struct ct_conversion *v, struct ct_converted *c, const char *slot)
{
    const bool stays = v->tied && strcmp(slot, "token_embd") == 0;
    const float times = stays ? 1 : ct_residual_factor(&v->m->config, slot, v->residual);

    c->times = times == 1 ? 0 : times;
    if (!c->times || ct_type_info(c->w.type)->block == 1 || v->recipe.again)
        return CARAT_OK;
    return ct_fail(
        v->err, CARAT_E_UNSUPPORTED,
        "%s: %s is %s already, and scaled it would be quantised again, worse: convert the original, "
        "or allow it by --allow-requantize",
        ct_file_path(v->m->file), c->source, ct_type_info(c->w.type)->name);
}

carat_status ct_plan_weight(void *user, const char *slot, const char *source, const struct ct_weight *w)
{
    struct ct_conversion *v = user;
    struct ct_converted *c = &v->c[v->n++];
    char name[CT_NEW_NAME];
    const int several = v->container->tensor(name, v, slot);
    const struct ct_chosen *chosen = ct_recipe_tensor(&v->recipe, &v->m->config, slot);
    enum ct_type type;

    *c = (struct ct_converted){.source = ct_arena_str(&v->arena, source, strlen(source)), .palette = -1};
    if (chosen)
        c->scheme = chosen->scheme;
    const bool palettes = c->scheme.kind == CT_PALETTE && v->container->palettes && !v->expand;
    c->tensor = palettes ? add_palettes(v, c, name, w->rows, several) : tensor_named(v, name);
    struct ct_new_tensor *t = &v->tensor[c->tensor];
    if (!t->name || !c->source || (palettes && !v->tensor[c->palette].name))
        return ct_no_memory(v->err, "the list of weights");
    CT_TRY(v->container->take(c, &type, v, slot, w, v->err));
    CT_TRY(scale_residual(v, c, slot));
    if (t->type == CT_TYPE_COUNT)
        t->type = type;
    if (strcmp(slot, "token_embd") == 0)
        v->embed = v->n - 1;
    ct_plan_rows(v, c, several);
    return CARAT_OK;
}

carat_status ct_plan_zeros(struct ct_conversion *v, int rows)
{
    const struct ct_converted *last = &v->c[v->n - 1];
    struct ct_converted *c = &v->c[v->n++];
    const int cols = last->w.cols;

    *c = (struct ct_converted){.source = last->source,
                               .tensor = last->tensor,
                               .palette = -1,
                               .w = {.type = CT_F32,
                                     .layout = CT_LAYOUT_ROWS,
                                     .rows = rows,
                                     .cols = cols,
                                     .data = ct_arena_push(&v->arena, (size_t)cols, sizeof(float)),
                                     .scale = 1}};
    if (!c->w.data)
        return ct_no_memory(v->err, "the list of weights");
    ct_plan_rows(v, c, 0);
    return CARAT_OK;
}

carat_status ct_plan_dead(struct ct_conversion *v)
{
    static const char *const parts[] = {"attn_k", "attn_v", "attn_k_norm"};
    const struct carat_model *m = v->m;
    const bool gguf = ct_file_kind(m->file) == CT_FILE_GGUF;

    for (int i = 0; i < m->config.n_layer * (int)CT_COUNT(parts); i++) {
        const int layer = i / (int)CT_COUNT(parts);
        struct ct_gguf_place place;
        char slot[64];
        if (m->config.layer[layer].kv_layer == layer || m->config.backbone)
            continue;
        snprintf(slot, sizeof slot, "blk.%d.%s", layer, parts[i % (int)CT_COUNT(parts)]);
        if (gguf)
            ct_gguf_place(&place, &m->config, slot);
        else
            ct_hf_place(&place, &m->weights, &m->config, slot);
        const struct ct_tensor *t = ct_file_find(m->file, place.name);
        if (!t || !t->data || t->type == CT_TYPE_COUNT || t->n_dim > 2 || t->dim[0] < 1 ||
            t->dim[0] > INT32_MAX || t->dim[t->n_dim - 1] > INT32_MAX)
            continue;
        const int rows = t->n_dim == 2 ? (int)t->dim[0] : 1;
        const struct ct_weight w = {.type = t->type,
                                    .layout = CT_LAYOUT_ROWS,
                                    .rows = rows,
                                    .cols = (int)t->dim[t->n_dim - 1],
                                    .row_bytes = t->size / (size_t)rows,
                                    .data = t->data,
                                    .scale = t->scale};
        CT_TRY(ct_plan_weight(v, slot, place.name, &w));
    }
    return CARAT_OK;
}

static carat_status store_ordering(struct ct_conversion *v, bool wide)
{
    struct ct_converted *c = &v->c[v->n - 1];
    struct ct_new_tensor *t = &v->tensor[c->tensor];
    const float *from = c->w.data;
    const size_t n = (size_t)c->w.cols, bytes = wide ? sizeof(int64_t) : sizeof(int32_t);
    uint8_t *id = ct_arena_push(&v->arena, n, bytes);

    for (size_t i = 0; id && i < n; i++) {
        const int64_t of = (int64_t)from[i];
        memcpy(id + bytes * i, &of, bytes); /* the lowest bytes come first */
    }
    c->w.data = id;
    c->w.type = t->type = CT_TYPE_COUNT;
    c->w.row_bytes = c->row_bytes = t->size = n * bytes;
    t->type_name = wide ? "I64" : "I32";
    return id ? CARAT_OK : ct_no_memory(v->err, "the list of weights");
}

static carat_status order_by_id(struct ct_conversion *v)
{
    const struct ct_weight *ordering = &v->m->weights.ordering;
    const float *id = ordering->data;
    int32_t *row = ct_arena_push(&v->arena, (size_t)ordering->cols, sizeof *row);

    for (int i = 0; row && i < ordering->cols; i++)
        row[(int)id[i]] = i;
    v->c[v->n - 1].row = row;
    return row ? CARAT_OK : ct_no_memory(v->err, "the list of weights");
}

carat_status ct_plan_order(struct ct_conversion *v, const struct ct_weight *w, bool wide)
{
    if (!v->m->config.n_centroid)
        return CARAT_OK;
    return w == &v->m->weights.ordering ? store_ordering(v, wide)
           : w == &v->m->weights.embed  ? order_by_id(v)
                                        : CARAT_OK;
}

/* Finds the importance of a weight. In a stack each matrix has its own. */
static void weigh(const struct ct_conversion *v, struct ct_converted *c)
{
    const struct ct_new_tensor *t = &v->tensor[c->tensor];
    const struct ct_importance_of *of = ct_importance_find(&v->importance, t->name);
    const size_t at = t->n_dim == 3 ? (size_t)(c->first / t->dim[1]) : 0;

    if (of && (at + 1) * (size_t)c->w.cols <= of->n)
        c->importance = of->value + at * (size_t)c->w.cols;
}

carat_status ct_plan_file(struct ct_conversion *v, carat_error *err)
{
    const struct carat_model *m = v->m;

    CT_TRY(ct_recipe_choose(&v->recipe, &m->weights, &m->config, m->file, &v->arena, err));
    if (v->residual != 1) {
        CT_TRY(ct_residual_check(&m->config, v->residual, ct_file_path(m->file), err));
        v->recipe.head_apart =
            v->recipe.head_apart || (m->weights.tied && !v->tied); /* it reads the old table */
    }
    ct_weights_walk(&m->weights, &m->config, m->file, count_weight, v);
    const size_t most = (size_t)v->n + (size_t)ct_file_tensor_count(ct_taken_from(v)) + OWN;
    v->c = ct_arena_push(&v->arena, most, sizeof *v->c);
    v->tensor = ct_arena_push(&v->arena, 2 * most, sizeof *v->tensor);
    v->n = 0;
    if (!v->c || !v->tensor)
        return ct_no_memory(err, "the list of weights");
    CT_TRY(v->container->list(v));
    if (v->recipe.head_apart)
        CT_TRY(ct_plan_weight(v, "output", v->c[v->embed].source, &m->weights.embed));
    for (int i = 0; i < v->n; i++)
        weigh(v, &v->c[i]);
    return v->container->end(v, err);
}

void ct_plan_tell(const struct ct_conversion *v, int tensor, const struct ct_figures *f,
                  const carat_convert_options *o)
{
    const struct ct_new_tensor *t = &v->tensor[tensor];
    const struct ct_converted *c = v->c;
    carat_converted told = {.size = sizeof told,
                            .name = t->name,
                            .to = t->bytes                   ? "I8"
                                  : t->type == CT_TYPE_COUNT ? t->type_name
                                                             : ct_type_info(t->type)->name,
                            .n_dim = t->n_dim,
                            .bytes = t->size};

    for (int i = 0; i < v->recipe.n + v->recipe.head_apart; i++) {
        const struct ct_chosen *chosen = &v->recipe.tensor[i];
        if (strcmp(chosen->name, t->name) != 0)
            continue;
        told.matrix = chosen->matrix;
        if (chosen->asked != chosen->type && t->type == chosen->type)
            told.asked = ct_type_info(chosen->asked)->name;
    }
    while (c->tensor != tensor && c->palette != tensor)
        c++;
    told.from = c->w.type == CT_TYPE_COUNT ? t->type_name : ct_type_info(c->w.type)->name;
    memcpy(told.dim, t->dim, sizeof told.dim);
    for (; c < v->c + v->n; c++) {
        const uint64_t n = (uint64_t)c->w.rows * (uint64_t)c->w.cols;
        if (c->tensor != tensor)
            continue;
        told.weights += n;
        told.bytes_from += c->w.type == CT_TYPE_COUNT ? t->size
                                                      : n / (uint64_t)ct_type_info(c->w.type)->block *
                                                            (uint64_t)ct_type_info(c->w.type)->bytes;
    }
    if (f)
        ct_figures_tell(f, &told);
    o->tensor(o->user, &told);
}
