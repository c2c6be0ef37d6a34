/* SPDX-License-Identifier: Apache-2.0 */
/* test_prompt.c: prompts that generations are given: whatever the pieces are in which they go into passes,
 * whoever comes and goes meanwhile, the ids are those of carat_sync and a generation alone; one call is one
 * pass, in which prompts have pieces in their order; what a cancelled one keeps; what is refused. Where
 * sessions can go back to is test_prompt_places.c's. */
#include "engine/step_util.h"

#include "generate/generate.h"

#include <carat_generate.h>

enum { TEXTS = 6, LONGEST = 330, ANSWER = 14, SESSIONS = 4, CHUNK = 64 };

static const int lengths[TEXTS] = {1, 2, 63, 130, 257, LONGEST};

/* A prompt, and what is answered to it. */
struct text {
    carat_sampling sampling;
    int32_t id[LONGEST + ANSWER];
    int n;
};

static struct text texts[TEXTS];
static const int32_t sick_ids[] = {SICK};
static uint32_t seed = 5;

static int below(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)n);
}

static carat_generation_options answer_options(const struct text *t, carat_on_token on_token, void *user)
{
    static const int32_t none;
    carat_generation_options o;

    carat_generation_options_default(&o);
    o.sampling = &t->sampling;
    o.max_tokens = ANSWER;
    o.stop_ids = &none;
    o.lookup = CARAT_LOOKUP_OFF;
    o.on_token = on_token;
    o.user = user;
    return o;
}

static int keep(void *user, const carat_given *given)
{
    struct text *t = user;

    t->id[given->position] = given->id;
    return 0;
}

/* The answer to a prompt by carat_sync and a generation, in an engine of its own. */
static void answer_alone(struct text *t, int first, int n)
{
    carat_engine_options o = options(1, 256, MOST);
    struct rig r = rig_open(model, &o);
    carat_generation_options go = answer_options(t, keep, t);
    carat_generation *g;

    carat_sampling_default(model, &t->sampling);
    t->sampling.temperature = first % 2 ? 1 : 0;
    t->sampling.seed = (uint64_t)first;
    t->sampling.banned = sick_ids;
    t->sampling.n_banned = 1;
    t->n = n;
    memcpy(t->id, ids + first, (size_t)n * sizeof *t->id);
    OK(carat_generation_create(&g, r.session[0], &go, err));
    OK(carat_sync(r.session[0], t->id, n, NULL, err));
    OK(carat_generate(g, err));
    carat_generation_close(g);
    rig_close(&r);
}

static int prepare(void **state)
{
    open_model(state);
    for (int i = 0; i < TEXTS; i++)
        answer_alone(&texts[i], 3 * i, lengths[i]);
    return 0;
}

/* ---- a generation that is watched ---- */

struct watched {
    const struct text *text;
    carat_generation *g;
    int given;
    bool wrong;
};

static int take(void *user, const carat_given *given)
{
    struct watched *w = user;

    w->wrong |= given->position != w->text->n + w->given || given->id != w->text->id[given->position];
    w->given++;
    return 0;
}

static carat_prompt prompt_of(const struct text *t)
{
    carat_prompt p;

    carat_prompt_default(&p);
    p.ids = t->id;
    p.n = t->n;
    return p;
}

static carat_generation_info info_of(const carat_generation *g)
{
    carat_generation_info info;

    carat_generation_info_default(&info);
    OK(carat_generation_get_info(g, &info, err));
    return info;
}

/* Returns the tokens that the session had. */
static int begin(struct watched *w, const struct text *t, carat_session *s, carat_lookup lookup)
{
    int reused = -1;
    *w = (struct watched){.text = t};
    carat_generation_options go = answer_options(t, take, w);
    const carat_prompt p = prompt_of(t);

    go.lookup = lookup;
    OK(carat_generation_create(&w->g, s, &go, err));
    OK(carat_generation_prompt(w->g, &p, &reused, err));
    assert_true(reused >= 0 && reused <= t->n);
    return reused;
}

