/* SPDX-License-Identifier: Apache-2.0 */
/* test_generate_stop.c: generations that stop strings end: the ids are those of a generation without, as far
 * as it goes, from the cache, anew, with drafts and beside others; no text is lost, none is given too early.
 * The search itself is test_stop.c's. */
#include "engine/told_util.h"

#include "generate/readout.h"

/* ---- stop strings ---- */

/* Every beginning and every length in the text of an answer, in every way. */
static void stops_end_it(void **state)
{
    struct rig r = open_rig(1, NULL);
    carat_tokens prompt = prompt_of(question, NULL);
    carat_generation_options o = greedy();
    static struct got plain, got;

    (void)state;
    generate(&plain, r.session[0], &prompt, &o);
    assert_int_equal(plain.info.reason, CARAT_REASON_STOP);
    assert_int_equal(plain.info.stop, -1);
    assert_true(carat_is_stop(r.model, plain.info.end));
    assert_true(plain.n > 5 && strstr(plain.all, "kitchen lights"));
    size_t length = strlen(plain.all);
    for (size_t from = 0; from < length; from++)
        for (size_t n = 1; n <= length - from; n += 1 + n / 3) {
            char stop[4096];
            enum way way = (enum way)((from + n) % N_WAY);
            const char *stops[] = {"kitchen lamp", "\xe2\x82\xac", stop};
            snprintf(stop, n + 1, "%s", plain.all + from);
            const char *first = strstr(plain.all, stop);
            go_way(&o, way, &plain, &prompt);
            o.stops = stops;
            o.n_stops = 3;
            generate(&got, r.session[0], &prompt, &o);
            check_same_ids(&got, &plain, &prompt);
            assert_int_equal(got.info.reason, CARAT_REASON_STOP_STRING);
            assert_int_equal(got.info.stop, 2);
            assert_int_equal(got.info.end, -1);
            assert_int_equal(strlen(got.all), (size_t)(first - plain.all));
            assert_memory_equal(got.all, plain.all, strlen(got.all));
            size_t before = 0; /* text up to the id that completes it */
            for (int i = 0; i + 1 < got.n; i++)
                before += strlen(plain.text[i]);
            assert_true(before < (size_t)(first - plain.all) + n);
            assert_true(before + strlen(plain.text[got.n - 1]) >= (size_t)(first - plain.all) + n);
        }
    carat_tokens_free(&prompt);
    rig_close(&r);
}

/* What might have become one comes out at the end, whatever ends it. */
static void held_text_is_not_lost(void **state)
{
    struct rig r = open_rig(1, NULL);
    carat_tokens prompt = prompt_of(question, NULL);
    carat_generation_options o = greedy();
    static struct got plain, got;
    char stop[CARAT_MOST_STOP_BYTES], room[CARAT_REST_BYTES];
    const char *stops[] = {stop};

    (void)state;
    generate(&plain, r.session[0], &prompt, &o);
    size_t length = strlen(plain.all);
    assert_true(length + 2 <= sizeof stop);
    o.n_stops = 1;
    o.stops = stops;
    for (size_t from = 0; from < length; from++) {
        snprintf(stop, sizeof stop, "%.*s!", (int)length, plain.all + from);
        generate(&got, r.session[0], &prompt, &o); /* by its own end */
        assert_string_equal(got.all, plain.all);
        assert_true(got.n_given <= from && got.n == plain.n);
        assert_int_equal(got.info.reason, CARAT_REASON_STOP);
    }
    for (int n = 1; n < plain.n; n++) {
        snprintf(stop, sizeof stop, "%.*s!", (int)length, plain.all);
        o.max_tokens = n;
        generate(&got, r.session[0], &prompt, &o); /* by its length */
        assert_int_equal(got.info.reason, CARAT_REASON_LENGTH);
        assert_memory_equal(got.all, plain.all, strlen(got.all));
        assert_int_equal(got.n_given, 0);
        o.max_tokens = 0;

        got.stop_at = n; /* by the callback; then it goes on */
        begin(&got, r.session[0], &prompt, &o);
        OK(carat_generate(got.g, err));
        assert_int_equal(got.n, n);
        size_t held = carat_generation_rest(got.g, room, 1);
        assert_true(held > 0 && !*room);
        assert_int_equal(carat_generation_rest(got.g, room, held), held);
        got.stop_at = 0;
        if (n % 2) { /* with all of it held back */
            OK(carat_generate(got.g, err));
            end(&got);
            assert_string_equal(got.all, plain.all);
        } else { /* with what follows */
            take_rest(&got);
            OK(carat_generate(got.g, err));
            end(&got);
            assert_string_equal(got.all, plain.all);
        }
    }
    carat_tokens_free(&prompt);
    rig_close(&r);
}

