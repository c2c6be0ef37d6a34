/* SPDX-License-Identifier: Apache-2.0 */
/* test_refused.c: while a receipt is begun, ended, written, read and replayed, each request for memory is
 * refused once: that is CARAT_E_MEMORY with a sentence, everything is given back, and the same call on the
 * same objects gives afterwards what it gives otherwise. While an answer is drawn nothing is asked for. */
#include "receipt/receipt_util.h"
#include "refusable.h"

/* An answer from its beginning to its replay. */
struct scene {
    carat_engine *engine;
    carat_generation *generation;
    carat_receipt *receipt, *read;
    carat_receipt_options options;
    carat_replay_options how;
    char *text;
    size_t n;
    int32_t answer[200]; /* [how.n_answer] */
};

static carat_status begin(struct scene *s, carat_error *why)
{
    return carat_receipt_begin(&s->receipt, s->generation, &s->options, why);
}

static carat_status finish(struct scene *s, carat_error *why)
{
    return carat_receipt_finish(s->receipt, why);
}

static carat_status write_text(struct scene *s, carat_error *why)
{
    return carat_receipt_write(s->receipt, &s->text, &s->n, why);
}

static carat_status read_text(struct scene *s, carat_error *why)
{
    return carat_receipt_read(&s->read, "r.json", s->text, s->n, why);
}

static carat_status replay(struct scene *s, carat_error *why)
{
    carat_replay t;
    carat_replay_default(&t);

    const carat_status status = carat_receipt_replay(s->read, s->engine, &s->how, &t, why);
    assert_true(status || t.confirmed);
    return status;
}

/* Each call leaves nothing where it fails; its request number n is refused from 0 on until it succeeds. */
static void each_refused(const char *name, int least, carat_status (*call)(struct scene *s, carat_error *why),
                         struct scene *s)
{
    carat_status status = CARAT_E_MEMORY;
    long n = 0;

    for (; status == CARAT_E_MEMORY; n++) {
        carat_error why = {CARAT_OK, ""};
        const long before = live;
        requests = 0;
        refuse_at = n;
        status = call(s, &why);
        refuse_at = NEVER;
        if (status && (live != before || !strstr(why.message, "memory")))
            fail_msg("%s, request %ld: %ld blocks are left: %s", name, n, live - before, why.message);
    }
    if (status || requests >= n || n <= least)
        fail_msg("%s: status %d, %ld requests, %ld refused", name, (int)status, requests, n - 1);
}

static int collect(void *user, const carat_given *given)
{
    struct scene *s = user;

    s->answer[s->how.n_answer++] = given->id;
    return 0;
}

/* Returns the receipt. */
static char *run(struct scene *s, const struct settings *settings, bool refuses)
{
    static const struct {
        const char *name;
        int least; /* requests that there are at least */
        carat_status (*call)(struct scene *s, carat_error *why);
    } calls[] = {{"begin", 4, begin},
                 {"finish", 2, finish},
                 {"write", 2, write_text},
                 {"read", 4, read_text},
                 {"replay", 8, replay}};
    carat_tokens prompt = prompt_of(settings->prompt);
    carat_session *session = NULL;
    carat_generation_options o = settings->options;

    o.on_token = collect;
    o.user = s;
    s->how.prompt = prompt.ids;
    s->how.n_prompt = prompt.n;
    s->how.answer = s->answer;
    s->how.n_answer = 0;
    OK(carat_session_create(&session, s->engine, NULL, err));
    OK(carat_sync(session, prompt.ids, prompt.n, NULL, err));
    OK(carat_generation_create(&s->generation, session, &o, err));
    for (int i = 0; i < 5; i++) {
        if (i == 1) {
            requests = 0;
            OK(carat_generate(s->generation, err));
            assert_int_equal(requests, 0);
        }
        if (refuses)
            each_refused(calls[i].name, calls[i].least, calls[i].call, s);
        else
            OK(calls[i].call(s, err));
    }
    carat_receipt_close(s->receipt);
    carat_receipt_close(s->read);
    carat_generation_close(s->generation);
    carat_session_close(session);
    carat_tokens_free(&prompt);
    return s->text;
}

/* Settings of all kinds; a form; private. */
static void each_request_is_refused_once(void **state)
{
    static const char salt[16] = "0123456789abcde";
    static const carat_bias some[] = {{528, -INFINITY}, {606, 2.5f}};
    const carat_engine_options o = tiny_options(1, NULL, 0);
    carat_constraint *form = NULL;
    carat_matcher *matcher = NULL;
    carat_constraint_options f;
    carat_constraint_options_default(&f);
    static struct scene s;

    (void)state;
    f.form = CARAT_FORM_REGEX;
    f.text = "(yes|no), it is (on|off)";
    OK(carat_constraint_create(&form, tiny, &f, err));
    OK(carat_matcher_create(&matcher, form, err));
    OK(carat_engine_create(&s.engine, tiny, &o, err));
    carat_receipt_options_default(&s.options);
    carat_replay_options_default(&s.how);
    for (int i = 0; i < 3; i++) {
        struct settings settings;
        choose_settings(&settings, 3);
        settings.chain.biases = some;
        settings.chain.n_biases = 2;
        settings.options.stops = stop_words + 1;
        settings.options.n_stops = 1;
        settings.sampling.matcher = i == 1 ? matcher : NULL;
        settings.options.n_stop_ids = 2;
        s.options.form = s.how.form = i == 1 ? &f : NULL;
        s.options.is_private = i == 2;
        s.options.salt = salt;
        char *usual = run(&s, &settings, false), *refused = run(&s, &settings, true);
        assert_string_equal(usual, refused);
        carat_free(usual);
        carat_free(refused);
    }
    carat_engine_close(s.engine);
    carat_matcher_close(matcher);
    carat_constraint_close(form);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_request_is_refused_once)};

    return cmocka_run_group_tests(tests, open_tiny, close_tiny);
}
