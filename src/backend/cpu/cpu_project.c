/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_project.c: products of the CPU backend: which thread computes which outputs. What they are is the
 * kernels' business, and no result depends on the split. */
#include "backend/cpu/cpu_backend.h"

/* Blocks of output rows whose logits are computed before they are looked at: they are still in the cache. */
enum { BLOCKS_OF_LOGITS = 16 };

static int rows_of_block(const struct ct_cpu_backend *b, int tokens)
{
    return tokens > CT_LANES ? b->kernel.rows_many : b->kernel.rows_few;
}

/* One product, or several of the same input. */
struct job {
    struct ct_cpu_backend *b;
    enum ct_input form; /* that the input is prepared in */
    ct_mat in, out;
    int n_out, blocks_before[5];
    const ct_mat *outs;
    const struct ct_weight *const *ws;
    int shares, share; /* the first items are so many shares of so many blocks, the others a block each */
    int tokens;        /* rows of the input: the current ones, or those of a slice of the head */
    int first;         /* the first of a slice */
    float *const *to;  /* [tokens] where its logits go */
    float cap;
};

static void prepare_item(void *arg, int item, int thread)
{
    struct job *j = arg;
    int t0 = item * CT_LANES;

    (void)thread;
    if (j->form == CT_INPUT_LANES)
        j->b->kernel.prepare_lanes(&j->b->prepared[j->form], j->in.handle, t0, t0 + CT_LANES);
    else
        j->b->kernel.prepare_input(&j->b->prepared[j->form], j->form, j->in.handle, t0, t0 + CT_LANES);
}

/* Prepares the first rows of in once for every form that the weights ask for. */
static void prepare(struct ct_cpu_backend *b, ct_mat in, int tokens, int n, const struct ct_weight *const *w)
{
    for (int form = 0; form < CT_INPUT_COUNT; form++) {
        bool wanted = false;
        for (int i = 0; i < n; i++)
            wanted |= w[i]->data && ct_input_form(w[i], b->o.exact) == (enum ct_input)form;
        if (!wanted)
            continue;
        assert(in.cols <= b->widest[form]);
        b->prepared[form].n = tokens;
        b->prepared[form].cols = in.cols;
        ct_pool_run(b->pool, (tokens + CT_LANES - 1) / CT_LANES, prepare_item,
                    &(struct job){.b = b, .in = in, .form = (enum ct_input)form});
    }
}

/* Output rows that a thread computes before it looks whether the pass goes on: at least a block, and so many
 * multiplications that looking costs nothing, but no level takes longer than some milliseconds. */
static int rows_between_looks(const struct ct_cpu_backend *b, const struct ct_weight *w, int tokens)
{
    const size_t multiplications = (size_t)4 << 20;
    int block = rows_of_block(b, tokens);
    size_t blocks = multiplications / ((size_t)w->cols * (size_t)tokens * (size_t)block);

    return block * (int)CT_MAX(blocks, 1);
}

/* Rows [r0, r1) of one product for all tokens. */
static void product_rows(const struct job *j, ct_mat out, const struct ct_weight *w, int r0, int r1,
                         int thread)
{
    struct ct_cpu_backend *b = j->b;
    enum ct_input form = ct_input_form(w, b->o.exact);
    const struct ct_kernel *k = &b->kernel;

    bool panels = w->layout == CT_LAYOUT_PANELS && (!b->o.exact || ct_cpu_exact_panels(w->type));
    int step = rows_between_looks(b, w, j->tokens);

    for (int r = r0; r < r1 && ct_pool_goes_on(b->pool, thread); r += step)
        (panels ? k->project_panels : k->project)(out.handle, (size_t)out.cols, w, r, CT_MIN(r + step, r1),
                                                  &b->prepared[form], form,
                                                  b->scratch + (size_t)thread * CT_SCRATCH(b->o.max_input));
}

static int blocks_of(const struct job *j, const struct ct_weight *w)
{
    const int rows = rows_of_block(j->b, j->tokens);
    return w->data ? (w->rows + rows - 1) / rows : 0;
}

/* Runs fn over `blocks` blocks of output rows. Three quarters are cut into a share for every thread, long
 * runs that memory delivers best; the rest goes block by block to whoever is free. */
