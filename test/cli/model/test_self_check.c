/* SPDX-License-Identifier: Apache-2.0 */
/* test_self_check.c: a self-check finds one bit that an operation gets wrong once: in a later run, in those
 * that decide what is right, while the answer is generated, or always on one processor; and names processor,
 * run, operation and layer. It is linked with cli/model/self_check*.c; what that asks of the rest of the
 * command stands here. */
#define _GNU_SOURCE
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#undef fail /* the command has one, too */

#include "engine/plant.h"
#include "model/engine.h"
#include "model/model.h"
#include "model/self_check.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/out_json.h"
#include "term/output.h"
#include "term/progress.h"

#define TINY CT_TEST_DATA "/../../models/tiny"

enum { GENERATING = 0, NEVER = -1, MOST_TOLD = 64 };

static carat_model *tiny;
static carat_status failed_as;

static struct self_check check;
static struct told {
    int n;
    struct self_check_fault of[MOST_TOLD];
} told;

/* What goes wrong. */
static struct {
    int run, processor; /* all runs on it, where it is not NEVER */
    int generates;      /* and wrong while the answer is generated there */
    int elsewhere;      /* events on another processor than is checked */
    struct plant plant;
} fault;

static int is_wrong_now(void *user)
{
    const int runs = check.start > 0;
    const int processor = check.processor[check.runs % check.n_processors];

    (void)user;
    if (processor >= 0 && sched_getcpu() != processor)
        fault.elsewhere++;
    if (fault.processor != NEVER)
        return (runs ? processor : fault.generates ? check.processor[0] : NEVER) == fault.processor;
    return (runs ? (int)check.runs + 1 : GENERATING) == fault.run && !fault.plant.done;
}

static int (*asks)(void *user) = is_wrong_now;

/* ---- the rest of the command ---- */

int create_engine(carat_engine **engine, const carat_model *model, const carat_engine_options *options)
{
    assert_int_equal(carat_engine_create(engine, model, options, NULL), CARAT_OK);
    fault.plant.asks = asks;
    plant_begin(&fault.plant, *engine);
    return DONE;
}

int create_session(carat_session **session, carat_engine *engine, carat_progress watch, void *user)
{
    assert_true(watch == NULL && user == NULL);
    assert_int_equal(carat_session_create(session, engine, NULL, NULL), CARAT_OK);
    return DONE;
}

int fail_status(const carat_error *err)
{
    failed_as = err->code;
    return FAILED;
}

int fail_memory(void)
{
    return NO_MEMORY;
}

int open_packed(carat_model **model, const struct options *o)
{
    (void)o;
    assert_int_equal(carat_model_open(model, TINY, NULL, NULL), CARAT_OK);
    return DONE;
}

static char said[2000];

void out_print(const char *format, ...)
{
    const size_t n = strlen(said);
    va_list args;

    va_start(args, format);
    vsnprintf(said + n, sizeof said - n, format, args);
    va_end(args);
}

int out_json(json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT);

    assert_non_null(text);
    out_print("%s", text);
    free(text);
    json_decref(value);
    return DONE;
}

bool out_flush(void)
{
    return true;
}

static bool is_read = true;

bool out_is_read(void)
{
    return is_read;
}

void interrupt_install(void)
{
}

void progress_begin(struct progress *p, const char *label, const char *unit)
{
    (void)p, (void)label, (void)unit;
}

int progress_update(void *user, size_t done, size_t total)
{
    (void)user;
    assert_true(done <= 2 * total);
    return 0;
}

void progress_end(struct progress *p)
{
    (void)p;
}

void progress_hide(void)
{
}

/* ---- checks ---- */

static void keep(void *user, const struct self_check_fault *f)
{
    struct told *t = user;

    assert_true(t->n < MOST_TOLD);
    t->of[t->n++] = *f;
}

static int generates_wrongly; /* on a processor that is wrong */

