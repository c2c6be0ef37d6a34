/* SPDX-License-Identifier: Apache-2.0 */
/* column_sums.c: sums of squares of what each column of a matrix is multiplied by, over all rows of all
 * passes, in the form of llama.cpp's imatrix files: a listener, as tap.c. An expert has sums of its own, of
 * the rows that took it. Squares are added one row after another in float64, so that neither threads nor the
 * cut into passes changes a bit. convert/importance.c reads the files. */
#include "carat_convert.h"

#include <stdlib.h>

#include "listen/listener.h"
#include "file/write.h"
#include "os/new_file.h"

/* What matrices read, and which. Those of AltUp, which nobody quantises, are no products of their own. */
#define PLACE(weight) (int)offsetof(struct ct_layer, weight)
#define BUFFER(mat)   offsetof(struct ct_pass, mat)
static const struct input {
    int place; /* of the product's first weight in its layer */
    size_t buffer;
    const char *names; /* of slots, between spaces */
} inputs[] = {
    {PLACE(q), BUFFER(h), " attn_q attn_k attn_v "},
    {PLACE(o), BUFFER(a), " attn_output "},
    {PLACE(gate), BUFFER(h), " ffn_gate ffn_up "}, /* up alone reads the same */
    {PLACE(down), BUFFER(ffn), " ffn_down "},
    {PLACE(input_gate), BUFFER(x), " inp_gate "},
    {PLACE(input_proj), BUFFER(u), " proj "},
    {PLACE(laurel_left), BUFFER(h), " laurel_l "},
    {PLACE(laurel_right), BUFFER(narrow), " laurel_r "},
    {PLACE(router), BUFFER(r), " ffn_gate_inp "},
};
enum { INPUTS = CT_COUNT(inputs) };
/* Slots of the first expert, for whose tensors all experts are told: gate and up read one input. */
static const char gate_slot[] = "ffn_gate_exps.0", down_slot[] = "ffn_down_exps.0";

struct carat_importance {
    carat_engine *engine;
    struct ct_pass_listener listener;
    int n;        /* rows of the pass */
    int64_t rows; /* of all passes */
    int widest;   /* columns of a matrix, at most */
    float *row;   /* [widest] */
    double *sums; /* [layers][INPUTS][widest] */
    struct {
        int most, cols, ffn; /* of a layer; columns of gate and up, of down */
        double *sums;        /* [layers][most][cols + ffn] */
        int64_t *rows;       /* [layers][most] that took it */
    } experts;
};

static double *sums_of(const carat_importance *i, int layer, size_t input)
{
    return i->sums + ((size_t)layer * INPUTS + input) * (size_t)i->widest;
}

/* The number of a layer's first expert; and how many columns further on those of the next expert lie. */
static size_t expert_of(const carat_importance *i, int layer)
{
    return (size_t)layer * (size_t)i->experts.most;
}
static size_t expert_cols(const carat_importance *i)
{
    return (size_t)(i->experts.cols + i->experts.ffn);
}

static void add_squares(double *sum, const float *x, int n)
{
    for (int c = 0; c < n; c++)
        sum[c] += (double)x[c] * (double)x[c];
}

/* Hears what down reads. */
static void hear_inner(void *user, const struct ct_inner *inner)
{
    const carat_importance *i = user;
    const size_t expert = expert_of(i, i->engine->pass.layer) + (size_t)inner->expert;
    double *sum = i->experts.sums + expert * expert_cols(i) + i->experts.cols + inner->first;

    for (int row = 0; row < inner->rows; row++)
        add_squares(sum, inner->x + (size_t)row * (size_t)inner->stride, inner->cols);
}

/* Hears what gate and up read, and who took which expert; nobody knows in a pass that is stopped. */
static void hear_experts(carat_importance *i, struct ct_backend *b, const struct ct_experts *e)
{
    const struct ct_pass *p = &i->engine->pass;

    for (int row = 0; row < i->n && b->verb.goes_on(b); row++) {
        const int32_t *chosen = b->verb.chosen(b, row);
        b->verb.copy_out(b, i->row, p->r, row);
        for (int k = 0; k < e->used; k++) {
            const size_t expert = expert_of(i, p->layer) + (size_t)chosen[k];
            add_squares(i->experts.sums + expert * expert_cols(i), i->row, i->experts.cols);
            i->experts.rows[expert]++;
        }
    }
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
    ct_listen_selects(&i->listener, b, event);
    if (event->experts)
        hear_experts(i, b, event->experts);
    for (size_t k = 0; k < INPUTS; k++) {
        ct_mat m;
        if (inputs[k].place != place)
            continue;
        double *sum = sums_of(i, e->pass.layer, k);
        memcpy(&m, (const char *)&e->pass + inputs[k].buffer, sizeof m);
        m.cols = event->w[0]->cols;
        for (int row = 0; row < i->n; row++) {
            b->verb.copy_out(b, i->row, m, row);
            add_squares(sum, i->row, m.cols);
        }
    }
}

/* Finds how much there is to be kept. */
static void importance_extent(carat_importance *i)
{
    const carat_engine *e = i->engine;

    i->widest = 1;
    for (int k = 0; k < e->config.n_layer; k++) {
        const struct ct_layer *l = &e->weights.layer[k];
        for (size_t in = 0; in < INPUTS; in++) {
            const struct ct_weight *w = (const void *)((const char *)l + inputs[in].place);
            i->widest = CT_MAX(i->widest, w->cols);
        }
        if (l->experts.n) {
            i->experts.most = CT_MAX(i->experts.most, l->experts.n);
            i->experts.cols = l->experts.expert->gate.cols;
            i->experts.ffn = CT_MAX(i->experts.ffn, l->experts.expert->down.cols);
        }
    }
}

