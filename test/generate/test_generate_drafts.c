/* SPDX-License-Identifier: Apache-2.0 */
/* test_generate_drafts.c: one answer, however it is made: by hand, from the cache, anew for each id, forced,
 * and with drafts from the text itself or from somebody who is right, wrong, or both; stopped anywhere and
 * gone on with; beside others. On tiny, on a fixture of each generation and on one whose window lies in two
 * blocks. */
#include "engine/invariance.h"

#include <carat_generate.h>

#include "base/base.h"

enum { PROMPT = 40, ANSWER = 256, SHORT = 48, ROOM = PROMPT + ANSWER + 8, N_SEED = 4, N_MODEL = 5 };

/* A sanitizer makes this ten times slower, and has two; a sample has one of these. */
#define SAMPLED (!SANITIZED && !tier_is_deep())
#define FIRST   (SAMPLED ? (int)(tier_turn() % 2) : 0)
#define MODELS  (SAMPLED ? FIRST + 1 : SANITIZED ? 2 : N_MODEL)

/* What a plain loop draws. */
struct answer {
    carat_sampling sampling;
    int32_t id[PROMPT + ANSWER]; /* the prompt, then what is drawn */
    float *logits;               /* [ANSWER][n_vocab] that id[PROMPT + i] is drawn from */
};

struct known {
    const char *name;
    carat_model *model;
    int n_vocab;
    struct answer answer[N_SEED];
};
static struct known known[N_MODEL];
static struct windowed windowed;

static carat_engine_options engine_of(int sessions, int chunk)
{
    carat_engine_options o;

    carat_engine_options_default(&o);
    o.threads = 1;
    o.sessions = sessions;
    o.chunk = chunk;
    o.context = ROOM;
    return o;
}

/* A prompt that says everything twice. */
static void fill_prompt(struct known *k, struct answer *a, int seed)
{
    struct ids once = scattered_ids(PROMPT / 2, model_info(k->model).n_text_vocab, (uint32_t)seed + 3);

    memcpy(a->id, once.id, PROMPT / 2 * sizeof *a->id);
    memcpy(a->id + PROMPT / 2, once.id, PROMPT / 2 * sizeof *a->id);
    free(once.id);
}

static void draw_answer(struct known *k, int seed)
{
    struct answer *a = &k->answer[seed];
    carat_engine_options o = engine_of(1, 64);
    struct rig r = rig_open(k->model, &o);
    carat_session *s = r.session[0];
    size_t row = (size_t)k->n_vocab;

    carat_sampling_default(k->model, &a->sampling);
    a->sampling.temperature = seed ? 1 : 0;
    a->sampling.seed = (uint64_t)seed * 77;
    a->logits = malloc(ANSWER * row * sizeof *a->logits);
    fill_prompt(k, a, seed);
    OK(carat_sync(s, a->id, PROMPT, NULL, err));
    for (int i = 0; i < ANSWER; i++) {
        memcpy(a->logits + (size_t)i * row, carat_logits(s), row * sizeof *a->logits);
        OK(carat_sample(s, &a->sampling, &a->id[PROMPT + i], err));
        OK(carat_append(s, &a->id[PROMPT + i], 1, err));
    }
    rig_close(&r);
}

static int prepare(void **state)
{
    static const char *const names[] = {"../../models/tiny", "models/gemma2-bf16", "models/gemma1-f32",
                                        "models/gemma3-bf16"};

    (void)state;
    for (int i = 0; i < N_MODEL - 1; i++) {
        char path[PATH_SIZE];
        const char *root = i ? own_vectors() : CT_TEST_DATA;
        known[i].name = names[i];
        OK(carat_model_open(&known[i].model, path_join(path, root, names[i]), NULL, err));
    }
    windowed = windowed_open();
    known[N_MODEL - 1].name = "a window of 300";
    known[N_MODEL - 1].model = windowed.model;
    for (int i = FIRST; i < MODELS; i++) {
        known[i].n_vocab = model_info(known[i].model).n_vocab;
        for (int seed = 0; seed < N_SEED; seed++)
            draw_answer(&known[i], seed);
    }
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    for (int i = 0; i < N_MODEL; i++) {
        for (int seed = 0; seed < N_SEED; seed++)
            free(known[i].answer[seed].logits);
        if (i < N_MODEL - 1)
            carat_model_close(known[i].model);
    }
    windowed_close(&windowed);
    return 0;
}

