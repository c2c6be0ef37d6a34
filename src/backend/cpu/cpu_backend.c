/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_backend.c: the CPU backend: a complete table of verbs over kernels and a pool of threads. It says which thread computes
 * which outputs; what they are is the kernels' business, and no result depends on the split. Attention is in
 * cpu_attend.c. */
#include "backend/cpu/cpu_backend.h"

#include "kernel/layout/panel.h"

/* Output rows of a block, the least that a thread claims: small, so that a busy neighbour costs little. For few tokens the
 * four panels that a product of one token reads side by side; for many, whose blocks take longer, two. */
enum { ROWS_FOR_FEW = 64, ROWS_FOR_MANY = 32 };

static int rows_of_block(int tokens)
{
    return tokens > CT_LANES ? ROWS_FOR_MANY : ROWS_FOR_FEW;
}

void *ct_memory_take(struct ct_memory *m, size_t bytes)
{
    void *p = m->base ? m->base + m->used : NULL;
    m->used += ct_round_up(bytes, 64);
    return p;
}

static struct ct_cpu_backend *self(struct ct_backend *b)
{
    return (struct ct_cpu_backend *)b; /* base is the first member */
}

static ct_mat cpu_alloc(struct ct_backend *b, int rows, int cols)
{
    struct ct_memory *m = self(b)->memory;
    return (ct_mat){ct_memory_take(m, (size_t)rows * (size_t)cols * sizeof(float)), cols};
}

static void cpu_copy_out(struct ct_backend *b, float *to, ct_mat m, int row)
{
    (void)b;
    memcpy(to, ct_row(m, row), (size_t)m.cols * sizeof *to);
}

/* One verb over the current rows: what the pool's items need. */
struct job {
    struct ct_cpu_backend *b;
    ct_mat out, in;
    const struct ct_weight *w;
    float value;
    int kind;
    /* products */
    int n_out, blocks_before[5];
    int shares, share; /* the first items are so many shares of so many blocks, the others a block each */
    const ct_mat *outs;
    const struct ct_weight *const *ws;
    enum ct_input form;
    const struct ct_kv *kv;
    float cap;
};

static float *scratch_of(const struct ct_cpu_backend *b, int thread)
{
    return b->scratch + (size_t)thread * CT_SCRATCH(b->o.max_inputs);
}

static void run(struct job *j, int items, void (*fn)(void *job, int item, int thread))
{
    ct_pool_run(j->b->o.pool, items, fn, j);
}

/* ---- weights ---- */

#define PANELS_PER_ITEM 64

static void pack_item(void *arg, int item, int thread)
{
    struct job *j = arg;
    const struct ct_weight *from = j->ws[0], *to = j->ws[1];
    int r0 = item * PANELS_PER_ITEM * CT_PANEL_ROWS,
        r1 = CT_MIN(r0 + PANELS_PER_ITEM * CT_PANEL_ROWS, from->rows);

    for (int r = r0; r < r1 && ct_pool_goes_on(j->b->o.pool, thread); r += CT_PANEL_ROWS)
        ct_pack((uint8_t *)to->data + (size_t)(r / CT_PANEL_ROWS) * to->row_bytes, from, r);
    if (j->b->o.done_with)
        j->b->o.done_with(j->b->o.user, (const uint8_t *)from->data + (size_t)r0 * from->row_bytes,
                          (size_t)(r1 - r0) * from->row_bytes);
}

/* The types whose panels exact arithmetic reads; of the others it decodes row by row. */
static bool floats(enum ct_type type)
{
    enum ct_lines lines = ct_panel_of(type)->lines;
    return lines == CT_LINES_16 || lines == CT_LINES_32;
}

/* Where the kernels want panels and the type has them; exact arithmetic works on decoded rows. */
bool ct_cpu_packs(const struct ct_cpu_options *o, const struct ct_weight *w)
{
    return o->kernel->layout == CT_LAYOUT_PANELS && w->layout == CT_LAYOUT_ROWS &&
           ct_panel_of(w->type)->lines != CT_LINES_NONE && (!o->exact || floats(w->type));
}

