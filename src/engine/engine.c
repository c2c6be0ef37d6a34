/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c: an engine: its memory plan, its creation, its end. Weights are counted once, all else by laying
 * it out before there is memory, with the code that lays it out afterwards: so the plan cannot differ from
 * what is used, and choosing a context that fits is counting again.
 *
 * Memory counts in whole pages: carat_plan is every mapping of an engine, the pages of the file with its
 * matrices included, and a test compares it with /proc/self/smaps. */
#include "engine/row_logits.h"
#include "engine/session.h"

#include <stdio.h>
#include <stdlib.h>

#include "os/cgroup.h"
#include "os/clock.h"

#define DEFAULT_CONTEXT 8192
#define LEAST_CONTEXT   256 /* that is worth offering: one block of keys */
#define DEFAULT_CHUNK   256
/* Limits of an embedder: rows of a pass, where the longest text has fewer, and texts in it. */
#define EMBEDDER_CHUNK  1024
#define EMBEDDER_TEXTS  64
#define MAX_SESSIONS    1024
#define MAX_THREADS     256
#define MAX_LOGITS_ROWS 4096
/* Four of eight rows that verify a draft are enough to see most wrong ones; and what products do for four
 * tokens at a time they do no better for eight. */
#define DEFAULT_LOGITS_ROWS 4

static enum ct_kv_type kv_type(const carat_engine_options *o)
{
    for (int i = 0; i < CT_KV_TYPE_COUNT; i++)
        if (ct_kv_info((enum ct_kv_type)i)->kv == o->kv)
            return (enum ct_kv_type)i;
    return o->exact ? CT_KV_F32 : CT_KV_BF16;
}

/* ---- what the backend is told ---- */

/* Stored weights that were packed: their pages need not stay. */
static void done_with(void *model, const void *p, size_t bytes)
{
    for (const struct carat_model *m = model; m; m = m->drafter)
        ct_file_forget(m->file, p, bytes);
}

/* The drafter of the model that reads K and V of the engine; NULL: there is none, or layers that it may read
 * do not run. */
static const struct carat_model *reading_drafter(const struct carat_model *m, const carat_engine_options *o)
{
    const bool whole = !o->first_layer && (!o->layers || o->layers == m->config.n_layer);
    return whole && m->drafter && m->drafter->config.backbone ? m->drafter : NULL;
}

static void widen_for_layers(struct ct_backend_options *b, const struct ct_config *c)
{
    for (int i = 0; i < c->n_layer; i++) {
        const struct ct_layer_config *l = &c->layer[i];
        b->max_ffn = CT_MAX(b->max_ffn, l->ffn);
        b->max_heads = CT_MAX(b->max_heads, l->n_head);
        b->max_head_dim = CT_MAX(b->max_head_dim, l->head_dim);
        b->max_input = CT_MAX(b->max_input, CT_MAX(l->ffn, l->n_head * l->head_dim));
        b->max_input = CT_MAX(b->max_input, l->expert_ffn);
        b->max_experts.n = CT_MAX(b->max_experts.n, l->n_expert);
        b->max_experts.used = CT_MAX(b->max_experts.used, l->n_used);
        b->max_experts.ffn = CT_MAX(b->max_experts.ffn, l->expert_ffn);
    }
}

static struct ct_backend_options backend_options(const struct carat_model *m, const struct ct_config *c,
                                                 const carat_engine_options *o)
{
    const struct carat_model *drafter = reading_drafter(m, o);
    struct ct_backend_options b = {
        .isa = o->isa,
        .threads = o->threads,
        .decode_isa = o->decode_isa,
        .decode_threads = o->decode_threads,
        .exact = o->exact != 0,
        .tensor = o->tensor != 0,
        .norm_eps = c->norm_eps,
        .max_row = c->ple_width * c->ple_layers,
        .max_input = CT_MAX(c->hidden, c->ple_width * c->ple_layers),
        .max_experts = {.cols = c->hidden},
        .n_vocab = c->embeds ? 0 : c->n_vocab,
        .n_layer = c->n_layer,
        .host_layers = o->gpu_layers < 0 ? -1
                       : o->gpu_layers   ? CT_MAX(c->n_layer - o->gpu_layers, 0)
                                         : 0,
        .done_with = done_with,
        .user = (void *)(uintptr_t)m,
    };

    for (int i = 0; i < CT_ATTN_TYPES; i++)
        b.attn[i] = c->attn[i];
    for (int i = 0; i < c->n_dense; i++)
        b.max_input = CT_MAX(b.max_input, c->dense[i]);
    widen_for_layers(&b, c);
    if (drafter) {
        widen_for_layers(&b, &drafter->config);
        b.max_input = CT_MAX(b.max_input, CT_MAX(2 * drafter->config.backbone, drafter->config.hidden));
    }
    return b;
}