/* What nobody took is no part of another text. */
static void held_text_is_forgotten(void **state)
{
    struct rig r = open_rig(1, NULL);
    carat_tokens prompt = prompt_of(question, NULL);
    carat_generation_options o = greedy();
    static struct got plain, got;

    (void)state;
    generate(&plain, r.session[0], &prompt, &o);
    o.stops = (const char *[]){"The kitchen!", "The kitThe"};
    o.n_stops = 2;
    for (int n = 1; n < 3; n++) {
        got.stop_at = n;
        begin(&got, r.session[0], &prompt, &o);
        OK(carat_generate(got.g, err));
        assert_int_equal(got.n_given, 0);
        OK(carat_rewind(r.session[0], 0, err));
        OK(carat_sync(r.session[0], prompt.ids, prompt.n, NULL, err));
        got.stop_at = 0;
        OK(carat_generate(got.g, err));
        end(&got);
        assert_string_equal(got.all, plain.all);
    }
    carat_tokens_free(&prompt);
    rig_close(&r);
}

/* A further turn begins where the answer ended; the same generation searches a new text. */
static void a_turn_follows(void **state)
{
    struct rig r = open_rig(1, NULL);
    carat_tokens prompt = prompt_of(question, NULL);
    carat_generation_options o = greedy();
    static struct got plain, got;
    int32_t more[ROOM];
    int reused;

    (void)state;
    generate(&plain, r.session[0], &prompt, &o);
    o.stops = (const char *[]){"lights"};
    o.n_stops = 1;
    begin(&got, r.session[0], &prompt, &o);
    OK(carat_generate(got.g, err));
    take_rest(&got);
    assert_int_equal(got.info.reason, CARAT_REASON_STOP_STRING);
    OK(carat_generate(got.g, err)); /* it has ended */
    assert_int_equal(got.info.given, got.n);
    memcpy(more, prompt.ids, (size_t)prompt.n * sizeof *more);
    memcpy(more + prompt.n, got.id, (size_t)got.n * sizeof *more);
    OK(carat_sync(r.session[0], more, prompt.n + got.n, &reused, err));
    assert_int_equal(reused, prompt.n + got.n - 1);
    int before = got.n;
    *got.all = 0;
    OK(carat_generate(got.g, err));
    take_rest(&got);
    assert_int_equal(got.n, plain.n);
    assert_memory_equal(got.id, plain.id, (size_t)plain.n * sizeof *got.id);
    assert_int_equal(got.info.given, plain.n - before);
    assert_int_equal(got.info.reason, CARAT_REASON_STOP);
    assert_int_equal(got.info.stop, -1);
    carat_generation_close(got.g);
    carat_tokens_free(&prompt);
    rig_close(&r);
}

