/* SPDX-License-Identifier: Apache-2.0 */
/* head.c: logits from what the forward pass leaves: a product with the head, which often is the embedding
 * table again, and the soft-cap of Gemma 2. Strategies for that are chosen here; each has a file of its
 * own.
 *
 * Logits are computed for the rows that want them, a slice of rows at a time. Each row names the memory for
 * its logits: a single row is computed there, several are copied there by the thread that computed them,
 * which also applies the soft-cap and checks that they are finite. A session holds a row of logits and gets
 * another for the next pass: one that is stopped leaves those of its last token alone. */
#include "model/head_strategy.h"

enum {
    TILE = 2624,
    TILE_OF = 64, /* rows: a tile has a multiple of them */
    SHORTLIST = 16,
};

/* What is read of a row where a backend looks for no more than so many; else NULL. */
static const struct ct_reading *few_of(const struct ct_head *h, const struct ct_head_row *row)
{
    const struct ct_reading *r = row->reading;
    const bool few = r && r->k > 0 && r->k <= CT_FEW_BEST && r->n_apart <= CT_FEW_APART &&
                     r->k + r->n_apart <= CT_MIN(r->n, h->stored.rows / 2);

    return few ? r : NULL;
}

/* Few logits are found where they are computed, unless somebody listens, who wants all. */
static void rows_dense(struct ct_head *h, const struct ct_pass *p, int first, int n, struct ct_head_row *row)
{
    struct ct_few few[CT_HEAD_SLICE];

    h->stats.bytes += n ? ct_weight_bytes(h->packed) : 0;
    if (ct_trace_reads(p->backend)) {
        ct_head_dense(h, p, first, n, row);
        return;
    }
    for (int done = 0, part; done < n; done += part) {
        bool any = false;
        part = CT_MIN(n - done, CT_HEAD_SLICE);
        for (int i = 0; i < part; i++) {
            few[i] = (struct ct_few){.reading = few_of(h, &row[done + i]), .memory = row[done + i].memory};
            any |= few[i].reading != NULL;
        }
        if (!any) { /* a row's logits are computed where they belong */
            ct_head_dense(h, p, first + done, part, row + done);
            continue;
        }
        project_few(p->backend, p->h, first + done, part, few, h->packed, p->config->logit_cap);
        for (int i = 0; i < part; i++)
            row[done + i].logits = few[i].logits;
    }
}

static const struct ct_head_strategy strategy_dense = {.rows = rows_dense};

static const struct {
    const char *name;
    const struct ct_head_strategy *strategy;
} heads[] = {
    [CARAT_HEAD_DENSE] = {"dense", &strategy_dense},
    [CARAT_HEAD_PRELOAD] = {"preload", &ct_strategy_tiles},
    [CARAT_HEAD_LAZY] = {"lazy", &ct_strategy_tiles},
    [CARAT_HEAD_SHORTLIST] = {"shortlist", &ct_strategy_tiles},
    [CARAT_HEAD_EXACT_PRUNED] = {"exact-pruned", &ct_strategy_pruned},
    [CARAT_HEAD_AUTO] = {"auto", NULL}, /* it becomes one of the others */
};

const char *carat_head_name(carat_head head)
{
    return (unsigned)head < CT_COUNT(heads) ? heads[head].name : "";
}

/* ---- options ---- */

static carat_status head_range(const char *what, long long value, long long lo, long long hi,
                               carat_error *err)
{
    if (value >= lo && value <= hi)
        return CARAT_OK;
    return ct_fail(err, CARAT_E_ARGUMENT, "%s is %lld, expected %lld to %lld", what, value, lo, hi);
}

static carat_status check_tiles(struct ct_head *h, carat_error *err)
{
    carat_head_options *o = &h->o;
    const int rows = h->stored.rows;

    if (o->tile && (o->tile < TILE_OF || o->tile % TILE_OF || o->tile > rows))
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "the head's tile is %d, expected a multiple of %d up to the vocabulary of %d", o->tile,
                       TILE_OF, rows);
    if (!o->tile)
        o->tile = CT_MIN(TILE, rows);
    int tiles = (rows + o->tile - 1) / o->tile;
    CT_TRY(head_range("the head's capacity", o->capacity, 0, tiles, err));
    CT_TRY(head_range("the head's shortlist_tiles", o->shortlist_tiles, 0, tiles, err));
    if (!o->shortlist_tiles && o->strategy == CARAT_HEAD_SHORTLIST)
        o->shortlist_tiles = CT_MIN(SHORTLIST, tiles);
    h->stats.tile = o->tile;
    h->stats.tiles = tiles;
    return CARAT_OK;
}

/* What auto begins with; int8 is another model, and has to be allowed. */
static void choose_head(struct ct_head *h)
{
    const struct ct_type_info *type = ct_type_info(h->stored.type);
    const char *why = ct_not_pruned(&h->stored);
    const bool int8 = h->o.quant != CARAT_QUANT_NATIVE && type->bytes * 8 > 9 * type->block;

    h->o.strategy = int8 ? CARAT_HEAD_PRELOAD : why ? CARAT_HEAD_DENSE : CARAT_HEAD_EXACT_PRUNED;
    h->stats.reason = int8  ? "int8 tiles are allowed, and half of the head"
                      : why ? why
                            : "it stays as long as it is measured to be faster than dense";
    if (!int8)
        h->o.quant = CARAT_QUANT_NATIVE;
}

