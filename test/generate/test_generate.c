/* SPDX-License-Identifier: Apache-2.0 */
/* test_generate.c: generations: the ids of the plain loop of carat_sample and carat_append, whoever shares
 * the pass, whatever is proposed, evaluated anew or from the cache, cancelled and gone on with; what is held
 * and given after each step; why it ends; what is refused. Drafts from the text itself are
 * test_speculate.c's. */
#include "engine/step_util.h"

#include <carat_generate.h>

enum { PROMPT = 250, ANSWER = 24 }; /* the answer crosses a block of keys */

/* ---- the plain loop ---- */

static const int32_t sick_ids[] = {SICK};

struct plain {
    carat_sampling sampling;
    int32_t id[PROMPT + ANSWER]; /* the prompt, then what is drawn */
    float logits[ANSWER][VOCAB]; /* that id[PROMPT + i] is drawn from */
};

static void draw_plain(struct plain *p, int first, uint64_t seed)
{
    carat_engine_options o = options(1, 16, MOST);
    struct rig r = rig_open(model, &o);
    carat_session *s = r.session[0];

    carat_sampling_default(model, &p->sampling);
    p->sampling.temperature = seed ? 1 : 0;
    p->sampling.seed = seed;
    p->sampling.banned = sick_ids;
    p->sampling.n_banned = 1;
    memcpy(p->id, ids + first, PROMPT * sizeof *p->id);
    OK(carat_sync(s, p->id, PROMPT, NULL, err));
    for (int i = 0; i < ANSWER; i++) {
        memcpy(p->logits[i], carat_logits(s), sizeof p->logits[i]);
        OK(carat_sample(s, &p->sampling, &p->id[PROMPT + i], err));
        OK(carat_append(s, &p->id[PROMPT + i], 1, err));
    }
    rig_close(&r);
}

/* ---- a generation that is watched ---- */

enum source { RIGHT, WRONG, ALTERNATING, BEYOND, N_SOURCE };

struct watched {
    const struct plain *plain;
    carat_session *session;
    carat_generation *g;
    enum source source;
    int given, stop_at; /* ids; the one that is answered with 1, or -1 */
    int drafted;        /* of those given */
    bool wrong;
};

static int take_given(void *user, const carat_given *given)
{
    struct watched *w = user;

    w->wrong |= given->id != w->plain->id[PROMPT + w->given] || given->position != PROMPT + w->given ||
                given->text[given->n_text] != 0 || given->ms < 0;
    w->drafted += given->drafted;
    w->wrong |= carat_append(w->session, &given->id, 1, NULL) != CARAT_E_BUSY;
    return w->given++ == w->stop_at;
}

static int propose(void *user, const int32_t *held, int n, int32_t *draft, int k)
{
    struct watched *w = user;
    int i = 0;

    w->wrong |= n != PROMPT + w->given || memcmp(held, w->plain->id, (size_t)n * sizeof *held) != 0;
    for (; i < k && n + i < PROMPT + ANSWER; i++) {
        int32_t right_one = w->plain->id[n + i];
        bool lies = w->source == WRONG || (w->source == ALTERNATING && (n + i) % 3 == 0);
        draft[i] = lies ? (right_one + 1) % SICK : right_one;
        if (w->source == BEYOND && i == 2)
            draft[i] = n % 2 ? VOCAB : -1;
    }
    return i;
}

static void watch_options(struct watched *w, carat_generation_options *o)
{
    static const int32_t none;

    carat_generation_options_default(o);
    o->sampling = &w->plain->sampling;
    o->max_tokens = ANSWER;
    o->stop_ids = &none;
    o->on_token = take_given;
    o->user = w;
    o->lookup = CARAT_LOOKUP_OFF;
    w->stop_at = -1;
}

static void begin_watched(struct watched *w, const carat_generation_options *o)
{
    OK(carat_generation_create(&w->g, w->session, o, err));
    OK(carat_sync(w->session, w->plain->id, PROMPT, NULL, err));
}

static carat_generation_info info_of(const struct watched *w)
{
    carat_generation_info info;

    carat_generation_info_default(&info);
    OK(carat_generation_get_info(w->g, &info, err));
    return info;
}

