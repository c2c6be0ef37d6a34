/* SPDX-License-Identifier: Apache-2.0 */
/* check.c: whether a device gives the CPU's bits, before an engine trusts it: a small model of made-up
 * weights, once for each type that the engine's model has, is evaluated by both. It goes the whole way,
 * through two layers, a local and a global one: a prompt, ids one by one, of which the later ones are the
 * graph of the first, and the best ids. So every kernel which such a model needs is run; the numbers
 * themselves do not matter.
 *
 * Other numbers, and the device is refused. */
#include "device/device.h"
#include "engine/session.h"

#include <stdlib.h>

#include "quant/quant.h"

enum { HEADS = 2, VOCABULARY = 256, LAYERS = 2, MOST_WIDTH = 256 };
enum { PROMPT = 20, STEPS = 3, BEST = 8 };

/* Rows are as long as blocks of the type make them, but those of down have more groups than a block of
 * threads takes at once, as a prompt has more rows. */
struct small {
    struct carat_model model;
    struct ct_layer layer[LAYERS];
    int width, ffn;
    float vector[MOST_WIDTH];
    uint8_t *matrix; /* all matrices begin with its first block */
};

/* The numbers that are compared. */
struct numbers {
    float logits[PROMPT + STEPS][VOCABULARY];
    carat_candidate best[BEST];
};

/* ---- the model ---- */

/* Within (-1, 1), and not a number of few bits. */
static float number(uint32_t i)
{
    uint32_t u = i * 2654435761u + 36;

    u = (u ^ u >> 15) * 2246822519u;
    return (float)((u ^ u >> 13) >> 8) * 0x1p-23f - 1;
}

static struct ct_weight matrix_of(const struct small *s, enum ct_type type, int rows, int cols)
{
    struct ct_weight w = {.type = type, .rows = rows, .cols = cols, .data = s->matrix, .scale = 1};

    (void)ct_type_row_bytes(type, (size_t)cols, &w.row_bytes);
    return w;
}

static struct ct_weight vector_of(const struct small *s, int n)
{
    return (struct ct_weight){.type = CT_F32,
                              .rows = 1,
                              .cols = n,
                              .row_bytes = (size_t)n * sizeof(float),
                              .data = s->vector,
                              .scale = 1};
}

static struct ct_layer small_layer(const struct small *s, enum ct_type type, int i)
{
    const int width = s->width, head_dim = width / HEADS;
    const struct ct_weight whole = matrix_of(s, type, width, width),
                           head = matrix_of(s, type, head_dim, width),
                           gate = matrix_of(s, type, s->ffn, width), norm = vector_of(s, width),
                           head_norm = vector_of(s, head_dim);

    return (struct ct_layer){.c = s->model.config.layer[i],
                             .attn_norm = norm,
                             .q = whole,
                             .k = head,
                             .v = head,
                             .o = whole,
                             .q_norm = head_norm,
                             .k_norm = head_norm,
                             .attn_post_norm = norm,
                             .ffn_norm = norm,
                             .gate = gate,
                             .up = gate,
                             .down = matrix_of(s, type, width, s->ffn),
                             .ffn_post_norm = norm};
}

static struct ct_config small_config(int width, int ffn)
{
    struct ct_config c = {.architecture = "gemma3",
                          .n_layer = LAYERS,
                          .hidden = width,
                          .n_vocab = VOCABULARY,
                          .n_text_vocab = VOCABULARY,
                          .max_context = CT_KEY_BLOCK,
                          .tied = 1,
                          .post_norms = true,
                          .qk_norms = true,
                          .norm_eps = 1e-6f,
                          .logit_cap = 30,
                          .embed_scale = 8,
                          .residual_scale = 1};

    for (int i = 0; i < LAYERS; i++) {
        const enum ct_attn_type type = i ? CT_GLOBAL : CT_LOCAL;
        c.attn[type] = (struct ct_attn){.window = i ? 0 : 2,
                                        .head_dim = width / HEADS,
                                        .rotated = width / HEADS / 2,
                                        .rope_base = i ? 1e6 : 1e4,
                                        .rope_factor = 1};
        c.layer[i] = (struct ct_layer_config){.n_head = HEADS,
                                              .n_kv_head = 1,
                                              .head_dim = width / HEADS,
                                              .ffn = ffn,
                                              .attn_type = (int)type,
                                              .kv_layer = i,
                                              .attn_scale = 0.125f};
    }
    return c;
}

