/* SPDX-License-Identifier: Apache-2.0 */
/* test_told_calls.c: which of the ids and of the text that a generation gives are of a call: those that
 * carat_parse_calls finds, for ids in every order, in both syntaxes, and with stop strings. */
#include "engine/told_util.h"

#include <carat_tools.h>
#include <stdlib.h>

#include "generate/readout.h"

enum { LONGEST = 24 };

/* What was told of ids: text of calls, a | at the end of each, and all other. */
struct heard {
    char call[4096], text[4096];
    int n_call, of_call[LONGEST];
};

static void put(char *out, const char *s, size_t n)
{
    const size_t at = strlen(out);

    assert_true(at + n < 4000);
    memcpy(out + at, s, n);
    out[at + n] = 0;
}

/* Gives the ids, as far as no stop string is complete. Returns their number. */
static int tell(carat_session *s, const int32_t *ids, int n, const char *const *stops, int n_stops,
                struct heard *h)
{
    struct ct_readout *t = calloc(1, sizeof *t);
    carat_sampling sampling;
    const carat_generation_options o = {
        .size = sizeof o, .sampling = &sampling, .stops = stops, .n_stops = n_stops};
    char rest[CARAT_REST_BYTES];
    bool inside = false;
    int i = 0;

    assert_non_null(t);
    memset(h, 0, sizeof *h);
    carat_sampling_default(tiny, &sampling);
    OK(ct_readout_open(t, s, &o, err));
    ct_readout_begin(t, NULL, 0);
    for (carat_reason reason = CARAT_REASON_NONE; i < n && reason == CARAT_REASON_NONE; i++) {
        carat_given given = {.id = ids[i], .position = i};
        int which;
        reason = ct_readout_give(t, s, 0, &given, &which);
        assert_true(given.n_call <= given.n_text && (given.call || !given.n_call));
        if (inside && (!given.call || given.n_call < given.n_text))
            fail_msg("id %d: text of none within a call", i);
        put(h->text, given.text, given.n_text - given.n_call);
        put(h->call, given.text + given.n_text - given.n_call, given.n_call);
        h->of_call[i] = given.call;
        h->n_call += given.call;
        inside =
            given.call && ids[i] != t->call.end && i + 1 < n && !ct_call_stops_before(&t->call, ids[i + 1]);
        if (given.call && !inside)
            put(h->call, "|", 1);
    }
    size_t n_rest = ct_readout_rest(t, s, true, rest, sizeof rest);
    put(inside ? h->call : h->text, rest, n_rest);
    ct_readout_close(t);
    free(t);
    return i;
}

/* The same of carat_parse_calls. */
static void parse(const carat_model *m, const int32_t *ids, int n, struct heard *h)
{
    carat_calls calls = {.size = sizeof *calls.part};

    memset(h, 0, sizeof *h);
    OK(carat_parse_calls(m, ids, n, NULL, &calls, err));
    for (int k = 0; k < calls.n; k++) {
        const carat_part *p = &calls.part[k];
        put(p->is_call ? h->call : h->text, p->text, p->n_text);
        if (p->is_call)
            put(h->call, "|", 1);
        for (int i = p->first; i < p->first + p->n && p->is_call; i++)
            h->of_call[i] = 1;
    }
    carat_calls_free(&calls);
}

static int32_t only(const carat_model *m, const char *text)
{
    carat_tokens ids = {0};
    OK(carat_tokenize(m, text, strlen(text), CARAT_SPECIAL, &ids, err));
    assert_int_equal(ids.n, 1);
    const int32_t id = ids.ids[0];
    carat_tokens_free(&ids);
    return id;
}

