/* SPDX-License-Identifier: Apache-2.0 */
/* bisect_util.h: what the tests of carat_bisect share: copies of models/tiny in memory that are damaged, its
 * weights in other stored types, engines over them, and what was told of each operation. */
#ifndef CT_TEST_BISECT_UTIL_H
#define CT_TEST_BISECT_UTIL_H

#include <carat_quality.h>

#include "engine/engine.h"
#include "engine/vector_util.h"
#include "quant/encode.h"

enum { TOKENS = 100, HIDDEN = 256, WINDOW = 64, MOST_TOLD = 400 };

static carat_model *tiny;

UNUSED static int open_tiny(void **state)
{
    (void)state;
    OK(carat_model_open(&tiny, CT_TEST_DATA "/../../models/tiny", NULL, err));
    return 0;
}

UNUSED static int close_tiny(void **state)
{
    (void)state;
    carat_model_close(tiny);
    return 0;
}

/* ---- a model in memory ---- */

struct copy {
    carat_buffer file[16];
    char **name;
    int n;
    carat_model *model;
    struct ct_arena arena;
};

UNUSED static carat_buffer *copy_file(struct copy *c, const char *name)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->file[i].name, name) == 0)
            return &c->file[i];
    fail_msg("there is no %s", name);
    return NULL;
}

UNUSED static struct copy copy_folder(const char *dir)
{
    struct copy c = {0};
    char path[PATH_SIZE];

    c.n = list_folder(dir, &c.name);
    assert_true(c.n <= 16);
    for (int i = 0; i < c.n; i++) {
        c.file[i].data = read_whole(path_join(path, dir, c.name[i]), &c.file[i].size);
        c.file[i].name = c.name[i];
    }
    return c;
}

UNUSED static struct copy copy_tiny(void)
{
    return copy_folder(CT_TEST_DATA "/../../models/tiny");
}

UNUSED static void copy_open(struct copy *c)
{
    OK(carat_model_open_memory(&c->model, c->file, sizeof *c->file, c->n, NULL, err));
}

UNUSED static void copy_close(struct copy *c)
{
    carat_model_close(c->model);
    for (int i = 0; i < c->n; i++)
        free((void *)(uintptr_t)c->file[i].data);
    free_names(c->name, c->n);
    ct_arena_free(&c->arena);
}

/* Writes other text over a part of config.json, of the same length or less. */
UNUSED static void copy_configure(struct copy *c, const char *from, const char *to)
{
    carat_buffer *f = copy_file(c, "config.json");
    char *text = (char *)(uintptr_t)f->data, *at;
    size_t n = strlen(from);

    for (at = text; at + n <= text + f->size && memcmp(at, from, n) != 0; at++)
        ;
    assert_true(at + n <= text + f->size);
    assert_true(strlen(to) <= n);
    memset(at, ' ', n);
    memcpy(at, to, strlen(to));
}

/* The values of a tensor of model.safetensors, bf16. */
UNUSED static uint16_t *copy_tensor(const struct copy *c, const char *name)
{
    carat_buffer *f = copy_file((struct copy *)(uintptr_t)c, "model.safetensors");
    char *bytes = (char *)(uintptr_t)f->data, quoted[256];
    uint64_t header;

    memcpy(&header, bytes, sizeof header);
    snprintf(quoted, sizeof quoted, "\"%s\"", name);
    char *json = calloc(1, (size_t)header + 1);
    assert_non_null(json);
    memcpy(json, bytes + 8, (size_t)header);
    const char *at = strstr(json, quoted);
    assert_non_null(at);
    at = strstr(at, "data_offsets");
    assert_non_null(at);
    uint64_t from = strtoull(strchr(at, '[') + 1, NULL, 10);
    free(json);
    return (uint16_t *)(void *)(bytes + 8 + header + from);
}

/* Encodes every matrix of an open copy, whose models are the test's own. */
struct encoding {
    struct copy *copy;
    enum ct_type type;
};

UNUSED static carat_status encode_one(void *user, const char *slot, const char *tensor,
                                      const struct ct_weight *w)
{
    const struct encoding *e = user;
    const struct ct_type_info *from = ct_type_info(w->type), *to = ct_type_info(e->type);
    struct ct_weight made = *w;

    (void)tensor;
    if (strstr(slot, "norm") || !w->data)
        return CARAT_OK;
    float *row = malloc((size_t)w->cols * sizeof *row);
    made.type = e->type;
    made.row_bytes = (size_t)w->cols / (size_t)to->block * (size_t)to->bytes;
    uint8_t *data = ct_arena_push(&e->copy->arena, (size_t)w->rows, made.row_bytes);
    assert_true(row && data && w->layout == CT_LAYOUT_ROWS && from->block == 1);
    for (int r = 0; r < w->rows; r++) {
        ct_dequantize(w->type, row, (const uint8_t *)w->data + (size_t)r * w->row_bytes, (size_t)w->cols);
        ct_encode(e->type, data + (size_t)r * made.row_bytes, row, (size_t)w->cols);
    }
    free(row);
    made.data = data;
    *(struct ct_weight *)(uintptr_t)w = made;
    return CARAT_OK;
}

