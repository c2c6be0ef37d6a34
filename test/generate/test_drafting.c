/* SPDX-License-Identifier: Apache-2.0 */
/* test_drafting.c: answers of tiny4 with its drafter are those without, bit for bit: greedy and sampled, with
 * penalties and stop strings, for every length of a draft, beside others, cancelled, forked, taken back and
 * out of a file. Its drafts are those of the reference, and most of them are right. */
#define _XOPEN_SOURCE 700
#include <stdatomic.h>

#include "engine/vector_util.h"

#include <carat_generate.h>
#include <unistd.h>

#include "generate/draft.h"

#define TINY4 CT_TEST_DATA "/../fixtures/tiny4"
enum { N_CASE = 32, ANSWER = 40, CONTEXT = 192 };

static carat_model *model;
static struct talk {
    struct ids prompt, answer;
    json_t *drafts;
} talks[N_CASE];

static int prepare(void **state)
{
    carat_model_options o;
    carat_model_options_default(&o);
    char line[1 << 14];
    int n = 0;

    (void)state;
    o.drafter = TINY4 "-assistant";
    OK(carat_model_open(&model, TINY4, &o, err));
    FILE *f = fopen(CT_TEST_DATA "/tiny4_drafts.jsonl", "rb");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) && n < N_CASE) {
        json_t *j = json_loads(line, 0, NULL);
        assert_non_null(j);
        talks[n].prompt = json_ids(json_object_get(j, "prompt_ids"));
        talks[n].answer = json_ids(json_object_get(j, "ids"));
        talks[n++].drafts = json_incref(json_object_get(j, "drafts"));
        json_decref(j);
    }
    assert_int_equal(n, N_CASE);
    fclose(f);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    for (int i = 0; i < N_CASE; i++) {
        free(talks[i].prompt.id);
        free(talks[i].answer.id);
        json_decref(talks[i].drafts);
    }
    carat_model_close(model);
    return 0;
}

static carat_engine_options engine_of(int sessions)
{
    carat_engine_options o = small_engine();

    o.context = CONTEXT;
    o.sessions = sessions;
    return o;
}

/* ---- an answer ---- */

struct answer {
    int32_t id[CONTEXT];
    char text[2048];
    int n, end_at; /* end_at: the callback ends it there once; 0: never */
};

static int take(void *user, const carat_given *given)
{
    struct answer *a = user;

    a->id[a->n++] = given->id;
    strncat(a->text, given->text, sizeof a->text - strlen(a->text) - 1);
    return a->n == a->end_at;
}

/* How an answer is made. */
struct way {
    carat_sampling sampling;
    carat_chain chain;
    const char *stop;
    int draft_max;
};

static struct way way_of(int seed)
{
    struct way w = {.draft_max = 0};

    carat_sampling_default(model, &w.sampling);
    carat_chain_default(&w.chain);
    w.sampling.temperature = seed ? 1 : 0;
    w.sampling.seed = (uint64_t)seed;
    return w;
}

static carat_generation *begin(carat_session *s, const struct way *w, carat_lookup drafter, struct answer *a)
{
    carat_generation_options o;
    carat_generation *g = NULL;

    carat_generation_options_default(&o);
    o.sampling = &w->sampling;
    o.max_tokens = ANSWER;
    o.on_token = take;
    o.user = a;
    o.lookup = CARAT_LOOKUP_OFF;
    o.drafter = drafter;
    o.draft_max = w->draft_max;
    o.stops = &w->stop;
    o.n_stops = w->stop != NULL;
    OK(carat_generation_create(&g, s, &o, err));
    return g;
}

static carat_generation_info info_of(const carat_generation *g)
{
    carat_generation_info info;

    carat_generation_info_default(&info);
    OK(carat_generation_get_info(g, &info, err));
    return info;
}

static carat_generation_info make(struct rig *r, const struct talk *t, const struct way *w,
                                  carat_lookup drafter, struct answer *a)
{
    carat_session *s = r->session[0];

    memset(a, 0, sizeof *a);
    OK(carat_sync(s, t->prompt.id, t->prompt.n, NULL, err));
    carat_generation *g = begin(s, w, drafter, a);
    OK(carat_generate(g, err));
    carat_generation_info info = info_of(g);
    carat_generation_close(g);
    return info;
}

static void assert_same(const char *what, const struct answer *a, const struct answer *b)
{
    if (a->n != b->n || memcmp(a->id, b->id, (size_t)a->n * sizeof *a->id) != 0 ||
        strcmp(a->text, b->text) != 0)
        fail_msg("%s: '%s' (%d ids), and '%s' (%d ids) with the drafter", what, a->text, a->n, b->text, b->n);
}

/* ---- cases ---- */

