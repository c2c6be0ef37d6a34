/* SPDX-License-Identifier: Apache-2.0 */
/* head_tiles.c: logits out of tiles of the head. Native tiles are rows of the head and give its bits. int8
 * tiles are a weight of their own in the form of Q8_0 (NUMERICS.md section 4), and kernels read it as one.
 * Memory and threads are the backend's.
 *
 * Tiles are sub-weights, so that no product knows of them. Native ones are read where a packed file has them,
 * and given back when more were read than are kept; others are copies in planned memory, made when they are
 * needed. Then neither the head nor an embedding that is one with it is packed or counted as a whole
 * (ct_head.aside). */
#include "model/head_strategy.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "model/tiles.h"
#include "quant/encode.h"

enum {
    RULE = 1, /* by which int8 tiles are made (ct_head_made) */
};

struct ct_head_tiles {
    carat_head_quant quant;
    int n, rows; /* tiles, and rows of each but the last */
    int kept;    /* tiles that are kept at most */
    int most;    /* of a shortlist; 0: every token reads all */
    bool made;   /* tiles are copies; else they are read where the head lies */
    bool early;  /* they are there before the first token */

    struct ct_made kept_tiles;     /* all int8 tiles, as the packed copy of the model keeps them */
    struct ct_weight head, copies; /* copies: slots one behind another */
    float largest;                 /* |value| of the tensor */
    struct ct_tiles slots;
    int32_t *chosen; /* [most] */
};

const struct ct_weight *ct_head_weight(const struct ct_head *h)
{
    return h->tiles && h->tiles->made ? &h->tiles->copies : h->packed;
}

/* ---- memory ---- */

static enum ct_type type_of_copies(const struct ct_head *h)
{
    return h->o.quant ? CT_Q8_0 : h->stored.type;
}

/* Bytes of a tile in memory. */
static size_t tile_bytes(const struct ct_head *h)
{
    const int cols = h->stored.cols, panels = (h->o.tile + CT_PANEL_ROWS - 1) / CT_PANEL_ROWS;
    size_t bytes = ct_backend_panel_size(type_of_copies(h), cols) * (size_t)panels;

    if (bytes == 0 && ct_type_row_bytes(type_of_copies(h), (size_t)cols, &bytes))
        bytes *= (size_t)h->o.tile;
    return bytes;
}

/* How many tiles are kept, by number and by bytes. */
static carat_status choose_kept(const struct ct_head *h, struct ct_head_tiles *t, carat_error *err)
{
    const size_t bytes = tile_bytes(h);

    t->kept = h->o.capacity ? CT_MIN(h->o.capacity, t->n) : t->n;
    if (h->o.capacity_bytes && h->o.capacity_bytes < bytes)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "the head's capacity_bytes is %zu, expected at least the %zu of a tile of %d rows",
                       h->o.capacity_bytes, bytes, t->rows);
    if (h->o.capacity_bytes)
        t->kept = (int)CT_MIN((size_t)t->kept, h->o.capacity_bytes / bytes);
    if (t->early)
        t->kept = t->n;
    return CARAT_OK;
}

/* Rows of all slots. Tiles that are made before the first token fill them in order, so the last, which may be
 * shorter, has the last slot; tiles that come as a text wants them are in any order, so each slot holds a
 * whole one. */
static int rows_of_copies(const struct ct_head *h)
{
    const struct ct_head_tiles *t = h->tiles;

    return t->early ? h->stored.rows : t->kept * t->rows;
}

/* All int8 tiles behind one another are the whole head, however it is cut. */
static void find_kept(struct ct_head *h)
{
    static const char *const names[] = {[CARAT_QUANT_GROUP] = "head.tiles.group",
                                        [CARAT_QUANT_CHANNEL] = "head.tiles.channel",
                                        [CARAT_QUANT_TENSOR] = "head.tiles.tensor"};
    struct ct_head_tiles *t = h->tiles;
    const struct ct_weight form = ct_head_made_panels(CT_Q8_0, h->stored.rows, h->stored.cols);

    if (t->quant && t->early)
        t->kept_tiles = ct_head_made(h, names[t->quant], RULE, &form);
}

