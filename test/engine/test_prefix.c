/* SPDX-License-Identifier: Apache-2.0 */
/* test_prefix.c: sessions of one owner find what others of them have evaluated: of closed ones, of those that
 * went on or are in a call, out of files; nobody else does. What is found is exact in number and bits, goes
 * for want of blocks and comes back to sessions as snapshots. The store as a whole, at random, is
 * test_prefix_store.c's. */
#include "timeline_util.h"

#include "engine/row_logits.h"
#include "engine/session.h"

enum { TOKENS = 900, ALICE = 1, BOB = 2 };

/* A model whose layers all see everything, and one with local layers. */
static struct windowed wide;
static struct kind {
    carat_model *model;
    struct baseline right;
    int n_vocab;
} kinds[2];
#define GLOBAL (&kinds[0])
#define LOCAL  (&kinds[1])

static int open_kinds(void **state)
{
    (void)state;
    wide = windowed_open();
    kinds[0].model = open_own("models/gemma1-f32");
    kinds[1].model = wide.model;
    for (int i = 0; i < 2; i++) {
        kinds[i].right = baseline_of(kinds[i].model, &modes[FAST], TOKENS, 7);
        kinds[i].n_vocab = model_info(kinds[i].model).n_vocab;
    }
    return 0;
}

static int close_kinds(void **state)
{
    (void)state;
    carat_model_close(kinds[0].model);
    windowed_close(&wide);
    for (int i = 0; i < 2; i++)
        baseline_free(&kinds[i].right);
    return 0;
}

/* An engine without sessions. */
static carat_engine *engine_of(const struct kind *k, int sessions, size_t kv_blocks, int snapshots)
{
    carat_engine_options o = options_of(&modes[FAST], 64, 1);
    carat_engine *e = NULL;
    o.sessions = sessions;
    o.snapshot_bytes = (size_t)snapshots * snapshot_size(k->model, &o);
    if (kv_blocks) { /* of each group */
        carat_plan plan = {.size = sizeof plan};
        carat_error no = {CARAT_OK, ""};
        o.kv_bytes = 1;
        assert_int_equal(carat_plan_engine(k->model, &o, &plan, &no), CARAT_E_ARGUMENT);
        o.kv_bytes = kv_blocks * (size_t)strtoull(strstr(no.message, "at least ") + 9, NULL, 10);
    }
    OK(carat_engine_create(&e, k->model, &o, err));
    return e;
}

static carat_session *session_of(carat_engine *e, uint64_t owner)
{
    carat_session_options o;
    carat_session *s = NULL;
    carat_session_options_default(&o);
    o.owner = owner;
    OK(carat_session_create(&s, e, &o, err));
    return s;
}

/* A session holds the first n tokens, of which so many were not evaluated, with the right logits. */
static void check_sync(const struct kind *k, carat_session *s, int n, int expected)
{
    int reused = -1;
    OK(carat_sync(s, k->right.ids.id, n, &reused, err));
    assert_int_equal(reused, expected);
    assert_int_equal(carat_tokens_held(s, NULL), n);
    check_logits(s, &k->right, k->n_vocab, "found");
}

static carat_use use_of(carat_engine *e)
{
    carat_use use = {.size = sizeof use};
    OK(carat_engine_use(e, &use, err));
    return use;
}

/* ---- who finds what ---- */

