/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_experts.c: the verb experts. Rows are grouped by expert, so that a pass reads the weights of an expert
 * once, and only of those that some row takes. Groups go by ascending id, as many at a time as there is
 * memory for their inputs:
 *
 *   the input of every group is prepared from its rows (a single row's, once for all);
 *   blocks of gate and up of all groups go round among the threads, and what they give is prepared for down;
 *   blocks of down's rows go round, each with all groups: who has a block adds what one expert after another
 *   gives to the same columns of the same rows, so that the order of a sum needs neither memory nor barriers.
 *
 * A row's result depends on none of this. Which expert a row takes is the kernel's business (route).
 *
 * What down reads is nobody's output: importance hears of it in there (ct_trace.inner), a block of columns at
 * a time. One tensor of a file is the views blk.N.ffn_gate_exps.E, ffn_up_exps.E and ffn_down_exps.E, which a
 * packed file holds apart. */
#include "backend/cpu/cpu_product.h"

/* Rows that take one expert: their places in `at` are [first, first + n). */
struct ct_cpu_group {
    const struct ct_expert *expert;
    int first, n;
    struct ct_prepared in, wide; /* what it reads, and what its down reads */
    int blocks_before;           /* of gate and up, in the groups before it */
};

/* Rows that a group takes of the memory of inputs. */
static int group_rows(int n)
{
    return (int)ct_round_up((size_t)n, CT_LANES);
}

/* ---- which rows take which expert ---- */

struct routing {
    struct ct_cpu_backend *b;
    ct_mat logits;
    const struct ct_experts *e;
};

static void route_item(void *arg, int item, int thread)
{
    const struct routing *r = arg;
    struct ct_cpu_experts *x = &r->b->experts;

    (void)thread;
    for (int row = item * CT_LANES; row < CT_MIN((item + 1) * CT_LANES, r->b->rows.n); row++) {
        const size_t at = (size_t)row * (size_t)r->e->used;
        r->b->kernel.route(x->id + at, x->weight + at, ct_row(r->logits, row), r->e->n, r->e->used,
                           r->e->scale.data);
    }
}

/* Sorts the places of ids by id, those of one id as they come. */
static void group_by_expert(struct ct_cpu_experts *x, int n_expert, int n)
{
    memset(x->first, 0, (size_t)(n_expert + 1) * sizeof *x->first);
    for (int i = 0; i < n; i++)
        x->first[x->id[i] + 1]++;
    for (int e = 0; e < n_expert; e++)
        x->first[e + 1] += x->first[e];
    for (int i = 0; i < n; i++)
        x->at[x->first[x->id[i]]++] = i;
    for (int e = n_expert; e > 0; e--) /* each stands where the next one begins */
        x->first[e] = x->first[e - 1];
    x->first[0] = 0;
}

/* ---- some groups at a time ---- */

struct job {
    struct ct_block_job blocks;
    ct_mat in, out;
    const struct ct_experts *e;
    int n, most;            /* groups; rows of the largest */
    int n_inputs, n_blocks; /* of CT_LANES rows, and of gate and up, in all of them */
    bool first;             /* nothing is in out yet */
};

static struct job *job_of(struct ct_block_job *blocks)
{
    return (struct job *)blocks; /* the first member */
}

static int group_row(const struct job *j, const struct ct_cpu_group *g, int i)
{
    return j->blocks.b->experts.at[g->first + i] / j->e->used;
}

/* Floats of input `at` a row of its memory, whatever its form. */
static void *input_at(void *inputs, int row, int cols)
{
    return (float *)inputs + (size_t)row * (size_t)ct_pad_group(cols);
}

/* Takes groups from expert `from` on, and returns the first that has no room. */
static int take_groups(struct job *j, int from)
{
    struct ct_cpu_backend *b = j->blocks.b;
    struct ct_cpu_experts *x = &b->experts;
    int e = from, rows = 0;

    j->n = j->most = j->n_inputs = j->n_blocks = 0;
    for (; e < j->e->n; e++) {
        const struct ct_expert *expert = &j->e->expert[e];
        const int n = x->first[e + 1] - x->first[e];
        if (n == 0)
            continue;
        if (rows + group_rows(n) > x->capacity)
            break;
        struct ct_cpu_group *g = &x->group[j->n++];
        *g = (struct ct_cpu_group){
            .expert = expert, .first = x->first[e], .n = n, .blocks_before = j->n_blocks};
        ct_cpu_lay_prepared(&g->in, input_at(x->in, b->rows.n == 1 ? 0 : rows, expert->gate.cols),
                            ct_input_form(&expert->gate, b->o.exact), n, expert->gate.cols);
        ct_cpu_lay_prepared(&g->wide, input_at(x->wide, rows, expert->down.cols),
                            ct_input_form(&expert->down, b->o.exact), n, expert->down.cols);
        const int block = ct_cpu_rows_of_block(b, n);
        j->n_blocks += (expert->gate.rows + block - 1) / block;
        rows += group_rows(n);
        j->most = CT_MAX(j->most, n);
        j->n_inputs += b->rows.n == 1 ? j->n == 1 : group_rows(n) / CT_LANES;
    }
    x->n_used += j->n;
    return e;
}

/* CT_LANES rows of a group: they are brought together first, unless there is only one. */
static void input_item(void *arg, int item, int thread)
{
    const struct job *j = arg;
    struct ct_cpu_backend *b = j->blocks.b;
    struct ct_cpu_group *g = b->experts.group;

    for (; item >= group_rows(g->n) / CT_LANES; g++)
        item -= group_rows(g->n) / CT_LANES;
    const int t0 = item * CT_LANES, n = CT_MIN(CT_LANES, g->n - t0);
    ct_mat rows = {ct_row(j->in, group_row(j, g, t0)), j->in.cols, j->in.stride};
    if (n > 1) {
        rows.handle = ct_cpu_beside(b, thread);
        rows.stride = ct_stride(j->in.cols);
        for (int i = 0; i < n; i++)
            memcpy(ct_row(rows, i), ct_row(j->in, group_row(j, g, t0 + i)),
                   (size_t)j->in.cols * sizeof(float));
    }
    ct_cpu_prepare(b, &g->in, ct_input_form(&g->expert->gate, b->o.exact), rows.handle, (size_t)rows.stride,
                   ct_input_of_tokens(&g->in, t0, t0 + CT_LANES));
}

/* ---- gate and up ---- */

/* The group that a block of gate and up belongs to. */
static struct ct_cpu_group *group_of(const struct job *j, int block)
{
    struct ct_cpu_group *group = j->blocks.b->experts.group;
    int low = 0, high = j->n;

    while (high - low > 1) {
        const int middle = (low + high) / 2;
        *(group[middle].blocks_before <= block ? &low : &high) = middle;
    }
    return &group[low];
}

/* Rows of the gate that blocks begin in, as far as it goes. */
static struct ct_panels_next rows_of_gate(const struct job *j, struct ct_blocks blocks)
{
    if (blocks.first >= blocks.end)
        return (struct ct_panels_next){0};
    const struct ct_cpu_group *g = group_of(j, blocks.first);
    const struct ct_weight *gate = &g->expert->gate;
    const int rows = ct_cpu_rows_of_block(j->blocks.b, g->n), first = blocks.first - g->blocks_before;
    return (struct ct_panels_next){gate, first * rows,
                                   CT_MIN((blocks.end - g->blocks_before) * rows, gate->rows)};
}

static void widen_blocks(struct ct_block_job *job, struct ct_blocks now, struct ct_blocks next, int thread)
{
    struct ct_cpu_backend *b = job->b;
    const struct job *j = job_of(job);

    while (now.first < now.end) {
        struct ct_cpu_group *g = group_of(j, now.first);
        const struct ct_expert *expert = g->expert;
        const struct ct_panels_next rows = rows_of_gate(j, now);
        const int block = ct_cpu_rows_of_block(b, g->n);
        const struct ct_cpu_geglu geglu = {.gate = &expert->gate,
                                           .up = &expert->up,
                                           .x = {&g->in, &g->in},
                                           .reader = &g->wide,
                                           .form = ct_input_form(&expert->down, b->o.exact),
                                           .trace = b->base.trace,
                                           .expert = (int)(expert - j->e->expert)};
        now.first = g->blocks_before + (rows.r1 + block - 1) / block;
        ct_cpu_geglu_rows(b, &geglu, rows.r0, rows.r1, ct_cpu_rows_beside(b, g->n, 2),
                          rows_of_gate(j, now.first < now.end ? now : next), thread);
    }
}

/* ---- down, and the sum ---- */

/* Adds what one expert gives to columns [r0, r1) of its rows. */
static void add_group(const struct job *j, const struct ct_cpu_group *g, int r0, int r1,
                      struct ct_panels_next next, int thread)
{
    struct ct_cpu_backend *b = j->blocks.b;
    const struct ct_weight down = ct_weight_rows(&g->expert->down, r0, r1);
    const ct_mat y = {ct_cpu_beside(b, thread), down.rows, ct_stride(down.rows)};

    ct_cpu_product(b, y, &down, 0, down.rows, &g->wide, next, thread);
    for (int i = 0; i < g->n; i++)
        b->kernel.add_scaled(ct_row(j->out, group_row(j, g, i)) + r0,
                             b->experts.weight[b->experts.at[g->first + i]], ct_row(y, i), down.rows);
}

static void sum_blocks(struct ct_block_job *job, struct ct_blocks now, struct ct_blocks next, int thread)
{
    struct ct_cpu_backend *b = job->b;
    const struct job *j = job_of(job);
    const struct ct_cpu_group *group = b->experts.group;
    const int rows = ct_cpu_rows_of_block(b, j->most), step = ct_cpu_rows_beside(b, j->most, 1);
    const int r1 = CT_MIN(now.end * rows, j->out.cols);

    for (int r = now.first * rows; r < r1; r += step) {
        const int end = CT_MIN(r + step, r1);
        const int later = end < r1 ? end : next.first * rows, until = end < r1 ? r1 : next.end * rows;
        for (int row = 0; row < b->rows.n && j->first; row++)
            memset(ct_row(j->out, row) + r, 0, (size_t)(end - r) * sizeof(float));
        for (int i = 0; i < j->n; i++) {
            struct ct_panels_next then = {0};
            if (i + 1 < j->n)
                then = (struct ct_panels_next){&group[i + 1].expert->down, r, end};
            else if (later < until)
                then =
                    (struct ct_panels_next){&group[0].expert->down, later, CT_MIN(later + step, j->out.cols)};
            add_group(j, &group[i], r, end, then, thread);
        }
    }
}

static void run_groups(struct job *j)
{
    struct ct_cpu_backend *b = j->blocks.b;
    const int rows = ct_cpu_rows_of_block(b, j->most);

    ct_pool_run(b->pool, j->n_inputs, input_item, j);
    j->blocks = (struct ct_block_job){.b = b, .compute = widen_blocks};
    ct_cpu_run_blocks(&j->blocks, j->n_blocks);
    j->blocks = (struct ct_block_job){.b = b, .compute = sum_blocks};
    ct_cpu_run_blocks(&j->blocks, (j->out.cols + rows - 1) / rows);
}

void ct_cpu_experts(struct ct_backend *base, ct_mat out, ct_mat in, ct_mat route, const struct ct_experts *e)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    struct ct_cpu_experts *x = &b->experts;
    struct job j = {.blocks.b = b, .in = in, .out = out, .e = e, .first = true};
    struct routing routing = {b, route, e};
    const int rows = b->rows.n;

    assert(e->n <= b->o.max_experts.n && e->used <= b->o.max_experts.used && e->used <= e->n &&
           route.cols == e->n && in.cols == e->expert[0].gate.cols && out.cols == e->expert[0].down.rows &&
           e->expert[0].gate.rows <= b->o.max_experts.ffn);
    x->n_used = 0;
    x->n_rows = rows * e->used;
    ct_pool_run(b->pool, (rows + CT_LANES - 1) / CT_LANES, route_item, &routing);
    if (rows == 0 || !ct_pool_goes_on(b->pool, 0)) /* stopped: there may be no ids */
        return;
    group_by_expert(x, e->n, x->n_rows);
    for (int from = 0; from < e->n; j.first = false) {
        from = take_groups(&j, from);
        if (j.n > 0)
            run_groups(&j);
    }
}