static void end(struct watched *w)
{
    assert_false(w->wrong);
    carat_generation_close(w->g);
    w->g = NULL;
}

static carat_engine_stats counts(const struct rig *r)
{
    carat_engine_stats stats;

    carat_engine_stats_default(&stats);
    OK(carat_engine_get_stats(r->engine, &stats, err));
    return stats;
}

/* ---- the same ids ---- */

/* Generations that begin, are cancelled and close at random beside each other. */
static void test_come_and_go(void **state)
{
    (void)state;
    int ended = 0, cancelled = 0;
    for (int round = 0; round < (SANITIZED ? 4 : 30); round++) {
        static const int chunks[] = {3, 16, CHUNK};
        carat_engine_options o = options(SESSIONS, chunks[round % 3], MOST);
        o.decode_chunk = round % 2 ? 2 : 0;
        struct rig r = rig_open(model, &o);
        struct watched w[SESSIONS] = {0};
        for (int call = 0; call < 150; call++) {
            carat_generation *all[SESSIONS];
            int n = 0, answering = 0;
            for (int i = 0; i < SESSIONS; i++) {
                if (!w[i].g && below(4) == 0)
                    (void)begin(&w[i], &texts[below(TEXTS)], r.session[i],
                                below(2) ? CARAT_LOOKUP_ON : CARAT_LOOKUP_OFF);
                if (w[i].g && below(8)) {
                    all[n++] = w[i].g;
                    answering += w[i].given > 0 && w[i].given < ANSWER;
                }
                if (w[i].g && below(30) == 0)
                    carat_cancel(r.session[i]);
            }
            if (n == 0)
                continue;
            const uint64_t passes = counts(&r).passes;
            carat_status status = carat_generation_pass(r.engine, all, n, below(3) * below(40), NULL);
            assert_true(status == CARAT_OK || status == CARAT_E_CANCELLED);
            cancelled += status == CARAT_E_CANCELLED;
            if (answering && o.chunk > 3 && !o.decode_chunk) /* prompts alone may go row by row */
                assert_true(counts(&r).passes - passes <= 1);
            for (int i = 0; i < SESSIONS; i++) {
                const bool whole = w[i].g && info_of(w[i].g).reason == CARAT_REASON_LENGTH;
                ended += whole && w[i].given == ANSWER;
                if (whole)
                    assert_int_equal(w[i].given, ANSWER);
                if ((whole && below(3) == 0) || (w[i].g && below(60) == 0)) /* some stay in the list */
                    end(&w[i]);
            }
        }
        for (int i = 0; i < SESSIONS; i++)
            if (w[i].g)
                end(&w[i]);
        rig_close(&r);
    }
    assert_true(ended > (SANITIZED ? 10 : 100) && cancelled > (SANITIZED ? 3 : 30));
}

/* Passes that told a generation what passes cost. */
static unsigned booked(const struct watched *w)
{
    unsigned n = 0;

    for (int rows = 0; rows <= CT_ACCOUNT_ROWS; rows++)
        n += w->g->speculation.account.pass[rows].n;
    return n;
}

/* One call is one pass: a row of who answers, a piece of the first prompt, and of the next one what it leaves
 * of so many tokens. */