static carat_status check_head(struct ct_head *h, bool exact, bool apart, carat_error *err)
{
    carat_head_options *o = &h->o;

    CT_TRY(head_range("the head's strategy", o->strategy, 0, CARAT_HEAD_AUTO, err));
    CT_TRY(head_range("the head's quant", o->quant, 0, CARAT_QUANT_TENSOR, err));
    CT_TRY(head_range("the head's audit", o->audit, 0, INT32_MAX, err));
    if (!(o->min_recall >= 0 && o->min_recall <= 1))
        return ct_fail(err, CARAT_E_ARGUMENT, "the head's min_recall is %g, expected 0 to 1", o->min_recall);
    if (o->min_recall == 0)
        o->min_recall = 0.98f;
    if (o->strategy == CARAT_HEAD_AUTO)
        choose_head(h);
    if ((exact || apart) && o->strategy != CARAT_HEAD_DENSE) {
        o->strategy = CARAT_HEAD_DENSE;
        h->stats.reason = exact ? "exact arithmetic computes every row" : "a GPU computes every row";
    }
    h->strategy = heads[o->strategy].strategy;
    if (o->quant != CARAT_QUANT_NATIVE && !h->strategy->tiles)
        return ct_fail(err, CARAT_E_ARGUMENT, "the head's quant is for tiles, and head %s has none",
                       carat_head_name(o->strategy));
    if (!h->strategy->tiles && o->shortlist_tiles)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "the head's shortlist_tiles is %d, and head %s looks at no tiles", o->shortlist_tiles,
                       carat_head_name(o->strategy));
    return h->strategy->tiles ? check_tiles(h, err) : CARAT_OK;
}

/* ---- its life ---- */

carat_status ct_head_plan(struct ct_head *h, const carat_head_options *o, struct ct_backend *b,
                          const struct ct_weights *stored, const struct ct_file *file, bool exact,
                          carat_error *err)
{
    *h = (struct ct_head){
        .backend = b, .stored = b ? ct_weight_form(b, stored->head) : stored->head, .file = file};
    h->stats = (carat_head_stats){.size = sizeof h->stats, .reason = "", .fallback = "", .exact = 1};
    if (o)
        h->o = *o;
    h->asked = h->o.strategy;
    CT_TRY(check_head(h, exact, b && b->apart, err));
    h->stats.strategy = h->o.strategy;
    if (h->strategy->tiles && h->stored.type != stored->head.type)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "head %s reads rows of the file, and fast8 makes others of them: expected dense, "
                       "exact-pruned or auto",
                       carat_head_name(h->o.strategy));
    return h->strategy->plan ? h->strategy->plan(h, err) : CARAT_OK;
}

void ct_head_gives_up(struct ct_head *h, const carat_head_options *asked, const char *why)
{
    h->asked = asked->strategy;
    h->o.log = asked->log;
    h->o.user = asked->user;
    h->o.audit = asked->audit;
    h->stats.reason = why;
}

void ct_head_lay_out(struct ct_head *h, int rows)
{
    if (h->o.audit)
        h->audited = h->backend->verb.alloc_host(h->backend, (size_t)h->stored.rows * sizeof *h->audited);
    if (h->strategy->lay_out)
        h->strategy->lay_out(h, rows);
}

carat_status ct_head_load(struct ct_head *h, const struct ct_weight *packed, carat_error *err)
{
    h->packed = packed;
    if (h->asked != h->o.strategy)
        ct_head_log(h, h->asked == CARAT_HEAD_AUTO ? "head %s: %s; %s" : "head %s becomes %s: %s",
                    carat_head_name(h->asked), carat_head_name(h->o.strategy), h->stats.reason);
    return h->strategy->load ? h->strategy->load(h, err) : CARAT_OK;
}

void ct_head_end(struct ct_head *h)
{
    if (h->strategy && h->strategy->end)
        h->strategy->end(h);
}

/* ---- rows ---- */

void ct_head_rows(struct ct_head *h, const struct ct_pass *p, int first, int n, struct ct_head_row *row)
{
    h->stats.dense_bytes += n ? ct_weight_bytes(h->packed) : 0;
    h->stats.tokens += (uint64_t)n;
    h->strategy->rows(h, p, first, n, row);
    ct_head_audit_rows(h, p, first, n, row);
}

void ct_head_took(struct ct_head *h, int n, double seconds)
{
    h->stats.seconds += seconds;
    if (h->strategy->took)
        h->strategy->took(h, n, seconds);
}

bool ct_head_again(struct ct_head *h, const struct ct_pass *p, const float *hidden, struct ct_head_row *row)
{
    static const int32_t nothing[1];
    static const struct ct_seen itself[1];
    static const bool wanted[1] = {true};
    const struct ct_rows rows = {1, nothing, nothing, nothing, {itself, itself}, wanted, true};
    struct ct_backend *b = p->backend;

    b->verb.begin_pass(b, &rows, &(struct ct_watch){0}); /* not traced: nothing is evaluated */
    b->verb.copy_in(b, p->h, 0, hidden);
    ct_head_rows(h, p, 0, 1, row);
    bool finite = b->verb.is_finite(b, 0);
    end_pass(b);
    return finite;
}