static void run_check(int rounds, int run, int processor, const char *operation, int layer)
{
    memset(&check, 0, sizeof check);
    memset(&told, 0, sizeof told);
    memset(&fault, 0, sizeof fault);
    check.rounds = rounds;
    check.tell = keep;
    check.user = &told;
    fault.run = run;
    fault.processor = processor;
    fault.generates = generates_wrongly;
    fault.plant.operation = operation;
    fault.plant.layer = layer;
    assert_int_equal(self_check_open(&check, tiny, NULL), DONE);
    assert_int_equal(self_check_run(&check), DONE);
    assert_int_equal(check.wrong, told.n);
    assert_int_equal(fault.elsewhere, 0);
    if (run != NEVER || processor != NEVER)
        assert_true(fault.plant.done > 0);
    self_check_close(&check);
}

static void expect_told(int at, int run, const char *operation, int layer)
{
    const struct self_check_fault *f = &told.of[at];

    assert_true(at < told.n);
    assert_string_equal(f->operation, operation);
    assert_int_equal(f->layer, layer);
    assert_int_equal(f->run, run);
    assert_int_equal(f->processor, check.processor[run ? (run - 1) % check.n_processors : 0]);
    assert_true(f->seconds >= 0 && f->seconds <= check.seconds);
}

static void nothing_is_wrong(void **state)
{
    (void)state;
    run_check(3, NEVER, NEVER, "down", 3);
    assert_int_equal(told.n, 0);
    assert_int_equal(check.runs, 3 * check.n_processors > 2 ? 3 * check.n_processors : 2);
}