/* file: of another model, which says nothing of this one. */
static carat_status small_model(struct small *s, struct ct_file *file, enum ct_type type, carat_error *err)
{
    const int block = ct_type_info(type)->block, width = block > 64 ? MOST_WIDTH : 64;
    const int ffn = CT_MAX(width * 2, 10 * CT_GROUP);
    const size_t n = (size_t)width * (size_t)ffn;
    size_t bytes = 0;

    *s = (struct small){.model = {.file = file, .has_weights = true, .config = small_config(width, ffn)},
                        .width = width,
                        .ffn = ffn};
    if (!ct_type_row_bytes(type, n, &bytes) || !(s->matrix = malloc(bytes)))
        return ct_no_memory(err, "a check of the device");
    ct_make_up(type, s->matrix, n, 0);
    for (int i = 0; i < width; i++)
        s->vector[i] = 1 + 0.5f * number((uint32_t)i);
    for (int i = 0; i < LAYERS; i++)
        s->layer[i] = small_layer(s, type, i);
    s->model.weights = (struct ct_weights){.embed = matrix_of(s, type, VOCABULARY, width),
                                           .head = matrix_of(s, type, VOCABULARY, width),
                                           .final_norm = vector_of(s, width),
                                           .layer = s->layer,
                                           .tied = true};
    return CARAT_OK;
}

/* ---- its numbers ---- */

/* Evaluates a prompt and the ids behind it; then gets the best ids, where nobody has asked for all logits. */
static carat_status evaluate_small(carat_session *session, struct numbers *n, carat_error *err)
{
    int32_t ids[PROMPT + STEPS + 1];

    for (int i = 0; i < (int)CT_COUNT(ids); i++)
        ids[i] = (2 + i * 103) % VOCABULARY;
    for (int at = 0, more = PROMPT; at < (int)CT_COUNT(ids); at += more, more = 1) {
        const bool last = at == PROMPT + STEPS;
        struct ct_row row = {
            .row = {
                .session = session, .tokens = ids + at, .n = more, .logits = last ? NULL : n->logits[at]}};
        CT_TRY(ct_evaluate(&row, false, err));
    }
    return ct_top(session, BEST, n->best, err);
}

static carat_status small_numbers(const struct small *s, const carat_engine_options *o, const char *device,
                                  struct numbers *n, carat_error *err)
{
    const carat_engine_options with = {.threads = 1,
                                       .sessions = 1,
                                       .chunk = PROMPT,
                                       .kv = o->kv,
                                       .exact = o->exact,
                                       .isa = o->isa,
                                       .device = device};
    const carat_sampling sampling = {.size = sizeof sampling, .temperature = 1, .top_k = BEST, .top_p = 1};
    const carat_session_options draws = {.size = sizeof draws, .sampling = &sampling};
    carat_engine *e = NULL;
    carat_session *session = NULL;
    carat_status status = ct_engine_create_on(&e, &s->model, &(carat_costs){0}, &with, err);

    if (!status)
        status = carat_session_create(&session, e, &draws, err);
    if (!status)
        status = evaluate_small(session, n, err);
    if (!status && e->sides.gone)
        status = ct_fail(err, e->sides.gone->failure.code, "%s", e->sides.gone->failure.message);
    carat_session_close(session);
    carat_engine_close(e);
    return status;
}

static carat_status check_type(struct ct_file *file, enum ct_type type, const carat_engine_options *o,
                               carat_error *err)
{
    struct numbers by_cpu, by_device;
    struct small s;
    carat_device device = {.name = ""};
    carat_status status = small_model(&s, file, type, err);

    if (!status)
        status = small_numbers(&s, o, "cpu", &by_cpu, err);
    if (!status)
        status = small_numbers(&s, o, o->device, &by_device, err);
    if (status == CARAT_E_NUMERIC || (!status && memcmp(&by_cpu, &by_device, sizeof by_cpu) != 0)) {
        (void)ct_cuda_describe(o->device, false, &device, NULL);
        status = ct_fail(err, CARAT_E_IO, "the GPU %s gives other numbers than the CPU with weights of %s",
                         device.name, ct_type_info(type)->name);
    }
    free(s.matrix);
    return status;
}

struct noted {
    const struct ct_backend *backend;
    uint64_t types; /* of matrices, as bits */
};

static carat_status note_type(void *user, const char *place, const char *tensor, const struct ct_weight *w)
{
    struct noted *noted = user;

    (void)place, (void)tensor;
    if (w->rows > 1)
        noted->types |= (uint64_t)1 << ct_weight_form(noted->backend, *w).type;
    return CARAT_OK;
}

carat_status ct_check_device(const carat_engine *e, const carat_engine_options *o, carat_error *err)
{
    const struct ct_weights weights = ct_engine_weights(e);
    struct noted noted = {.backend = e->backend};

    CT_TRY(ct_weights_walk(&weights, &e->config, e->model->file, note_type, &noted));
    for (int type = 0; type < CT_TYPE_COUNT; type++)
        if (noted.types >> type & 1)
            CT_TRY(check_type(e->model->file, (enum ct_type)type, o, err));
    return CARAT_OK;
}