const int32_t *ct_cpu_chosen(const struct ct_backend *base, int row)
{
    const struct ct_cpu_backend *b = ct_cpu_const(base);

    return b->experts.id + (size_t)row * (size_t)(b->experts.n_rows / b->rows.n);
}

/* Rows of inputs: a pass's own, since one group may have them all; and a group for each expert that eight
 * rows can take, so that a pass of few rows takes all groups at once. */
void ct_cpu_experts_init(struct ct_cpu_backend *b)
{
    struct ct_cpu_memory *m = &b->work;
    struct ct_cpu_experts *x = &b->experts;
    const size_t n = (size_t)b->o.max_experts.n, used = (size_t)b->o.max_experts.used;
    const size_t rows = (size_t)b->extent.rows, chosen = rows * used;

    if (n == 0)
        return;
    x->capacity =
        (int)CT_MAX(ct_round_up(rows, CT_LANES), CT_LANES * CT_MIN(n, CT_MIN(rows, CT_LANES) * used));
    x->id = ct_cpu_take(m, chosen * sizeof *x->id);
    x->at = ct_cpu_take(m, chosen * sizeof *x->at);
    x->first = ct_cpu_take(m, (n + 1) * sizeof *x->first);
    x->weight = ct_cpu_take(m, chosen * sizeof *x->weight);
    x->group = ct_cpu_take(m, n * sizeof *x->group);
    x->in = ct_cpu_take(m, (size_t)x->capacity * (size_t)ct_pad_group(b->o.max_experts.cols) * sizeof(float));
    x->wide =
        ct_cpu_take(m, (size_t)x->capacity * (size_t)ct_pad_group(b->o.max_experts.ffn) * sizeof(float));
}
