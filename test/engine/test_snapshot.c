/* SPDX-License-Identifier: Apache-2.0 */
/* test_snapshot.c: snapshots: a session goes back to one, beside one and behind one with the bits of a fresh
 * session, and evaluates only what lies between; when they are taken, which makes room, what they take of the
 * plan and what is refused. Their blocks are test/model/test_kv_snapshot.c's. */
#include "timeline_util.h"

enum { LONG = 600 };
enum { CASES = 4 }; /* groups that take turns in the sample */

/* ---- equal bits ---- */

/* The block of the first position that position n sees. */
static int first_block(int window, int n)
{
    return n < window ? 0 : (n - window + 1) / 256;
}

/* Where a session that has snapshots goes on from n: at n when one that lies further on has the blocks for
 * it, too, else at the nearest one below. */
static int resumes_at(int window, const int *at, int n_at, int n)
{
    int best = window ? 0 : n;
    for (int i = 0; i < n_at; i++) {
        int from = n < at[i] ? n : at[i];
        if (first_block(window, from) >= first_block(window, at[i] - 1) && from > best)
            best = from;
    }
    return best;
}

static void snapshots_of_one_model(carat_model *model, const carat_model_info *info)
{
    static const int at[] = {120, 257, 300};
    for (size_t m = 0; m < N_MODE; m++) {
        if (!takes_mode(m))
            continue;
        name_mode(&modes[m]);
        struct baseline b = baseline_of(model, &modes[m], LONG, 45);
        carat_engine_options o = options_of(&modes[m], 16, 1);
        o.sessions = 2;
        o.snapshot_bytes = 4 * snapshot_size(model, &o);
        struct rig r = rig_open(model, &o);
        carat_session *s = r.session[0], *fork = NULL;
        carat_session_close(r.session[1]);
        for (int i = 0; i < 3; i++)
            OK(carat_sync(s, b.ids.id, at[i], NULL, err));
        OK(carat_append(s, b.ids.id + at[2], LONG - at[2], err));
        assert_int_equal(stats_of(s).snapshots, info->sliding_window ? 3 : 0);
        for (int i = 0; i < 9; i++) {
            int n = at[i / 3] + i % 3 - 1, from = resumes_at(info->sliding_window, at, 3, n);
            OK(carat_fork(s, LONG, &fork, err));
            OK(carat_rewind(fork, n, err));
            check_stats(fork, n, from, 0);
            for (int k = 0; k < 2; k++) {
                OK(carat_append(fork, b.ids.id + n + k, 1, err));
                check_logits(fork, &b, r.n_vocab, "at a snapshot");
            }
            check_stats(fork, n, from, n - from);
            carat_session_close(fork);
            OK(carat_fork(s, n, &fork, err)); /* the same at once */
            check_stats(fork, n, from, 0);
            OK(carat_append(fork, b.ids.id + n, 3, err));
            check_logits(fork, &b, r.n_vocab, "forked at a snapshot");
            carat_session_close(fork);
            check_logits(s, &b, r.n_vocab, "beside a fork");
        }
        r.session[1] = NULL;
        rig_close(&r);
        baseline_free(&b);
    }
}

static void a_snapshot_is_exact(void **state)
{
    (void)state;
    if (tier_reaches(0, CASES))
        for_every_model(snapshots_of_one_model, 0);
}

/* ---- when they are taken, and which goes ---- */

static struct windowed wide;

static int open_wide(void **state)
{
    (void)state;
    wide = windowed_open();
    return 0;
}

static int close_wide(void **state)
{
    (void)state;
    windowed_close(&wide);
    return 0;
}

static struct rig rig_of(int snapshots, int sessions, int chunk)
{
    carat_engine_options o = options_of(&modes[FAST], chunk, 1);
    o.context = 2048;
    o.sessions = sessions;
    o.snapshot_bytes = (size_t)snapshots * snapshot_size(wide.model, &o);
    return rig_open(wide.model, &o);
}

/* Where a fork of s would go on that goes back to n. */
static int restored_at(carat_session *s, int n)
{
    carat_session *fork = NULL;
    OK(carat_fork(s, n, &fork, err));
    int from = stats_of(fork).restored_from;
    carat_session_close(fork);
    return from;
}

