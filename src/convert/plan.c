/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c: see plan.h. Weights are taken as the forward pass has them, by the names of GGUF, so that no
 * container of a source matters here; what type each tensor gets: recipe.c, what a GGUF file says beside
 * them: keys.c. */
#include "convert/plan.h"

enum { CHUNK = 1 << 20 }; /* bytes of a tensor that a thread fills at once, but for long rows */
enum { OWN = 3 };         /* what a container adds to the weights of a model, at most, and the head apart */

static carat_status count_weight(void *user, const char *slot, const char *tensor, const struct ct_weight *w)
{
    (void)slot, (void)tensor, (void)w;
    ((struct ct_conversion *)user)->n++;
    return CARAT_OK;
}

/* The tensor of that name, the last or the one before it; a new one at the end. */
static int tensor_named(struct ct_conversion *v, const char *name)
{
    int i = v->n_tensor;

    while (i > 0 && i > v->n_tensor - 2)
        if (strcmp(v->tensor[--i].name, name) == 0)
            return i;
    v->tensor[v->n_tensor] =
        (struct ct_new_tensor){.name = ct_arena_str(&v->arena, name, strlen(name)), .type = CT_TYPE_COUNT};
    return v->n_tensor++;
}

/* The rows of c->w, which are the next ones of its tensor. several: how many matrices that has then; 0: it is
 * no stack of them. */
static void add_rows(struct ct_conversion *v, struct ct_converted *c, int several)
{
    struct ct_new_tensor *t = &v->tensor[c->tensor];
    const struct ct_weight *w = &c->w;

    ct_type_row_bytes(t->type, (size_t)w->cols, &c->row_bytes); /* the container has seen to it */
    c->first = (int)(t->size / c->row_bytes);
    t->size += (size_t)w->rows * c->row_bytes;
    const int rows = c->first + w->rows;
    const int64_t dims[3][3] = {{w->cols}, {rows, w->cols}, {several, several ? rows / several : 0, w->cols}};
    t->n_dim = several ? 3 : rows == 1 ? 1 : 2;
    memcpy(t->dim, dims[t->n_dim - 1], sizeof dims[0]);
    c->rows = (int)CT_MAX((size_t)CHUNK / c->row_bytes, (size_t)1);
    c->chunks = v->n_chunk;
    v->n_chunk += (w->rows + c->rows - 1) / c->rows;
}

carat_status ct_plan_weight(void *user, const char *slot, const char *source, const struct ct_weight *w)
{
    struct ct_conversion *v = user;
    struct ct_converted *c = &v->c[v->n++];
    char name[CT_NEW_NAME];
    const int several = v->container->tensor(name, v, slot), at = tensor_named(v, name);
    struct ct_new_tensor *t = &v->tensor[at];
    enum ct_type type;

    *c = (struct ct_converted){.source = ct_arena_str(&v->arena, source, strlen(source)), .tensor = at};
    if (!t->name || !c->source)
        return ct_no_memory(v->err, "the list of weights");
    CT_TRY(v->container->take(c, &type, v, slot, w, v->err));
    if (t->type == CT_TYPE_COUNT)
        t->type = type;
    if (strcmp(slot, "token_embd") == 0)
        v->embed = v->n - 1;
    add_rows(v, c, several);
    return CARAT_OK;
}

carat_status ct_plan_zeros(struct ct_conversion *v, int rows)
{
    const struct ct_converted *last = &v->c[v->n - 1];
    struct ct_converted *c = &v->c[v->n++];
    const int cols = last->w.cols;

    *c = (struct ct_converted){.source = last->source,
                               .tensor = last->tensor,
                               .w = {.type = CT_F32,
                                     .layout = CT_LAYOUT_ROWS,
                                     .rows = rows,
                                     .cols = cols,
                                     .data = ct_arena_push(&v->arena, (size_t)cols, sizeof(float)),
                                     .scale = 1}};
    if (!c->w.data)
        return ct_no_memory(v->err, "the list of weights");
    add_rows(v, c, 0);
    return CARAT_OK;
}

/* Of a stack each matrix has its own. */
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

    if (m->config.embeds)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: it is a %s model, which carat runs, but does not convert yet",
                       ct_file_path(m->file), m->config.architecture);
    CT_TRY(ct_recipe_choose(&v->recipe, &m->weights, &m->config, m->file, &v->arena, err));
    ct_weights_walk(&m->weights, &m->config, m->file, count_weight, v);
    v->c = ct_arena_push(&v->arena, (size_t)v->n + OWN, sizeof *v->c);
    v->tensor = ct_arena_push(&v->arena, (size_t)v->n + OWN, sizeof *v->tensor);
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
                            .to = ct_type_info(t->type)->name,
                            .n_dim = t->n_dim,
                            .bytes = t->size};

    for (int i = 0; i < v->recipe.n + v->recipe.head_apart; i++)
        if (strcmp(v->recipe.tensor[i].name, t->name) == 0)
            told.matrix = v->recipe.tensor[i].matrix;
    while (c->tensor != tensor)
        c++;
    told.from = ct_type_info(c->w.type)->name;
    memcpy(told.dim, t->dim, sizeof told.dim);
    for (; c < v->c + v->n; c++)
        if (c->tensor == tensor)
            told.bytes_from += (uint64_t)c->w.rows * (uint64_t)c->w.cols /
                               (uint64_t)ct_type_info(c->w.type)->block *
                               (uint64_t)ct_type_info(c->w.type)->bytes;
    if (f)
        ct_figures_tell(f, &told);
    o->tensor(o->user, &told);
}
