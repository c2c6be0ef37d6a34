/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_project.c: products of the CPU backend: which thread computes which outputs. What they are is the
 * kernels' business, and no result depends on the split.
 *
 * A product is cut into blocks of 64 rows (32 for more than eight tokens): three quarters in one share per
 * thread, which memory delivers best, the rest in pieces by whoever is free, each half of what would be left
 * for a thread. A thread claims its next piece before it ends the current one, so that the kernel can
 * prefetch it (ct_panels_next).
 *
 * An input is prepared once per form that its weights ask for (f32, bf16, int8) and shared between outputs,
 * so that a pass may mix types. A weight that makes two outputs (where V is K, before norms and RoPE) is
 * multiplied once: who computed columns of the first copies them to the second.
 *
 * The result of gate and up for more than eight rows goes straight into the form that down reads, a block of
 * columns at a time, and never to memory as floats. While a listener reads matrices (ct_trace.reads) floats
 * are written, and prepared afterwards. */
#include "backend/cpu/cpu_product.h"

/* Blocks of output rows whose logits are computed before they are looked at: they are still in the cache. */
enum { BLOCKS_AT_ONCE = 16 };

int ct_cpu_rows_of_block(const struct ct_cpu_backend *b, int tokens)
{
    return tokens > CT_LANES ? b->kernel.rows_many : b->kernel.rows_few;
}

/* One product, or several of the same input. */
struct job {
    struct ct_block_job blocks;
    enum ct_input form; /* that the input is prepared in */
    ct_mat in, out;
    const struct ct_prepared *ahead; /* the input, where the product before prepared it; else NULL */
    const struct ct_weight *reader;  /* that the output is prepared for; NULL: it stays as it is */
    int blocks_before[5];            /* of each product; of a single one {0, all} */
    const ct_mat *outs;
    const struct ct_weight *const *ws;
    int n;            /* outputs, where they are matrices */
    int tokens;       /* rows of the input: the current ones, or those of a slice of the head */
    int first;        /* the first of a slice */
    float *const *to; /* [tokens] where its results go */
    bool logits;      /* they are */
    float cap;
    const struct ct_few *few;     /* [tokens] what is read of logits; NULL: all, at `to` */
    const struct ct_range *range; /* [n_ranges] rows of the only product */
    int n_ranges, results;        /* results: rows of all */
};

static struct job *job_of(struct ct_block_job *blocks)
{
    return (struct job *)blocks; /* the first member */
}

void ct_cpu_prepare(const struct ct_cpu_backend *b, struct ct_prepared *p, enum ct_input form, const float *x,
                    size_t ldx, struct ct_input_part part)
{
    if (form == CT_INPUT_LANES)
        b->kernel.prepare_lanes(p, x, ldx, part);
    else
        b->kernel.prepare_input(p, form, x, ldx, part);
}

static void prepare_item(void *arg, int item, int thread)
{
    struct job *j = arg;
    struct ct_cpu_backend *b = j->blocks.b;
    struct ct_prepared *p = &b->prepared[j->form];
    const int first = item * CT_LANES;

    (void)thread;
    ct_cpu_prepare(b, p, j->form, ct_row(j->in, first), (size_t)j->in.stride,
                   ct_input_of_tokens(p, first, first + CT_LANES));
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
                    &(struct job){.blocks.b = b, .in = in, .form = (enum ct_input)form});
    }
}

/* Output rows that a thread computes before it looks whether the pass goes on: at least a block, and so many
 * multiplications that looking costs nothing, but no level takes longer than some milliseconds. */
static int rows_between_looks(const struct ct_cpu_backend *b, const struct ct_weight *w, int tokens)
{
    const size_t multiplications = (size_t)4 << 20;
    int block = ct_cpu_rows_of_block(b, tokens);
    size_t blocks = multiplications / ((size_t)w->cols * (size_t)tokens * (size_t)block);

    return block * (int)CT_MAX(blocks, 1);
}

