/* SPDX-License-Identifier: Apache-2.0 */
/* test_model.c: the promises of carat.h about models and texts: what opening, facts, tokenizing and rendering
 * refuse and with which status, that errors carry a sentence and leave outputs untouched, that NULL can be
 * closed. Engines and sessions are left to test_session.c, ids and prompt strings to test/text/. */
#include "engine/vector_util.h"

#define TINY   CT_TEST_DATA "/../../models/tiny"
#define GEMMA2 CT_TEST_DATA "/vectors/models/gemma2-bf16"
#define Q8_0   CT_TEST_DATA "/vectors/gguf/q8_0.gguf"

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

/* ---- library ---- */

static void names_and_versions(void **state)
{
    (void)state;
    assert_string_equal(carat_version(), CARAT_VERSION);
    assert_string_equal(carat_status_name(CARAT_OK), "CARAT_OK");
    assert_string_equal(carat_status_name(CARAT_E_ARGUMENT), "CARAT_E_ARGUMENT");
    assert_string_equal(carat_status_name(CARAT_E_FORMAT), "CARAT_E_FORMAT");
    assert_string_equal(carat_status_name(CARAT_E_CANCELLED), "CARAT_E_CANCELLED");
    assert_non_null(carat_status_name((carat_status)1000));
    assert_non_null(carat_status_name((carat_status)-1));
}

static void null_can_be_closed(void **state)
{
    (void)state;
    carat_model_close(NULL);
    carat_engine_close(NULL);
    carat_session_close(NULL);
    carat_tokens_free(NULL);
    carat_free(NULL);
}

/* ---- opening ---- */

