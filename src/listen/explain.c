/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c: what the passes of an engine are made of, and why, as lines of key and value. What serves an
 * operation the backend says; what is printed where, and where a setting comes from, is the caller's
 * business. */
#include "engine/engine.h"

#include <stdio.h>

#include "file/packed.h"

struct explaining {
    const carat_engine *engine;
    carat_explain_line line;
    void *user;
    const char *prefix; /* of keys */
    bool ended;         /* the caller wants no more */
};

static void __attribute__((format(printf, 3, 4)))
say(struct explaining *x, const char *key, const char *format, ...)
{
    char name[96], value[1024];

    if (x->ended)
        return;
    CT_FORMAT(value, format);
    snprintf(name, sizeof name, "%s%s", x->prefix, key);
    x->ended = x->line(x->user, name, value) != 0;
}

/* ---- operations ---- */

/* The owner of the weight of an operation. */
enum owner { NO_WEIGHT, OF_MODEL, OF_HEAD, OF_LAYER, OF_EXPERT };
#define MODEL(weight)  OF_MODEL, offsetof(struct ct_weights, weight)
#define LAYER(weight)  OF_LAYER, offsetof(struct ct_layer, weight)
#define EXPERT(weight) OF_EXPERT, offsetof(struct ct_expert, weight)
/* In the order of a pass. */
static const struct operation {
    const char *name, *verb;
    enum owner owner;
    size_t place; /* of the weight in it */
} operations[] = {
    {"rope_tables", "begin_pass", NO_WEIGHT, 0},
    {"embedding", "embed", MODEL(embed)},
    {"inputs_projection", "project", MODEL(ple_proj)},
    {"inputs", "embed_add", MODEL(ple)},
    {"streams", "project", MODEL(stream_proj)},
    {"stream_prediction", "altup_predict", LAYER(altup_predict)},
    {"norm", "norm", LAYER(attn_norm)},
    {"q", "project", LAYER(q)},
    {"k", "project", LAYER(k)},
    {"v", "project", LAYER(v)},
    {"beside_down", "project", LAYER(laurel_left)},
    {"beside_up", "project", LAYER(laurel_right)},
    {"head_norm", "qk_norm", LAYER(q_norm)},
    {"rope", "rope", NO_WEIGHT, 0},
    {"store_kv", "kv_write", NO_WEIGHT, 0},
    {"attention", "attend", NO_WEIGHT, 0},
    {"attention_output", "project", LAYER(o)},
    {"add_and_norm", "residual_norm", LAYER(attn_post_norm)},
    {"gate", "project_geglu", LAYER(gate)},
    {"up", "project_geglu", LAYER(up)},
    {"down", "project", LAYER(down)},
    {"router", "project", LAYER(router)},
    {"expert_gate", "project", EXPERT(gate)},
    {"expert_up", "project", EXPERT(up)},
    {"expert_down", "project", EXPERT(down)},
    {"stream_correction", "altup_correct", LAYER(altup_correct)},
    {"input_gate", "project", LAYER(input_gate)},
    {"input_projection", "project", LAYER(input_proj)},
    {"streams_back", "project", MODEL(stream_unproj)},
    {"final_norm", "norm", MODEL(final_norm)},
    {"head", "project_logits", OF_HEAD, 0},
    {"draw", "draw", NO_WEIGHT, 0},
};

/* The weight of an operation in a layer, or in the first of its experts; NULL: it has none. */
static const struct ct_weight *explained_weight(const carat_engine *e, const struct operation *o, int layer)
{
    static const struct ct_expert no_expert;
    const struct ct_layer *l = &e->weights.layer[layer];
    const void *const owner[] = {[NO_WEIGHT] = NULL,
                                 [OF_MODEL] = &e->weights,
                                 [OF_HEAD] = ct_head_weight(&e->head),
                                 [OF_LAYER] = l,
                                 [OF_EXPERT] = l->experts.n ? l->experts.expert : &no_expert};

    return o->owner == NO_WEIGHT ? NULL
                                 : (const struct ct_weight *)((const char *)owner[o->owner] + o->place);
}

/* True when the same kernels serve two weights of an operation: they are stored alike, in one place. */
static bool are_alike(const struct explaining *x, const struct operation *o, bool decodes,
                      const struct ct_weight *a, const struct ct_weight *b)
{
    struct ct_backend *of = x->engine->backend;
    struct ct_serving s = {.level = ""}, t = {.level = ""};

    if ((a->data != NULL) != (b->data != NULL) || a->type != b->type || a->layout != b->layout)
        return false;
    if (a->data && of->apart) {
        of->verb.serving(of, decodes, o->verb, a, x->engine->kv_type, &s);
        of->verb.serving(of, decodes, o->verb, b, x->engine->kv_type, &t);
    }
    return strcmp(s.level, t.level) == 0;
}

