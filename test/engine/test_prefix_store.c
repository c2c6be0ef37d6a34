/* SPDX-License-Identifier: Apache-2.0 */
/* test_prefix_store.c: sessions of several owners do everything at random, in pools that are often short:
 * prompts, forks, going back, marks, reservations, cancels, ends. A plain account beside them says what each
 * holds and what was left behind: a prompt reuses the longest prefix that could be there, every block is held
 * by exactly those who have its tokens, the leaf that goes is the one used longest ago, nobody finds what
 * another owner has, and all bits are those of a fresh engine. CARAT_STEPS in the environment asks for more
 * steps. Single rules are test_prefix.c's. */
#include "timeline_util.h"

#include "engine/session.h"
#include "small_model.h"

enum { TEXTS = 9, LONG = 700, OWNERS = 3, SESSIONS = 4, B = CT_KEY_BLOCK, MOST_NODES = 64, ROOM = 4096 };

static uint32_t seed = 1;

static int below(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)n);
}

/* Texts that begin alike, in pairs, here and there: the first tokens of another, then their own. */
static int32_t text[TEXTS][LONG];
static float *right[TEXTS]; /* [LONG][n_vocab] by a fresh engine */
static int alike[TEXTS][TEXTS];

/* What a session holds by the account. */
struct held {
    carat_session *s;
    int owner, text, n;
};
/* A node of the tree by the account: the first `end` tokens of a text, of which it has those of a block. */
struct piece {
    int owner, text, end;
    uint64_t used; /* before the step, as the tree says */
    bool alone;    /* no session held its block then */
};
struct store {
    carat_engine *e;
    bool local;
    int n_vocab;
    struct held held[SESSIONS];
    struct piece piece[MOST_NODES];
    int n_piece;
    int cancel_after;                           /* passes; -1: never */
    int found, ended, cancelled, refused, gone; /* what happened, so that the test is of something */
};

static void make_texts(carat_model *model)
{
    static const int from[TEXTS] = {0, 0, 0, 1, 1, 0, 5, 5, 0},
                     first[TEXTS] = {0, 300, 256, 400, 610, 1, 512, 100, LONG};
    carat_engine_options o = options_of(&modes[FAST], LONG, 1);
    for (int i = 0; i < TEXTS; i++) {
        struct ids own = scattered_ids(LONG, model_info(model).n_text_vocab, 90 + (uint32_t)i);
        memcpy(text[i], own.id, sizeof text[i]);
        memcpy(text[i], text[from[i]], (size_t)first[i] * sizeof **text);
        if (i == TEXTS - 1)
            text[i][0] = 5; /* alike behind that, which must not count */
        free(own.id);
        struct rig r = rig_open(model, &o);
        right[i] = step_all(&r, 0, &(struct ids){text[i], LONG});
        rig_close(&r);
        for (int j = 0; j <= i; j++) {
            int n = 0;
            while (n < LONG && text[i][n] == text[j][n])
                n++;
            alike[i][j] = alike[j][i] = n;
        }
    }
}

/* ---- what lies in the engine ---- */

/* The ids on the way to a node, and their number. */
static int path_of(const carat_engine *e, int node, int32_t ids[LONG])
{
    const struct ct_prefixes *p = &e->prefixes;
    const int n = p->node[node].number * B + p->node[node].n;
    for (; node; node = p->node[node].parent)
        memcpy(ids + p->node[node].number * B, p->ids + node * B, (size_t)p->node[node].n * sizeof *ids);
    return n;
}

static int common_with(const int32_t *ids, int n, int t)
{
    int i = 0;
    while (i < n && ids[i] == text[t][i])
        i++;
    return i;
}

static int slot_of(const struct held *h)
{
    return h->s->slot;
}

/* The one in a slot of the engine. */
static const struct held *in_slot(const struct store *st, int slot)
{
    static const struct held none;
    for (int i = 0; i < SESSIONS; i++)
        if (st->held[i].s && slot_of(&st->held[i]) == slot)
            return &st->held[i];
    return &none;
}