void ct_cpu_product(struct ct_cpu_backend *b, ct_mat out, const struct ct_weight *w, int r0, int r1,
                    const struct ct_prepared *x, struct ct_panels_next next, int thread)
{
    const struct ct_kernel *k = &b->kernel;
    const bool panels = ct_cpu_reads_panels(b, w);
    const int step = rows_between_looks(b, w, x->n);

    for (int r = r0; r < r1 && ct_pool_goes_on(b->pool, thread); r += step) {
        const struct ct_panels_next more = {w, r + step, CT_MIN(r + 2 * step, r1)};
        const struct ct_panels_next *after = r + step < r1 ? &more : next.w ? &next : NULL;
        (panels ? k->project_panels : k->project)(out.handle, (size_t)out.stride, w, r, CT_MIN(r + step, r1),
                                                  x, ct_input_form(w, b->o.exact),
                                                  b->scratch + (size_t)thread * CT_SCRATCH(b->o.max_input),
                                                  after && ct_in_panels(after->w) ? after : NULL);
    }
}

/* The input of a job as a weight reads it. */
static const struct ct_prepared *input_of(const struct job *j, const struct ct_weight *w)
{
    const struct ct_cpu_backend *b = j->blocks.b;
    return j->ahead ? j->ahead : &b->prepared[ct_input_form(w, b->o.exact)];
}

static int blocks_of(const struct job *j, const struct ct_weight *w)
{
    const int rows = ct_cpu_rows_of_block(j->blocks.b, j->tokens);
    return w->data ? (w->rows + rows - 1) / rows : 0;
}

/* Blocks are shared out so: three quarters are cut into a share for every thread, long runs that memory
 * delivers best. The rest is claimed in pieces by whoever is free, each piece half of what would be left for
 * a thread, down to a block, so that a busy neighbour costs little. */
static struct ct_blocks piece(const struct ct_block_job *j, int i)
{
    int threads = j->b->threads;
    struct ct_blocks p = {.end = j->shares * j->share};

    do {
        p.first = p.end;
        p.end += CT_MAX(1, (j->blocks - p.first) / (2 * threads));
    } while (i-- > 0 && p.first < j->blocks);
    return p.first < j->blocks ? p : (struct ct_blocks){0, 0};
}

static struct ct_blocks claim(struct ct_block_job *j)
{
    return piece(j, atomic_fetch_add_explicit(&j->claimed, 1, memory_order_relaxed));
}

/* The share of a thread, then pieces. The next piece is claimed before the end of the one before is computed,
 * which can then ask memory for it. */
static void blocks_item(void *arg, int item, int thread)
{
    enum { TAIL = 2 }; /* blocks: as many panels as are read side by side at most */
    struct ct_block_job *j = arg;
    struct ct_blocks now =
        item < j->shares ? (struct ct_blocks){item * j->share, (item + 1) * j->share} : claim(j);

    while (now.first < now.end && ct_pool_goes_on(j->b->pool, thread)) {
        struct ct_blocks tail = {CT_MAX(now.first, now.end - TAIL), now.end};
        if (now.first < tail.first)
            j->compute(j, (struct ct_blocks){now.first, tail.first}, tail, thread);
        now = claim(j);
        j->compute(j, tail, now, thread);
    }
}

void ct_cpu_run_blocks(struct ct_block_job *j, int blocks)
{
    const int threads = j->b->threads;

    j->blocks = blocks;
    j->share = threads == 1 ? blocks : blocks * 3 / 4 / threads;
    j->shares = j->share > 0 ? threads : 0;
    ct_pool_run(j->b->pool, CT_MIN(threads, blocks), blocks_item, j);
}

/* The output that a block belongs to. */
static int output_of(const struct job *j, int block)
{
    int i = 0;

    while (j->blocks_before[i + 1] <= block)
        i++;
    return i;
}

/* Rows of the product that a range begins in, as far as it goes. */
static struct ct_panels_next rows_of_range(const struct job *j, struct ct_blocks blocks)
{
    if (blocks.first == blocks.end)
        return (struct ct_panels_next){0};
    const int rows = ct_cpu_rows_of_block(j->blocks.b, j->tokens), i = output_of(j, blocks.first);
    const int before = j->blocks_before[i], end = CT_MIN(blocks.end, j->blocks_before[i + 1]);
    return (struct ct_panels_next){j->ws[i], (blocks.first - before) * rows,
                                   CT_MIN((end - before) * rows, j->ws[i]->rows)};
}