/* It gave what the plain loop gave, holds all but the last of it and the logits that one was drawn from. */
static void check_watched(struct watched *w)
{
    carat_generation_info info = info_of(w);
    const int32_t *held;
    int n = carat_tokens_held(w->session, &held);

    assert_false(w->wrong);
    assert_int_equal(info.given, w->given);
    assert_int_equal(info.accepted, w->drafted);
    assert_int_equal(n, PROMPT + CT_MAX(w->given - 1, 0));
    assert_memory_equal(held, w->plain->id, (size_t)n * sizeof *held);
    assert_int_equal(info.last, w->given ? w->plain->id[PROMPT + w->given - 1] : -1);
    if (info.reason == CARAT_REASON_CALLBACK)
        return; /* it may have gone back to where it has no logits */
    assert_memory_equal(carat_logits(w->session), w->plain->logits[n - PROMPT], VOCAB * sizeof(float));
}

static void end_watched(struct watched *w)
{
    carat_generation_close(w->g);
    w->g = NULL;
    w->given = w->drafted = 0;
}

static struct plain plain[3];

static int prepare(void **state)
{
    open_model(state);
    for (int i = 0; i < 3; i++)
        draw_plain(&plain[i], 7 * i, (uint64_t)i * 41);
    return 0;
}

/* ---- the same ids ---- */

static void test_gives_what_the_plain_loop_gives(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        for (int naive = 0; naive < 2; naive++) {
            carat_engine_options o = options(1, 16, MOST);
            struct rig r = rig_open(model, &o);
            struct watched w = {.plain = &plain[i], .session = r.session[0]};
            carat_generation_options go;
            watch_options(&w, &go);
            go.naive = naive;
            begin_watched(&w, &go);
            for (int k = 0; k < ANSWER; k++) {
                OK(carat_generation_step(r.engine, &w.g, 1, err));
                assert_int_equal(w.given, k + 1);
                assert_int_equal(info_of(&w).reason,
                                 k + 1 < ANSWER ? CARAT_REASON_NONE : CARAT_REASON_LENGTH);
                check_watched(&w);
            }
            OK(carat_generation_step(r.engine, &w.g, 1, err)); /* nothing more */
            assert_int_equal(w.given, ANSWER);
            assert_int_equal(info_of(&w).passes, ANSWER - 1);
            assert_false(info_of(&w).context_full);
            end_watched(&w);
            rig_close(&r);
        }
}

static void test_drafts_change_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 3 * N_SOURCE * CARAT_MOST_DRAFT; i += SANITIZED ? 7 : 1) {
        int draft = 1 + i % CARAT_MOST_DRAFT;
        carat_engine_options o = options(1, i % 2 ? 64 : 5, MOST);
        o.logits_rows = 1 + i % 9;
        struct rig r = rig_open(model, &o);
        struct watched w = {.plain = &plain[i % 3],
                            .session = r.session[0],
                            .source = (enum source)(i / 3 / CARAT_MOST_DRAFT)};
        carat_generation_options go;
        watch_options(&w, &go);
        go.propose = propose;
        go.lookup = CARAT_LOOKUP_ON;
        go.draft_max = draft;
        begin_watched(&w, &go);
        while (info_of(&w).reason == CARAT_REASON_NONE) {
            OK(carat_generation_step(r.engine, &w.g, 1, err));
            check_watched(&w);
        }
        carat_generation_info info = info_of(&w);
        assert_int_equal(w.given, ANSWER);
        if (w.source == WRONG)
            assert_int_equal(info.accepted, 0);
        if (w.source == WRONG || w.source == ALTERNATING)
            assert_true(info.accepted < info.drafted);
        else
            assert_int_equal(info.accepted, info.drafted);
        if (w.source == RIGHT)
            assert_int_equal(info.passes + info.accepted, ANSWER - 1);
        end_watched(&w);
        rig_close(&r);
    }
}

