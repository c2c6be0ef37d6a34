/* SPDX-License-Identifier: Apache-2.0 */
/* test_together.c: a receipt does not depend on what else an engine does, nor on how a session came to its
 * text: 32 answers in one pass, forks, conversations that are edited, texts that are changed under way. */
#define _POSIX_C_SOURCE 200809L
#include "receipt/receipt_util.h"

#include <stdlib.h>
#include <unistd.h>

enum { MANY = 32 };

/* An answer under way. */
struct answer {
    struct settings s;
    carat_session *session;
    carat_generation *generation;
    carat_receipt *receipt;
};

static carat_engine *engine;

static int open_engine(void **state)
{
    carat_engine_options o = tiny_options(2, NULL, 256);

    open_tiny(state);
    o.sessions = MANY + 1;
    OK(carat_engine_create(&engine, tiny, &o, err));
    return 0;
}

static int close_engine(void **state)
{
    carat_engine_close(engine);
    return close_tiny(state);
}

static void begin(struct answer *a, const carat_receipt_options *o)
{
    a->s.sampling.chain = &a->s.chain;
    a->s.options.sampling = &a->s.sampling;
    OK(carat_generation_create(&a->generation, a->session, &a->s.options, err));
    OK(carat_receipt_begin(&a->receipt, a->generation, o, err));
}

/* Ends it; the text of its receipt. The session stays. */
static char *end(struct answer *a)
{
    char *text = NULL;

    OK(carat_receipt_finish(a->receipt, err));
    OK(carat_receipt_write(a->receipt, &text, NULL, err));
    carat_receipt_close(a->receipt);
    carat_generation_close(a->generation);
    return text;
}

static void sync_text(carat_session *s, const char *prompt)
{
    carat_tokens ids = prompt_of(prompt);

    OK(carat_sync(s, ids.ids, ids.n, NULL, err));
    carat_tokens_free(&ids);
}

/* Its prompt goes into the passes to come. */
static void give_prompt(struct answer *a)
{
    carat_tokens ids = prompt_of(a->s.prompt);
    const carat_prompt prompt = {.size = sizeof prompt, .ids = ids.ids, .n = ids.n};

    OK(carat_generation_prompt(a->generation, &prompt, NULL, err));
    carat_tokens_free(&ids);
}

static carat_reason reason_of(const carat_generation *g)
{
    carat_generation_info info;
    carat_generation_info_default(&info);

    OK(carat_generation_get_info(g, &info, err));
    return info.reason;
}

/* That a receipt replays, whole, in passes of its own. */
static void expect_confirmed(const char *text)
{
    carat_receipt *r = read_receipt(text);
    const carat_engine_options o = tiny_options(1, NULL, 0);
    const carat_replay t = replayed(r, &o, NULL);

    if (!t.confirmed)
        fail_msg("token %d of %d, states %d to %d, reason %s: %s", t.differs, t.tokens, t.states_same,
                 t.states_differ, carat_reason_name(t.reason), text);
    carat_receipt_close(r);
}

/* ---- many at once ---- */

static void choose(struct settings *s, int i)
{
    static const char *const prompts[] = {"Tell me of a lamp", "Where is the bed?", "Turn on the lights"};

    choose_settings(s, i % SETTINGS);
    s->prompt = prompts[i % 3];
    s->sampling.seed += (uint64_t)i * 1000;
    s->options.lookup = i % 4 ? CARAT_LOOKUP_OFF : CARAT_LOOKUP_ON;
}

/* Whole answers of different lengths, each with a row of every pass; some draft, too. Each third prompt goes
 * into the same passes, in pieces, and with several others of them. */
