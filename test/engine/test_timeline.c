/* SPDX-License-Identifier: Apache-2.0 */
/* test_timeline.c: what a timeline loses and gets back, bit for bit: wherever a session goes back to,
 * whatever its local layers still have there, it goes on with the logits of a fresh one, nobody who shares
 * its blocks feels it, and what it evaluates once more is counted. That cuts into passes do not matter is
 * test_invariance.c's, who holds which block test/model/test_kv_cache.c's. */
#include "timeline_util.h"

/* Groups of cases that take turns in the sample. */
enum { CASES = 5 };

enum { LONG = 600 }; /* tokens: more than two blocks, so that small windows have left the first ones */

/* ---- behind the window ---- */

static void rewinds_of_one_model(carat_model *model, const carat_model_info *info)
{
    int w = info->sliding_window ? info->sliding_window : 8;
    const int at[] = {w - 1, w, w + 1, 2 * w, 1};
    for (size_t m = 0; m < N_MODE; m++) {
        if (!takes_mode(m))
            continue;
        name_mode(&modes[m]);
        struct baseline b = baseline_of(model, &modes[m], LONG, 40);
        carat_engine_options o = options_of(&modes[m], 16, 1);
        o.sessions = 2;
        struct rig r = rig_open(model, &o);
        carat_session *s = r.session[0], *fork = NULL;
        carat_session_close(r.session[1]);
        OK(carat_sync(s, b.ids.id, LONG - 4, NULL, err));
        for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
            int all = carat_tokens_held(s, NULL), local = info->sliding_window > 0;
            OK(carat_fork(s, all, &fork, err));
            OK(carat_rewind(fork, at[i], err));
            assert_int_equal(carat_tokens_held(fork, NULL), at[i]);
            assert_null(carat_logits(fork));
            check_stats(fork, at[i], local ? 0 : at[i], 0);
            for (int k = 0; k < 3; k++) {
                OK(carat_append(fork, b.ids.id + at[i] + k, 1, err));
                check_logits(fork, &b, r.n_vocab, "behind the window");
            }
            check_stats(fork, at[i], local ? 0 : at[i], local ? at[i] : 0);
            carat_session_close(fork);
            /* who has the same blocks and the same logits keeps both */
            check_logits(s, &b, r.n_vocab, "beside a rewind");
            if (all < LONG)
                OK(carat_append(s, b.ids.id + all, 1, err));
        }
        r.session[1] = NULL;
        rig_close(&r);
        baseline_free(&b);
    }
}

static void a_rewind_is_exact_everywhere(void **state)
{
    (void)state;
    if (tier_reaches(0, CASES))
        for_every_model(rewinds_of_one_model, 0);
}

/* A position behind the window is none that a call refuses; a sync goes the same way. */
static void sync_keeps_what_is_common(void **state)
{
    (void)state;
    if (!tier_reaches(1, CASES))
        return;
    struct windowed w = windowed_open();
    struct baseline b = baseline_of(w.model, &modes[FAST], 1000, 41);
    carat_engine_options o = options_of(&modes[FAST], 64, 1);
    struct rig r = rig_open(w.model, &o);
    carat_session *s = r.session[0];
    int reused = -1;
    OK(carat_sync(s, b.ids.id, 1000, &reused, err));
    assert_int_equal(reused, 0);
    check_stats(s, 0, 0, 0);
    OK(carat_sync(s, b.ids.id, 1000, &reused, err));
    assert_int_equal(reused, 1000);
    check_stats(s, 1000, 1000, 0);
    /* the last pass began at 960 and saw positions from 661 on: block 2 is there, and the window of 811 */
    OK(carat_rewind(s, 811, err));
    check_stats(s, 811, 811, 0);
    OK(carat_sync(s, b.ids.id, 1000, &reused, err));
    assert_int_equal(reused, 811);
    check_stats(s, 811, 811, 0);
    check_logits(s, &b, r.n_vocab, "within the window");
    OK(carat_sync(s, b.ids.id, 500, &reused, err));
    assert_int_equal(reused, 0);
    check_stats(s, 499, 0, 499);
    check_logits(s, &b, r.n_vocab, "behind the window");
    OK(carat_sync(s, b.ids.id, 1000, &reused, err));
    assert_int_equal(reused, 500);
    check_logits(s, &b, r.n_vocab, "forward again");
    /* back, back again and back once more before anything is evaluated */
    OK(carat_rewind(s, 700, err));
    OK(carat_rewind(s, 690, err));
    OK(carat_rewind(s, 690, err));
    check_stats(s, 690, 0, 0);
    OK(carat_append(s, b.ids.id + 690, 20, err));
    check_stats(s, 690, 0, 690);
    check_logits(s, &b, r.n_vocab, "back twice");
    baseline_free(&b);
    rig_close(&r);
    windowed_close(&w);
}

