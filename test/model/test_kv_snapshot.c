/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_snapshot.c: what snapshots hold of the blocks of K and V, when they make room, and everything at
 * once: passes, rewinds, forks, reservations and snapshots, after which everybody reads what was written. The
 * rules of sequences alone are test_kv_cache.c's; which snapshots there are is test/engine/test_snapshot.c's.
 * */
#include "kv_fake.h"

enum { LOCAL_BLOCK = 2 * CT_KEY_BLOCK * POSITION_BYTES };

/* One keeps the blocks that the position before it sees, and nothing is copied before somebody else writes
 * into them. */
static void a_snapshot_keeps_a_window(void **unused)
{
    (void)unused;
    struct fake *f = fake_open(300, (struct ct_kv_extent){2048, 256, 2, 0, 6 * LOCAL_BLOCK, false, false});
    int first = 2, second = 3;
    assert_int_equal(f->cache.snapshot, 3 * LOCAL_BLOCK);
    assert_int_equal(f->cache.group[CT_LOCAL].pool.n_blocks, 2 * 3 + 6);
    assert_true(grow(f, 0, 700) && take_snapshot(f, 0));
    check_use(f, 3 + 3, 2);
    assert_true(grow(f, 0, 710) && take_snapshot(f, 0)); /* near it: the same blocks */
    assert_int_equal(f->cache.n_in_snapshots, 2);
    assert_true(grow(f, 0, 1500));
    assert_int_equal(f->copies, 0);
    check_use(f, 6 + 2 + 3, 2);
    /* at it, one before, and as far before as its blocks have what is seen */
    const int at[] = {710, 709, 705, 599, 555};
    for (size_t i = 0; i < CT_COUNT(at); i++)
        assert_int_equal(ct_kv_ready_at(&f->cache, second, at[i]), at[i]);
    assert_int_equal(ct_kv_ready_at(&f->cache, second, 800), 710);
    assert_int_equal(ct_kv_ready_at(&f->cache, second, 554), 0);
    assert_int_equal(ct_kv_ready_at(&f->cache, first, 705), 700);
    assert_true(share(f, 1, 0, 1500));
    cut_to(f, 1, 900, first, false);
    assert_int_equal(ct_kv_ready(&f->cache, 1), 700);
    assert_true(grow(f, 1, 1000));
    assert_int_equal(f->copies, (LAYERS - 1) + 1);
    cut_to(f, 0, 705, second, false); /* which ends it */
    assert_int_equal(f->of[second], 0);
    assert_int_equal(ct_kv_ready(&f->cache, 0), 705);
    assert_true(grow(f, 0, 1200));
    check_all(f);
    cut(f, 0, 0, true);
    cut(f, 1, 0, true);
    check_use(f, 0, 0);
    fake_close(f);
}

/* 554 sees 255 and 555 does not: what goes back to 554, at a snapshot or with one, needs a block more. */
static void the_position_before_it_needs_more(void **unused)
{
    (void)unused;
    struct fake *f = fake_open(300, (struct ct_kv_extent){2048, 256, 1, 0, 3 * LOCAL_BLOCK, false, false});
    assert_true(grow(f, 0, 555) && take_snapshot(f, 0) && grow(f, 0, 1500));
    assert_int_equal(ct_kv_ready_at(&f->cache, 1, 555), 555);
    assert_int_equal(ct_kv_ready_at(&f->cache, 1, 554), 554);
    cut_to(f, 0, 554, 1, false);
    assert_int_equal(ct_kv_ready(&f->cache, 0), 554);
    check_all(f);
    fake_close(f);
}

/* When a block is missing, or one that is to be promised, snapshots go. */
static void snapshots_make_room(void **unused)
{
    (void)unused;
    for (int promised = 0; promised <= 1; promised++) {
        struct fake *f =
            fake_open(300, (struct ct_kv_extent){2048, 256, 3, bytes_of(4), 3 * LOCAL_BLOCK, false, false});
        f->cache.release = make_room;
        f->cache.user = f;
        assert_true(grow(f, 0, 512) && take_snapshot(f, 0) && grow(f, 0, 1024));
        check_use(f, 4 + 4, 1);
        for (int s = 1; s <= 2; s++) { /* which need local blocks only */
            assert_int_equal(f->of[3], 1);
            assert_true(share(f, s, 0, 1024));
            cut(f, s, 500, false);
            assert_true(s == 2 && promised ? keeps(f, s, 500) : grow(f, s, 500));
        }
        assert_int_equal(f->of[3], 0);
        check_all(f);
        fake_close(f);
    }
}