static void drafts_are_those_of_the_reference(void **unused)
{
    (void)unused;
    carat_engine_options o = engine_of(1);
    o.exact = 1;
    struct rig r = rig_open(model, &o);
    int drafted = 0, right = 0;
    for (int i = 0; i < N_CASE; i++) {
        const struct talk *t = &talks[i];
        int32_t all[CONTEXT], draft[CARAT_MOST_DRAFT];
        const int n = t->prompt.n + t->answer.n;
        size_t at;
        json_t *j;
        memcpy(all, t->prompt.id, (size_t)t->prompt.n * sizeof *all);
        memcpy(all + t->prompt.n, t->answer.id, (size_t)t->answer.n * sizeof *all);
        json_array_foreach(t->drafts, at, j)
        {
            const int pending = (int)json_integer_value(json_object_get(j, "pending"));
            struct ids expected = json_ids(json_object_get(j, "drafted"));
            assert_true(pending > 0 && pending < n && expected.n <= CARAT_MOST_DRAFT);
            OK(carat_sync(r.session[0], all, pending, NULL, err));
            assert_int_equal(ct_draft_propose(r.session[0], all, pending + 1, draft, expected.n), expected.n);
            if (json_real_value(json_object_get(j, "lead")) > 0.01)
                assert_memory_equal(draft, expected.id, (size_t)expected.n * sizeof *draft);
            for (int k = 0; k < expected.n && pending + 1 + k < n; k++, drafted++) {
                right += draft[k] == all[pending + 1 + k];
                if (draft[k] != all[pending + 1 + k])
                    break;
            }
            free(expected.id);
        }
    }
    if (!(right >= 0.6 * (drafted + 1)))
        fail_msg("%d of %d drafted ids are right", right, drafted);
    rig_close(&r);
}

static void answers_stay(void **unused)
{
    (void)unused;
    carat_engine_options o = engine_of(1);
    struct rig r = rig_open(model, &o);
    int drafted = 0, accepted = 0;
    for (int i = 0; i < N_CASE; i++) {
        struct way w = way_of(i % 3);
        struct answer plain, with;
        if (i % 4 == 3) {
            w.chain.repeat_penalty = 1.3f;
            w.chain.frequency_penalty = 0.4f;
            w.sampling.chain = &w.chain;
        }
        w.stop = i % 5 == 4 ? "on" : NULL;
        make(&r, &talks[i], &w, CARAT_LOOKUP_OFF, &plain);
        w.draft_max = i % (CARAT_MOST_DRAFT + 1);
        const carat_generation_info info = make(&r, &talks[i], &w, CARAT_LOOKUP_ON, &with);
        assert_same("an answer", &plain, &with);
        assert_int_equal(info.use[CARAT_FROM_DRAFTER].drafted, info.drafted);
        assert_int_equal(info.use[CARAT_FROM_DRAFTER].accepted, info.accepted);
        assert_int_equal(info.use[CARAT_FROM_TEXT].drafted, 0);
        drafted += info.drafted;
        accepted += info.accepted;
        make(&r, &talks[i], &w, CARAT_LOOKUP_AUTO, &with);
        assert_same("by what it costs", &plain, &with);
    }
    assert_true(drafted > 300 && accepted > 100);
    rig_close(&r);
}

/* Logits behind the answer, and what the next turn gives, are those of plain decoding. */
static void sessions_stay(void **unused)
{
    (void)unused;
    carat_engine_options o = engine_of(2);
    struct rig r = rig_open(model, &o);
    const struct way w = way_of(0);
    struct answer a;
    for (int i = 0; i < N_CASE; i += 5) {
        float *logits = malloc((size_t)r.n_vocab * sizeof *logits);
        const int32_t *held;
        make(&r, &talks[i], &w, CARAT_LOOKUP_OFF, &a);
        memcpy(logits, carat_logits(r.session[0]), (size_t)r.n_vocab * sizeof *logits);
        const int n = carat_tokens_held(r.session[0], &held);
        int32_t copy[CONTEXT];
        memcpy(copy, held, (size_t)n * sizeof *copy);
        make(&r, &talks[i], &w, CARAT_LOOKUP_ON, &a);
        assert_int_equal(carat_tokens_held(r.session[0], &held), n);
        assert_memory_equal(copy, held, (size_t)n * sizeof *copy);
        assert_memory_equal(logits, carat_logits(r.session[0]), (size_t)r.n_vocab * sizeof *logits);
        free(logits);
    }
    rig_close(&r);
}

