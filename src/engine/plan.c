/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c: the memory plan of an engine. One function lays everything out, once to count and once over the reservations,
 * so that the plan cannot differ from what is used; choosing a context that fits is counting again. What reserves is
 * engine.c. */
#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>

#include "kernel/level.h"
#include "os/cgroup.h"
#include "os/memory.h"
#include "os/threads.h"

#define DEFAULT_CONTEXT 8192
#define LEAST_CONTEXT   256 /* that is worth offering: one block of keys */
#define DEFAULT_CHUNK   256
#define MAX_SESSIONS    1024
#define MAX_THREADS     256
#define MIN_LOGIT_ROWS  8

static enum ct_kv_type kv_type(const carat_engine_options *o)
{
    for (int i = 0; i < CT_KV_TYPE_COUNT; i++)
        if (ct_kv_info((enum ct_kv_type)i)->kv == o->kv)
            return (enum ct_kv_type)i;
    return o->exact ? CT_KV_F32 : CT_KV_BF16;
}

/* Stored weights that were packed: their pages need not stay. */
static void done_with(void *engine, const void *p, size_t bytes)
{
    struct carat_engine *e = engine;

    ct_file_forget(e->model->file, p, bytes);
    atomic_fetch_add_explicit(&e->fetched, bytes, memory_order_relaxed);
}

/* What a backend has to know of the model, and the choices of the plan. */
static struct ct_cpu_options backend_options(struct carat_engine *e)
{
    const struct ct_config *c = &e->model->config;
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
        .user = e,
    };

    for (int i = 0; i < CT_KINDS; i++)
        o.kind[i] = c->kind[i];
    for (int i = 0; i < c->n_layer; i++) {
        const struct ct_layer_config *l = &c->layer[i];
        o.max_ffn = CT_MAX(o.max_ffn, l->ffn);
        o.max_heads = CT_MAX(o.max_heads, l->n_head);
        o.max_head_dim = CT_MAX(o.max_head_dim, l->head_dim);
        o.max_inputs = CT_MAX(o.max_inputs, CT_MAX(l->ffn, l->n_head * l->head_dim));
    }
    return o;
}

void ct_lay_out(struct carat_engine *e)
{
    const struct ct_config *c = &e->model->config;
    size_t n = (size_t)e->plan.chunk, sessions = (size_t)e->plan.sessions, vocab = (size_t)c->n_vocab;
    size_t page = ct_os_page();
    struct ct_memory memory = {e->work, 0}, packed = {e->packed, 0};
    size_t mapped = 0;
    struct ct_cpu_options o = backend_options(e);
    carat_plan *p = &e->plan;

    ct_cpu_backend_init(&e->backend, &o, &memory, &packed);
    ct_weights_place(&e->weights, &e->model->weights, c,
                     ct_memory_take(&memory, (size_t)c->n_layer * sizeof *e->weights.layer),
                     &e->backend.base);
    ct_cpu_backend_finish(&e->backend);
    ct_cache_plan(&e->cache, c, e->kv_type, p->context, p->chunk, p->sessions, e->kv);
    ct_pass_init(&e->pass, &e->backend.base, c, &e->weights, &e->cache, p->chunk, e->max_logits);
    e->token = ct_memory_take(&memory, n * sizeof *e->token);
    e->position = ct_memory_take(&memory, n * sizeof *e->position);
    e->sequence = ct_memory_take(&memory, n * sizeof *e->sequence);
    e->want = ct_memory_take(&memory, n);
    e->order = ct_memory_take(&memory, vocab * sizeof *e->order);
    e->weight = ct_memory_take(&memory, vocab * sizeof *e->weight);
    e->logits = ct_memory_take(&memory, sessions * vocab * sizeof *e->logits);
    e->held = ct_memory_take(&memory, sessions * (size_t)p->context * sizeof *e->held);
    e->banned = ct_memory_take(&memory, (CT_MAX_BANNED + CT_CALLER_BANNED) * sizeof *e->banned);
    e->session = ct_memory_take(&memory, sessions * sizeof *e->session);
    e->backend.memory = e->backend.weights = NULL; /* it took what it needs */

    p->kv_bytes = e->cache.bytes;
    p->work_bytes = ct_round_up(memory.used, page);
    p->stack_bytes = (size_t)(p->threads - 1) * CT_OS_STACK;
    p->packed_bytes = ct_round_up(packed.used, page);
    for (int i = 0; i < e->n_mapped; i++)
        mapped += (size_t)(e->mapped[i].end - e->mapped[i].begin);
    p->weight_bytes = p->packed_bytes + mapped;
    p->bytes = p->weight_bytes + p->kv_bytes + p->work_bytes + p->stack_bytes;
}

