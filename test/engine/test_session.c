/* SPDX-License-Identifier: Apache-2.0 */
/* test_session.c: the promises of carat.h about engines and sessions: what they refuse and with which status,
 * that a refused call changes nothing, what sessions hold, what is drawn and streamed. Numbers are left to
 * test_reference.c and test_invariance.c, opening to test_model.c. */
#include "vector_util.h"

#define TINY   CT_TEST_DATA "/../../models/tiny"
#define GEMMA2 CT_TEST_DATA "/vectors/models/gemma2-bf16"

static carat_model *tiny, *gemma2; /* with a tokenizer; without one, and no window of 0 */

static int open_models(void **state)
{
    (void)state;
    OK(carat_model_open(&tiny, TINY, NULL, err));
    OK(carat_model_open(&gemma2, GEMMA2, NULL, err));
    return 0;
}

static int close_models(void **state)
{
    (void)state;
    carat_model_close(tiny);
    carat_model_close(gemma2);
    return 0;
}

/* ---- engine ---- */

static void engine_refuses(void **state)
{
    (void)state;
    const struct {
        carat_engine_options o;
    } bad[] = {
        {{.size = 1}},
        {{.size = sizeof(carat_engine_options), .threads = -1}},
        {{.size = sizeof(carat_engine_options), .threads = 1 << 30}},
        {{.size = sizeof(carat_engine_options), .context = -1}},
        {{.size = sizeof(carat_engine_options), .context = 1 << 30}},
        {{.size = sizeof(carat_engine_options), .sessions = -1}},
        {{.size = sizeof(carat_engine_options), .sessions = 1 << 30}},
        {{.size = sizeof(carat_engine_options), .chunk = -1}},
        {{.size = sizeof(carat_engine_options), .kv = (carat_kv)17}},
        {{.size = sizeof(carat_engine_options), .logits_rows = -1}},
        {{.size = sizeof(carat_engine_options), .logits_rows = 1 << 30}},
        {{.size = sizeof(carat_engine_options), .kv_bytes = 1}},
        {{.size = sizeof(carat_engine_options), .isa = "z80"}},
        {{.size = sizeof(carat_engine_options), .isa = ""}},
    };
    carat_plan plan = {.size = sizeof plan};
    carat_engine *engine = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        FAILS(CARAT_E_ARGUMENT, carat_plan_engine(gemma2, &bad[i].o, &plan, err));
        FAILS(CARAT_E_ARGUMENT, carat_engine_create(&engine, gemma2, &bad[i].o, err));
    }
    FAILS(CARAT_E_ARGUMENT, carat_engine_create(NULL, gemma2, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_engine_create(&engine, NULL, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_plan_engine(NULL, NULL, &plan, err));
    FAILS(CARAT_E_ARGUMENT, carat_plan_engine(gemma2, NULL, NULL, err));
    plan.size = 2;
    FAILS(CARAT_E_ARGUMENT, carat_plan_engine(gemma2, NULL, &plan, err));
    assert_null(engine);
    assert_int_equal(plan.context, 0);
}

static void plan_says_what_an_engine_takes(void **state)
{
    (void)state;
    carat_engine_options o = small_engine();
    carat_plan plan = {.size = sizeof plan}, other = {.size = sizeof other};
    carat_engine *engine = NULL;
    OK(carat_plan_engine(gemma2, NULL, &plan, err));
    assert_int_equal(plan.context, 2048); /* the model's, below 8192 */
    assert_int_equal(plan.sessions, 1);
    assert_int_equal(plan.chunk, 256);
    assert_true(plan.threads >= 1);
    assert_string_equal(plan.kv, "bf16");
    o.exact = 1;
    o.sessions = 3;
    o.isa = "ref";
    OK(carat_plan_engine(gemma2, &o, &plan, err));
    assert_string_equal(plan.kv, "f32");
    assert_string_equal(plan.isa, "ref");
    assert_int_equal(plan.context, 64);
    assert_true(plan.kv_bytes > 0 && plan.work_bytes > 0);
    o.context = 2048;
    OK(carat_plan_engine(gemma2, &o, &other, err));
    assert_true(other.kv_bytes > plan.kv_bytes);
    o.context = 64;
    o.kv = CARAT_KV_F16;
    OK(carat_plan_engine(gemma2, &o, &other, err));
    assert_string_equal(other.kv, "f16");
    assert_true(other.kv_bytes < plan.kv_bytes);
    o.kv = CARAT_KV_DEFAULT;
    o.max_bytes = plan.bytes - 1;
    FAILS(CARAT_E_MEMORY, carat_plan_engine(gemma2, &o, &other, err));
    FAILS(CARAT_E_MEMORY, carat_engine_create(&engine, gemma2, &o, err));
    o.max_bytes++;
    OK(carat_engine_create(&engine, gemma2, &o, err));
    assert_int_equal(carat_engine_context(engine), 64);
    carat_engine_close(engine);
}

/* K and V take at least the first block of a session, and what is less is told so. */
static void kv_bytes_have_a_least(void **state)
{
    (void)state;
    carat_engine_options o = small_engine();
    carat_plan plan = {.size = sizeof plan};
    carat_error e = {CARAT_OK, ""};
    o.context = 512;
    o.kv_bytes = 1;
    assert_int_equal(carat_plan_engine(gemma2, &o, &plan, &e), CARAT_E_ARGUMENT);
    const char *says = strstr(e.message, "at least ");
    assert_non_null(says);
    o.kv_bytes = (size_t)strtoull(says + strlen("at least "), NULL, 10);
    size_t least = o.kv_bytes--;
    FAILS(CARAT_E_ARGUMENT, carat_plan_engine(gemma2, &o, &plan, err));
    o.kv_bytes = least;
    for (int i = 1; i <= 3; i++) {
        OK(carat_plan_engine(gemma2, &o, &plan, err));
        assert_int_equal(plan.kv_bytes, i == 3 ? 2 * least : i * least); /* no more than contexts need */
        struct rig r = rig_open(gemma2, &o);
        carat_use use = {.size = sizeof use};
        OK(carat_engine_use(r.engine, &use, err));
        assert_int_equal(use.blocks, i == 1 ? 2 : 4);
        assert_int_equal(use.held, 0);
        rig_close(&r);
        o.kv_bytes += least;
    }
}

static void forks_and_reservations_refuse(void **state)
{
    (void)state;
    carat_engine_options o = small_engine();
    o.sessions = 2;
    struct rig r = rig_open(gemma2, &o);
    carat_session *s = r.session[0], *more = NULL;
    carat_use use = {.size = sizeof use};
    struct ids ids = scattered_ids(20, 131, 1);
    OK(carat_sync(s, ids.id, 20, NULL, err));
    FAILS(CARAT_E_MEMORY, carat_fork(s, 20, &more, err)); /* all sessions exist */
    carat_session_close(r.session[1]);
    r.session[1] = NULL;
    FAILS(CARAT_E_ARGUMENT, carat_fork(NULL, 1, &more, err));
    FAILS(CARAT_E_ARGUMENT, carat_fork(s, 1, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_fork(s, -1, &more, err));
    FAILS(CARAT_E_ARGUMENT, carat_fork(s, 21, &more, err));
    FAILS(CARAT_E_ARGUMENT, carat_reserve(NULL, 1, err));
    FAILS(CARAT_E_ARGUMENT, carat_reserve(s, -1, err));
    FAILS(CARAT_E_ARGUMENT, carat_reserve(s, 65, err));
    FAILS(CARAT_E_ARGUMENT, carat_engine_use(NULL, &use, err));
    FAILS(CARAT_E_ARGUMENT, carat_engine_use(r.engine, NULL, err));
    use.size = 3;
    FAILS(CARAT_E_ARGUMENT, carat_engine_use(r.engine, &use, err));
    use.size = sizeof use;
    assert_null(more);
    OK(carat_reserve(s, 64, err));
    OK(carat_reserve(s, 0, err));
    OK(carat_reserve(s, 10, err)); /* held already */

    /* nothing of this has changed anything */
    assert_int_equal(carat_tokens_held(s, NULL), 20);
    assert_non_null(carat_logits(s));
    OK(carat_engine_use(r.engine, &use, err));
    assert_int_equal(use.held, 2);
    assert_int_equal(use.shared, 0);
    OK(carat_fork(s, 0, &r.session[1], err)); /* of nothing */
    assert_int_equal(carat_tokens_held(r.session[1], NULL), 0);
    assert_null(carat_logits(r.session[1]));
    carat_session_close(r.session[1]);
    OK(carat_fork(s, 20, &r.session[1], err));
    OK(carat_engine_use(r.engine, &use, err));
    assert_int_equal(use.held, 2);
    assert_int_equal(use.shared, 2);
    assert_int_equal(use.blocks, use.held + use.free);
    assert_true(use.held_bytes > 0);
    free(ids.id);
    rig_close(&r);
}

/* A fork holds tokens and logits of its own: both draw the same, and neither feels what the other does. */
static void a_fork_is_a_session(void **state)
{
    (void)state;
    carat_engine_options o = small_engine();
    o.sessions = 3;
    struct rig r = rig_open(tiny, &o);
    carat_session *s = r.session[0];
    struct ids ids = scattered_ids(20, r.n_vocab, 1);
    size_t bytes = (size_t)r.n_vocab * sizeof(float);
    const int32_t *held;
    carat_sampling how;
    int32_t drawn[2];
    carat_sampling_default(tiny, &how);
    how.temperature = 5;
    how.top_k = 0;
    how.top_p = 1;
    OK(carat_sync(s, ids.id, 20, NULL, err));
    float *before = malloc(bytes);
    memcpy(before, carat_logits(s), bytes);
    for (int i = 1; i < 3; i++) {
        carat_session_close(r.session[i]);
        OK(carat_fork(s, 20, &r.session[i], err));
    }
    OK(carat_append(s, ids.id, 3, err));
    carat_session_close(s);
    r.session[0] = NULL;
    for (int i = 1; i < 3; i++) {
        assert_int_equal(carat_tokens_held(r.session[i], &held), 20);
        assert_memory_equal(held, ids.id, 20 * sizeof *held);
        assert_memory_equal(carat_logits(r.session[i]), before, bytes);
        OK(carat_sample(r.session[i], &how, &drawn[i - 1], err));
    }
    assert_int_equal(drawn[0], drawn[1]);
    bool differs = false; /* another number draws otherwise */
    for (how.number = 1; how.number < 50 && !differs; how.number++) {
        OK(carat_sample(r.session[2], &how, &drawn[1], err));
        differs = drawn[1] != drawn[0];
    }
    assert_true(differs);
    OK(carat_rewind(r.session[2], 5, err));
    assert_null(carat_logits(r.session[2]));
    assert_memory_equal(carat_logits(r.session[1]), before, bytes);
    OK(carat_sync(r.session[2], ids.id, 20, NULL, err));
    assert_memory_equal(carat_logits(r.session[2]), before, bytes);
    free(before);
    free(ids.id);
    rig_close(&r);
}

static void sessions_are_counted(void **state)
{
    (void)state;
    carat_engine_options o = small_engine();
    carat_session_options so;
    carat_session_options_default(&so);
    o.sessions = 2;
    struct rig r = rig_open(gemma2, &o);
    carat_session *more = NULL;
    FAILS(CARAT_E_MEMORY, carat_session_create(&more, r.engine, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_session_create(NULL, r.engine, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_session_create(&more, NULL, NULL, err));
    assert_null(more);
    carat_session_close(r.session[0]);
    so.size = 5;
    FAILS(CARAT_E_ARGUMENT, carat_session_create(&more, r.engine, &so, err));
    OK(carat_session_create(&r.session[0], r.engine, NULL, err));
    assert_int_equal(carat_tokens_held(r.session[0], NULL), 0);
    rig_close(&r);
}

/* ---- evaluating ---- */

static void evaluating_refuses(void **state)
{
    (void)state;
    carat_engine_options o = small_engine();
    o.sessions = 2;
    struct rig r = rig_open(gemma2, &o), alien = rig_open(gemma2, &o);
    carat_session *s = r.session[0];
    const int32_t ids[] = {2, 5, 9}, beyond[] = {2, 131}, negative[] = {2, -1}, *held = NULL;
    int reused = 77;
    OK(carat_sync(s, ids, 3, NULL, err));
    float *before = malloc((size_t)r.n_vocab * sizeof *before);
    memcpy(before, carat_logits(s), (size_t)r.n_vocab * sizeof *before);

    FAILS(CARAT_E_ARGUMENT, carat_sync(NULL, ids, 3, &reused, err));
    FAILS(CARAT_E_ARGUMENT, carat_sync(s, NULL, 3, &reused, err));
    FAILS(CARAT_E_ARGUMENT, carat_sync(s, ids, 0, &reused, err));
    FAILS(CARAT_E_ARGUMENT, carat_sync(s, ids, -1, &reused, err));
    FAILS(CARAT_E_ARGUMENT, carat_sync(s, beyond, 2, &reused, err));
    FAILS(CARAT_E_ARGUMENT, carat_sync(s, negative, 2, &reused, err));
    assert_int_equal(reused, 77);
    FAILS(CARAT_E_ARGUMENT, carat_append(NULL, ids, 1, err));
    FAILS(CARAT_E_ARGUMENT, carat_append(s, NULL, 1, err));
    FAILS(CARAT_E_ARGUMENT, carat_append(s, ids, 0, err));
    FAILS(CARAT_E_ARGUMENT, carat_append(s, beyond, 2, err));
    FAILS(CARAT_E_ARGUMENT, carat_append(s, negative, 2, err));
    FAILS(CARAT_E_ARGUMENT, carat_rewind(NULL, 0, err));
    FAILS(CARAT_E_ARGUMENT, carat_rewind(s, -1, err));
    FAILS(CARAT_E_ARGUMENT, carat_rewind(s, 4, err));

    carat_row rows[] = {{.session = s, .tokens = ids, .n = 1},
                        {.session = r.session[1], .tokens = ids, .n = 1}};
    FAILS(CARAT_E_ARGUMENT, carat_step(NULL, rows, sizeof(carat_row), 2, err));
    FAILS(CARAT_E_ARGUMENT, carat_step(r.engine, NULL, sizeof(carat_row), 2, err));
    FAILS(CARAT_E_ARGUMENT, carat_step(r.engine, rows, sizeof(carat_row), 0, err));
    FAILS(CARAT_E_ARGUMENT, carat_step(r.engine, rows, sizeof(carat_row), -1, err));
    rows[1].session = s; /* twice the same */
    FAILS(CARAT_E_ARGUMENT, carat_step(r.engine, rows, sizeof(carat_row), 2, err));
    rows[1].session = alien.session[0];
    FAILS(CARAT_E_ARGUMENT, carat_step(r.engine, rows, sizeof(carat_row), 2, err));
    rows[1].session = NULL;
    FAILS(CARAT_E_ARGUMENT, carat_step(r.engine, rows, sizeof(carat_row), 2, err));
    rows[1] = (carat_row){.session = r.session[1], .tokens = beyond, .n = 2};
    FAILS(CARAT_E_ARGUMENT, carat_step(r.engine, rows, sizeof(carat_row), 2, err));
    rows[1] = (carat_row){.session = r.session[1], .tokens = ids, .n = 0};
    FAILS(CARAT_E_ARGUMENT, carat_step(r.engine, rows, sizeof(carat_row), 2, err));

    /* nothing of this has changed anything */
    assert_int_equal(carat_tokens_held(s, &held), 3);
    assert_memory_equal(held, ids, sizeof ids);
    assert_int_equal(carat_tokens_held(r.session[1], NULL), 0);
    assert_memory_equal(carat_logits(s), before, (size_t)r.n_vocab * sizeof *before);
    assert_null(carat_logits(r.session[1]));
    assert_null(carat_logits(NULL));
    assert_int_equal(carat_tokens_held(NULL, NULL), 0);
    free(before);
    rig_close(&r);
    rig_close(&alien);
}

static void the_context_ends(void **state)
{
    (void)state;
    carat_engine_options o = small_engine();
    o.context = 20;
    struct rig r = rig_open(gemma2, &o), wide;
    struct ids ids = scattered_ids(30, 131, 1);
    carat_session *s = r.session[0];
    FAILS(CARAT_E_CONTEXT, carat_sync(s, ids.id, 21, NULL, err));
    OK(carat_sync(s, ids.id, 19, NULL, err));
    FAILS(CARAT_E_CONTEXT, carat_append(s, ids.id + 19, 2, err));
    assert_int_equal(carat_tokens_held(s, NULL), 19);
    OK(carat_append(s, ids.id + 19, 1, err));
    FAILS(CARAT_E_CONTEXT, carat_append(s, ids.id, 1, err));
    assert_int_equal(carat_tokens_held(s, NULL), 20);
    o.context = 64;
    wide = rig_open(gemma2, &o);
    OK(carat_sync(wide.session[0], ids.id, 20, NULL, err));
    assert_memory_equal(carat_logits(s), carat_logits(wide.session[0]), (size_t)r.n_vocab * sizeof(float));
    OK(carat_rewind(s, 0, err));
    assert_int_equal(carat_tokens_held(s, NULL), 0);
    OK(carat_append(s, ids.id, 20, err));
    assert_memory_equal(carat_logits(s), carat_logits(wide.session[0]), (size_t)r.n_vocab * sizeof(float));
    rig_close(&r);
    rig_close(&wide);
    free(ids.id);
}

static void evaluation_can_be_cancelled(void **state)
{
    (void)state;
    int calls = 0, reused = -1;
    carat_engine_options o = small_engine();
    o.chunk = 8;
    struct rig r = rig_open(gemma2, &o), fresh = rig_open(gemma2, &o);
    carat_session_options so;
    carat_session_options_default(&so);
    so.progress = stop_at_once;
    so.user = &calls;
    carat_session_close(r.session[0]);
    OK(carat_session_create(&r.session[0], r.engine, &so, err));
    struct ids ids = scattered_ids(40, 131, 6);
    carat_error e;
    assert_int_equal(carat_sync(r.session[0], ids.id, 40, &reused, &e), CARAT_E_CANCELLED);
    check_sentence(e.message);
    assert_int_equal(reused, -1);
    int held = carat_tokens_held(r.session[0], NULL);
    assert_in_range(held, 1, 39); /* what was evaluated stays */
    for (int i = 0; i < 40 && carat_tokens_held(r.session[0], NULL) < 40; i++)
        (void)carat_sync(r.session[0], ids.id, 40, &reused, &e);
    OK(carat_sync(r.session[0], ids.id, 40, &reused, err));
    OK(carat_sync(fresh.session[0], ids.id, 40, NULL, err));
    assert_memory_equal(carat_logits(r.session[0]), carat_logits(fresh.session[0]),
                        (size_t)r.n_vocab * sizeof(float));
    assert_true(calls >= 1);
    free(ids.id);
    rig_close(&r);
    rig_close(&fresh);
}

/* What a generation appends is no long work: a callback that draws a bar, or stops, is not asked. */
static void only_sync_reports(void **state)
{
    (void)state;
    int calls = 0;
    carat_engine_options o = small_engine();
    o.chunk = 8;
    struct rig r = rig_open(gemma2, &o);
    carat_session_options so;
    carat_session_options_default(&so);
    so.progress = stop_at_once;
    so.user = &calls;
    carat_session_close(r.session[0]);
    OK(carat_session_create(&r.session[0], r.engine, &so, err));
    struct ids ids = scattered_ids(40, 131, 6);
    carat_row row = {.session = r.session[0], .tokens = ids.id + 21, .n = 10};
    OK(carat_append(r.session[0], ids.id, 20, err));
    OK(carat_append(r.session[0], ids.id + 20, 1, err));
    OK(carat_step(r.engine, &row, sizeof(carat_row), 1, err));
    assert_int_equal(calls, 0);
    (void)carat_sync(r.session[0], ids.id, 40, NULL, NULL);
    assert_true(calls > 0);
    free(ids.id);
    rig_close(&r);
}

/* A damaged weight gives an error value, not a token. */
static void nan_is_an_error(void **state)
{
    (void)state;
    carat_buffer b = {"model.gguf", NULL, 0};
    unsigned char *data = read_whole(CT_TEST_DATA "/vectors/gguf/gemma1-f32.gguf", &b.size);
    carat_model *m = NULL;
    static const unsigned char nan[4] = {0, 0, 0xc0, 0x7f};
    memcpy(data + b.size - 4096, nan, 4); /* tensor data ends the file */
    b.data = data;
    OK(carat_model_open_memory(&m, &b, sizeof(carat_buffer), 1, NULL, err));
    carat_engine_options o = small_engine();
    struct rig r = rig_open(m, &o);
    const int32_t ids[] = {2, 5, 9};
    int32_t id = 77;
    FAILS_WITH(carat_sync(r.session[0], ids, 3, NULL, err), CARAT_E_NUMERIC, "model.gguf: tensor ");
    assert_null(carat_logits(r.session[0]));
    assert_int_equal(carat_tokens_held(r.session[0], NULL), 0);
    FAILS(CARAT_E_ARGUMENT, carat_sample(r.session[0], NULL, &id, err));
    assert_int_equal(id, 77);
    rig_close(&r);
    carat_model_close(m);
    free(data);
}

/* ---- sampling ---- */

static void sampling_refuses(void **state)
{
    (void)state;
    carat_engine_options o = small_engine();
    struct rig r = rig_open(gemma2, &o);
    const int32_t ids[] = {2, 5, 9};
    int32_t id = 77, everything[131];
    carat_sampling good, bad;
    carat_sampling_default(NULL, &good);
    FAILS(CARAT_E_ARGUMENT, carat_sample(r.session[0], NULL, &id, err)); /* no logits yet */
    OK(carat_sync(r.session[0], ids, 3, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_sample(NULL, NULL, &id, err));
    FAILS(CARAT_E_ARGUMENT, carat_sample(r.session[0], NULL, NULL, err));
#define REFUSED(field, value)                                                                                \
    do {                                                                                                     \
        bad = good;                                                                                          \
        bad.field = (value);                                                                                 \
        FAILS(CARAT_E_ARGUMENT, carat_sample(r.session[0], &bad, &id, err));                                 \
    } while (0)
    REFUSED(size, 1);
    REFUSED(temperature, -1.0f);
    REFUSED(temperature, (float)strtod("nan", NULL));
    REFUSED(temperature, (float)strtod("inf", NULL));
    REFUSED(top_k, -1);
    REFUSED(top_p, 0.0f);
    REFUSED(top_p, -0.1f);
    REFUSED(top_p, 1.1f);
    REFUSED(top_p, (float)strtod("nan", NULL));
    REFUSED(min_p, -0.1f);
    REFUSED(min_p, 1.1f);
    REFUSED(min_p, (float)strtod("nan", NULL));
    REFUSED(n_banned, -1);
    REFUSED(n_banned, 3); /* without a list */
    for (int i = 0; i < 131; i++)
        everything[i] = i;
    bad = good;
    bad.banned = everything;
    bad.n_banned = 131;
    FAILS(CARAT_E_ARGUMENT, carat_sample(r.session[0], &bad, &id, err));
    bad.n_banned = 130;
    OK(carat_sample(r.session[0], &bad, &id, err));
    assert_int_equal(id, 130);
    OK(carat_rewind(r.session[0], 2, err));
    FAILS(CARAT_E_ARGUMENT, carat_sample(r.session[0], NULL, &id, err));
    rig_close(&r);
}

static void sampling_is_reproducible(void **state)
{
    (void)state;
    carat_engine_options o = small_engine();
    struct rig r = rig_open(gemma2, &o);
    const int32_t ids[] = {2, 5, 9};
    int32_t a, b, best;
    carat_sampling s;
    carat_sampling_default(NULL, &s);
    int seen[131] = {0}, distinct = 0;
    OK(carat_sync(r.session[0], ids, 3, NULL, err));
    s.temperature = 0;
    OK(carat_sample(r.session[0], &s, &best, err));
    const float *logits = carat_logits(r.session[0]);
    for (int i = 0; i < 131; i++)
        assert_true(logits[i] < logits[best] || (logits[i] == logits[best] && i >= best));
    s.temperature = 5;
    s.top_k = 0;
    s.top_p = 1;
    for (int seed = 0; seed < 64; seed++) {
        s.seed = (uint64_t)seed;
        OK(carat_sample(r.session[0], &s, &a, err));
        OK(carat_sample(r.session[0], &s, &b, err)); /* the same state gives the same id */
        assert_int_equal(a, b);
        assert_in_range(a, 0, 130);
        distinct += !seen[a]++;
    }
    assert_true(distinct > 8); /* the seed matters */
    s.top_k = 1;
    OK(carat_sample(r.session[0], &s, &a, err));
    assert_int_equal(a, best);
    s.top_k = 0;
    s.top_p = 1e-6f; /* at least the most likely one stays */
    OK(carat_sample(r.session[0], &s, &a, err));
    assert_int_equal(a, best);
    s.top_p = 1;
    s.min_p = 1;
    OK(carat_sample(r.session[0], &s, &a, err));
    assert_int_equal(a, best);
    carat_sampling mine, null;
    carat_sampling_default(gemma2, &mine);
    carat_sampling_default(NULL, &null);
    assert_int_equal(mine.size, sizeof mine);
    assert_int_equal(null.size, sizeof null);
    assert_int_equal(mine.top_k, 64);
    OK(carat_sample(r.session[0], NULL, &a, err));
    OK(carat_sample(r.session[0], &mine, &b, err));
    assert_int_equal(a, b);
    rig_close(&r);
}

/* Ids beyond the text vocabulary have logits but are never drawn. */
static void placeholders_are_never_drawn(void **state)
{
    (void)state;
    carat_model *m = NULL;
    OK(carat_model_open(&m, CT_TEST_DATA "/vectors/models/gemma3-mm", NULL, err));
    carat_engine_options o = small_engine();
    struct rig r = rig_open(m, &o);
    carat_sampling s;
    carat_sampling_default(NULL, &s);
    s.temperature = 50; /* nearly uniform */
    s.top_k = 0;
    s.top_p = 1;
    const int32_t ids[] = {2, 5, 9};
    OK(carat_sync(r.session[0], ids, 3, NULL, err));
    assert_int_equal(r.n_vocab, 141);
    for (int seed = 0; seed < 2000; seed++) {
        int32_t id;
        s.seed = (uint64_t)seed;
        OK(carat_sample(r.session[0], &s, &id, err));
        assert_in_range(id, 0, 130);
    }
    rig_close(&r);
    carat_model_close(m);
}

/* ---- streaming text ---- */

static void detokenizing_streams_the_text(void **state)
{
    (void)state;
    const char *s = "na\xc3\xafve \xe6\x9d\xb1\xe4\xba\xac \xf0\x9f\x99\x82 end";
    carat_engine_options o = small_engine();
    struct rig r = rig_open(tiny, &o), mute = rig_open(gemma2, &o);
    carat_tokens ids = {0};
    char all[1024] = "", piece[256];
    OK(carat_tokenize(tiny, s, strlen(s), CARAT_BOS, &ids, err));
    for (int i = 0; i <= ids.n; i++) {
        size_t n = carat_stream_text(r.session[0], i < ids.n ? ids.ids[i] : -1, piece, sizeof piece);
        assert_int_equal(n, strlen(piece));
        strcat(all, piece);
    }
    assert_string_equal(all, s);
    assert_int_equal(carat_stream_text(NULL, 5, piece, sizeof piece), 0);
    assert_int_equal(carat_stream_text(r.session[0], 5, NULL, 0), 0);
    assert_int_equal(carat_stream_text(r.session[0], 5, piece, 0), 0);
    (void)carat_stream_text(r.session[0], 1 << 30, piece, sizeof piece); /* no such id: any text, no crash */
    piece[0] = 'x';
    assert_int_equal(carat_stream_text(mute.session[0], 5, piece, sizeof piece), 0);
    assert_string_equal(piece, "");
    carat_tokens_free(&ids);
    rig_close(&r);
    rig_close(&mute);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engine_refuses),
        cmocka_unit_test(plan_says_what_an_engine_takes),
        cmocka_unit_test(kv_bytes_have_a_least),
        cmocka_unit_test(forks_and_reservations_refuse),
        cmocka_unit_test(a_fork_is_a_session),
        cmocka_unit_test(sessions_are_counted),
        cmocka_unit_test(evaluating_refuses),
        cmocka_unit_test(the_context_ends),
        cmocka_unit_test(evaluation_can_be_cancelled),
        cmocka_unit_test(only_sync_reports),
        cmocka_unit_test(nan_is_an_error),
        cmocka_unit_test(sampling_refuses),
        cmocka_unit_test(sampling_is_reproducible),
        cmocka_unit_test(placeholders_are_never_drawn),
        cmocka_unit_test(detokenizing_streams_the_text),
    };
    return cmocka_run_group_tests(tests, open_models, close_models);
}
