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

struct job;

/* Blocks [first, end) of output rows of a job; none: {0, 0}. */
struct range {
    int first, end;
};

/* Computes the blocks of a range; those of next will most likely be the same thread's. */
typedef void compute_blocks(struct job *j, struct range blocks, struct range next, int thread);

/* One product, or several of the same input. */
struct job {
    struct ct_cpu_backend *b;
    enum ct_input form; /* that the input is prepared in */
    ct_mat in, out;
    const struct ct_prepared *ahead; /* the input, where the product before prepared it; else NULL */
    const struct ct_weight *reader;  /* that the output is prepared for; NULL: it stays as it is */
    int blocks_before[5];            /* of each product; of a single one {0, all} */
    const ct_mat *outs;
    const struct ct_weight *const *ws;
    compute_blocks *compute;
    int blocks, shares, share; /* blocks; the first are so many shares of so many, a share for each thread */
    atomic_int claimed;        /* of the pieces that the others are cut into */
    int tokens;                /* rows of the input: the current ones, or those of a slice of the head */
    int first;                 /* the first of a slice */
    float *const *to;          /* [tokens] where its results go */
    bool logits;               /* they are */
    float cap;
    const struct ct_range *range; /* [n_ranges] rows of the only product */
    int n_ranges, results;        /* results: rows of all */
};

static void prepare_part(const struct ct_cpu_backend *b, struct ct_prepared *p, enum ct_input form, ct_mat in,
                         struct ct_input_part part)
{
    const float *x = ct_row(in, part.t0);

    if (form == CT_INPUT_LANES)
        b->kernel.prepare_lanes(p, x, (size_t)in.stride, part);
    else
        b->kernel.prepare_input(p, form, x, (size_t)in.stride, part);
}