int ct_cpu_first_alike(const struct ct_weight *const *w, int i)
{
    int first = 0;

    while (first < i && (w[first]->data != w[i]->data || w[first]->type != w[i]->type ||
                         w[first]->rows != w[i]->rows || w[first]->scale != w[i]->scale))
        first++;
    return first;
}

/* Gives columns [r0, r1) of output i to later outputs of the same weight, while they are in the cache. */
static void repeat_columns(const struct job *j, int i, int r0, int r1)
{
    for (int later = i + 1; later < j->n; later++) {
        if (ct_cpu_first_alike(j->ws, later) != i)
            continue;
        for (int t = 0; t < j->tokens; t++)
            memcpy(ct_row(j->outs[later], t) + r0, ct_row(j->outs[i], t) + r0,
                   (size_t)(r1 - r0) * sizeof(float));
    }
}

static void project_blocks(struct ct_block_job *job, struct ct_blocks blocks, struct ct_blocks next,
                           int thread)
{
    const struct job *j = job_of(job);

    while (blocks.first < blocks.end) {
        const struct ct_panels_next now = rows_of_range(j, blocks);
        const int i = output_of(j, blocks.first);
        blocks.first = CT_MIN(blocks.end, j->blocks_before[i + 1]);
        ct_cpu_product(job->b, j->outs[i], now.w, now.r0, now.r1, input_of(j, now.w),
                       rows_of_range(j, blocks.first < blocks.end ? blocks : next), thread);
        repeat_columns(j, i, now.r0, now.r1);
    }
}

static void cpu_project(struct ct_backend *base, ct_mat in, int n, const ct_mat *out,
                        const struct ct_weight *const *w)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    struct job j = {
        .blocks = {.b = b, .compute = project_blocks}, .outs = out, .ws = w, .n = n, .tokens = b->rows.n};

    assert(n < (int)CT_COUNT(j.blocks_before));
    if (b->rows.n == 0)
        return;
    if (b->reader && w[0] == b->reader)
        j.ahead = &b->ahead;
    else
        prepare(b, in, j.tokens, n, w);
    b->reader = NULL;
    for (int i = 0; i < n; i++)
        assert(!w[i]->data || (w[i]->cols == in.cols && w[i]->rows <= out[i].cols));
    for (int i = 0; i < n; i++)
        j.blocks_before[i + 1] =
            j.blocks_before[i] + (ct_cpu_first_alike(w, i) == i ? blocks_of(&j, w[i]) : 0);
    ct_cpu_run_blocks(&j.blocks, j.blocks_before[n]);
}

/* Values of products that a thread holds beside the outputs at a time: a few rows of the whole width of a
 * feed-forward, or a block of many of two products, which are then still in the cache. */
static size_t beside_values(const struct ct_cpu_backend *b)
{
    const struct ct_kernel *k = b->kernels;
    size_t rows = (size_t)b->extent.rows;
    int few = CT_MAX(k[0].rows_few, k[1].rows_few), many = CT_MAX(k[0].rows_many, k[1].rows_many);
    int widest = CT_MAX(b->o.max_ffn, few);

    if (b->o.max_experts.n) /* inputs of a few rows; two products of a block */
        widest = CT_MAX(widest, CT_MAX(b->o.max_experts.cols, 2 * ct_stride(few)));
    return CT_MAX(CT_MIN(rows, CT_LANES) * (size_t)ct_stride(widest), 2 * rows * (size_t)many);
}

float *ct_cpu_beside(const struct ct_cpu_backend *b, int thread)
{
    return b->beside + (size_t)thread * beside_values(b);
}

int ct_cpu_rows_beside(const struct ct_cpu_backend *b, int tokens, int products)
{
    const size_t room = beside_values(b) / ((size_t)tokens * (size_t)products);
    const int rows = ct_cpu_rows_of_block(b, tokens);
    int step = tokens > CT_LANES ? rows : BLOCKS_AT_ONCE * rows;

    while (step > rows && (size_t)ct_stride(step) > room)
        step -= rows;
    return step;
}

