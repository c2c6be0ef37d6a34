/* SPDX-License-Identifier: Apache-2.0 */
/* head_pruned.c: the best ids without most of the head. A sketch of all rows in few bits, an ordinary
 * weight, gives each row a score and a bound on how far its logit may be from that. The logits of the rows
 * with the best scores are computed ("finished"). The k-th best of them is a bar, and every row that may
 * reach it is finished, too. The result has the bits of dense, since a product of a row depends on nothing
 * beside it. Bounds are computed in head_bound.c and the kernels; whether this pays is decided in
 * head_account.c. */
#include "model/head_strategy.h"

#include <math.h>
#include <stdlib.h>

#include "model/head_account.h"
#include "model/head_bound.h"
#include "quant/encode.h"

enum {
    GROUP = 8,           /* rows that are scored at a time */
    FIRST_PANELS = 1024, /* that are finished for the bar; more promising rows would cost what dense costs */
    MOST_COLUMNS = 8192, /* of a head */
};
#define SKETCH CT_Q4_0
enum { RULE = 1 }; /* by which sketch and bounds are made (ct_head_made) */

struct ct_pruned {
    struct ct_head_account account;
    bool last_pruned; /* the last step was to be pruned */
    bool mixed;       /* but not all of its rows were, or somebody listened: its time says nothing */
    bool told;        /* the log has what auto chose */
    /* the sketch and its bounds as the packed copy of the model keeps them */
    struct ct_made made_sketch, made_bound;
    bool mapped; /* both are there */
    struct ct_weight sketch;
    struct ct_row_bound *made;        /* [vocabulary] that are made here; NULL: they are mapped */
    const struct ct_row_bound *bound; /* [vocabulary] */
    int panels;                       /* of the head */

    /* of a group; the lists are the same for all of its rows */
    uint8_t *marked;        /* [panels] in a list that is being made */
    uint32_t *finished;     /* [panels / 32 + 1] a bit each */
    int32_t *found;         /* [panels] by one row */
    struct ct_range *range; /* [panels] */
    int32_t *first_id, *id; /* [FIRST_PANELS * 16], [vocabulary / 2] */
    float *first_value;     /* [GROUP][FIRST_PANELS * 16] */
    int32_t *place;         /* [FIRST_PANELS] */
};

/* ---- what is kept ---- */

static int panels_of(int rows)
{
    return (rows + CT_PANEL_ROWS - 1) / CT_PANEL_ROWS;
}

const char *ct_not_pruned(const struct ct_weight *w)
{
    const struct ct_type_info *info = ct_type_info(w->type);
    size_t row_bytes;

    if (info->bytes * 8 <= 6 * info->block)
        return "a head of so few bits has nothing to save";
    if (info->minimum)
        return "its bounds are not known for a type with minima";
    if (w->cols > MOST_COLUMNS || !ct_type_row_bytes(SKETCH, (size_t)w->cols, &row_bytes))
        return "its columns are not a multiple of 32, or more than 8192";
    return NULL;
}

/* Counts the sketch, and the bounds where they are mapped. */
static carat_status plan_sketch(struct ct_head *h, carat_error *err)
{
    struct ct_pruned *p = h->pruned;
    const struct ct_weight *w = &h->stored;
    const struct ct_weight sketch = ct_head_made_panels(SKETCH, w->rows, w->cols);
    /* those of a panel together, so that nobody packs them */
    const struct ct_weight bound = {.type = CT_F16,
                                    .layout = CT_LAYOUT_PANELS,
                                    .rows = p->panels * CT_PANEL_ROWS,
                                    .cols = 2,
                                    .row_bytes = CT_PANEL_ROWS * sizeof *p->bound,
                                    .scale = 1};

    static_assert(sizeof *p->bound == 2 * sizeof(uint16_t), "two numbers in f16");
    p->made_sketch = ct_head_made(h, "head.sketch", RULE, &sketch);
    p->made_bound = ct_head_made(h, "head.bounds", RULE, &bound);
    p->mapped = p->made_sketch.w.data && p->made_bound.w.data;
    if (!p->mapped) {
        h->backend->verb.plan_made(h->backend, SKETCH, w->rows, w->cols);
        return CARAT_OK;
    }
    CT_TRY(h->backend->verb.plan_weight(h->backend, &p->made_sketch.w, err));
    return h->backend->verb.plan_weight(h->backend, &p->made_bound.w, err);
}