static void a_closed_session_is_found(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct kind *k = &kinds[i];
        carat_engine *e = engine_of(k, 4, 0, 8);
        carat_session *s = session_of(e, ALICE);
        check_sync(k, s, 600, 0);
        carat_session_close(s);
        assert_int_equal(use_of(e).held, i ? 3 + 3 : 3);
        assert_int_equal(use_of(e).cached, use_of(e).held);
        s = session_of(e, BOB);
        check_sync(k, s, 600, 0); /* not his */
        carat_session_close(s);
        s = session_of(e, 0);
        check_sync(k, s, 700, 0); /* nor anybody's */
        carat_session_close(s);
        s = session_of(e, ALICE);
        check_sync(k, s, 500, 499);
        carat_session_close(s);
        s = session_of(e, ALICE);
        check_sync(k, s, 700, 600);
        carat_session_close(s);
        s = session_of(e, ALICE);
        check_sync(k, s, 600, 599);
        carat_session *fork = NULL;
        OK(carat_fork(s, 600, &fork, err)); /* of the same owner */
        check_sync(k, fork, 900, 700);
        carat_session_close(fork);
        fork = session_of(e, 0);
        check_sync(k, fork, 700, 0); /* and what nobody owns was never kept */
        carat_session_close(fork);
        carat_session_close(s);
        carat_engine_close(e);
    }
}

/* Prompts that have a beginning in common and part anywhere: the second one finds all of it, whatever of
 * local layers lies there, and its logits are those of one that found nothing. */
static void prompts_part_anywhere(void **state)
{
    (void)state;
    static const int at[] = {2, 300, 513, 600, 769, 898};
    for (int i = 0; i < 2; i++) {
        const struct kind *k = &kinds[i];
        for (size_t c = 0; c < CT_COUNT(at); c += i && !SANITIZED ? 1 : CT_COUNT(at) - 1) {
            carat_engine *e = engine_of(k, 3, 0, 8);
            carat_session *s = session_of(e, ALICE);
            struct ids other = scattered_ids(TOKENS, k->n_vocab, 9);
            const int n = at[c] + 60 < TOKENS ? at[c] + 60 : TOKENS;
            float *found = malloc((size_t)k->n_vocab * sizeof *found);
            int reused = -1;
            memcpy(other.id, k->right.ids.id, (size_t)at[c] * sizeof *other.id);
            other.id[at[c]] = (k->right.ids.id[at[c]] + 1) % k->n_vocab;
            check_sync(k, s, TOKENS, 0);
            carat_session_close(s);
            s = session_of(e, ALICE);
            OK(carat_sync(s, other.id, n, &reused, err));
            assert_int_equal(reused, at[c]);
            memcpy(found, carat_logits(s), (size_t)k->n_vocab * sizeof *found);
            carat_session *alone = session_of(e, BOB);
            OK(carat_sync(alone, other.id, n, &reused, err));
            assert_int_equal(reused, 0);
            assert_memory_equal(found, carat_logits(alone), (size_t)k->n_vocab * sizeof *found);
            check_sync(k, s, TOKENS, TOKENS - 1); /* and what is shared is as it was */
            free(found);
            free(other.id);
            carat_session_close(alone);
            carat_session_close(s);
            carat_engine_close(e);
        }
    }
}

/* What a session leaves behind by another prompt, or by going back, is found as well. */
static void what_is_left_behind_is_found(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct kind *k = &kinds[i];
        carat_engine *e = engine_of(k, 2, 0, 8);
        carat_session *s = session_of(e, ALICE);
        struct ids other = scattered_ids(300, k->n_vocab, 8);
        check_sync(k, s, 600, 0);
        OK(carat_sync(s, other.id, 300, NULL, err));
        check_sync(k, s, 800, 600);
        OK(carat_rewind(s, 0, err));
        check_sync(k, s, 900, 800);
        carat_session *t = session_of(e, ALICE);
        int reused = -1;
        OK(carat_sync(t, other.id, 300, &reused, err));
        assert_int_equal(reused, 299);
        free(other.id);
        carat_session_close(s);
        carat_session_close(t);
        carat_engine_close(e);
    }
}

/* Somebody who comes while a call is under way. */
struct guest {
    const struct kind *kind;
    carat_session *session;
    int calls;
};

static int comes_in_between(void *user, size_t done, size_t total)
{
    struct guest *g = user;
    if (done < total) {
        check_sync(g->kind, g->session, (int)done + 1, (int)done);
        OK(carat_rewind(g->session, 0, err));
    }
    g->calls++;
    return 0;
}