/* ---- layout ---- */

/* Lays out what passes and sessions need, by the plan of e. Before the backend has reserved memory that
 * only counts. */
static void engine_lay_out(struct carat_engine *e)
{
    const struct ct_config *c = &e->config;
    struct ct_backend *b = e->backend;
    const carat_plan *p = &e->plan;
    size_t n = (size_t)p->chunk, sessions = (size_t)p->sessions, kept = ct_row_logits_count(e), experts = 0;

    b->verb.lay_out(b, &(struct ct_extent){p->chunk, p->context, p->sessions});
    ct_kv_cache_init(&e->cache, b, c, e->kv_type,
                     &(struct ct_kv_extent){p->context, p->chunk, p->sessions, e->kv_bytes, e->snapshot_bytes,
                                            e->drafts.model != NULL, c->embeds});
    ct_snapshots_lay_out(&e->snapshots, &e->cache);
    if (!c->embeds)
        ct_prefixes_lay_out(&e->prefixes, &e->snapshots, &e->cache, p->context);
    ct_pass_init(&e->pass, b, c, &e->weights, p->chunk);
    ct_ple_init(&e->pass.ple, b, &e->model->weights.ple, p->chunk,
                e->on_disk ? ct_ple_slots(&e->model->weights.ple, p->chunk) : 0);
    e->weights.layer = b->verb.alloc_host(b, (size_t)c->n_layer * sizeof *e->weights.layer);
    for (int i = 0; i < c->n_layer; i++)
        experts += (size_t)c->layer[i].n_expert;
    e->expert = b->verb.alloc_host(b, experts * sizeof *e->expert);
    e->rows.token = b->verb.alloc_host(b, n * sizeof *e->rows.token);
    e->rows.position = b->verb.alloc_host(b, n * sizeof *e->rows.position);
    e->rows.sequence = b->verb.alloc_host(b, n * sizeof *e->rows.sequence);
    for (int i = 0; i < CT_ATTN_TYPES; i++)
        e->rows.seen[i] = b->verb.alloc_host(b, n * sizeof *e->rows.seen[i]);
    e->rows.wanted = b->verb.alloc_host(b, n * sizeof *e->rows.wanted);
    e->rows.from = b->verb.alloc_host(b, n * sizeof *e->rows.from);
    e->session = b->verb.alloc_host(b, sessions * sizeof *e->session);
    e->text = b->verb.alloc_host(b, c->embeds ? sessions * sizeof *e->text : 0);
    ct_vectors_lay_out(&e->vectors, b, c, p->sessions);
    if (c->embeds) /* no logits, and no tokens that somebody comes back to */
        return;
    ct_head_lay_out(&e->head, e->kept.slice + p->sessions);
    e->head_row = b->verb.alloc_host(b, n * sizeof *e->head_row);
    e->kept.row = b->verb.alloc_host(b, kept * sizeof *e->kept.row);
    e->kept.logits = b->verb.alloc_host(b, kept * (size_t)c->n_vocab * sizeof *e->kept.logits);
    e->kept.hidden = b->verb.alloc_host(b, kept * (size_t)c->hidden * sizeof *e->kept.hidden);
    e->held = b->verb.alloc_host(b, sessions * (size_t)p->context * sizeof *e->held);
    e->banned = b->verb.alloc_host(b, (CT_MAX_BANNED + CT_CALLER_BANNED) * sizeof *e->banned);
    ct_penalty_lay_out(&e->penalty, b, c->n_vocab, p->context);
    if (e->drafts.model)
        ct_drafter_lay_out(&e->drafts.reader, b, &e->drafts.model->config, &e->config, &e->weights);
}