static void test_one_call_is_one_pass(void **state)
{
    (void)state;
    carat_engine_options o = options(3, CHUNK, MOST);
    struct rig r = rig_open(model, &o);
    struct watched w[3];
    carat_generation *all[3];
    const int piece = 20;

    (void)begin(&w[0], &texts[1], r.session[0], CARAT_LOOKUP_OFF);
    OK(carat_generation_pass(r.engine, &w[0].g, 1, piece, err));
    assert_int_equal(w[0].given, 1); /* with the last token of its prompt */
    (void)begin(&w[1], &texts[3], r.session[1], CARAT_LOOKUP_OFF);
    (void)begin(&w[2], &texts[4], r.session[2], CARAT_LOOKUP_OFF);
    for (int i = 0; i < 3; i++)
        all[i] = w[i].g;
    const unsigned passes_told = booked(&w[0]);
    const int calls = (lengths[3] + piece - 1) / piece, rest = lengths[3] + lengths[4] - calls * piece;
    for (int i = 1; i <= calls; i++) {
        carat_engine_stats before = counts(&r);
        OK(carat_generation_pass(r.engine, all, 3, piece, err));
        carat_engine_stats after = counts(&r);
        assert_int_equal(after.passes - before.passes, 1);
        assert_int_equal(after.rows - before.rows, 1 + piece);
        assert_int_equal(w[0].given, 1 + i);
        assert_int_equal(w[1].given, i == calls);
        assert_int_equal(info_of(w[1].g).prompt_left, CT_MAX(0, lengths[3] - i * piece));
        assert_int_equal(info_of(w[2].g).prompt_left, i == calls ? rest : lengths[4]);
    }
    assert_true(rest < lengths[4]);
    assert_int_equal(booked(&w[0]), passes_told);
    OK(carat_generation_pass(r.engine, all, 3, 0, err)); /* prompts wait */
    assert_true(booked(&w[0]) > passes_told);
    assert_int_equal(info_of(w[2].g).prompt_left, rest);
    assert_int_equal(w[0].given, 2 + calls);
    OK(carat_generation_step(r.engine, all, 3, err)); /* as much as there is room for */
    assert_int_equal(info_of(w[2].g).prompt_left, rest - (CHUNK - 2));
    OK(carat_generate(w[2].g, err));
    assert_int_equal(w[2].given, ANSWER);
    for (int i = 0; i < 3; i++)
        end(&w[i]);
    rig_close(&r);
}

/* Prompts that are short are through together: in a pass as many as `piece` and the chunk have room for,
 * beside a row of who answers. */
static void test_many_prompts_in_a_pass(void **state)
{
    (void)state;
    static const int which[SESSIONS] = {1, 2, 0, 3}; /* of 2, 63, 1, 130 tokens */
    static const struct {
        int chunk, piece, left[3]; /* of the last one */
    } rows[] = {{256, 100, {96, 0, 0}}, {256, 196, {0, 0, 0}}, {70, 70, {126, 59, 0}}};

    for (size_t k = 0; k < CT_COUNT(rows); k++) {
        carat_engine_options o = options(SESSIONS, rows[k].chunk, MOST);
        struct rig r = rig_open(model, &o);
        struct watched w[SESSIONS];
        carat_generation *all[SESSIONS];

        for (int i = 0; i < SESSIONS; i++) {
            (void)begin(&w[i], &texts[which[i]], r.session[i], CARAT_LOOKUP_OFF);
            all[i] = w[i].g;
        }
        for (int call = 0; call < 3; call++) {
            const uint64_t passes = counts(&r).passes;
            OK(carat_generation_pass(r.engine, all, SESSIONS, rows[k].piece, err));
            assert_int_equal(counts(&r).passes - passes, 1);
            for (int i = 0; i < 3; i++)
                assert_int_equal(w[i].given, 1 + call);
            assert_int_equal(info_of(w[3].g).prompt_left, rows[k].left[call]);
        }
        for (int i = 0; i < SESSIONS; i++) {
            OK(carat_generate(w[i].g, err));
            assert_int_equal(w[i].given, ANSWER);
            end(&w[i]);
        }
        rig_close(&r);
    }
}

static void test_naive_takes_prompts(void **state)
{
    (void)state;
    carat_engine_options o = options(1, CHUNK, MOST);
    struct rig r = rig_open(model, &o);
    struct watched w = {.text = &texts[2]};
    carat_generation_options go = answer_options(&texts[2], take, &w);
    const carat_prompt p = prompt_of(&texts[2]);

    go.naive = 1;
    OK(carat_generation_create(&w.g, r.session[0], &go, err));
    OK(carat_generation_prompt(w.g, &p, NULL, err));
    OK(carat_generate(w.g, err));
    assert_int_equal(w.given, ANSWER);
    end(&w);
    rig_close(&r);
}