static void stats_refuse(void **state)
{
    (void)state;
    carat_model *model = open_own("models/gemma2-bf16");
    carat_engine_options o = small_engine();
    struct rig r = rig_open(model, &o);
    carat_session_stats stats = {.size = 3};
    FAILS(CARAT_E_ARGUMENT, carat_session_get_stats(r.session[0], &stats, err));
    FAILS(CARAT_E_ARGUMENT, carat_session_get_stats(r.session[0], NULL, err));
    carat_session_stats_default(&stats);
    FAILS(CARAT_E_ARGUMENT, carat_session_get_stats(NULL, &stats, err));
    check_stats(r.session[0], 0, 0, 0);
    rig_close(&r);
    carat_model_close(model);
}

/* Two sessions that share blocks evaluate the same tokens once more in the same passes, beside a third. */
static void together(void **state)
{
    (void)state;
    if (!tier_reaches(2, CASES))
        return;
    struct windowed w = windowed_open();
    struct baseline b = baseline_of(w.model, &modes[FAST], 1000, 42);
    for (int threads = 1; threads <= 3; threads += 2) {
        carat_engine_options o = options_of(&modes[FAST], 64, threads);
        o.sessions = 3;
        struct rig r = rig_open(w.model, &o);
        OK(carat_sync(r.session[0], b.ids.id, 990, NULL, err));
        for (int i = 1; i < 3; i++) {
            carat_session_close(r.session[i]);
            OK(carat_fork(r.session[0], i == 1 ? 400 : 450, &r.session[i], err));
        }
        carat_row rows[3];
        for (int i = 0; i < 3; i++) {
            int n = carat_tokens_held(r.session[i], NULL);
            rows[i] = (carat_row){.session = r.session[i], .tokens = b.ids.id + n, .n = 10};
            rows[i].logits = malloc(10 * (size_t)r.n_vocab * sizeof(float));
        }
        OK(carat_step(r.engine, rows, sizeof(carat_row), 3, err));
        for (int i = 0; i < 3; i++) {
            int n = carat_tokens_held(r.session[i], NULL);
            for (int k = 0; k < 10; k++)
                expect_same(rows[i].logits + k * r.n_vocab, row_of(&b, n - 10 + k, r.n_vocab),
                            (size_t)r.n_vocab, "together", n - 10 + k);
            check_logits(r.session[i], &b, r.n_vocab, "together");
            free(rows[i].logits);
        }
        rig_close(&r);
    }
    baseline_free(&b);
    windowed_close(&w);
}

/* ---- stopped meanwhile ---- */

struct watcher {
    int left;
    size_t done, total; /* of the last question */
    bool back;          /* done had shrunk, or was beyond total */
};

static int ask(void *user, size_t done, size_t total)
{
    struct watcher *w = user;
    w->back |= (total == w->total && done < w->done) || done > total;
    w->done = done;
    w->total = total;
    return w->left-- <= 0;
}

/* Wherever it is stopped, it holds what it held or more, and goes on from there. */
static void it_can_be_stopped(void **state)
{
    (void)state;
    if (!tier_reaches(3, CASES))
        return;
    struct windowed w = windowed_open();
    struct baseline b = baseline_of(w.model, &modes[FAST], 800, 43);
    carat_engine_options o = options_of(&modes[FAST], 64, 2);
    carat_session_options so;
    struct watcher watch = {.left = INT32_MAX};
    struct rig r = rig_open(w.model, &o);
    carat_status status = CARAT_E_CANCELLED;
    carat_session_options_default(&so);
    so.watch = ask;
    so.user = &watch;
    carat_session_close(r.session[0]);
    OK(carat_session_create(&r.session[0], r.engine, &so, err));
    carat_session *s = r.session[0];
    for (int k = 0; status == CARAT_E_CANCELLED;
         k += tier_is_deep() ? 1 + k / (SANITIZED ? 2 : 8) : 1 + 4 * k) {
        watch.left = INT32_MAX;
        OK(carat_sync(s, b.ids.id, 800, NULL, err));
        watch = (struct watcher){.left = k};
        status = carat_sync(s, b.ids.id, 400, NULL, NULL);
        assert_false(watch.back);
        assert_int_equal(watch.total, 400);
        carat_session_stats stats = stats_of(s);
        int held = carat_tokens_held(s, NULL);
        assert_int_equal(held, status ? 399 : 400);
        assert_int_equal(stats.kept, 399);
        assert_true(status ? stats.reevaluated < 399 && (size_t)stats.reevaluated <= watch.done
                           : stats.reevaluated == 399);
        watch.left = INT32_MAX;
        if (k % 3 == 1) /* before all of it is there again */
            OK(carat_rewind(s, held - 200, err));
        held = carat_tokens_held(s, NULL);
        OK(carat_append(s, b.ids.id + held, 2, err));
        check_logits(s, &b, r.n_vocab, "after it was stopped");
    }
    assert_int_equal(status, CARAT_OK);
    baseline_free(&b);
    rig_close(&r);
    windowed_close(&w);
}

static int count(void *user, size_t done, size_t total)
{
    struct watcher *w = user;
    w->back |= done < w->done;
    w->done = done;
    w->total = total;
    return 0;
}

