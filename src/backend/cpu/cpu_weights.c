/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_weights.c: weights on their way into the CPU backend: which are packed into panels, where those come
 * to lie, and which stay in the file and are only touched. The form of a panel: layout/panel.h.
 *
 * A weight that lies in panels already, in a packed file, is taken as it is. Pages of the file are given back
 * to the system while it packs. */
#include "backend/cpu/cpu_backend.h"

#include <stdlib.h>

#include "layout/pack_weight.h"
#include "os/memory.h"

#define HUGE_PAGE ((size_t)2 << 20) /* where it is another, more or fewer pages are touched than needed */

/* The types whose panels exact arithmetic reads; of the others it unpacks row by row. */
static bool exact_panels(enum ct_type type)
{
    enum ct_lines lines = ct_panel_of(type)->lines;
    return lines == CT_LINES_16 || lines == CT_LINES_32;
}

/* True when kernels read panels of the weight, in the arithmetic that it has. */
static bool panels_are_read(const struct ct_cpu_backend *b, const struct ct_weight *w)
{
    return !(b->o.exact || w->f32_input) || exact_panels(w->type);
}

bool ct_cpu_reads_panels(const struct ct_cpu_backend *b, const struct ct_weight *w)
{
    return ct_in_panels(w) && panels_are_read(b, w);
}

size_t ct_backend_panel_size(enum ct_type type, int cols)
{
    return ct_panel_size(type, cols);
}

/* The weight as products read it, still without an address where it is packed: that is where the kernels
 * want panels and the type has them. */
static struct ct_weight packed_form(const struct ct_cpu_backend *b, struct ct_weight w)
{
    struct ct_weight form = ct_packed_form(&w);
    bool wanted = b->kernels[0].layout == CT_LAYOUT_PANELS || b->kernels[1].layout == CT_LAYOUT_PANELS;
    bool packs = wanted && form.layout != w.layout && panels_are_read(b, &w);

    return packs ? form : w;
}

/* ---- planning ---- */

/* Adds a stretch of pages, joined with those that it meets. */
static carat_status add_mapped(struct ct_cpu_backend *b, struct ct_pages p, carat_error *err)
{
    int first = 0, end;

    if (b->n_mapped == b->max_mapped) {
        int max = CT_MAX(2 * b->max_mapped, 64);
        struct ct_pages *larger = realloc(b->mapped, (size_t)max * sizeof *larger);
        if (!larger)
            return ct_no_memory(err, "the plan of an engine");
        b->mapped = larger;
        b->max_mapped = max;
    }
    while (first < b->n_mapped && b->mapped[first].end < p.begin)
        first++;
    for (end = first; end < b->n_mapped && b->mapped[end].begin <= p.end; end++) {
        p.begin = CT_MIN(p.begin, b->mapped[end].begin);
        p.end = CT_MAX(p.end, b->mapped[end].end);
    }
    memmove(b->mapped + first + 1, b->mapped + end, (size_t)(b->n_mapped - end) * sizeof p);
    b->mapped[first] = p;
    b->n_mapped += 1 - (end - first);
    return CARAT_OK;
}

/* Counts the widest input of each form. */
static void note_input(struct ct_cpu_backend *b, const struct ct_weight *w)
{
    int *widest = &b->widest[ct_input_form(w, b->o.exact)];
    *widest = CT_MAX(*widest, w->cols);
}

static void plan_packed(struct ct_cpu_backend *b, const struct ct_weight *form)
{
    struct ct_cpu_memory packed = {NULL, b->planned, 0};

    ct_cpu_take(&packed, ct_weight_bytes(form));
    b->planned = packed.used;
}

static carat_status cpu_plan_weight(struct ct_backend *base, const struct ct_weight *w, carat_error *err)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    struct ct_weight as = packed_form(b, *w);
    const uint8_t *data = w->data;
    size_t page = ct_os_page(), before = (uintptr_t)data & (page - 1);

    note_input(b, &as);
    if (!as.data) {
        plan_packed(b, &as);
        return CARAT_OK;
    }
    return add_mapped(
        b, (struct ct_pages){data - before, data - before + ct_round_up(before + ct_weight_bytes(w), page)},
        err);
}