/* ---- a generation that is watched ---- */

enum source { FROM_TEXT, RIGHT, WRONG, ALTERNATING, BEYOND, STOPS, N_SOURCE };

struct watched {
    const struct known *known;
    const struct answer *answer;
    carat_session *session;
    carat_generation *g;
    enum source source;
    int32_t stop; /* id; -1: none */
    int given, end_at;
    bool wrong;
};

static int take(void *user, const carat_given *given)
{
    struct watched *w = user;

    w->wrong |= given->position != PROMPT + w->given || given->id != w->answer->id[PROMPT + w->given];
    w->given++;
    return w->given == w->end_at;
}

static int propose(void *user, const int32_t *ids, int n, int32_t *draft, int k)
{
    struct watched *w = user;
    int i = 0;

    w->wrong |= n != PROMPT + w->given || memcmp(ids, w->answer->id, (size_t)n * sizeof *ids) != 0;
    for (; i < k && n + i < PROMPT + ANSWER; i++) {
        const int32_t right = w->answer->id[n + i], other = (right + 1) % w->known->n_vocab;
        const int32_t beyond = n % 2 ? w->known->n_vocab : INT32_MIN;
        const bool third = (n + i) % 3 == 0;
        draft[i] = w->source == WRONG || (w->source == ALTERNATING && third) ? other
                   : w->source == BEYOND && third                            ? beyond
                   : w->source == STOPS && third && w->stop >= 0             ? w->stop
                                                                             : right;
    }
    return i;
}

static carat_generation_options options_of_generation(struct watched *w, carat_lookup lookup)
{
    carat_generation_options o;

    carat_generation_options_default(&o);
    o.sampling = &w->answer->sampling;
    o.max_tokens = ANSWER;
    o.stop_ids = &w->stop;
    o.n_stop_ids = w->stop >= 0;
    o.on_token = take;
    o.user = w;
    o.lookup = lookup;
    o.propose = w->source == FROM_TEXT ? NULL : propose;
    return o;
}

static void begin(struct watched *w, const carat_generation_options *o)
{
    w->given = 0;
    OK(carat_generation_create(&w->g, w->session, o, err));
    OK(carat_sync(w->session, w->answer->id, PROMPT, NULL, err));
}

static carat_generation_info info_of(const struct watched *w)
{
    carat_generation_info info;

    carat_generation_info_default(&info);
    OK(carat_generation_get_info(w->g, &info, err));
    return info;
}

/* It gave what the plain loop drew, and holds all of it but the last, with the logits of that one. */
static void check(const struct watched *w, const char *how)
{
    const int32_t *held;
    int n = carat_tokens_held(w->session, &held), expected = PROMPT + CT_MAX(w->given - 1, 0);
    const float *logits = carat_logits(w->session);
    size_t row = (size_t)w->known->n_vocab;

    if (w->wrong)
        fail_msg("%s, %s: id %d differs", w->known->name, how, w->given - 1);
    if (n != expected || memcmp(held, w->answer->id, (size_t)n * sizeof *held) != 0)
        fail_msg("%s, %s: holds %d tokens, expected %d", w->known->name, how, n, expected);
    assert_int_equal(info_of(w).given, w->given);
    assert_int_equal(info_of(w).last, w->given ? w->answer->id[PROMPT + w->given - 1] : -1);
    if (logits && memcmp(logits, w->answer->logits + (size_t)(n - PROMPT) * row, row * sizeof *logits) != 0)
        fail_msg("%s, %s: other logits after %d ids", w->known->name, how, w->given);
}

static void end(struct watched *w)
{
    carat_generation_close(w->g);
    w->g = NULL;
}

/* ---- one answer ---- */