static void test_several_share_a_pass(void **state)
{
    (void)state;
    carat_engine_options o = options(3, 16, MOST);
    struct rig r = rig_open(model, &o);
    struct watched w[3];
    carat_generation *all[3];
    for (int i = 0; i < 3; i++) {
        w[i] = (struct watched){.plain = &plain[i], .session = r.session[i], .source = (enum source)i};
        carat_generation_options go;
        watch_options(&w[i], &go);
        go.propose = i ? propose : NULL;
        go.lookup = i ? CARAT_LOOKUP_ON : CARAT_LOOKUP_OFF;
        go.max_tokens = ANSWER - 5 * i;
        begin_watched(&w[i], &go);
        all[i] = w[i].g;
    }
    for (int k = 0; k < ANSWER; k++) {
        OK(carat_generation_step(r.engine, all, 3, err));
        for (int i = 0; i < 3; i++)
            check_watched(&w[i]);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(w[i].given, ANSWER - 5 * i);
        end_watched(&w[i]);
    }
    rig_close(&r);
}

static void test_cancelled_goes_on(void **state)
{
    (void)state;
    for (int naive = 0; naive < 2; naive++) {
        carat_engine_options o = options(1, 16, MOST);
        struct rig r = rig_open(model, &o);
        struct watched w = {.plain = &plain[1], .session = r.session[0], .source = ALTERNATING};
        carat_generation_options go;
        watch_options(&w, &go);
        go.naive = naive;
        go.propose = naive ? NULL : propose;
        go.lookup = naive ? CARAT_LOOKUP_OFF : CARAT_LOOKUP_ON;
        begin_watched(&w, &go);
        while (info_of(&w).reason != CARAT_REASON_LENGTH) {
            if (w.given) {
                carat_cancel(w.session);
                assert_int_equal(carat_generation_step(r.engine, &w.g, 1, NULL), CARAT_E_CANCELLED);
                assert_int_equal(info_of(&w).reason, CARAT_REASON_CANCELLED);
                if (!naive)
                    check_watched(&w);
            }
            OK(carat_generation_step(r.engine, &w.g, 1, err));
            check_watched(&w);
        }
        assert_int_equal(w.given, ANSWER);
        end_watched(&w);
        rig_close(&r);
    }
}

static void test_callback_ends_after_each_id(void **state)
{
    (void)state;
    carat_engine_options o = options(1, 16, MOST);
    struct rig r = rig_open(model, &o);
    struct watched w = {.plain = &plain[2], .session = r.session[0], .source = RIGHT};
    carat_generation_options go;
    watch_options(&w, &go);
    go.propose = propose;
    go.lookup = CARAT_LOOKUP_ON;
    begin_watched(&w, &go);
    for (int i = 0; i < ANSWER; i++) {
        w.stop_at = i;
        OK(carat_generate(w.g, err));
        assert_int_equal(w.given, i + 1);
        assert_int_equal(info_of(&w).reason, CARAT_REASON_CALLBACK);
        check_watched(&w);
    }
    OK(carat_generate(w.g, err));
    assert_int_equal(w.given, ANSWER);
    assert_int_equal(info_of(&w).reason, CARAT_REASON_LENGTH);
    end_watched(&w);
    rig_close(&r);
}

/* ---- why it ends ---- */

static void test_stop_id(void **state)
{
    (void)state;
    const struct plain *p = &plain[1];
    int first = 0; /* of the answer that stands there for the first time */
    for (int at = 3; at < ANSWER && !first; at++) {
        first = at;
        for (int i = 0; i < at; i++)
            first = p->id[PROMPT + i] == p->id[PROMPT + at] ? 0 : first;
    }
    assert_true(first > 0);
    for (int with = 0; with < 2; with++) {
        carat_engine_options o = options(1, 16, MOST);
        struct rig r = rig_open(model, &o);
        struct watched w = {.plain = p, .session = r.session[0], .source = RIGHT};
        const int32_t stop[] = {VOCAB + 5, p->id[PROMPT + first]};
        carat_generation_options go;
        watch_options(&w, &go);
        go.stop_ids = stop;
        go.n_stop_ids = 2;
        go.propose = with ? propose : NULL;
        go.lookup = with ? CARAT_LOOKUP_ON : CARAT_LOOKUP_OFF;
        begin_watched(&w, &go);
        OK(carat_generate(w.g, err));
        assert_int_equal(w.given, first);
        assert_int_equal(info_of(&w).reason, CARAT_REASON_STOP);
        assert_int_equal(info_of(&w).last, -1);
        assert_int_equal(carat_tokens_held(w.session, NULL), PROMPT + first);
        assert_memory_equal(carat_logits(w.session), p->logits[first], VOCAB * sizeof(float));
        OK(carat_generate(w.g, err)); /* it stays so */
        assert_int_equal(w.given, first);
        w.given = w.drafted = 0; /* another prompt: it begins anew */
        OK(carat_sync(w.session, p->id, PROMPT, NULL, err));
        OK(carat_generation_step(r.engine, &w.g, 1, err));
        check_watched(&w);
        end_watched(&w);
        rig_close(&r);
    }
}

