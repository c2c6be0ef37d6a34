/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_cache.c: who holds which block of K and V, over the backend of kv_fake.h: what a sequence wrote is
 * what it reads, whatever others do with blocks that it shares with them; a block is copied only where
 * somebody else's positions would be written over; what is reserved is kept to the block. The bytes of a real
 * backend are test/backend/test_kv.c's. */
#include "kv_fake.h"

/* ---- one rule each ---- */

/* As many as full contexts need; a window needs what a pass touches and what its first row sees. */
static void blocks_are_counted(void **unused)
{
    static const struct {
        int window, context, chunk, global, local;
    } rows[] = {
        {512, 2048, 256, 8, 3}, {512, 512, 256, 2, 2}, {513, 2048, 256, 8, 3},
        {514, 2048, 256, 8, 4}, {1, 2048, 256, 8, 1},  {2, 2048, 256, 8, 2},
        {8, 2048, 257, 8, 3},   {8, 100, 16, 1, 1},    {0, 1000, 16, 4, 0},
    };

    (void)unused;
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        struct fake *f = fake_open(
            rows[i].window, (struct ct_kv_extent){rows[i].context, rows[i].chunk, 2, 0, 0, false, false});
        assert_int_equal(f->cache.group[CT_GLOBAL].pool.n_blocks, 2 * rows[i].global);
        assert_int_equal(f->cache.group[CT_LOCAL].pool.n_blocks, 2 * rows[i].local);
        assert_true(grow(f, 0, rows[i].context) && grow(f, 1, rows[i].context));
        check_all(f);
        fake_close(f);
    }
}

/* Bytes are shared out as equal numbers of blocks, whole ones, and no group gets more than it can use. */
static void bytes_are_split(void **unused)
{
    const size_t global = CT_KEY_BLOCK * POSITION_BYTES, local = 2 * global;

    (void)unused;
    for (size_t n = 1; n <= 30; n++)
        for (int less = 0; less <= 1; less++) {
            size_t bytes = CT_MIN(n, 16) * global + CT_MIN(n, 6) * local - (size_t)less;
            struct fake *f = fake_open(512, (struct ct_kv_extent){2048, 256, 2, bytes, 0, false, false});
            int all = (int)CT_MIN(n, 16) - less, some = (int)CT_MIN(n, 6) - (less && n <= 6);
            assert_int_equal(f->cache.group[CT_LOCAL].pool.n_blocks, some);
            assert_int_equal(f->cache.group[CT_GLOBAL].pool.n_blocks, all);
            assert_int_equal(f->cache.least, global + local);
            fake_close(f);
        }
}

/* A span ends at a multiple of a block, and a pass of it always finds room in the window's blocks. */
static void passes_end_at_blocks(void **unused)
{
    (void)unused;
    struct fake *f = fake_open(512, (struct ct_kv_extent){2048, 256, 1, 0, 0, false, false});
    assert_int_equal(ct_kv_span(&f->cache, 0), 256);
    assert_int_equal(ct_kv_span(&f->cache, 1), 255);
    assert_int_equal(ct_kv_span(&f->cache, 255), 1);
    assert_int_equal(ct_kv_span(&f->cache, 256), 256);
    fake_close(f);
    f = fake_open(512, (struct ct_kv_extent){2048, 257, 1, 0, 0, false, false});
    assert_int_equal(ct_kv_span(&f->cache, 100), 412);
    fake_close(f);
}

static void a_window_gives_blocks_back(void **unused)
{
    (void)unused;
    struct fake *f = fake_open(300, (struct ct_kv_extent){2048, 256, 2, 0, 0, false, false});
    for (int n = 1; n <= 2048; n++) {
        assert_true(grow(f, 0, n));
        /* what the row at n - 1 saw is still there, and no block below */
        int lowest = CT_MAX(0, n - 300) / CT_KEY_BLOCK;
        assert_int_equal(f->cache.group[CT_LOCAL].first[0], lowest);
        if (n % 100 == 0)
            check_use(f, (n + 255) / 256 + (n + 255) / 256 - lowest, 0);
    }
    assert_int_equal(f->copies, 0);
    cut(f, 0, 0, true);
    check_use(f, 0, 0);
    assert_int_equal(f->discards, 8 + 2);
    fake_close(f);
}

/* Who stands at the end of what is written goes on in place; the other one copies what it holds of the block,
 * once for each layer. */