/* Every block is held by the rows and nodes that have it, and who has one has the same tokens in it. */
static void check_holders(const struct store *st)
{
    static int32_t of[64][LONG];
    const carat_engine *e = st->e;
    const struct ct_prefixes *p = &e->prefixes;
    for (int k = 0; k < CT_ATTN_TYPES; k++) {
        const struct ct_kv_blocks *g = &e->cache.group[k];
        int count[256] = {0}, extent[256] = {0}, promised = 0;
        static int32_t path[LONG];
        assert_true(g->pool.n_blocks <= 64);
        for (int s = 0; s < SESSIONS + (g->window ? e->cache.snapshots : 0); s++) {
            for (int i = g->first[s]; i < g->end[s]; i++)
                count[g->pool.table[s * g->pool.length + i % g->pool.length]]++;
            promised += g->promise[s];
        }
        for (int i = 1; k == CT_GLOBAL && i <= p->begun; i++) {
            if (!p->node[i].n)
                continue;
            const int block = p->node[i].block, n = path_of(e, i, path);
            count[block]++;
            extent[block] = n;
            memcpy(of[block], path, sizeof path);
        }
        for (int s = 0; k == CT_GLOBAL && s < SESSIONS; s++) {
            const struct held *h = in_slot(st, s);
            for (int i = g->first[s]; i < g->end[s]; i++) {
                const int block = g->pool.table[s * g->pool.length + i];
                const int both = h->n < extent[block] ? h->n : extent[block];
                assert_non_null(h->s);
                assert_int_equal(common_with(of[block], both, h->text), both);
            }
            assert_int_equal(g->end[s] - g->first[s], h->s ? (h->n + B - 1) / B : 0);
        }
        for (int i = 0; i < g->n_free; i++)
            assert_int_equal(count[g->free[i]]--, 0);
        for (int i = 0; i < g->pool.n_blocks; i++)
            assert_true(count[i] == -1 || (count[i] > 0 && count[i] == g->holders[i]));
        assert_int_equal(promised, g->promised);
        assert_true(promised <= g->n_free);
    }
}

/* ---- the account ---- */

/* Where one goes on at `common` with a row, by NUMERICS.md section 7: where a window is held. */
static int ready_by(const struct store *st, int row, int common)
{
    const struct ct_kv_cache *c = &st->e->cache;
    const struct ct_kv_blocks *g = &c->group[CT_LOCAL];
    if (!st->local)
        return common;
    int at = common < c->ready[row] ? common : c->ready[row], sees = at < g->window ? 0 : at - g->window + 1;
    return g->first[row] * B <= sees ? at : 0;
}

/* The most tokens of a prompt that need not be evaluated. */
static int could_reuse(const struct store *st, const struct held *h, int t, int n)
{
    const struct ct_snapshots *snap = &st->e->snapshots;
    const struct ct_prefixes *p = &st->e->prefixes;
    int best = 0;
    static int32_t path[LONG];
    if (h->n == n && alike[h->text][t] >= n && h->s->logits >= 0)
        return st->e->cache.ready[slot_of(h)];
    for (int i = 0; i < SESSIONS; i++) {
        const struct held *other = &st->held[i];
        if (!other->s || (other != h && (!h->owner || other->owner != h->owner)))
            continue;
        const int same = CT_MIN(CT_MIN(alike[other->text][t], other->n), n - 1);
        best = CT_MAX(best, ready_by(st, slot_of(other), same));
        for (int k = 0; k < st->e->cache.snapshots; k++)
            if (snap->position[k] && snap->of[k * SESSIONS + slot_of(other)])
                best = CT_MAX(best, ready_by(st, SESSIONS + k, same));
    }
    for (int i = 1; i <= p->begun; i++) {
        if (!p->node[i].n || !h->owner || p->node[i].owner != (uint64_t)h->owner)
            continue;
        const int same = CT_MIN(common_with(path, path_of(st->e, i, path), t), n - 1);
        if (!st->local)
            best = CT_MAX(best, same);
        for (int k = 0; k < st->e->cache.snapshots; k++)
            if (snap->position[k] && snap->node[k] == i)
                best = CT_MAX(best, ready_by(st, SESSIONS + k, same));
    }
    return best;
}

/* A session is about to forget tokens: by the account its owner has them from now on. */
static void leaves(struct store *st, const struct held *h)
{
    if (!h->owner || !h->n)
        return;
    for (int from = 0; from < h->n; from += B) {
        const int end = CT_MIN(h->n, from + B);
        bool there = false;
        for (int i = 0; i < st->n_piece && !there; i++) {
            struct piece *p = &st->piece[i];
            const int same = alike[p->text][h->text];
            if (p->owner != h->owner || (p->end - 1) / B != from / B || same < CT_MIN(p->end, end))
                continue;
            there = true;
            if (p->end < end) {
                p->end = end;
                p->text = h->text;
            }
        }
        assert_true(there || st->n_piece < MOST_NODES);
        if (!there)
            st->piece[st->n_piece++] = (struct piece){.owner = h->owner, .text = h->text, .end = end};
    }
}

