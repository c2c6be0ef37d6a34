/* SPDX-License-Identifier: Apache-2.0 */
/* stats.c: see engine.h. Times come from step.c; nothing here looks at a clock. */
#include "engine/engine.h"

#include <limits.h>
#include <math.h>

enum {
    SURE = 8,    /* passes after which a cost decides something */
    FIRST = 4,   /* passes of which the fastest counts: the first ones meet cold memory */
    MOST = 64,   /* passes that are counted */
    MEMORY = 16, /* passes that a moving mean goes back */
    PROBE = 64,  /* passes of one row after which a larger one is tried again */
};

/* ---- times ---- */

void ct_times_add(struct ct_times *t, double seconds)
{
    int octave = 0;
    double part = frexp(CT_MAX(seconds * 1e6, 1), &octave); /* [0.5, 1) of the octave's end */
    int at = (octave - 1) * CT_TIME_PARTS + (int)((2 * part - 1) * CT_TIME_PARTS);

    t->n++;
    t->sum += seconds;
    t->squares += seconds * seconds;
    t->part[CT_MIN(at, (int)CT_COUNT(t->part) - 1)]++;
}

double ct_times_percentile(const struct ct_times *t, double share)
{
    double below = share * (double)t->n, seen = 0;
    int i = 0;

    if (t->n == 0)
        return 0;
    while (i < (int)CT_COUNT(t->part) - 1 && (seen += t->part[i]) < below)
        i++;
    return ldexp(1 + (i % CT_TIME_PARTS + 0.5) / CT_TIME_PARTS, i / CT_TIME_PARTS) * 1e-6;
}

int ct_row_bucket(int rows)
{
    int bucket = 0;

    while (bucket < CARAT_ROW_BUCKETS - 1 && rows > 1 << bucket)
        bucket++;
    return bucket;
}

/* ---- costs ---- */

static int class_of(int depth)
{
    return depth <= 1024 ? 0 : depth <= 4096 ? 1 : depth <= 16384 ? 2 : 3;
}

/* The first passes give the fastest of them, since they meet cold memory; later ones move the mean, and none
 * of them by more than twice or half of it: a pass that somebody disturbed says little. */
static void learn(carat_cost *c, int rows, double nanoseconds)
{
    c->passes += c->passes < MOST;
    if (c->passes <= FIRST) {
        if (c->nanoseconds > 0 && nanoseconds * c->rows >= c->nanoseconds * rows)
            return;
        c->rows = rows;
        c->nanoseconds = nanoseconds;
        return;
    }
    double expected = c->nanoseconds * rows / c->rows;
    nanoseconds = CT_MAX(expected / 2, CT_MIN(nanoseconds, 2 * expected));
    c->rows += (rows - c->rows) / MEMORY;
    c->nanoseconds += (nanoseconds - c->nanoseconds) / MEMORY;
}

/* Between the nearest points on both sides; 0: there are not two, and none in the bucket itself. */
static double cost_in(const carat_cost *of, int rows)
{
    const carat_cost *below = NULL, *above = NULL, *own = &of[ct_row_bucket(rows)];

    for (int i = 0; i < CARAT_ROW_BUCKETS; i++) {
        if (of[i].nanoseconds > 0 && of[i].rows <= rows)
            below = &of[i];
        if (of[i].nanoseconds > 0 && of[i].rows >= rows && !above)
            above = &of[i];
    }
    if (below && above)
        return below->rows == above->rows
                   ? below->nanoseconds
                   : below->nanoseconds + (above->nanoseconds - below->nanoseconds) * (rows - below->rows) /
                                              (above->rows - below->rows);
    if (own->nanoseconds > 0)
        return own->nanoseconds * CT_MAX(1, rows / own->rows);
    return 0;
}

typedef const carat_cost cost_table[CARAT_COST_DEPTHS][CARAT_ROW_BUCKETS];

/* By one table of a kind. */
static double cost_by(cost_table of, int rows, int depth)
{
    const int at = class_of(depth);
    double one = cost_in(of[at], 1), cost = cost_in(of[at], rows);

    /* At another depth a pass costs more or less, and so does one row. */
    for (int far = 1; cost == 0 && one > 0 && far < CARAT_COST_DEPTHS; far++)
        for (int side = -1; side <= 1 && cost == 0; side += 2)
            if (at + side * far >= 0 && at + side * far < CARAT_COST_DEPTHS) {
                double other = cost_in(of[at + side * far], 1);
                cost = other > 0 ? cost_in(of[at + side * far], rows) * one / other : 0;
            }
    return cost;
}