static struct ct_weight pack(struct ct_cpu_backend *b, struct ct_weight w)
{
    struct ct_weight packed = w;

    if (!ct_cpu_packs(&b->o, &w))
        return w;
    packed.layout = CT_LAYOUT_PANELS;
    packed.row_bytes = ct_panel_bytes(ct_panel_of(w.type), w.cols);
    packed.data = ct_memory_take(b->weights, ct_weight_bytes(&packed));
    if (packed.data)
        run(&(struct job){.b = b, .ws = (const struct ct_weight *[]){&w, &packed}},
            (ct_weight_pieces(&packed) + PANELS_PER_ITEM - 1) / PANELS_PER_ITEM, pack_item);
    return packed;
}

static struct ct_weight cpu_place(struct ct_backend *base, struct ct_weight w)
{
    struct ct_cpu_backend *b = self(base);
    struct ct_weight placed = pack(b, w);
    int *widest = &b->widest[ct_input_form(&placed, b->o.exact)];

    *widest = CT_MAX(*widest, placed.cols);
    return placed;
}

/* ---- rows of the pass ---- */

static void table_item(void *arg, int row, int thread)
{
    struct job *j = arg;
    struct ct_cpu_backend *b = j->b;

    (void)thread;
    for (int kind = 0; kind < CT_KINDS; kind++) {
        int pairs = b->o.kind[kind].rotated;
        b->o.kernel->rope_table(b->cosine[kind] + (size_t)row * (size_t)pairs,
                                b->sine[kind] + (size_t)row * (size_t)pairs, b->inverse[kind], pairs,
                                b->position[row]);
    }
}

static void cpu_begin(struct ct_backend *base, const struct ct_rows *rows)
{
    struct ct_cpu_backend *b = self(base);
    size_t n = (size_t)rows->n;

    memcpy(b->position, rows->position, n * sizeof *b->position);
    memcpy(b->sequence, rows->sequence, n * sizeof *b->sequence);
    memcpy(b->want, rows->want, n * sizeof *b->want);
    b->rows = (struct ct_rows){rows->n, rows->token, b->position, b->sequence, b->want};
    run(&(struct job){.b = b}, rows->n, table_item);
}

static void cpu_pick(struct ct_backend *base, int n, const ct_mat *m)
{
    struct ct_cpu_backend *b = self(base);
    int kept = 0;

    for (int r = 0; r < b->rows.n; r++) {
        if (!b->want[r])
            continue;
        b->position[kept] = b->position[r];
        b->sequence[kept] = b->sequence[r];
        for (int i = 0; i < n && kept != r; i++)
            memcpy(ct_row(m[i], kept), ct_row(m[i], r), (size_t)m[i].cols * sizeof(float));
        kept++;
    }
    b->rows.n = kept;
}

/* ---- one row an item ---- */

static void embed_item(void *arg, int row, int thread)
{
    struct job *j = arg;
    const struct ct_kernel *k = j->b->o.kernel;

    k->widen(ct_row(j->out, row), j->w, j->b->rows.token[row], scratch_of(j->b, thread));
    k->scale(ct_row(j->out, row), j->value, j->out.cols);
}

static void cpu_embed(struct ct_backend *b, ct_mat x, const struct ct_weight *table, float scale)
{
    run(&(struct job){.b = self(b), .out = x, .w = table, .value = scale}, self(b)->rows.n, embed_item);
}

static void norm_item(void *arg, int row, int thread)
{
    struct job *j = arg;

    (void)thread;
    j->b->o.kernel->norm(ct_row(j->out, row), ct_row(j->in, row), j->w->data, j->in.cols, j->b->o.norm_eps);
}

static void cpu_norm(struct ct_backend *b, ct_mat y, ct_mat x, const struct ct_weight *w)
{
    run(&(struct job){.b = self(b), .out = y, .in = x, .w = w}, self(b)->rows.n, norm_item);
}

static void head_norm_item(void *arg, int row, int thread)
{
    struct job *j = arg;

    (void)thread;
    for (int at = 0; at < j->out.cols; at += j->w->cols) {
        float *head = ct_row(j->out, row) + at;
        j->b->o.kernel->norm(head, head, j->w->data, j->w->cols, j->b->o.norm_eps);
    }
}