static void forced_is_drawn(void **unused)
{
    (void)unused;
    for (int m = FIRST; m < MODELS; m++)
        for (int seed = 0; seed < N_SEED; seed++) {
            struct known *k = &known[m];
            const struct answer *a = &k->answer[seed];
            carat_engine_options o = engine_of(1, 16);
            struct rig r = rig_open(k->model, &o);
            size_t row = (size_t)k->n_vocab;
            float *logits = malloc(ANSWER * row * sizeof *logits);
            carat_row forced = {
                .session = r.session[0], .tokens = a->id + PROMPT, .n = ANSWER, .logits = logits};
            OK(carat_sync(r.session[0], a->id, PROMPT, NULL, err));
            OK(carat_step(r.engine, &forced, sizeof(carat_row), 1, err));
            assert_memory_equal(logits, a->logits + row, (ANSWER - 1) * row * sizeof *logits);
            free(logits);
            rig_close(&r);
        }
}

enum way { CACHED, NAIVE, ON, AUTO, N_WAY };
static const char *const ways[] = {"from the cache", "naive", "lookup on", "lookup auto"};

/* Every step but the first is a pass, and gives one id, or as many more as were right. Anew for each id takes
 * long: all of that is the greedy answer's where the window lies in two blocks. */
static void run_way(struct known *k, int seed, enum way way, int draft_max, int chunk)
{
    static const carat_lookup lookups[] = {CARAT_LOOKUP_OFF, CARAT_LOOKUP_OFF, CARAT_LOOKUP_ON,
                                           CARAT_LOOKUP_AUTO};
    carat_engine_options o = engine_of(1, chunk);
    struct rig r = rig_open(k->model, &o);
    struct watched w = {.known = k, .answer = &k->answer[seed], .session = r.session[0], .stop = -1};
    carat_generation_options go = options_of_generation(&w, lookups[way]);
    int steps = 0, ids = way == NAIVE && (seed || k != &known[N_MODEL - 1]) ? SHORT : ANSWER;

    go.max_tokens = ids;
    go.naive = way == NAIVE;
    go.draft_max = draft_max;
    begin(&w, &go);
    for (; info_of(&w).reason == CARAT_REASON_NONE; steps++) {
        OK(carat_generation_step(r.engine, &w.g, 1, err));
        check(&w, ways[way]);
    }
    carat_generation_info info = info_of(&w);
    assert_int_equal(info.reason, CARAT_REASON_LENGTH);
    assert_int_equal(w.given, ids);
    assert_int_equal(steps + info.accepted, ids);
    assert_int_equal(info.passes, steps - 1);
    assert_true(way >= ON || info.drafted == 0);
    if (way == ON && seed == 0 && k == known && chunk > 7)
        assert_true(info.accepted > 0); /* tiny repeats itself */
    end(&w);
    rig_close(&r);
}

static void all_ways_are_one(void **unused)
{
    (void)unused;
    for (int m = FIRST; m < MODELS; m++)
        for (int seed = 0; seed < N_SEED; seed++)
            for (int way = 0; way < N_WAY; way++)
                if (way != NAIVE || (!SANITIZED && !SAMPLED) || (seed == 0 && m == MODELS - 1))
                    run_way(&known[m], seed, (enum way)way, 0, 64);
}

static void any_length_of_drafts(void **unused)
{
    (void)unused;
    for (int m = FIRST; m < MODELS; m++)
        for (int draft = 1; draft <= CARAT_MOST_DRAFT; draft++)
            run_way(&known[m], draft % N_SEED, ON, draft, draft % 2 ? 64 : draft);
}

/* ---- whoever proposes ---- */

static void any_source(void **unused)
{
    (void)unused;
    for (int m = FIRST; m < MODELS; m++)
        for (int i = 0; i < N_SOURCE * CARAT_MOST_DRAFT; i++) {
            struct known *k = &known[m];
            carat_engine_options o = engine_of(1, 16);
            o.logits_rows = 1 + i % 8;
            struct rig r = rig_open(k->model, &o);
            struct watched w = {.known = k,
                                .answer = &k->answer[i % N_SEED],
                                .session = r.session[0],
                                .source = (enum source)(i % N_SOURCE),
                                .stop = -1};
            carat_generation_options go = options_of_generation(&w, CARAT_LOOKUP_ON);
            go.max_tokens = SHORT;
            go.draft_max = 1 + i / N_SOURCE;
            begin(&w, &go);
            while (info_of(&w).reason == CARAT_REASON_NONE) {
                OK(carat_generation_step(r.engine, &w.g, 1, err));
                check(&w, "a source");
            }
            carat_generation_info info = info_of(&w);
            assert_int_equal(w.given, SHORT);
            if (w.source == WRONG)
                assert_true(info.drafted > 0 && info.accepted == 0);
            if (w.source == RIGHT)
                assert_true(info.drafted > 0 && info.accepted == info.drafted);
            end(&w);
            rig_close(&r);
        }
}

