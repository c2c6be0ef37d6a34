/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c: see convert.h. Weights are taken as the forward pass has them, by the names of GGUF, so that no
 * container matters here; what a GGUF file says beside them: keys.c. Threads fill the mapped file, some rows
 * at a time, and give the pages of both files back. */
#include "convert/convert.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "convert/keys.h"
#include "layout/panel.h"
#include "os/cgroup.h"
#include "os/cpu.h"
#include "os/files.h"
#include "os/memory.h"
#include "os/new_file.h"
#include "os/pool.h"
#include "quant/encode.h"

enum {
    CHUNK = 1 << 20, /* bytes of a tensor that a thread fills at once, but for long rows */
    TURNS = 8,       /* chunks of a thread between two questions whether to go on */
};

/* A weight, and the rows of a tensor that it becomes. */
struct converted {
    struct ct_weight w;
    const char *source; /* the tensor that it is from, for messages */
    size_t row_bytes;   /* of the new one */
    int tensor, first;  /* and the first of its rows there */
    int rows, chunks;   /* of a chunk; chunks before its first one */
};

/* Slots whose tensors are not called by their own name and ".weight": a number at the end of a slot says
 * which matrix of a tensor it is, and they follow one another there. */
static const struct renamed {
    const char *slot, *tensor;
    bool several;
} renamed[] = {
    {"ffn_gate_exps.", "ffn_gate_up_exps.weight", true},
    {"ffn_up_exps.", "ffn_gate_up_exps.weight", true},
    {"ffn_down_exps.", "ffn_down_exps.weight", true},
    {"ffn_gate_inp_scale", "ffn_gate_inp.scale", false},
    {"ffn_down_exps_scale", "ffn_down_exps.scale", false},
};

/* The first weight that is not finite, in the order of the file. */
struct fault {
    int at, row, col; /* at: -1: there is none */
    float value;
};

struct conversion {
    const struct carat_model *m;
    const carat_convert_options *o;
    const char *path;
    carat_error *err;
    struct ct_arena arena;
    bool any_type; /* none is asked for */
    enum ct_type type;
    struct converted *c;          /* [n] */
    struct ct_new_tensor *tensor; /* [n_tensor] */
    int n, n_tensor, n_chunk;
    struct ct_new_head head;
    uint64_t size;
    uint8_t *base;
    bool avx2;
    struct scratch {
        float *x;        /* a row */
        uint8_t *stored; /* of a packed source */
        struct fault fault;
    } * scratch; /* [threads] */
    int first;   /* chunk of the job under way */
    atomic_size_t done;
};

/* ---- what becomes what ---- */

static bool type_named(const char *name, enum ct_type *type)
{
    for (int i = 0; i < CT_TYPE_COUNT; i++) {
        const char *a = ct_type_info((enum ct_type)i)->name, *b = name;
        while (*a && (*a | 32) == (*b | 32))
            a++, b++;
        *type = (enum ct_type)i;
        if (!*a && !*b)
            return true;
    }
    return false;
}

/* What llama.cpp's quantiser leaves in the source's type. */
static bool is_left_alone(const char *slot)
{
    return strcmp(slot, "per_layer_model_proj") == 0;
}

/* The type for rows that are no multiple of a block of 256. */
static enum ct_type fallback(enum ct_type type)
{
    static const enum ct_type instead[CT_TYPE_COUNT] = {
        [CT_Q4_K] = CT_Q5_0,     [CT_Q5_K] = CT_Q5_1, [CT_Q6_K] = CT_Q8_0,
        [CT_IQ4_XS] = CT_IQ4_NL, [CT_Q2_K] = CT_Q4_0, [CT_Q3_K] = CT_Q4_0,
    };
    return instead[type] ? instead[type] : CT_F16;
}

static enum ct_type type_of(const struct conversion *v, const char *slot, const struct ct_weight *w)
{
    const bool quantises = !v->any_type && ct_type_info(v->type)->block > 1;
    enum ct_type type = v->any_type || (quantises && is_left_alone(slot)) ? w->type : v->type;

    if (w->rows == 1 || (!v->any_type && strstr(slot, "ffn_gate_inp"))) /* a router's scores decide */
        return CT_F32;
    if (ct_type_info(type)->ggml < 0) /* gemma.cpp's, whose values BF16 holds */
        type = CT_BF16;
    if (w->scale != 1 && v->any_type) /* GGUF has no place for it */
        return CT_F32;
    for (int i = 0; i < 2 && w->cols % ct_type_info(type)->block != 0; i++)
        type = i == 0 ? fallback(type) : CT_F16;
    return type;
}