/* The cost of a pass. Where two compute, it is that of the faster one, which the pass goes to. */
double ct_cost_of(const carat_costs *costs, int rows, int depth, bool all_logits)
{
    const int kind = all_logits ? 0 : 1;
    const double cost = cost_by(costs->of[kind], rows, depth),
                 on_gpu = cost_by(costs->on_gpu[kind], rows, depth);

    return cost > 0 && on_gpu > 0 ? CT_MIN(cost, on_gpu) : CT_MAX(cost, on_gpu);
}

enum ct_turn ct_faster_side(const carat_costs *costs, int rows, int depth, bool all_logits)
{
    const int kind = all_logits ? 0 : 1;

    for (; depth > 0; depth /= 4) /* where not both are known, what is nearest below decides */
        for (int n = rows; n > 0; n /= 2) {
            const double cost = cost_by(costs->of[kind], n, depth),
                         on_gpu = cost_by(costs->on_gpu[kind], n, depth);
            if (cost > 0 && on_gpu > 0)
                return cost < on_gpu ? CT_TURN_HOST : CT_TURN_DEVICE;
        }
    return CT_TURN_OPEN;
}

void ct_choose_side(carat_engine *e, struct ct_pass_facts *pass)
{
    pass->chosen = e->sides.chooses;
    pass->why = e->sides.gone || e->sides.no_device.code ? CARAT_DISPATCH_NO_GPU : CARAT_DISPATCH_OPTION;
    if (e->sides.chooses) {
        const enum ct_turn faster =
            e->sides.turn ? e->sides.turn
                          : ct_faster_side(&e->stats.costs, pass->rows, pass->depth, pass->all_logits);
        e->backend->on_host = faster == CT_TURN_HOST;
        pass->why = e->sides.turn ? CARAT_DISPATCH_MEASURE
                    : faster      ? CARAT_DISPATCH_COST
                                  : CARAT_DISPATCH_UNKNOWN;
    }
    pass->on_gpu = e->backend->apart && !e->backend->on_host;
}

double ct_pass_cost(carat_engine *e, int rows)
{
    ct_lock_enter(&e->lock);
    double cost = ct_cost_of(&e->stats.costs, rows, e->stats.depth, true);
    ct_lock_leave(&e->lock);
    return cost;
}

/* The number of passes behind what is known of a bucket. */
static int passes_of(const struct ct_stats *s, int rows, int depth, bool all_logits)
{
    const int kind = all_logits ? 0 : 1, at = class_of(depth), bucket = ct_row_bucket(rows);

    return CT_MAX(s->costs.of[kind][at][bucket].passes, s->costs.on_gpu[kind][at][bucket].passes);
}

bool ct_one_by_one(struct ct_stats *s, int n, int depth)
{
    /* A row of a prompt wants no logits; one that does costs more, so that it says enough. */
    bool all_logits = passes_of(s, 1, depth, false) < SURE;
    double one = ct_cost_of(&s->costs, 1, depth, all_logits), all = ct_cost_of(&s->costs, n, depth, false);
    bool cheaper = n > 1 && passes_of(s, 1, depth, all_logits) >= SURE &&
                   passes_of(s, n, depth, false) >= SURE && 1.1 * n * one < all;

    if (cheaper && s->single < PROBE) {
        s->single++;
        return true;
    }
    s->single = 0;
    return false;
}

static carat_status check_costs(const carat_cost *of, carat_error *err)
{
    for (int i = 0; i < CARAT_COST_KINDS * CARAT_COST_DEPTHS * CARAT_ROW_BUCKETS; i++) {
        const int bucket = i % CARAT_ROW_BUCKETS;
        bool known = of[i].passes > 0 && of[i].passes <= MOST && isfinite(of[i].nanoseconds) &&
                     of[i].nanoseconds > 0 && of[i].rows >= 1 && of[i].rows <= INT_MAX &&
                     ct_row_bucket((int)ceil(of[i].rows)) == bucket;
        bool empty = of[i].passes == 0 && of[i].nanoseconds == 0 && of[i].rows == 0;
        if (!known && !empty)
            return ct_fail(
                err, CARAT_E_ARGUMENT,
                "entry %d of carat_costs is %d passes of %g rows and %g ns, expected 1 to %d passes "
                "of the rows of its bucket",
                i, of[i].passes, of[i].rows, of[i].nanoseconds, MOST);
    }
    return CARAT_OK;
}

carat_status ct_stats_take_costs(struct ct_stats *s, const carat_costs *costs, carat_error *err)
{
    CT_TRY(check_costs(&costs->of[0][0][0], err));
    CT_TRY(check_costs(&costs->on_gpu[0][0][0], err));
    s->costs = *costs;
    return CARAT_OK;
}

/* ---- what passes did ---- */

