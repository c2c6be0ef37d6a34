/* SPDX-License-Identifier: Apache-2.0 */
/* kcheck_vector.c: kcheck's random cases of everything but matrix products and attention: norms,
 * activations, positions, sampling. */
#include "kcheck.h"

/* Arguments that nobody may write to. */
static const float *inputs(struct kcheck *c, size_t n, bool finite)
{
    float *x = kc_take(c, n * sizeof *x, 4);
    (finite ? kc_fill_finite : kc_fill_inputs)(c, x, n);
    kc_freeze(c, x);
    return x;
}

/* The same over the range in which exp goes from 0 to infinity. */
static const float *spread(struct kcheck *c, size_t n)
{
    float *x = kc_take(c, n * sizeof *x, 4);
    for (size_t i = 0; i < n; i++)
        x[i] = kc_uniform(c, -1, 1) * (float)(1 << kc_below(c, 8));
    kc_freeze(c, x);
    return x;
}

static int draw_length(struct kcheck *c)
{
    int n = 1 + kc_below(c, kc_chance(c, 4) ? 3000 : 130);
    snprintf(c->shape, sizeof c->shape, "%d values", n);
    return n;
}

static void norm_case(struct kcheck *c)
{
    int n = draw_length(c);
    const float *x = inputs(c, (size_t)n, false), *w = inputs(c, (size_t)n, true);

    ct_case_elementwise(&c->cases, CT_NORM, x, w, kc_chance(c, 2) ? 1e-6f : kc_uniform(c, 0, 1e-3f), n);
}

static void elementwise_case(struct kcheck *c, enum ct_elementwise what)
{
    int n = draw_length(c);
    const float *x = kc_chance(c, 2) ? spread(c, (size_t)n) : inputs(c, (size_t)n, false);
    const float *y = inputs(c, (size_t)n, false);

    ct_case_elementwise(&c->cases, what, x, y, kc_chance(c, 2) ? 30 : kc_uniform(c, 0.01f, 100), n);
}

static void add_case(struct kcheck *c)
{
    elementwise_case(c, CT_ADD);
}
static void scale_case(struct kcheck *c)
{
    elementwise_case(c, CT_SCALE);
}
static void add_scaled_case(struct kcheck *c)
{
    elementwise_case(c, CT_ADD_SCALED);
}
static void geglu_case(struct kcheck *c)
{
    elementwise_case(c, CT_GEGLU);
}
static void softcap_case(struct kcheck *c)
{
    elementwise_case(c, CT_SOFTCAP);
}

static void match_case(struct kcheck *c)
{
    elementwise_case(c, CT_ALTUP_MATCH);
}
static void cutoff_case(struct kcheck *c)
{
    elementwise_case(c, CT_CUTOFF);
}

static void altup_case(struct kcheck *c)
{
    const int n = draw_length(c);
    const size_t of_streams = CT_STREAMS * (size_t)n;
    const struct ct_stream_rows s = {n, inputs(c, of_streams + (size_t)n, false), inputs(c, (size_t)n, true),
                                     inputs(c, of_streams, true),
                                     inputs(c, CT_STREAMS * CT_STREAMS * CT_STREAMS, true)};

    ct_case_altup(&c->cases, &s);
}

/* Logits of which many are equal, and now and then one that is not finite. */
static void route_case(struct kcheck *c)
{
    const int n = 1 + kc_below(c, kc_chance(c, 4) ? 1000 : 130), k = 1 + kc_below(c, CT_MIN(n, 70));
    const bool spoiled = kc_chance(c, 10), coarse = kc_chance(c, 2);
    float *z = kc_take(c, (size_t)n * sizeof *z, 4);
    const float *scale = inputs(c, (size_t)n, true);

    kc_fill_finite(c, z, (size_t)n);
    for (int i = 0; i < n && coarse; i++)
        z[i] = (float)kc_below(c, 5) - 2;
    if (spoiled)
        z[kc_below(c, n)] = kc_chance(c, 2) ? NAN : INFINITY;
    kc_freeze(c, z);
    snprintf(c->shape, sizeof c->shape, "%d of %d experts", k, n);
    ct_case_route(&c->cases, z, n, k, scale);
}

static void rope_case(struct kcheck *c)
{
    static const double bases[] = {10000, 1000000, 500000, 2.5};
    struct ct_rotation r = {.dim = 2 * (1 + kc_below(c, CT_MAX_HEAD_DIM / 2))};

    r.pairs = kc_chance(c, 3) ? 1 + kc_below(c, r.dim / 2) : r.dim / 2;
    r.position = kc_chance(c, 2) ? kc_below(c, 4096) : kc_below(c, 1 << 20);
    r.base = bases[kc_below(c, (int)CT_COUNT(bases))];
    r.factor = kc_chance(c, 2) ? 1 : 8;
    r.x = inputs(c, (size_t)r.dim, false);
    snprintf(c->shape, sizeof c->shape, "head of %d, %d pairs, position %d, base %g", r.dim, r.pairs,
             r.position, r.base);
    ct_case_rope(&c->cases, &r);
}