static carat_status plan_pruned(struct ct_head *h, carat_error *err)
{
    const struct ct_weight *w = &h->stored;
    const char *why = ct_not_pruned(w);
    size_t row = 0;

    if (why)
        return ct_fail(err, CARAT_E_ARGUMENT, "head exact-pruned is not for this model's, %s [%d][%d]: %s",
                       ct_type_info(w->type)->name, w->rows, w->cols, why);
    h->pruned = calloc(1, sizeof *h->pruned);
    if (!h->pruned)
        return ct_no_memory(err, "a head");
    h->pruned->panels = panels_of(w->rows);
    CT_TRY(plan_sketch(h, err));
    ct_type_row_bytes(SKETCH, (size_t)w->cols, &row);
    /* for the plan; loading counts what is there */
    h->stats.sketch_bytes = (size_t)w->rows * (row + sizeof *h->pruned->bound);
    return CARAT_OK;
}

static void *take(struct ct_head *h, size_t n, size_t size)
{
    return h->backend->verb.alloc_host(h->backend, n * size);
}

static void lay_out_pruned(struct ct_head *h, int rows)
{
    struct ct_pruned *p = h->pruned;
    size_t panels = (size_t)p->panels, group = (size_t)CT_MIN(rows, GROUP),
           first = (size_t)FIRST_PANELS * CT_PANEL_ROWS;

    if (!p->mapped)
        p->made = take(h, panels * CT_PANEL_ROWS, sizeof *p->made);
    p->bound = p->mapped ? p->made_bound.w.data : p->made;
    p->marked = take(h, panels, sizeof *p->marked);
    p->finished = take(h, panels / 32 + 1, sizeof *p->finished);
    p->found = take(h, panels, sizeof *p->found);
    p->range = take(h, panels, sizeof *p->range);
    p->id = take(h, panels * CT_PANEL_ROWS / 2, sizeof *p->id);
    p->first_id = take(h, first, sizeof *p->first_id);
    p->first_value = take(h, group * first, sizeof *p->first_value);
    p->place = take(h, FIRST_PANELS, sizeof *p->place);
}

/* The sketch of a row, and its bound. */
static void sketch_row(void *user, int row, const float *values, void *blocks)
{
    const struct ct_head *h = user;
    const int cols = h->stored.cols;
    float decoded[MOST_COLUMNS];

    ct_encode(SKETCH, blocks, values, (size_t)cols);
    ct_dequantize(SKETCH, decoded, blocks, (size_t)cols);
    ct_head_bound_row(&h->pruned->made[row], values, decoded, cols);
}

static carat_status load_pruned(struct ct_head *h, carat_error *err)
{
    struct ct_backend *b = h->backend;
    struct ct_pruned *p = h->pruned;
    const struct ct_maker maker = {sketch_row, h};

    (void)err;
    if (p->mapped) {
        p->sketch = b->verb.pack_weight(b, p->made_sketch.w);
        h->stats.from_cache = 1;
    } else {
        p->sketch = b->verb.take_made(b, SKETCH, h->stored.rows, h->stored.cols);
        /* a stopped one ends the loading, too */
        bool whole = b->verb.make(b, &p->sketch, h->packed, 0, &maker);
        if (whole && p->sketch.layout == CT_LAYOUT_PANELS) {
            ct_head_keep(h, &p->made_sketch, p->sketch.data);
            ct_head_keep(h, &p->made_bound, p->bound);
        }
    }
    h->stats.sketch_bytes = ct_weight_bytes(&p->sketch) + (size_t)h->stored.rows * sizeof *p->bound;
    return CARAT_OK;
}

static void end_pruned(struct ct_head *h)
{
    free(h->pruned);
    h->pruned = NULL;
}

/* ---- lists of panels ---- */

/* Lists the ranges of panels that are marked, or of those that are not, in a head of n_rows. Returns their
 * number; *rows is how many rows they have. */
static int ranges_of(const struct ct_pruned *p, bool marked, int n_rows, int *rows)
{
    int n = 0;

    *rows = 0;
    for (int i = 0, end; i < p->panels; i = end) {
        for (end = i; end < p->panels && (p->marked[end] != 0) == marked;)
            end++;
        if (end == i) {
            end = i + 1;
            continue;
        }
        struct ct_range *r = &p->range[n++];
        *r = (struct ct_range){i * CT_PANEL_ROWS, CT_MIN(end * CT_PANEL_ROWS, n_rows), *rows};
        *rows += r->end - r->first;
    }
    return n;
}

