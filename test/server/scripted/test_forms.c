/* SPDX-License-Identifier: Apache-2.0 */
/* test_forms.c: a form is compiled once for all who come with it, and kept for those who come next, as long
 * as there are few others; and nobody waits for the form of somebody else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "server/fake_carat.h"
#include "server/talk.h"

enum { PLACES = 4, CONTEXT = 4000 };

static struct served served;
static carat_engine *engine;

static int begin(void **state)
{
    (void)state;
    engine = fake_engine(PLACES, CONTEXT, PLACES * (CONTEXT + 256));
    served =
        (struct served){.options.model = fake_model(), .options.engine = engine, .options.parallel = PLACES};
    serve_begin(&served);
    return 0;
}

static int end(void **state)
{
    (void)state;
    fake_hold_forms(0);
    if (serve_end(&served) != SERVER_ENDED)
        return -1;
    fake_engine_free(engine);
    return 0;
}

/* A request whose answer has a form; title NULL: none. */
static int begin_formed(const char *title)
{
    char more[300] = "";

    if (title)
        snprintf(more, sizeof more,
                 ",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"x\","
                 "\"schema\":{\"title\":\"%s\"}}}",
                 title);
    char *body = body_of(CHAT, "!plain", more);
    const int fd = dial(&served);
    send_request(fd, "POST", kinds[CHAT].path, "", body);
    free(body);
    return fd;
}

static void assert_answer(int fd, int status, const char *word)
{
    struct reply r;

    take_reply(fd, true, &r);
    if (r.status != status || !r.whole || !strstr(r.body, word))
        fail_msg("no '%s' in %d %.300s", word, r.status, r.body);
    reply_free(&r);
    close(fd);
}

static void ask_formed(const char *title)
{
    assert_answer(begin_formed(title), 200, "Hello");
}

static void it_is_compiled_once(void **state)
{
    const int before = fake_forms();
    int fds[20];

    (void)state;
    for (int i = 0; i < 20; i++)
        fds[i] = begin_formed("one");
    for (int i = 0; i < 20; i++)
        assert_answer(fds[i], 200, "Hello");
    assert_int_equal(fake_forms() - before, 1);
    ask_formed("two");
    ask_formed("one");
    assert_int_equal(fake_forms() - before, 2);
}

/* What else there is about a form: whether one call is all, which calls may take its place, its spaces. */
static void others_are_not_it(void **state)
{
    static const struct {
        const char *more;
        int made;
    } rows[] = {
#define TOOL(name)                                                                                           \
    ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"" name                                      \
    "\",\"parameters\":{\"type\":\"object\"}}}]"
#define TEXT_FORM ",\"response_format\":{\"type\":\"json_object\"}"
        {TOOL("f") ",\"tool_choice\":\"required\"", 1},
        {TOOL("f") ",\"tool_choice\":\"required\"", 0},
        {TOOL("f") ",\"tool_choice\":\"required\",\"parallel_tool_calls\":false", 1},
        {TEXT_FORM, 1},
        {TOOL("f") TEXT_FORM, 2}, /* that of the tools, which nothing holds them to, besides */
        {TOOL("g") TEXT_FORM, 2},
        {TOOL("f") TEXT_FORM, 0},
        {TOOL("f") TEXT_FORM ",\"parallel_tool_calls\":false", 2},
        {",\"structured_outputs\":{\"json\":{\"title\":\"x\"}}", 1},
        {",\"structured_outputs\":{\"json\":{\"title\":\"x\"},\"disable_any_whitespace\":true}", 1},
        {",\"structured_outputs\":{\"json\":{\"title\":\"x\"}}", 0},
    };

    (void)state;
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        const int before = fake_forms();
        struct reply r;
        ask_kind(&served, CHAT, "!plain", rows[i].more, &r);
        if (r.status != 200 || fake_forms() - before != rows[i].made)
            fail_msg("row %zu: %d forms, %d %s", i, fake_forms() - before, r.status, r.body);
        reply_free(&r);
    }
}

static void few_are_kept(void **state)
{
    const int before = fake_forms();
    char title[20];

    (void)state;
    for (int i = 0; i < 40; i++) {
        snprintf(title, sizeof title, "form %d", i);
        ask_formed(title);
    }
    assert_int_equal(fake_forms() - before, 40);
    ask_formed("form 39"); /* the last one is there */
    assert_int_equal(fake_forms() - before, 40);
    ask_formed("form 0"); /* the first one is not */
    assert_int_equal(fake_forms() - before, 41);
}