static void finite_case(struct kcheck *c)
{
    int n = draw_length(c);

    ct_case_finite(&c->cases, inputs(c, (size_t)n, false), n);
}

static void above_case(struct kcheck *c)
{
    int n = draw_length(c);

    ct_case_above(&c->cases, inputs(c, (size_t)n, false), n);
}

static void log_sum_case(struct kcheck *c)
{
    int n = draw_length(c);
    const float *x = kc_chance(c, 2) ? spread(c, (size_t)n) : inputs(c, (size_t)n, true);

    ct_case_log_sum(&c->cases, x, n);
}

static void entropy_case(struct kcheck *c)
{
    int n = draw_length(c);
    const float *x = kc_chance(c, 2) ? spread(c, (size_t)n) : inputs(c, (size_t)n, true);

    ct_case_entropy(&c->cases, x, n);
}

/* A chain of random links and parameters. */
static carat_chain draw_chain(struct kcheck *c, carat_link links[CARAT_LINKS])
{
    carat_chain s;
    carat_chain_default(&s);
    if (kc_chance(c, 2)) {
        s.repeat_penalty = kc_uniform(c, 0.5f, 2);
        s.frequency_penalty = kc_uniform(c, -1, 2);
        s.presence_penalty = kc_uniform(c, -1, 2);
    }
    s.dry_multiplier = kc_chance(c, 2) ? kc_uniform(c, 0, 2) : 0;
    s.typical_p = kc_chance(c, 2) ? kc_uniform(c, 0, 1) : 1;
    s.xtc_probability = kc_chance(c, 2) ? kc_uniform(c, 0, 1) : 0;
    s.xtc_threshold = kc_uniform(c, 0, 0.3f);
    if (kc_chance(c, 2))
        return s;
    s.links = links;
    for (int i = 0; i < CARAT_LINKS; i++) {
        int at = kc_below(c, i + 1);
        links[i] = links[at];
        links[at] = (carat_link)i;
    }
    s.n_links = CARAT_LINKS - kc_below(c, 3);
    return s;
}

static int draw_edits(struct kcheck *c, struct ct_edit *edits, int most, int n)
{
    int n_edits = 0;
    for (int id = kc_below(c, n); id < n && n_edits < most; id += 1 + kc_below(c, n))
        edits[n_edits++] = (struct ct_edit){
            .id = id,
            .bias = kc_chance(c, 3)   ? kc_uniform(c, -9, 9)
                    : kc_chance(c, 9) ? -INFINITY
                                      : 0,
            .count = kc_below(c, 3),
            .over = kc_chance(c, 2) ? kc_below(c, 300) : -1,
        };
    return n_edits;
}

/* Does the chain begin with top-k, edits aside? */
static bool draw_begins_with_top_k(const struct ct_draw *d)
{
    int at = 0;
    if (!d->top_k || !d->chain || !d->chain->links)
        return d->top_k > 0;
    while (at < d->chain->n_links && d->chain->links[at] <= CARAT_LINK_DRY)
        at++;
    return at < d->chain->n_links && d->chain->links[at] == CARAT_LINK_TOP_K;
}

/* Bits of few, many or nearly all of n ids, in words enough for `most`. */
static uint64_t *draw_allowed(struct kcheck *c, int n, int most)
{
    uint64_t *bits = kc_take(c, ((size_t)most + 63) / 64 * sizeof *bits, 8);
    const int of = 1 + kc_below(c, 20), among = kc_chance(c, 2) ? 20 : 200;

    memset(bits, 0, ((size_t)most + 63) / 64 * sizeof *bits);
    for (int i = 0; i < n; i++)
        bits[i / 64] |= (uint64_t)(kc_below(c, among) < of) << i % 64;
    for (int i = 0; i < n / 64; i++)
        bits[i] = kc_chance(c, 4) ? UINT64_MAX : kc_chance(c, 4) ? 0 : bits[i];
    kc_freeze(c, bits);
    return bits;
}

static bool is_allowed(const struct ct_draw *d, int i)
{
    return d->allowed && d->allowed[i / 64] >> i % 64 & 1;
}

/* The k best, what is edited or banned, and some others, as a list; what is allowed, where that is asked. */
static struct ct_logits draw_list(struct kcheck *c, const struct ct_logits *all, const struct ct_draw *d)
{
    int k = CT_MIN(d->top_k + d->n_banned + d->n_edits, all->n), n = 0;
    int32_t *best = kc_take(c, (size_t)all->n * sizeof *best, 4),
            *id = kc_take(c, (size_t)all->n * sizeof *id, 4);
    float *value = kc_take(c, (size_t)all->n * sizeof *value, 4);

    k = c->level[0].select(best, all, k, NULL, 0, NULL);
    for (int i = 0; i < all->n; i++) {
        bool in = kc_chance(c, 20) || is_allowed(d, i);
        for (int j = 0; j < k && !d->allowed; j++)
            in = in || best[j] == i;
        for (int j = 0; j < d->n_edits && !d->allowed; j++)
            in = in || d->edits[j].id == i;
        if (!in)
            continue;
        value[n] = all->value[i];
        id[n++] = i;
    }
    return (struct ct_logits){value, id, n};
}