static void ids_of_ranges(const struct ct_range *range, int n, int32_t *id)
{
    for (int i = 0; i < n; i++)
        for (int32_t row = range[i].first; row < range[i].end; row++)
            *id++ = row;
}

/* ---- a group of rows ---- */

/* Rows [first, first + n) of those that want logits. */
struct group {
    struct ct_head *h;
    const struct ct_pass *pass;
    int first, n;
    struct ct_head_row *row;
    int n_first; /* rows of the head that are finished for the bar */
};

/* Logits of the ranges for all rows of the group. */
static void finish(struct group *g, int n_ranges, int rows, float *const *to)
{
    struct ct_head *h = g->h;

    project_some(h->backend, g->pass->h, g->first, g->n, to, h->packed, n_ranges, h->pruned->range);
    for (int i = 0; i < g->n; i++)
        h->backend->verb.cap_logits(h->backend, g->first + i, to[i], rows, g->pass->config->logit_cap);
    h->stats.panels_finished += (uint64_t)panels_of(rows);
    h->stats.bytes += (uint64_t)rows * (ct_weight_bytes(h->packed) / (uint64_t)h->packed->rows);
}

static float *first_values(const struct group *g, int i)
{
    return g->h->pruned->first_value + (size_t)i * FIRST_PANELS * CT_PANEL_ROWS;
}

/* Scores of all rows of the head, in the memory for the logits. */
static void score(struct group *g)
{
    struct ct_head *h = g->h;
    const struct ct_weight *sketch = &h->pruned->sketch;
    const struct ct_range all = {0, sketch->rows, 0};
    float *to[GROUP];

    for (int i = 0; i < g->n; i++)
        to[i] = g->row[i].memory;
    project_some(h->backend, g->pass->h, g->first, g->n, to, sketch, 1, &all);
    h->stats.bytes += ct_weight_bytes(sketch);
}

/* Finishes the k best by score, and what stands apart. */
static void finish_first(struct group *g)
{
    struct ct_head *h = g->h;
    struct ct_pruned *p = h->pruned;
    float *to[GROUP];

    memset(p->marked, 0, (size_t)p->panels);
    for (int i = 0; i < g->n; i++) {
        const struct ct_reading *r = g->row[i].reading;
        const struct ct_logits scores = {g->row[i].memory, NULL, r->n};
        int n = h->backend->verb.select(h->backend, p->place, &scores, r->k, r->apart, r->n_apart);
        for (int k = 0; k < n; k++)
            p->marked[p->place[k] / CT_PANEL_ROWS] = 1;
        for (int k = 0; k < r->n_apart; k++)
            if (r->apart[k] < h->packed->rows)
                p->marked[r->apart[k] / CT_PANEL_ROWS] = 1;
        h->stats.rows_finished += (uint64_t)(n + r->n_apart);
        to[i] = first_values(g, i);
    }
    int n_ranges = ranges_of(p, true, h->packed->rows, &g->n_first);
    ids_of_ranges(p->range, n_ranges, p->first_id);
    finish(g, n_ranges, g->n_first, to);
    for (int i = 0; i < p->panels; i++) {
        if (i % 32 == 0)
            p->finished[i / 32] = 0;
        p->finished[i / 32] |= (uint32_t)p->marked[i] << i % 32;
    }
}

/* The k-th best of the finished logits, which a row of the head must reach; -infinity: there are fewer. */
static float bar_of(const struct group *g, int i)
{
    struct ct_head *h = g->h;
    const struct ct_reading *r = g->row[i].reading;
    const struct ct_logits all = {first_values(g, i), h->pruned->first_id, g->n_first};
    struct ct_logits logits = all;

    logits.n = ct_logits_below(&all, r->n);
    int n = h->backend->verb.select(h->backend, h->pruned->place, &logits, r->k, r->apart, r->n_apart);
    return n < r->k ? -INFINITY : logits.value[h->pruned->place[n - 1]];
}

/* Marks the panels that may reach the bar of a row. */
static void mark_survivors(struct group *g, int i)
{
    struct ct_head *h = g->h;
    struct ct_pruned *p = h->pruned;
    struct ct_input_norms norms;
    int rows;

    h->backend->verb.input_norms(h->backend, &norms, g->pass->h, g->first + i, h->packed);
    const struct ct_prune test = {.score = g->row[i].memory,
                                  .bound = p->bound,
                                  .n = g->row[i].reading->n,
                                  .token = ct_head_bound_token(&h->stored, &norms),
                                  .bar = bar_of(g, i),
                                  .finished = p->finished};
    int n = h->backend->verb.prune(h->backend, p->found, &rows, &test, g->pass->config->logit_cap);
    for (int k = 0; k < n; k++)
        p->marked[p->found[k]] = 1;
    h->stats.rows_finished += (uint64_t)rows;
}