/* "Q4_0 in panels, input int8 for panels: project_panels of vnni; why; why". of: layers that are so, of n. */
static void say_operation(struct explaining *x, const char *key, const struct operation *o, bool decodes,
                          const struct ct_weight *w, int of, int n)
{
    const carat_engine *e = x->engine;
    struct ct_serving s;
    char weight[64] = "", input[64] = "", layers[48] = "";

    if (!e->backend->verb.serving(e->backend, decodes, o->verb, w, e->kv_type, &s))
        return;
    if (w)
        snprintf(weight, sizeof weight, "%s%s%s", ct_type_info(w->type)->name, w->rows > 1 ? " in " : "",
                 w->rows > 1 ? s.layout : "");
    if (*s.input)
        snprintf(input, sizeof input, ", input %s", s.input);
    if (of < n)
        snprintf(layers, sizeof layers, " in %d of %d layers", of, n);
    if (strcmp(o->verb, "kv_write") == 0 || strcmp(o->verb, "attend") == 0)
        snprintf(weight, sizeof weight, "K and V in %s", ct_kv_info(e->kv_type)->name);
    say(x, key, "%s%s%s%s%s of %s%s%s%s%s", weight, layers, input, *weight ? ": " : "", s.entry, s.level,
        *s.why_form ? "; " : "", s.why_form, *s.why_level ? "; " : "", s.why_level);
}

/* A line for each kind of weight that an operation has among the layers. */
static void explain_operation(struct explaining *x, const struct operation *o, bool decodes)
{
    const carat_engine *e = x->engine;
    const int n = o->owner >= OF_LAYER ? e->config.n_layer : 1;
    int kinds = 0;

    for (int i = 0; i < n; i++) {
        const struct ct_weight *w = explained_weight(e, o, i);
        int first = 0, of = 0;
        char key[64], number[16] = "";
        while (w && first < i && !are_alike(x, o, decodes, explained_weight(e, o, first), w))
            first++;
        if (w && first < i)
            continue; /* it has its line */
        for (int j = i; w && j < n; j++)
            of += are_alike(x, o, decodes, explained_weight(e, o, j), w);
        if (w && !w->data)
            continue;
        if (kinds++ > 0)
            snprintf(number, sizeof number, ".%d", kinds);
        snprintf(key, sizeof key, "%s.%s%s", decodes ? "decode_kernel" : "kernel", o->name, number);
        say_operation(x, key, o, decodes, w, w ? of : n, n);
    }
}

/* ---- phases ---- */

static void explain_level(struct explaining *x, const char *prefix, const struct ct_backend_facts *f)
{
    x->prefix = prefix;
    say(x, "level.asked", "%s", f->asked ? f->asked : "none");
    say(x, "level.found", "%s", f->found);
    say(x, "level.used", "%s", f->used);
    say(x, "level.why", "%s", f->why);
    x->prefix = "";
}

static void explain_settings(struct explaining *x, const char *prefix, const struct ct_backend_facts *f,
                             int chunk)
{
    x->prefix = prefix;
    say(x, "threads", "%d", f->threads);
    say(x, "chunk", "%d", chunk);
    say(x, "isa", "%s", f->used);
    x->prefix = "";
}

/* Layers as the model counts them, where some are the CPU's and some the GPU's. */
static void explain_places(struct explaining *x)
{
    const carat_engine *e = x->engine;
    const int first = e->first_layer, n = e->config.n_layer, host = e->sides.host_layers;

    if (host <= 0 || !e->backend->apart)
        return;
    say(x, "layers.cpu", "the embedding and layers %d to %d", first, first + host - 1);
    say(x, "layers.gpu", "layers %d to %d and the head", first + host, first + n - 1);
}

/* The most rows of a pass that the CPU computes, where a GPU has all, too; 0: none. */
static int most_on_host(const carat_engine *e, int depth, bool all_logits)
{
    int rows = 0;

    while (rows < e->plan.chunk &&
           ct_faster_side(&e->stats.costs, rows ? 2 * rows : 1, depth, all_logits) == CT_TURN_HOST)
        rows = rows ? 2 * rows : 1;
    return CT_MIN(rows, e->plan.chunk);
}

/* By what passes cost now. */
static void explain_choice(struct explaining *x)
{
    const carat_engine *e = x->engine;
    char key[32];

    for (int from = 0, next; e->sides.chooses && from < e->plan.context; from = next) {
        next = from ? 4 * from : 1024;
        snprintf(key, sizeof key, "on_cpu.from_%d", from);
        say(x, key, "passes of up to %d rows, of prompts %d; the GPU computes longer ones",
            most_on_host(e, from + 1, true), most_on_host(e, from + 1, false));
    }
}

