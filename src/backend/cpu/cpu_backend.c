/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_backend.c: the CPU backend: its memory, and the verbs that work on one row at a time, over kernels
 * and a pool of threads. Weights, products, K and V, attention and AltUp have files of their own. No result
 * depends on the threads.
 *
 * Threads claim operations on single rows eight rows at a time, and the storing of K and V sixteen at a time,
 * since sixteen rows share cache lines. */
#include "backend/cpu/cpu_backend.h"

#include <stdlib.h>

#include "base/redzone.h"
#include "kernel/level.h"
#include "os/cgroup.h"
#include "os/memory.h"
#include "os/threads.h"

/* ---- memory ---- */

static void cpu_destroy(struct ct_backend *base)
{
    struct ct_cpu_backend *b = ct_cpu(base);

    ct_pool_destroy(b->pool);
    struct ct_cpu_memory *const memory[] = {&b->kv, &b->work, &b->packed};
    for (size_t i = 0; i < CT_COUNT(memory); i++) {
        CT_ALLOW(memory[i]->base, memory[i]->size);
        ct_os_release(memory[i]->base, memory[i]->size);
    }
    free(b->mapped);
    free(b);
}

static void cpu_lay_out(struct ct_backend *base, const struct ct_extent *e)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    struct ct_cpu_memory *m = &b->work;
    size_t n = (size_t)e->rows;
    void *array[CT_DRAW_ARRAYS];

    b->extent = *e;
    b->work.used = b->kv.used = 0;
    CT_ALLOW(m->base, m->size);
    CT_ALLOW(b->kv.base, b->kv.size);
    b->position = ct_cpu_take(m, n * sizeof *b->position);
    b->sequence = ct_cpu_take(m, n * sizeof *b->sequence);
    b->origin = ct_cpu_take(m, n * sizeof *b->origin);
    b->not_finite = ct_cpu_take(m, n * sizeof *b->not_finite);
    for (int i = 0; i < CT_ATTN_TYPES; i++) {
        b->seen[i] = ct_cpu_take(m, n * sizeof *b->seen[i]);
        const struct ct_attn *attn = &b->o.attn[i];
        b->inverse[i] = ct_cpu_take(m, (size_t)attn->head_dim / 2 * sizeof *b->inverse[i]);
        b->cosine[i] = ct_cpu_take(m, n * (size_t)attn->rotated * sizeof(float));
        b->sine[i] = ct_cpu_take(m, n * (size_t)attn->rotated * sizeof(float));
        if (m->base)
            b->kernel.rope_frequencies(b->inverse[i], attn->head_dim, attn->rope_base, attn->rope_factor);
    }
    ct_cpu_attention_init(b);
    ct_cpu_project_init(b);
    ct_cpu_experts_init(b);
    b->table_row = ct_cpu_take(m, (size_t)b->base.threads * (size_t)b->o.max_row * sizeof *b->table_row);
    b->made = ct_cpu_take(m, (size_t)b->base.threads * ct_cpu_made_work(b));
    for (int i = 0; i < CT_DRAW_ARRAYS; i++)
        array[i] = ct_cpu_take(m, (size_t)b->o.n_vocab * sizeof(float));
    b->draw = (struct ct_draw_room){array[0], array[1], array[2], array[3], array[4], array[5]};
}

static void *cpu_alloc_host(struct ct_backend *b, size_t bytes)
{
    return ct_cpu_take(&ct_cpu(b)->work, bytes);
}

static ct_mat cpu_alloc(struct ct_backend *b, int rows, int cols)
{
    const int stride = ct_stride(cols);
    const size_t values = (size_t)(rows - 1) * (size_t)stride + (size_t)cols;

    assert(rows > 0 && cols > 0);
    return (ct_mat){cpu_alloc_host(b, values * sizeof(float)), cols, stride};
}