/* ---- choices ---- */

/* Bytes of the plan with this context and KV type; all else is as it was decided. */
static size_t count_plan(struct carat_engine *e, const carat_engine_options *o, int context,
                         enum ct_kv_type kv)
{
    carat_plan *p = &e->plan;

    e->kv_type = kv;
    p->kv = ct_kv_info(kv)->name;
    p->context = context;
    p->chunk = CT_MIN(CT_MAX(o->chunk ? o->chunk : DEFAULT_CHUNK, p->sessions), context);
    if (e->config.embeds) /* a text goes through in one pass, several go together */
        p->chunk = CT_MAX(context, o->chunk ? o->chunk : EMBEDDER_CHUNK);
    e->decode_chunk = o->decode_chunk ? CT_MIN(o->decode_chunk, p->chunk) : p->chunk;
    engine_lay_out(e);
    e->backend->verb.count(e->backend, p);
    p->snapshot_bytes = (size_t)e->cache.most_in_snapshots * e->cache.group[CT_LOCAL].pool.block_bytes;
    p->snapshot_least = e->cache.snapshot;
    p->disk_bytes = e->on_disk ? ct_weight_bytes(&e->model->weights.ple) : 0;
    p->bytes += e->drafts.beside_bytes;
    const carat_head_stats *head = &e->head.stats;
    p->head = carat_head_name(head->strategy);
    p->head_bytes = head->sketch_bytes + head->tile_bytes;
    p->head_tiles = head->tiles;
    p->head_tile = head->tile;
    p->head_kept = head->kept;
    return p->bytes;
}

static int least_context(const struct carat_engine *e)
{
    return CT_MIN(LEAST_CONTEXT, e->model->config.max_context);
}

/* The largest context that fits, from least_context on; 0 when none does. More positions never need less. */
static int largest_context(struct carat_engine *e, const carat_engine_options *o, enum ct_kv_type kv,
                           size_t limit)
{
    int fits = least_context(e), beyond = e->model->config.max_context + 1;

    if (count_plan(e, o, fits, kv) > limit)
        return 0;
    while (beyond - fits > 1) {
        int middle = fits + (beyond - fits) / 2;
        *(count_plan(e, o, middle, kv) <= limit ? &fits : &beyond) = middle;
    }
    return fits;
}

/* Refuses the plan that e holds and says what would fit. Leaves another one there. */
static carat_status too_large(struct carat_engine *e, const carat_engine_options *o, size_t limit,
                              const char *limit_is, carat_error *err)
{
    const carat_plan asked = e->plan;
    const enum ct_kv_type kv = e->kv_type;
    int same = largest_context(e, o, kv, limit), q8 = largest_context(e, o, CT_KV_Q8, limit);
    size_t least = count_plan(e, o, least_context(e), CT_KV_Q8);
    const char *smallest = ct_kv_info(CT_KV_Q8)->name;
    char sessions[48] = "", snapshots[64] = "", fits[128];

    if (asked.sessions > 1)
        snprintf(sessions, sizeof sessions, " for each of %d sessions", asked.sessions);
    if (asked.snapshot_bytes)
        snprintf(snapshots, sizeof snapshots, " with %s of snapshots", ct_size(asked.snapshot_bytes).text);
    if (same && q8 > same)
        snprintf(fits, sizeof fits, "a context of %d fits, with a %s cache one of %d", same, smallest, q8);
    else if (same)
        snprintf(fits, sizeof fits, "a context of %d fits", same);
    else if (q8)
        snprintf(fits, sizeof fits, "a context of %d fits with a %s cache", q8, smallest);
    else if (asked.weight_bytes > limit)
        snprintf(fits, sizeof fits, "not even the weights fit");
    else if (asked.bytes > least)
        snprintf(fits, sizeof fits, "even a context of %d with a %s cache needs %s", least_context(e),
                 smallest, ct_size(least).text);
    else
        snprintf(fits, sizeof fits, "the weights leave too little room");
    return ct_fail(
        err, CARAT_E_MEMORY,
        "a context of %d%s needs %s (weights %s, %s cache %s%s, work %s, stacks %s), more than the %s "
        "of %s; %s",
        asked.context, sessions, ct_size(asked.bytes).text, ct_size(asked.weight_bytes).text, asked.kv,
        ct_size(asked.kv_bytes).text, snapshots, ct_size(asked.work_bytes).text,
        ct_size(asked.stack_bytes).text, ct_size(limit).text, limit_is, fits);
}