/* The index of the first id from there on that stands in the answer for the first time; -1: there is none. */
static int new_id(const struct answer *a, int from)
{
    for (int at = from; at < SHORT; at++) {
        int i = 0;
        while (i < at && a->id[PROMPT + i] != a->id[PROMPT + at])
            i++;
        if (i == at)
            return at;
    }
    return -1;
}

static void stops_where_it_stops(void **unused)
{
    (void)unused;
    int checked = 0;
    for (int m = FIRST; m < MODELS; m++)
        for (int i = 0; i < N_SOURCE * 8; i++) {
            struct known *k = &known[m];
            const struct answer *a = &k->answer[i % N_SEED];
            int at = new_id(a, i / N_SOURCE * 3);
            if (at < 0)
                continue;
            carat_engine_options o = engine_of(1, 16);
            struct rig r = rig_open(k->model, &o);
            struct watched w = {.known = k,
                                .answer = a,
                                .session = r.session[0],
                                .source = (enum source)(i % N_SOURCE),
                                .stop = a->id[PROMPT + at]};
            carat_generation_options go = options_of_generation(&w, CARAT_LOOKUP_ON);
            begin(&w, &go);
            OK(carat_generate(w.g, err));
            assert_false(w.wrong);
            assert_int_equal(w.given, at);
            assert_int_equal(info_of(&w).reason, CARAT_REASON_STOP);
            assert_int_equal(carat_tokens_held(w.session, NULL), PROMPT + at);
            checked++;
            end(&w);
            rig_close(&r);
        }
    assert_true(checked > N_SOURCE * (SAMPLED ? 1 : 4));
}

/* ---- stopped anywhere, and gone on with ---- */

/* Asked so often, it says yes once. */
static int ask(void *user, size_t done, size_t total)
{
    int *left = user;

    (void)done;
    (void)total;
    return --*left == 0;
}

static void cancelled_inside_passes(void **unused)
{
    (void)unused;
    for (int m = FIRST; m < MODELS; m++)
        for (int source = FROM_TEXT; source <= ALTERNATING; source++) {
            struct known *k = &known[m];
            carat_engine_options o = engine_of(1, 16);
            struct rig r = rig_open(k->model, &o);
            carat_session_options so;
            carat_session_options_default(&so);
            int left = 0, cancelled = 0;
            so.watch = ask;
            so.user = &left;
            carat_session_close(r.session[0]);
            OK(carat_session_create(&r.session[0], r.engine, &so, err));
            struct watched w = {.known = k,
                                .answer = &k->answer[source % N_SEED],
                                .session = r.session[0],
                                .source = (enum source)source,
                                .stop = -1};
            carat_generation_options go = options_of_generation(&w, CARAT_LOOKUP_ON);
            go.max_tokens = SHORT;
            begin(&w, &go);
            for (int at = 1; info_of(&w).reason != CARAT_REASON_LENGTH; at++) {
                left = 1 + at % 5;
                carat_status status = carat_generation_step(r.engine, &w.g, 1, NULL);
                assert_true(status == CARAT_OK || status == CARAT_E_CANCELLED);
                cancelled += status == CARAT_E_CANCELLED;
                check(&w, "cancelled");
                left = 0;
                OK(carat_generation_step(r.engine, &w.g, 1, err));
                check(&w, "gone on");
            }
            assert_int_equal(w.given, SHORT);
            assert_true(cancelled > 0);
            end(&w);
            rig_close(&r);
        }
}