/* ---- weights that stay where they are ---- */

/* A walk over the weights. */
struct keeping {
    struct carat_engine *e; /* NULL: only counts */
    struct ct_cpu_options o;
    int n;
};

static carat_status keep(void *user, const char *place, const char *tensor, const struct ct_weight *w)
{
    struct keeping *k = user;
    uintptr_t page = ct_os_page(), begin = (uintptr_t)w->data & ~(page - 1);
    const uint8_t *p = (const uint8_t *)w->data - ((uintptr_t)w->data - begin);

    (void)place;
    (void)tensor;
    if (w->rows == 1 || (k->e && ct_cpu_packs(&k->o, w))) /* norms are the model's */
        return CARAT_OK;
    if (k->e)
        k->e->mapped[k->n] =
            (struct ct_pages){p, p + ct_round_up((uintptr_t)w->data + ct_weight_bytes(w) - begin, page)};
    k->n++;
    return CARAT_OK;
}

static int by_address(const void *a, const void *b)
{
    const struct ct_pages *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Fills e->mapped. */
static carat_status find_mapped(struct carat_engine *e, carat_error *err)
{
    const carat_model *m = e->model;
    struct keeping k = {0};
    int n = 0;

    ct_weights_walk(&m->weights, &m->config, m->file, keep, &k);
    e->mapped = malloc((size_t)k.n * sizeof *e->mapped);
    if (!e->mapped)
        return ct_fail(err, CARAT_E_MEMORY, "out of memory for the plan of an engine");
    k = (struct keeping){.e = e, .o = backend_options(e)};
    ct_weights_walk(&m->weights, &m->config, m->file, keep, &k);
    qsort(e->mapped, (size_t)k.n, sizeof *e->mapped, by_address);
    for (int i = 0; i < k.n; i++)
        if (n > 0 && e->mapped[i].begin <= e->mapped[n - 1].end)
            e->mapped[n - 1].end = CT_MAX(e->mapped[n - 1].end, e->mapped[i].end);
        else
            e->mapped[n++] = e->mapped[i];
    e->n_mapped = n;
    return CARAT_OK;
}

/* ---- choices ---- */

static carat_status range(const char *what, int value, int hi, carat_error *err)
{
    if (value >= 0 && value <= hi)
        return CARAT_OK;
    return ct_fail(err, CARAT_E_ARGUMENT, "%s is %d, expected 0 to %d", what, value, hi);
}

/* Bytes of the plan with this context and KV type; all else is as it was decided. */
static size_t count(struct carat_engine *e, const carat_engine_options *o, int context, enum ct_kv_type kv)
{
    carat_plan *p = &e->plan;

    e->kv_type = kv;
    p->kv = ct_kv_info(kv)->name;
    p->context = context;
    p->chunk = CT_MIN(CT_MAX(o->chunk ? o->chunk : DEFAULT_CHUNK, p->sessions), context);
    e->max_logits = CT_MIN(p->chunk, CT_MAX(MIN_LOGIT_ROWS, p->sessions));
    ct_lay_out(e);
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

    if (count(e, o, fits, kv) > limit)
        return 0;
    while (beyond - fits > 1) {
        int middle = fits + (beyond - fits) / 2;
        *(count(e, o, middle, kv) <= limit ? &fits : &beyond) = middle;
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
    size_t least = count(e, o, least_context(e), CT_KV_Q8);
    const char *smallest = ct_kv_info(CT_KV_Q8)->name;
    char sessions[48] = "", fits[128];

    if (asked.sessions > 1)
        snprintf(sessions, sizeof sessions, " for each of %d sessions", asked.sessions);
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
        "a context of %d%s needs %s (weights %s, %s cache %s, work %s, stacks %s), more than the %s "
        "of %s; %s",
        asked.context, sessions, ct_size(asked.bytes).text, ct_size(asked.weight_bytes).text, asked.kv,
        ct_size(asked.kv_bytes).text, ct_size(asked.work_bytes).text, ct_size(asked.stack_bytes).text,
        ct_size(limit).text, limit_is, fits);
}

carat_status ct_plan(struct carat_engine *e, const carat_model *model, const carat_engine_options *o,
                     carat_error *err)
{
    if (!model || !model->has_weights)
        return ct_fail(err, CARAT_E_ARGUMENT, "%s",
                       model ? "the model was opened as a tokenizer only" : "model is NULL");
    int most = model->config.max_context;
    CT_TRY(ct_check_size(o->size, sizeof *o, "carat_engine_options", err));
    CT_TRY(range("threads", o->threads, MAX_THREADS, err));
    CT_TRY(range("context", o->context, most, err));
    CT_TRY(range("sessions", o->sessions, MAX_SESSIONS, err));
    CT_TRY(range("chunk", o->chunk, most, err));
    CT_TRY(range("kv", (int)o->kv, CARAT_KV_Q8, err));
    struct ct_cpu cpu;
    ct_cpu_detect(&cpu);
    *e = (struct carat_engine){.model = model, .exact = o->exact != 0};
    if (!ct_kernel_choose(&e->kernel, &cpu, o->isa))
        return ct_fail(err, CARAT_E_ARGUMENT, "isa is \"%s\"; there are %s", o->isa, ct_level_names().text);
    e->plan = (carat_plan){
        .size = sizeof e->plan,
        .sessions = o->sessions ? o->sessions : 1,
        .threads = o->threads ? o->threads : ct_os_cpus(),
        .isa = e->kernel.isa,
    };
    CT_TRY(find_mapped(e, err));
    int context = o->context ? o->context : CT_MIN(DEFAULT_CONTEXT, most);
    if (count(e, o, context, kv_type(o)) > o->max_bytes && o->max_bytes)
        return too_large(e, o, o->max_bytes, "the limit", err);
    return CARAT_OK;
}

/* A pass over more weights than there is memory would read the disk for every token; and a reservation is granted whether or
 * not there is memory behind it. */
carat_status ct_plan_fits_machine(struct carat_engine *e, const carat_engine_options *o, carat_error *err)
{
    struct ct_os_memory m;

    ct_os_memory(&m, "");
    uint64_t memory = m.limit.value > 0 ? CT_MIN(m.total, (uint64_t)m.limit.value) : m.total;
    if (memory == 0 || e->plan.bytes <= memory)
        return CARAT_OK;
    return too_large(e, o, (size_t)memory, "memory that this process may use", err);
}

static struct carat_engine *new_plan(carat_error *err)
{
    struct carat_engine *e = calloc(1, sizeof *e);

    if (!e)
        ct_fail(err, CARAT_E_MEMORY, "out of memory for a plan");
    return e;
}

carat_status carat_plan_engine(const carat_model *model, const carat_engine_options *options,
                               carat_plan *result, carat_error *err)
{
    const carat_engine_options defaults = CARAT_ENGINE_OPTIONS;

    if (!result)
        return ct_fail(err, CARAT_E_ARGUMENT, "plan is NULL");
    CT_TRY(ct_check_size(result->size, sizeof *result, "carat_plan", err));
    struct carat_engine *e = new_plan(err);
    if (!e)
        return CARAT_E_MEMORY;
    carat_status status = ct_plan(e, model, options ? options : &defaults, err);
    if (!status)
        *result = e->plan;
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

    if (o->context && count(e, o, context, first) > bytes) {
        kv = second;
    } else if (context < CT_MIN(DEFAULT_CONTEXT, e->model->config.max_context)) {
        int longer = o->context || second == first ? 0 : largest_context(e, o, second, bytes);
        if (longer > context || context == 0) {
            context = CT_MAX(longer, least_context(e));
            kv = second;
        }
    }
    if (count(e, o, context, kv) > bytes)
        return too_large(e, o, bytes, "the budget", err);
    return CARAT_OK;
}

carat_status carat_fit_engine(const carat_model *model, carat_engine_options *options, size_t bytes,
                              carat_error *err)
{
    if (!options)
        return ct_fail(err, CARAT_E_ARGUMENT, "options is NULL");
    CT_TRY(ct_check_size(options->size, sizeof *options, "carat_engine_options", err));
    carat_engine_options o = *options;
    struct carat_engine *e = new_plan(err);
    if (!e)
        return CARAT_E_MEMORY;
    o.max_bytes = 0; /* the budget stands for it */
    carat_status status = ct_plan(e, model, &o, err);
    if (!status)
        status = fit(e, &o, bytes, err);
    if (!status) {
        options->context = e->plan.context;
        options->kv = ct_kv_info(e->kv_type)->kv;
    }
    carat_engine_close(e);
    return status;
}