static void test_context_full(void **state)
{
    (void)state;
    for (int with = 0; with < 2; with++) {
        carat_engine_options o = options(1, 16, PROMPT + 9);
        struct rig r = rig_open(model, &o);
        struct watched w = {.plain = &plain[0], .session = r.session[0], .source = RIGHT};
        carat_generation_options go;
        watch_options(&w, &go);
        go.max_tokens = 0;
        go.propose = with ? propose : NULL;
        go.lookup = with ? CARAT_LOOKUP_ON : CARAT_LOOKUP_OFF;
        begin_watched(&w, &go);
        OK(carat_generate(w.g, err));
        assert_int_equal(w.given, 9);
        assert_int_equal(info_of(&w).reason, CARAT_REASON_LENGTH);
        assert_true(info_of(&w).context_full);
        check_watched(&w);
        OK(carat_sync(w.session, ids, PROMPT + 9, NULL, err)); /* full from the beginning */
        OK(carat_generate(w.g, err));
        assert_int_equal(w.given, 9);
        assert_true(info_of(&w).context_full);
        end_watched(&w);
        rig_close(&r);
    }
}

static void test_numeric(void **state)
{
    (void)state;
    carat_engine_options o = options(2, 16, MOST);
    struct rig r = rig_open(model, &o);
    struct watched w = {.plain = &plain[0], .session = r.session[0]};
    carat_generation_options go;
    carat_sampling sampling = plain[0].sampling;
    int32_t banned[VOCAB];
    for (int i = 0; i < SICK; i++)
        banned[i] = i;
    sampling.banned = banned;
    sampling.n_banned = SICK; /* all but the sick one */
    watch_options(&w, &go);
    go.sampling = &sampling;
    go.on_token = NULL;
    begin_watched(&w, &go);
    OK(carat_generation_step(r.engine, &w.g, 1, err));
    assert_int_equal(info_of(&w).last, SICK);
    struct watched well = {.plain = &plain[1], .session = r.session[1]};
    watch_options(&well, &go);
    begin_watched(&well, &go);
    OK(carat_generation_step(r.engine, &well.g, 1, err));
    carat_generation *both[] = {w.g, well.g};
    carat_error why;
    assert_int_equal(carat_generation_step(r.engine, both, 2, &why), CARAT_E_NUMERIC);
    check_sentence(why.message);
    assert_int_equal(info_of(&w).reason, CARAT_REASON_NUMERIC);
    assert_int_equal(carat_tokens_held(w.session, NULL), 0);
    check_watched(&well);
    OK(carat_generation_step(r.engine, both, 2, err));
    assert_int_equal(well.given, 3);
    end_watched(&w);
    sampling.n_banned = 0;
    int32_t all[VOCAB];
    for (int i = 0; i < VOCAB; i++)
        all[i] = i;
    sampling.banned = all;
    sampling.n_banned = VOCAB;
    watch_options(&w, &go);
    go.sampling = &sampling;
    begin_watched(&w, &go);
    FAILS(CARAT_E_ARGUMENT, carat_generate(w.g, err));
    end_watched(&w);
    end_watched(&well);
    rig_close(&r);
}

/* ---- what is refused ---- */

static void refuse_options(carat_session *s, const carat_generation_options *o)
{
    carat_generation *g = NULL;
    FAILS(CARAT_E_ARGUMENT, carat_generation_create(&g, s, o, err));
    assert_null(g);
}

