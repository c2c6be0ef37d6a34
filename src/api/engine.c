/* engine.c: the memory plan of an engine and its creation. One function lays everything out, once to count and once over
 * the reservation, so that the plan cannot differ from what is used. */
#include "api/api.h"

#include <stdlib.h>

#include "base/os.h"

#define DEFAULT_CONTEXT 8192
#define DEFAULT_CHUNK   256
#define MAX_SESSIONS    1024
#define MAX_THREADS     256
#define MIN_LOGIT_ROWS  8

static enum ct_kv_type kv_type(const carat_engine_options *o)
{
    switch (o->kv) {
    case CARAT_KV_BF16:
        return CT_KV_BF16;
    case CARAT_KV_F16:
        return CT_KV_F16;
    case CARAT_KV_F32:
        return CT_KV_F32;
    case CARAT_KV_Q8:
        return CT_KV_Q8;
    default:
        return o->exact ? CT_KV_F32 : CT_KV_BF16;
    }
}

/* Stored weights that were packed: their pages need not stay. */
static void done_with(void *file, const void *p, size_t bytes)
{
    ct_file_forget(file, p, bytes);
}

/* Fills e from the options: choices first, then every address relative to e->kv and e->work (NULL: only sizes). */
static void lay_out(struct carat_engine *e)
{
    const struct ct_config *c = &e->model->config;
    size_t n = (size_t)e->plan.chunk, sessions = (size_t)e->plan.sessions, vocab = (size_t)c->n_vocab;
    struct ct_memory memory = {e->work, 0}, packed = {e->packed, 0};
    struct ct_cpu_options o = {
        .kernel = &e->kernel,
        .pool = e->pool,
        .threads = e->plan.threads,
        .exact = e->exact,
        .norm_eps = c->norm_eps,
        .max_rows = e->plan.chunk,
        .max_inputs = c->hidden,
        .context = e->plan.context,
        .done_with = done_with,
        .user = e->model->file,
    };

    for (int i = 0; i < CT_KINDS; i++)
        o.kind[i] = c->kind[i];
    for (int i = 0; i < c->n_layer; i++) {
        o.max_ffn = CT_MAX(o.max_ffn, c->layer[i].ffn);
        o.max_heads = CT_MAX(o.max_heads, c->layer[i].n_head);
        o.max_head_dim = CT_MAX(o.max_head_dim, c->layer[i].head_dim);
        o.max_inputs =
            CT_MAX(o.max_inputs, CT_MAX(c->layer[i].ffn, c->layer[i].n_head * c->layer[i].head_dim));
    }
    ct_cpu_backend_init(&e->backend, &o, &memory, &packed);
    ct_weights_place(&e->weights, &e->model->weights, c,
                     ct_memory_take(&memory, (size_t)c->n_layer * sizeof *e->weights.layer),
                     &e->backend.base);
    ct_cache_plan(&e->cache, c, e->kv_type, e->plan.context, e->plan.chunk, e->plan.sessions, e->kv);
    ct_pass_init(&e->pass, &e->backend.base, c, &e->weights, &e->cache, e->plan.chunk, e->max_logits);
    e->token = ct_memory_take(&memory, n * sizeof *e->token);
    e->position = ct_memory_take(&memory, n * sizeof *e->position);
    e->sequence = ct_memory_take(&memory, n * sizeof *e->sequence);
    e->want = ct_memory_take(&memory, n);
    e->order = ct_memory_take(&memory, vocab * sizeof *e->order);
    e->weight = ct_memory_take(&memory, vocab * sizeof *e->weight);
    e->logits = ct_memory_take(&memory, sessions * vocab * sizeof *e->logits);
    e->held = ct_memory_take(&memory, sessions * (size_t)e->plan.context * sizeof *e->held);
    e->banned = ct_memory_take(&memory, (CT_MAX_BANNED + CT_CALLER_BANNED) * sizeof *e->banned);
    e->session = ct_memory_take(&memory, sessions * sizeof *e->session);
    e->backend.memory = e->backend.weights = NULL; /* it took what it needs */
    e->kv_bytes = e->cache.bytes;
    e->packed_bytes = packed.used;
    e->work_bytes = memory.used;
}

static carat_status range(const char *what, int value, int hi, carat_error *err)
{
    if (value >= 0 && value <= hi)
        return CARAT_OK;
    return ct_fail(err, CARAT_E_ARGUMENT, "%s is %d, expected 0 to %d", what, value, hi);
}