/* ---- what is kept ---- */

static void test_cancelled_keeps_what_was_evaluated(void **state)
{
    (void)state;
    carat_engine_options o = options(1, CHUNK, MOST);
    struct rig r = rig_open(model, &o);
    struct watched w;

    assert_int_equal(begin(&w, &texts[5], r.session[0], CARAT_LOOKUP_OFF), 0);
    for (int i = 0; i < 3; i++)
        OK(carat_generation_pass(r.engine, &w.g, 1, 50, err));
    carat_cancel(r.session[0]);
    assert_int_equal(carat_generation_pass(r.engine, &w.g, 1, 50, NULL), CARAT_E_CANCELLED);
    assert_int_equal(info_of(w.g).reason, CARAT_REASON_CANCELLED);
    assert_int_equal(info_of(w.g).prompt_left, LONGEST - 150);
    OK(carat_generation_pass(r.engine, &w.g, 1, 50, err)); /* it goes on */
    assert_int_equal(info_of(w.g).prompt_left, LONGEST - 200);
    assert_int_equal(info_of(w.g).reason, CARAT_REASON_NONE);
    end(&w);
    assert_int_equal(begin(&w, &texts[5], r.session[0], CARAT_LOOKUP_OFF), 200); /* and so does another one */
    assert_int_equal(info_of(w.g).prompt_left, LONGEST - 200);
    OK(carat_generate(w.g, err));
    assert_int_equal(w.given, ANSWER);
    end(&w);
    rig_close(&r);
}

/* One that is cancelled in a pass that others go on with has its piece, or its id, and ends with the pass. */
static void test_one_of_a_pass_is_cancelled(void **state)
{
    (void)state;
    carat_engine_options o = options(3, CHUNK, MOST);
    struct rig r = rig_open(model, &o);
    struct watched w[3];
    carat_generation *all[3];

    for (int i = 0; i < 3; i++) {
        (void)begin(&w[i], &texts[1 + i], r.session[i], CARAT_LOOKUP_OFF);
        all[i] = w[i].g;
    }
    for (int i = 0, calls = 0; i < 3; i++, calls = 0) {
        carat_cancel(r.session[i]);
        while (info_of(w[i].g).reason != CARAT_REASON_CANCELLED && calls++ < 2)
            (void)carat_generation_pass(r.engine, all, 3, CHUNK, NULL);
        assert_int_equal(calls, 1);
        OK(carat_generation_pass(r.engine, all, 3, CHUNK, err)); /* it goes on */
        assert_int_equal(info_of(w[i].g).reason, CARAT_REASON_NONE);
    }
    for (int i = 0; i < 3; i++) {
        OK(carat_generate(w[i].g, err));
        assert_int_equal(w[i].given, ANSWER);
        end(&w[i]);
    }
    rig_close(&r);
}

static void test_held_prompt_needs_no_pass(void **state)
{
    (void)state;
    carat_engine_options o = options(1, CHUNK, MOST);
    struct rig r = rig_open(model, &o);
    struct watched w;

    OK(carat_sync(r.session[0], texts[3].id, texts[3].n, NULL, err));
    assert_int_equal(begin(&w, &texts[3], r.session[0], CARAT_LOOKUP_OFF), texts[3].n);
    assert_int_equal(info_of(w.g).prompt_left, 0);
    const uint64_t passes = counts(&r).passes;
    OK(carat_generation_pass(r.engine, &w.g, 1, 0, err));
    assert_int_equal(w.given, 1);
    assert_int_equal(counts(&r).passes, passes);
    OK(carat_generate(w.g, err));
    end(&w);
    OK(carat_append(r.session[0], ids, 1, err)); /* nothing is left of it in the session */
    /* the same prompt again: its last token alone */
    assert_int_equal(begin(&w, &texts[3], r.session[0], CARAT_LOOKUP_OFF), texts[3].n - 1);
    OK(carat_generate(w.g, err));
    assert_int_equal(w.given, ANSWER);
    end(&w);
    rig_close(&r);
}