/* A layer that reads the K and V of another runs with that one only. */
static carat_status check_owners(const struct ct_config *c, carat_error *err)
{
    for (int i = 0; i < c->n_layer; i++)
        if (c->layer[i].kv_layer < 0)
            return ct_fail(
                err, CARAT_E_ARGUMENT,
                "first_layer is %d, but layer %d reads the K and V of layer %d: expected at most that",
                c->first_layer, c->first_layer + i, c->first_layer + c->layer[i].kv_layer);
    return CARAT_OK;
}

/* ---- the engine of a drafter that has K and V of its own ---- */

static const carat_model *model_beside(const carat_engine *e, const carat_engine_options *o)
{
    const bool whole = !o->first_layer && e->config.n_layer == e->model->config.n_layer;
    return whole && e->model->drafter && !e->model->drafter->config.backbone ? e->model->drafter : NULL;
}

static carat_engine_options options_beside(const carat_engine *e, const carat_engine_options *o, int context)
{
    const carat_model *m = model_beside(e, o);
    carat_engine_options beside = {.size = sizeof beside,
                                   .threads = o->threads,
                                   .context = CT_MIN(context, m->config.max_context),
                                   .sessions = o->sessions,
                                   .kv = o->kv,
                                   .exact = o->exact,
                                   .fast8 = o->fast8,
                                   .isa = o->isa,
                                   .progress = o->progress,
                                   .user = o->user};
    return beside;
}

/* Its bytes are the same for every context that this engine may choose. */
static carat_status plan_beside(struct carat_engine *e, const carat_engine_options *o, carat_error *err)
{
    const carat_model *m = model_beside(e, o);
    carat_plan plan = {.size = sizeof plan};

    e->drafts.beside_bytes = 0;
    if (!m)
        return CARAT_OK;
    const carat_engine_options beside =
        options_beside(e, o, o->context ? o->context : CT_MIN(DEFAULT_CONTEXT, e->model->config.max_context));
    CT_TRY(carat_plan_engine(m, &beside, &plan, err));
    e->drafts.beside_bytes = plan.bytes;
    return CARAT_OK;
}

/* True when the table lies on disk, or is to lie there one day. */
static bool table_on_disk(const carat_model *model, const carat_engine_options *o)
{
    const void *table = model->weights.ple.data;

    return table && o->ple_resident <= 0 && (o->ple_resident < 0 || ct_file_on_disk(model->file, table));
}

/* The device that is asked for: "cpu", "cuda" or "cuda:N"; "auto" was one of them before. */
static carat_status create_backend(struct carat_engine *e, const carat_engine_options *o,
                                   const struct ct_backend_options *of_backend, carat_error *err)
{
    int number;

    if (!o->device || strcmp(o->device, "cpu") == 0)
        return ct_backend_create_cpu(&e->backend, of_backend, err);
    CT_TRY(ct_cuda_number(o->device, &number, err));
    e->sides.host_layers = CT_MAX(of_backend->host_layers, 0);
    e->sides.chooses = of_backend->host_layers < 0;
    e->sides.of_backend = *of_backend;
    e->sides.of_backend.isa = e->sides.of_backend.decode_isa =
        NULL; /* the caller's; every level has the same bits */
    return (of_backend->host_layers ? ct_backend_create_pair
                                    : ct_backend_create_cuda)(&e->backend, of_backend, number, err);
}