static void explain_head(struct explaining *x)
{
    const struct ct_head *h = &x->engine->head;
    const carat_head_stats *s = &h->stats;

    say(x, "head", "%s%s%s%s", carat_head_name(s->strategy), s->exact ? "" : ", approximate",
        *s->reason ? ": " : "", s->reason);
    if (s->tiles)
        say(x, "head.tiles", "%d of %d rows, of which %d are kept%s; %zu bytes of copies", s->tiles, s->tile,
            s->kept, h->o.quant ? " as int8" : "", s->tile_bytes);
    if (s->tiles && h->o.shortlist_tiles)
        say(x, "head.shortlist", "at most %d tiles a token", h->o.shortlist_tiles);
    if (s->sketch_bytes && s->from_cache)
        say(x, "head.sketch", "%zu bytes beside the head, mapped from the cache", s->sketch_bytes);
    else if (s->sketch_bytes)
        say(x, "head.sketch", "%zu bytes beside the head, made in %.0f ms", s->sketch_bytes,
            s->sketch_s * 1e3);
    if (h->o.audit)
        say(x, "head.audit", "dense beside every token of %d", h->o.audit);
}

static void explain_memory(struct explaining *x)
{
    const carat_engine *e = x->engine;
    const char *packed = ct_file_packed_path(e->model->file);

    say(x, "context", "%d", e->plan.context);
    say(x, "sessions", "%d", e->plan.sessions);
    say(x, "kv", "%s", e->plan.kv);
    say(x, "cache_file", "%s", packed && *packed ? packed : "none: the weights are those of the model");
    if (e->cache.snapshots > 0)
        say(x, "snapshots", "up to %d in %zu bytes", e->cache.snapshots, e->plan.snapshot_bytes);
    else
        say(x, "snapshots", "none: %s",
            e->cache.snapshot ? "no memory is given to them" : "the model has no local layers");
}

carat_status carat_explain(const carat_engine *engine, carat_explain_line line, void *user, carat_error *err)
{
    CT_GIVEN(engine, err);
    CT_GIVEN(line, err);
    struct explaining x = {engine, line, user, "", false};
    struct ct_backend *b = engine->backend;
    struct ct_backend_facts prefill, decode;

    b->verb.facts(b, false, &prefill);
    b->verb.facts(b, true, &decode);
    bool differ = strcmp(prefill.used, decode.used) != 0;
    say(&x, "backend", "%s", prefill.name);
    say(&x, "backend_why", "%s", ct_engine_device_why(engine));
    explain_places(&x);
    explain_choice(&x);
    say(&x, "arithmetic", "%s",
        engine->exact    ? "exact: float32, as the reference"
        : engine->fast8  ? "fast8: as fast, with matrices of floats made Q8_0: another model"
        : engine->tensor ? "tensor: as fast, but the units of the GPU sum BF16 and F16 products of prompts, "
                           "not bit for bit"
                         : "fast: inputs as the types of weights ask");
    say(&x, "numerics", "%d", CARAT_NUMERICS_VERSION);
    say(&x, "drawing", "%d", CARAT_DRAWING_VERSION);
    explain_level(&x, "", &prefill);
    if (differ)
        explain_level(&x, "decode_", &decode);
    for (int decodes = 0; decodes <= differ; decodes++)
        for (size_t i = 0; i < CT_COUNT(operations); i++)
            explain_operation(&x, &operations[i], decodes != 0);
    say(&x, "block.rows", "%d outputs for up to %d tokens, %d for more", prefill.rows_few, prefill.few,
        prefill.rows_many);
    say(&x, "block.keys", "%d", prefill.keys);
    say(&x, "tile.queries", "%d", prefill.queries);
    explain_settings(&x, "prefill.", &prefill, engine->plan.chunk);
    explain_settings(&x, "decode.", &decode, engine->decode_chunk);
    explain_head(&x);
    explain_memory(&x);
    say(&x, "lookup", "as each generation asks, auto if it does not; drafts of up to %d ids",
        CARAT_MOST_DRAFT);
    if (engine->drafts.beside)
        say(&x, "drafter", "%d layers of %d values, with K and V of its own; an id takes %.3f ms",
            engine->drafts.beside->config.n_layer, engine->drafts.beside->config.hidden,
            engine->drafts.step_ns * 1e-6);
    if (engine->drafts.model)
        say(&x, "drafter", "%d layers of %d values%s, reads K and V; an id takes %.3f ms",
            engine->drafts.model->config.n_layer, engine->drafts.model->config.hidden,
            engine->drafts.model->config.n_centroid ? ", scores the nearest ids only" : "",
            engine->drafts.step_ns * 1e-6);
    say(&x, "plans_built", "0: kernels take every number of rows, none is padded");
    return x.ended ? ct_fail(err, CARAT_E_CANCELLED, "the explanation was ended by its callback") : CARAT_OK;
}