static carat_status count_tiles(struct ct_head *h, carat_error *err)
{
    const struct ct_head_tiles *t = h->tiles;
    struct ct_backend *b = h->backend;

    if (t->kept_tiles.w.data)
        CT_TRY(b->verb.plan_weight(b, &t->kept_tiles.w, err));
    else if (t->made)
        b->verb.plan_made(b, type_of_copies(h), rows_of_copies(h), h->stored.cols);
    if (!h->aside)
        return CARAT_OK;
    /* where they are no copies, one passes by beside those that are kept */
    const int together = t->made ? 1 : CT_MIN(t->kept + 1, t->n);
    const struct ct_weight part = ct_weight_rows(&h->stored, 0, CT_MIN(together * t->rows, h->stored.rows));
    b->verb.plan_part(b, &h->stored, ct_weight_bytes(&part));
    return CARAT_OK;
}

static carat_status plan_tiles(struct ct_head *h, carat_error *err)
{
    struct ct_head_tiles *t = h->tiles = calloc(1, sizeof *t);
    size_t bytes;

    if (!t)
        return ct_no_memory(err, "the tiles of a head");
    if (h->o.quant && !ct_type_row_bytes(CT_Q8_0, (size_t)h->stored.cols, &bytes))
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "the head's quant is int8, which has groups of 32 values, and its rows have %d",
                       h->stored.cols);
    t->quant = h->o.quant;
    t->n = h->stats.tiles;
    t->rows = h->o.tile;
    t->most =
        h->o.shortlist_tiles > t->n / 2 ? 0 : h->o.shortlist_tiles; /* of more there is no room for a list */
    t->early = h->o.strategy == CARAT_HEAD_PRELOAD;
    h->aside = t->quant || !t->early;
    t->made = h->aside && (t->quant || !h->backend->verb.stays(h->backend, &h->stored));
    CT_TRY(choose_kept(h, t, err));
    find_kept(h);
    CT_TRY(count_tiles(h, err));
    h->stats.kept = t->kept;
    h->stats.exact = !t->quant && !t->most;
    h->stats.tile_bytes = t->made ? tile_bytes(h) * (size_t)t->kept : 0;
    return CARAT_OK;
}

static void lay_out_tiles(struct ct_head *h, int rows)
{
    struct ct_head_tiles *t = h->tiles;
    struct ct_backend *b = h->backend;

    (void)rows;
    t->chosen = b->verb.alloc_host(b, (size_t)CT_MAX(t->most, 1) * sizeof *t->chosen);
    ct_tiles_begin(&t->slots, t->n, t->kept, b->verb.alloc_host(b, ct_tiles_bytes(t->n, t->kept)));
}

static void end_tiles(struct ct_head *h)
{
    free(h->tiles);
    h->tiles = NULL;
}

/* ---- copies ---- */

static void encode_row(void *user, int row, const float *values, void *blocks)
{
    const struct ct_head_tiles *t = user;
    const size_t n = (size_t)t->head.cols;

    (void)row;
    if (t->quant == CARAT_QUANT_GROUP)
        ct_encode(CT_Q8_0, blocks, values, n);
    else
        ct_encode_alike(blocks, values, n,
                        t->quant == CARAT_QUANT_TENSOR ? t->largest : ct_largest(values, n), 127);
}

struct scan {
    size_t cols;
    atomic_uint largest; /* bits of a float that is not negative, ordered as it is; NaN is above all */
};