static void a_session_in_a_call_is_found(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct kind *k = &kinds[i];
        carat_engine *e = engine_of(k, 2, 0, 0); /* no snapshot is needed where the other one stands */
        struct guest g = {k, session_of(e, ALICE), 0};
        carat_session_options o;
        carat_session *s = NULL;
        carat_session_options_default(&o);
        o.owner = ALICE;
        o.progress = comes_in_between;
        o.user = &g;
        OK(carat_session_create(&s, e, &o, err));
        check_sync(k, s, TOKENS, 0);
        assert_true(g.calls >= TOKENS / 64);
        carat_session_close(s);
        carat_session_close(g.session);
        carat_engine_close(e);
    }
}

/* What a file brings is found, while a session holds it and when it was closed. */
static void what_is_loaded_is_found(void **state)
{
    (void)state;
    const char *path = "prefix-test.carat-session";
    for (int i = 0; i < 2; i++) {
        const struct kind *k = &kinds[i];
        carat_engine *e = engine_of(k, 3, 0, 8);
        carat_session *from = session_of(e, 0), *s = session_of(e, ALICE), *t = session_of(e, ALICE);
        check_sync(k, from, 600, 0);
        OK(carat_save(from, path, NULL, 0, err));
        check_sync(k, s, 20, 0);
        OK(carat_load(s, path, NULL, NULL, err));
        check_sync(k, t, 700, 600);
        carat_session_close(s);
        carat_session_close(t);
        s = session_of(e, ALICE);
        check_sync(k, s, 650, 649);
        carat_session_close(s);
        carat_session_close(from);
        carat_engine_close(e);
    }
    remove(path);
}

/* ---- room ---- */

/* A prefix goes for a reservation, but not for one that cannot be kept all the same. */
static void a_reservation_ends_prefixes(void **state)
{
    (void)state;
    const struct kind *k = GLOBAL;
    carat_engine *e = engine_of(k, 3, 4, 0);
    carat_session *s = session_of(e, ALICE), *t;
    check_sync(k, s, 600, 0);
    carat_session_close(s);
    assert_int_equal(use_of(e).cached, 3);
    s = session_of(e, BOB);
    t = session_of(e, BOB);
    OK(carat_reserve(t, 300, err)); /* two, of which one was free */
    assert_int_equal(use_of(e).cached, 2);
    FAILS(CARAT_E_MEMORY, carat_reserve(s, 700, err));
    assert_int_equal(use_of(e).cached, 2);
    OK(carat_reserve(s, 256, err));
    assert_int_equal(use_of(e).cached, 1);
    carat_session *u = session_of(e, ALICE);
    check_sync(k, u, 256, 255); /* the beginning is left */
    carat_session_close(u);
    carat_session_close(s);
    carat_session_close(t);
    carat_engine_close(e);
}

/* Where logits were not finite nothing is left behind. */
static void what_is_unsound_is_not_kept(void **state)
{
    (void)state;
    carat_engine *e = engine_of(GLOBAL, 2, 0, 0);
    carat_session *s = session_of(e, ALICE);
    check_sync(GLOBAL, s, 300, 0);
    s->unsound = true; /* as ct_session_read says */
    carat_session *t = session_of(e, ALICE);
    check_sync(GLOBAL, t, 100, 0);
    carat_session_close(t);
    carat_session_close(s);
    t = session_of(e, ALICE);
    check_sync(GLOBAL, t, 300, 100); /* what the other one had evaluated itself */
    carat_session_close(t);
    carat_engine_close(e);
}

/* ---- prompts within passes ---- */

/* Gives a session the first n tokens as the prompt of a generation; returns it, and what was reused. */
static carat_generation *generation_of(const struct kind *k, carat_session *s, int n, int *reused)
{
    carat_generation_options o;
    carat_generation *g = NULL;
    const carat_prompt prompt = {.size = sizeof prompt, .ids = k->right.ids.id, .n = n};

    carat_generation_options_default(&o);
    o.max_tokens = 1;
    OK(carat_generation_create(&g, s, &o, err));
    OK(carat_generation_prompt(g, &prompt, reused, err));
    return g;
}