void ct_stats_pass(struct ct_stats *s, const struct ct_pass_facts *pass)
{
    int bucket = ct_row_bucket(pass->rows), others = pass->rows - pass->drafted - pass->reevaluated;

    ct_times_add(&s->times[bucket], pass->seconds);
    s->rows[bucket] += (uint64_t)pass->rows;
    struct ct_dispatched *by = &s->by[pass->on_gpu];
    ct_times_add(&by->times, pass->seconds);
    by->rows += (uint64_t)pass->rows;
    by->by_reason[pass->why]++;
    s->drafted += (uint64_t)pass->drafted;
    s->reevaluated += (uint64_t)pass->reevaluated;
    *(pass->decodes && !pass->one_by_one ? &s->decode : &s->prefill) += (uint64_t)others;
    s->one_by_one += pass->one_by_one ? (uint64_t)pass->rows : 0;
    s->depth = pass->depth;
    const int kind = pass->all_logits ? 0 : 1, at = class_of(pass->depth);
    learn(pass->chosen && pass->on_gpu ? &s->costs.on_gpu[kind][at][bucket] : &s->costs.of[kind][at][bucket],
          pass->rows, pass->seconds * 1e9);
}

static carat_pass_stats pass_stats(const struct ct_times *t, uint64_t rows, int first, int last)
{
    carat_pass_stats p = {.first = first,
                          .last = last,
                          .passes = t->n,
                          .rows = rows,
                          .seconds = t->sum,
                          .p50 = ct_times_percentile(t, 0.5),
                          .p95 = ct_times_percentile(t, 0.95),
                          .p99 = ct_times_percentile(t, 0.99)};

    if (t->n) {
        p.mean = t->sum / (double)t->n;
        p.cv = p.mean > 0 ? sqrt(CT_MAX(t->squares / (double)t->n - p.mean * p.mean, 0)) / p.mean : 0;
    }
    return p;
}

static carat_dispatch dispatch_stats(const struct ct_dispatched *by, const char *reason)
{
    carat_dispatch d = {.all = pass_stats(&by->times, by->rows, 1, INT32_MAX), .reason = reason};

    memcpy(d.by_reason, by->by_reason, sizeof d.by_reason);
    return d;
}

const char *ct_engine_device_why(const carat_engine *e)
{
    return e->sides.gone             ? e->sides.gone->failure.message
           : e->sides.no_device.code ? e->sides.no_device.message
           : !e->backend->apart      ? "the engine was made for the CPU"
           : e->sides.chooses        ? "what passes cost says where each is computed"
           : e->sides.host_layers    ? "the engine was made with its last layers on the GPU"
                                     : "the engine was made for the GPU";
}

carat_status carat_engine_get_stats(carat_engine *engine, carat_engine_stats *stats, carat_error *err)
{
    CT_GIVEN(engine, err);
    ct_lock_enter(&engine->lock);
    const struct ct_stats *s = &engine->stats;
    const struct ct_kv_use use = ct_kv_cache_use(&engine->cache);
    carat_engine_stats full = {.prefill = s->prefill,
                               .decode = s->decode,
                               .drafted = s->drafted,
                               .reevaluated = s->reevaluated,
                               .restored = s->restored,
                               .one_by_one = s->one_by_one,
                               .blocks = use.blocks,
                               .blocks_held = use.held,
                               .snapshots_taken = engine->snapshots.taken,
                               .snapshots_used = s->snapshots_used,
                               .snapshots_dropped = engine->snapshots.dropped};
    for (int i = 0; i < CARAT_ROW_BUCKETS; i++) {
        full.by_rows[i] = pass_stats(&s->times[i], s->rows[i], i ? (1 << (i - 1)) + 1 : 1,
                                     i < CARAT_ROW_BUCKETS - 1 ? 1 << i : INT32_MAX);
        full.passes += full.by_rows[i].passes;
        full.rows += full.by_rows[i].rows;
        full.seconds += full.by_rows[i].seconds;
    }
    full.cpu = dispatch_stats(&s->by[0], ct_engine_device_why(engine));
    full.gpu = dispatch_stats(&s->by[1], full.cpu.reason);
    ct_lock_leave(&engine->lock);
    return ct_give_struct(stats, &full, sizeof full, "carat_engine_stats", err);
}

carat_status carat_engine_get_costs(carat_engine *engine, carat_costs *costs, carat_error *err)
{
    CT_GIVEN(engine, err);
    ct_lock_enter(&engine->lock);
    carat_costs full = engine->stats.costs;
    ct_lock_leave(&engine->lock);
    return ct_give_struct(costs, &full, sizeof full, "carat_costs", err);
}