/* Several in one pass, each with its own string, as each alone. */
static void batches(void **state)
{
    enum { N = 4 };
    static const char *const words[N] = {"lights", "on", "kitchen", "nowhere"};
    struct rig r = open_rig(N, NULL);
    carat_tokens prompt = prompt_of(question, NULL);
    static struct got alone[N], together[N];
    carat_generation *all[N];
    carat_generation_options o = greedy();

    (void)state;
    o.n_stops = o.logprobs = 1;
    for (int lookup = 0; lookup < 2; lookup++) {
        o.lookup = lookup ? CARAT_LOOKUP_ON : CARAT_LOOKUP_OFF;
        for (int i = 0; i < N; i++) {
            o.stops = &words[i];
            generate(&alone[i], r.session[i], &prompt, &o);
        }
        for (int i = 0; i < N; i++) {
            o.stops = &words[i];
            begin(&together[i], r.session[i], &prompt, &o);
            all[i] = together[i].g;
        }
        for (int k = 0; k < MOST; k++)
            OK(carat_generation_step(r.engine, all, N, err));
        for (int i = 0; i < N; i++) {
            end(&together[i]);
            check_same_ids(&together[i], &alone[i], &prompt);
            assert_int_equal(together[i].n, alone[i].n);
            assert_int_equal(together[i].info.reason,
                             i < N - 1 ? CARAT_REASON_STOP_STRING : CARAT_REASON_STOP);
            assert_string_equal(together[i].all, alone[i].all);
            assert_memory_equal(together[i].logprob, alone[i].logprob, (size_t)alone[i].n * sizeof(float));
        }
    }
    carat_tokens_free(&prompt);
    rig_close(&r);
}

/* Whoever takes calls out of the text finds the text of their tokens whole and alone. */
static void calls_are_searched_apart(void **state)
{
    static const char start[] = "<start_function_call>";
    size_t n;
    char *tools = read_whole(CT_TEST_DATA "/../../models/tiny/tools.json", &n);
    tools = realloc(tools, n + 1);
    tools[n] = 0;
    struct rig r = open_rig(1, NULL);
    carat_tokens prompt = prompt_of(question, tools);
    free(tools);
    carat_generation_options o = greedy();
    static struct got plain, got;
    int at = 0;

    (void)state;
    generate(&plain, r.session[0], &prompt, &o);
    while (at < plain.n && strcmp(plain.text[at], start) != 0)
        at++;
    assert_true(at < plain.n);
    o.stops = (const char *[]){"on_call>call", ">c", "<start_function_call>call", "l:"};
    o.n_stops = 3;
    generate(&got, r.session[0], &prompt, &o);
    assert_int_equal(got.info.reason, plain.info.reason);
    assert_string_equal(got.all, plain.all);
    assert_string_equal(got.text[at], start);
    o.n_stops = 4;
    generate(&got, r.session[0], &prompt, &o); /* in between a string is found */
    assert_int_equal(got.info.reason, CARAT_REASON_STOP_STRING);
    assert_int_equal(got.info.stop, 3);
    o.stops = (const char *[]){"function_call"};
    o.n_stops = 1;
    generate(&got, r.session[0], &prompt, &o); /* in the token itself, too */
    assert_int_equal(got.info.reason, CARAT_REASON_STOP_STRING);
    assert_int_equal(got.n, at + 1);
    assert_string_equal(got.text[at], "<start_");
    carat_tokens_free(&prompt);
    rig_close(&r);
}

/* Ids as a model might give them: text, the token of a call, text. */
static void text_before_a_call(void **state)
{
    static const char *const stops[] = {" on<start", "lights on<start_function_call>", "call>The", "zzz"};
    struct rig r = open_rig(1, NULL);
    carat_generation_options o = greedy();
    struct ct_readout told;
    carat_tokens ids = {0};
    char all[256] = "";
    int which;

    (void)state;
    o.stops = stops;
    o.n_stops = 4;
    OK(carat_tokenize(tiny, " lights on<start_function_call>The lights", 41, CARAT_SPECIAL, &ids, err));
    OK(ct_readout_open(&told, r.session[0], &o, err));
    for (int i = 0; i < ids.n; i++) {
        carat_given given = {.id = ids.ids[i]};
        assert_int_equal(ct_readout_give(&told, r.session[0], 0, &given, &which), CARAT_REASON_NONE);
        strcat(all, given.text);
        if (strstr(given.text, "<start_function_call>")) /* with all that was held back */
            assert_string_equal(all, " lights on<start_function_call>");
    }
    ct_readout_rest(&told, r.session[0], true, all + strlen(all), 64);
    assert_string_equal(all, " lights on<start_function_call>The lights");
    ct_readout_close(&told);
    carat_tokens_free(&ids);
    rig_close(&r);
}

