/* SPDX-License-Identifier: Apache-2.0 */
/* test_endings.c: each way in which an answer can end has a receipt that replays, also that it is cut off;
 * one that says another ending does not. A form that has begun already has no receipt. */
#include "receipt/receipt_util.h"

#include <stdlib.h>

static carat_engine *engine;

static int open_engine(void **state)
{
    const carat_engine_options o = tiny_options(2, NULL, 0);

    open_tiny(state);
    OK(carat_engine_create(&engine, tiny, &o, err));
    return 0;
}

static int close_engine(void **state)
{
    carat_engine_close(engine);
    return close_tiny(state);
}

/* ---- ways to end ---- */

enum ending { BY_LENGTH, BY_STOP, BY_STRING, BY_LOOP, BY_FULL, BY_CALLBACK, BY_CANCEL, NOT_YET, BY_FORM };
static const carat_reason reasons[] = {CARAT_REASON_LENGTH,    CARAT_REASON_STOP,   CARAT_REASON_STOP_STRING,
                                       CARAT_REASON_LOOP,      CARAT_REASON_LENGTH, CARAT_REASON_CALLBACK,
                                       CARAT_REASON_CANCELLED, CARAT_REASON_NONE,   CARAT_REASON_CONSTRAINT};
enum { ENDINGS = sizeof reasons / sizeof *reasons, CUT = 29 };

struct cut {
    enum ending ending;
    carat_session *session;
    int given;
};

static int cut_off(void *user, const carat_given *given)
{
    struct cut *c = user;

    (void)given;
    if (++c->given < CUT)
        return 0;
    if (c->ending == BY_CANCEL)
        carat_cancel(c->session);
    return c->ending == BY_CALLBACK;
}

static const char *const articles[] = {"zzz", " the"};
static const char words[] = "(yes|no), it is (on|off)";

/* An answer that ends so. */
static char *ended(enum ending ending)
{
    struct settings s;
    struct cut c = {.ending = ending};
    carat_engine *own = NULL, *e = engine;
    carat_generation *g = NULL;
    carat_receipt *receipt = NULL;
    carat_constraint *form = NULL;
    carat_matcher *matcher = NULL;
    carat_receipt_options o;
    carat_receipt_options_default(&o);
    carat_constraint_options f;
    carat_constraint_options_default(&f);
    char *text = NULL;
    int32_t never[8];

    choose_settings(&s, ending == BY_STOP ? 0 : ending == BY_STRING ? 6 : 1);
    if (ending == BY_STOP)
        s.prompt = "Turn on the kitchen lights";
    if (ending == BY_STRING)
        s.options.stops = articles;
    if (ending == BY_LOOP) { /* where the test of the guard has it fire */
        s.prompt = "0 0 0 0 0 0 0 0 0 0 0";
        s.sampling.temperature = 0;
        s.sampling.n_banned = carat_stop_ids(tiny, &s.sampling.banned);
        s.options.max_tokens = 300;
        s.options.loop_guard = 1;
    }
    if (ending == BY_FULL) {
        carat_engine_options small = tiny_options(1, NULL, 0);
        small.context = 64;
        OK(carat_engine_create(&own, tiny, &small, err));
        e = own;
        s.options.max_tokens = 0;
    }
    if (ending == BY_FORM) { /* all that can follow "yes" is banned */
        carat_tokens banned = {0};
        f.form = CARAT_FORM_REGEX;
        f.text = words;
        OK(carat_constraint_create(&form, tiny, &f, err));
        OK(carat_matcher_create(&matcher, form, err));
        OK(carat_tokenize(tiny, ",", 1, 0, &banned, err));
        assert_true(banned.n == 1);
        never[0] = banned.ids[0];
        s.sampling.banned = never;
        s.sampling.n_banned = 1;
        s.sampling.matcher = matcher;
        o.form = &f;
        carat_tokens_free(&banned);
    }
    carat_tokens prompt = prompt_of(s.prompt);
    OK(carat_session_create(&c.session, e, NULL, err));
    OK(carat_sync(c.session, prompt.ids, prompt.n, NULL, err));
    s.options.on_token = cut_off;
    s.options.user = &c;
    OK(carat_generation_create(&g, c.session, &s.options, err));
    OK(carat_receipt_begin(&receipt, g, &o, err));
    carat_status status = CARAT_OK;
    carat_error why = {CARAT_OK, ""};
    if (ending == NOT_YET)
        for (int i = 0; i < CUT; i++)
            OK(carat_generation_step(e, &g, 1, err));
    else
        status = carat_generate(g, &why);
    assert_int_equal(status, ending == BY_CANCEL ? CARAT_E_CANCELLED : CARAT_OK);
    OK(carat_receipt_finish(receipt, err));
    OK(carat_receipt_write(receipt, &text, NULL, err));
    carat_receipt_close(receipt);
    carat_generation_close(g);
    carat_session_close(c.session);
    carat_matcher_close(matcher);
    carat_constraint_close(form);
    carat_engine_close(own);
    carat_tokens_free(&prompt);
    return text;
}