UNUSED static void copy_encode(struct copy *c, enum ct_type type)
{
    struct encoding e = {c, type};

    OK(ct_weights_walk(&c->model->weights, &c->model->config, c->model->file, encode_one, &e));
    if (c->model->weights.tied)
        c->model->weights.head = c->model->weights.embed;
}

/* ---- engines ---- */

struct mode {
    int exact, chunk, threads, context;
    carat_kv kv;
};

UNUSED static carat_engine *engine_of(const carat_model *model, struct mode mode)
{
    carat_engine *e = NULL;
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.threads = mode.threads ? mode.threads : 1;
    o.context = mode.context ? mode.context : 128;
    o.chunk = mode.chunk;
    o.exact = mode.exact;
    o.kv = mode.kv;
    OK(carat_engine_create(&e, model, &o, err));
    return e;
}

/* ---- what was told ---- */

struct told {
    int n, flagged;
    carat_operation_error of[MOST_TOLD], first;
};

UNUSED static int keep_told(void *user, const carat_operation_error *e)
{
    struct told *t = user;

    assert_int_equal(e->size, sizeof *e);
    assert_true(t->n < MOST_TOLD);
    assert_true(e->channel >= 0 && e->channel < e->width && e->own >= 0 && e->carried >= 0);
    assert_int_equal(e->flagged, *e->reason != 0);
    t->flagged += e->flagged;
    t->of[t->n++] = *e;
    return 0;
}

/* Ids of a vocabulary: the same everywhere. */
UNUSED static void some_ids(int32_t id[TOKENS], const carat_model *model)
{
    const int n_vocab = model_info(model).n_vocab;

    for (int i = 0; i < TOKENS; i++)
        id[i] = i == 0 ? 2 : 3 + (i * 37 + i * i * 11) % (n_vocab - 3);
}

UNUSED static void print_told(const struct told *t)
{
    for (int i = 0; i < t->n && getenv("CARAT_TEST_VERBOSE"); i++)
        print_message("%2d %-14s own %-9.3g carried %-9.3g channel %4d %-9.3g %s\n", t->of[i].layer,
                      t->of[i].operation, t->of[i].own, t->of[i].carried, t->of[i].channel,
                      t->of[i].channel_error, t->of[i].reason);
}

UNUSED static struct told *bisect_engines(carat_engine *ref, carat_engine *test, int n)
{
    struct told *t = calloc(1, sizeof *t);
    carat_bisect_options o;
    int32_t id[TOKENS];
    carat_bisect_options_default(&o);
    assert_non_null(t);
    some_ids(id, ref->model);
    o.on_operation = keep_told;
    o.user = t;
    t->first.size = sizeof t->first;
    OK(carat_bisect(ref, test, id, n, &o, &t->first, err));
    print_told(t);
    return t;
}

UNUSED static struct told *bisect_models(const carat_model *ref, const carat_model *test, struct mode a,
                                         struct mode b)
{
    carat_engine *one = engine_of(ref, a), *two = engine_of(test, b);
    struct told *t = bisect_engines(one, two, TOKENS);

    carat_engine_close(one);
    carat_engine_close(two);
    return t;
}

/* The first flagged is this one; channel -1: any. */
UNUSED static void found(struct told *t, int layer, const char *operation, int channel)
{
    if (!t->first.operation)
        fail_msg("nothing is flagged, expected layer %d, %s", layer, operation);
    if (t->first.layer != layer || strcmp(t->first.operation, operation) != 0 ||
        (channel >= 0 && t->first.channel != channel))
        fail_msg(
            "layer %d, %s, channel %d (own %g, channel %g) is flagged, expected layer %d, %s, channel %d",
            t->first.layer, t->first.operation, t->first.channel, t->first.own, t->first.channel_error, layer,
            operation, channel);
    assert_true(*t->first.reason != 0);
    free(t);
}

UNUSED static void found_nothing(struct told *t, const char *what)
{
    if (t->first.operation)
        fail_msg("%s: layer %d, %s is flagged: %s: own %g, channel %d %g", what, t->first.layer,
                 t->first.operation, t->first.reason, t->first.own, t->first.channel, t->first.channel_error);
    assert_int_equal(t->flagged, 0);
    free(t);
}

#endif