static void run_blocks(struct job *j, int blocks, void (*fn)(void *job, int item, int thread))
{
    j->shares = j->b->base.threads;
    j->share = blocks * 3 / 4 / j->shares;
    if (j->share == 0)
        j->shares = 0;
    ct_pool_run(j->b->pool, j->shares + blocks - j->shares * j->share, fn, j);
}

/* Blocks [*first, *end) of an item. */
static void blocks_of_item(const struct job *j, int item, int *first, int *end)
{
    bool share = item < j->shares;
    *first = share ? item * j->share : j->shares * j->share + item - j->shares;
    *end = *first + (share ? j->share : 1);
}

static void project_item(void *arg, int item, int thread)
{
    struct job *j = arg;
    int first, end, rows = rows_of_block(j->b, j->tokens);

    blocks_of_item(j, item, &first, &end);
    for (int i = 0; i < j->n_out; i++) {
        int begin = CT_MAX(first, j->blocks_before[i]), stop = CT_MIN(end, j->blocks_before[i + 1]);
        if (begin < stop)
            product_rows(j, j->outs[i], j->ws[i], (begin - j->blocks_before[i]) * rows,
                         CT_MIN((stop - j->blocks_before[i]) * rows, j->ws[i]->rows), thread);
    }
}

void ct_cpu_project(struct ct_backend *base, ct_mat in, int n, const ct_mat *out,
                    const struct ct_weight *const *w)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    struct job j = {.b = b, .n_out = n, .outs = out, .ws = w, .tokens = b->rows.n};

    assert(n < (int)CT_COUNT(j.blocks_before));
    if (b->rows.n == 0)
        return;
    prepare(b, in, j.tokens, n, w);
    for (int i = 0; i < n; i++)
        assert(!w[i]->data || (w[i]->cols == in.cols && w[i]->rows <= out[i].cols));
    for (int i = 0; i < n; i++)
        j.blocks_before[i + 1] = j.blocks_before[i] + blocks_of(&j, w[i]);
    run_blocks(&j, j.blocks_before[n], project_item);
}

/* Values of a product that a thread holds beside the outputs at a time: a few rows of the whole width of a
 * feed-forward, or a block of many, which are then still in the cache. */
static size_t beside_values(const struct ct_cpu_backend *b)
{
    size_t rows = (size_t)b->extent.rows;

    return CT_MAX(CT_MIN(rows, CT_LANES) * (size_t)CT_MAX(b->o.max_ffn, b->kernel.rows_few),
                  rows * (size_t)b->kernel.rows_many);
}

static float *beside_of(const struct ct_cpu_backend *b, int thread)
{
    return b->beside + (size_t)thread * beside_values(b);
}

/* Rows [r0, r1) of w; r0 begins a panel. */
static struct ct_weight rows_of(const struct ct_weight *w, int r0, int r1)
{
    struct ct_weight p = *w;
    int piece = w->layout == CT_LAYOUT_PANELS ? r0 / CT_PANEL_ROWS : r0;

    p.data = (const uint8_t *)w->data + (size_t)piece * w->row_bytes;
    p.rows = r1 - r0;
    return p;
}

static void geglu_item(void *arg, int item, int thread)
{
    struct job *j = arg;
    int first, end;

    blocks_of_item(j, item, &first, &end);
    int n = j->tokens, rows = rows_of_block(j->b, n);
    int r0 = first * rows, r1 = CT_MIN(end * rows, j->ws[1]->rows), step = n > CT_LANES ? rows : r1 - r0;
    for (int r = r0; r < r1; r += step) {
        struct ct_weight up = rows_of(j->ws[1], r, CT_MIN(r + step, r1));
        ct_mat beside = {beside_of(j->b, thread), up.rows};
        product_rows(j, j->out, j->ws[0], r, r + up.rows, thread);
        product_rows(j, beside, &up, 0, up.rows, thread);
        for (int t = 0; t < n; t++)
            j->b->kernel.geglu(ct_row(j->out, t) + r, ct_row(beside, t), up.rows);
    }
}