static void one_bit_in_one_run(void **state)
{
    static const struct {
        const char *op;
        int layer, run;
    } planted[] = {{"down", 3, 4},          {"q", 0, 5}, {"attend", 5, 6}, {"geglu", 2, 1}, {"embed", -1, 2},
                   {"ffn_post_norm", 4, 3}, {"o", 1, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        run_check(6, planted[i].run, NEVER, planted[i].op, planted[i].layer);
        assert_int_equal(told.n, 1);
        expect_told(0, planted[i].run, planted[i].op, planted[i].layer);
    }
}

static void while_the_answer_is_generated(void **state)
{
    (void)state;
    run_check(2, GENERATING, NEVER, "final_norm", -1);
    assert_int_equal(told.n, 1);
    expect_told(0, 0, "generating", -1);
}

static void always_on_one_processor(void **state)
{
    (void)state;
    run_check(4, NEVER, NEVER, "down", 2);
    if (check.n_processors < 2)
        skip();
    for (int i = 0; i < 2; i++) {
        const int bad = check.processor[i];
        run_check(4, NEVER, bad, "down", 2);
        assert_int_equal(told.n, 4);
        for (int k = 0; k < 4; k++)
            expect_told(k, 1 + i + k * check.n_processors, "down", 2);
    }
}

/* Of three or more processors one that is always wrong is outvoted, of two neither is believed. */
static void the_first_processor_is_always_wrong(void **state)
{
    (void)state;
    run_check(3, NEVER, NEVER, "down", 2);
    if (check.n_processors < 2)
        skip();
    const int several = check.n_processors > 2, bad = check.processor[0];
    generates_wrongly = 1;
    run_check(5, NEVER, bad, "down", 2);
    generates_wrongly = 0;
    assert_int_equal(check.undecided, !several);
    int on_it = 0, generating = 0;
    for (int i = 0; i < told.n; i++) {
        on_it += told.of[i].processor == bad;
        generating += strcmp(told.of[i].operation, "generating") == 0;
    }
    assert_int_equal(generating, 1);
    assert_int_equal(told.n, 5 + 1);
    assert_int_equal(on_it, several ? 5 + 1 : 1);
}

static void what_can_be_decided(void **state)
{
    (void)state;
    run_check(5, 4, NEVER, "down", 2); /* once */
    assert_int_equal(told.n, 1);
    assert_false(check.undecided);
    if (check.n_processors != 2)
        skip();
    run_check(5, NEVER, check.processor[0], "down", 2); /* but right while generating */
    assert_int_equal(told.of[0].processor, check.processor[0]);
    assert_false(check.undecided);
    run_check(5, NEVER, check.processor[1], "down", 2);
    assert_int_equal(told.of[0].processor, check.processor[1]);
    assert_true(check.undecided);
}

static int stop(void *user, double share)
{
    (void)user;
    return share > 0.5;
}

static void cancelled(void **state)
{
    (void)state;
    memset(&check, 0, sizeof check);
    fault.plant = (struct plant){.operation = "down"};
    fault.processor = fault.run = NEVER;
    check.rounds = 8;
    check.watch = stop;
    assert_int_equal(self_check_open(&check, tiny, NULL), DONE);
    assert_int_equal(self_check_run(&check), FAILED);
    assert_int_equal(failed_as, CARAT_E_CANCELLED);
    assert_int_equal(check.runs, 4 * check.n_processors + 1);
    self_check_close(&check);
}

/* Events before the bit is wrong, since the check is not at hand: generating has some 2600, a run 220. */
static int events;

static int is_wrong_later(void *user)
{
    (void)user;
    return --events < 0 && fault.plant.done == 0;
}

static int is_wrong_on_one_processor(void *user)
{
    (void)user;
    return sched_getcpu() == fault.processor;
}

static void what_is_said_of_two(void **state)
{
    const struct engine_options engine = {.threads = 1};
    const struct options o = {.engine = &engine};

    (void)state;
    run_check(1, NEVER, NEVER, "down", 2);
    if (check.n_processors != 2)
        skip();
    asks = is_wrong_on_one_processor;
    for (int json = 0; json < 2; json++) {
        memset(&fault, 0, sizeof fault);
        memset(said, 0, sizeof said);
        fault.plant = (struct plant){.operation = "down", .layer = 3};
        fault.processor = check.processor[1];
        assert_int_equal(self_check(&o, 3, 0, json), CHECK_FAILED);
        assert_non_null(strstr(said, json ? "\"undecided\":true" : "two processors cannot say which.\n"));
    }
    asks = is_wrong_now;
}

/* Nobody reads: that is no failure of the check's own, and it ends at once. */
static void the_reader_goes_away(void **state)
{
    const struct engine_options engine = {.threads = 1};
    const struct options o = {.engine = &engine};

    (void)state;
    memset(&fault, 0, sizeof fault);
    fault.plant = (struct plant){.operation = "none"};
    fault.run = fault.processor = NEVER;
    is_read = false;
    assert_int_equal(self_check(&o, 0, 3000, false), PIPE_CLOSED);
    is_read = true;
}

static void what_is_said(void **state)
{
    const struct engine_options engine = {.threads = 1};
    const struct options o = {.engine = &engine};

    (void)state;
    for (int json = 0; json < 2; json++) {
        memset(&fault, 0, sizeof fault);
        memset(said, 0, sizeof said);
        fault.plant = (struct plant){.operation = "none"};
        fault.run = NEVER;
        fault.processor = NEVER;
        assert_int_equal(self_check(&o, 2, 0, json), DONE);
        assert_non_null(
            strstr(said, json ? "{\"ok\":true,\"runs\":" : "every operation gave the same bits\n"));
        asks = is_wrong_later;
        for (int later = 0; later < 2; later++) {
            memset(said, 0, sizeof said);
            fault.plant = (struct plant){.operation = "down", .layer = 3};
            events = later ? 3000 : 0;
            assert_int_equal(self_check(&o, 4, 0, json), CHECK_FAILED);
            assert_non_null(strstr(said, json ? "{\"ok\":false,\"runs\":" : " s: 1 differed\n"));
            assert_non_null(strstr(said, later
                                             ? (json ? "\"operation\":\"down\",\"layer\":3,\"run\":"
                                                     : ": down of layer 3 gave other bits, in run ")
                                             : (json ? "\"operation\":\"generating\",\"layer\":-1,\"run\":0,"
                                                     : ": generating gave other bits, in run 0, 0.0 s")));
        }
        asks = is_wrong_now;
    }
}

static int open_model_once(void **state)
{
    (void)state;
    assert_int_equal(carat_model_open(&tiny, TINY, NULL, NULL), CARAT_OK);
    return 0;
}

static int close_model_once(void **state)
{
    (void)state;
    carat_model_close(tiny);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_wrong),
        cmocka_unit_test(one_bit_in_one_run),
        cmocka_unit_test(while_the_answer_is_generated),
        cmocka_unit_test(always_on_one_processor),
        cmocka_unit_test(the_first_processor_is_always_wrong),
        cmocka_unit_test(what_can_be_decided),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(what_is_said),
        cmocka_unit_test(what_is_said_of_two),
        cmocka_unit_test(the_reader_goes_away),
    };

    return cmocka_run_group_tests(tests, open_model_once, close_model_once);
}
