/* SPDX-License-Identifier: Apache-2.0 */
/* test_prompt_places.c: the places of a prompt to which sessions can go back, and tokens that local layers
 * lack, when the prompt goes into passes piece by piece. What is drawn behind it is test_prompt.c's. */
#include "engine/timeline_util.h"

#include "base/base.h"

enum { WIDE = 1600 };

static carat_engine_stats counts(const struct rig *r)
{
    carat_engine_stats stats;

    carat_engine_stats_default(&stats);
    OK(carat_engine_get_stats(r->engine, &stats, err));
    return stats;
}

static uint64_t head_tokens(const struct rig *r)
{
    carat_head_stats stats;

    carat_head_stats_default(&stats);
    OK(carat_engine_get_head(r->engine, &stats, err));
    return stats.tokens;
}

static int prompt_left(const carat_generation *g)
{
    carat_generation_info info;

    carat_generation_info_default(&info);
    OK(carat_generation_get_info(g, &info, err));
    return info.prompt_left;
}

/* Each mark is a place to go on from, and marks near each other share a pass. */
static void test_marks(void **state)
{
    (void)state;
    struct windowed wide = windowed_open();
    carat_engine_options o = options_of(&modes[FAST], 256, 1);
    o.context = 2048;
    o.sessions = 2;
    o.snapshot_bytes = 12 * snapshot_size(wide.model, &o);
    struct rig r = rig_open(wide.model, &o);
    struct ids text = scattered_ids(WIDE, r.n_vocab, 3);
    carat_generation *g;
    int reused = -1;
    static const int marks[] = {0, 10, 20, 700, 703, 703, 709, 811, 1100, 1598, 1599};
    carat_generation_options go;

    OK(carat_sync(r.session[1], text.id, WIDE, NULL, err));
    const uint64_t passes_alone = counts(&r).passes;
    carat_session_close(r.session[1]);
    r.session[1] = NULL;
    carat_generation_options_default(&go);
    go.max_tokens = 1;
    carat_prompt p = {
        .size = sizeof p, .ids = text.id, .n = WIDE, .marks = marks, .n_marks = CT_COUNT(marks)};
    OK(carat_generation_create(&g, r.session[0], &go, err));
    OK(carat_generation_prompt(g, &p, NULL, err));
    OK(carat_generate(g, err));
    assert_int_equal(stats_of(r.session[0]).snapshots, 4 + 1); /* behind 20, 811, 1100 and all, and 1024 */
    assert_int_equal(head_tokens(&r), 1 + 1);
    assert_true(counts(&r).passes - passes_alone <= passes_alone + 6);
    for (int i = 0; i < (int)CT_COUNT(marks); i++) {
        carat_session *fork;
        OK(carat_fork(r.session[0], marks[i], &fork, err));
        assert_int_equal(stats_of(fork).restored_from, marks[i]);
        carat_session_close(fork);
    }
    /* a mark where what is kept ends */
    p.ids = text.id;
    static const int at_once[] = {1100};
    p.marks = at_once;
    p.n_marks = 1;
    OK(carat_rewind(r.session[0], 1100, err));
    OK(carat_generation_prompt(g, &p, &reused, err));
    assert_int_equal(reused, 1100);
    OK(carat_generate(g, err));
    assert_int_equal(carat_tokens_held(r.session[0], NULL), WIDE);
    carat_generation_close(g);
    free(text.id);
    rig_close(&r);
    windowed_close(&wide);
}

/* Tokens that local layers lack go into pieces as others do. */
static void test_evaluated_again_in_pieces(void **state)
{
    (void)state;
    struct windowed wide = windowed_open();
    carat_engine_options o = options_of(&modes[FAST], 256, 1);
    o.context = 2048;
    struct rig r = rig_open(wide.model, &o);
    struct ids text = scattered_ids(WIDE, r.n_vocab, 3);
    struct baseline b = baseline_of(wide.model, &modes[FAST], 1000, 3);
    carat_generation *g;
    carat_generation_options go;
    int reused = -1;

    carat_generation_options_default(&go);
    go.max_tokens = 1;
    OK(carat_generation_create(&g, r.session[0], &go, err));
    OK(carat_sync(r.session[0], text.id, WIDE, NULL, err));
    carat_prompt p = {.size = sizeof p, .ids = b.ids.id, .n = 1000};
    OK(carat_generation_prompt(g, &p, &reused, err));
    const carat_session_stats kept = stats_of(r.session[0]);
    assert_int_equal(reused, kept.restored_from);
    assert_true(kept.kept > 0);
    for (int left = 1000 - reused; left > 0;) {
        const carat_engine_stats before = counts(&r);
        assert_int_equal(prompt_left(g), left);
        OK(carat_generation_pass(r.engine, &g, 1, 100, err));
        const int rows = (int)(counts(&r).rows - before.rows);
        assert_true(rows == 100 || rows == left || (1000 - left + rows) % 256 == 0); /* a block is full */
        left -= rows;
    }
    check_logits(r.session[0], &b, r.n_vocab, "behind pieces");
    carat_generation_close(g);
    baseline_free(&b);
    free(text.id);
    rig_close(&r);
    windowed_close(&wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_evaluated_again_in_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