void ct_cpu_project_geglu(struct ct_backend *base, ct_mat out, ct_mat in, const struct ct_weight *gate,
                          const struct ct_weight *up)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    const struct ct_weight *w[] = {gate, up};

    if (b->rows.n == 0 || !gate->data || !up->data)
        return;
    assert(gate->rows == up->rows && gate->rows <= b->o.max_ffn && gate->cols == in.cols &&
           up->cols == in.cols);
    prepare(b, in, b->rows.n, 2, w);
    struct job j = {.b = b, .out = out, .ws = w, .tokens = b->rows.n};
    run_blocks(&j, blocks_of(&j, gate), geglu_item);
}

/* ---- logits ---- */

/* Logits [r0, r1) of every row of the slice, whether they are finite included. A single row is computed where
 * it belongs; those of several rows are not at even distances. */
static void some_logits(struct job *j, int r0, int r1, int thread)
{
    struct ct_cpu_backend *b = j->b;
    struct ct_weight w = rows_of(j->ws[0], r0, r1);
    bool alone = j->tokens == 1;
    ct_mat out = {alone ? j->to[0] + r0 : beside_of(b, thread), w.rows};

    product_rows(j, out, &w, 0, w.rows, thread);
    for (int t = 0; t < j->tokens; t++) {
        float *to = j->to[t] + r0;
        if (!alone)
            memcpy(to, ct_row(out, t), (size_t)w.rows * sizeof *to);
        if (j->cap > 0)
            b->kernel.softcap(to, j->cap, w.rows);
        if (!b->kernel.finite(to, (size_t)w.rows))
            b->not_finite[b->origin[j->first + t]] = true;
    }
}

static void logits_item(void *arg, int item, int thread)
{
    struct job *j = arg;
    int first, end, n = j->tokens, rows = rows_of_block(j->b, n), step = rows;

    blocks_of_item(j, item, &first, &end);
    if (n <= CT_LANES)
        step = CT_MIN(BLOCKS_OF_LOGITS * j->b->kernel.rows_few,
                      (int)(beside_values(j->b) / (size_t)n) / rows * rows);
    int stop = CT_MIN(end * rows, j->ws[0]->rows);
    for (int r = first * rows; r < stop && ct_pool_goes_on(j->b->pool, thread); r += step)
        some_logits(j, r, CT_MIN(r + step, stop), thread);
}

void ct_cpu_project_logits(struct ct_backend *base, ct_mat in, int first, int n, float *const *to,
                           const struct ct_weight *head, float cap)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    struct job j = {.b = b, .ws = &head, .cap = cap, .tokens = n, .first = first, .to = to};

    assert(first >= 0 && n >= 0 && first + n <= b->rows.n);
    if (n == 0 || !head->data)
        return;
    assert(head->cols == in.cols);
    prepare(b, (ct_mat){ct_row(in, first), in.cols}, n, 1, &head);
    run_blocks(&j, blocks_of(&j, head), logits_item);
}

/* ---- memory ---- */

void ct_cpu_project_init(struct ct_cpu_backend *b)
{
    struct ct_cpu_memory *m = &b->work;
    size_t threads = (size_t)b->base.threads, rows = ct_round_up((size_t)b->extent.rows, CT_LANES);

    b->beside = ct_cpu_take(m, threads * beside_values(b) * sizeof *b->beside);
    b->scratch = ct_cpu_take(m, threads * CT_SCRATCH(b->o.max_input) * sizeof *b->scratch);
    for (int form = 0; form < CT_INPUT_COUNT; form++) {
        struct ct_prepared *p = &b->prepared[form];
        size_t values = rows * (size_t)ct_pad_group(b->widest[form]);
        if (form != CT_INPUT_Q8 && form != CT_INPUT_LANES) {
            p->value = ct_cpu_take(m, values * sizeof *p->value);
            continue;
        }
        p->q = ct_cpu_take(m, values);
        p->scale = ct_cpu_take(m, values / CT_GROUP * sizeof *p->scale);
        p->sum = ct_cpu_take(m, values / CT_HALF * sizeof *p->sum);
        if (form == CT_INPUT_LANES && b->kernel.tiles)
            p->tile = ct_cpu_take(m, values);
    }
}