carat_status carat_importance_begin(carat_importance **importance, carat_engine *engine, carat_error *err)
{
    CT_GIVEN(importance, err);
    CT_GIVEN(engine, err);
    const size_t layers = (size_t)engine->config.n_layer;
    carat_importance *i;
    size_t n, n_expert;

    *importance = NULL;
    if (engine->config.embeds)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "importance is not measured for %s models",
                       engine->config.architecture);
    if (!(i = calloc(1, sizeof *i)))
        return ct_no_memory(err, "importance");
    i->engine = engine;
    importance_extent(i);
    if (i->experts.most && engine->backend->apart) { /* nobody hears inside experts there */
        free(i);
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "the importance of what experts read is measured on the CPU alone");
    }
    i->row = calloc((size_t)i->widest, sizeof *i->row);
    if (ct_mul(layers * INPUTS, (size_t)i->widest, &n))
        i->sums = calloc(n, sizeof *i->sums);
    if (ct_mul(layers, (size_t)i->experts.most, &n_expert) && ct_mul(n_expert, expert_cols(i), &n)) {
        i->experts.sums = calloc(n + 1, sizeof *i->experts.sums);
        i->experts.rows = calloc(n_expert + 1, sizeof *i->experts.rows);
    }
    if (!i->row || !i->sums || !i->experts.sums || !i->experts.rows) {
        carat_importance_end(i);
        return ct_no_memory(err, "importance");
    }
    ct_listen(&i->listener, engine,
              (struct ct_trace){.hook = hear, .user = i, .reads = true, .inner = hear_inner}, true);
    *importance = i;
    return CARAT_OK;
}

void carat_importance_end(carat_importance *importance)
{
    if (!importance)
        return;
    (void)ct_listen_end(&importance->listener);
    free(importance->row);
    free(importance->sums);
    free(importance->experts.sums);
    free(importance->experts.rows);
    free(importance);
}

/* ---- the file ---- */

struct entry {
    const char *name;
    const double *sums; /* [matrices], so far from one to the next: */
    size_t apart;
    const int64_t *rows; /* [matrices] */
    int cols, matrices;
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
    const char *const own = strchr(slot + 4, '.') + 1;
    snprintf(part, sizeof part, " %s ", own);
    ct_gguf_place(&place, &e->model->config, slot);
    struct entry entry = {.cols = w->cols, .matrices = 1, .rows = &v->i->rows};
    for (size_t k = 0; k < INPUTS; k++)
        if (strstr(inputs[k].names, part))
            entry.sums = sums_of(v->i, layer, k);
    if (strcmp(own, gate_slot) == 0 || strcmp(own, down_slot) == 0) {
        const size_t first = expert_of(v->i, layer),
                     within = strcmp(own, down_slot) ? 0 : (size_t)v->i->experts.cols;
        entry.apart = expert_cols(v->i);
        entry.sums = v->i->experts.sums + first * entry.apart + within;
        entry.rows = v->i->experts.rows + first;
        entry.matrices = e->weights.layer[layer].experts.n;
    }
    if (!entry.sums || v->n == v->capacity)
        return CARAT_OK;
    entry.name = tensor_name(v, place.name, "");
    v->entry[v->n++] = entry;
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
        /* of one matrix a vector, of several rows */
        const int n_dim = t->matrices > 1 ? 2 : 1;
        const size_t values = (size_t)t->matrices * (size_t)t->cols;
        v->tensor[2 * i] = (struct ct_new_tensor){.name = tensor_name(v, t->name, ".in_sum2"),
                                                  .type = CT_F32,
                                                  .n_dim = n_dim,
                                                  .dim = {n_dim > 1 ? t->matrices : t->cols, t->cols},
                                                  .size = values * sizeof(float)};
        v->tensor[2 * i + 1] = (struct ct_new_tensor){.name = tensor_name(v, t->name, ".counts"),
                                                      .type = CT_F32,
                                                      .n_dim = n_dim,
                                                      .dim = {t->matrices, 1},
                                                      .size = (size_t)t->matrices * sizeof(float)};
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

static void put_float(uint8_t *base, const struct ct_new_tensor *t, size_t at, float v)
{
    memcpy(base + t->at + at * sizeof v, &v, sizeof v);
}

static void fill(const struct entries *v, uint8_t *base)
{
    memcpy(base, v->head.data, v->head.n);
    for (const struct entry *t = v->entry; t < v->entry + v->n; t++) {
        const struct ct_new_tensor *sums = &v->tensor[2 * (t - v->entry)], *counts = sums + 1;
        const size_t cols = (size_t)t->cols;
        for (size_t m = 0; m < (size_t)t->matrices; m++) {
            put_float(base, counts, m, (float)t->rows[m]);
            for (size_t c = 0; c < cols; c++)
                put_float(base, sums, m * cols + c, (float)t->sums[m * t->apart + c]);
        }
    }
}

/* The ending of a file while it is written. */
#define PART ".carat-part"

static carat_status write_importance(const carat_importance *i, const char *path, const char *dataset,
                                     int chunk, carat_error *err)
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

carat_status carat_importance_write(const carat_importance *importance, const char *path, const char *dataset,
                                    int chunk, carat_error *err)
{
    CT_GIVEN(importance, err);
    CT_GIVEN(path, err);
    CT_TRY(ct_check_range("chunk", chunk, 1, INT32_MAX, err));
    return write_importance(importance, path, dataset ? dataset : "", chunk, err);
}