/* What is not allowed is banned instead. */
static struct ct_draw draw_by_bans(struct kcheck *c, const struct ct_draw *d, int n)
{
    int32_t *banned = kc_take(c, (size_t)(n + d->n_banned) * sizeof *banned, 4);
    struct ct_draw same = *d;

    memcpy(banned, d->banned, (size_t)d->n_banned * sizeof *banned);
    for (int i = 0; i < n; i++)
        if (!is_allowed(d, i))
            banned[same.n_banned++] = i;
    same.banned = banned;
    same.allowed = NULL;
    return same;
}

static void draw_case(struct kcheck *c)
{
    int n = 1 + kc_below(c, kc_chance(c, 8) ? 20000 : 300);
    float *logits = kc_take(c, (size_t)n * sizeof *logits, 4);
    int coarse = kc_chance(c, 2) ? 0 : kc_chance(c, 2) ? 2 : 20; /* many equal ones, and -0 beside 0 */
    int32_t banned[3];
    struct ct_edit edits[20];
    carat_link links[CARAT_LINKS];
    carat_chain chain = draw_chain(c, links);
    struct ct_draw d = {
        .temperature = kc_chance(c, 5)   ? 0
                       : kc_chance(c, 4) ? 1
                                         : kc_uniform(c, 0.05f, 3),
        .top_p = kc_chance(c, 2) ? 1 : kc_uniform(c, 0, 1),
        .min_p = kc_chance(c, 2) ? 0 : kc_uniform(c, 0, 1),
        .top_k = kc_chance(c, 3) ? 0 : 1 + kc_below(c, 70),
        .seed = (uint64_t)kc_random(c) << 32 | kc_random(c),
        .position = kc_random(c),
        .number = (uint32_t)kc_below(c, 5),
        .banned = banned,
        .n_banned = kc_below(c, 4),
        .chain = kc_chance(c, 2) ? &chain : NULL,
        .edits = edits,
    };

    const int most = n + 64 * (d.top_k + 1);

    if (d.chain && kc_chance(c, 2))
        d.n_edits = draw_edits(c, edits, (int)CT_COUNT(edits), n);
    if (kc_chance(c, 3))
        d.allowed = draw_allowed(c, n, most);
    d.again = d.allowed != NULL;
    for (int i = 0; i < n; i++)
        logits[i] =
            coarse ? (kc_chance(c, 2) ? 1.0f : -1.0f) * (float)kc_below(c, coarse) : kc_uniform(c, -30, 30);
    kc_freeze(c, logits);
    for (size_t i = 0; i < CT_COUNT(banned); i++)
        banned[i] = kc_below(c, n);
    const struct ct_logits all = {.value = logits, .n = n};
    struct ct_logits others[2];
    int n_others = 0;
    if (draw_begins_with_top_k(&d)) {
        others[n_others++] = draw_list(c, &all, &d);
        /* The same among so many worse ones that the best are found in another way, where there are as
         * many as asked for. */
        if (d.top_k + (int)CT_COUNT(banned) + d.n_edits <= n) {
            float *worse = kc_take(c, (size_t)most * sizeof *worse, 4);
            for (int i = 0; i < most; i++)
                worse[i] = i < n ? logits[i] : -1e30f;
            kc_freeze(c, worse);
            others[n_others++] = (struct ct_logits){.value = worse, .n = most};
        }
    }
    snprintf(c->shape, sizeof c->shape, "%d logits, temperature %g, top-k %d, top-p %g, min-p %g%s%s", n,
             (double)d.temperature, d.top_k, (double)d.top_p, (double)d.min_p, d.chain ? ", a chain" : "",
             d.allowed ? ", few allowed" : "");
    const bool other_way = d.allowed && n <= 300;
    const struct ct_draw same = other_way ? draw_by_bans(c, &d, n) : d;
    ct_case_draw(&c->cases, &all, others, n_others, &d, other_way ? &same : NULL);
}

const struct kc_vector_case kc_vector_cases[] = {
    {"norm", norm_case},         {"add", add_case},
    {"scale", scale_case},       {"add_scaled", add_scaled_case},
    {"geglu", geglu_case},       {"softcap", softcap_case},
    {"route", route_case},       {"altup", altup_case},
    {"altup_match", match_case}, {"cutoff", cutoff_case},
    {"rope", rope_case},         {"attend", kc_attend_case},
    {"finite", finite_case},     {"log_sum", log_sum_case},
    {"entropy", entropy_case},   {"draw", draw_case},
    {"select", kc_select_case},  {"input_norms", kc_norms_case},
    {"prune", kc_prune_case},    {"uncap", kc_uncap_case},
    {"above", above_case},
};
const int kc_vector_case_count = (int)CT_COUNT(kc_vector_cases);
