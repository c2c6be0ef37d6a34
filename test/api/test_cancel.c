/* SPDX-License-Identifier: Apache-2.0 */
/* test_cancel.c: a call that is told to stop, at every place where it asks: what it leaves is what its last
 * whole pass left, and going on from there gives the bits of a run that nobody stopped. How soon it stops is
 * test/cli/term/test_interrupt.sh's. */
#include "engine/vector_util.h"
#include "tier.h"

#include <carat_generate.h>

#define GEMMA2 CT_TEST_DATA "/vectors/models/gemma2-bf16"

enum {
    BLOCK = 256, /* positions that K and V are given back in */
    WINDOW = 8,  /* of the model's local layers */
    CHUNK = 8,
    PREFIX = 300,
    ALL = PREFIX + 2 * CHUNK + 4, /* two passes and a shorter one */
};

static carat_model *gemma2;
static struct ids ids;

static int open_model(void **state)
{
    (void)state;
    OK(carat_model_open(&gemma2, GEMMA2, NULL, err));
    ids = scattered_ids(ALL, model_info(gemma2).n_vocab, 7);
    return 0;
}

static int close_model(void **state)
{
    (void)state;
    carat_model_close(gemma2);
    free(ids.id);
    return 0;
}

/* Counts the questions down; the last one is answered with 1. */
struct patience {
    int left;
    size_t done, total; /* of the last question */
    int moves;          /* questions for which done had grown */
    bool back;          /* or had shrunk, or was beyond total */
};

static int ask(void *user, size_t done, size_t total)
{
    struct patience *p = user;
    p->moves += done > p->done;
    p->back |= done < p->done || done > total;
    p->done = done;
    p->total = total;
    return p->left-- == 0;
}

static carat_session *watched(carat_engine *engine, struct patience *p)
{
    carat_session_options o;
    carat_session_options_default(&o);
    carat_session *s = NULL;
    o.watch = ask;
    o.user = p;
    OK(carat_session_create(&s, engine, &o, err));
    return s;
}

static carat_engine *engine_of(int threads, int sessions)
{
    carat_engine_options o = small_engine();
    carat_engine *e = NULL;
    o.threads = threads;
    o.context = 512;
    o.chunk = CHUNK;
    o.sessions = sessions;
    OK(carat_engine_create(&e, gemma2, &o, err));
    return e;
}

/* The logits of s after ids[0..n) are those of `fresh`, which is given them one by one. */
static void same_logits(carat_session *s, carat_session *fresh, int n)
{
    OK(carat_sync(fresh, ids.id, n, NULL, err));
    assert_non_null(carat_logits(s));
    assert_memory_equal(carat_logits(s), carat_logits(fresh),
                        (size_t)model_info(gemma2).n_vocab * sizeof(float));
}

/* Tokens of prompts that were evaluated one by one. */
static uint64_t singles(carat_engine *engine)
{
    carat_engine_stats stats = {.size = sizeof stats};
    OK(carat_engine_get_stats(engine, &stats, err));
    return stats.one_by_one;
}

/* Stops the evaluation of all tokens behind the prefix at question k; false when there are fewer. */
static bool stopped_at(carat_engine *engine, carat_session *fresh, int k)
{
    struct patience p = {.left = INT32_MAX};
    carat_session *s = watched(engine, &p);
    const int32_t *held;
    carat_error e;

    OK(carat_sync(s, ids.id, PREFIX, NULL, err));
    uint64_t before = singles(engine);
    p = (struct patience){.left = k};
    carat_status status = carat_sync(s, ids.id, ALL, NULL, &e);
    bool stopped = status == CARAT_E_CANCELLED;
    assert_false(p.back);
    assert_int_equal(p.total, ALL - PREFIX);
    int n = carat_tokens_held(s, &held);
    assert_memory_equal(held, ids.id, (size_t)n * sizeof *held);
    if (stopped) {
        check_sentence(e.message);
        assert_true(n < ALL && (size_t)(n - PREFIX) <= p.done);
        /* a busy machine may have found that tokens one by one take less time than a chunk */
        assert_true((n - PREFIX) % CHUNK == 0 || singles(engine) > before);
        /* blocks that the window has left are gone, and all else is there */
        p.left = INT32_MAX;
        int back = (n - WINDOW + 1) / BLOCK * BLOCK + WINDOW - 1;
        for (int i = 0; i < 2 && k % 3 == 0; i++, back--) {
            carat_session_stats stats = {.size = sizeof stats};
            OK(carat_rewind(s, back, err));
            OK(carat_session_get_stats(s, &stats, err));
            assert_int_equal(stats.restored_from, i ? 0 : back);
            OK(carat_append(s, &ids.id[back], 1, err));
            same_logits(s, fresh, back + 1);
        }
    } else {
        assert_int_equal(status, CARAT_OK);
    }
    OK(carat_sync(s, ids.id, ALL, NULL, err));
    same_logits(s, fresh, ALL);
    carat_session_close(s);
    return stopped;
}