static void cpu_head_norm(struct ct_backend *b, ct_mat x, const struct ct_weight *w)
{
    run(&(struct job){.b = self(b), .out = x, .w = w}, self(b)->rows.n, head_norm_item);
}

static void rope_item(void *arg, int row, int thread)
{
    struct job *j = arg;
    struct ct_cpu_backend *b = j->b;
    const struct ct_kind *kind = &b->o.kind[j->kind];
    size_t at = (size_t)row * (size_t)kind->rotated;

    (void)thread;
    for (int h = 0; h < j->out.cols; h += kind->head_dim)
        b->o.kernel->rope(ct_row(j->out, row) + h, b->cosine[j->kind] + at, b->sine[j->kind] + at,
                          kind->rotated, kind->head_dim);
}

static void cpu_rope(struct ct_backend *b, ct_mat x, int kind)
{
    run(&(struct job){.b = self(b), .out = x, .kind = kind}, self(b)->rows.n, rope_item);
}

static void add_norm_item(void *arg, int row, int thread)
{
    struct job *j = arg;
    float *y = ct_row(j->in, row);

    if (j->w->data)
        norm_item(&(struct job){.b = j->b, .out = j->in, .in = j->in, .w = j->w}, row, thread);
    j->b->o.kernel->add(ct_row(j->out, row), y, j->out.cols);
}

static void cpu_add_norm(struct ct_backend *b, ct_mat x, ct_mat y, const struct ct_weight *w)
{
    run(&(struct job){.b = self(b), .out = x, .in = y, .w = w}, self(b)->rows.n, add_norm_item);
}

static void softcap_item(void *arg, int row, int thread)
{
    struct job *j = arg;

    (void)thread;
    j->b->o.kernel->softcap(ct_row(j->out, row), j->cap, j->out.cols);
}

static void cpu_softcap(struct ct_backend *b, ct_mat x, float cap)
{
    run(&(struct job){.b = self(b), .out = x, .cap = cap}, self(b)->rows.n, softcap_item);
}

/* ---- products ---- */

static void prepare_item(void *arg, int item, int thread)
{
    struct job *j = arg;
    int t0 = item * CT_LANES;

    (void)thread;
    if (j->form == CT_INPUT_LANES)
        j->b->o.kernel->prepare_lanes(&j->b->prepared[j->form], j->in.handle, t0, t0 + CT_LANES);
    else
        j->b->o.kernel->prepare(&j->b->prepared[j->form], j->form, j->in.handle, t0, t0 + CT_LANES);
}

/* Prepares the current rows of in once for every form that the weights ask for. */
static void prepare(struct ct_cpu_backend *b, ct_mat in, int n, const struct ct_weight *const *w)
{
    for (int form = 0; form < CT_INPUT_COUNT; form++) {
        bool wanted = false;
        for (int i = 0; i < n; i++)
            wanted |= ct_input_form(w[i], b->o.exact) == (enum ct_input)form;
        if (!wanted)
            continue;
        b->prepared[form].n = b->rows.n;
        b->prepared[form].cols = in.cols;
        run(&(struct job){.b = b, .in = in, .form = (enum ct_input)form},
            (b->rows.n + CT_LANES - 1) / CT_LANES, prepare_item);
    }
}

/* Output rows that a thread computes before it looks whether the pass goes on: at least a block, and so many
 * multiplications that looking costs nothing, but no level takes longer than some milliseconds. */
static int rows_between_looks(const struct ct_weight *w, int tokens)
{
    const size_t multiplications = (size_t)4 << 20;
    int block = rows_of_block(tokens);
    size_t blocks = multiplications / ((size_t)w->cols * (size_t)tokens * (size_t)block);

    return block * (int)CT_MAX(blocks, 1);
}