static void in_one_pass(void **state)
{
    static struct answer all[MANY];
    carat_generation *going[MANY];
    int most = 0, turn = 0;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        choose(&all[i].s, i);
        OK(carat_session_create(&all[i].session, engine, NULL, err));
        if (i % 3 != 1)
            sync_text(all[i].session, all[i].s.prompt);
        begin(&all[i], NULL);
        if (i % 3 == 1)
            give_prompt(&all[i]);
    }
    for (int n = MANY; n > 0;) {
        n = 0;
        for (int i = 0; i < MANY; i++)
            if (reason_of(all[i].generation) == CARAT_REASON_NONE)
                going[n++] = all[i].generation;
        most = n > most ? n : most;
        OK(n ? carat_generation_pass(engine, going, n, turn++ % 2 ? 60 : 5, err) : CARAT_OK);
    }
    assert_int_equal(most, MANY);
    for (int i = 0; i < MANY; i++) {
        char *text = end(&all[i]);
        carat_session_close(all[i].session);
        struct settings s;
        choose(&s, i);
        s.options.lookup = CARAT_LOOKUP_OFF;
        char *alone = receipt_of(engine, &s, NULL, NULL);
        assert_string_equal(text, alone);
        expect_confirmed(text);
        carat_free(text);
        carat_free(alone);
    }
}

/* Another session evaluates a prompt, goes back, and draws, between any two steps. */
static void beside_others(void **state)
{
    struct answer a = {.generation = NULL};
    carat_session *other = NULL;
    carat_tokens prompt = prompt_of("Where is the bed? Is it near the lamp, or is it not?");

    (void)state;
    choose_settings(&a.s, 4);
    char *alone = receipt_of(engine, &a.s, NULL, NULL);
    OK(carat_session_create(&other, engine, NULL, err));
    OK(carat_session_create(&a.session, engine, NULL, err));
    sync_text(a.session, a.s.prompt);
    begin(&a, NULL);
    for (int i = 0; reason_of(a.generation) == CARAT_REASON_NONE; i++) {
        int32_t id;
        OK(carat_generation_step(engine, &a.generation, 1, err));
        OK(carat_sync(other, prompt.ids, 1 + i % prompt.n, NULL, err));
        OK(carat_sample(other, NULL, &id, err));
        OK(carat_append(other, &id, 1, err));
    }
    char *text = end(&a);
    assert_string_equal(text, alone);
    carat_free(text);
    carat_free(alone);
    carat_session_close(a.session);
    carat_session_close(other);
    carat_tokens_free(&prompt);
}

/* ---- how a session came to its text ---- */

/* Forks of a prompt, whole and cut, one of them behind an answer. */
static void forks(void **state)
{
    struct answer a = {.generation = NULL};
    carat_session *first = NULL;

    (void)state;
    choose_settings(&a.s, 2);
    carat_tokens prompt = prompt_of(a.s.prompt);
    char *alone = receipt_of(engine, &a.s, NULL, NULL);
    OK(carat_session_create(&first, engine, NULL, err));
    OK(carat_sync(first, prompt.ids, prompt.n, NULL, err));
    for (int i = 0; i < 3; i++) {
        const int kept = i == 1 ? prompt.n - 3 : prompt.n;
        OK(carat_fork(first, kept, &a.session, err));
        if (i) /* the last fork is behind an answer, whose tokens go */
            OK(carat_sync(a.session, prompt.ids, prompt.n, NULL, err));
        begin(&a, NULL);
        OK(carat_generate(a.generation, err));
        char *text = end(&a);
        assert_string_equal(text, alone);
        carat_free(text);
        carat_session_close(first);
        first = a.session;
    }
    carat_session_close(first);
    carat_free(alone);
    carat_tokens_free(&prompt);
}

/* Out of a file, which has no state behind its last token. */
static void out_of_files(void **state)
{
    char path[] = "/tmp/carat-receipt-XXXXXX";
    const int fd = mkstemp(path);
    struct answer a = {.generation = NULL};
    carat_session *saved = NULL;

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    choose_settings(&a.s, 11);
    char *alone = receipt_of(engine, &a.s, NULL, NULL);
    OK(carat_session_create(&saved, engine, NULL, err));
    sync_text(saved, a.s.prompt);
    OK(carat_save(saved, path, NULL, 0, err));
    for (int given = 0; given < 2; given++) {
        OK(carat_session_create(&a.session, engine, NULL, err));
        if (given)
            begin(&a, NULL);
        OK(carat_load(a.session, path, NULL, NULL, err));
        if (given)
            give_prompt(&a);
        else
            begin(&a, NULL);
        OK(carat_generate(a.generation, err));
        char *text = end(&a);
        assert_string_equal(text, alone);
        carat_free(text);
        carat_session_close(a.session);
    }
    carat_free(alone);
    carat_session_close(saved);
    unlink(path);
}

