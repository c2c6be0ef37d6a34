/* SPDX-License-Identifier: Apache-2.0 */
/* column_sums.c: sums of squares of what each column of a matrix is multiplied by, over all rows of all
 * passes, in the form of llama.cpp's imatrix files: a listener, as tap.c. Squares are added one row after
 * another in float64, so that neither threads nor the cut into passes changes a bit. convert/importance.c
 * reads the files. */
#include "engine/column_sums.h"

#include <stdlib.h>

#include "engine/every_row.h"
#include "file/write.h"
#include "os/new_file.h"

/* What matrices read, and which. */
#define PLACE(weight) (int)offsetof(struct ct_layer, weight)
#define BUFFER(mat)   offsetof(struct ct_pass, mat)
static const struct input {
    const char *verb;
    int place; /* of the verb's first weight in its layer */
    size_t buffer;
    const char *names; /* of slots, between spaces */
} inputs[] = {
    {"project", PLACE(q), BUFFER(h), " attn_q attn_k attn_v "},
    {"project", PLACE(o), BUFFER(a), " attn_output "},
    {"project_geglu", PLACE(gate), BUFFER(h), " ffn_gate ffn_up "},
    {"project", PLACE(down), BUFFER(ffn), " ffn_down "},
    {"project", PLACE(input_gate), BUFFER(x), " inp_gate "},
    {"project", PLACE(input_proj), BUFFER(u), " proj "},
};
enum { INPUTS = CT_COUNT(inputs) };

struct carat_importance {
    carat_engine *engine;
    struct ct_every_row listener;
    int n;        /* rows of the pass */
    int64_t rows; /* of all passes */
    int widest;   /* columns of a matrix, at most */
    float *row;   /* [widest] */
    double *sums; /* [layers][INPUTS][widest] */
};

static double *sums_of(const carat_importance *i, int layer, size_t input)
{
    return i->sums + ((size_t)layer * INPUTS + input) * (size_t)i->widest;
}

static void hear(void *user, struct ct_backend *b, const struct ct_event *event)
{
    carat_importance *i = user;
    const carat_engine *e = i->engine;
    const int place = event->n ? ct_weight_place(e, event->w[0]) : CT_NO_LAYER;

    if (strcmp(event->verb, "begin_pass") == 0) {
        i->n = b->verb.cost(b, event).rows;
        i->rows += i->n;
    }
    ct_every_row_heard(&i->listener, b, event);
    for (size_t k = 0; k < INPUTS; k++) {
        ct_mat m;
        if (inputs[k].place != place || strcmp(inputs[k].verb, event->verb) != 0)
            continue;
        double *sum = sums_of(i, e->pass.layer, k);
        memcpy(&m, (const char *)&e->pass + inputs[k].buffer, sizeof m);
        m.cols = event->w[0]->cols;
        for (int row = 0; row < i->n; row++) {
            b->verb.copy_out(b, i->row, m, row);
            for (int c = 0; c < m.cols; c++)
                sum[c] += (double)i->row[c] * (double)i->row[c];
        }
    }
}

carat_status ct_importance_begin(carat_importance **out, carat_engine *e, carat_error *err)
{
    carat_importance *i;
    int widest = 1;
    size_t n;

    *out = NULL;
    if (e->config.altup || e->config.embeds)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "importance is not measured for %s models",
                       e->config.architecture);
    for (int k = 0; k < e->config.n_layer; k++) {
        const struct ct_layer *l = &e->weights.layer[k];
        if (l->experts.n)
            return ct_fail(err, CARAT_E_UNSUPPORTED, "importance is not measured for experts");
        widest = CT_MAX(CT_MAX(widest, l->q.cols), CT_MAX(l->o.cols, l->down.cols));
    }
    if (!ct_mul((size_t)e->config.n_layer * INPUTS, (size_t)widest, &n) || !(i = calloc(1, sizeof *i)))
        return ct_no_memory(err, "importance");
    *i = (carat_importance){.engine = e,
                            .widest = widest,
                            .row = calloc((size_t)widest, sizeof *i->row),
                            .sums = calloc(n, sizeof *i->sums)};
    if (!i->row || !i->sums) {
        ct_importance_end(i);
        return ct_no_memory(err, "importance");
    }
    ct_every_row_begin(&i->listener, e, hear, i);
    *out = i;
    return CARAT_OK;
}

void ct_importance_end(carat_importance *i)
{
    if (!i)
        return;
    ct_every_row_end(&i->listener);
    free(i->row);
    free(i->sums);
    free(i);
}

/* ---- the file ---- */

struct entry {
    const char *name;
    const double *sums;
    int cols;
};
struct entries {
    const carat_importance *i;
    struct ct_arena arena;
    struct entry *entry; /* [n] */
    int n, capacity;
    struct ct_new_tensor *tensor; /* [2 * n] */
    struct ct_new_head head;
};

static const char *tensor_name(struct entries *v, const char *name, const char *end)
{
    char *all = ct_arena_push(&v->arena, strlen(name) + strlen(end) + 1, 1);

    return all ? strcat(strcpy(all, name), end) : NULL;
}