/* Generations in one pass, each with drafts of its own, and one that is ended and goes on. */
static void neighbours_stay(void **unused)
{
    (void)unused;
    enum { BESIDE = 4 };
    carat_engine_options o = engine_of(BESIDE);
    struct rig r = rig_open(model, &o);
    struct answer plain[BESIDE], with[BESIDE];
    carat_generation *g[BESIDE];
    for (int i = 0; i < BESIDE; i++) {
        const struct way w = way_of(i);
        make(&r, &talks[7 * i], &w, CARAT_LOOKUP_OFF, &plain[i]);
    }
    memset(with, 0, sizeof with);
    for (int i = 0; i < BESIDE; i++) {
        const struct way w = way_of(i);
        OK(carat_sync(r.session[i], talks[7 * i].prompt.id, talks[7 * i].prompt.n, NULL, err));
        with[i].end_at = i == 2 ? 5 : 0;
        g[i] = begin(r.session[i], &w, i == 3 ? CARAT_LOOKUP_OFF : CARAT_LOOKUP_ON, &with[i]);
    }
    for (int step = 0; step < 2 * ANSWER; step++)
        OK(carat_generation_step(r.engine, g, BESIDE, err));
    for (int i = 0; i < BESIDE; i++) {
        assert_same("beside others", &plain[i], &with[i]);
        carat_generation_close(g[i]);
    }
    rig_close(&r);
}

/* A fork drafts at once, a session that was taken back after one pass, one out of a file as well. */
static void drafts_begin_again(void **unused)
{
    (void)unused;
    carat_engine_options o = engine_of(2);
    struct rig r = rig_open(model, &o);
    const struct way w = way_of(0);
    const struct talk *t = &talks[2];
    struct answer plain, with = {.n = 0};
    carat_session *fork = NULL;
    char path[] = "/tmp/carat_drafting_XXXXXX";
    int32_t all[CONTEXT], draft[CARAT_MOST_DRAFT];

    make(&r, t, &w, CARAT_LOOKUP_OFF, &plain);
    memcpy(all, t->prompt.id, (size_t)t->prompt.n * sizeof *all);
    all[t->prompt.n] = plain.id[0];
    carat_session *s = r.session[0];
    OK(carat_sync(s, all, t->prompt.n, NULL, err));
    assert_true(ct_draft_propose(s, all, t->prompt.n + 1, draft, 3) == 3);
    carat_session_close(r.session[1]);
    OK(carat_fork(s, t->prompt.n, &fork, err));
    assert_true(ct_draft_propose(fork, all, t->prompt.n + 1, draft, 3) == 3);
    OK(carat_rewind(fork, t->prompt.n - 2, err));
    assert_int_equal(ct_draft_propose(fork, all, t->prompt.n - 1, draft, 3), 0);
    OK(carat_append(fork, all + t->prompt.n - 2, 2, err));
    carat_generation *g = begin(fork, &w, CARAT_LOOKUP_ON, &with);
    OK(carat_generate(g, err));
    assert_same("a fork that was taken back", &plain, &with);
    assert_true(info_of(g).drafted > 0);
    carat_generation_close(g);

    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    OK(carat_save(s, path, NULL, 0, err));
    OK(carat_load(fork, path, NULL, NULL, err));
    remove(path);
    assert_int_equal(ct_draft_propose(fork, all, t->prompt.n + 1, draft, 3), 0);
    memset(&with, 0, sizeof with);
    g = begin(fork, &w, CARAT_LOOKUP_ON, &with);
    OK(carat_generate(g, err));
    assert_same("out of a file", &plain, &with);
    assert_true(info_of(g).drafted > 0);
    carat_generation_close(g);
    carat_session_close(fork);
    r.n_session = 1;
    rig_close(&r);
}

/* A step sees one position more of local layers than the model's next pass: it is still there where that
 * position is the last of a block, and another session has taken what was given back. */
static void the_window_of_a_step_is_kept(void **unused)
{
    (void)unused;
    enum { WINDOW = 64, HELD = CT_KEY_BLOCK + WINDOW };
    carat_engine_options o = engine_of(2);
    o.context = 1024;
    o.chunk = HELD;
    o.exact = 1;
    struct ids ids = scattered_ids(HELD + 1, model_info(model).n_text_vocab, 9);
    int32_t draft[2][CARAT_MOST_DRAFT];
    float best[2];
    for (int way = 0; way < 2; way++) {
        struct rig r = rig_open(model, &o);
        const int first = way ? HELD : HELD - 1;
        OK(carat_sync(r.session[0], ids.id, first, NULL, err));
        if (first < HELD)
            OK(carat_append(r.session[0], ids.id + first, 1, err));
        OK(carat_sync(r.session[1], ids.id + 1, HELD, NULL, err));
        assert_int_equal(ct_draft_propose(r.session[0], ids.id, HELD + 1, draft[way], 4), 4);
        best[way] = r.engine->drafts.reader.scores.value[0];
        rig_close(&r);
    }
    assert_memory_equal(draft[0], draft[1], 4 * sizeof draft[0][0]);
    assert_memory_equal(&best[0], &best[1], sizeof best[0]);
    free(ids.id);
}

