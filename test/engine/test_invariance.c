/* SPDX-License-Identifier: Apache-2.0 */
/* test_invariance.c: carat against itself, bit for bit: the logits of a sequence do not depend on how it was
 * cut into passes, on threads, on neighbours in a batch, on what a session held before, on forks, or on the
 * kernels' level. Runs over every committed model, both arithmetics and all KV types, each of them
 * with some of the others (takes_mode). What a timeline loses
 * and gets back is test_timeline.c, whether the numbers are right test_reference.c. */
#include "invariance.h"

/* ---- one variation each ---- */

static void in_chunks(carat_model *model, const struct mode *m, const struct baseline *b, int chunk,
                      int threads, const char *isa)
{
    char what[64];
    snprintf(what, sizeof what, "chunk %d, threads %d, isa %s", chunk, threads, isa ? isa : "best");
    carat_engine_options o = options_of(m, chunk, threads);
    o.isa = isa;
    struct rig r = rig_open(model, &o);
    float *logits = step_all(&r, 0, &b->ids);
    for (int i = 0; i < b->ids.n; i++)
        expect_same(logits + (size_t)i * (size_t)r.n_vocab, row_of(b, i, r.n_vocab), (size_t)r.n_vocab, what,
                    i);
    expect_same(carat_logits(r.session[0]), row_of(b, b->ids.n - 1, r.n_vocab), (size_t)r.n_vocab, what,
                b->ids.n - 1);
    free(logits);
    rig_close(&r);
}

static void token_by_token(carat_model *model, const struct mode *m, const struct baseline *b)
{
    carat_engine_options o = options_of(m, 16, 1);
    struct rig r = rig_open(model, &o);
    for (int i = 0; i < b->ids.n; i++) {
        OK(carat_append(r.session[0], b->ids.id + i, 1, err));
        expect_same(carat_logits(r.session[0]), row_of(b, i, r.n_vocab), (size_t)r.n_vocab, "token by token",
                    i);
    }
    rig_close(&r);
}

/* Three sequences in one engine, each advanced by its own uneven steps, some of them absent from a pass. */
static void in_a_batch(carat_model *model, const struct mode *m, const struct baseline *b, int threads)
{
    static const int stride[3][5] = {{5, 1, 1, 9, 2}, {1, 0, 13, 1, 1}, {0, 17, 1, 3, 0}};
    carat_engine_options o = options_of(m, 16, threads);
    o.sessions = 3;
    struct rig r = rig_open(model, &o);
    int done[3] = {0}, left = 3;
    for (int pass = 0; left > 0; pass++) {
        carat_row row[3];
        int who[3], n = 0;
        float *logits[3];
        left = 0;
        for (int s = 0; s < 3; s++) {
            int k = stride[s][pass % 5];
            if (k > b[s].ids.n - done[s])
                k = b[s].ids.n - done[s];
            left += done[s] + k < b[s].ids.n;
            if (k == 0)
                continue;
            /* every other one asks for all its logits */
            logits[n] = (pass + s) % 2 ? malloc((size_t)k * (size_t)r.n_vocab * sizeof **logits) : NULL;
            row[n] = (carat_row){
                .session = r.session[s], .tokens = b[s].ids.id + done[s], .n = k, .logits = logits[n]};
            who[n++] = s;
        }
        if (n == 0)
            continue;
        OK(carat_step(r.engine, row, sizeof(carat_row), n, err));
        for (int i = 0; i < n; i++) {
            const struct baseline *s = &b[who[i]];
            for (int k = 0; logits[i] && k < row[i].n; k++)
                expect_same(logits[i] + (size_t)k * (size_t)r.n_vocab, row_of(s, done[who[i]] + k, r.n_vocab),
                            (size_t)r.n_vocab, "all logits in a batch", done[who[i]] + k);
            done[who[i]] += row[i].n;
            expect_same(carat_logits(row[i].session), row_of(s, done[who[i]] - 1, r.n_vocab),
                        (size_t)r.n_vocab, "in a batch", done[who[i]] - 1);
            free(logits[i]);
        }
    }
    rig_close(&r);
}