static void open_refuses(void **state)
{
    (void)state;
    carat_model *const untouched = (carat_model *)&tiny;
    carat_model *m = untouched;
    carat_model_options o;
    carat_model_options_default(&o);
    FAILS(CARAT_E_ARGUMENT, carat_model_open(NULL, TINY, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_model_open(&m, NULL, NULL, err));
    o.size = 3;
    FAILS(CARAT_E_ARGUMENT, carat_model_open(&m, TINY, &o, err));
    o.size = sizeof o + 8;
    FAILS(CARAT_E_ARGUMENT, carat_model_open(&m, TINY, &o, err));
    FAILS(CARAT_E_NOT_FOUND, carat_model_open(&m, CT_TEST_DATA "/no such model", NULL, err));
    FAILS(CARAT_E_NOT_FOUND, carat_model_open(&m, "", NULL, err));
    FAILS(CARAT_E_NOT_FOUND,
          carat_model_open(&m, CT_TEST_DATA "/vectors/expect", NULL, err)); /* no model in it */
    carat_error e;
    assert_int_not_equal(carat_model_open(&m, CT_TEST_DATA "/vectors/expect/gemma1-f32/p5.npy", NULL, &e),
                         CARAT_OK);
    check_sentence(e.message);
    assert_non_null(strstr(e.message, "p5.npy"));
    assert_ptr_equal(m, untouched);
}

static void note(void *user, const char *line)
{
    assert_null(strchr(line, '\n'));
    ++*(int *)user;
}

/* Says stop at the report number `stop_at`, and checks that reports come in order. */
struct reports {
    int calls, stop_at;
    size_t next, total; /* what is done when the next step is over */
};

enum { TOKENIZER = 2 }; /* steps before its vocabulary, during which the same is said again */

static int stop_later(void *user, size_t done, size_t total)
{
    struct reports *r = user;
    bool again = done == TOKENIZER && done + 1 == r->next;
    assert_true(again || done == r->next);
    r->next = done + 1;
    assert_true(total >= 4 && done <= total && (!r->total || total == r->total));
    r->total = total;
    return r->calls++ == r->stop_at;
}

static void opening_can_be_cancelled_at_every_report(void **state)
{
    (void)state;
    carat_model *m = NULL;
    carat_buffer gguf = {"model.gguf", NULL, 0};
    gguf.data = read_whole(Q8_0, &gguf.size);
    for (int way = 0; way < 3; way++) {
        struct reports r = {0, -1, 0, 0};
        carat_model_options o;
        carat_model_options_default(&o);
        o.progress = stop_later;
        o.user = &r;
        for (int stop = -1; stop < r.calls; stop++) {
            int all = r.calls;
            carat_error e = {CARAT_OK, ""};
            r = (struct reports){0, stop, 0, 0};
            carat_status status = way == 0 ? carat_model_open(&m, TINY, &o, &e)
                                  : way == 1
                                      ? carat_model_open(&m, GEMMA2, &o, &e)
                                      : carat_model_open_memory(&m, &gguf, sizeof(carat_buffer), 1, &o, &e);
            if (stop < 0) { /* the first time all the way */
                assert_int_equal(status, CARAT_OK);
                assert_int_equal(r.next, r.total + 1);
                carat_model_close(m);
                m = NULL;
            } else {
                assert_int_equal(status, CARAT_E_CANCELLED);
                assert_int_equal(r.calls, stop + 1);
                check_sentence(e.message);
                assert_null(m);
                r.calls = all;
            }
        }
    }
    free((void *)gguf.data);
}

static void opening_tells_what_it_leaves_out(void **state)
{
    (void)state;
    carat_model *m = NULL;
    int calls = 0;
    carat_model_options o;
    carat_model_options_default(&o);
    o.user = &calls;
    o.log = note;
    OK(carat_model_open(&m, CT_TEST_DATA "/vectors/models/gemma3-mm", &o, err));
    assert_true(calls >= 1); /* a vision tower is not used */
    assert_int_equal(model_info(m).multimodal, 1);
    carat_model_close(m);
}

/* Memory gives the same numbers as the path; damaged memory gives an error. */
static void open_from_memory(void **state)
{
    (void)state;
    carat_model *from_path = NULL, *from_memory = NULL;
    carat_buffer b = {"model.gguf", NULL, 0};
    unsigned char *data = read_whole(Q8_0, &b.size);
    b.data = data;
    FAILS(CARAT_E_ARGUMENT, carat_model_open_memory(NULL, &b, sizeof(carat_buffer), 1, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_model_open_memory(&from_memory, NULL, sizeof(carat_buffer), 1, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_model_open_memory(&from_memory, &b, sizeof(carat_buffer), 0, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_model_open_memory(&from_memory, &b, sizeof(carat_buffer), -1, NULL, err));
    carat_buffer unnamed = {NULL, data, b.size}, empty = {"model.gguf", NULL, 0};
    FAILS(CARAT_E_ARGUMENT,
          carat_model_open_memory(&from_memory, &unnamed, sizeof(carat_buffer), 1, NULL, err));
    FAILS(CARAT_E_ARGUMENT,
          carat_model_open_memory(&from_memory, &empty, sizeof(carat_buffer), 1, NULL, err));
    assert_null(from_memory);
    OK(carat_model_open(&from_path, Q8_0, NULL, err));
    OK(carat_model_open_memory(&from_memory, &b, sizeof(carat_buffer), 1, NULL, err));
    carat_engine_options o = small_engine();
    struct rig r1 = rig_open(from_path, &o), r2 = rig_open(from_memory, &o);
    const int32_t ids[] = {2, 17, 5};
    OK(carat_sync(r1.session[0], ids, 3, NULL, err));
    OK(carat_sync(r2.session[0], ids, 3, NULL, err));
    assert_memory_equal(carat_logits(r1.session[0]), carat_logits(r2.session[0]),
                        (size_t)r1.n_vocab * sizeof(float));
    rig_close(&r1);
    rig_close(&r2);
    carat_model_close(from_path);
    carat_model_close(from_memory);
    from_memory = NULL;
    for (size_t n = 0; n < b.size; n += 1 + n / 2) { /* every prefix is an error */
        carat_buffer cut = {"model.gguf", data, n};
        carat_error e;
        assert_int_not_equal(carat_model_open_memory(&from_memory, &cut, sizeof(carat_buffer), 1, NULL, &e),
                             CARAT_OK);
        assert_null(from_memory);
    }
    free(data);
}

static void directory_from_memory(void **state)
{
    (void)state;
    carat_model *m = NULL;
    carat_buffer b[2] = {{"config.json", NULL, 0}, {"model.safetensors", NULL, 0}};
    void *data[2] = {read_whole(GEMMA2 "/config.json", &b[0].size),
                     read_whole(GEMMA2 "/model.safetensors", &b[1].size)};
    b[0].data = data[0];
    b[1].data = data[1];
    OK(carat_model_open_memory(&m, b, sizeof(carat_buffer), 2, NULL, err));
    assert_string_equal(model_info(m).architecture, "gemma2");
    carat_engine_options o = small_engine();
    struct rig r1 = rig_open(m, &o), r2 = rig_open(gemma2, &o);
    const int32_t ids[] = {2, 17, 5};
    OK(carat_sync(r1.session[0], ids, 3, NULL, err));
    OK(carat_sync(r2.session[0], ids, 3, NULL, err));
    assert_memory_equal(carat_logits(r1.session[0]), carat_logits(r2.session[0]),
                        (size_t)r1.n_vocab * sizeof(float));
    rig_close(&r1);
    rig_close(&r2);
    carat_model_close(m);
    free(data[0]);
    free(data[1]);
}

/* ---- facts ---- */

static void facts_about_models(void **state)
{
    (void)state;
    carat_model_info info = {.size = 1};
    FAILS(CARAT_E_ARGUMENT, carat_model_get_info(gemma2, &info, err));
    info.size = sizeof info;
    FAILS(CARAT_E_ARGUMENT, carat_model_get_info(NULL, &info, err));
    FAILS(CARAT_E_ARGUMENT, carat_model_get_info(gemma2, NULL, err));
    OK(carat_model_get_info(gemma2, &info, err));
    assert_int_equal(info.kind, CARAT_GENERATOR);
    assert_string_equal(info.architecture, "gemma2");
    assert_int_equal(info.n_layer, 4);
    assert_int_equal(info.hidden, 40);
    assert_int_equal(info.ffn, 72);
    assert_int_equal(info.n_head, 4);
    assert_int_equal(info.n_kv_head, 2);
    assert_int_equal(info.head_dim, 14);
    assert_int_equal(info.n_vocab, 131);
    assert_int_equal(info.max_context, 2048);
    assert_int_equal(info.sliding_window, 8);
    assert_int_equal(info.n_local, 2);
    assert_float_equal(info.rope_base, 10000.0, 1e-9);
    assert_float_equal(info.attention_cap, 50.0, 0);
    assert_float_equal(info.logit_cap, 30.0, 0);
    assert_float_equal(info.attention_scale, 0.316227766, 1e-7);
    assert_float_equal(info.embedding_scale, 6.3125, 0);
    assert_float_equal(info.norm_eps, 1e-6, 1e-12);
    assert_int_equal(info.tied, 1);
    assert_int_equal(info.multimodal, 0);
    assert_int_equal(info.has_tokenizer, 0);
    assert_string_equal(info.tokenizer, "");
    assert_int_equal(info.bos, -1);
    /* embedding, four layers, final norm: two bytes each */
    uint64_t layer = 40 * 56 * 2 + 40 * 28 * 2 + 40 * 72 * 3 + 4 * 40, all = 131 * 40 + 4 * layer + 40;
    assert_int_equal(info.n_parameter, all);
    assert_int_equal(info.weight_bytes, 2 * all);
    assert_int_equal(info.n_active, all);
    assert_int_equal(info.n_expert, 0);

    carat_model_info t = model_info(tiny);
    assert_int_equal(t.has_tokenizer, 1);
    assert_int_equal(t.has_chat_template, 1);
    assert_string_not_equal(t.tokenizer, "");
    assert_string_not_equal(t.chat_template, "");
    assert_int_equal(t.can_think, 0);
    assert_true(t.bos >= 0 && t.bos < t.n_vocab);
    assert_true(t.n_text_vocab <= t.n_vocab);
}

static void facts_about_experts(void **state)
{
    (void)state;
    carat_model *m = NULL;
    OK(carat_model_open(&m, CT_TEST_DATA "/vectors/models/gemma4-moe", NULL, err));
    carat_model_info info = model_info(m);
    const uint64_t expert = 3 * 48 * 24, local = 48 * 64 * 2 + 48 * 32 * 2 + 2 * 16,
                   global = 48 * 128 * 2 + 48 * 32 + 2 * 32;
    const uint64_t layer = 48 * 40 * 3 + 7 * 48 + 1 + 10 * 48 + 48 + 10 + 10 * expert;
    assert_int_equal(info.n_expert, 10);
    assert_int_equal(info.n_expert_used, 3);
    assert_int_equal(info.expert_ffn, 24);
    assert_int_equal(info.n_parameter, 320 * 48 + 2 * local + global + 3 * layer + 48);
    assert_int_equal(info.weight_bytes, 2 * info.n_parameter);
    assert_int_equal(info.n_active, info.n_parameter - 3 * 7 * expert);
    carat_model_close(m);
}

static void facts_about_tensors(void **state)
{
    (void)state;
    int n = carat_model_tensor_count(gemma2), embedding = 0;
    carat_tensor_info t = {.size = sizeof t};
    assert_int_equal(n, 2 + 4 * 11);
    assert_int_equal(carat_model_tensor_count(NULL), 0);
    FAILS(CARAT_E_ARGUMENT, carat_model_get_tensor(gemma2, -1, &t, err));
    FAILS(CARAT_E_ARGUMENT, carat_model_get_tensor(gemma2, n, &t, err));
    FAILS(CARAT_E_ARGUMENT, carat_model_get_tensor(NULL, 0, &t, err));
    FAILS(CARAT_E_ARGUMENT, carat_model_get_tensor(gemma2, 0, NULL, err));
    for (int i = 0; i < n; i++) {
        OK(carat_model_get_tensor(gemma2, i, &t, err));
        assert_string_equal(t.type, "BF16");
        int64_t count = t.dim[0];
        for (int d = 1; d < t.n_dim; d++)
            count *= t.dim[d];
        assert_int_equal(t.bytes, 2 * count);
        if (strcmp(t.name, "model.embed_tokens.weight") == 0) {
            embedding = 1;
            assert_int_equal(t.n_dim, 2);
            assert_int_equal(t.dim[0], 131);
            assert_int_equal(t.dim[1], 40);
        }
    }
    assert_true(embedding);
    t.size = 7;
    FAILS(CARAT_E_ARGUMENT, carat_model_get_tensor(gemma2, 0, &t, err));
}

static void stop_ids(void **state)
{
    (void)state;
    const int32_t *ids = NULL;
    int n = carat_stop_ids(tiny, &ids);
    assert_true(n >= 1);
    for (int i = 0; i < n; i++)
        assert_true(carat_is_stop(tiny, ids[i]));
    assert_false(carat_is_stop(tiny, -1));
    assert_false(carat_is_stop(tiny, 1 << 30));
    assert_false(carat_is_stop(NULL, 1));
    assert_int_equal(carat_stop_ids(NULL, NULL), 0);
    assert_int_equal(carat_stop_ids(tiny, NULL), n);
    assert_true(carat_is_stop(gemma2, 1)); /* eos_token_id of its config.json */
}

/* ---- text ---- */

static void text_refuses(void **state)
{
    (void)state;
    carat_tokens ids = {0};
    char *text = NULL;
    size_t n = 77;
    const int32_t bad[] = {2, 1 << 30}, negative[] = {-1};
    FAILS(CARAT_E_NOT_FOUND, carat_tokenize(gemma2, "a", 1, 0, &ids, err));
    FAILS(CARAT_E_NOT_FOUND, carat_detokenize(gemma2, bad, 1, 0, &text, &n, err));
    FAILS(CARAT_E_ARGUMENT, carat_tokenize(NULL, "a", 1, 0, &ids, err));
    FAILS(CARAT_E_ARGUMENT, carat_tokenize(tiny, NULL, 1, 0, &ids, err));
    FAILS(CARAT_E_ARGUMENT, carat_tokenize(tiny, "a", 1, 0, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_detokenize(NULL, bad, 1, 0, &text, &n, err));
    FAILS(CARAT_E_ARGUMENT, carat_detokenize(tiny, NULL, 1, 0, &text, &n, err));
    FAILS(CARAT_E_ARGUMENT, carat_detokenize(tiny, bad, 2, 0, &text, &n, err));
    FAILS(CARAT_E_ARGUMENT, carat_detokenize(tiny, negative, 1, 0, &text, &n, err));
    FAILS(CARAT_E_ARGUMENT, carat_detokenize(tiny, bad, -1, 0, &text, &n, err));
    FAILS(CARAT_E_ARGUMENT, carat_detokenize(tiny, bad, 1, 0, NULL, &n, err));
    assert_null(text);
    assert_int_equal(n, 77);
    assert_int_equal(ids.n, 0);
}

static void text_round_trip(void **state)
{
    (void)state;
    const char *s = "The caf\xc3\xa9 opens\n\n at 9:30.";
    carat_tokens ids = {0};
    char *text = NULL;
    size_t n = 0;
    OK(carat_tokenize(tiny, s, strlen(s), CARAT_BOS, &ids, err));
    int first = ids.n;
    assert_true(first > 1);
    assert_int_equal(ids.ids[0], model_info(tiny).bos);
    OK(carat_detokenize(tiny, ids.ids, ids.n, 0, &text, &n, err));
    assert_string_equal(text, s);
    assert_int_equal(n, strlen(s));
    carat_free(text);
    OK(carat_tokenize(tiny, s, strlen(s), 0, &ids, err)); /* appends */
    assert_int_equal(ids.n, 2 * first - 1);
    assert_memory_equal(ids.ids + 1, ids.ids + first, (size_t)(first - 1) * sizeof *ids.ids);
    OK(carat_tokenize(tiny, "", 0, 0, &ids, err));
    assert_int_equal(ids.n, 2 * first - 1);
    OK(carat_detokenize(tiny, ids.ids, 0, 0, &text, NULL, err));
    assert_string_equal(text, "");
    carat_free(text);
    carat_tokens_free(&ids);
    assert_null(ids.ids);
    assert_int_equal(ids.n, 0);
}

static void render_refuses(void **state)
{
    (void)state;
    carat_tokens ids = {0};
    char *text = NULL;
    carat_message user = {"user", "hello", NULL}, nobody = {NULL, "hello", NULL},
                  silent = {"user", NULL, NULL}, broken = {NULL, NULL, "{\"role\": "},
                  list = {NULL, NULL, "[1]"}, latin1 = {"user", "caf\xe9", NULL};
    carat_message answers[] = {{"user", "a", NULL}, {"user", "b", NULL}};
    carat_tokens begins = {0};
    carat_error why;
    carat_render_options o;
    carat_render_options_default(&o);
    FAILS(CARAT_E_ARGUMENT, carat_render(NULL, &user, sizeof(carat_message), 1, NULL, &ids, &text, err));
    FAILS(CARAT_E_ARGUMENT, carat_render(tiny, NULL, sizeof(carat_message), 1, NULL, &ids, &text, err));
    FAILS(CARAT_E_ARGUMENT, carat_render(tiny, &user, sizeof(carat_message), 0, NULL, &ids, &text, err));
    FAILS(CARAT_E_ARGUMENT, carat_render(tiny, &user, sizeof(carat_message), -1, NULL, &ids, &text, err));
    FAILS(CARAT_E_ARGUMENT, carat_render(tiny, &nobody, sizeof(carat_message), 1, NULL, &ids, &text, err));
    FAILS(CARAT_E_ARGUMENT, carat_render(tiny, &silent, sizeof(carat_message), 1, NULL, &ids, &text, err));
    FAILS(CARAT_E_ARGUMENT, carat_render(tiny, &broken, sizeof(carat_message), 1, NULL, &ids, &text, err));
    FAILS(CARAT_E_ARGUMENT, carat_render(tiny, &list, sizeof(carat_message), 1, NULL, &ids, &text, err));
    FAILS(CARAT_E_ARGUMENT, carat_render(tiny, &latin1, sizeof(carat_message), 1, NULL, &ids, &text, err));
    o.chat_template = "gemma3"; /* whose template refuses two user turns in a row */
    FAILS(CARAT_E_ARGUMENT, carat_render(tiny, answers, sizeof(carat_message), 2, &o, &ids, &text, err));
    o.chat_template = "klingon";
    assert_int_equal(carat_render(tiny, &user, sizeof(carat_message), 1, &o, &ids, &text, &why),
                     CARAT_E_ARGUMENT);
    assert_string_equal(why.message, "chat_template: \"klingon\" is not known; there are gemma, gemma3, "
                                     "functiongemma, gemma4 and gemma4-small");
    o.chat_template = NULL;
    o.begins = &begins;
    FAILS(CARAT_E_ARGUMENT, carat_render(tiny, &user, sizeof(carat_message), 1, &o, NULL, &text, err));
    o.chat_template = "gemma3";
    FAILS(CARAT_E_ARGUMENT, carat_render(tiny, answers, sizeof(carat_message), 2, &o, &ids, &text, err));
    assert_int_equal(begins.n, 0);
    o.begins = NULL;
    o.chat_template = NULL;
    o.continue_last = 1;
    assert_int_equal(carat_render(tiny, &user, sizeof(carat_message), 1, &o, &ids, &text, &why),
                     CARAT_E_ARGUMENT);
    assert_string_equal(why.message,
                        "messages[0].role: only an answer of the assistant can be continued, found user");
    o.continue_last = 0;
    o.tools = "{";
    FAILS(CARAT_E_ARGUMENT, carat_render(tiny, &user, sizeof(carat_message), 1, &o, &ids, &text, err));
    o.tools = NULL;
    o.thinking = 1;
    FAILS(CARAT_E_ARGUMENT, carat_render(tiny, &user, sizeof(carat_message), 1, &o, &ids, &text, err));
    o.chat_template = "gemma4"; /* whose tokens the vocabulary has not */
    FAILS(CARAT_E_ARGUMENT, carat_render(tiny, &user, sizeof(carat_message), 1, &o, &ids, NULL, err));
    o.size = 1;
    FAILS(CARAT_E_ARGUMENT, carat_render(tiny, &user, sizeof(carat_message), 1, &o, &ids, &text, err));
    FAILS(CARAT_E_NOT_FOUND, carat_render(gemma2, &user, sizeof(carat_message), 1, NULL, &ids, &text, err));
    FAILS(CARAT_E_ARGUMENT, carat_render_json(NULL, "[]", NULL, &ids, &text, err));
    FAILS(CARAT_E_ARGUMENT, carat_render_json(tiny, NULL, NULL, &ids, &text, err));
    static const char *const bad[] = {
        "", "[", "[]", "{}", "3", "[3]", "[[]]", "[{\"role\": 3, \"content\": \"a\"}]", "[null]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        FAILS(CARAT_E_ARGUMENT, carat_render_json(tiny, bad[i], NULL, &ids, &text, err));
    assert_null(text);
    assert_int_equal(ids.n, 0);
    carat_tokens_free(&ids); /* it has room for what was taken back */
}

/* A template by its name, as text alone: the vocabulary is of another. */
static void render_by_name(void **state)
{
    (void)state;
    static const char *const expected[2][2] = {
        {"<bos><|turn>user\nhello<turn|>\n<|turn>model\n<|channel>thought\n<channel|>",
         "<bos><|turn>user\nhello<turn|>\n<|turn>model\n"},
        {"<bos><|turn>system\n<|think|>\n<turn|>\n<|turn>user\nhello<turn|>\n<|turn>model\n",
         "<bos><|turn>system\n<|think|>\n<turn|>\n<|turn>user\nhello<turn|>\n<|turn>model\n"}};
    const carat_message user = {"user", "hello", NULL};
    carat_render_options o;
    carat_render_options_default(&o);
    for (o.thinking = 0; o.thinking < 2; o.thinking++)
        for (int small = 0; small < 2; small++) {
            char *text = NULL;
            o.chat_template = small ? "gemma4-small" : "gemma4";
            OK(carat_render(tiny, &user, sizeof(carat_message), 1, &o, NULL, &text, err));
            assert_string_equal(text, expected[o.thinking][small]);
            carat_free(text);
        }
}

/* Where messages begin, behind what both lists have already; the last one is an answer that goes on. */
static void render_places(void **state)
{
    (void)state;
    static const char json[] = "[{\"role\":\"user\",\"content\":\"hello\"},{\"role\":\"assistant\","
                               "\"content\":\"Light on \"}]";
    const carat_message talk[] = {{"user", "hello", NULL}, {"assistant", "Light on ", NULL}};
    carat_tokens ids = {0}, begins = {0}, turn = {0};
    char *text = NULL;
    carat_render_options o;
    carat_render_options_default(&o);
    OK(carat_tokenize(tiny, "<start_of_turn>", 15, CARAT_SPECIAL, &turn, err));
    o.continue_last = 1;
    o.begins = &begins;
    OK(carat_render(tiny, talk, sizeof(carat_message), 2, &o, &ids, &text, err));
    assert_string_equal(text, "<bos><start_of_turn>user\nhello<end_of_turn>\n<start_of_turn>model\nLight on");
    carat_free(text);
    const int n = ids.n;
    OK(carat_render_json(tiny, json, &o, &ids, NULL, err));
    assert_int_equal(ids.n, 2 * n);
    assert_memory_equal(ids.ids + n, ids.ids, (size_t)n * sizeof *ids.ids);
    assert_int_equal(begins.n, 4);
    assert_int_equal(begins.ids[0], 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(begins.ids[i + 2], begins.ids[i] + n);
        assert_int_equal(ids.ids[begins.ids[i]], turn.ids[0]);
    }
    carat_tokens_free(&ids);
    carat_tokens_free(&begins);
    carat_tokens_free(&turn);
}

/* The bytes that ids stand for: together those of a text, whatever its pieces. */
static void bytes_of_ids(void **state)
{
    (void)state;
    static const char text[] = " a  b\tcaf\xc3\xa9 \xf0\x9f\x90\x99 <start_of_turn>";
    carat_tokens ids = {0};
    char out[CARAT_PIECE_BYTES], all[256];
    size_t n = 0;
    OK(carat_tokenize(tiny, text, strlen(text), CARAT_SPECIAL, &ids, err));
    for (int i = 0; i < ids.n; i++) {
        size_t one = carat_piece_bytes(tiny, ids.ids[i], out);
        assert_true(one > 0 && n + one < sizeof all);
        memcpy(all + n, out, one);
        n += one;
    }
    assert_int_equal(n, strlen(text));
    assert_memory_equal(all, text, n);
    carat_tokens_free(&ids);
    assert_int_equal(carat_piece_bytes(tiny, -1, out), 0);
    assert_int_equal(carat_piece_bytes(tiny, model_info(tiny).n_vocab + 1000000, out), 0);
    assert_int_equal(carat_piece_bytes(NULL, 5, out), 0);
    assert_int_equal(carat_piece_bytes(tiny, 5, NULL), 0);
}

/* As it lies in the checkpoint; a model without one has none. */
static void template_of_the_checkpoint(void **state)
{
    (void)state;
    char *text = NULL, *none = (char *)(uintptr_t)text, path[PATH_SIZE];
    size_t n;
    OK(carat_model_get_template(tiny, &text, err));
    char *file = read_whole(path_join(path, TINY, "chat_template.jinja"), &n);
    assert_int_equal(strlen(text), n);
    assert_memory_equal(text, file, n);
    free(file);
    carat_free(text);
    OK(carat_model_get_template(gemma2, &none, err));
    assert_null(none);
    FAILS(CARAT_E_ARGUMENT, carat_model_get_template(NULL, &text, err));
    FAILS(CARAT_E_ARGUMENT, carat_model_get_template(tiny, NULL, err));
}

static void render_forms_agree(void **state)
{
    (void)state;
    carat_tokens a = {0}, b = {0};
    char *text_a = NULL, *text_b = NULL, *text_c = NULL;
    carat_message plain = {"user", "say \"hi\"", NULL},
                  json = {NULL, NULL, "{\"role\": \"user\", \"content\": \"say \\\"hi\\\"\"}"};
    OK(carat_render(tiny, &plain, sizeof(carat_message), 1, NULL, &a, &text_a, err));
    OK(carat_render_json(tiny, "[{\"role\": \"user\", \"content\": \"say \\\"hi\\\"\"}]", NULL, &b, &text_b,
                         err));
    OK(carat_render(tiny, &json, sizeof(carat_message), 1, NULL, NULL, &text_c, err));
    assert_string_equal(text_a, text_b);
    assert_string_equal(text_a, text_c);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.ids, b.ids, (size_t)a.n * sizeof *a.ids);
    int bos = model_info(tiny).bos, count = 0;
    for (int i = 0; i < a.n; i++)
        count += a.ids[i] == bos;
    assert_int_equal(count, 1);
    assert_int_equal(a.ids[0], bos);
    carat_free(text_a);
    carat_free(text_b);
    carat_free(text_c);
    carat_tokens_free(&a);
    carat_tokens_free(&b);
}

static void tokenizer_only(void **state)
{
    (void)state;
    static const char *const paths[] = {TINY "/tokenizer.json", TINY "/tokenizer.model", TINY};
    carat_tokens first = {0};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        carat_model *m = NULL;
        carat_model_options o;
        carat_model_options_default(&o);
        carat_engine *engine = NULL;
        carat_tokens ids = {0};
        o.tokenizer_only = 1;
        OK(carat_model_open(&m, paths[i], &o, err));
        assert_int_equal(model_info(m).kind, CARAT_TOKENIZER_ONLY);
        OK(carat_tokenize(m, "hello there", 11, CARAT_BOS, &ids, err));
        FAILS(CARAT_E_ARGUMENT, carat_engine_create(&engine, m, NULL, err));
        assert_null(engine);
        if (i == 0) {
            first = ids;
        } else {
            assert_int_equal(ids.n, first.n);
            assert_memory_equal(ids.ids, first.ids, (size_t)ids.n * sizeof *ids.ids);
            carat_tokens_free(&ids);
        }
        carat_model_close(m);
    }
    carat_tokens_free(&first);
    carat_model *m = NULL;
    FAILS(CARAT_E_NOT_FOUND, carat_model_open(&m, CT_TEST_DATA "/vectors/expect/gemma1-f32", NULL, err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_versions),
        cmocka_unit_test(null_can_be_closed),
        cmocka_unit_test(open_refuses),
        cmocka_unit_test(opening_can_be_cancelled_at_every_report),
        cmocka_unit_test(opening_tells_what_it_leaves_out),
        cmocka_unit_test(open_from_memory),
        cmocka_unit_test(directory_from_memory),
        cmocka_unit_test(facts_about_models),
        cmocka_unit_test(facts_about_experts),
        cmocka_unit_test(facts_about_tensors),
        cmocka_unit_test(stop_ids),
        cmocka_unit_test(text_refuses),
        cmocka_unit_test(text_round_trip),
        cmocka_unit_test(render_refuses),
        cmocka_unit_test(render_by_name),
        cmocka_unit_test(render_places),
        cmocka_unit_test(bytes_of_ids),
        cmocka_unit_test(template_of_the_checkpoint),
        cmocka_unit_test(render_forms_agree),
        cmocka_unit_test(tokenizer_only),
    };
    return cmocka_run_group_tests(tests, open_models, close_models);
}