static void test_refused(void **state)
{
    (void)state;
    carat_engine_options o = options(2, 16, MOST);
    struct rig r = rig_open(model, &o), other = rig_open(model, &o);
    static const int32_t many[CARAT_MOST_STOP_IDS + 1];
    carat_generation_options go;
    carat_generation *g = NULL, *two[2];

    carat_generation_options_default(&go);
#define REFUSE(member, value)                                                                                \
    do {                                                                                                     \
        carat_generation_options bad = go;                                                                   \
        bad.member = value;                                                                                  \
        refuse_options(r.session[0], &bad);                                                                  \
    } while (0)
    REFUSE(max_tokens, -1);
    REFUSE(n_stop_ids, 1);
    REFUSE(draft_max, CARAT_MOST_DRAFT + 1);
    REFUSE(draft_min, CARAT_MOST_DRAFT + 1);
    REFUSE(lookup, (carat_lookup)3);
    REFUSE(size, 1);
    go.stop_ids = many;
    REFUSE(n_stop_ids, CARAT_MOST_STOP_IDS + 1);
    REFUSE(n_stop_ids, -1);
    go.stop_ids = NULL;
    carat_sampling cold = plain[0].sampling;
    cold.temperature = -1;
    REFUSE(sampling, &cold);
    go.naive = 1;
    REFUSE(lookup, CARAT_LOOKUP_ON);
    REFUSE(propose, propose);
    go.naive = 0;
    FAILS(CARAT_E_ARGUMENT, carat_generation_create(NULL, r.session[0], &go, err));
    FAILS(CARAT_E_ARGUMENT, carat_generation_create(&g, NULL, &go, err));

    OK(carat_generation_create(&g, r.session[0], &go, err));
    FAILS(CARAT_E_ARGUMENT, carat_generation_step(r.engine, &g, 1, err)); /* no prompt */
    FAILS(CARAT_E_ARGUMENT, carat_generation_step(other.engine, &g, 1, err));
    FAILS(CARAT_E_ARGUMENT, carat_generation_step(NULL, &g, 1, err));
    FAILS(CARAT_E_ARGUMENT, carat_generation_step(r.engine, &g, 0, err));
    FAILS(CARAT_E_ARGUMENT, carat_generate(NULL, err));
    OK(carat_sync(r.session[0], ids, 3, NULL, err));
    OK(carat_generation_create(&two[1], r.session[0], &go, err));
    two[0] = g;
    FAILS(CARAT_E_ARGUMENT, carat_generation_step(r.engine, two, 2, err)); /* one session */
    carat_generation_close(two[1]);
    two[1] = NULL;
    FAILS(CARAT_E_ARGUMENT, carat_generation_step(r.engine, two, 2, err));
    OK(carat_generation_create(&two[1], r.session[1], &go, err));
    FAILS(CARAT_E_ARGUMENT, carat_generation_step(r.engine, two, 2, err)); /* the second has no prompt */
    assert_int_equal(carat_tokens_held(r.session[0], NULL), 3);
    OK(carat_generation_step(r.engine, two, 1, err));
    OK(carat_rewind(r.session[0], 2, err)); /* no logits are left to go on from */
    FAILS(CARAT_E_ARGUMENT, carat_generation_step(r.engine, two, 1, err));
    assert_string_equal(carat_reason_name(CARAT_REASON_TOOL_CALLS), "tool_calls");
    assert_string_equal(carat_reason_name((carat_reason)99), "");
    carat_generation_close(two[0]);
    carat_generation_close(two[1]);
    carat_generation_close(NULL);
    rig_close(&r);
    rig_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gives_what_the_plain_loop_gives),
        cmocka_unit_test(test_drafts_change_nothing),
        cmocka_unit_test(test_several_share_a_pass),
        cmocka_unit_test(test_cancelled_goes_on),
        cmocka_unit_test(test_callback_ends_after_each_id),
        cmocka_unit_test(test_stop_id),
        cmocka_unit_test(test_context_full),
        cmocka_unit_test(test_numeric),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, prepare, close_model);
}