/* A session that held something else, and one that went back. */
static void after_other_contents(carat_model *model, const struct mode *m, const struct baseline *b)
{
    carat_engine_options o = options_of(m, 16, 1);
    struct rig r = rig_open(model, &o);
    int n = b->ids.n, reused = -1, shared = n - n / 3;
    size_t v = (size_t)r.n_vocab;
    struct ids other = scattered_ids(n, model_info(model).n_text_vocab, 99);
    memcpy(other.id, b->ids.id, (size_t)shared * sizeof *other.id);
    other.id[shared] = 3 + (b->ids.id[shared] + 1) % 7;
    if (other.id[shared] == b->ids.id[shared])
        other.id[shared]++;
    OK(carat_sync(r.session[0], other.id, n, &reused, err));
    assert_int_equal(reused, 0);
    OK(carat_sync(r.session[0], b->ids.id, n, &reused, err));
    assert_int_equal(reused, shared);
    expect_same(carat_logits(r.session[0]), row_of(b, n - 1, r.n_vocab), v, "sync after a common prefix",
                n - 1);
    OK(carat_sync(r.session[0], b->ids.id, n, &reused, err));
    assert_in_range(reused, n - 1, n);
    expect_same(carat_logits(r.session[0]), row_of(b, n - 1, r.n_vocab), v, "sync to the same", n - 1);
    OK(carat_sync(r.session[0], b->ids.id, shared, &reused, err));
    assert_in_range(reused, shared - 1, shared);
    expect_same(carat_logits(r.session[0]), row_of(b, shared - 1, r.n_vocab), v, "sync to a prefix",
                shared - 1);
    OK(carat_sync(r.session[0], b->ids.id, n, &reused, err));
    assert_int_equal(reused, shared);
    for (int keep = n - 1; keep >= 0; keep -= 1 + n / 5) {
        OK(carat_rewind(r.session[0], keep, err));
        assert_int_equal(carat_tokens_held(r.session[0], NULL), keep);
        assert_null(carat_logits(r.session[0]));
        OK(carat_append(r.session[0], b->ids.id + keep, n - keep, err));
        expect_same(carat_logits(r.session[0]), row_of(b, n - 1, r.n_vocab), v, "rewind and append", n - 1);
    }
    free(other.id);
    rig_close(&r);
}

/* ---- the tests ---- */

static void every_cut_of_one_model(carat_model *model, const carat_model_info *info)
{
    int window = info->sliding_window ? info->sliding_window : 8;
    const int lengths[] = {window - 1, window, window + 1, 2 * window + 1, 5 * window + 2};
    for (size_t m = 0; m < N_MODE; m++) {
        if (!takes_mode(m))
            continue;
        name_mode(&modes[m]);
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            if (!tier_is_deep() && (l + (unsigned)model_turn + tier_turn()) % 5 >= 2)
                continue; /* two of them in a sample */
            struct baseline b = baseline_of(model, &modes[m], lengths[l], (uint32_t)l);
            token_by_token(model, &modes[m], &b);
            in_chunks(model, &modes[m], &b, 1, 1, NULL);
            in_chunks(model, &modes[m], &b, 3, 1, NULL);
            in_chunks(model, &modes[m], &b, 7, 2, NULL);
            in_chunks(model, &modes[m], &b, 16, 1, NULL);
            in_chunks(model, &modes[m], &b, 256, 1, NULL);
            baseline_free(&b);
        }
    }
}

static void chunks_do_not_matter(void **state)
{
    (void)state;
    for_every_model(every_cut_of_one_model, 0);
}

static void threads_for_one_model(carat_model *model, const carat_model_info *info)
{
    (void)info;
    for (size_t m = 0; m < N_MODE; m++) {
        if (!takes_mode(m))
            continue;
        name_mode(&modes[m]);
        struct baseline b = baseline_of(model, &modes[m], 42, 5);
        in_chunks(model, &modes[m], &b, 16, 2, NULL);
        in_chunks(model, &modes[m], &b, 5, 3, NULL);
        in_chunks(model, &modes[m], &b, 256, 3, NULL);
        baseline_free(&b);
    }
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    for_every_model(threads_for_one_model, 1);
}