static void a_shared_block_is_copied_once(void **unused)
{
    (void)unused;
    for (int first = 0; first <= 1; first++) {
        struct fake *f = fake_open(512, (struct ct_kv_extent){1024, 256, 2, 0, 0, false, false});
        assert_true(grow(f, 0, 300) && share(f, 1, 0, 300));
        check_use(f, 4, 4);
        assert_true(grow(f, first, 310));
        assert_int_equal(f->copies, 0); /* in place */
        check_use(f, 4, 4);
        assert_true(grow(f, !first, 305));
        assert_int_equal(f->copies, LAYERS);
        assert_int_equal(f->positions_copied, LAYERS * (300 - 256));
        check_use(f, 6, 2);
        assert_true(grow(f, first, 400) && grow(f, !first, 400));
        assert_int_equal(f->copies, LAYERS);
        check_use(f, 6, 2);
        fake_close(f);
    }
}

/* In a pass with both of them it is the same, whoever comes first. */
static void both_write_in_one_pass(void **unused)
{
    (void)unused;
    struct fake *f = fake_open(512, (struct ct_kv_extent){1024, 256, 2, 0, 0, false, false});
    assert_true(grow(f, 0, 300) && share(f, 1, 0, 300));
    assert_true(ct_kv_extend(&f->cache, 1, 301) && ct_kv_extend(&f->cache, 0, 302));
    write_positions(f, 0, 302);
    write_positions(f, 1, 301);
    assert_int_equal(f->copies, LAYERS);
    check_use(f, 6, 2);
    fake_close(f);
}

static void who_stands_before_the_end_copies(void **unused)
{
    (void)unused;
    struct fake *f = fake_open(0, (struct ct_kv_extent){1024, 256, 3, 0, 0, false, false});
    assert_true(grow(f, 0, 300) && share(f, 1, 0, 290));
    assert_true(grow(f, 1, 291)); /* 290 is written already */
    assert_int_equal(f->positions_copied, LAYERS * (290 - 256));
    check_use(f, 3, 1);
    assert_true(share(f, 2, 0, 260));
    cut(f, 0, 270, false); /* where it once stood at the end, it does not any more */
    assert_true(grow(f, 0, 271));
    assert_int_equal(f->positions_copied, LAYERS * (290 - 256 + 270 - 256));
    assert_true(grow(f, 2, 261)); /* alone in it by now */
    assert_int_equal(f->positions_copied, LAYERS * (290 - 256 + 270 - 256));
    check_use(f, 4, 1);
    fake_close(f);
}

/* At a multiple of a block nobody writes into what is shared; a cut one whose others are gone is one's
 * own. */
static void nothing_is_copied_without_need(void **unused)
{
    (void)unused;
    struct fake *f = fake_open(512, (struct ct_kv_extent){1024, 256, 3, 0, 0, false, false});
    assert_true(grow(f, 0, 512) && share(f, 1, 0, 512) && share(f, 2, 0, 256));
    for (int s = 0; s < 3; s++)
        assert_true(grow(f, s, f->n[s] + 10));
    assert_int_equal(f->copies, 0);
    check_use(f, 10, 4);
    cut(f, 1, 0, true);
    cut(f, 2, 0, true);
    cut(f, 0, 400, false);
    assert_true(grow(f, 0, 700));
    assert_int_equal(f->copies, 0);
    check_use(f, 6, 0);
    fake_close(f);
}

/* A pass that was stopped may have written: what stands there is nobody's. */
static void a_stopped_pass_leaves_no_trace(void **unused)
{
    (void)unused;
    struct fake *f = fake_open(512, (struct ct_kv_extent){1024, 256, 2, 0, 0, false, false});
    assert_true(grow(f, 0, 300) && share(f, 1, 0, 300));
    assert_true(ct_kv_extend(&f->cache, 0, 320));
    for (int layer = 0; layer < LAYERS; layer++)
        *value_at(f, layer, 0, 310) = GARBAGE;
    ct_kv_cut(&f->cache, 0, 300, 300, false);
    check_use(f, 4, 4);
    assert_true(grow(f, 1, 330) && grow(f, 0, 330));
    check_all(f);
    fake_close(f);
}

/* Behind the window the local layers begin anew; the global ones keep what they have, and their blocks, which
 * others may hold, are neither copied nor written meanwhile. */