/* Merges two ascending lists of ids with their values: the first ones of the group, and m in `values` that
 * belong to p->id. Works from the end on, where `values` and `to` have room. */
static int merge(const struct group *g, int i, float *values, int m, int32_t *to)
{
    const struct ct_pruned *p = g->h->pruned;
    const float *first = first_values(g, i);
    int a = g->n_first - 1, b = m - 1, all = g->n_first + m;

    for (int at = all - 1; at >= 0; at--) {
        bool takes_first = a >= 0 && (b < 0 || p->first_id[a] > p->id[b]);
        to[at] = takes_first ? p->first_id[a] : p->id[b];
        values[at] = takes_first ? first[a--] : values[b--];
    }
    return all;
}

/* Makes m values of the ranges, one after another, and the first ones all logits. */
static void spread(const struct group *g, int i, float *values, int n_ranges)
{
    const struct ct_pruned *p = g->h->pruned;
    const float *first = first_values(g, i);

    for (int k = n_ranges - 1; k >= 0; k--)
        memmove(values + p->range[k].first, values + p->range[k].at,
                (size_t)(p->range[k].end - p->range[k].first) * sizeof *values);
    for (int k = 0; k < g->n_first; k++)
        values[p->first_id[k]] = first[k];
}

/* Finishes what was marked, and makes lists of it; where it is more than half, of everything. */
static void finish_rest(struct group *g)
{
    struct ct_head *h = g->h;
    struct ct_pruned *p = h->pruned;
    const int rows = h->packed->rows;
    float *to[GROUP];
    int more, n_ranges = ranges_of(p, true, rows, &more);
    bool whole = g->n_first + more > rows / 2;

    if (whole) {
        for (int i = 0; i < p->panels; i++)
            p->marked[i] = p->finished[i / 32] >> i % 32 & 1;
        n_ranges = ranges_of(p, false, rows, &more);
    } else {
        ids_of_ranges(p->range, n_ranges, p->id);
    }
    for (int i = 0; i < g->n; i++)
        to[i] = g->row[i].memory;
    if (more)
        finish(g, n_ranges, more, to);
    for (int i = 0; i < g->n; i++) {
        struct ct_logits *l = &g->row[i].logits;
        int32_t *id = (int32_t *)(void *)(to[i] + rows / 2); /* behind the values */
        if (whole)
            spread(g, i, to[i], n_ranges);
        *l = whole ? (struct ct_logits){to[i], NULL, rows}
                   : (struct ct_logits){to[i], id, merge(g, i, to[i], more, id)};
    }
}

static void prune_group(struct group *g)
{
    score(g);
    finish_first(g);
    memset(g->h->pruned->marked, 0, (size_t)g->h->pruned->panels);
    for (int i = 0; i < g->n; i++)
        mark_survivors(g, i);
    finish_rest(g);
}

/* ---- ids that are allowed ---- */

/* Logits of the panels that have an allowed id, without a sketch; of everything, where these are more than
 * half. Time says nothing of what pruning gives. */
static void finish_allowed(struct group *g)
{
    struct ct_pruned *p = g->h->pruned;
    struct ct_head_row *row = g->row;
    const int all = g->h->packed->rows;
    int rows;

    static_assert(64 % CT_PANEL_ROWS == 0, "a panel lies in one word of bits");
    p->mixed = true;
    for (int i = 0; i < p->panels; i++) {
        const int id = i * CT_PANEL_ROWS;
        p->marked[i] = (row->reading->allowed[id / 64] >> id % 64 & ((1u << CT_PANEL_ROWS) - 1)) != 0;
    }
    const int n_ranges = ranges_of(p, true, all, &rows);
    if (rows > all / 2) {
        g->h->stats.bytes += ct_weight_bytes(g->h->packed);
        ct_head_dense(g->h, g->pass, g->first, 1, row);
        return;
    }
    int32_t *id = (int32_t *)(void *)(row->memory + all / 2); /* behind the values */
    ids_of_ranges(p->range, n_ranges, id);
    if (rows)
        finish(g, n_ranges, rows, &row->memory);
    row->logits = (struct ct_logits){row->memory, id, rows};
}

/* ---- rows ---- */