static carat_status count_weight(void *user, const char *slot, const char *tensor, const struct ct_weight *w)
{
    (void)slot, (void)tensor, (void)w;
    ((struct conversion *)user)->n++;
    return CARAT_OK;
}

/* What the tensor of a slot is called. Returns how many matrices it has so far, this one included; 0: it is
 * this weight alone. */
static int name_of(char name[96], const char *slot)
{
    const char *own = strncmp(slot, "blk.", 4) == 0 ? strchr(slot + 4, '.') + 1 : slot;

    for (size_t i = 0; i < CT_COUNT(renamed); i++) {
        const struct renamed *r = &renamed[i];
        const size_t n = strlen(r->slot);
        if (strncmp(own, r->slot, n) != 0)
            continue;
        snprintf(name, 96, "%.*s%s", (int)(own - slot), slot, r->tensor);
        return r->several ? atoi(own + n) + 1 : 0;
    }
    snprintf(name, 96, "%s.weight", slot);
    return 0;
}

/* The tensor of that name, the last or the one before it; a new one at the end. */
static int tensor_named(struct conversion *v, const char *name)
{
    int i = v->n_tensor;

    while (i > 0 && i > v->n_tensor - 2)
        if (strcmp(v->tensor[--i].name, name) == 0)
            return i;
    v->tensor[v->n_tensor] =
        (struct ct_new_tensor){.name = ct_arena_str(&v->arena, name, strlen(name)), .type = CT_TYPE_COUNT};
    return v->n_tensor++;
}

/* A router's scale is multiplied by a root where the model is opened; containers have it without. */
static bool as_stored(struct ct_weight *w, const struct conversion *v, const char *slot, const char *source)
{
    const struct ct_tensor *t = ct_file_find(v->m->file, source);

    if (!strstr(slot, "ffn_gate_inp_scale"))
        return true;
    if (!t || !t->data || t->n_dim != 1 || t->dim[0] != w->cols || ct_type_info(t->type)->block != 1)
        return false;
    w->type = t->type;
    w->data = t->data;
    w->row_bytes = t->size;
    return true;
}

static carat_status add_weight(void *user, const char *slot, const char *source, const struct ct_weight *w)
{
    struct conversion *v = user;
    struct converted *c = &v->c[v->n++];
    char name[96];
    const int several = name_of(name, slot), at = tensor_named(v, name);
    struct ct_new_tensor *t = &v->tensor[at];
    struct ct_weight stored = *w;

    if (!t->name || !(source = ct_arena_str(&v->arena, source, strlen(source))))
        return ct_no_memory(v->err, "the list of weights");
    if (!as_stored(&stored, v, slot, source))
        return ct_fail(v->err, CARAT_E_UNSUPPORTED,
                       "%s: %s is not kept here as it was: convert the file that this "
                       "one was made from",
                       ct_file_path(v->m->file), source);
    w = &stored;
    *c = (struct converted){.w = *w, .source = source, .tensor = at, .chunks = v->n_chunk};
    if (t->type == CT_TYPE_COUNT)
        t->type = type_of(v, slot, w);
    ct_type_row_bytes(t->type, (size_t)w->cols, &c->row_bytes); /* type_of has seen to it */
    c->first = (int)(t->size / c->row_bytes);
    t->size += (size_t)w->rows * c->row_bytes;
    t->n_dim = several ? 3 : w->rows == 1 ? 1 : 2;
    const int rows = c->first + w->rows;
    const int64_t dims[3][3] = {
        {w->cols}, {w->rows, w->cols}, {several, several ? rows / several : 0, w->cols}};
    memcpy(t->dim, dims[t->n_dim - 1], sizeof dims[0]);
    c->rows = (int)CT_MAX((size_t)CHUNK / c->row_bytes, (size_t)1);
    v->n_chunk += (w->rows + c->rows - 1) / c->rows;
    return CARAT_OK;
}

/* Where some pairs of global heads do not turn, what their angles are divided by. */
static carat_status add_rope_freqs(struct conversion *v)
{
    const struct ct_attn *global = &v->m->config.attn[CT_GLOBAL];
    const int n = global->head_dim / 2;
    float *divisor;

    if (global->rotated == n)
        return CARAT_OK;
    divisor = ct_arena_push(&v->arena, (size_t)n, sizeof *divisor);
    for (int i = 0; divisor && i < n; i++)
        divisor[i] = i < global->rotated ? 1 : 1e30f;
    const struct ct_weight w = {.type = CT_F32,
                                .layout = CT_LAYOUT_ROWS,
                                .rows = 1,
                                .cols = n,
                                .row_bytes = (size_t)n * sizeof *divisor,
                                .data = divisor,
                                .scale = 1};
    return divisor ? add_weight(v, "rope_freqs", CT_ROPE_FREQS, &w)
                   : ct_no_memory(v->err, "the list of weights");
}