static void evaluation_stops_everywhere(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads += 2) {
        carat_engine *engine = engine_of(threads, 2), *other = engine_of(1, 1);
        carat_session *fresh = NULL;
        /* every place with one thread, some with several; of eleven one in a sample */
        const int places = SANITIZED || !tier_is_deep() ? 11 : threads;
        int k = (int)(tier_turn() % (unsigned)places);
        OK(carat_session_create(&fresh, other, NULL, err));
        while (stopped_at(engine, fresh, k))
            k += places;
        assert_true(k > 3 * 2 * 8); /* three passes, two layers or more of at least so many operations */
        carat_session_close(fresh);
        carat_engine_close(engine);
        carat_engine_close(other);
    }
}

/* A single token: nothing has changed, the logits that were held are held. */
static void an_append_stops(void **state)
{
    (void)state;
    carat_engine *engine = engine_of(2, 2);
    struct patience p = {.left = INT32_MAX};
    carat_session *s = watched(engine, &p), *fresh = NULL;
    bool stopped = true;

    OK(carat_session_create(&fresh, engine, NULL, err));
    OK(carat_sync(s, ids.id, 20, NULL, err));
    for (int k = 0; stopped; k++) {
        p = (struct patience){.left = k};
        carat_status status = carat_append(s, &ids.id[20], 1, NULL);
        stopped = status == CARAT_E_CANCELLED;
        assert_int_equal(carat_tokens_held(s, NULL), stopped ? 20 : 21);
        if (stopped)
            same_logits(s, fresh, 20);
        else
            assert_true(status == CARAT_OK && k > 2 * 8);
    }
    same_logits(s, fresh, 21);
    carat_session_close(fresh);
    carat_session_close(s);
    carat_engine_close(engine);
}

/* Of a step every session is asked. A pass stops when all of them say no; who says it alone ends behind that
 * pass, and the others go on. */
static void a_step_stops(void **state)
{
    (void)state;
    carat_engine *engine = engine_of(2, 3);
    struct patience p = {.left = INT32_MAX}, quiet = {.left = 0};
    carat_session *s[2] = {watched(engine, &p), watched(engine, &quiet)}, *fresh = NULL;
    carat_row rows[2] = {{.session = s[0], .tokens = ids.id, .n = 3},
                         {.session = s[1], .tokens = ids.id, .n = 4}};

    p.left = 9;
    assert_int_equal(carat_step(engine, rows, sizeof(carat_row), 2, NULL), CARAT_E_CANCELLED);
    assert_int_equal(carat_tokens_held(s[0], NULL) + carat_tokens_held(s[1], NULL), 0);
    assert_int_equal(rows[0].status, CARAT_E_CANCELLED);
    assert_int_equal(rows[1].status, CARAT_E_CANCELLED);

    p.left = INT32_MAX;
    quiet.left = 0;
    rows[1].n = 2 * CHUNK;
    assert_int_equal(carat_step(engine, rows, sizeof(carat_row), 2, NULL), CARAT_E_CANCELLED);
    assert_int_equal(rows[0].status, CARAT_OK);
    assert_int_equal(rows[1].status, CARAT_E_CANCELLED);
    assert_int_equal(carat_tokens_held(s[0], NULL), 3);
    int kept = carat_tokens_held(s[1], NULL); /* what the pass had of it */
    assert_true(kept > 0 && kept < CHUNK);

    carat_cancel(s[0]); /* the next call ends at once, and only that one */
    quiet.left = INT32_MAX;
    assert_int_equal(carat_append(s[0], ids.id + 3, 1, NULL), CARAT_E_CANCELLED);
    assert_int_equal(carat_tokens_held(s[0], NULL), 3);
    OK(carat_append(s[0], ids.id + 3, 1, err));
    OK(carat_rewind(s[0], 3, err));
    OK(carat_append(s[0], ids.id + 3, 1, err));

    OK(carat_sync(s[0], ids.id, 3, NULL, err));
    OK(carat_sync(s[1], ids.id, 4, NULL, err));
    OK(carat_session_create(&fresh, engine, NULL, err));
    same_logits(s[0], fresh, 3);
    same_logits(s[1], fresh, 4);
    for (int i = 0; i < 2; i++)
        carat_session_close(s[i]);
    carat_session_close(fresh);
    carat_engine_close(engine);
}