static void ended_after_each_id(void **unused)
{
    (void)unused;
    for (int m = FIRST; m < MODELS; m++)
        for (int source = FROM_TEXT; source <= ALTERNATING; source++) {
            struct known *k = &known[m];
            carat_engine_options o = engine_of(1, 16);
            struct rig r = rig_open(k->model, &o);
            struct watched w = {.known = k,
                                .answer = &k->answer[source % N_SEED],
                                .session = r.session[0],
                                .source = (enum source)source,
                                .stop = -1};
            carat_generation_options go = options_of_generation(&w, CARAT_LOOKUP_ON);
            go.max_tokens = SHORT;
            begin(&w, &go);
            for (w.end_at = 1; w.end_at <= SHORT; w.end_at += 1 + w.end_at % 2) {
                OK(carat_generate(w.g, err));
                check(&w, "ended by its callback");
                assert_int_equal(w.given, w.end_at);
                assert_int_equal(info_of(&w).reason, CARAT_REASON_CALLBACK);
            }
            OK(carat_generate(w.g, err));
            check(&w, "ended by its length");
            assert_int_equal(w.given, SHORT);
            end(&w);
            rig_close(&r);
        }
}

/* Another text in between: what was indexed is of no use then, and no harm. */
static void another_text(void **unused)
{
    (void)unused;
    for (int m = FIRST; m < MODELS; m++) {
        struct known *k = &known[m];
        carat_engine_options o = engine_of(1, 16);
        struct rig r = rig_open(k->model, &o);
        struct watched w = {.known = k, .answer = &k->answer[1], .session = r.session[0], .stop = -1};
        carat_generation_options go = options_of_generation(&w, CARAT_LOOKUP_ON);
        begin(&w, &go);
        for (int turn = 0; turn < 6; turn++) {
            int32_t other[PROMPT];
            for (int i = 0; i < 10 + turn; i++) {
                OK(carat_generation_step(r.engine, &w.g, 1, err));
                check(&w, "a text");
            }
            memcpy(other, k->answer[1].id, sizeof other);
            other[PROMPT - 1 - turn] = 5;
            OK(carat_sync(r.session[0], other, PROMPT, NULL, err));
            OK(carat_sync(r.session[0], k->answer[1].id, PROMPT, NULL, err));
            w.given = 0;
        }
        end(&w);
        rig_close(&r);
    }
}

/* ---- several in a step ---- */

/* Each with another answer, another source, drafts of another length; they end one after another. */
static void beside_others(void **unused)
{
    (void)unused;
    enum { N = 4 };
    for (int m = FIRST; m < MODELS; m++)
        for (int variant = 0; variant < 6; variant++) {
            struct known *k = &known[m];
            carat_engine_options o = engine_of(N, variant % 2 ? 64 : N + variant);
            struct rig r = rig_open(k->model, &o);
            struct watched w[N];
            carat_generation *all[N];
            int running = N;
            for (int i = 0; i < N; i++) {
                w[i] = (struct watched){.known = k,
                                        .answer = &k->answer[i],
                                        .session = r.session[i],
                                        .source = (enum source)((i + variant) % N_SOURCE),
                                        .stop = -1};
                carat_generation_options go =
                    options_of_generation(&w[i], i == 3 && variant > 2 ? CARAT_LOOKUP_AUTO : CARAT_LOOKUP_ON);
                go.max_tokens = SHORT - 9 * i;
                go.draft_max = 1 + (2 * i + variant) % CARAT_MOST_DRAFT;
                begin(&w[i], &go);
                all[i] = w[i].g;
            }
            while (running > 0) {
                OK(carat_generation_step(r.engine, all, N, err));
                running = 0;
                for (int i = 0; i < N; i++) {
                    check(&w[i], "beside others");
                    running += info_of(&w[i]).reason == CARAT_REASON_NONE;
                }
            }
            for (int i = 0; i < N; i++) {
                assert_int_equal(w[i].given, SHORT - 9 * i);
                end(&w[i]);
            }
            rig_close(&r);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forced_is_drawn),      cmocka_unit_test(all_ways_are_one),
        cmocka_unit_test(any_length_of_drafts), cmocka_unit_test(any_source),
        cmocka_unit_test(stops_where_it_stops), cmocka_unit_test(cancelled_inside_passes),
        cmocka_unit_test(ended_after_each_id),  cmocka_unit_test(another_text),
        cmocka_unit_test(beside_others),
    };
    return cmocka_run_group_tests(tests, prepare, clean_up);
}