/* llama.cpp's number for a file whose matrices are mostly of that type. */
static uint32_t file_type(enum ct_type type)
{
    static const uint8_t number[CT_TYPE_COUNT] = {
        [CT_F16] = 1,   [CT_Q4_0] = 2,    [CT_Q4_1] = 3,  [CT_Q8_0] = 7,    [CT_Q5_0] = 8,
        [CT_Q5_1] = 9,  [CT_Q2_K] = 10,   [CT_Q3_K] = 12, [CT_Q4_K] = 15,   [CT_Q5_K] = 17,
        [CT_Q6_K] = 18, [CT_IQ4_NL] = 25, [CT_BF16] = 32, [CT_IQ4_XS] = 30, [CT_MXFP4] = 38,
    };
    return number[type];
}

static enum ct_type most_of(const struct conversion *v)
{
    size_t bytes[CT_TYPE_COUNT] = {0};
    enum ct_type most = CT_F32;

    for (int i = 0; i < v->n_tensor; i++)
        bytes[v->tensor[i].type] += v->tensor[i].size;
    for (int t = 0; t < CT_TYPE_COUNT; t++)
        most = bytes[t] > bytes[most] ? (enum ct_type)t : most;
    return most;
}

static carat_status plan(struct conversion *v, carat_error *err)
{
    const struct carat_model *m = v->m;

    if (m->config.altup || m->config.embeds)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: it is a %s model, which carat runs, but does not convert yet",
                       ct_file_path(m->file), m->config.architecture);
    ct_weights_walk(&m->weights, &m->config, m->file, count_weight, v);
    v->c = ct_arena_push(&v->arena, (size_t)v->n + 1, sizeof *v->c);
    v->tensor = ct_arena_push(&v->arena, (size_t)v->n + 1, sizeof *v->tensor);
    v->n = 0;
    if (!v->c || !v->tensor)
        return ct_no_memory(err, "the list of weights");
    CT_TRY(add_rope_freqs(v));
    CT_TRY(ct_weights_walk(&m->weights, &m->config, m->file, add_weight, v));
    ct_gguf_begin(&v->head);
    CT_TRY(ct_put_keys(&v->head, m, file_type(most_of(v)), err));
    return ct_gguf_end(&v->head, v->tensor, v->n_tensor, &v->size, v->path, err);
}

/* ---- filling it ---- */

static const uint8_t *stored_row(const struct conversion *v, const struct ct_weight *w, int row, int thread)
{
    if (w->layout != CT_LAYOUT_PANELS)
        return (const uint8_t *)w->data + (size_t)row * w->row_bytes;
    ct_unpack(v->scratch[thread].stored, w, row);
    return v->scratch[thread].stored;
}

/* Keeps the first value that is not finite. */
static bool check_row(struct conversion *v, int at, int row, int thread)
{
    struct scratch *s = &v->scratch[thread];
    const int n = v->c[at].w.cols;
    float sum = 0;

    for (int i = 0; i < n; i++)
        sum += s->x[i] - s->x[i]; /* 0 for what is finite, else NaN */
    if (sum == 0)
        return true;
    for (int i = 0; i < n; i++)
        if (!isfinite(s->x[i]) &&
            (s->fault.at < 0 || at < s->fault.at || (at == s->fault.at && row < s->fault.row))) {
            s->fault = (struct fault){at, row, i, s->x[i]};
            break;
        }
    return false;
}

static void convert_row(struct conversion *v, int at, int row, uint8_t *to, int thread)
{
    const struct converted *c = &v->c[at];
    const uint8_t *from = stored_row(v, &c->w, row, thread);
    float *x = v->scratch[thread].x;

    ct_dequantize(c->w.type, x, from, (size_t)c->w.cols);
    if (!check_row(v, at, row, thread))
        return;
    if (c->w.type == v->tensor[c->tensor].type) {
        memcpy(to, from, c->row_bytes);
        return;
    }
    for (int i = 0; c->w.scale != 1 && i < c->w.cols; i++)
        x[i] *= c->w.scale;
    ct_encode_row(v->tensor[c->tensor].type, to, x, (size_t)c->w.cols, NULL, v->avx2);
}