/* *over: the plan needs more than o->max_bytes. */
static carat_status plan_once(struct carat_engine *e, const carat_model *model, const carat_engine_options *o,
                              bool *over, carat_error *err)
{
    if (!model || !model->has_weights)
        return ct_fail(err, CARAT_E_ARGUMENT, "%s",
                       model ? "the model was opened as a tokenizer only" : "model is NULL");
    if (model->config.backbone)
        return ct_fail(err, CARAT_E_ARGUMENT, "%s is a drafter, which runs beside its model only",
                       ct_file_path(model->file));
    int most = model->config.max_context;
    CT_TRY(ct_check_range("threads", o->threads, 0, MAX_THREADS, err));
    CT_TRY(ct_check_range("context", o->context, 0, most, err));
    CT_TRY(ct_check_range("sessions", o->sessions, 0, MAX_SESSIONS, err));
    CT_TRY(ct_check_range("chunk", o->chunk, 0, most, err));
    CT_TRY(ct_check_range("decode_threads", o->decode_threads, 0, MAX_THREADS, err));
    CT_TRY(ct_check_range("decode_chunk", o->decode_chunk, 0, most, err));
    CT_TRY(ct_check_range("kv", (int)o->kv, 0, CARAT_KV_Q8, err));
    CT_TRY(ct_check_range("first_layer", o->first_layer, 0, model->config.n_layer - 1, err));
    CT_TRY(ct_check_range("layers", o->layers, 0, model->config.n_layer - o->first_layer, err));
    CT_TRY(ct_check_range("logits_rows", o->logits_rows, 0, MAX_LOGITS_ROWS, err));
    *e = (struct carat_engine){.model = model,
                               .kv_bytes = o->kv_bytes,
                               .snapshot_bytes = o->snapshot_bytes,
                               .exact = o->exact != 0,
                               .fast8 = o->fast8 != 0,
                               .tensor = o->tensor != 0,
                               .resident = o->ple_resident > 0,
                               .on_disk = table_on_disk(model, o),
                               .kept.slice = o->logits_rows ? o->logits_rows : DEFAULT_LOGITS_ROWS,
                               .first_layer = o->first_layer,
                               .drafts.model = reading_drafter(model, o),
                               .config = model->config};
    ct_config_cut(&e->config, o->first_layer, o->layers ? o->layers : e->config.n_layer - o->first_layer);
    CT_TRY(check_owners(&e->config, err));
    const struct ct_backend_options of_backend = backend_options(model, &e->config, o);
    CT_TRY(create_backend(e, o, &of_backend, err));
    e->backend->floats_as_q8 = e->fast8;
    e->plan = (carat_plan){
        .size = sizeof e->plan,
        .sessions = o->sessions        ? o->sessions
                    : e->config.embeds ? EMBEDDER_TEXTS
                                       : 1,
        .threads = e->backend->threads,
        .isa = e->backend->isa,
    };
    const struct ct_weights weights = ct_engine_weights(e);
    if (e->config.embeds && o->head && o->head->strategy != CARAT_HEAD_DENSE)
        return ct_fail(err, CARAT_E_ARGUMENT, "the head is to be %s, but an embedder has none: expected %s",
                       carat_head_name(o->head->strategy), carat_head_name(CARAT_HEAD_DENSE));
    CT_TRY(ct_head_plan(&e->head, o->head, e->backend, &weights, model->file, e->exact, err));
    CT_TRY(ct_engine_plan_weights(e, e->backend, err));
    CT_TRY(plan_beside(e, o, err));
    int context = o->context ? o->context : CT_MIN(DEFAULT_CONTEXT, most);
    *over = count_plan(e, o, context, kv_type(o)) > o->max_bytes && o->max_bytes;
    if (*over)
        return too_large(e, o, o->max_bytes, "the limit", err);
    if (o->kv_bytes && o->kv_bytes < e->cache.least)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "kv_bytes is %zu, expected at least %zu: the first %d positions of a session",
                       o->kv_bytes, e->cache.least, CT_KEY_BLOCK);
    if (o->snapshot_bytes && o->snapshot_bytes < e->cache.snapshot)
        return ct_fail(
            err, CARAT_E_ARGUMENT,
            "snapshot_bytes is %zu, expected 0 or at least %zu: what one snapshot keeps of the local "
            "layers",
            o->snapshot_bytes, e->cache.snapshot);
    return CARAT_OK;
}