static bool is_leaf(const struct store *st, int i)
{
    const struct piece *p = &st->piece[i];
    for (int k = 0; k < st->n_piece; k++) {
        const struct piece *q = &st->piece[k];
        if (q->owner == p->owner && (q->end - 1) / B == (p->end - 1) / B + 1 &&
            alike[q->text][p->text] >= p->end)
            return false;
    }
    return true;
}

/* The node that a piece is; 0: it is gone. */
static int node_of(const struct store *st, const struct piece *p)
{
    static int32_t path[LONG];
    const struct ct_prefixes *all = &st->e->prefixes;
    for (int i = 1; i <= all->begun; i++)
        if (all->node[i].n && all->node[i].owner == (uint64_t)p->owner &&
            all->node[i].number * B + all->node[i].n == p->end && path_of(st->e, i, path) == p->end &&
            common_with(path, p->end, p->text) == p->end)
            return i;
    return 0;
}

static void note_uses(struct store *st)
{
    const struct ct_prefixes *all = &st->e->prefixes;
    for (int i = 0; i < st->n_piece; i++) {
        const struct ct_prefix_node *node = &all->node[node_of(st, &st->piece[i])];
        st->piece[i].used = node->used;
        st->piece[i].alone = st->e->cache.group[CT_GLOBAL].holders[node->block] == 1;
    }
}

/* The tree has the account's pieces; those that went were used before all that could have gone. */
static void check_tree(struct store *st)
{
    const struct ct_prefixes *all = &st->e->prefixes;
    const struct ct_kv_blocks *g = &st->e->cache.group[CT_GLOBAL];
    int nodes = 0;
    uint64_t last = 0; /* use of those that went */
    for (int i = 1; i <= all->begun; i++)
        nodes += all->node[i].n > 0;
    for (int i = 0; i < st->n_piece;) {
        if (node_of(st, &st->piece[i])) {
            i++;
            continue;
        }
        last = CT_MAX(last, st->piece[i].used);
        st->piece[i] = st->piece[--st->n_piece];
        st->gone++;
    }
    assert_int_equal(nodes, st->n_piece);
    for (int i = 0; last && i < st->n_piece; i++) {
        const struct ct_prefix_node *node = &all->node[node_of(st, &st->piece[i])];
        if (is_leaf(st, i) && st->piece[i].alone && g->holders[node->block] == 1)
            assert_true(node->used >= last);
    }
}

/* ---- steps ---- */

static int may_cancel(void *user, size_t done, size_t total)
{
    struct store *st = user;
    (void)done;
    (void)total;
    return st->cancel_after >= 0 && st->cancel_after-- == 0;
}

static void check_bits(const struct store *st, const struct held *h)
{
    const float *logits = h->n ? carat_logits(h->s) : NULL;
    if (logits)
        expect_same(logits, right[h->text] + (size_t)(h->n - 1) * (size_t)st->n_vocab, (size_t)st->n_vocab,
                    "", h->n);
}

/* What came of a call that evaluates: it holds the tokens that it could. */
static void settle(struct store *st, struct held *h, carat_status status)
{
    const int32_t *ids;
    h->n = carat_tokens_held(h->s, &ids);
    assert_int_equal(common_with(ids, h->n, h->text), h->n);
    st->cancelled += status == CARAT_E_CANCELLED;
    st->refused += status == CARAT_E_MEMORY;
    assert_true(status == CARAT_OK || status == CARAT_E_CANCELLED || status == CARAT_E_MEMORY);
    if (status == CARAT_E_MEMORY && !st->local)
        for (int i = 1; i <= st->e->prefixes.begun; i++)
            assert_int_equal(st->e->prefixes.node[i].n, 0); /* all had gone */
    check_bits(st, h);
}

static void sync_at_random(struct store *st, struct held *h)
{
    const int t = below(TEXTS), n = 1 + below(below(3) ? LONG : 40), before = h->n;
    const int expected = could_reuse(st, h, t, n);
    const uint64_t dropped = st->e->snapshots.dropped;
    const bool complete = h->n == n && alike[h->text][t] >= n && h->s->logits >= 0;
    int reused = -1;
    if (!complete && h->owner && CT_MIN(CT_MIN(alike[h->text][t], h->n), n - 1) < before)
        leaves(st, h);
    st->cancel_after = below(5) ? -1 : below(4);
    carat_status status = carat_sync(h->s, text[t], n, &reused, NULL);
    if (!status && reused != expected &&
        (reused > expected || (st->e->snapshots.dropped == dropped && reused)))
        fail_msg("%d of %d tokens are reused, not %d", reused, n, expected);
    st->found += !status && reused > before;
    h->text = t;
    settle(st, h, status);
    assert_true(status || h->n == n);
}