/* ---- everything at once ---- */

static uint32_t seed = 1;
static int below(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((uint64_t)(seed >> 4) * (uint64_t)n >> 28);
}

/* A pass over several sequences, which may be stopped. */
static void random_pass(struct fake *f)
{
    int to[MOST_SEQUENCES];
    bool stopped = below(6) == 0;

    for (int s = 0; s < f->cache.sequences; s++) {
        int n = f->ready[s], room = CT_MIN(MOST_CONTEXT - n, ct_kv_span(&f->cache, n)),
            most = below(3) ? 40 : 1000;
        to[s] = n;
        if (below(2) || room == 0)
            continue;
        int end = n + 1 + below(CT_MIN(room, most));
        bool kept = end <= f->cache.reserved[s], done = ct_kv_extend(&f->cache, s, end);
        assert_true(done || !kept);
        to[s] = done ? end : n;
    }
    for (int s = 0; s < f->cache.sequences; s++) {
        int n = f->n[s], ready = f->ready[s];
        write_positions(f, s, to[s]);
        if (stopped && to[s] > ready) {
            ct_kv_cut(&f->cache, s, n, ready, false);
            f->n[s] = n;
            f->ready[s] = ready;
        }
    }
}

static void random_step(struct fake *f)
{
    int s = below(f->cache.sequences), t = below(f->cache.sequences), n = f->n[s] ? below(f->n[s] + 1) : 0;
    int row = f->cache.sequences + (f->cache.snapshots ? below(f->cache.snapshots) : 0);

    if (below(3)) {
        random_pass(f);
    } else if (f->cache.snapshots && below(3) == 0) {
        while (f->cache.n_in_snapshots > f->cache.most_in_snapshots - 4 && drop_any(f))
            ;
        (void)take_snapshot(f, s);
    } else if (f->cache.snapshots && below(3) == 0 && f->of[row]) {
        s = f->of[row] - 1;
        cut_to(f, s, below(f->n[s] + 1), row, false);
    } else if (below(4) == 0) {
        (void)keeps(f, s, below(4) ? below(MOST_CONTEXT) : 0);
    } else if (below(2)) {
        cut(f, s, n, below(2));
    } else if (t != s) {
        cut(f, t, 0, below(2));
        (void)ct_kv_reserve(&f->cache, t, 0);
        (void)share(f, t, s, below(2) ? f->n[s] : n);
    }
    check_all(f);
}

static void sequences_feel_nothing_of_each_other(void **unused)
{
    (void)unused;
    static const int windows[] = {0, 8, 256, 257, 300, 600};
    for (size_t i = 0; i < 4 * CT_COUNT(windows); i++) {
        size_t few = i % 2 ? 0 : (size_t)(2 + below(20)) * 3 * CT_KEY_BLOCK * POSITION_BYTES;
        int kept = i % 4 == 3 || windows[i % CT_COUNT(windows)] > 300 ? 0 : 4 + below(3);
        struct ct_kv_extent e = {
            MOST_CONTEXT, i % 3 ? 256 : 700, 2 + below(3), few, (size_t)kept * LOCAL_BLOCK, false, false};
        struct fake *f = fake_open(windows[i % CT_COUNT(windows)], e);
        f->cache.release = make_room;
        f->cache.user = f;
        for (int step = 0; step < 300; step++)
            random_step(f);
        for (int s = 0; s < f->cache.sequences; s++) {
            assert_true(ct_kv_reserve(&f->cache, s, 0));
            cut(f, s, 0, true);
        }
        check_use(f, 0, 0);
        for (int k = 0; k < CT_ATTN_TYPES; k++)
            assert_int_equal(f->cache.group[k].promised, 0);
        fake_close(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_snapshot_keeps_a_window),
        cmocka_unit_test(the_position_before_it_needs_more),
        cmocka_unit_test(snapshots_make_room),
        cmocka_unit_test(sequences_feel_nothing_of_each_other),
    };
    return cmocka_run_group_tests_name("model: kv_snapshot", tests, NULL, NULL);
}