static void plan_end(struct carat_engine *e)
{
    ct_head_end(&e->head);
    if (e->backend)
        e->backend->verb.destroy(e->backend);
    if (e->sides.gone)
        e->sides.gone->verb.destroy(e->sides.gone);
}

carat_status ct_plan(struct carat_engine *e, const carat_model *model, const carat_engine_options *o,
                     carat_error *err)
{
    carat_engine_options without = *o;
    carat_error refusal;
    bool over = false;
    carat_status status = plan_once(e, model, o, &over, &refusal);

    if (status && (!over || !o->head || o->head->strategy != CARAT_HEAD_AUTO))
        return ct_fail(err, status, "%s", refusal.message);
    if (!status)
        return CARAT_OK;
    plan_end(e); /* auto has to have room for what it keeps */
    without.head = NULL;
    CT_TRY(plan_once(e, model, &without, &over, err));
    ct_head_gives_up(&e->head, o->head, "what another head keeps has no room in the limit");
    return CARAT_OK;
}

/* A pass over more weights than there is memory would read the disk for every token; and a reservation is
 * granted whether or not there is memory behind it. */
carat_status ct_plan_fits_machine(struct carat_engine *e, const carat_engine_options *o, carat_error *err)
{
    struct ct_os_memory m;

    ct_os_memory(&m, "");
    const bool shares = e->sides.host_layers || e->sides.chooses;
    if (e->backend->apart && !shares) /* whose memory is the device's */
        return CARAT_OK;
    const size_t needed = shares ? ct_pair_host_bytes(e->backend) : e->plan.bytes;
    uint64_t memory = m.limit.value > 0 ? CT_MIN(m.total, (uint64_t)m.limit.value) : m.total;
    if (memory == 0 || needed <= memory)
        return CARAT_OK;
    if (shares)
        return ct_fail(
            err, CARAT_E_MEMORY,
            "what the CPU has beside the GPU needs %s, more than the %s of memory that this process "
            "may use",
            ct_size(needed).text, ct_size((size_t)memory).text);
    return too_large(e, o, (size_t)memory, "memory that this process may use", err);
}

void carat_engine_close(carat_engine *engine)
{
    if (!engine)
        return;
    free(engine->tap);
    ct_f16_end(engine);
    carat_engine_close(engine->drafts.beside);
    ct_ple_close(&engine->pass.ple);
    plan_end(engine);
    free(engine);
}

/* ---- what callers ask for ---- */

/* Tensor arithmetic is a GPU's, and where passes choose a device, it would depend on their speed. */
static carat_status check_arithmetic(const carat_engine_options *o, carat_error *err)
{
    const char *const name[] = {o->exact ? "exact" : NULL, o->fast8 ? "fast8" : NULL,
                                o->tensor ? "tensor" : NULL};
    const char *first = NULL;

    for (size_t i = 0; i < CT_COUNT(name); i++) {
        if (first && name[i])
            return ct_fail(err, CARAT_E_ARGUMENT, "%s and %s are both set, expected one arithmetic", first,
                           name[i]);
        first = first ? first : name[i];
    }
    if (o->tensor && (!o->device || strncmp(o->device, "cuda", 4) != 0))
        return ct_fail(err, CARAT_E_ARGUMENT, "tensor arithmetic is for the device cuda alone, not for %s",
                       o->device ? o->device : "cpu");
    return CARAT_OK;
}

carat_status ct_take_engine_options(struct ct_whole_options *full, const carat_engine_options *given,
                                    carat_error *err)
{
    *full = (struct ct_whole_options){0};
    CT_TRY(ct_take_struct(&full->o, sizeof full->o, given, "carat_engine_options", err));
    CT_TRY(ct_take_struct(&full->head, sizeof full->head, full->o.head, "carat_head_options", err));
    CT_TRY(ct_take_struct(&full->costs, sizeof full->costs, full->o.costs, "carat_costs", err));
    full->o.head = &full->head;
    CT_TRY(check_arithmetic(&full->o, err));
    return ct_check_range("gpu_layers", full->o.gpu_layers, 0, INT32_MAX, err);
}

static carat_status new_plan(carat_engine **e, const carat_model *model, const carat_engine_options *o,
                             carat_error *err);