/* Rows [r0, r1) of one product for all current tokens. */
static void product_rows(struct ct_cpu_backend *b, ct_mat out, const struct ct_weight *w, int r0, int r1,
                         int thread)
{
    enum ct_input form = ct_input_form(w, b->o.exact);
    const struct ct_kernel *k = b->o.kernel;

    bool panels = w->layout == CT_LAYOUT_PANELS && (!b->o.exact || floats(w->type));
    int step = rows_between_looks(w, b->rows.n);

    for (int r = r0; r < r1 && ct_pool_goes_on(b->o.pool, thread); r += step)
        (panels ? k->project_panels : k->project)(out.handle, (size_t)out.cols, w, r, CT_MIN(r + step, r1),
                                                  &b->prepared[form], form, scratch_of(b, thread));
}

static int blocks_of(const struct ct_weight *w, int tokens)
{
    return (w->rows + rows_of_block(tokens) - 1) / rows_of_block(tokens);
}

/* Runs fn over `blocks` blocks of output rows. Three quarters are cut into a share for every thread, long runs that memory
 * delivers best; the rest goes block by block to whoever is free. */
static void run_blocks(struct job *j, int blocks, void (*fn)(void *job, int item, int thread))
{
    j->shares = j->b->o.threads;
    j->share = blocks * 3 / 4 / j->shares;
    if (j->share == 0)
        j->shares = 0;
    run(j, j->shares + blocks - j->shares * j->share, fn);
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
    int first, end, rows = rows_of_block(j->b->rows.n);

    blocks_of_item(j, item, &first, &end);
    for (int i = 0; i < j->n_out; i++) {
        int begin = CT_MAX(first, j->blocks_before[i]), stop = CT_MIN(end, j->blocks_before[i + 1]);
        if (begin < stop)
            product_rows(j->b, j->outs[i], j->ws[i], (begin - j->blocks_before[i]) * rows,
                         CT_MIN((stop - j->blocks_before[i]) * rows, j->ws[i]->rows), thread);
    }
}

static void cpu_project(struct ct_backend *base, ct_mat in, int n, const ct_mat *out,
                        const struct ct_weight *const *w)
{
    struct ct_cpu_backend *b = self(base);
    struct job j = {.b = b, .n_out = n, .outs = out, .ws = w};

    assert(n < (int)CT_COUNT(j.blocks_before));
    if (b->rows.n == 0)
        return;
    prepare(b, in, n, w);
    for (int i = 0; i < n; i++)
        j.blocks_before[i + 1] = j.blocks_before[i] + blocks_of(w[i], b->rows.n);
    run_blocks(&j, j.blocks_before[n], project_item);
}

/* Values of the second product of project_geglu that a thread holds at a time: a few rows of the whole width, or a block
 * of many, which both products then find in the cache. */
static size_t up_values(const struct ct_cpu_options *o)
{
    return CT_MAX((size_t)CT_MIN(o->max_rows, CT_LANES) * (size_t)o->max_ffn,
                  (size_t)o->max_rows * ROWS_FOR_MANY);
}

/* Rows [r0, r1) of w; r0 begins a panel. */
static struct ct_weight part(const struct ct_weight *w, int r0, int r1)
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
    int n = j->b->rows.n, rows = rows_of_block(n);
    int r0 = first * rows, r1 = CT_MIN(end * rows, j->ws[1]->rows), step = n > CT_LANES ? rows : r1 - r0;
    for (int r = r0; r < r1; r += step) {
        struct ct_weight up = part(j->ws[1], r, CT_MIN(r + step, r1));
        ct_mat beside = {j->b->up + (size_t)thread * up_values(&j->b->o), up.rows};
        product_rows(j->b, j->out, j->ws[0], r, r + up.rows, thread);
        product_rows(j->b, beside, &up, 0, up.rows, thread);
        for (int t = 0; t < n; t++)
            j->b->o.kernel->geglu(ct_row(j->out, t) + r, ct_row(beside, t), up.rows);
    }
}

static void cpu_project_geglu(struct ct_backend *base, ct_mat out, ct_mat in, const struct ct_weight *gate,
                              const struct ct_weight *up)
{
    struct ct_cpu_backend *b = self(base);
    const struct ct_weight *w[] = {gate, up};

    if (b->rows.n == 0)
        return;
    prepare(b, in, 2, w);
    run_blocks(&(struct job){.b = b, .out = out, .ws = w}, blocks_of(gate, b->rows.n), geglu_item);
}