static void progress_counts_it(void **state)
{
    (void)state;
    if (!tier_reaches(2, CASES))
        return;
    struct windowed w = windowed_open();
    carat_engine_options o = options_of(&modes[FAST], 64, 1);
    carat_session_options so;
    struct watcher watch = {.left = 0};
    struct rig r = rig_open(w.model, &o);
    struct ids ids = scattered_ids(900, model_info(w.model).n_text_vocab, 44);
    carat_session_options_default(&so);
    so.progress = count;
    so.user = &watch;
    carat_session_close(r.session[0]);
    OK(carat_session_create(&r.session[0], r.engine, &so, err));
    OK(carat_sync(r.session[0], ids.id, 800, NULL, err));
    assert_int_equal(watch.total, 800);
    watch = (struct watcher){.left = 0};
    ids.id[500]++;
    OK(carat_sync(r.session[0], ids.id, 900, NULL, err));
    assert_int_equal(watch.done, 900);
    assert_int_equal(watch.total, 900);
    assert_false(watch.back);
    check_stats(r.session[0], 500, 0, 500);
    free(ids.id);
    rig_close(&r);
    windowed_close(&w);
}

/* ---- everything at once ---- */

static uint32_t seed = 7;
static int below(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((uint64_t)(seed >> 4) * (uint64_t)n >> 28);
}

enum { SESSIONS = 3, BRANCHES = 3, MOST = 1000, COMMON = 350 };

/* Sessions that hold the beginnings of sequences which have their first tokens in common, and go forward,
 * back, from one to another and apart. */
static void random_step(struct rig *r, const struct baseline *b, int *of)
{
    int i = below(SESSIONS), n = carat_tokens_held(r->session[i], NULL), to;
    carat_session *s = r->session[i];

    switch (below(6)) {
    case 0:
        OK(carat_rewind(s, below(n + 1), err));
        return;
    case 4:
        OK(carat_mark(s, err));
        return;
    case 1:
        if (n <= COMMON)
            of[i] = below(BRANCHES);
        to = 1 + below(MOST);
        OK(carat_sync(s, b[of[i]].ids.id, to, NULL, err));
        break;
    case 2: /* to another branch */
        of[i] = below(BRANCHES);
        OK(carat_sync(s, b[of[i]].ids.id, COMMON + 1 + below(100), NULL, err));
        break;
    case 3: {
        int other = (i + 1 + below(SESSIONS - 1)) % SESSIONS;
        carat_session_close(r->session[other]);
        OK(carat_fork(s, below(2) ? n : below(n + 1), &r->session[other], err));
        of[other] = of[i];
        return;
    }
    default:
        to = 1 + below(below(2) ? 3 : 200);
        if (n + to > MOST)
            return;
        OK(carat_append(s, b[of[i]].ids.id + n, to, err));
    }
    check_logits(s, &b[of[i]], r->n_vocab, "at random");
}

static void timelines_feel_nothing_of_each_other(void **state)
{
    (void)state;
    struct windowed w = windowed_open();
    static const size_t taken[] = {0, FAST_Q8, FAST}; /* without snapshots, with two, with four */
    for (int k = 0; k < 3; k++) {
        if (!tier_reaches(4, CASES) || (!tier_is_deep() && tier_turn() / CASES % 3 != (unsigned)k))
            continue;
        const struct mode *m = &modes[taken[k]];
        struct baseline b[BRANCHES];
        for (int i = 0; i < BRANCHES; i++) {
            b[i] = (struct baseline){scattered_ids(MOST, model_info(w.model).n_text_vocab, 80 + (uint32_t)i),
                                     NULL};
            memcpy(b[i].ids.id, b[0].ids.id, COMMON * sizeof *b[i].ids.id);
            b[i].ids.id[COMMON] = 3 + i;
            carat_engine_options o = options_of(m, MOST, 1);
            struct rig fresh = rig_open(w.model, &o);
            b[i].logits = step_all(&fresh, 0, &b[i].ids);
            rig_close(&fresh);
        }
        carat_engine_options o = options_of(m, 100, 2);
        o.sessions = SESSIONS;
        o.snapshot_bytes = 2 * (size_t)k * snapshot_size(w.model, &o);
        struct rig r = rig_open(w.model, &o);
        int of[SESSIONS] = {0};
        for (int i = 0; i < (SANITIZED || !tier_is_deep() ? 30 : 200); i++)
            random_step(&r, b, of);
        rig_close(&r);
        for (int i = 0; i < BRANCHES; i++)
            baseline_free(&b[i]);
    }
    windowed_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rewind_is_exact_everywhere),
        cmocka_unit_test(sync_keeps_what_is_common),
        cmocka_unit_test(stats_refuse),
        cmocka_unit_test(together),
        cmocka_unit_test(it_can_be_stopped),
        cmocka_unit_test(progress_counts_it),
        cmocka_unit_test(timelines_feel_nothing_of_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