static void check_orders(carat_model *m, const char *const *words, int n_words, bool spelled)
{
    static const char *const never[] = {"zzz", "call:fly"};
    carat_engine_options e = engine_of(1, NULL);
    struct rig r = rig_open(m, &e);
    struct heard *h = malloc(2 * sizeof *h);
    uint32_t seed = 3;
    int with_calls = 0;

    for (int k = 0; k < 3000; k++) {
        int32_t ids[LONGEST];
        const int n = 1 + k % LONGEST;
        for (int i = 0; i < n; i++) {
            seed = seed * 1664525u + 1013904223u;
            ids[i] = only(m, words[(seed >> 16) % (uint32_t)n_words]);
        }
        parse(m, ids, n, &h[0]);
        assert_int_equal(tell(r.session[0], ids, n, never, k % 3, &h[1]), n);
        assert_memory_equal(h[0].of_call, h[1].of_call, (size_t)n * sizeof(int));
        if (spelled) {
            assert_string_equal(h[0].text, h[1].text);
            assert_string_equal(h[0].call, h[1].call);
        }
        with_calls += h[1].n_call > 0;
    }
    assert_true(with_calls > 1000 && with_calls < 2900);
    free(h);
    rig_close(&r);
}

static void as_they_are_parsed(void **state)
{
    static const char *const function[] =
        {"<start_function_call>", "<end_function_call>",       "<escape>", "a",     "\n",
         "<end_of_turn>",         "<start_function_response>", "<0xC3>",   "<0xA9>"},
                             *const gemma4[] = {"<|tool_call>", "<tool_call|>", "<|\"|>",          "a",
                                                "\n",           "<turn|>",      "<|tool_response>"};
    carat_model *tiny4 = NULL;

    (void)state;
    check_orders(tiny, function, CT_COUNT(function) - 2, true);
    OK(carat_model_open(&tiny4, CT_TEST_DATA "/../fixtures/tiny4", NULL, err));
    check_orders(tiny4, gemma4, CT_COUNT(gemma4), false);
    carat_model_close(tiny4);
}

/* Text that was held back comes with a call's first token, before its own; a thought has no calls. */
static void in_parts(void **state)
{
    static const char *const held[] = {"ab", "<start_x"}, *const whole[] = {"function_call"},
                             *const before[] = {"a<start"};
    const int32_t a = only(tiny, "a"), begin = only(tiny, CARAT_CALL_START), end = only(tiny, CARAT_CALL_END);
    struct rig r = open_rig(1, NULL);
    struct heard *h = malloc(sizeof *h);
    carat_model *tiny4 = NULL;

    (void)state;
    tell(r.session[0], (int32_t[]){a, begin, a, end, a}, 5, held, 2, h);
    assert_string_equal(h->text, "aa");
    assert_string_equal(h->call, CARAT_CALL_START "a" CARAT_CALL_END "|");
    /* the tokens are searched apart, and what they hold before a stop string is not of a call */
    assert_int_equal(tell(r.session[0], (int32_t[]){a, begin, a}, 3, whole, 1, h), 2);
    assert_string_equal(h->text, "a<start_");
    assert_int_equal(tell(r.session[0], (int32_t[]){a, begin, a}, 3, before, 1, h), 3);
    rig_close(&r);

    OK(carat_model_open(&tiny4, CT_TEST_DATA "/../fixtures/tiny4", NULL, err));
    carat_engine_options e = engine_of(1, NULL);
    r = rig_open(tiny4, &e);
    const int32_t b = only(tiny4, "a"), call = only(tiny4, CARAT_TOOL_CALL_START),
                  call_end = only(tiny4, CARAT_TOOL_CALL_END), thought = only(tiny4, "<|channel>"),
                  thought_end = only(tiny4, "<channel|>");
    tell(r.session[0], (int32_t[]){thought, call, b, call_end, thought_end, b, call, b, b, call_end, b}, 11,
         held, 2, h);
    static const int expected[] = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0};
    assert_memory_equal(h->of_call, expected, sizeof expected);
    assert_string_equal(h->call, "aa|");
    carat_model_close((rig_close(&r), tiny4));
    free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_they_are_parsed),
        cmocka_unit_test(in_parts),
    };
    return cmocka_run_group_tests(tests, prepare, clean_up);
}