static void batch_of_one_model(carat_model *model, const carat_model_info *info)
{
    (void)info;
    for (size_t m = 0; m < N_MODE; m++) {
        if (!takes_mode(m))
            continue;
        name_mode(&modes[m]);
        struct baseline b[3];
        for (int i = 0; i < 3; i++)
            b[i] = baseline_of(model, &modes[m], 42 - 11 * i, 20 + (uint32_t)i);
        in_a_batch(model, &modes[m], b, 1);
        in_a_batch(model, &modes[m], b, 3);
        for (int i = 0; i < 3; i++)
            baseline_free(&b[i]);
    }
}

static void neighbours_do_not_matter(void **state)
{
    (void)state;
    for_every_model(batch_of_one_model, 2);
}

static void history_of_one_model(carat_model *model, const carat_model_info *info)
{
    (void)info;
    for (size_t m = 0; m < N_MODE; m++) {
        if (!takes_mode(m))
            continue;
        name_mode(&modes[m]);
        struct baseline b = baseline_of(model, &modes[m], 42, 7);
        after_other_contents(model, &modes[m], &b);
        baseline_free(&b);
    }
}

static void history_does_not_matter(void **state)
{
    (void)state;
    for_every_model(history_of_one_model, 3);
}

static void levels_of_one_model(carat_model *model, const carat_model_info *info)
{
    (void)info;
    int avx2 = has_isa(model, "avx2");
    if (!avx2)
        print_message("avx2: not on this machine, only ref is compared with the best level\n");
    for (size_t m = 0; m < N_MODE; m++) {
        if (!takes_mode(m))
            continue;
        name_mode(&modes[m]);
        struct baseline b = baseline_of(model, &modes[m], 42, 8);
        in_chunks(model, &modes[m], &b, 16, 1, "ref");
        in_chunks(model, &modes[m], &b, 1, 2, "ref");
        if (avx2)
            in_chunks(model, &modes[m], &b, 16, 1, "avx2");
        baseline_free(&b);
    }
}

static void kernel_levels_do_not_matter(void **state)
{
    (void)state;
    for_every_model(levels_of_one_model, 4);
}

/* Long enough that the rings of local layers wrap and that attention has several blocks of 256 keys. */
static void long_sequence_of_one_model(carat_model *model, size_t which)
{
    for (size_t m = which; m < N_MODE;
         m += SANITIZED ? N_MODE : 3) {                 /* each mode once; or one of each model */
        if (!tier_reaches(2 * (unsigned)m, 2 * N_MODE)) /* in turn with forks */
            continue;
        name_mode(&modes[m]);
        struct baseline b[3];
        for (int i = 0; i < 3; i++)
            b[i] = baseline_of(model, &modes[m], i == 0 ? 600 : i == 1 ? 530 : 257, 30 + (uint32_t)i);
        in_chunks(model, &modes[m], &b[0], 16, 1, NULL);
        in_chunks(model, &modes[m], &b[0], 256, 2, NULL);
        in_chunks(model, &modes[m], &b[0], 250, 1, NULL);
        token_by_token(model, &modes[m], &b[0]);
        in_a_batch(model, &modes[m], b, 2);
        for (int i = 0; i < 3; i++)
            baseline_free(&b[i]);
    }
}

static void long_sequences_wrap_the_rings(void **state)
{
    (void)state;
    static const char *const names[] = {"models/gemma3-f16-untied", "models/gemma2-bf16", "gguf/q8_0.gguf"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        carat_model *model = open_own(names[i]);
        long_sequence_of_one_model(model, SANITIZED ? 3 * i : i);
        carat_model_close(model);
    }
}