/* ---- K and V ---- */

static void store_item(void *arg, int row, int thread)
{
    struct job *j = arg;
    const struct ct_rows *rows = &j->b->rows;

    (void)thread;
    for (int h = 0; h < j->kv->n_kv_head; h++) {
        struct ct_kv_head head = ct_kv_head(j->kv, rows->sequence[row], h);
        int at = h * j->kv->head_dim;
        ct_kv_store(j->b->o.kernel, &head, rows->position[row], ct_row(j->out, row) + at,
                    ct_row(j->in, row) + at);
    }
}

static void cpu_store(struct ct_backend *b, const struct ct_kv *kv, ct_mat k, ct_mat v)
{
    run(&(struct job){.b = self(b), .kv = kv, .out = k, .in = v}, self(b)->rows.n, store_item);
}

void ct_cpu_backend_init(struct ct_cpu_backend *b, const struct ct_cpu_options *o, struct ct_memory *memory,
                         struct ct_memory *weights)
{
    size_t n = (size_t)o->max_rows;

    *b = (struct ct_cpu_backend){
        .base.verb = {.name = "cpu",
                      .alloc = cpu_alloc,
                      .place = cpu_place,
                      .copy_out = cpu_copy_out,
                      .begin = cpu_begin,
                      .embed = cpu_embed,
                      .norm = cpu_norm,
                      .head_norm = cpu_head_norm,
                      .project = cpu_project,
                      .project_geglu = cpu_project_geglu,
                      .rope = cpu_rope,
                      .store = cpu_store,
                      .pick = cpu_pick,
                      .attend = ct_cpu_attend,
                      .add_norm = cpu_add_norm,
                      .softcap = cpu_softcap},
        .o = *o,
        .memory = memory,
        .weights = weights,
    };
    b->position = ct_memory_take(memory, n * sizeof *b->position);
    b->sequence = ct_memory_take(memory, n * sizeof *b->sequence);
    b->want = ct_memory_take(memory, n);
    for (int i = 0; i < CT_KINDS; i++) {
        size_t pairs = (size_t)o->kind[i].rotated;
        b->inverse[i] = ct_memory_take(memory, (size_t)o->kind[i].head_dim / 2 * sizeof *b->inverse[i]);
        b->cosine[i] = ct_memory_take(memory, n * pairs * sizeof(float));
        b->sine[i] = ct_memory_take(memory, n * pairs * sizeof(float));
        if (memory->base)
            o->kernel->rope_frequencies(b->inverse[i], o->kind[i].head_dim, o->kind[i].rope_base,
                                        o->kind[i].rope_factor);
    }
    ct_cpu_attention_init(&b->attention, o, memory);
    b->up = ct_memory_take(memory, (size_t)o->threads * up_values(o) * sizeof *b->up);
    b->scratch = ct_memory_take(memory, (size_t)o->threads * CT_SCRATCH(o->max_inputs) * sizeof *b->scratch);
}

void ct_cpu_backend_finish(struct ct_cpu_backend *b)
{
    struct ct_memory *memory = b->memory;
    size_t rows = ct_round_up((size_t)b->o.max_rows, CT_LANES);

    for (int form = 0; form < CT_INPUT_COUNT; form++) {
        struct ct_prepared *p = &b->prepared[form];
        size_t values = rows * (size_t)ct_pad_group(b->widest[form]);
        if (form != CT_INPUT_Q8 && form != CT_INPUT_LANES) {
            p->value = ct_memory_take(memory, values * sizeof *p->value);
            continue;
        }
        p->q = ct_memory_take(memory, values);
        p->scale = ct_memory_take(memory, values / CT_GROUP * sizeof *p->scale);
        p->sum = ct_memory_take(memory, values / CT_HALF * sizeof *p->sum);
        if (form == CT_INPUT_LANES && b->o.kernel->tiles)
            p->tile = ct_memory_take(memory, values);
    }
}