/* ---- what is refused ---- */

static void check_refused(carat_session *s, const carat_generation_options *o, const char *says)
{
    carat_generation *g = NULL;
    carat_error err;

    assert_int_equal(carat_generation_create(&g, s, o, &err), CARAT_E_ARGUMENT);
    assert_null(g);
    check_sentence(err.message);
    if (!strstr(err.message, says))
        fail_msg("'%s' does not say '%s'", err.message, says);
}

static void refused(void **state)
{
    struct rig r = open_rig(1, NULL);
    carat_tokens prompt = prompt_of(question, NULL);
    carat_generation_options o = greedy();
    static const char *many[CARAT_MOST_STOPS + 1];
    static char megabyte[(1 << 20) + 1];
    const struct {
        const char *stop;
        int n, logprobs, top, guard;
        const char *says;
    } cases[] = {
        {"", 1, 0, 0, 0, "stop string 0 is empty, expected 1 to 1024 bytes"},
        {megabyte, 1, 0, 0, 0, "stop string 0 is longer than 1024 bytes"},
        {"\xc3(", 1, 0, 0, 0, "stop string 0 is not UTF-8"},
        {"x", CARAT_MOST_STOPS + 1, 0, 0, 0, "n_stops is 17, expected 0 to 16"},
        {"x", -1, 0, 0, 0, "n_stops is -1"},
        {"x", 1, 2, 0, 0, "logprobs is 2, expected 0 to 1"},
        {"x", 1, 1, 21, 0, "top_logprobs is 21, expected 0 to 20"},
        {"x", 1, 1, -1, 0, "top_logprobs is -1, expected 0 to 20"},
        {"x", 1, 0, 1, 0, "top_logprobs is 1, expected 0 to 0"},
        {"x", 1, 0, 0, -1, "loop_guard is -1, expected 0 to 4096"},
        {"x", 1, 0, 0, 4097, "loop_guard is 4097, expected 0 to 4096"},
    };

    (void)state;
    memset(megabyte, 'x', sizeof megabyte - 1);
    OK(carat_sync(r.session[0], prompt.ids, prompt.n, NULL, err));
    for (size_t i = 0; i < CT_COUNT(cases); i++) {
        for (int k = 0; k <= CARAT_MOST_STOPS; k++)
            many[k] = cases[i].stop;
        o.stops = many;
        o.n_stops = cases[i].n;
        o.logprobs = cases[i].logprobs;
        o.top_logprobs = cases[i].top;
        o.loop_guard = cases[i].guard;
        check_refused(r.session[0], &o, cases[i].says);
    }
    assert_int_equal(carat_tokens_held(r.session[0], NULL), prompt.n);
    assert_string_equal(carat_reason_name(CARAT_REASON_STOP_STRING), "stop_string");
    assert_string_equal(carat_reason_name(CARAT_REASON_LOOP), "loop");
    assert_string_equal(carat_reason_name((carat_reason)(CARAT_REASON_CONSTRAINT + 1)), "");
    carat_tokens_free(&prompt);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_end_it),
        cmocka_unit_test(held_text_is_not_lost),
        cmocka_unit_test(held_text_is_forgotten),
        cmocka_unit_test(a_turn_follows),
        cmocka_unit_test(text_before_a_call),
        cmocka_unit_test(batches),
        cmocka_unit_test(calls_are_searched_apart),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests_name("generations with stop strings", tests, prepare, clean_up);
}