size_t ct_cpu_mapped_bytes(const struct ct_cpu_backend *b)
{
    size_t bytes = 0;

    for (int i = 0; i < b->n_mapped; i++)
        bytes += (size_t)(b->mapped[i].end - b->mapped[i].begin);
    return bytes;
}

static bool cpu_stays(const struct ct_backend *b, const struct ct_weight *w)
{
    return packed_form(ct_cpu_const(b), *w).data != NULL;
}

static void cpu_plan_part(struct ct_backend *base, const struct ct_weight *w, size_t bytes)
{
    struct ct_cpu_backend *b = ct_cpu(base);

    note_input(b, w);
    b->parts += ct_round_up(bytes, ct_os_page());
}

static void cpu_give_back(struct ct_backend *base, const struct ct_weight *w)
{
    const struct ct_cpu_backend *b = ct_cpu_const(base);

    b->o.done_with(b->o.user, w->data, ct_weight_bytes(w));
}

/* ---- weights that are made ---- */

static void count_loaded(struct ct_cpu_backend *b, size_t bytes)
{
    atomic_fetch_add_explicit(&b->loaded, bytes, memory_order_relaxed);
}

static struct ct_weight made_form(const struct ct_cpu_backend *b, enum ct_type type, int rows, int cols)
{
    struct ct_weight w = {.type = type, .layout = CT_LAYOUT_ROWS, .rows = rows, .cols = cols, .scale = 1};

    bool whole = ct_type_row_bytes(type, (size_t)cols, &w.row_bytes);
    assert(whole);
    (void)whole;
    return packed_form(b, w);
}

static void cpu_plan_made(struct ct_backend *base, enum ct_type type, int rows, int cols)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    struct ct_weight form = made_form(b, type, rows, cols);

    note_input(b, &form);
    b->widest_made = CT_MAX(b->widest_made, cols);
    plan_packed(b, &form);
}

static struct ct_weight cpu_take_made(struct ct_backend *base, enum ct_type type, int rows, int cols)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    struct ct_weight w = made_form(b, type, rows, cols);

    w.data = ct_cpu_take(&b->packed, ct_weight_bytes(&w));
    return w;
}

/* A row as floats, then as many rows as a panel has, none wider than floats. */
size_t ct_cpu_made_work(const struct ct_cpu_backend *b)
{
    return (1 + CT_PANEL_ROWS) * ct_round_up((size_t)b->widest_made * sizeof(float), 64);
}

struct making {
    struct ct_cpu_backend *b;
    const struct ct_weight *w, *from;
    int first;
    const struct ct_maker *maker;
};

static void make_item(void *arg, int item, int thread)
{
    const struct making *m = arg;
    struct ct_cpu_backend *b = m->b;
    uint8_t *work = b->made + (size_t)thread * ct_cpu_made_work(b);
    float *values = (float *)(void *)work;
    struct ct_weight rows = *m->w; /* of a panel, as they are stored */
    int r0 = item * CT_PANEL_ROWS;
    uint8_t *to = (uint8_t *)(uintptr_t)m->w->data + (size_t)item * m->w->row_bytes;
    bool packs = m->w->layout == CT_LAYOUT_PANELS;

    rows.layout = CT_LAYOUT_ROWS;
    rows.rows = CT_MIN(CT_PANEL_ROWS, m->w->rows - r0);
    ct_type_row_bytes(rows.type, (size_t)rows.cols, &rows.row_bytes);
    rows.data = packs ? work + ct_round_up((size_t)b->widest_made * sizeof(float), 64)
                      : (uint8_t *)(uintptr_t)m->w->data + (size_t)r0 * rows.row_bytes;
    for (int r = 0; r < rows.rows; r++) {
        int row = m->first + r0 + r;
        b->kernel.dequantize_row(values, m->from, row,
                                 b->scratch + (size_t)thread * CT_SCRATCH(b->o.max_input));
        m->maker->row(m->maker->user, row, values,
                      (uint8_t *)(uintptr_t)rows.data + (size_t)r * rows.row_bytes);
    }
    if (packs)
        ct_pack(to, &rows, 0);
}

