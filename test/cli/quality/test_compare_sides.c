/* SPDX-License-Identifier: Apache-2.0 */
/* test_compare_sides.c: two plans that memory has no room for together are refused before an engine is made,
 * with what would fit. The machine's memory is the test's. What is compared is test_compare.sh's. */
#define _POSIX_C_SOURCE 200809L
#include "model/engine.h"
#include "model/head.h"
#include "quality/compare/compare.h"
#include "carat_generate.h"
#include "carat_tools.h"

static carat_status host_of_test(carat_host_info *info, carat_error *err);
#define carat_get_host host_of_test
#include "../../../cli/quality/compare/sides.c"
#undef carat_get_host
#include "../../../cli/model/stored.c"
#include "../../../cli/term/size.c"
#include "../../../cli/io/members.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#undef fail /* the command has one, too */

static uint64_t memory;
static double limit;
static char said[512];
void options_free(struct options *o)
{
    (void)o;
}

int options_copy(struct options *to, const struct options *from)
{
    *to = *from;
    return DONE;
}

static int engines, tile[SIDES]; /* that were created; of the head of each */

static carat_status host_of_test(carat_host_info *info, carat_error *err)
{
    (void)err;
    info->memory_total = memory;
    info->memory_limit.value = limit;
    return CARAT_OK;
}

/* ---- what sides.c calls ---- */

int term_fail(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(said, sizeof said, format, args);
    va_end(args);
    return code;
}

int fail_as(int code, carat_status status, const char *format, ...)
{
    (void)status;
    (void)format;
    return code;
}

int fail_status(const carat_error *err)
{
    return term_fail(FAILED, "%s", err->message);
}

int phases_read(struct phases *p, const struct options *o)
{
    p->o = o;
    return DONE;
}

void phases_options(const struct phases *p, carat_engine_options *e)
{
    static carat_head_options head; /* one place, as the command has it */
    const struct options *o = p->o;
    carat_engine_options_default(e);
    e->exact = o->engine->exact;
    if (!o->head->lm_tile)
        return;
    carat_head_options_default(&head);
    head.strategy = CARAT_HEAD_PRELOAD;
    head.quant = CARAT_QUANT_GROUP;
    head.tile = o->head->lm_tile;
    e->head = &head;
}

int create_engine(carat_engine **engine, const carat_model *model, const carat_engine_options *options)
{
    (void)engine;
    (void)model;
    tile[engines++ % SIDES] = options->head ? options->head->tile : 0;
    return DONE;
}

void term_note(const char *format, ...)
{
    (void)format;
}

int open_packed(carat_model **model, const struct options *o)
{
    (void)model;
    (void)o;
    return FAILED;
}

int mode_read(struct side *s, const char *what, const char *words)
{
    (void)s;
    (void)what;
    (void)words;
    return DONE;
}

char *compare_command(const struct compare *c)
{
    (void)c;
    return NULL;
}

const char *model_name(const char *path)
{
    return path;
}

int progress_update(void *user, size_t done, size_t total)
{
    (void)user;
    (void)done;
    (void)total;
    return 0;
}

void progress_end(struct progress *p)
{
    (void)p;
}

void progress_begin(struct progress *p, const char *label, const char *unit)
{
    (void)p;
    (void)label;
    (void)unit;
}

int fail_memory(void)
{
    return NO_MEMORY;
}

json_t *json_text(const char *text, size_t n)
{
    return json_stringn(text, n);
}

json_t *json_number(double value)
{
    return json_real(value);
}

/* ---- the test ---- */

static void both_plans_must_fit(void **state)
{
    static const struct engine_options engine;
    static const struct head_options no_head, head[SIDES] = {{.lm_tile = 64}, {.lm_tile = 128}};
    static const struct options none = {.engine = &engine, .head = &no_head};
    struct compare c = {.o = &none};
    carat_plan plan[SIDES];
    carat_error err;
    (void)state;

    assert_int_equal(carat_model_open(&c.side[TEST].model, CT_TEST_DATA "/../../models/tiny", NULL, &err),
                     CARAT_OK);
    c.side[REF].model = c.side[TEST].model;
    for (int i = 0; i < SIDES; i++) {
        c.side[i].o = none;
        c.side[i].phases.o = &c.side[i].o;
        c.side[i].path = i == REF ? "first" : "second";
        c.side[i].info.size = sizeof c.side[i].info;
        assert_int_equal(carat_model_get_info(c.side[i].model, &c.side[i].info, &err), CARAT_OK);
    }
    assert_int_equal(plan_sides(&c, plan, 4, 2048), DONE);
    memory = sum_of(plan);
    assert_int_equal(sides_start(&c, 4, 2048), DONE);
    assert_int_equal(engines, 2);
    memory--;
    assert_int_equal(sides_start(&c, 4, 2048), NO_MEMORY);
    assert_int_equal(engines, 2);
    assert_non_null(strstr(said, "first "));
    assert_non_null(strstr(said, "second "));
    assert_non_null(strstr(said, "-c 1024 would fit"));
    limit = (double)memory;
    memory *= 2;
    assert_int_equal(sides_start(&c, 4, 2048), NO_MEMORY); /* a control group's limit counts, too */
    limit = 0;
    memory = 1 << 20;
    assert_int_equal(sides_start(&c, 4, 2048), NO_MEMORY);
    assert_non_null(strstr(said, "no context would fit"));
    memory = 0; /* nobody knows */
    assert_int_equal(sides_start(&c, 4, 2048), DONE);
    /* each side is planned and created with the head that it asked for */
    c.side[REF].o.head = &head[REF];
    c.side[TEST].o.head = &head[TEST];
    assert_int_equal(plan_sides(&c, plan, 4, 2048), DONE);
    assert_int_equal(plan[REF].head_tile, 64);
    assert_int_equal(plan[TEST].head_tile, 128);
    assert_int_equal(sides_start(&c, 4, 2048), DONE);
    assert_int_equal(tile[REF], 64);
    assert_int_equal(tile[TEST], 128);
    carat_model_close(c.side[TEST].model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_plans_must_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