/* Decides everything and counts; allocates nothing. */
static carat_status plan(struct carat_engine *e, const carat_model *model,
                         const carat_engine_options *options, carat_error *err)
{
    static const carat_engine_options defaults = CARAT_ENGINE_OPTIONS;
    const carat_engine_options *o = options ? options : &defaults;
    static const char *const kv_name[] = {
        [CT_KV_BF16] = "bf16", [CT_KV_F16] = "f16", [CT_KV_F32] = "f32", [CT_KV_Q8] = "q8"};

    if (!model || !model->has_weights)
        return ct_fail(err, CARAT_E_ARGUMENT, "%s",
                       model ? "the model was opened as a tokenizer only" : "model is NULL");
    CT_TRY(ct_check_size(o->size, sizeof *o, "carat_engine_options", err));
    CT_TRY(range("threads", o->threads, MAX_THREADS, err));
    CT_TRY(range("context", o->context, model->config.max_context, err));
    CT_TRY(range("sessions", o->sessions, MAX_SESSIONS, err));
    CT_TRY(range("chunk", o->chunk, model->config.max_context, err));
    CT_TRY(range("kv", (int)o->kv, CARAT_KV_Q8, err));
    struct ct_cpu cpu;
    ct_cpu_detect(&cpu);
    *e = (struct carat_engine){.model = model, .exact = o->exact != 0};
    if (!ct_kernel_choose(&e->kernel, &cpu, o->isa))
        return ct_fail(err, CARAT_E_ARGUMENT, "isa is \"%s\"; there are " CT_KERNEL_LEVELS, o->isa);
    e->kv_type = kv_type(o);
    int context = o->context ? o->context : CT_MIN(DEFAULT_CONTEXT, model->config.max_context);
    e->plan = (carat_plan){
        .size = sizeof e->plan,
        .context = context,
        .sessions = o->sessions ? o->sessions : 1,
        .chunk = CT_MIN(o->chunk ? o->chunk : DEFAULT_CHUNK, context),
        .threads = o->threads ? o->threads : ct_os_cpus(),
        .kv = kv_name[e->kv_type],
        .isa = e->kernel.isa,
    };
    e->plan.chunk = CT_MAX(e->plan.chunk, CT_MIN(e->plan.sessions, context));
    e->max_logits = CT_MIN(e->plan.chunk, CT_MAX(MIN_LOGIT_ROWS, e->plan.sessions));
    lay_out(e);
    e->plan.kv_bytes = e->kv_bytes;
    e->plan.work_bytes = e->work_bytes;
    e->plan.weight_bytes = e->weights.bytes;
    size_t bytes = e->kv_bytes + e->work_bytes + e->packed_bytes;
    if (o->max_bytes && bytes > o->max_bytes)
        return ct_fail(
            err, CARAT_E_MEMORY,
            "the plan needs %zu bytes (%zu for KV at context %d, %zu for packed weights), more than the "
            "limit of %zu",
            bytes, e->kv_bytes, context, e->packed_bytes, o->max_bytes);
    return CARAT_OK;
}

/* Weights are mapped and need not all be in memory, but a pass over more than there is would read the disk for every
 * token; and a reservation is granted whether or not there is memory behind it. */
static carat_status check_fits(const struct carat_engine *e, carat_error *err)
{
    const double gib = 1 << 30;
    size_t weights = e->weights.bytes;
    struct ct_os_memory m;
    ct_os_memory(&m, "");
    uint64_t memory = m.limit.value > 0 ? CT_MIN(m.total, (uint64_t)m.limit.value) : m.total;
    if (memory == 0 || (weights <= memory && e->kv_bytes + e->work_bytes <= memory - weights))
        return CARAT_OK;
    return ct_fail(
        err, CARAT_E_MEMORY,
        "the model does not fit: it needs %.1f GiB (weights %.1f, KV %.1f at context %d, work %.1f), "
        "but there are %.1f GiB of memory; a smaller context or smaller weights need less",
        ((double)weights + (double)e->kv_bytes + (double)e->work_bytes) / gib, (double)weights / gib,
        (double)e->kv_bytes / gib, e->plan.context, (double)e->work_bytes / gib, (double)memory / gib);
}

carat_status carat_plan_engine(const carat_model *model, const carat_engine_options *options,
                               carat_plan *result, carat_error *err)
{
    struct carat_engine *e;
    carat_status status;

    if (!result)
        return ct_fail(err, CARAT_E_ARGUMENT, "carat_plan_engine: plan is NULL");
    CT_TRY(ct_check_size(result->size, sizeof *result, "carat_plan", err));
    e = malloc(sizeof *e);
    if (!e)
        return ct_fail(err, CARAT_E_MEMORY, "carat_plan_engine: out of memory");
    status = plan(e, model, options, err);
    if (!status)
        *result = e->plan;
    free(e);
    return status;
}

carat_status carat_engine_create(carat_engine **engine, const carat_model *model,
                                 const carat_engine_options *options, carat_error *err)
{
    struct carat_engine *e = NULL;
    carat_status status;

    if (!engine)
        return ct_fail(err, CARAT_E_ARGUMENT, "carat_engine_create: engine is NULL");
    e = calloc(1, sizeof *e);
    if (!e)
        return ct_fail(err, CARAT_E_MEMORY, "carat_engine_create: out of memory");
    status = plan(e, model, options, err);
    if (!status)
        status = check_fits(e, err);
    if (status)
        goto fail;
    e->kv = ct_os_reserve(e->kv_bytes);
    e->work = ct_os_reserve(e->work_bytes);
    e->packed = e->packed_bytes ? ct_os_reserve(e->packed_bytes) : NULL;
    if (!e->kv || !e->work || (e->packed_bytes && !e->packed)) {
        status = ct_fail(
            err, CARAT_E_MEMORY,
            "the system refuses %zu bytes for KV, %zu for work and %zu for weights; a smaller context "
            "needs less",
            e->kv_bytes, e->work_bytes, e->packed_bytes);
        goto fail;
    }
    if (e->packed)
        ct_os_huge(e->packed, e->packed_bytes); /* read whole for every token */
    status = ct_pool_create(&e->pool, e->plan.threads, err);
    if (status)
        goto fail;
    ct_fpenv fp = ct_os_fp_enter();
    lay_out(e);
    ct_os_fp_leave(fp);
    *engine = e;
    return CARAT_OK;
fail:
    carat_engine_close(e);
    return status;
}

void carat_engine_close(carat_engine *e)
{
    if (!e)
        return;
    ct_pool_destroy(e->pool);
    if (e->kv)
        ct_os_release(e->kv, e->kv_bytes);
    if (e->work)
        ct_os_release(e->work, e->work_bytes);
    if (e->packed)
        ct_os_release(e->packed, e->packed_bytes);
    free(e);
}

int carat_engine_context(const carat_engine *engine)
{
    return engine ? engine->plan.context : 0;
}