/* A prompt is given up where something else is done with the session. */
static void test_changed_session_gives_it_up(void **state)
{
    (void)state;
    carat_engine_options o = options(1, CHUNK, MOST);
    struct rig r = rig_open(model, &o);
    struct watched w;

    (void)begin(&w, &texts[3], r.session[0], CARAT_LOOKUP_OFF);
    OK(carat_generation_pass(r.engine, &w.g, 1, 50, err));
    w.text = &texts[1];
    OK(carat_sync(r.session[0], texts[1].id, texts[1].n, NULL, err));
    OK(carat_generation_pass(r.engine, &w.g, 1, 50, err));
    assert_int_equal(w.given, 1);
    assert_int_equal(info_of(w.g).prompt_left, 0);
    OK(carat_rewind(r.session[0], 1, err));
    assert_int_equal(carat_generation_pass(r.engine, &w.g, 1, 50, NULL), CARAT_E_ARGUMENT); /* no logits */
    w.given = 0;
    const carat_prompt again = prompt_of(&texts[1]);
    OK(carat_generation_prompt(w.g, &again, NULL, err));
    carat_generation_close(w.g);
    rig_close(&r);
}

static void test_full_context_gives_nothing(void **state)
{
    (void)state;
    carat_engine_options o = options(1, CHUNK, texts[3].n);
    struct rig r = rig_open(model, &o);
    struct watched w;

    (void)begin(&w, &texts[3], r.session[0], CARAT_LOOKUP_OFF);
    OK(carat_generate(w.g, err));
    assert_int_equal(w.given, 0);
    assert_int_equal(info_of(w.g).reason, CARAT_REASON_LENGTH);
    assert_true(info_of(w.g).context_full);
    assert_int_equal(carat_tokens_held(r.session[0], NULL), texts[3].n);
    end(&w);
    rig_close(&r);
}

/* ---- failures ---- */

static void test_sick_prompt_harms_nobody(void **state)
{
    (void)state;
    carat_engine_options o = options(2, CHUNK, MOST);
    struct rig r = rig_open(model, &o);
    struct watched w[2];
    carat_generation *all[2];
    carat_prompt p = prompt_of(&texts[0]);

    for (int i = 0; i < 2; i++) {
        (void)begin(&w[i], &texts[0], r.session[i], CARAT_LOOKUP_OFF);
        all[i] = w[i].g;
    }
    p.ids = sick;
    p.n = N_SICK;
    OK(carat_generation_prompt(w[0].g, &p, NULL, err));
    OK(carat_generation_pass(r.engine, all, 2, 3, err));
    assert_int_equal(info_of(w[0].g).prompt_left, N_SICK - 3);
    assert_int_equal(carat_generation_pass(r.engine, all, 2, 3, NULL), CARAT_E_NUMERIC);
    assert_int_equal(info_of(w[0].g).reason, CARAT_REASON_NUMERIC);
    assert_int_equal(info_of(w[0].g).prompt_left, 0);
    assert_int_equal(carat_tokens_held(r.session[0], NULL), 0);
    OK(carat_generate(w[1].g, err));
    assert_int_equal(w[1].given, ANSWER);
    end(&w[0]);
    assert_int_equal(begin(&w[0], &texts[2], r.session[0], CARAT_LOOKUP_OFF), 0);
    OK(carat_generate(w[0].g, err));
    for (int i = 0; i < 2; i++)
        end(&w[i]);
    rig_close(&r);
}