/* What a replay says of a text that a reader takes; -1: it is refused. */
static int confirms(const char *text)
{
    carat_receipt *r = NULL;
    const carat_engine_options o = tiny_options(1, NULL, 0);
    carat_replay_options how;
    carat_replay_options_default(&how);
    carat_constraint_options f;
    carat_constraint_options_default(&f);

    f.form = CARAT_FORM_REGEX;
    f.text = words;
    how.form = &f;
    if (carat_receipt_read(&r, "r.json", text, strlen(text), NULL) != CARAT_OK)
        return -1;
    const carat_replay t = replayed(r, &o, &how);
    carat_receipt_close(r);
    assert_true(t.drawn <= t.tokens);
    return t.confirmed;
}

/* That an answer was cut off is not to be seen in what was drawn, only that nothing of it was an ending. */
static bool is_cut(carat_reason r)
{
    return r == CARAT_REASON_NONE || r == CARAT_REASON_CANCELLED || r == CARAT_REASON_CALLBACK ||
           r == CARAT_REASON_NUMERIC;
}

static void each_ending(void **state)
{
    (void)state;
    for (int i = 0; i < ENDINGS; i++) {
        char *text = ended((enum ending)i), right[64], wrong[64];
        assert_int_equal(confirms(text), 1);
        snprintf(right, sizeof right, "\"reason\":\"%s\"", carat_reason_name(reasons[i]));
        char *at = strstr(text, right);
        if (!at)
            fail_msg("ending %d: no %s in %s", i, right, text);
        for (int k = 0; k <= CARAT_REASON_CONSTRAINT; k++) {
            char *changed = malloc(strlen(text) + sizeof wrong);
            const bool same =
                k == (int)reasons[i] || (is_cut((carat_reason)k) && (is_cut(reasons[i]) || i == BY_FORM));
            assert_non_null(changed);
            snprintf(wrong, sizeof wrong, "\"reason\":\"%s\"", carat_reason_name((carat_reason)k));
            sprintf(changed, "%.*s%s%s", (int)(at - text), text, wrong, at + strlen(right));
            const int confirmed = confirms(changed);
            if (same != (confirmed == 1))
                fail_msg("ending %d as \"%s\" is %d: %s", i, wrong, confirmed, changed);
            free(changed);
        }
        carat_free(text);
    }
}

/* One that was cut off and goes on has the receipt of one that never was. */
static void cut_ones_go_on(void **state)
{
    struct settings s;
    struct cut c = {.ending = BY_CALLBACK};
    carat_generation *g = NULL;
    carat_receipt *receipt = NULL;
    char *text = NULL;

    (void)state;
    choose_settings(&s, 3);
    char *whole = receipt_of(engine, &s, NULL, NULL);
    carat_tokens prompt = prompt_of(s.prompt);
    OK(carat_session_create(&c.session, engine, NULL, err));
    OK(carat_sync(c.session, prompt.ids, prompt.n, NULL, err));
    s.options.on_token = cut_off;
    s.options.user = &c;
    OK(carat_generation_create(&g, c.session, &s.options, err));
    OK(carat_receipt_begin(&receipt, g, NULL, err));
    OK(carat_generate(g, err));
    assert_int_equal(c.given, CUT);
    c.ending = NOT_YET;
    OK(carat_generate(g, err));
    OK(carat_receipt_finish(receipt, err));
    OK(carat_receipt_write(receipt, &text, NULL, err));
    assert_string_equal(text, whole);
    carat_receipt_close(receipt);
    carat_generation_close(g);
    carat_session_close(c.session);
    carat_tokens_free(&prompt);
    carat_free(text);
    carat_free(whole);
}