/* A prompt of one pass is no single leap. */
static void a_single_pass_moves(void **state)
{
    (void)state;
    carat_engine *engine = engine_of(1, 1);
    struct patience p = {.left = INT32_MAX};
    carat_session *s = watched(engine, &p);

    OK(carat_sync(s, ids.id, CHUNK, NULL, err));
    assert_int_equal(p.total, CHUNK);
    assert_int_equal(p.moves, model_info(gemma2).n_layer - 1);
    assert_true(p.done < CHUNK);
    assert_false(p.back);
    carat_session_close(s);
    carat_engine_close(engine);
}

/* An engine that is not wanted any more while it packs, or fetches what stays in the file. */
static void creation_stops_everywhere(void **state)
{
    (void)state;
    static const char *const isa[] = {NULL, "ref"}; /* which packs nothing */
    for (size_t i = 0; i < sizeof isa / sizeof *isa; i++) {
        carat_engine_options o = small_engine();
        struct patience p;
        carat_status status;
        int k = 0;
        o.threads = 2;
        o.isa = isa[i];
        o.progress = ask;
        o.user = &p;
        do {
            carat_engine *engine = NULL;
            carat_error e;
            p = (struct patience){.left = k++};
            status = carat_engine_create(&engine, gemma2, &o, &e);
            assert_false(p.back);
            assert_true((engine != NULL) == (status == CARAT_OK));
            if (status != CARAT_OK) {
                assert_int_equal(status, CARAT_E_CANCELLED);
                check_sentence(e.message);
            }
            carat_engine_close(engine);
        } while (status != CARAT_OK);
        assert_true(k > 1);
    }
}

/* Texts of one run without an end, of words, and of nothing but beginnings of control tokens. */
static void encoding_stops_everywhere(void **state)
{
    (void)state;
    static const char *const unit[] = {"A", "Hello world, ", "<start_of_tur"};
    enum { SIZE = 200000 };
    char *text = malloc(SIZE + 1);
    carat_model *tiny = NULL;
    OK(carat_model_open(&tiny, CT_TEST_DATA "/../../models/tiny", NULL, err));
    assert_non_null(text);
    for (size_t u = 0; u < sizeof unit / sizeof *unit; u++) {
        carat_tokenize_options o;
        carat_tokenize_options_default(&o);
        carat_render_options r;
        carat_render_options_default(&r);
        carat_message message = {.role = "user", .content = text};
        carat_tokens whole = {0}, chat = {0}, got = {0};
        struct patience p;
        carat_status status;
        carat_error e;
        int k = 0;
        for (int i = 0; i < SIZE; i++)
            text[i] = unit[u][(size_t)i % strlen(unit[u])];
        text[SIZE] = 0;
        assert_int_equal(carat_tokenize(tiny, text, SIZE, 0, &whole, NULL), CARAT_OK);
        assert_int_equal(carat_render(tiny, &message, sizeof(carat_message), 1, NULL, &chat, NULL, NULL),
                         CARAT_OK);
        o.progress = r.progress = ask;
        o.user = r.user = &p;
        do {
            p = (struct patience){.left = k++};
            status = carat_tokenize_with(tiny, text, SIZE, &o, &got, &e);
            assert_false(p.back);
            assert_int_equal(got.n, status ? 0 : whole.n);
            assert_int_equal(status, p.left < 0 ? CARAT_E_CANCELLED : CARAT_OK);
            assert_int_equal(p.total, SIZE);
            if (status)
                check_sentence(e.message);
        } while (status);
        assert_memory_equal(got.ids, whole.ids, (size_t)whole.n * sizeof *whole.ids);
        assert_true(k > 5);
        p = (struct patience){.left = k / 2};
        got.n = 0;
        assert_int_equal(carat_render(tiny, &message, sizeof(carat_message), 1, &r, &got, NULL, &e),
                         CARAT_E_CANCELLED);
        assert_int_equal(got.n, 0);
        assert_false(p.back);
        p.left = INT32_MAX;
        assert_int_equal(carat_render(tiny, &message, sizeof(carat_message), 1, &r, &got, NULL, &e),
                         CARAT_OK);
        assert_int_equal(got.n, chat.n);
        carat_tokens_free(&whole);
        carat_tokens_free(&chat);
        carat_tokens_free(&got);
    }
    carat_tokenize_options bad = {.size = 3};
    carat_tokens got = {0};
    FAILS(CARAT_E_ARGUMENT, carat_tokenize_with(tiny, text, 1, &bad, &got, err));
    OK(carat_tokenize_with(tiny, text, 1, NULL, &got, err));
    carat_tokens_free(&got);
    carat_model_close(tiny);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluation_stops_everywhere),
        cmocka_unit_test(an_append_stops),
        cmocka_unit_test(a_step_stops),
        cmocka_unit_test(a_single_pass_moves),
        cmocka_unit_test(creation_stops_everywhere),
        cmocka_unit_test(encoding_stops_everywhere),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