/* A model without local layers has no ring: every rewind is possible. */
static void rewind_without_a_ring_is_free(void **state)
{
    (void)state;
    carat_model *model = open_own("models/gemma1-f32");
    struct baseline b = baseline_of(model, &modes[FAST], 600, 41);
    carat_engine_options o = options_of(&modes[FAST], 16, 1);
    struct rig r = rig_open(model, &o);
    OK(carat_sync(r.session[0], b.ids.id, 600, NULL, err));
    OK(carat_rewind(r.session[0], 3, err));
    OK(carat_append(r.session[0], b.ids.id + 3, 597, err));
    expect_same(carat_logits(r.session[0]), row_of(&b, 599, r.n_vocab), (size_t)r.n_vocab, "full rewind",
                599);
    rig_close(&r);
    baseline_free(&b);
    carat_model_close(model);
}

/* ---- forks ---- */

enum { MORE = 24 }; /* tokens that each side of a fork goes on for */

/* The first p of ids, then others, and their logits. */
static struct baseline branch_of(carat_model *model, const struct mode *m, const struct baseline *b, int p)
{
    carat_engine_options o = options_of(m, CONTEXT, 1);
    struct rig r = rig_open(model, &o);
    struct baseline other = {scattered_ids(p + MORE, model_info(model).n_text_vocab, 60 + (uint32_t)p), NULL};
    memcpy(other.ids.id, b->ids.id, (size_t)p * sizeof *b->ids.id);
    while (other.ids.id[p] == b->ids.id[p])
        other.ids.id[p] = 3 + (other.ids.id[p] + 1) % 50;
    other.logits = step_all(&r, 0, &other.ids);
    rig_close(&r);
    return other;
}

/* Several sessions go on together, each to so many tokens of its sequence, all of whose logits are
 * compared. */
static void go_on_together(struct rig *r, int n, carat_session *const *s, const struct baseline *const *b,
                           const int *to)
{
    carat_row rows[3];
    int from[3];
    for (int i = 0; i < n; i++) {
        from[i] = carat_tokens_held(s[i], NULL);
        int k = to[i] - from[i];
        rows[i] = (carat_row){.session = s[i], .tokens = b[i]->ids.id + from[i], .n = k};
        rows[i].logits = malloc((size_t)k * (size_t)r->n_vocab * sizeof(float));
    }
    OK(carat_step(r->engine, rows, sizeof(carat_row), n, err));
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < rows[i].n; k++)
            expect_same(rows[i].logits + (size_t)k * (size_t)r->n_vocab,
                        row_of(b[i], from[i] + k, r->n_vocab), (size_t)r->n_vocab, "after a fork",
                        from[i] + k);
        free(rows[i].logits);
    }
}

enum { FORK_CHUNK = 64 };

/* A session that holds `ahead` tokens more is forked at p; all go on, with other tokens than it and with the
 * same ones, and one of them is closed and taken again. */
static void fork_at(struct rig *r, const struct baseline *b, const struct baseline *branch, int p, int ahead)
{
    carat_session *one = r->session[0], *two = NULL, *three = NULL;
    int first = p % 2; /* who writes first, and so in place */
    OK(carat_rewind(one, 0, err));
    OK(carat_append(one, b->ids.id, p + ahead, err));
    OK(carat_fork(one, p, &two, err));
    assert_int_equal(carat_tokens_held(two, NULL), p);
    if (ahead == 0)
        expect_same(carat_logits(two), row_of(b, p - 1, r->n_vocab), (size_t)r->n_vocab, "forked", p - 1);
    else
        assert_null(carat_logits(two));
    const struct baseline *of[2] = {first ? branch : b, first ? b : branch};
    carat_session *s[2] = {first ? two : one, first ? one : two};
    const int some[2] = {p + (first ? 3 : ahead + 2), p + (first ? ahead + 2 : 3)};
    go_on_together(r, 2, s, of, some);
    /* a third one takes what the second has, which goes back and forth again */
    OK(carat_fork(two, p + 1, &three, err));
    OK(carat_rewind(two, p + 2, err));
    go_on_together(r, 3, (carat_session *[]){one, two, three}, (const struct baseline *[]){b, branch, branch},
                   (const int[]){p + ahead + 5, p + 9, p + 7});
    carat_session_close(one);
    OK(carat_fork(two, p + 9, &one, err));
    go_on_together(r, 3, (carat_session *[]){three, one, two},
                   (const struct baseline *[]){branch, branch, branch},
                   (const int[]){p + MORE, p + 12, p + MORE - 1});
    carat_session_close(two);
    carat_session_close(three);
    OK(carat_append(one, branch->ids.id + p + 12, MORE - 12, err));
    expect_same(carat_logits(one), row_of(branch, p + MORE - 1, r->n_vocab), (size_t)r->n_vocab,
                "alone again", p + MORE - 1);
    r->session[0] = one;
}