/* What may be called beside a form is part of it: a replay takes the same tools, and no others. */
static void tools_beside_forms(void **state)
{
    static const char *const tools[] = {"[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]",
                                        "[{\"type\":\"function\",\"function\":{\"name\":\"g\"}}]", NULL};
    const carat_engine_options engine_options = tiny_options(1, NULL, 0);
    struct settings s;
    carat_constraint *form = NULL;
    carat_matcher *matcher = NULL;
    carat_receipt *r = NULL;
    carat_receipt_options o;
    carat_replay_options how;
    carat_constraint_options f;

    (void)state;
    carat_constraint_options_default(&f);
    carat_receipt_options_default(&o);
    carat_replay_options_default(&how);
    f.form = CARAT_FORM_REGEX;
    f.text = words;
    f.tools = tools[0];
    o.form = how.form = &f;
    choose_settings(&s, 3);
    OK(carat_constraint_create(&form, tiny, &f, err));
    OK(carat_matcher_create(&matcher, form, err));
    s.sampling.matcher = matcher;
    char *text = receipt_of(engine, &s, &o, NULL);
    for (int i = 0; i < 3; i++) {
        carat_replay t = {.size = sizeof t};
        carat_error why;
        f.tools = tools[i];
        OK(carat_receipt_read(&r, "r.json", text, strlen(text), err));
        if (i == 0)
            assert_int_equal(replayed(r, &engine_options, &how).confirmed, 1);
        else {
            carat_engine *other = NULL;
            OK(carat_engine_create(&other, tiny, &engine_options, err));
            assert_int_equal(carat_receipt_replay(r, other, &how, &t, &why), CARAT_E_UNSUPPORTED);
            assert_non_null(strstr(why.message, "header.constraint.sha256"));
            carat_engine_close(other);
        }
        carat_receipt_close(r);
    }
    carat_free(text);
    carat_matcher_close(matcher);
    carat_constraint_close(form);
}

/* A matcher that has taken ids would draw otherwise than one that a replay makes. */
static void begun_forms(void **state)
{
    struct settings s;
    carat_session *session = NULL;
    carat_constraint *form = NULL;
    carat_matcher *matcher = NULL;
    carat_constraint_options f;
    carat_constraint_options_default(&f);
    carat_receipt_options o;
    carat_receipt_options_default(&o);
    int32_t start = 0;

    (void)state;
    f.form = CARAT_FORM_REGEX;
    f.text = words;
    o.form = &f;
    choose_settings(&s, 1);
    OK(carat_constraint_create(&form, tiny, &f, err));
    OK(carat_matcher_create(&matcher, form, err));
    while (!carat_matcher_allows(matcher, start, 0))
        start++;
    OK(carat_session_create(&session, engine, NULL, err));
    carat_tokens prompt = prompt_of(s.prompt);
    OK(carat_sync(session, prompt.ids, prompt.n, NULL, err));
    s.sampling.matcher = matcher;
    for (int i = 0; i < 2; i++) {
        carat_generation *g = NULL;
        carat_receipt *receipt = NULL;
        carat_error why = {CARAT_OK, ""};
        OK(carat_generation_create(&g, session, &s.options, err));
        const carat_status status = carat_receipt_begin(&receipt, g, &o, &why);
        assert_int_equal(status, i ? CARAT_E_ARGUMENT : CARAT_OK);
        if (i)
            assert_non_null(strstr(why.message, "not at the beginning of its form"));
        carat_receipt_close(receipt);
        carat_generation_close(g);
        if (i == 0)
            OK(carat_matcher_accept(matcher, start, err));
    }
    carat_matcher_close(matcher);
    carat_constraint_close(form);
    carat_session_close(session);
    carat_tokens_free(&prompt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_ending),
        cmocka_unit_test(cut_ones_go_on),
        cmocka_unit_test(begun_forms),
        cmocka_unit_test(tools_beside_forms),
    };

    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