/* One that fails ends alone, also where the others of the pass have pieces of their prompts in it. */
static void test_sick_prompt_among_prompts(void **state)
{
    (void)state;
    carat_engine_options o = options(3, CHUNK, MOST);
    struct rig r = rig_open(model, &o);
    struct watched w[3];
    carat_generation *all[3];
    carat_prompt p = prompt_of(&texts[0]);

    for (int i = 0; i < 3; i++) {
        (void)begin(&w[i], &texts[i], r.session[i], CARAT_LOOKUP_OFF);
        all[i] = w[i].g;
    }
    p.ids = sick;
    p.n = N_SICK;
    OK(carat_generation_prompt(w[1].g, &p, NULL, err));
    assert_int_equal(carat_generation_pass(r.engine, all, 3, CHUNK, NULL), CARAT_E_NUMERIC);
    assert_int_equal(w[0].given, 1);
    assert_int_equal(info_of(w[1].g).reason, CARAT_REASON_NUMERIC);
    assert_int_equal(info_of(w[2].g).prompt_left, lengths[2] - (CHUNK - lengths[0] - N_SICK));
    OK(carat_generation_pass(r.engine, all, 3, CHUNK, err));
    for (int i = 0; i < 3; i += 2) {
        OK(carat_generate(w[i].g, err));
        assert_int_equal(w[i].given, ANSWER);
    }
    for (int i = 0; i < 3; i++)
        end(&w[i]);
    rig_close(&r);
}

/* A prompt without a free block waits; one behind it that has its blocks goes on, in the same pass. */
static void test_prompt_behind_one_that_lacks_blocks(void **state)
{
    (void)state;
    carat_engine_options o = options(2, 2 * CHUNK, MOST);
    carat_plan plan = {.size = sizeof plan};
    OK(carat_plan_engine(model, &o, &plan, err));
    o.kv_bytes = plan.kv_bytes / 2; /* two blocks */
    struct rig r = rig_open(model, &o);
    struct watched w[2];
    carat_generation *all[2];
    carat_status status = CARAT_OK;

    (void)begin(&w[0], &texts[5], r.session[0], CARAT_LOOKUP_OFF);
    (void)begin(&w[1], &texts[3], r.session[1], CARAT_LOOKUP_OFF);
    for (int i = 0; i < 2; i++)
        all[i] = w[i].g;
    while (!status && info_of(w[0].g).prompt_left > LONGEST - BLOCK)
        status = carat_generation_pass(r.engine, all, 2, 60, NULL);
    assert_int_equal(status, CARAT_OK);
    const int left = info_of(w[1].g).prompt_left;
    assert_true(left > 0 && left < lengths[3]); /* what the first block left of a piece */
    assert_int_equal(carat_generation_pass(r.engine, all, 2, 100, NULL), CARAT_E_MEMORY);
    assert_int_equal(info_of(w[0].g).prompt_left, LONGEST - BLOCK);
    assert_int_equal(info_of(w[0].g).reason, CARAT_REASON_NONE);
    assert_int_equal(info_of(w[1].g).prompt_left, left - (100 - (LONGEST - BLOCK)));
    OK(carat_generate(w[1].g, err));
    assert_int_equal(w[1].given, ANSWER);
    end(&w[1]);
    OK(carat_rewind(r.session[1], 0, err));
    OK(carat_generate(w[0].g, err));
    assert_int_equal(w[0].given, ANSWER);
    end(&w[0]);
    rig_close(&r);
}

static void test_waits_for_blocks(void **state)
{
    (void)state;
    carat_engine_options o = options(2, CHUNK, MOST);
    carat_plan plan = {.size = sizeof plan};
    OK(carat_plan_engine(model, &o, &plan, err));
    o.kv_bytes = plan.kv_bytes / 2; /* of 600 positions each */
    struct rig r = rig_open(model, &o);
    struct watched w[2];

    OK(carat_sync(r.session[1], ids, 10, NULL, err));
    (void)begin(&w[0], &texts[5], r.session[0], CARAT_LOOKUP_OFF);
    carat_status status = CARAT_OK;
    while (!status && info_of(w[0].g).prompt_left)
        status = carat_generation_pass(r.engine, &w[0].g, 1, 40, NULL);
    assert_int_equal(status, CARAT_E_MEMORY);
    assert_int_equal(info_of(w[0].g).reason, CARAT_REASON_NONE);
    const int left = info_of(w[0].g).prompt_left;
    assert_int_equal(left, LONGEST - BLOCK);
    OK(carat_rewind(r.session[1], 0, err));
    OK(carat_generate(w[0].g, err));
    assert_int_equal(w[0].given, ANSWER);
    end(&w[0]);
    rig_close(&r);
}