/* What a prompt that was given up had evaluated is found by the next one, while its session is there and
 * when it is closed. */
static void a_prompt_given_up_is_found(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct kind *k = &kinds[i];
        carat_engine *e = engine_of(k, 3, 0, 8);
        carat_session *first = session_of(e, ALICE), *s = session_of(e, ALICE);
        int reused = -1;
        carat_generation *g = generation_of(k, first, 800, &reused);
        assert_int_equal(reused, 0);
        for (int n = 0; n < 350; n += 50)
            OK(carat_generation_pass(e, &g, 1, 50, err));
        const int evaluated = carat_tokens_held(first, NULL);
        assert_in_range(evaluated, 256, 350);
        carat_generation_close(g);
        g = generation_of(k, s, 800, &reused);
        assert_int_equal(reused, evaluated);
        carat_generation_close(g);
        carat_session_close(s);
        carat_session_close(first);
        s = session_of(e, BOB);
        g = generation_of(k, s, 800, &reused);
        assert_int_equal(reused, 0);
        carat_generation_close(g);
        carat_session_close(s);
        s = session_of(e, ALICE);
        g = generation_of(k, s, 800, &reused);
        assert_int_equal(reused, evaluated);
        OK(carat_generate(g, err));
        check_logits(s, &k->right, k->n_vocab, "behind a prompt that was given up");
        carat_generation_close(g);
        carat_session_close(s);
        carat_engine_close(e);
    }
}

/* ---- what is told of a prompt ---- */

/* ids[n] as they would be found, and as a new session finds them then; next gets what follows. */
static carat_prefix find(carat_engine *e, uint64_t owner, const int32_t *ids, int n, int32_t *next, int most)
{
    carat_prefix p = {.size = sizeof p};
    int reused = -1;

    OK(carat_find_prefix(e, owner, ids, n, &p, next, most, err));
    carat_session *s = session_of(e, owner);
    OK(carat_sync(s, ids, n, &reused, err));
    assert_int_equal(p.reused, reused);
    carat_session_close(s);
    return p;
}

/* Of sessions and of what they left behind: how far it goes, and how the nearest goes on. */
static void a_prefix_is_told(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        for (int closed = 0; closed < 2; closed++) {
            const struct kind *k = &kinds[i];
            carat_engine *e = engine_of(k, 3, 0, 8);
            const int32_t *right = k->right.ids.id;
            int32_t next[TOKENS], other[TOKENS];
            carat_prefix p = find(e, BOB, right, 300, next, 10);
            assert_int_equal(p.common, 0);
            assert_int_equal(p.n_next, 0);
            carat_session *s = session_of(e, ALICE);
            check_sync(k, s, 800, 0);
            if (closed)
                carat_session_close(s);
            memcpy(other, right, sizeof other);
            other[500] = (other[500] + 1) % k->n_vocab;
            OK(carat_find_prefix(e, ALICE, other, TOKENS, &p, next, 280, err));
            assert_int_equal(p.common, 500);
            assert_int_equal(p.reused, 500);
            assert_int_equal(p.n_next, 280);
            assert_memory_equal(next, right + 500, 280 * sizeof *next);
            OK(carat_find_prefix(e, ALICE, other, TOKENS, &p, next, TOKENS, err));
            assert_int_equal(p.n_next, 300); /* to its end */
            assert_memory_equal(next, right + 500, 300 * sizeof *next);
            OK(carat_find_prefix(e, ALICE, right, TOKENS, &p, NULL, 0, err));
            assert_int_equal(p.common, 800);
            assert_int_equal(p.n_next, 0);
            p = find(e, ALICE, right, TOKENS, next, 5);
            assert_int_equal(p.reused, 800);
            p = find(e, ALICE, right, 800, next, 5);
            assert_int_equal(p.common, 800);
            assert_int_equal(p.reused, 799); /* the last one is evaluated */
            p = find(e, ALICE, right, 1, next, 5);
            assert_int_equal(p.common, 1);
            assert_int_equal(p.reused, 0);
            p = find(e, BOB, other, 700, next, 5); /* his own are those of before */
            assert_int_equal(p.common, 300);
            p = find(e, ALICE, other, 700, next, 5);
            p = find(e, ALICE, right, 502, next, 5); /* 500 with both: what follows is of one of them */
            assert_memory_equal(next, (p.common == 500 ? other : right) + p.common, (size_t)p.n_next * 4);
            if (!closed)
                carat_session_close(s);
            carat_engine_close(e);
        }
}