bool ct_both_fit(const carat_model *model, const carat_engine_options *o)
{
    carat_engine_options both = *o;
    carat_engine *e;

    both.device = "cuda";
    both.gpu_layers = CT_ALL_ON_BOTH;
    carat_status status = new_plan(&e, model, &both, NULL);
    if (!status)
        status = ct_plan_fits_machine(e, &both, NULL);
    carat_engine_close(e);
    return status != CARAT_E_MEMORY;
}

/* An engine that holds a plan; it is closed after a failure, too. */
static carat_status new_plan(carat_engine **e, const carat_model *model, const carat_engine_options *o,
                             carat_error *err)
{
    if (ct_device_is_open(o)) {
        carat_engine_options gpu = *o, cpu = *o;
        gpu.device = "cuda";
        cpu.device = "cpu";
        if (!o->gpu_layers && ct_both_fit(model, o))
            gpu.gpu_layers = CT_ALL_ON_BOTH;
        if (new_plan(e, model, &gpu, NULL) == CARAT_OK)
            return CARAT_OK;
        carat_engine_close(*e);
        return new_plan(e, model, &cpu, err);
    }
    *e = calloc(1, sizeof **e);
    return *e ? ct_plan(*e, model, o, err) : ct_no_memory(err, "an engine");
}

carat_status carat_plan_engine(const carat_model *model, const carat_engine_options *options,
                               carat_plan *plan, carat_error *err)
{
    struct ct_whole_options full;
    struct carat_engine *e;

    CT_TRY(ct_take_engine_options(&full, options, err));
    carat_status status = new_plan(&e, model, &full.o, err);
    if (!status)
        status = ct_give_struct(plan, &e->plan, sizeof e->plan, "carat_plan", err);
    carat_engine_close(e);
    return status;
}

/* Chooses what the options leave open; e holds a plan for them. */
static carat_status fit(struct carat_engine *e, const carat_engine_options *o, size_t bytes, carat_error *err)
{
    const enum ct_kv_type first = e->kv_type;
    const enum ct_kv_type second = o->kv == CARAT_KV_DEFAULT && !o->exact ? CT_KV_Q8 : first;
    int context = o->context ? o->context : largest_context(e, o, first, bytes);
    enum ct_kv_type kv = first;

    if (o->context && count_plan(e, o, context, first) > bytes) {
        kv = second;
    } else if (context < CT_MIN(DEFAULT_CONTEXT, e->model->config.max_context)) {
        int longer = o->context || second == first ? 0 : largest_context(e, o, second, bytes);
        if (longer > context || context == 0) {
            context = CT_MAX(longer, least_context(e));
            kv = second;
        }
    }
    if (count_plan(e, o, context, kv) > bytes)
        return too_large(e, o, bytes, "the budget", err);
    return CARAT_OK;
}

carat_status carat_fit_engine(const carat_model *model, carat_engine_options *options, size_t bytes,
                              carat_error *err)
{
    CT_GIVEN(options, err);
    struct ct_whole_options full;
    carat_engine_options fitting = {0};
    struct carat_engine *e;

    CT_TRY(ct_take_engine_options(&full, options, err));
    CT_TRY(ct_take_struct(&fitting, sizeof fitting, options, "carat_engine_options", err));
    full.o.max_bytes = 0; /* the budget stands for it */
    carat_status status = new_plan(&e, model, &full.o, err);
    if (!status)
        status = fit(e, &full.o, bytes, err);
    if (!status) {
        fitting.context = e->plan.context;
        fitting.kv = ct_kv_info(e->kv_type)->kv;
        status = ct_give_struct(options, &fitting, sizeof fitting, "carat_engine_options", err);
    }
    carat_engine_close(e);
    return status;
}

/* Keeps what the head made for those who come later. */
static carat_status keep_made(struct carat_engine *e, const carat_engine_options *o, carat_error *err)
{
    const struct ct_listening l = {o->progress, o->user};
    char note[CT_KEEP_NOTE];

    CT_TRY(ct_cache_keep(e->model, e->head.keep, e->head.n_keep, &l, note, err));
    if (*note)
        ct_head_log(&e->head, "%s", note);
    return CARAT_OK;
}