static void cpu_count(const struct ct_backend *base, carat_plan *p)
{
    const struct ct_cpu_backend *b = ct_cpu_const(base);
    size_t page = ct_os_page();

    p->kv_bytes = b->kv.used;
    p->work_bytes = ct_round_up(b->work.used, page);
    p->stack_bytes = (size_t)(base->threads - 1) * CT_OS_STACK;
    p->packed_bytes = ct_round_up(b->planned, page);
    p->weight_bytes = p->packed_bytes + ct_cpu_mapped_bytes(b) + b->parts;
    p->bytes = p->weight_bytes + p->kv_bytes + p->work_bytes + p->stack_bytes;
}

static bool take_pages(struct ct_cpu_memory *m, size_t size)
{
    m->base = size ? ct_os_reserve(size) : NULL;
    m->size = m->base ? size : 0;
    return m->size == size;
}

static carat_status cpu_reserve(struct ct_backend *base, carat_error *err)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    carat_plan p;

    cpu_count(base, &p);
    if (!take_pages(&b->kv, p.kv_bytes) || !take_pages(&b->work, p.work_bytes) ||
        !take_pages(&b->packed, p.packed_bytes))
        return ct_fail(err, CARAT_E_MEMORY,
                       "the system refuses %zu bytes for KV, %zu for work and %zu for weights; a smaller "
                       "context needs less",
                       p.kv_bytes, p.work_bytes, p.packed_bytes);
    if (b->packed.base)
        ct_os_huge(b->packed.base, b->packed.size); /* read whole for every token */
    return ct_pool_create_on(&b->pool, base->threads, b->processors, err);
}

/* ---- rows, some to an item ---- */

/* One verb over the current rows. */
struct job {
    struct ct_cpu_backend *b;
    void (*row)(struct job *j, int row, int thread);
    ct_mat out, in;
    const struct ct_weight *w;
    const int32_t *chosen; /* of w, for each row */
    float value, times;
    int at;
    int attn_type;
    bool heads; /* each by itself */
};

static void rows_item(void *arg, int item, int thread)
{
    struct job *j = arg;

    for (int row = item * CT_LANES; row < CT_MIN((item + 1) * CT_LANES, j->b->rows.n); row++)
        j->row(j, row, thread);
}

/* A row takes less time than claiming it, hence several at a time. */
static void run_rows(struct job *j)
{
    ct_pool_run(j->b->pool, (j->b->rows.n + CT_LANES - 1) / CT_LANES, rows_item, j);
}

static void table_row(struct job *j, int row, int thread)
{
    struct ct_cpu_backend *b = j->b;

    (void)thread;
    for (int attn_type = 0; attn_type < CT_ATTN_TYPES; attn_type++) {
        int pairs = b->o.attn[attn_type].rotated;
        b->kernel.rope_table(b->cosine[attn_type] + (size_t)row * (size_t)pairs,
                             b->sine[attn_type] + (size_t)row * (size_t)pairs, b->inverse[attn_type], pairs,
                             b->position[row]);
    }
}

/* Kernels and threads of a pass. */
static void set_phase(struct ct_cpu_backend *b, bool decodes)
{
    if (b->kernel.isa != b->kernels[decodes].isa)
        b->kernel = b->kernels[decodes];
    b->threads = b->thread_counts[decodes];
    ct_pool_limit(b->pool, b->threads);
}