/* The turns of a chat: an answer is given once more with one token, whatever came after it. */
static void the_last_turn_costs_one_token(void **state)
{
    (void)state;
    if (!tier_reaches(1, CASES))
        return;
    struct rig r = rig_of(4, 2, 64);
    struct baseline b = baseline_of(wide.model, &modes[FAST], 1000, 46);
    carat_session *s = r.session[0];
    carat_session_close(r.session[1]);
    r.session[1] = NULL;
    for (int i = 0; i < 3; i++) {
        int reused = -1;
        OK(carat_sync(s, b.ids.id, 350, &reused, err));
        assert_int_equal(reused, i ? 349 : 0);
        check_stats(s, i ? 349 : 0, i ? 349 : 0, 0);
        assert_int_equal(stats_of(s).snapshots, 1);
        check_logits(s, &b, r.n_vocab, "the last turn");
        for (int k = 350; k < 1000; k += i == 2 ? 1 : 50)
            OK(carat_append(s, b.ids.id + k, i == 2 ? 1 : 50, err));
        check_logits(s, &b, r.n_vocab, "and its answer");
    }
    OK(carat_rewind(s, 349, err)); /* before it: it is gone */
    assert_int_equal(stats_of(s).snapshots, 0);
    check_stats(s, 349, 349, 0);
    OK(carat_append(s, b.ids.id + 349, 600, err));
    assert_int_equal(restored_at(s, 349), 0);
    baseline_free(&b);
    rig_close(&r);
}

/* Who goes back to its very position keeps it, and so does who is forked there: both can come back once more.
 */
static void it_outlives_what_goes_back_to_it(void **state)
{
    (void)state;
    enum { AT = 400, MORE = 400 };
    if (!tier_reaches(2, CASES))
        return;
    struct rig r = rig_of(4, 2, 64);
    struct ids ids = scattered_ids(AT + MORE, model_info(wide.model).n_text_vocab, 50);
    carat_session *s = r.session[0], *fork = NULL;
    carat_session_close(r.session[1]);
    OK(carat_append(s, ids.id, AT, err));
    OK(carat_mark(s, err));
    OK(carat_fork(s, AT, &fork, err));
    carat_session *both[] = {s, fork};
    for (int i = 0; i < 2; i++)
        for (int turn = 0; turn < 2; turn++) {
            OK(carat_append(both[i], ids.id + AT, MORE, err));
            assert_int_equal(stats_of(both[i]).snapshots, 1);
            OK(carat_rewind(both[i], AT, err));
            check_stats(both[i], AT, AT, 0);
            assert_int_equal(stats_of(both[i]).snapshots, 1);
        }
    r.session[1] = fork;
    free(ids.id);
    rig_close(&r);
}

static void long_prompts_have_some(void **state)
{
    (void)state;
    static const int chunks[] = {16, 100, 256, 700};
    struct ids ids = scattered_ids(2048, model_info(wide.model).n_text_vocab, 47);
    for (size_t i = SANITIZED ? 3 : 0; i < sizeof chunks / sizeof *chunks; i++) {
        if (!tier_reaches(3, CASES) || (!SANITIZED && !tier_is_deep() && tier_turn() / CASES % 4 != i))
            continue;
        struct rig r = rig_of(4, 2, chunks[i]);
        carat_session *s = r.session[0];
        carat_session_close(r.session[1]);
        r.session[1] = NULL;
        OK(carat_append(s, ids.id, 2047, err));
        assert_int_equal(stats_of(s).snapshots, 1);
        int from = restored_at(s, 1500);
        assert_in_range(from, 1024, 1024 + chunks[i]);
        OK(carat_rewind(s, 800, err)); /* what comes once more brings it again */
        assert_int_equal(stats_of(s).snapshots, 0);
        check_stats(s, 800, 0, 0);
        OK(carat_append(s, ids.id + 800, 1200, err));
        assert_int_equal(restored_at(s, 1500), from);
        for (int k = 2000; k < 2048; k++) /* a token is not a prompt */
            OK(carat_append(s, ids.id + k, 1, err));
        assert_int_equal(stats_of(s).snapshots, 1);
        rig_close(&r);
    }
    free(ids.id);
}