/* ---- what an id of a draft costs: it is read and woken up, too ---- */

enum { MEASURED = 4 }; /* times, of which the shortest counts */

/* Measures a drafter that reads K and V, on values that nobody has written yet. */
static void measure_reader(struct carat_engine *e)
{
    for (int i = 0; i < MEASURED && e->plan.context > 1; i++) {
        const double start = ct_os_seconds();
        ct_drafter_step(&e->drafts.reader, (struct ct_draft_place){0, 1}, 0);
        const double took = (ct_os_seconds() - start) * 1e9;
        e->drafts.step_ns = i ? CT_MIN(e->drafts.step_ns, took) : took;
    }
}

/* Measures a drafter beside the model: a pass over one id. */
static void measure_beside(struct carat_engine *e)
{
    carat_session *s = NULL;

    if (carat_session_create(&s, e->drafts.beside, NULL, NULL) != CARAT_OK)
        return;
    for (int i = 0; i < MEASURED && i + 1 < e->drafts.beside->plan.context; i++) {
        const int32_t token = 0;
        const double start = ct_os_seconds();
        (void)ct_evaluate(&(struct ct_row){.row = {.session = s, .tokens = &token, .n = 1}}, false, NULL);
        const double took = (ct_os_seconds() - start) * 1e9;
        e->drafts.step_ns = i ? CT_MIN(e->drafts.step_ns, took) : took;
    }
    carat_session_close(s);
}

static carat_status create_beside(struct carat_engine *e, const carat_engine_options *o, carat_error *err)
{
    const carat_model *m = model_beside(e, o);

    if (!m)
        return CARAT_OK;
    const carat_engine_options beside = options_beside(e, o, e->plan.context);
    CT_TRY(ct_engine_create_on(&e->drafts.beside, m, &(carat_costs){0}, &beside, err));
    measure_beside(e);
    return CARAT_OK;
}

/* Fills in the engine once the backend has reserved memory. */
static carat_status fill_engine(carat_engine *e, const carat_engine_options *o, carat_error *err)
{
    engine_lay_out(e);
    ct_kv_cache_begin(&e->cache);
    CT_TRY(ct_engine_load_weights(e, o, err));
    CT_TRY(ct_ple_open(&e->pass.ple, e->model->file, &e->model->weights.ple, err));
    CT_TRY(keep_made(e, o, err));
    CT_TRY(create_beside(e, o, err));
    if (o->activations_f16)
        CT_TRY(ct_f16_begin(e, err));
    if (e->drafts.model)
        measure_reader(e);
    return CARAT_OK;
}

carat_status ct_engine_create_on(carat_engine **engine, const carat_model *model, const carat_costs *costs,
                                 const carat_engine_options *o, carat_error *err)
{
    struct carat_engine *e;
    carat_status status = new_plan(&e, model, o, err);

    if (!status)
        status = ct_plan_fits_machine(e, o, err);
    if (!status)
        status = ct_stats_take_costs(&e->stats, costs, err);
    if (!status)
        status = e->backend->verb.reserve(e->backend, err);
    if (!status)
        status = fill_engine(e, o, err);
    if (status)
        carat_engine_close(e);
    else
        *engine = e;
    return status;
}

carat_status carat_engine_get_head(carat_engine *engine, carat_head_stats *stats, carat_error *err)
{
    CT_GIVEN(engine, err);
    ct_lock_enter(&engine->lock);
    const carat_head_stats full = engine->head.stats;
    ct_lock_leave(&engine->lock);
    return ct_give_struct(stats, &full, sizeof full, "carat_head_stats", err);
}

carat_status carat_engine_use(carat_engine *engine, carat_use *use, carat_error *err)
{
    CT_GIVEN(engine, err);
    ct_lock_enter(&engine->lock);
    const struct ct_kv_use u = ct_kv_cache_use(&engine->cache);
    ct_lock_leave(&engine->lock);
    const carat_use full = {sizeof full, u.blocks, u.held, u.shared, u.free, u.bytes, u.cached};
    return ct_give_struct(use, &full, sizeof full, "carat_use", err);
}

int carat_engine_context(const carat_engine *engine)
{
    return engine ? engine->plan.context : 0;
}