/* Looks at a row; what it should become is made later. */
static void scan_row(void *user, int row, const float *values, void *blocks)
{
    struct scan *s = user;
    const float most = ct_largest(values, s->cols);
    uint32_t bits, found = atomic_load_explicit(&s->largest, memory_order_relaxed);

    (void)row;
    (void)blocks;
    memcpy(&bits, &most, sizeof bits);
    bits &= INT32_MAX;
    while (bits > found && !atomic_compare_exchange_weak_explicit(&s->largest, &found, bits,
                                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

static int tile_rows(const struct ct_head_tiles *t, int tile)
{
    return CT_MIN(t->rows, t->head.rows - tile * t->rows);
}

static struct ct_weight own_rows(const struct ct_head_tiles *t, int tile)
{
    return ct_weight_rows(&t->head, tile * t->rows, tile * t->rows + tile_rows(t, tile));
}

static struct ct_weight copied_rows(const struct ct_head_tiles *t, int slot, int rows)
{
    return ct_weight_rows(&t->copies, slot * t->rows, slot * t->rows + rows);
}

/* False: it was stopped. */
static bool make_tile(struct ct_head *h, int tile, int slot, const struct ct_maker *maker)
{
    const struct ct_head_tiles *t = h->tiles;
    const struct ct_weight from = own_rows(t, tile), to = copied_rows(t, slot, from.rows);
    const bool whole = h->backend->verb.make(h->backend, &to, &t->head, tile * t->rows, maker);

    h->backend->verb.give_back(h->backend, &from);
    return whole;
}

static bool make_copy(struct ct_head *h, int tile, int slot)
{
    struct ct_head_tiles *t = h->tiles;
    const struct ct_weight made = copied_rows(t, slot, tile_rows(t, tile));

    h->stats.made_bytes += ct_weight_bytes(&made);
    return make_tile(h, tile, slot, t->quant ? &(struct ct_maker){encode_row, t} : NULL);
}

static bool find_largest(struct ct_head *h)
{
    struct ct_head_tiles *t = h->tiles;
    struct scan scan = {.cols = (size_t)t->head.cols};
    bool whole = true;

    for (int i = 0; whole && i < t->n; i++)
        whole = make_tile(h, i, 0, &(struct ct_maker){scan_row, &scan});
    const uint32_t bits = atomic_load(&scan.largest);
    memcpy(&t->largest, &bits, sizeof bits);
    return whole;
}

/* A stop is noticed by whoever began to load. */
static carat_status load_tiles(struct ct_head *h, carat_error *err)
{
    struct ct_head_tiles *t = h->tiles;
    const bool mapped = t->kept_tiles.w.data, makes = t->made && !mapped;
    bool whole = true;

    (void)err;
    t->head = *h->packed;
    if (mapped) {
        t->copies = h->backend->verb.pack_weight(h->backend, t->kept_tiles.w);
        h->stats.from_cache = 1;
    } else if (t->made) {
        t->copies =
            h->backend->verb.take_made(h->backend, type_of_copies(h), rows_of_copies(h), t->head.cols);
        t->copies.scale = t->quant ? 1 : t->head.scale;
    }
    if (t->quant == CARAT_QUANT_TENSOR && makes)
        whole = find_largest(h);
    for (int i = 0; whole && i < t->n && t->early; i++) {
        const int slot = ct_tiles_take(&t->slots, i).slot;
        whole = !makes || make_copy(h, i, slot);
    }
    if (whole && makes && t->copies.layout == CT_LAYOUT_PANELS)
        ct_head_keep(h, &t->kept_tiles, t->copies.data);
    t->slots.misses = 0; /* of tokens, from now on */
    if (t->quant)
        ct_head_log(h, "int8 tiles of the head are another model than the one in the file");
    if (t->most)
        ct_head_log(h, "a shortlist of %d of %d tiles of the head is approximate", t->most, t->n);
    if (t->most > t->kept)
        ct_head_log(h, "a shortlist of %d tiles is longer than the %d that are kept", t->most, t->kept);
    return CARAT_OK;
}

/* ---- logits ---- */

/* Tiles of which n rows of the pass get logits, one tile behind another in `to`. Tiles whose rows lie
 * together are one product. */
struct evaluation {
    struct ct_head *h;
    const struct ct_pass *p;
    int first, n;
    float *const *to;
    struct ct_weight run; /* tiles that wait; rows 0: none do */
    int done;             /* rows of the head that are through, and with those that wait */
    int rows;
};

static void finish_run(struct evaluation *e)
{
    struct ct_backend *b = e->p->backend;
    float *to[CT_HEAD_SLICE];

    for (int i = 0; i < e->n; i++)
        to[i] = e->to[i] + e->done;
    if (e->run.rows)
        b->verb.project_logits(b, e->p->h, e->first, e->n, to, &e->run, e->p->config->logit_cap);
    e->done += e->run.rows;
    e->run.rows = 0;
}

static void add_to_run(struct evaluation *e, const struct ct_weight *w)
{
    struct ct_weight *run = &e->run;

    if (run->rows && (const uint8_t *)run->data + ct_weight_bytes(run) == w->data) {
        run->rows += w->rows;
    } else {
        finish_run(e);
        *run = *w;
    }
    e->rows += w->rows;
}

/* False: the pass was stopped. */
static bool evaluate_tile(struct evaluation *e, int tile)
{
    struct ct_head_tiles *t = e->h->tiles;
    struct ct_backend *b = e->p->backend;
    const struct ct_tile_place place = ct_tiles_take(&t->slots, tile);
    struct ct_weight w = own_rows(t, tile);

    if (place.evicted >= 0) { /* it may be in the run */
        const struct ct_weight gone = own_rows(t, place.evicted);
        finish_run(e);
        if (!t->made)
            b->verb.give_back(b, &gone);
    }
    if (t->made)
        w = copied_rows(t, place.slot, w.rows);
    if (t->made && !place.hit && !make_copy(e->h, tile, place.slot)) {
        ct_tiles_drop(&t->slots, tile);
        return false;
    }
    add_to_run(e, &w);
    e->h->stats.evaluated++;
    return true;
}

static void count_evaluation(struct ct_head *h, const struct ct_weight *w, int rows)
{
    const struct ct_tiles *s = &h->tiles->slots;

    h->stats.hits = s->hits;
    h->stats.misses = s->misses;
    h->stats.evictions = s->evictions;
    h->stats.bytes += ct_weight_bytes(w) / (size_t)w->rows * (size_t)rows;
}

/* Tiles chosen[n_chosen], NULL: the first ones. Returns their rows. Who listens hears of one product, and of
 * logits where they are all. */
static int evaluate(struct ct_head *h, const struct ct_pass *p, int first, int n, float *const *to,
                    const int32_t *chosen, int n_chosen)
{
    struct evaluation e = {.h = h, .p = p, .first = first, .n = n, .to = to};
    const struct ct_weight *w = ct_head_weight(h);
    const double start = ct_trace_start(p->backend);

    for (int i = 0; i < n_chosen; i++)
        if (!evaluate_tile(&e, chosen ? chosen[i] : i))
            break;
    finish_run(&e);
    count_evaluation(h, w, e.rows);
    ct_trace_stop(p->backend, start,
                  (struct ct_event){.verb = "project_logits",
                                    .n = 1,
                                    .w = &w,
                                    .n_rows = e.rows,
                                    .first = first,
                                    .n_logits = e.rows == h->stored.rows ? n : 0,
                                    .logits = to});
    return e.rows;
}

static void all_tiles(struct ct_head *h, const struct ct_pass *p, int first, int n, struct ct_head_row *row)
{
    float *to[CT_HEAD_SLICE];

    for (int done = 0, part; done < n; done += part) {
        part = ct_head_all(h, row + done, n - done, to);
        evaluate(h, p, first + done, part, to, NULL, h->tiles->n);
    }
}

/* ---- shortlists ---- */

/* What is read can be a list of few tiles: the memory for all logits holds its values, then its ids. */
static bool reads_few(const struct ct_head_tiles *t, const struct ct_head_row *r)
{
    const int least = (t->most - 1) * t->rows + tile_rows(t, t->n - 1);

    return t->most && r->reading && r->reading->k > 0 && r->reading->k <= least;
}

static void few_tiles(struct ct_head *h, const struct ct_pass *p, int at, struct ct_head_row *r)
{
    struct ct_head_tiles *t = h->tiles;
    const struct ct_tile_text text = {r->held, r->more, r->n_held, r->n_more};
    const int n = ct_tiles_shortlist(&t->slots, t->rows, t->most, &text, t->chosen);
    const int rows = evaluate(h, p, at, 1, &r->memory, t->chosen, n);
    int32_t *id = (int32_t *)(void *)(r->memory + rows);

    r->logits = (struct ct_logits){r->memory, id, rows};
    for (int i = 0, k = 0; i < n && k < rows; i++)
        for (int j = 0; j < tile_rows(t, t->chosen[i]); j++)
            id[k++] = t->chosen[i] * t->rows + j;
}

static void rows_by_tiles(struct ct_head *h, const struct ct_pass *p, int first, int n,
                          struct ct_head_row *row)
{
    for (int i = 0, all; i < n; i += all) {
        for (all = 0; i + all < n && !reads_few(h->tiles, &row[i + all]); all++)
            ;
        if (all)
            all_tiles(h, p, first + i, all, &row[i]);
        else
            few_tiles(h, p, first + i, &row[i]);
        all = CT_MAX(all, 1);
    }
}

/* From now on a token reads all tiles. */
static void give_up_shortlist(struct ct_head *h)
{
    struct ct_head_tiles *t = h->tiles;

    if (!t->most)
        return;
    t->most = 0;
    h->stats.strategy = t->early ? CARAT_HEAD_PRELOAD : CARAT_HEAD_LAZY;
    h->stats.exact = !t->quant;
    h->stats.reason = "the shortlist found too few of the best ids";
    ct_head_log(h, "the shortlist is given up: it found %.3f of the best ids, less than %g", h->stats.recall,
                (double)h->o.min_recall);
}

const struct ct_head_strategy ct_strategy_tiles = {
    .plan = plan_tiles,
    .lay_out = lay_out_tiles,
    .load = load_tiles,
    .end = end_tiles,
    .rows = rows_by_tiles,
    .give_up = give_up_shortlist,
    .tiles = true,
};