static void a_wrong_one_is_not_kept(void **state)
{
    const int before = fake_forms();

    (void)state;
    for (int i = 0; i < 3; i++)
        assert_answer(begin_formed("wrong"), 400, "this form is wrong");
    assert_int_equal(fake_forms() - before, 3);
}

/* Forms that take long, of several clients, two of which have the same one. */
static void nobody_waits_for_others(void **state)
{
    static const char *const titles[] = {"held 0", "held 1", "held 2", "held 2", "held wrong", "held wrong"};
    const int before = fake_forms();
    int fds[CT_COUNT(titles)];

    (void)state;
    fake_hold_forms(1);
    for (size_t i = 0; i < CT_COUNT(titles); i++)
        fds[i] = begin_formed(titles[i]);
    for (int i = 0; i < 10; i++) {
        ask_formed(NULL);
        ask_formed(i % 2 ? "quick" : "swift");
    }
    assert_int_equal(fake_forms() - before, 4 + 2);
    assert_true(is_told(&served, "/health", "\"waiting\":6,"));
    fake_hold_forms(0);
    for (size_t i = 0; i < CT_COUNT(titles); i++)
        assert_answer(fds[i], i < 4 ? 200 : 400, i < 4 ? "Hello" : "this form is wrong");
}

/* A few who come and leave have as many under way, since a client that has closed may still listen. */
static void nobody_waits_for_many(void **state)
{
    enum { MANY = 24 };
    char title[20];
    int fds[MANY];

    (void)state;
    fake_hold_forms(1);
    for (int i = 0; i < MANY; i++) {
        snprintf(title, sizeof title, "held %d", i);
        fds[i] = begin_formed(title);
    }
    for (int i = 0; i < 10; i++)
        ask_formed(i % 2 ? NULL : "quick");
    assert_true(is_told(&served, "/health", "\"waiting\":24,"));
    fake_hold_forms(0);
    for (int i = 0; i < MANY; i++)
        assert_answer(fds[i], 200, "Hello");
}

static void it_ends_with_its_time(void **state)
{
    const int before = fake_forms();

    (void)state;
    assert_answer(begin_formed("endless"), 400, "takes more than 200 ms of processor time");
    ask_formed("one");
    assert_int_equal(fake_forms() - before, 2);
}

static void wait_for_waiting(const char *told)
{
    while (!is_told(&served, "/health", told))
        sleep_ms(1);
}

/* Two wait for the same form: it goes on as long as one of them is there. */
static void it_ends_with_its_clients(void **state)
{
    const int before = fake_forms();
    const int one = begin_formed("asleep"), other = begin_formed("asleep");

    (void)state;
    wait_for_waiting("\"waiting\":2,");
    close(one);
    for (int i = 0; i < 10; i++)
        ask_formed(NULL);
    assert_false(is_told(&served, "/health", "\"waiting\":0,"));
    close(other);
    wait_for_waiting("\"waiting\":0,");
    assert_in_range(fake_forms() - before, 1, 2);
}

/* Whoever comes with a form that is being given up has it compiled anew. */
static void it_begins_anew(void **state)
{
    const int before = fake_forms(), ended = fake_ended_forms();
    int fd = begin_formed("asleep");

    (void)state;
    fake_hold_forms(1);
    wait_for_waiting("\"waiting\":1,");
    hang_up(fd, true);
    while (fake_ended_forms() == ended)
        sleep_ms(1);
    fd = begin_formed("asleep");
    for (int i = 0; i < 5000 && fake_forms() - before < 2; i++)
        sleep_ms(1);
    assert_int_equal(fake_forms() - before, 2);
    hang_up(fd, true);
    fake_hold_forms(0);
    wait_for_waiting("\"waiting\":0,");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_compiled_once, begin, end),
        cmocka_unit_test_setup_teardown(others_are_not_it, begin, end),
        cmocka_unit_test_setup_teardown(few_are_kept, begin, end),
        cmocka_unit_test_setup_teardown(a_wrong_one_is_not_kept, begin, end),
        cmocka_unit_test_setup_teardown(nobody_waits_for_others, begin, end),
        cmocka_unit_test_setup_teardown(nobody_waits_for_many, begin, end),
        cmocka_unit_test_setup_teardown(it_ends_with_its_time, begin, end),
        cmocka_unit_test_setup_teardown(it_ends_with_its_clients, begin, end),
        cmocka_unit_test_setup_teardown(it_begins_anew, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