static void a_rewind_behind_the_window(void **unused)
{
    (void)unused;
    struct fake *f = fake_open(300, (struct ct_kv_extent){2048, 256, 2, 0, 0, false, false});
    assert_true(grow(f, 0, 1500) && share(f, 1, 0, 1490));
    assert_int_equal(f->ready[1], 1490);
    cut(f, 1, 900, false);
    assert_int_equal(ct_kv_ready(&f->cache, 1), 0);
    check_use(f, 6 + 3, 4);
    assert_true(grow(f, 1, 100));
    check_use(f, 6 + 3 + 1, 4);
    cut(f, 1, 600, false); /* and further, before all of it was there again */
    assert_int_equal(ct_kv_ready(&f->cache, 1), 100);
    assert_true(grow(f, 1, 600));
    assert_int_equal(f->copies, 0);
    assert_true(grow(f, 1, 601)); /* the first new one */
    assert_int_equal(f->positions_copied, 600 - 512);
    assert_true(grow(f, 0, 1600) && grow(f, 1, 1600));
    check_all(f);
    cut(f, 0, 500, false); /* of which another one takes less */
    cut(f, 1, 0, false);
    assert_true(grow(f, 0, 450) && share(f, 1, 0, 480));
    assert_int_equal(ct_kv_ready(&f->cache, 1), 450);
    assert_true(grow(f, 0, 520) && grow(f, 1, 520));
    check_all(f);
    fake_close(f);
}

/* ---- reservations ---- */

static void what_is_reserved_is_kept(void **unused)
{
    (void)unused;
    struct fake *f = fake_open(512, (struct ct_kv_extent){768, 256, 3, bytes_of(3), 0, false, false});
    assert_false(keeps(f, 0, 769));
    assert_true(keeps(f, 0, 512));
    assert_false(keeps(f, 1, 257));
    assert_true(keeps(f, 1, 256));
    assert_false(keeps(f, 2, 1));
    assert_false(grow(f, 2, 1));
    check_use(f, 0, 0);
    assert_true(grow(f, 1, 256) && !grow(f, 1, 257) && grow(f, 0, 512) && !grow(f, 0, 513));
    check_use(f, 6, 0);
    assert_int_equal(f->n[1], 256);
    assert_int_equal(f->n[0], 512);
    /* what is given back is kept for who has reserved it */
    cut(f, 0, 100, false);
    assert_false(grow(f, 1, 257));
    assert_true(grow(f, 0, 512));
    cut(f, 0, 100, false);
    assert_true(keeps(f, 0, 0));
    assert_true(grow(f, 1, 257));
    assert_false(grow(f, 0, 512));
    assert_int_equal(f->n[0], 256); /* what there was room for */
    check_all(f);
    fake_close(f);
}

/* A promise that cannot be had leaves the one before; a smaller one frees what is beyond it. */
static void a_promise_changes_whole_or_not_at_all(void **unused)
{
    (void)unused;
    struct fake *f = fake_open(512, (struct ct_kv_extent){1024, 256, 2, bytes_of(3), 0, false, false});
    assert_true(keeps(f, 0, 300));
    assert_true(keeps(f, 1, 10));
    assert_false(keeps(f, 0, 513));
    assert_int_equal(f->cache.group[CT_GLOBAL].promise[0], 2);
    assert_int_equal(f->cache.group[CT_LOCAL].promise[0], 2);
    assert_int_equal(f->cache.reserved[0], 300);
    assert_true(keeps(f, 0, 256) && keeps(f, 1, 512));
    assert_false(keeps(f, 0, 257));
    check_all(f);
    fake_close(f);
}

/* A window needs no more than its blocks, however long the sequence. */
static void a_window_reserves_its_blocks(void **unused)
{
    (void)unused;
    size_t bytes = (size_t)(8 + 2 * 3) * CT_KEY_BLOCK * POSITION_BYTES; /* 8 global blocks, 3 local ones */
    struct fake *f = fake_open(512, (struct ct_kv_extent){2048, 256, 1, bytes, 0, false, false});
    assert_true(keeps(f, 0, 2048) && grow(f, 0, 2048));
    check_use(f, 11, 0);
    fake_close(f);
    f = fake_open(512, (struct ct_kv_extent){2048, 256, 1, bytes - 1, 0, false, false});
    assert_false(keeps(f, 0, 2048));
    assert_true(keeps(f, 0, 7 * 256) && grow(f, 0, 7 * 256) && !grow(f, 0, 7 * 256 + 1));
    fake_close(f);
}