static int weight_of(const struct conversion *v, int chunk)
{
    int low = 0, high = v->n;

    while (high - low > 1) {
        const int mid = (low + high) / 2;
        if (v->c[mid].chunks <= chunk)
            low = mid;
        else
            high = mid;
    }
    return low;
}

static void fill_chunk(void *conversion, int item, int thread)
{
    struct conversion *v = conversion;
    const int at = weight_of(v, v->first + item);
    const struct converted *c = &v->c[at];
    const int r0 = (v->first + item - c->chunks) * c->rows, r1 = CT_MIN(r0 + c->rows, c->w.rows);
    uint8_t *to = v->base + v->tensor[c->tensor].at + (size_t)(c->first + r0) * c->row_bytes;

    for (int r = r0; r < r1; r++)
        convert_row(v, at, r, to + (size_t)(r - r0) * c->row_bytes, thread);
    if (c->w.layout != CT_LAYOUT_PANELS)
        ct_file_forget(v->m->file, (const uint8_t *)c->w.data + (size_t)r0 * c->w.row_bytes,
                       (size_t)(r1 - r0) * c->w.row_bytes);
    ct_os_discard(to, (size_t)(r1 - r0) * c->row_bytes);
    atomic_fetch_add_explicit(&v->done, (size_t)(r1 - r0) * c->row_bytes, memory_order_relaxed);
}

static int ask_progress(void *conversion)
{
    const struct conversion *v = conversion;
    const size_t done = v->head.n + atomic_load_explicit(&v->done, memory_order_relaxed);

    return v->o->progress(v->o->user, CT_MIN(done, (size_t)v->size) >> 10, (size_t)v->size >> 10);
}

static carat_status say_fault(const struct conversion *v, int threads, carat_error *err)
{
    struct fault first = {.at = -1};

    for (int i = 0; i < threads; i++) {
        const struct fault *f = &v->scratch[i].fault;
        if (f->at >= 0 && (first.at < 0 || f->at < first.at || (f->at == first.at && f->row < first.row)))
            first = *f;
    }
    if (first.at < 0)
        return CARAT_OK;
    return ct_fail(
        err, CARAT_E_NUMERIC,
        "%s: tensor %s has %g in row %d, column %d; expected a finite number: nothing is converted",
        ct_file_path(v->m->file), v->c[first.at].source, (double)first.value, first.row, first.col);
}

static carat_status fill(struct conversion *v, int threads, carat_error *err)
{
    struct ct_pool *pool;
    carat_status status = CARAT_OK;

    CT_TRY(ct_pool_create(&pool, threads, err));
    ct_pool_watch(pool, v->o->progress ? ask_progress : NULL, v);
    for (v->first = 0; v->first < v->n_chunk && !status; v->first += TURNS * threads) {
        ct_pool_run(pool, CT_MIN(TURNS * threads, v->n_chunk - v->first), fill_chunk, v);
        status =
            ct_pool_goes_on(pool, 0)
                ? say_fault(v, threads, err)
                : ct_fail(err, CARAT_E_CANCELLED, "writing %s was cancelled; nothing is left of it", v->path);
    }
    ct_pool_destroy(pool);
    return status;
}

static carat_status scratch_rows(struct conversion *v, int threads, carat_error *err)
{
    size_t most = 1, stored = 1;

    for (int i = 0; i < v->n; i++) {
        size_t bytes;
        ct_type_row_bytes(v->c[i].w.type, (size_t)v->c[i].w.cols, &bytes);
        most = CT_MAX(most, (size_t)v->c[i].w.cols);
        stored = CT_MAX(stored, bytes);
    }
    v->scratch = ct_arena_push(&v->arena, (size_t)threads, sizeof *v->scratch);
    for (int i = 0; v->scratch && i < threads; i++) {
        struct scratch *s = &v->scratch[i];
        *s = (struct scratch){.x = ct_arena_push(&v->arena, most, sizeof *s->x),
                              .stored = ct_arena_push(&v->arena, stored, 1),
                              .fault.at = -1};
        if (!s->x || !s->stored)
            return ct_no_memory(err, "converting");
    }
    return v->scratch ? CARAT_OK : ct_no_memory(err, "converting");
}

/* ---- the file ---- */

/* What readers take from the new file must be what the model is, also where a family's own rule stands for a
 * key that GGUF does not have. */