/* Each KV type once, with one thread in one model and with three in the other; a sanitizer gets one of
 * them. A sample has one of one model, and two of the
 * places. */
static void forks_of_one_model(carat_model *model, int which)
{
    int w = model_info(model).sliding_window;
    const int at[] = {w - 1, w, w + 1, 2 * w, 255, 256, 257}, ahead[] = {0, 1, 100};
    static const size_t taken[] = {FAST, FAST_Q8, 0, 2};
    for (int k = SANITIZED ? which : 0; k < (SANITIZED ? which + 1 : 4); k++) {
        const struct mode *m = &modes[taken[k]];
        if (!SANITIZED && !tier_reaches((unsigned)(2 * (4 * which + k) + 1), 16))
            continue;
        name_mode(m);
        struct baseline b = baseline_of(model, m, 2 * w + 400, 70), branch[7] = {{{NULL, 0}, NULL}};
        for (unsigned i = 0; i < 7; i++)
            if (tier_takes(i, 7))
                branch[i] = branch_of(model, m, &b, at[i]);
        carat_engine_options o = options_of(m, FORK_CHUNK, SANITIZED || (k + which) % 2 ? 3 : 1);
        o.sessions = 3;
        struct rig r = rig_open(model, &o);
        for (int i = 1; i < 3; i++) {
            carat_session_close(r.session[i]);
            r.session[i] = NULL;
        }
        for (unsigned i = 0; i < 7; i++) /* three modes have all pairs */
            if (tier_takes(i, 7))
                fork_at(&r, &b, &branch[i], at[i], ahead[(i + (unsigned)k) % 3]);
        rig_close(&r);
        for (size_t i = 0; i < 7; i++)
            baseline_free(&branch[i]);
        baseline_free(&b);
    }
}

/* A committed model as it is, with a window of 8, and one with a window of several blocks. */
static void forks_do_not_matter(void **state)
{
    (void)state;
    carat_model *model = open_own("models/gemma2-bf16");
    forks_of_one_model(model, 0);
    carat_model_close(model);

    struct windowed w = windowed_open();
    forks_of_one_model(w.model, 1);
    windowed_close(&w);
}

/* The comparisons above would also pass if everything were constant. */
static void different_prompts_differ(void **state)
{
    (void)state;
    carat_model *model = open_own("models/gemma3-bf16");
    int v = model_info(model).n_vocab;
    struct baseline a = baseline_of(model, &modes[0], 30, 50), b = baseline_of(model, &modes[FAST], 30, 50);
    assert_memory_not_equal(a.logits, b.logits, (size_t)v * sizeof(float)); /* fast is not exact */
    assert_memory_not_equal(row_of(&a, 3, v), row_of(&a, 4, v), (size_t)v * sizeof(float));
    baseline_free(&a);
    baseline_free(&b);
    carat_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(different_prompts_differ),      cmocka_unit_test(chunks_do_not_matter),
        cmocka_unit_test(threads_do_not_matter),         cmocka_unit_test(neighbours_do_not_matter),
        cmocka_unit_test(history_does_not_matter),       cmocka_unit_test(kernel_levels_do_not_matter),
        cmocka_unit_test(long_sequences_wrap_the_rings), cmocka_unit_test(rewind_without_a_ring_is_free),
        cmocka_unit_test(forks_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