size_t ct_cpu_lay_prepared(struct ct_prepared *p, void *at, enum ct_input form, int n, int cols)
{
    const bool bytes = form == CT_INPUT_Q8 || form == CT_INPUT_LANES;
    const size_t values = ct_round_up((size_t)n, CT_LANES) * (size_t)ct_pad_group(cols);
    const size_t scales = values / CT_GROUP * sizeof *p->scale;
    const size_t sums = values / CT_HALF * sizeof *p->sum;

    *p = (struct ct_prepared){.n = n, .cols = cols};
    if (!bytes) {
        p->value = at;
        return values * sizeof *p->value;
    }
    p->q = at;
    p->scale = (float *)(void *)(p->q + values);
    p->sum = (int32_t *)(void *)(p->q + values + scales);
    return values + scales + sums;
}

/* Lays the input of the next product, w, into the memory of a matrix of floats. False: it has no room. */
static bool lay_ahead(struct ct_cpu_backend *b, ct_mat m, const struct ct_weight *w)
{
    const size_t room = ((size_t)(b->extent.rows - 1) * (size_t)m.stride + (size_t)m.cols) * sizeof(float);

    return ct_cpu_lay_prepared(&b->ahead, m.handle, ct_input_form(w, b->o.exact), b->rows.n, w->cols) <= room;
}

/* Columns from r on have been made. */
static void tell_inner(const struct ct_cpu_geglu *g, ct_mat made, int r)
{
    const struct ct_inner inner = {g->expert, g->x[0]->n, r, made.cols, made.handle, made.stride};

    for (const struct ct_trace *t = g->trace; t; t = t->next)
        if (t->inner)
            t->inner(t->user, &inner);
}

void ct_cpu_geglu_rows(struct ct_cpu_backend *b, const struct ct_cpu_geglu *g, int r0, int r1, int step,
                       struct ct_panels_next next, int thread)
{
    const int n = g->x[0]->n;

    for (int r = r0; r < r1; r += step) {
        int end = CT_MIN(r + step, r1), stride = ct_stride(end - r);
        struct ct_weight gate = ct_weight_rows(g->gate, r, end), up = ct_weight_rows(g->up, r, end);
        ct_mat beside = {ct_cpu_beside(b, thread), up.rows, stride}, out = {NULL, gate.rows, stride};
        struct ct_panels_next then = {g->gate, end, CT_MIN(end + step, r1)};
        if (end == r1)
            then = next;
        if (g->reader)
            out.handle = ct_row(beside, n);
        else
            out = (ct_mat){ct_row(g->out, 0) + r, gate.rows, g->out.stride};
        ct_cpu_product(b, out, &gate, 0, gate.rows, g->x[0], (struct ct_panels_next){&up, 0, up.rows},
                       thread);
        ct_cpu_product(b, beside, &up, 0, up.rows, g->x[1], then, thread);
        for (int t = 0; t < n; t++)
            b->kernel.geglu(ct_row(out, t), ct_row(beside, t), up.rows);
        if (g->trace)
            tell_inner(g, out, r);
        if (g->reader) {
            const int tokens = (int)ct_round_up((size_t)n, CT_LANES);
            ct_cpu_prepare(b, g->reader, g->form, ct_row(out, 0), (size_t)out.stride,
                           (struct ct_input_part){0, tokens, r / CT_GROUP, ct_pad_group(end) / CT_GROUP});
        }
    }
}

static void geglu_blocks(struct ct_block_job *job, struct ct_blocks blocks, struct ct_blocks next, int thread)
{
    const struct job *j = job_of(job);
    const int rows = ct_cpu_rows_of_block(job->b, j->tokens);
    const int r0 = blocks.first * rows, r1 = CT_MIN(blocks.end * rows, j->ws[0]->rows);
    const struct ct_cpu_geglu g = {
        .gate = j->ws[0],
        .up = j->ws[1],
        .x = {input_of(j, j->ws[0]), input_of(j, j->ws[1])},
        .out = j->out,
        .reader = j->reader ? &job->b->ahead : NULL,
        .form = j->reader ? ct_input_form(j->reader, job->b->o.exact) : CT_INPUT_F32,
    };

    if (r0 < r1)
        ct_cpu_geglu_rows(job->b, &g, r0, r1, j->tokens > CT_LANES ? rows : r1 - r0, rows_of_range(j, next),
                          thread);
}