static void refuse(carat_generation *g, carat_prompt p, carat_status status, const char *message)
{
    carat_error why;

    assert_int_equal(carat_generation_prompt(g, &p, NULL, &why), status);
    assert_string_equal(why.message, message);
}

static void test_refused(void **state)
{
    (void)state;
    carat_engine_options o = options(1, CHUNK, 300);
    struct rig r = rig_open(model, &o);
    struct watched w;
    const carat_prompt good = prompt_of(&texts[1]);
    carat_prompt p = good;
    const int marks[] = {1, 0}, beyond[] = {1, 3};

    (void)begin(&w, &texts[2], r.session[0], CARAT_LOOKUP_OFF);
    OK(carat_generation_pass(r.engine, &w.g, 1, 10, err));
    p.n = 0;
    refuse(w.g, p, CARAT_E_ARGUMENT, "the ids of a prompt are NULL, or there are 0, expected at least 1");
    p = good;
    p.ids = NULL;
    refuse(w.g, p, CARAT_E_ARGUMENT, "the ids of a prompt are NULL, or there are 2, expected at least 1");
    p = good;
    p.marks = marks;
    p.n_marks = 2;
    refuse(w.g, p, CARAT_E_ARGUMENT,
           "marks[1] of a prompt is 0, expected ascending positions up to its 2 tokens");
    p.marks = beyond;
    refuse(w.g, p, CARAT_E_ARGUMENT,
           "marks[1] of a prompt is 3, expected ascending positions up to its 2 tokens");
    p.n_marks = 3;
    refuse(w.g, p, CARAT_E_ARGUMENT, "n_marks is 3, expected 0 to 2");
    p.marks = NULL;
    refuse(w.g, p, CARAT_E_ARGUMENT, "n_marks is 3, expected 0 to 0");
    p = good;
    p.ids = ids;
    p.n = 301;
    refuse(w.g, p, CARAT_E_CONTEXT, "301 tokens do not fit in a context of 300");
    p = good;
    p.ids = (const int32_t[]){5, VOCAB};
    refuse(w.g, p, CARAT_E_ARGUMENT, "id 97 at index 1 is outside the vocabulary of 97");
    p = good;
    p.size = 3;
    assert_int_equal(carat_generation_prompt(w.g, &p, NULL, NULL), CARAT_E_ARGUMENT);
    assert_int_equal(carat_generation_prompt(NULL, &good, NULL, NULL), CARAT_E_ARGUMENT);
    assert_int_equal(carat_generation_prompt(w.g, NULL, NULL, NULL), CARAT_E_ARGUMENT);
    assert_int_equal(carat_generation_pass(r.engine, &w.g, 1, -1, NULL), CARAT_E_ARGUMENT);
    /* what was under way still is */
    assert_int_equal(info_of(w.g).prompt_left, lengths[2] - 10);
    OK(carat_generate(w.g, err));
    assert_int_equal(w.given, ANSWER);
    end(&w);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_come_and_go),
        cmocka_unit_test(test_one_call_is_one_pass),
        cmocka_unit_test(test_many_prompts_in_a_pass),
        cmocka_unit_test(test_naive_takes_prompts),
        cmocka_unit_test(test_cancelled_keeps_what_was_evaluated),
        cmocka_unit_test(test_one_of_a_pass_is_cancelled),
        cmocka_unit_test(test_held_prompt_needs_no_pass),
        cmocka_unit_test(test_changed_session_gives_it_up),
        cmocka_unit_test(test_full_context_gives_nothing),
        cmocka_unit_test(test_sick_prompt_harms_nobody),
        cmocka_unit_test(test_sick_prompt_among_prompts),
        cmocka_unit_test(test_prompt_behind_one_that_lacks_blocks),
        cmocka_unit_test(test_waits_for_blocks),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, prepare, close_model);
}