static bool cpu_make(struct ct_backend *base, const struct ct_weight *w, const struct ct_weight *from,
                     int first, const struct ct_maker *maker)
{
    struct ct_cpu_backend *b = ct_cpu(base);

    assert(first >= 0 && first + w->rows <= from->rows && w->cols == from->cols);
    if (maker) {
        ct_pool_run(b->pool, (w->rows + CT_PANEL_ROWS - 1) / CT_PANEL_ROWS, make_item,
                    &(struct making){b, w, from, first, maker});
    } else {
        const struct ct_weight rows = ct_weight_rows(from, first, first + w->rows);
        struct ct_packing p = {.from = &rows, .form = *w, .to = (uint8_t *)(uintptr_t)w->data};
        assert(w->type == from->type && w->scale == from->scale);
        ct_pool_run(b->pool, ct_packing_items(&p), ct_pack_item, &p);
    }
    count_loaded(b, ct_weight_bytes(w));
    return ct_pool_goes_on(b->pool, 0);
}

/* ---- loading ---- */

static int report(void *user)
{
    struct ct_cpu_backend *b = user;
    size_t total = ct_round_up(b->planned, ct_os_page()) + ct_cpu_mapped_bytes(b);
    size_t done = atomic_load_explicit(&b->loaded, memory_order_relaxed);

    return b->progress(b->progress_user, CT_MIN(done, total) >> 10, total >> 10);
}

static void cpu_load_begin(struct ct_backend *base, carat_progress progress, void *user)
{
    struct ct_cpu_backend *b = ct_cpu(base);

    b->progress = progress;
    b->progress_user = user;
    b->packed.used = 0;
    b->loaded = 0;
    b->fp = ct_os_fp_enter();
    ct_pool_watch(b->pool, progress ? report : NULL, b);
}

static void item_is_packed(void *backend, const void *stored, size_t stored_bytes, size_t packed_bytes)
{
    struct ct_cpu_backend *b = backend;

    (void)packed_bytes;
    b->o.done_with(b->o.user, stored, stored_bytes);
    count_loaded(b, stored_bytes);
}

static struct ct_weight cpu_pack_weight(struct ct_backend *base, struct ct_weight w)
{
    struct ct_cpu_backend *b = ct_cpu(base);
    struct ct_packing p = {.from = &w, .form = packed_form(b, w), .done_with = item_is_packed, .user = b};

    if (p.form.data)
        return p.form;
    p.to = ct_cpu_take(&b->packed, ct_weight_bytes(&p.form));
    ct_pool_run(b->pool, ct_packing_items(&p), ct_pack_item, &p);
    p.form.data = p.to;
    return p.form;
}

struct touching {
    struct ct_cpu_backend *b;
    const struct ct_pages *pages;
};

static void touch_item(void *arg, int item, int thread)
{
    const struct touching *t = arg;
    const uint8_t *p = t->pages->begin + (size_t)item * HUGE_PAGE;

    (void)thread;
    ct_os_fetch(p);
    count_loaded(t->b, CT_MIN(HUGE_PAGE, (size_t)(t->pages->end - p)));
}

/* What stays in the file is read whole for every token, so it is wanted at once, and in the order of the
 * disk. */
static bool cpu_load_end(struct ct_backend *base)
{
    struct ct_cpu_backend *b = ct_cpu(base);

    assert(b->packed.used == b->planned);
    for (int i = 0; i < b->n_mapped; i++) {
        struct touching t = {b, &b->mapped[i]};
        size_t size = (size_t)(t.pages->end - t.pages->begin);
        ct_pool_run(b->pool, (int)((size + HUGE_PAGE - 1) / HUGE_PAGE), touch_item, &t);
    }
    ct_os_fp_leave(b->fp);
    return ct_pool_unwatch(b->pool);
}

void ct_cpu_weight_verbs(struct ct_verbs *v)
{
    v->plan_weight = cpu_plan_weight;
    v->stays = cpu_stays;
    v->plan_part = cpu_plan_part;
    v->load_begin = cpu_load_begin;
    v->load_end = cpu_load_end;
    v->pack_weight = cpu_pack_weight;
    v->plan_made = cpu_plan_made;
    v->take_made = cpu_take_made;
    v->make = cpu_make;
    v->give_back = cpu_give_back;
}