static carat_status read_back(struct conversion *v, const char *part, carat_error *err)
{
    const struct ct_config *c = &v->m->config;
    struct ct_config *got = ct_arena_push(&v->arena, 1, sizeof *got);
    struct ct_file *f = NULL;

    if (!got)
        return ct_no_memory(err, v->path);
    carat_status status = ct_file_open(&f, part, false, err);
    if (!status)
        status = ct_config_read(got, f, err);
    ct_file_close(f);
    CT_TRY(status);
    const struct {
        const char *what;
        double is, read;
    } facts[] = {
        {"layers", c->n_layer, got->n_layer},
        {"values of a row", c->hidden, got->hidden},
        {"tokens of context", c->max_context, got->max_context},
        {"an eps of norms", (double)c->norm_eps, (double)got->norm_eps},
        {"a cap of logits", (double)c->logit_cap, (double)got->logit_cap},
        {"a window", c->attn[CT_LOCAL].window, got->attn[CT_LOCAL].window},
        {"a base of local angles", c->attn[CT_LOCAL].rope_base, got->attn[CT_LOCAL].rope_base},
        {"a base of global angles", c->attn[CT_GLOBAL].rope_base, got->attn[CT_GLOBAL].rope_base},
        {"a factor of global angles", c->attn[CT_GLOBAL].rope_factor, got->attn[CT_GLOBAL].rope_factor},
    };
    for (size_t i = 0; i < CT_COUNT(facts); i++)
        if (facts[i].is != facts[i].read)
            return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: the model has %s of %.9g, but GGUF would say %.9g",
                           v->path, facts[i].what, facts[i].is, facts[i].read);
    for (int i = 0; i < c->n_layer; i++) {
        const struct ct_layer_config *a = &c->layer[i], *b = &got->layer[i];
        if (a->attn_scale != b->attn_scale || a->attn_cap != b->attn_cap)
            return ct_fail(
                err, CARAT_E_UNSUPPORTED,
                "%s: layer %d scales scores by %.9g and caps them at %.9g, but GGUF would say %.9g "
                "and %.9g",
                v->path, i, (double)a->attn_scale, (double)a->attn_cap, (double)b->attn_scale,
                (double)b->attn_cap);
        if (a->attn_type != b->attn_type || a->n_head != b->n_head || a->n_kv_head != b->n_kv_head ||
            a->head_dim != b->head_dim || a->ffn != b->ffn)
            return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: GGUF would say another shape of layer %d", v->path,
                           i);
    }
    return CARAT_OK;
}

/* The ending of a file while it is written. */
#define PART ".carat-part"

static carat_status write_file(struct conversion *v, struct ct_os_new *file, carat_error *err)
{
    const int threads = v->o->threads > 0 ? v->o->threads : ct_os_cpus();

    CT_TRY(scratch_rows(v, threads, err));
    CT_TRY(ct_os_new_size(file, (size_t)v->size, err));
    v->base = file->base;
    memcpy(v->base, v->head.data, v->head.n);
    carat_status status = fill(v, threads, err);
    ct_os_new_written(file);
    return status;
}

static carat_status make_file(struct conversion *v, carat_error *err)
{
    struct ct_os_new file = {.fd = -1};
    struct ct_os_id id;
    const size_t length = strlen(v->path);
    char *part = ct_arena_push(&v->arena, length + sizeof PART, 1);

    if (!part)
        return ct_no_memory(err, v->path);
    strcat(strcpy(part, v->path), PART);
    if (!ct_os_replaceable(v->path))
        return ct_fail(err, CARAT_E_IO, "%s is not a regular file, so it cannot be replaced", v->path);
    if (ct_model_reads(v->m, v->path))
        return ct_fail(err, CARAT_E_ARGUMENT, "%s is what the model is read from: name another file",
                       v->path);
    carat_status status = ct_os_new_begin(&file, part, 0666, err);
    if (!status)
        status = write_file(v, &file, err);
    if (!status)
        status = read_back(v, part, err);
    if (!status)
        status = ct_os_new_finish(&file, v->path, &id, err);
    if (status)
        ct_os_new_abandon(&file);
    return status;
}

carat_status ct_convert(const struct carat_model *m, const char *path, const carat_convert_options *o,
                        carat_error *err)
{
    struct conversion v = {.m = m, .o = o, .path = path, .err = err, .any_type = !o->type};

    if (!m->has_weights)
        return ct_fail(err, CARAT_E_ARGUMENT, "the model has no weights");
    if (o->type && (!type_named(o->type, &v.type) || !ct_encodes_rows(v.type)))
        return ct_fail(err, CARAT_E_ARGUMENT, "type is \"%s\", which carat does not write", o->type);
    v.avx2 = ct_cpu_has_avx2();
    carat_status status = plan(&v, err);
    if (!status)
        status = make_file(&v, err);
    ct_new_head_free(&v.head);
    ct_arena_free(&v.arena);
    return status;
}