/* Telling is no use: what was told of goes as if nobody had asked. */
static void telling_keeps_nothing(void **state)
{
    (void)state;
    carat_engine *e = engine_of(GLOBAL, 1, 4, 0);
    struct ids other[2] = {scattered_ids(500, GLOBAL->n_vocab, 21), scattered_ids(500, GLOBAL->n_vocab, 22)};
    carat_prefix p = {.size = sizeof p};
    for (int i = 0; i < 2; i++) {
        carat_session *s = session_of(e, ALICE);
        OK(carat_sync(s, other[i].id, 500, NULL, err));
        carat_session_close(s);
    }
    OK(carat_find_prefix(e, ALICE, other[0].id, 500, &p, NULL, 0, err));
    assert_int_equal(p.reused, 499);
    carat_session *s = session_of(e, ALICE);
    OK(carat_sync(s, GLOBAL->right.ids.id, 300, NULL, err)); /* two blocks of four */
    OK(carat_find_prefix(e, ALICE, other[0].id, 500, &p, NULL, 0, err));
    assert_int_equal(p.common, 1); /* all begin alike */
    OK(carat_find_prefix(e, ALICE, other[1].id, 500, &p, NULL, 0, err));
    assert_int_equal(p.common, 500);
    carat_session_close(s);
    for (int i = 0; i < 2; i++)
        free(other[i].id);
    carat_engine_close(e);
}

static void what_cannot_be_told_is_refused(void **state)
{
    (void)state;
    carat_engine *e = engine_of(GLOBAL, 1, 0, 0);
    const int32_t id = 2;
    int32_t next;
    carat_prefix p = {.size = sizeof p};
    carat_error no;
    const struct {
        carat_engine *engine;
        uint64_t owner;
        const int32_t *ids;
        int n;
        carat_prefix *prefix;
        int32_t *next;
        int most;
    } cases[] = {
        {NULL, ALICE, &id, 1, &p, NULL, 0}, {e, 0, &id, 1, &p, NULL, 0},
        {e, ALICE, NULL, 1, &p, NULL, 0},   {e, ALICE, &id, 0, &p, NULL, 0},
        {e, ALICE, &id, 1, NULL, NULL, 0},  {e, ALICE, &id, 1, &p, NULL, 1},
        {e, ALICE, &id, 1, &p, &next, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(carat_find_prefix(cases[i].engine, cases[i].owner, cases[i].ids, cases[i].n,
                                           cases[i].prefix, cases[i].next, cases[i].most, &no),
                         CARAT_E_ARGUMENT);
    carat_engine_close(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_closed_session_is_found),
        cmocka_unit_test(prompts_part_anywhere),
        cmocka_unit_test(what_is_left_behind_is_found),
        cmocka_unit_test(a_session_in_a_call_is_found),
        cmocka_unit_test(what_is_loaded_is_found),
        cmocka_unit_test(a_reservation_ends_prefixes),
        cmocka_unit_test(what_is_unsound_is_not_kept),
        cmocka_unit_test(a_prompt_given_up_is_found),
        cmocka_unit_test(a_prefix_is_told),
        cmocka_unit_test(telling_keeps_nothing),
        cmocka_unit_test(what_cannot_be_told_is_refused),
    };
    return cmocka_run_group_tests_name("engine: prefix", tests, open_kinds, close_kinds);
}