static void cpu_begin_pass(struct ct_backend *base, const struct ct_rows *rows, const struct ct_watch *watch)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    size_t n = (size_t)rows->n;

    assert(b->pool && rows->n > 0 && rows->n <= b->extent.rows);
    for (size_t i = 0; i < n; i++) {
        assert(rows->sequence[i] >= 0 && rows->sequence[i] < b->extent.sequences);
        assert(rows->position[i] >= 0 && rows->position[i] < b->extent.context);
        assert(rows->token[i] >= 0);
    }
    memcpy(b->position, rows->position, n * sizeof *b->position);
    memcpy(b->sequence, rows->sequence, n * sizeof *b->sequence);
    for (size_t i = 0; i < n; i++) {
        b->origin[i] = (int32_t)i;
        b->not_finite[i] = false;
    }
    b->rows = *rows;
    b->reader = NULL;
    b->rows.position = b->position;
    b->rows.sequence = b->sequence;
    for (int i = 0; i < CT_ATTN_TYPES; i++) {
        memcpy(b->seen[i], rows->seen[i], n * sizeof *b->seen[i]);
        b->rows.seen[i] = b->seen[i];
    }
    set_phase(b, rows->decodes);
    b->fp = ct_os_fp_enter();
    ct_pool_watch(b->pool, watch->stop, watch->user);
    ct_pool_wait_awake(b->pool, false);
    run_rows(&(struct job){.b = b, .row = table_row});
}

static bool cpu_end_pass(struct ct_backend *base)
{
    struct ct_cpu_backend *b = ct_cpu(base);

    ct_os_fp_leave(b->fp);
    return ct_pool_unwatch(b->pool);
}

static bool cpu_goes_on(struct ct_backend *b)
{
    return ct_pool_goes_on(ct_cpu(b)->pool, 0);
}

static bool cpu_is_finite(struct ct_backend *b, int row)
{
    return !ct_cpu(b)->not_finite[row];
}

/* The angles of a row take another's place: layers to come may turn their queries, too. */
static void move_turns(struct ct_cpu_backend *b, int to, int from)
{
    for (int i = 0; i < CT_ATTN_TYPES; i++) {
        const size_t pairs = (size_t)b->o.attn[i].rotated;
        memcpy(b->cosine[i] + (size_t)to * pairs, b->cosine[i] + (size_t)from * pairs, pairs * sizeof(float));
        memcpy(b->sine[i] + (size_t)to * pairs, b->sine[i] + (size_t)from * pairs, pairs * sizeof(float));
    }
}

static void cpu_select_rows(struct ct_backend *base, int n, const ct_mat *m)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    int kept = 0;

    for (int r = 0; r < b->rows.n; r++) {
        if (!b->rows.wanted[b->origin[r]])
            continue;
        b->origin[kept] = b->origin[r];
        for (int i = 0; i < CT_ATTN_TYPES; i++)
            b->seen[i][kept] = b->seen[i][r];
        if (kept != r)
            move_turns(b, kept, r);
        b->position[kept] = b->position[r];
        b->sequence[kept] = b->sequence[r];
        for (int i = 0; i < n && kept != r; i++)
            if (m[i].handle)
                memcpy(ct_row(m[i], kept), ct_row(m[i], r), (size_t)m[i].cols * sizeof(float));
        kept++;
    }
    b->rows.n = kept;
}

static void embed_row(struct job *j, int row, int thread)
{
    const struct ct_kernel *k = &j->b->kernel;

    k->dequantize_row(ct_row(j->out, row), j->w, j->b->rows.token[row],
                      j->b->scratch + (size_t)thread * CT_SCRATCH(j->b->o.max_input));
    k->scale(ct_row(j->out, row), j->value, j->out.cols);
}

static void cpu_embed(struct ct_backend *b, ct_mat x, const struct ct_weight *table, float scale)
{
    if (!table->data)
        return;
    assert(x.cols == table->cols && table->cols <= ct_cpu(b)->o.max_input);
    run_rows(&(struct job){.b = ct_cpu(b), .row = embed_row, .out = x, .w = table, .value = scale});
}

/* The row of a table for one of the pass, which is still whole. */
static void embed_add_row(struct job *j, int row, int thread)
{
    const struct ct_cpu_backend *b = j->b;
    float *from = b->table_row + (size_t)thread * (size_t)b->o.max_row, *x = ct_row(j->out, row);

    b->kernel.dequantize_row(from, j->w, j->chosen[row],
                             b->scratch + (size_t)thread * CT_SCRATCH(b->o.max_input));
    b->kernel.scale(from, j->value, j->out.cols);
    b->kernel.add(x, from, j->out.cols);
    b->kernel.scale(x, j->times, j->out.cols);
}