/* The result of many rows is prepared for its reader while it is in the cache, and never leaves it as floats;
 * that of a few rows is prepared as fast by itself. */
static void cpu_project_geglu(struct ct_backend *base, ct_mat out, ct_mat in, const struct ct_weight *gate,
                              const struct ct_weight *up, const struct ct_weight *reader)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    const struct ct_weight *w[] = {gate, up};
    struct job j = {.blocks = {.b = b, .compute = geglu_blocks}, .out = out, .ws = w, .tokens = b->rows.n};

    if (b->rows.n == 0 || !gate->data || !up->data)
        return;
    assert(gate->rows == up->rows && gate->rows <= b->o.max_ffn && gate->cols == in.cols &&
           up->cols == in.cols);
    prepare(b, in, b->rows.n, 2, w);
    if (reader->data && j.tokens > CT_LANES && !ct_trace_reads(base) && lay_ahead(b, out, reader))
        j.reader = b->reader = reader;
    j.blocks_before[1] = blocks_of(&j, gate);
    ct_cpu_run_blocks(&j.blocks, j.blocks_before[1]);
}

/* ---- logits ---- */

static void cpu_cap_logits(struct ct_backend *base, int row, float *logits, int n, float cap)
{
    struct ct_cpu_backend *b = ct_cpu(base);

    if (cap > 0)
        b->kernel.softcap(logits, cap, n);
    if (!b->kernel.finite(logits, (size_t)n))
        b->not_finite[b->origin[row]] = true;
}

/* Rows of the weight for every row of the slice, to `at`. Those of a single row are computed there; those of
 * several rows are not at even distances. Logits are capped, and looked at, before they go there: where they
 * go is far apart, and not in the cache. */
static void some_rows(const struct job *j, struct ct_panels_next rows, int at, struct ct_panels_next next,
                      int thread)
{
    struct ct_cpu_backend *b = j->blocks.b;
    struct ct_weight w = ct_weight_rows(rows.w, rows.r0, rows.r1);
    bool alone = j->tokens == 1 && !j->few;
    ct_mat out = {alone ? j->to[0] + at : ct_cpu_beside(b, thread), w.rows, ct_stride(w.rows)};

    assert(alone || (size_t)out.stride * (size_t)j->tokens <= beside_values(b));
    ct_cpu_product(b, out, &w, 0, w.rows, input_of(j, &w), next, thread);
    for (int t = 0; t < j->tokens; t++) {
        if (j->logits)
            cpu_cap_logits(&b->base, j->first + t, ct_row(out, t), w.rows, j->cap);
        if (j->few)
            ct_cpu_few_see(b, &j->few[t], ct_row(out, t), at, w.rows, thread);
        else if (!alone)
            memcpy(j->to[t] + at, ct_row(out, t), (size_t)w.rows * sizeof(float));
    }
}

/* The range in which a result is. */
static const struct ct_range *range_of(const struct job *j, int at)
{
    int low = 0, high = j->n_ranges;

    while (high - low > 1) {
        int middle = (low + high) / 2;
        *(j->range[middle].at <= at ? &low : &high) = middle;
    }
    return &j->range[low];
}

/* The rows of a range whose results are [at, end), as far as it goes. */
static struct ct_panels_next rows_of_results(const struct job *j, const struct ct_range *r, int at, int end)
{
    const int r0 = r->first + at - r->at;
    return (struct ct_panels_next){j->ws[0], r0, CT_MIN(r->end, r0 + end - at)};
}