/* The one whose loss costs fewest tokens goes first, and never the one that is being taken. */
static void the_cheapest_makes_room(void **state)
{
    (void)state;
    if (!tier_reaches(2, CASES))
        return;
    struct rig r = rig_of(2, 2, 64); /* six blocks */
    struct ids ids = scattered_ids(2048, model_info(wide.model).n_text_vocab, 48);
    carat_session *s = r.session[0];
    carat_session_close(r.session[1]);
    r.session[1] = NULL;
    static const int at[] = {512, 1270, 1536, 1960};
    for (int i = 0, n = 0; i < 4; n = at[i++]) {
        OK(carat_append(s, ids.id + n, at[i] - n, err));
        OK(carat_mark(s, err));
        OK(carat_mark(s, err)); /* once more changes nothing */
    }
    /* They keep two blocks each, and 1024 came by itself. For 1960 go 1270, which costs 246, and then 512: it
     * costs as much as 1024 and 1536 do by then, and is farthest back. */
    assert_int_equal(restored_at(s, 1960), 1960);
    assert_int_equal(restored_at(s, 1600), 1536);
    assert_int_equal(restored_at(s, 1100), 1024);
    assert_int_equal(restored_at(s, 800), 0);
    assert_int_equal(stats_of(s).snapshots, 3);
    free(ids.id);
    rig_close(&r);
}

static void mark_refuses(void **state)
{
    (void)state;
    struct rig r = rig_of(0, 1, 64);
    struct ids ids = scattered_ids(100, model_info(wide.model).n_text_vocab, 49);
    FAILS(CARAT_E_ARGUMENT, carat_mark(NULL, err));
    OK(carat_mark(r.session[0], err)); /* nothing is held */
    OK(carat_sync(r.session[0], ids.id, 100, NULL, err));
    OK(carat_mark(r.session[0], err)); /* there is no room for any */
    assert_int_equal(stats_of(r.session[0]).snapshots, 0);
    free(ids.id);
    rig_close(&r);
}

/* ---- the plan ---- */

static void they_are_part_of_the_plan(void **state)
{
    (void)state;
    carat_engine_options o = options_of(&modes[FAST], 64, 1);
    carat_plan without = {.size = sizeof without}, with = {.size = sizeof with};
    carat_engine *engine = NULL;
    carat_error e = {CARAT_OK, ""};
    char size[32];
    o.context = 2048;
    OK(carat_plan_engine(wide.model, &o, &without, err));
    assert_int_equal(without.snapshot_bytes, 0);
    o.snapshot_bytes = 1;
    assert_int_equal(carat_engine_create(&engine, wide.model, &o, &e), CARAT_E_ARGUMENT);
    snprintf(size, sizeof size, "at least %zu", without.snapshot_least);
    assert_non_null(strstr(e.message, size));
    o.snapshot_bytes = without.snapshot_least - 1;
    FAILS(CARAT_E_ARGUMENT, carat_plan_engine(wide.model, &o, &with, err));
    for (int n = 1; n <= 2; n++) {
        o.snapshot_bytes = (size_t)n * without.snapshot_least + 1;
        OK(carat_plan_engine(wide.model, &o, &with, err));
        assert_int_equal(with.snapshot_bytes, (size_t)n * without.snapshot_least);
        assert_int_equal(with.kv_bytes, without.kv_bytes + with.snapshot_bytes);
        assert_true(with.work_bytes >= without.work_bytes && with.bytes > without.bytes);
    }
    o.snapshot_bytes = SIZE_MAX; /* no more than there can be */
    OK(carat_plan_engine(wide.model, &o, &with, err));
    assert_int_equal(with.snapshot_bytes, (size_t)2048 / 256 * (without.snapshot_least / 3));
    o.max_bytes = with.bytes - 1;
    assert_int_equal(carat_plan_engine(wide.model, &o, &with, &e), CARAT_E_MEMORY);
    assert_non_null(strstr(e.message, "of snapshots"));
    check_sentence(e.message);
    /* without local layers there is nothing to keep */
    carat_model *model = open_own("models/gemma1-f32");
    o.max_bytes = 0;
    o.snapshot_bytes = 1;
    OK(carat_plan_engine(model, &o, &with, err));
    assert_int_equal(with.snapshot_bytes, 0);
    assert_int_equal(with.snapshot_least, 0);
    carat_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_snapshot_is_exact),
        cmocka_unit_test(the_last_turn_costs_one_token),
        cmocka_unit_test(it_outlives_what_goes_back_to_it),
        cmocka_unit_test(long_prompts_have_some),
        cmocka_unit_test(the_cheapest_makes_room),
        cmocka_unit_test(mark_refuses),
        cmocka_unit_test(they_are_part_of_the_plan),
    };
    return cmocka_run_group_tests(tests, open_wide, close_wide);
}