static void cpu_embed_add(struct ct_backend *b, ct_mat x, const struct ct_weight *table, const int32_t *row,
                          float scale, float times)
{
    assert(x.cols == table->cols && table->cols <= ct_cpu(b)->o.max_row);
    run_rows(&(struct job){.b = ct_cpu(b),
                           .row = embed_add_row,
                           .out = x,
                           .w = table,
                           .chosen = row,
                           .value = scale,
                           .times = times});
}

/* n values; an absent weight leaves them as they are. */
static void norm_values(const struct ct_cpu_backend *b, float *y, const float *x, const struct ct_weight *w,
                        int n)
{
    assert(!w->data || (w->type == CT_F32 && w->cols == n));
    if (w->data)
        b->kernel.norm(y, x, w->data, n, b->o.norm_eps);
    else if (y != x)
        memcpy(y, x, (size_t)n * sizeof *y);
}

/* The whole row, or each head of it. */
static void norm_row(struct job *j, int row, int thread)
{
    const int n = j->heads ? j->w->cols : j->in.cols;

    (void)thread;
    for (int at = 0; at < j->in.cols; at += n)
        norm_values(j->b, ct_row(j->out, row) + at, ct_row(j->in, row) + at, j->w, n);
}

static void cpu_norm(struct ct_backend *b, ct_mat y, ct_mat x, const struct ct_weight *w)
{
    assert(y.cols == x.cols);
    run_rows(&(struct job){.b = ct_cpu(b), .row = norm_row, .out = y, .in = x, .w = w});
}

static void cpu_qk_norm(struct ct_backend *b, ct_mat x, const struct ct_weight *w)
{
    if (!w->data || !x.handle)
        return;
    assert(x.cols % w->cols == 0);
    run_rows(&(struct job){.b = ct_cpu(b), .row = norm_row, .out = x, .in = x, .w = w, .heads = true});
}

static void rope_row(struct job *j, int row, int thread)
{
    struct ct_cpu_backend *b = j->b;
    const struct ct_attn *attn = &b->o.attn[j->attn_type];
    size_t at = (size_t)row * (size_t)attn->rotated;

    (void)thread;
    for (int h = 0; h < j->out.cols; h += attn->head_dim)
        b->kernel.rope(ct_row(j->out, row) + h, b->cosine[j->attn_type] + at, b->sine[j->attn_type] + at,
                       attn->rotated, attn->head_dim);
}

static void cpu_rope(struct ct_backend *b, ct_mat x, int attn_type)
{
    if (!x.handle)
        return;
    assert(attn_type >= 0 && attn_type < CT_ATTN_TYPES &&
           x.cols % ct_cpu(b)->o.attn[attn_type].head_dim == 0);
    run_rows(&(struct job){.b = ct_cpu(b), .row = rope_row, .out = x, .attn_type = attn_type});
}

static void residual_norm_row(struct job *j, int row, int thread)
{
    float *y = ct_row(j->in, row);

    (void)thread;
    norm_values(j->b, y, y, j->w, j->in.cols);
    j->b->kernel.add(ct_row(j->out, row), y, j->out.cols);
}

static void cpu_residual_norm(struct ct_backend *b, ct_mat x, ct_mat y, const struct ct_weight *w)
{
    assert(y.cols == x.cols);
    run_rows(&(struct job){.b = ct_cpu(b), .row = residual_norm_row, .out = x, .in = y, .w = w});
}

static void scale_row(struct job *j, int row, int thread)
{
    (void)thread;
    j->b->kernel.scale(ct_row(j->out, row), *(const float *)j->w->data, j->out.cols);
}