/* A model that drafts with K and V of its own: here the same one, which is always right when it is greedy. */
static void a_smaller_model_drafts(void **unused)
{
    (void)unused;
    static const char tiny[] = CT_TEST_DATA "/../../models/tiny";
    carat_model_options mo;
    carat_model_options_default(&mo);
    carat_model *m = NULL, *before = model;
    mo.drafter = tiny;
    OK(carat_model_open(&m, tiny, &mo, err));
    model = m;
    carat_engine_options o = engine_of(2);
    struct rig r = rig_open(m, &o);
    struct talk t = {.prompt = scattered_ids(24, 300, 5)};
    for (int i = 0; i < 6; i++) {
        struct way w = way_of(i);
        struct answer plain, with;
        w.sampling.temperature = i ? 1 : 0;
        if (i == 3) {
            w.chain.repeat_penalty = 1.3f;
            w.sampling.chain = &w.chain;
        }
        make(&r, &t, &w, CARAT_LOOKUP_OFF, &plain);
        w.draft_max = i;
        const carat_generation_info info = make(&r, &t, &w, CARAT_LOOKUP_ON, &with);
        assert_same("with a model beside", &plain, &with);
        assert_true(info.use[CARAT_FROM_DRAFTER].drafted > 0 || plain.n < 3);
        if (i == 0)
            assert_int_equal(info.drafted, info.accepted);
        make(&r, &t, &w, CARAT_LOOKUP_AUTO, &with);
        assert_same("by what it costs", &plain, &with);
    }
    const struct way w = way_of(0);
    struct answer plain, with = {.n = 0};
    carat_session *fork = NULL;
    int32_t draft[CARAT_MOST_DRAFT];
    OK(carat_sync(r.session[1], t.prompt.id, t.prompt.n - 1, NULL, err));
    assert_true(ct_draft_lag(r.session[1], t.prompt.n) > 0); /* it has yet to read the prompt */
    assert_int_equal(ct_draft_propose(r.session[1], t.prompt.id, t.prompt.n, draft, 1), 1);
    assert_true(ct_draft_lag(r.session[1], t.prompt.n) == 0);
    make(&r, &t, &w, CARAT_LOOKUP_OFF, &plain);
    carat_session_close(r.session[1]);
    OK(carat_fork(r.session[0], t.prompt.n, &fork, err));
    OK(carat_sync(fork, t.prompt.id, t.prompt.n, NULL, err));
    carat_generation *g = begin(fork, &w, CARAT_LOOKUP_ON, &with);
    OK(carat_generate(g, err));
    assert_same("a fork with a model beside", &plain, &with);
    carat_generation_close(g);
    carat_session_close(fork);
    r.n_session = 1;
    free(t.prompt.id);
    rig_close(&r);
    model = before;
    carat_model_close(m);
}

/* A model that is open drafts as one by its path does, and is closed with the model that it drafts for. */
static void an_open_model_drafts(void **unused)
{
    (void)unused;
    static const char tiny[] = CT_TEST_DATA "/../../models/tiny";
    carat_model_options mo, plain;
    carat_model_options_default(&mo);
    carat_model_options_default(&plain);
    carat_model *m = NULL;
    static const char other[] = CT_TEST_DATA "/vectors/models/gemma3-bf16";
    OK(carat_model_open(&mo.opened, tiny, &plain, err));
    FAILS_WITH(carat_model_open(&m, other, &mo, err), CARAT_E_UNSUPPORTED,
               "the drafter has a vocabulary of ");
    OK(carat_model_open(&m, tiny, &mo, err)); /* it was left to the caller */
    carat_engine_options o = engine_of(1);
    struct rig r = rig_open(m, &o);
    struct ids ids = scattered_ids(24, 300, 5);
    int32_t draft[CARAT_MOST_DRAFT];
    OK(carat_sync(r.session[0], ids.id, ids.n - 1, NULL, err));
    assert_int_equal(ct_draft_propose(r.session[0], ids.id, ids.n, draft, 3), 3);
    free(ids.id);
    rig_close(&r);
    carat_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drafts_are_those_of_the_reference),
        cmocka_unit_test(answers_stay),
        cmocka_unit_test(sessions_stay),
        cmocka_unit_test(neighbours_stay),
        cmocka_unit_test(drafts_begin_again),
        cmocka_unit_test(the_window_of_a_step_is_kept),
        cmocka_unit_test(a_smaller_model_drafts),
        cmocka_unit_test(an_open_model_drafts),
    };
    return cmocka_run_group_tests_name("engine: drafting", tests, prepare, clean_up);
}