/* Another text under way: the receipt is of what is drawn behind the change, and of nothing before. */
static void changed_texts(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct answer a = {.generation = NULL};
        struct settings s;
        choose_settings(&a.s, 1 + i);
        OK(carat_session_create(&a.session, engine, NULL, err));
        sync_text(a.session, "Where is the bed?");
        begin(&a, NULL);
        for (int k = 0; k < (i % 2 ? 3 : CARAT_RECEIPT_STEP + 6); k++)
            OK(carat_generation_step(engine, &a.generation, 1, err));
        sync_text(a.session, "Tell me of a lamp");
        if (i == 2) /* nothing is drawn behind it */
            assert_int_equal(carat_receipt_finish(a.receipt, NULL), CARAT_E_ARGUMENT);
        OK(carat_generate(a.generation, err));
        char *text = end(&a);
        choose_settings(&s, 1 + i);
        char *alone = receipt_of(engine, &s, NULL, NULL);
        assert_string_equal(text, alone);
        expect_confirmed(text);
        carat_free(text);
        carat_free(alone);
        carat_session_close(a.session);
    }
}

/* A question, an answer, another question in place of the first, and one more: each receipt names the one
 * before, and is that of the same text in a session of its own. */
static void edited_conversations(void **state)
{
    static const char *const questions[] = {"Where is the bed?", "Tell me of a lamp", "Turn on the lights"};
    struct answer a = {.generation = NULL};
    carat_message messages[3] = {{.role = "user"}, {.role = "assistant"}, {.role = "user"}};
    char previous[40] = "", said[] = "It is on.";

    (void)state;
    OK(carat_session_create(&a.session, engine, NULL, err));
    for (int i = 0; i < 3; i++) {
        carat_receipt_options o;
        carat_receipt_options_default(&o);
        carat_tokens prompt = {0};
        carat_session *fresh = NULL;
        choose_settings(&a.s, 5 + i);
        o.previous = *previous ? previous : NULL;
        messages[0].content = questions[i ? 1 : 0];
        messages[1].content = said;
        messages[2].content = questions[2];
        OK(carat_render(tiny, messages, sizeof *messages, i == 2 ? 3 : 1, NULL, &prompt, NULL, err));
        OK(carat_sync(a.session, prompt.ids, prompt.n, NULL, err));
        begin(&a, &o);
        OK(carat_generate(a.generation, err));
        char *text = end(&a);
        struct answer alone = {.s = a.s};
        OK(carat_session_create(&fresh, engine, NULL, err));
        OK(carat_sync(fresh, prompt.ids, prompt.n, NULL, err));
        alone.session = fresh;
        begin(&alone, &o);
        OK(carat_generate(alone.generation, err));
        char *other = end(&alone);
        assert_string_equal(text, other);
        expect_confirmed(text);
        carat_receipt *r = read_receipt(text);
        carat_receipt_info info;
        carat_receipt_info_default(&info);
        OK(carat_receipt_get_info(r, &info, err));
        assert_string_equal(info.previous, previous);
        snprintf(previous, sizeof previous, "%s", info.digest);
        carat_receipt_close(r);
        carat_session_close(fresh);
        carat_tokens_free(&prompt);
        carat_free(text);
        carat_free(other);
    }
    carat_session_close(a.session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_one_pass),   cmocka_unit_test(beside_others),
        cmocka_unit_test(forks),         cmocka_unit_test(out_of_files),
        cmocka_unit_test(changed_texts), cmocka_unit_test(edited_conversations),
    };

    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