static void open_at_random(struct store *st, struct held *h)
{
    carat_session_options o;
    carat_session_options_default(&o);
    o.progress = may_cancel;
    o.user = st;
    *h = (struct held){.owner = below(OWNERS)};
    o.owner = (uint64_t)h->owner;
    OK(carat_session_create(&h->s, st->e, &o, err));
}

static void close_at_random(struct store *st, struct held *h)
{
    leaves(st, h);
    carat_session_close(h->s);
    *h = (struct held){0};
    st->ended++;
}

static void step_at_random(struct store *st)
{
    struct held *h = &st->held[below(SESSIONS)], *other = &st->held[below(SESSIONS)];
    const int what = below(20);
    if (!h->s) {
        open_at_random(st, h);
    } else if (what < 9) {
        sync_at_random(st, h);
    } else if (what < 12) {
        const int more = below(60), to = CT_MIN(LONG, h->n + 1 + more);
        st->cancel_after = -1;
        if (to > h->n)
            settle(st, h, carat_append(h->s, text[h->text] + h->n, to - h->n, NULL));
    } else if (what < 14) {
        const int to = below(h->n + 1);
        if (to < h->n)
            leaves(st, h);
        OK(carat_rewind(h->s, to, err));
        h->n = to;
    } else if (what < 15 && !other->s) {
        const int n = below(h->n + 1);
        carat_status status = carat_fork(h->s, n, &other->s, NULL);
        if (!status)
            *other = (struct held){other->s, h->owner, h->text, n};
    } else if (what < 16) {
        OK(carat_mark(h->s, err));
    } else if (what < 17) {
        (void)carat_reserve(h->s, below(2) ? below(LONG) : 0, NULL);
    } else {
        close_at_random(st, h);
    }
}

/* One engine for a number of steps. blocks: of the pool; 0: as many as there can be. */
static void run_store(carat_model *model, int blocks, int snapshots, int chunk, int steps)
{
    carat_engine_options o = options_of(&modes[FAST], chunk, 1);
    carat_plan plan = {.size = sizeof plan};
    carat_error no = {CARAT_OK, ""};
    struct store st = {.local = model_info(model).sliding_window > 0, .n_vocab = model_info(model).n_vocab};
    o.context = LONG;
    o.sessions = SESSIONS;
    o.snapshot_bytes = (size_t)snapshots * snapshot_size(model, &o);
    if (blocks) {
        o.kv_bytes = 1;
        assert_int_equal(carat_plan_engine(model, &o, &plan, &no), CARAT_E_ARGUMENT);
        o.kv_bytes = (size_t)blocks * (size_t)strtoull(strstr(no.message, "at least ") + 9, NULL, 10);
    }
    OK(carat_engine_create(&st.e, model, &o, err));
    for (int i = 0; i < steps; i++) {
        note_uses(&st);
        step_at_random(&st);
        check_holders(&st);
        if (!st.local)
            check_tree(&st);
    }
    for (int i = 0; i < SESSIONS; i++)
        if (st.held[i].s)
            close_at_random(&st, &st.held[i]);
    check_holders(&st);
    carat_use use = {.size = sizeof use};
    OK(carat_engine_use(st.e, &use, err));
    assert_int_equal(use.cached, use.held);
    if (steps >= 200) {
        assert_true(st.found > 0 && st.ended > 0 && st.cancelled > 0);
        assert_true(!blocks || st.local || st.gone > 0);
    }
    carat_engine_close(st.e);
}

static void at_random(void **state)
{
    (void)state;
    const char *more = getenv("CARAT_STEPS");
    const int steps = more ? atoi(more) / 6 : SANITIZED ? 60 : 300;
    for (int window = 0; window <= 300; window += 300) {
        static struct small_model small; /* a window of 300 lies in several blocks */
        small_open(&small, window);
        make_texts(small.model);
        run_store(small.model, 0, 12, 256, steps);
        run_store(small.model, 4, 4, 64, steps);
        run_store(small.model, 7, 12, 100, steps);
        for (int k = 0; k < TEXTS; k++)
            free(right[k]);
        carat_model_close(small.model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_random),
    };
    return cmocka_run_group_tests_name("engine: prefix_store", tests, NULL, NULL);
}