static carat_status list_matrix(void *user, const char *slot, const char *tensor, const struct ct_weight *w)
{
    struct entries *v = user;
    const carat_engine *e = v->i->engine;
    const int layer = strncmp(slot, "blk.", 4) == 0 ? atoi(slot + 4) - e->first_layer : -1;
    struct ct_gguf_place place;
    char part[64];

    (void)tensor;
    if (layer < 0 || layer >= e->config.n_layer || w->rows < 2)
        return CARAT_OK;
    snprintf(part, sizeof part, " %s ", strchr(slot + 4, '.') + 1);
    for (size_t k = 0; k < INPUTS; k++)
        if (strstr(inputs[k].names, part) && v->n < v->capacity) {
            ct_gguf_place(&place, &e->model->config, slot);
            v->entry[v->n++] =
                (struct entry){tensor_name(v, place.name, ""), sums_of(v->i, layer, k), w->cols};
        }
    return CARAT_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static carat_status list_entries(struct entries *v, const char *path, const char *dataset, int chunk,
                                 uint64_t *size, carat_error *err)
{
    const carat_engine *e = v->i->engine;

    v->capacity = e->config.n_layer * 16;
    v->entry = ct_arena_push(&v->arena, (size_t)v->capacity, sizeof *v->entry);
    v->tensor = ct_arena_push(&v->arena, (size_t)v->capacity * 2, sizeof *v->tensor);
    if (!v->entry || !v->tensor)
        return ct_no_memory(err, path);
    ct_weights_walk(&e->model->weights, &e->model->config, e->model->file, list_matrix, v);
    for (int i = 0; i < v->n; i++)
        if (!v->entry[i].name)
            return ct_no_memory(err, path);
    qsort(v->entry, (size_t)v->n, sizeof *v->entry, by_name);
    for (int i = 0; i < v->n; i++) {
        const struct entry *t = &v->entry[i];
        v->tensor[2 * i] = (struct ct_new_tensor){.name = tensor_name(v, t->name, ".in_sum2"),
                                                  .type = CT_F32,
                                                  .n_dim = 1,
                                                  .dim = {t->cols},
                                                  .size = (size_t)t->cols * sizeof(float)};
        v->tensor[2 * i + 1] = (struct ct_new_tensor){.name = tensor_name(v, t->name, ".counts"),
                                                      .type = CT_F32,
                                                      .n_dim = 1,
                                                      .dim = {1},
                                                      .size = sizeof(float)};
        if (!v->tensor[2 * i].name || !v->tensor[2 * i + 1].name)
            return ct_no_memory(err, path);
    }
    ct_gguf_begin(&v->head);
    ct_gguf_put_string(&v->head, "general.type", ct_str_of("imatrix"));
    ct_gguf_put_strings(&v->head, "imatrix.datasets", 1);
    ct_gguf_add_string(&v->head, ct_str_of(dataset));
    ct_gguf_put_uint(&v->head, "imatrix.chunk_count", (uint32_t)(v->i->rows / chunk));
    ct_gguf_put_uint(&v->head, "imatrix.chunk_size", (uint32_t)chunk);
    return ct_gguf_end(&v->head, v->tensor, 2 * v->n, size, path, err);
}

static void fill(const struct entries *v, uint8_t *base)
{
    const float rows = (float)v->i->rows;

    memcpy(base, v->head.data, v->head.n);
    for (int i = 0; i < v->n; i++) {
        for (int c = 0; c < v->entry[i].cols; c++) {
            const float sum = (float)v->entry[i].sums[c];
            memcpy(base + v->tensor[2 * i].at + (size_t)c * sizeof sum, &sum, sizeof sum);
        }
        memcpy(base + v->tensor[2 * i + 1].at, &rows, sizeof rows);
    }
}

/* The ending of a file while it is written. */
#define PART ".carat-part"

carat_status ct_importance_write(const carat_importance *i, const char *path, const char *dataset, int chunk,
                                 carat_error *err)
{
    struct entries v = {.i = i};
    struct ct_os_new file = {.fd = -1};
    struct ct_os_id id;
    const char *part;
    uint64_t size = 0;

    if (i->rows == 0)
        return ct_fail(err, CARAT_E_ARGUMENT, "%s: nothing was evaluated, so nothing was measured", path);
    if (!ct_os_replaceable(path))
        return ct_fail(err, CARAT_E_IO, "%s is not a regular file, so it cannot be replaced", path);
    carat_status status = list_entries(&v, path, dataset, chunk, &size, err);
    part = tensor_name(&v, path, PART);
    if (!status && !part)
        status = ct_no_memory(err, path);
    if (!status)
        status = ct_os_new_begin(&file, part, 0666, err);
    if (!status)
        status = ct_os_new_size(&file, (size_t)size, err);
    if (!status) {
        fill(&v, file.base);
        ct_os_new_written(&file);
        status = ct_os_new_finish(&file, path, &id, err);
    }
    if (status && file.fd >= 0)
        ct_os_new_abandon(&file);
    ct_new_head_free(&v.head);
    ct_arena_free(&v.arena);
    return status;
}