/* Both may write into the last block, so one of them needs another one. */
static void a_fork_keeps_the_promise(void **unused)
{
    (void)unused;
    for (int blocks = 3; blocks <= 4; blocks++) {
        struct fake *f =
            fake_open(512, (struct ct_kv_extent){1024, 256, 3, bytes_of(blocks), 0, false, false});
        assert_true(keeps(f, 0, 700) && grow(f, 0, 300));
        assert_int_equal(share(f, 1, 0, 300), blocks == 4);
        if (blocks == 3) { /* nothing has changed */
            check_use(f, 4, 0);
            assert_int_equal(f->cache.group[CT_GLOBAL].promise[0], 1);
            assert_true(share(f, 1, 0, 256)); /* neither writes into that one */
            assert_false(grow(f, 1, 257));
            assert_true(grow(f, 0, 700));
            assert_int_equal(f->copies, 0);
        } else {
            assert_true(grow(f, 1, 301));  /* in place */
            assert_false(grow(f, 1, 513)); /* what is free is promised */
            assert_true(grow(f, 0, 700));
            assert_int_equal(f->copies, LAYERS);
        }
        check_all(f);
        fake_close(f);
    }
}

/* A block that was kept because others might write first is free again when they are gone, or have one of
 * their own. */
static void a_promise_ends_with_its_reason(void **unused)
{
    (void)unused;
    for (int gone = 0; gone <= 1; gone++) {
        struct fake *f =
            fake_open(512, (struct ct_kv_extent){1024, 256, 3, bytes_of(3 + !gone), 0, false, false});
        assert_true(keeps(f, 0, 512) && grow(f, 0, 100) && share(f, 1, 0, 100));
        assert_int_equal(f->cache.group[CT_GLOBAL].promise[0], 2);
        if (gone)
            cut(f, 1, 0, true);
        else
            assert_true(grow(f, 0, 101) && keeps(f, 0, 512) && grow(f, 1, 101)); /* which copies */
        assert_int_equal(f->cache.group[CT_GLOBAL].promise[0], 1);
        assert_int_equal(f->cache.group[CT_LOCAL].promise[0], 1);
        assert_true(grow(f, 2, 256));
        assert_false(grow(f, 2, 257));
        assert_true(grow(f, 0, 512));
        check_all(f);
        fake_close(f);
    }
}

/* A rewind into blocks that others hold ends a promise when too few are free. */
static void a_rewind_may_end_a_promise(void **unused)
{
    (void)unused;
    struct fake *f = fake_open(
        0, (struct ct_kv_extent){1024, 256, 2, 4 * 3 * CT_KEY_BLOCK * POSITION_BYTES, 0, false, false});
    assert_true(keeps(f, 0, 768) && grow(f, 0, 600) && share(f, 1, 0, 512) && grow(f, 1, 513));
    assert_int_equal(f->cache.group[CT_GLOBAL].n_free, 0);
    cut(f, 0, 512, false);
    assert_int_equal(f->cache.reserved[0], 768); /* its last block came back */
    cut(f, 0, 300, false);
    assert_int_equal(f->cache.reserved[0], 0);
    check_all(f);
    fake_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_counted),
        cmocka_unit_test(bytes_are_split),
        cmocka_unit_test(passes_end_at_blocks),
        cmocka_unit_test(a_window_gives_blocks_back),
        cmocka_unit_test(a_shared_block_is_copied_once),
        cmocka_unit_test(both_write_in_one_pass),
        cmocka_unit_test(who_stands_before_the_end_copies),
        cmocka_unit_test(nothing_is_copied_without_need),
        cmocka_unit_test(a_stopped_pass_leaves_no_trace),
        cmocka_unit_test(a_rewind_behind_the_window),
        cmocka_unit_test(what_is_reserved_is_kept),
        cmocka_unit_test(a_promise_changes_whole_or_not_at_all),
        cmocka_unit_test(a_window_reserves_its_blocks),
        cmocka_unit_test(a_fork_keeps_the_promise),
        cmocka_unit_test(a_promise_ends_with_its_reason),
        cmocka_unit_test(a_rewind_may_end_a_promise),
    };
    return cmocka_run_group_tests_name("model: kv_cache", tests, NULL, NULL);
}