/* Blocks are of results, and may begin and end inside of ranges. */
static void some_blocks(struct ct_block_job *job, struct ct_blocks blocks, struct ct_blocks next, int thread)
{
    const struct job *j = job_of(job);
    const int rows = ct_cpu_rows_of_block(job->b, j->tokens);
    const int step = ct_cpu_rows_beside(job->b, j->tokens, 1); /* then they are looked at */
    const int stop = CT_MIN(blocks.end * rows, j->results), later = next.first * rows;
    const struct ct_range *r = range_of(j, blocks.first * rows);

    for (int at = blocks.first * rows, end; at < stop && ct_pool_goes_on(job->b->pool, thread); at = end) {
        const struct ct_panels_next now = rows_of_results(j, r, at, CT_MIN(at + step, stop));
        struct ct_panels_next then = {0};
        end = at + now.r1 - now.r0;
        r += now.r1 == r->end;
        if (end < stop)
            then = rows_of_results(j, r, end, CT_MIN(end + step, stop));
        else if (next.first < next.end)
            then = rows_of_results(j, range_of(j, later), later, CT_MIN(next.end * rows, j->results));
        some_rows(j, now, at, then, thread);
    }
}

static void project_ranges(struct job *j, ct_mat in)
{
    const struct ct_weight *w = j->ws[0];
    const struct ct_range *last = &j->range[j->n_ranges - 1];
    struct ct_cpu_backend *b = j->blocks.b;
    const int rows = ct_cpu_rows_of_block(b, j->tokens);

    j->blocks.compute = some_blocks;
    assert(j->first >= 0 && j->tokens >= 0 && j->first + j->tokens <= b->rows.n && j->n_ranges > 0);
    if (j->tokens == 0 || !w->data)
        return;
    for (const struct ct_range *r = j->range; r <= last; r++)
        assert(r->first % CT_PANEL_ROWS == 0 && r->first < r->end && r->end <= w->rows &&
               r->at == (r == j->range ? 0 : r[-1].at + r[-1].end - r[-1].first));
    assert(w->cols == in.cols);
    prepare(b, (ct_mat){ct_row(in, j->first), in.cols, in.stride}, j->tokens, 1, j->ws);
    j->results = last->at + last->end - last->first;
    ct_cpu_run_blocks(&j->blocks, (j->results + rows - 1) / rows);
}

static void project_head(struct job *j, ct_mat in)
{
    const struct ct_range all = {0, j->ws[0]->rows, 0};

    j->range = &all;
    j->n_ranges = 1;
    j->logits = true;
    ct_pool_wait_awake(j->blocks.b->pool, true); /* a token is drawn, then comes the next pass */
    project_ranges(j, in);
}

static void cpu_project_logits(struct ct_backend *base, ct_mat in, int first, int n, float *const *to,
                               const struct ct_weight *head, float cap)
{
    struct job j = {.blocks.b = ct_cpu(base), .ws = &head, .tokens = n, .first = first, .to = to, .cap = cap};

    project_head(&j, in);
}

static void cpu_project_few(struct ct_backend *base, ct_mat in, int first, int n, struct ct_few *few,
                            const struct ct_weight *head, float cap)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    struct job j = {.blocks.b = b, .ws = &head, .tokens = n, .first = first, .few = few, .cap = cap};

    ct_cpu_few_begin(b, few, n, head->rows);
    project_head(&j, in);
    ct_cpu_few_end(b, few, n);
}

static void cpu_project_some(struct ct_backend *base, ct_mat in, int first, int n, float *const *to,
                             const struct ct_weight *w, int n_ranges, const struct ct_range *range)
{
    struct job j = {.blocks.b = ct_cpu(base),
                    .ws = &w,
                    .tokens = n,
                    .first = first,
                    .to = to,
                    .range = range,
                    .n_ranges = n_ranges};

    project_ranges(&j, in);
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
    }
}

void ct_cpu_product_verbs(struct ct_verbs *v)
{
    v->project = cpu_project;
    v->project_geglu = cpu_project_geglu;
    v->project_logits = cpu_project_logits;
    v->project_few = cpu_project_few;
    v->project_some = cpu_project_some;
    v->cap_logits = cpu_cap_logits;
}