static void prepare_item(void *arg, int item, int thread)
{
    struct job *j = arg;
    struct ct_prepared *p = &j->b->prepared[j->form];

    (void)thread;
    prepare_part(j->b, p, j->form, j->in, ct_input_of_tokens(p, item * CT_LANES, (item + 1) * CT_LANES));
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

/* Rows [r0, r1) of one product for all tokens, and what the thread multiplies then. */
static void product_rows(const struct job *j, ct_mat out, const struct ct_weight *w, int r0, int r1,
                         struct ct_panels_next next, int thread)
{
    struct ct_cpu_backend *b = j->b;
    enum ct_input form = ct_input_form(w, b->o.exact);
    const struct ct_prepared *x = j->ahead ? j->ahead : &b->prepared[form];
    const struct ct_kernel *k = &b->kernel;

    bool panels = ct_cpu_reads_panels(b, w);
    int step = rows_between_looks(b, w, j->tokens);

    for (int r = r0; r < r1 && ct_pool_goes_on(b->pool, thread); r += step) {
        const struct ct_panels_next more = {w, r + step, CT_MIN(r + 2 * step, r1)};
        const struct ct_panels_next *after = r + step < r1 ? &more : next.w ? &next : NULL;
        (panels ? k->project_panels
                : k->project)(out.handle, (size_t)out.stride, w, r, CT_MIN(r + step, r1), x, form,
                              b->scratch + (size_t)thread * CT_SCRATCH(b->o.max_input),
                              after && after->w->layout == CT_LAYOUT_PANELS ? after : NULL);
    }
}

static int blocks_of(const struct job *j, const struct ct_weight *w)
{
    const int rows = rows_of_block(j->b, j->tokens);
    return w->data ? (w->rows + rows - 1) / rows : 0;
}

/* Blocks are shared out so: three quarters are cut into a share for every thread, long runs that memory
 * delivers best. The rest is claimed in pieces by whoever is free, each piece half of what would be left for
 * a thread, down to a block, so that a busy neighbour costs little. */
static struct range piece(const struct job *j, int i)
{
    int threads = j->b->threads;
    struct range p = {.end = j->shares * j->share};

    do {
        p.first = p.end;
        p.end += CT_MAX(1, (j->blocks - p.first) / (2 * threads));
    } while (i-- > 0 && p.first < j->blocks);
    return p.first < j->blocks ? p : (struct range){0, 0};
}

static struct range claim(struct job *j)
{
    return piece(j, atomic_fetch_add_explicit(&j->claimed, 1, memory_order_relaxed));
}

/* The share of a thread, then pieces. The next piece is claimed before the end of the one before is computed,
 * which can then ask memory for it. */
static void blocks_item(void *arg, int item, int thread)
{
    enum { TAIL = 2 }; /* blocks: as many panels as are read side by side at most */
    struct job *j = arg;
    struct range now = item < j->shares ? (struct range){item * j->share, (item + 1) * j->share} : claim(j);

    while (now.first < now.end && ct_pool_goes_on(j->b->pool, thread)) {
        struct range tail = {CT_MAX(now.first, now.end - TAIL), now.end};
        if (now.first < tail.first)
            j->compute(j, (struct range){now.first, tail.first}, tail, thread);
        now = claim(j);
        j->compute(j, tail, now, thread);
    }
}

static void run_blocks(struct job *j, int blocks, compute_blocks *compute)
{
    const int threads = j->b->threads;

    j->compute = compute;
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
static struct ct_panels_next rows_of_range(const struct job *j, struct range blocks)
{
    if (blocks.first == blocks.end)
        return (struct ct_panels_next){0};
    const int rows = rows_of_block(j->b, j->tokens), i = output_of(j, blocks.first);
    const int before = j->blocks_before[i], end = CT_MIN(blocks.end, j->blocks_before[i + 1]);
    return (struct ct_panels_next){j->ws[i], (blocks.first - before) * rows,
                                   CT_MIN((end - before) * rows, j->ws[i]->rows)};
}

static void project_blocks(struct job *j, struct range blocks, struct range next, int thread)
{
    while (blocks.first < blocks.end) {
        const struct ct_panels_next now = rows_of_range(j, blocks);
        const int i = output_of(j, blocks.first);
        blocks.first = CT_MIN(blocks.end, j->blocks_before[i + 1]);
        product_rows(j, j->outs[i], now.w, now.r0, now.r1,
                     rows_of_range(j, blocks.first < blocks.end ? blocks : next), thread);
    }
}

static void cpu_project(struct ct_backend *base, ct_mat in, int n, const ct_mat *out,
                        const struct ct_weight *const *w)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    struct job j = {.b = b, .outs = out, .ws = w, .tokens = b->rows.n};

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
        j.blocks_before[i + 1] = j.blocks_before[i] + blocks_of(&j, w[i]);
    run_blocks(&j, j.blocks_before[n], project_blocks);
}

/* Values of products that a thread holds beside the outputs at a time: a few rows of the whole width of a
 * feed-forward, or a block of many of two products, which are then still in the cache. */
static size_t beside_values(const struct ct_cpu_backend *b)
{
    const struct ct_kernel *k = b->kernels;
    size_t rows = (size_t)b->extent.rows;
    int few = CT_MAX(k[0].rows_few, k[1].rows_few), many = CT_MAX(k[0].rows_many, k[1].rows_many);

    return CT_MAX(CT_MIN(rows, CT_LANES) * (size_t)ct_stride(CT_MAX(b->o.max_ffn, few)),
                  2 * rows * (size_t)many);
}

static float *beside_of(const struct ct_cpu_backend *b, int thread)
{
    return b->beside + (size_t)thread * beside_values(b);
}

/* Lays the input of the next product, w, into the memory of a matrix of floats. False: it has no room. */
static bool lay_ahead(struct ct_cpu_backend *b, ct_mat m, const struct ct_weight *w)
{
    const enum ct_input form = ct_input_form(w, b->o.exact);
    const bool bytes = form == CT_INPUT_Q8 || form == CT_INPUT_LANES;
    const size_t values = ct_round_up((size_t)b->rows.n, CT_LANES) * (size_t)ct_pad_group(w->cols);
    const size_t scales = values / CT_GROUP * sizeof *b->ahead.scale;
    const size_t sums = values / CT_HALF * sizeof *b->ahead.sum;
    const size_t room = ((size_t)(b->extent.rows - 1) * (size_t)m.stride + (size_t)m.cols) * sizeof(float);

    b->ahead = (struct ct_prepared){.n = b->rows.n, .cols = w->cols};
    if (!bytes) {
        b->ahead.value = m.handle;
        return values * sizeof *b->ahead.value <= room;
    }
    b->ahead.q = m.handle;
    b->ahead.scale = (float *)(void *)(b->ahead.q + values);
    b->ahead.sum = (int32_t *)(void *)(b->ahead.q + values + scales);
    return values + scales + sums <= room;
}

static void geglu_blocks(struct job *j, struct range blocks, struct range next, int thread)
{
    struct ct_cpu_backend *b = j->b;
    int n = j->tokens, rows = rows_of_block(b, n);
    int r0 = blocks.first * rows, r1 = CT_MIN(blocks.end * rows, j->ws[0]->rows),
        step = n > CT_LANES ? rows : r1 - r0;

    for (int r = r0; r < r1; r += step) {
        int end = CT_MIN(r + step, r1), stride = ct_stride(end - r);
        struct ct_weight gate = ct_weight_rows(j->ws[0], r, end), up = ct_weight_rows(j->ws[1], r, end);
        ct_mat out = {ct_row(j->out, 0) + r, gate.rows, j->out.stride};
        ct_mat beside = {beside_of(b, thread), up.rows, stride};
        struct ct_panels_next then = {j->ws[0], end, CT_MIN(end + step, r1)};
        if (end == r1)
            then = rows_of_range(j, next);
        if (j->reader)
            out = (ct_mat){ct_row(beside, n), gate.rows, stride};
        product_rows(j, out, &gate, 0, gate.rows, (struct ct_panels_next){&up, 0, up.rows}, thread);
        product_rows(j, beside, &up, 0, up.rows, then, thread);
        for (int t = 0; t < n; t++)
            b->kernel.geglu(ct_row(out, t), ct_row(beside, t), up.rows);
        if (j->reader) {
            const int tokens = (int)ct_round_up((size_t)n, CT_LANES);
            prepare_part(b, &b->ahead, ct_input_form(j->reader, b->o.exact), out,
                         (struct ct_input_part){0, tokens, r / CT_GROUP, ct_pad_group(end) / CT_GROUP});
        }
    }
}

/* The result of many rows is prepared for its reader while it is in the cache, and never leaves it as floats;
 * that of a few rows is prepared as fast by itself. */
static void cpu_project_geglu(struct ct_backend *base, ct_mat out, ct_mat in, const struct ct_weight *gate,
                              const struct ct_weight *up, const struct ct_weight *reader)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    const struct ct_weight *w[] = {gate, up};
    struct job j = {.b = b, .out = out, .ws = w, .tokens = b->rows.n};

    if (b->rows.n == 0 || !gate->data || !up->data)
        return;
    assert(gate->rows == up->rows && gate->rows <= b->o.max_ffn && gate->cols == in.cols &&
           up->cols == in.cols);
    prepare(b, in, b->rows.n, 2, w);
    if (reader->data && j.tokens > CT_LANES && !ct_trace_reads(base) && lay_ahead(b, out, reader))
        j.reader = b->reader = reader;
    j.blocks_before[1] = blocks_of(&j, gate);
    run_blocks(&j, j.blocks_before[1], geglu_blocks);
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
 * several rows are not at even distances. Logits are then capped, and looked at whether they are finite. */
static void some_rows(struct job *j, struct ct_panels_next rows, int at, struct ct_panels_next next,
                      int thread)
{
    struct ct_weight w = ct_weight_rows(rows.w, rows.r0, rows.r1);
    bool alone = j->tokens == 1;
    ct_mat out = {alone ? j->to[0] + at : beside_of(j->b, thread), w.rows, ct_stride(w.rows)};

    assert(alone || (size_t)out.stride * (size_t)j->tokens <= beside_values(j->b));
    product_rows(j, out, &w, 0, w.rows, next, thread);
    for (int t = 0; t < j->tokens; t++) {
        if (!alone)
            memcpy(j->to[t] + at, ct_row(out, t), (size_t)w.rows * sizeof(float));
        if (j->logits)
            cpu_cap_logits(&j->b->base, j->first + t, j->to[t] + at, w.rows, j->cap);
    }
}

/* Output rows that are computed before they are looked at: as many blocks as fit beside. */
static int rows_of_logits(const struct job *j)
{
    const size_t room = beside_values(j->b) / (size_t)j->tokens;
    const int rows = rows_of_block(j->b, j->tokens);
    int step = j->tokens > CT_LANES ? rows : BLOCKS_OF_LOGITS * rows;

    while (step > rows && (size_t)ct_stride(step) > room)
        step -= rows;
    return step;
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
static void some_blocks(struct job *j, struct range blocks, struct range next, int thread)
{
    const int rows = rows_of_block(j->b, j->tokens), step = rows_of_logits(j);
    const int stop = CT_MIN(blocks.end * rows, j->results), later = next.first * rows;
    const struct ct_range *r = range_of(j, blocks.first * rows);

    for (int at = blocks.first * rows, end; at < stop && ct_pool_goes_on(j->b->pool, thread); at = end) {
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
    const int rows = rows_of_block(j->b, j->tokens);

    assert(j->first >= 0 && j->tokens >= 0 && j->first + j->tokens <= j->b->rows.n && j->n_ranges > 0);
    if (j->tokens == 0 || !w->data)
        return;
    for (const struct ct_range *r = j->range; r <= last; r++)
        assert(r->first % CT_PANEL_ROWS == 0 && r->first < r->end && r->end <= w->rows &&
               r->at == (r == j->range ? 0 : r[-1].at + r[-1].end - r[-1].first));
    assert(w->cols == in.cols);
    prepare(j->b, (ct_mat){ct_row(in, j->first), in.cols, in.stride}, j->tokens, 1, j->ws);
    j->results = last->at + last->end - last->first;
    run_blocks(j, (j->results + rows - 1) / rows, some_blocks);
}

static void cpu_project_logits(struct ct_backend *base, ct_mat in, int first, int n, float *const *to,
                               const struct ct_weight *head, float cap)
{
    const struct ct_range all = {0, head->rows, 0};
    struct job j = {.b = ct_cpu(base),
                    .ws = &head,
                    .tokens = n,
                    .first = first,
                    .to = to,
                    .range = &all,
                    .n_ranges = 1,
                    .logits = true,
                    .cap = cap};

    ct_pool_wait_awake(j.b->pool, true); /* a token is drawn, then comes the next pass */
    project_ranges(&j, in);
}

static void cpu_project_some(struct ct_backend *base, ct_mat in, int first, int n, float *const *to,
                             const struct ct_weight *w, int n_ranges, const struct ct_range *range)
{
    struct job j = {.b = ct_cpu(base),
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
    v->project_some = cpu_project_some;
    v->cap_logits = cpu_cap_logits;
}