static void cpu_scale(struct ct_backend *b, ct_mat x, const struct ct_weight *w)
{
    assert(w->type == CT_F32 && w->cols == 1);
    run_rows(&(struct job){.b = ct_cpu(b), .row = scale_row, .out = x, .w = w});
}

static void gelu_times_row(struct job *j, int row, int thread)
{
    (void)thread;
    j->b->kernel.geglu(ct_row(j->out, row), ct_row(j->in, row) + j->at, j->out.cols);
}

static void cpu_gelu_times(struct ct_backend *b, ct_mat x, ct_mat up, int at)
{
    assert(at >= 0 && at + x.cols <= up.cols);
    run_rows(&(struct job){.b = ct_cpu(b), .row = gelu_times_row, .out = x, .in = up, .at = at});
}

/* ---- making one ---- */

/* The level's own name in place of the caller's, who need not keep it. */
static const char *lasting_name(const char *isa)
{
    int i = 0;

    while (isa && strcmp(carat_isa_name(i), isa) != 0)
        i++;
    return isa ? carat_isa_name(i) : NULL;
}

carat_status ct_backend_create_cpu(struct ct_backend **out, const struct ct_backend_options *o,
                                   carat_error *err)
{
    struct ct_cpu_backend *b = calloc(1, sizeof *b);
    struct ct_cpu cpu;

    if (!b)
        return ct_no_memory(err, "a backend");
    ct_cpu_detect(&cpu);
    const char *decode_isa = o->decode_isa ? o->decode_isa : o->isa;
    bool known = ct_kernel_choose(&b->kernels[0], &cpu, o->isa);
    if (!known || !ct_kernel_choose(&b->kernels[1], &cpu, decode_isa)) {
        free(b);
        return ct_fail(err, CARAT_E_ARGUMENT, "isa is \"%s\"; there are %s", known ? decode_isa : o->isa,
                       ct_level_names().text);
    }
    b->kernel = b->kernels[0];
    b->processors = o->threads ? 0 : ct_os_cpus();
    b->thread_counts[0] = o->threads ? o->threads : b->processors;
    b->thread_counts[1] = o->decode_threads ? o->decode_threads : b->thread_counts[0];
    b->threads = b->thread_counts[0];
    b->base = (struct ct_backend){
        .verb = {.destroy = cpu_destroy,
                 .lay_out = cpu_lay_out,
                 .alloc = cpu_alloc,
                 .alloc_host = cpu_alloc_host,
                 .count = cpu_count,
                 .reserve = cpu_reserve,
                 .begin_pass = cpu_begin_pass,
                 .end_pass = cpu_end_pass,
                 .goes_on = cpu_goes_on,
                 .is_finite = cpu_is_finite,
                 .embed = cpu_embed,
                 .embed_add = cpu_embed_add,
                 .experts = ct_cpu_experts,
                 .norm = cpu_norm,
                 .qk_norm = cpu_qk_norm,
                 .rope = cpu_rope,
                 .select_rows = cpu_select_rows,
                 .attend = ct_cpu_attend,
                 .residual_norm = cpu_residual_norm,
                 .scale = cpu_scale,
                 .gelu_times = cpu_gelu_times,
                 .facts = ct_cpu_facts,
                 .serving = ct_cpu_serving,
                 .cost = ct_cpu_cost,
                 .chosen = ct_cpu_chosen},
        .isa = b->kernel.isa,
        .threads = CT_MAX(b->thread_counts[0], b->thread_counts[1]),
    };
    ct_cpu_weight_verbs(&b->base.verb);
    ct_cpu_kv_verbs(&b->base.verb);
    ct_cpu_product_verbs(&b->base.verb);
    ct_cpu_told_verbs(&b->base.verb);
    ct_cpu_altup_verbs(&b->base.verb);
    b->o = *o;
    b->o.isa = lasting_name(o->isa);
    b->o.decode_isa = lasting_name(o->decode_isa);
    *out = &b->base;
    return CARAT_OK;
}