/* Rows of the head that a row wants for certain, if it reads so little that a sketch can help; else 0. */
static int reads_few(const struct ct_head_row *row)
{
    const struct ct_reading *r = row->reading;

    return r && r->k > 0 && r->k <= FIRST_PANELS - r->n_apart ? r->k + r->n_apart : 0;
}

/* How many of n rows make a group: rows that are pruned together, or rows that are not. */
static int group_of(const struct ct_head_row *row, int n, bool prunes)
{
    const bool few = prunes && reads_few(&row[0]) > 0;
    int i = 1, first = reads_few(&row[0]);

    for (; i < CT_MIN(n, GROUP) && (prunes && reads_few(&row[i]) > 0) == few; i++)
        if (few && (first += reads_few(&row[i])) > FIRST_PANELS)
            break;
    return i;
}

static void rows_by_sketch(struct ct_head *h, const struct ct_pass *pass, int first, int n,
                           struct ct_head_row *row)
{
    struct ct_pruned *p = h->pruned;
    /* Where dense runs beside every token, time says nothing, and what pruning gives is looked at. */
    const bool heard = ct_trace_reads(h->backend); /* who taps logits wants all of them */
    bool prunes = !heard && (h->o.audit == 1 || ct_head_account_prunes(&p->account, n));

    p->mixed = false;
    p->last_pruned = prunes;
    for (int done = 0, part; done < n; done += part) {
        part = group_of(row + done, n - done, prunes);
        struct group g = {h, pass, first + done, part, row + done, 0};
        const bool few = prunes && reads_few(g.row) > 0;
        p->mixed |= few != prunes || heard;
        if (few) {
            prune_group(&g);
            continue;
        }
        h->stats.bytes += ct_weight_bytes(h->packed);
        ct_head_dense(h, pass, g.first, g.n, g.row);
        h->stats.fallbacks += (uint64_t)g.n;
        h->stats.fallback = prunes  ? "more logits are asked for than pruning helps with"
                            : heard ? "a tap wants all logits"
                                    : ct_head_account_reason(&p->account, n);
    }
}

static void rows_pruned(struct ct_head *h, const struct ct_pass *pass, int first, int n,
                        struct ct_head_row *row)
{
    if (n == 1 && row->reading && row->reading->allowed)
        finish_allowed(&(struct group){h, pass, first, 1, row, 0});
    else
        rows_by_sketch(h, pass, first, n, row);
}

/* What auto chose, once it is known, and after how many tokens that has paid for the sketch. */
static void tell_choice(struct ct_head *h, const struct ct_head_times *t)
{
    const double dense = t->dense * 1e3, pruned = t->pruned * 1e3;

    h->stats.strategy = t->pays ? CARAT_HEAD_EXACT_PRUNED : CARAT_HEAD_DENSE;
    h->stats.reason =
        t->pays ? "it was measured to be faster than dense" : "a pruned head was measured to take longer";
    if (h->pruned->told)
        return;
    h->pruned->told = true;
    const double tokens = ceil(h->stats.sketch_s / (t->dense - t->pruned));
    if (t->pays && h->pruned->mapped)
        ct_head_log(
            h,
            "head auto: exact-pruned, since a token takes %.2f ms of the head instead of %.2f; its sketch "
            "came from the cache, so it pays from the first token on",
            pruned, dense);
    else if (t->pays)
        ct_head_log(
            h,
            "head auto: exact-pruned, since a token takes %.2f ms of the head instead of %.2f; making its "
            "sketch took %.0f ms, which pays after %.0f token%s",
            pruned, dense, h->stats.sketch_s * 1e3, tokens, tokens == 1 ? "" : "s");
    else
        ct_head_log(
            h,
            "head auto: dense, since a token takes %.2f ms of the head, and %.2f with exact-pruned; it is "
            "tried again from time to time",
            dense, pruned);
}

static void took_pruned(struct ct_head *h, int n, double seconds)
{
    struct ct_pruned *p = h->pruned;

    if (p->mixed)
        return;
    const struct ct_head_times *t = ct_head_account_took(&p->account, n, p->last_pruned, seconds);
    if (h->asked == CARAT_HEAD_AUTO && n == 1 && t->known)
        tell_choice(h, t);
}

const struct ct_head_strategy ct_strategy_pruned = {.plan = plan_pruned,
                                                    .lay_out = lay_out_pruned,
                                                    .load = load_pruned,
                                                    .end = end_pruned,
                                                    .rows = rows_pruned,
                                                    .took = took_pruned};
