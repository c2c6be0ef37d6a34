/* SPDX-License-Identifier: Apache-2.0 */
/* test_out_of_memory.c: patterns and grammars are compiled while one request for memory after another is
 * refused: each gives CARAT_E_MEMORY with a sentence, and everything is given back; and so while the callback
 * ends them at one question after another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "grammar/automaton.h"
#include "grammar/gbnf.h"
#include "grammar/regex.h"
#include "grammar/schema.h"
#include "refusable.h"

typedef carat_status (*reader)(struct ct_grammar *g, struct ct_str text, int32_t *root, carat_error *err);

static carat_status read_gbnf(struct ct_grammar *g, struct ct_str text, int32_t *root, carat_error *err)
{
    return ct_gbnf(g, text, NULL, root, err);
}

/* A pattern that is sought in texts, with the ways from languages to languages that schemas need. */
static carat_status read_sought(struct ct_grammar *g, struct ct_str text, int32_t *root, carat_error *err)
{
    struct ct_language read, determined;

    ct_language_init(&read);
    ct_language_init(&determined);
    read.watch = g->watch;
    carat_status status = ct_regex_language(text, false, &read, NULL, err);
    if (status == CARAT_OK)
        status = ct_language_determine(&read, &determined, err);
    if (status == CARAT_OK) {
        struct ct_charsets sets = {0};
        *root = ct_grammar_rule(g, "texts");
        ct_language_emit(g, &sets, &determined, ct_rule_start(g, *root), CT_SPELL_JSON,
                         ct_rule_end(g, *root));
        ct_charsets_free(&sets);
    }
    ct_language_free(&determined);
    ct_language_free(&read);
    return status;
}

static carat_status read_schema(struct ct_grammar *g, struct ct_str text, int32_t *root, carat_error *err)
{
    return ct_schema_text(g, text, &(struct ct_schema_options){0}, root, err);
}

static struct ct_grammar_watch *watch; /* of what is compiled */

static carat_status compile(reader read, const char *text, carat_error *err)
{
    struct ct_grammar g;
    struct ct_automaton a;
    int32_t root = -1;

    ct_grammar_init(&g);
    g.watch = watch;
    carat_status status = read(&g, ct_str_of(text), &root, err);
    if (status == CARAT_OK)
        status = ct_grammar_finish(&g, root, err);
    if (status == CARAT_OK)
        status = ct_automaton_open(&a, &g, err);
    if (status == CARAT_OK)
        ct_automaton_close(&a);
    ct_grammar_free(&g);
    return status;
}

static void sweep(reader read, const char *text)
{
    carat_status status = CARAT_E_MEMORY;
    long n = 0;

    for (; status != CARAT_OK; n++) {
        carat_error err = {0};
        const long before = live;
        requests = 0;
        refuse_at = n;
        status = compile(read, text, &err);
        refuse_at = NEVER;
        assert_int_equal(live, before);
        if (status == CARAT_OK)
            break;
        assert_int_equal(status, CARAT_E_MEMORY);
        assert_int_equal(err.code, CARAT_E_MEMORY);
        assert_memory_equal(err.message, "out of memory for ", 18);
    }
    assert_true(n > 20); /* so many requests there were */
    assert_true(requests <= n);
}

static void patterns(void **state)
{
    (void)state;
    static const char text[] = "^(?:[a-z\\d]+|(x{2,40}y)*|\\W[^\\s\"])(?<n>(a|b){3}|$)\xc3\xa9?";

    sweep(ct_regex_rule, text);
    sweep(read_sought, text);
}

static void grammars(void **state)
{
    (void)state;
    sweep(read_gbnf, "root ::= (\"a\" x | [^b-d\\x80-\\uffff]{2,}){3,9} .{7}\n"
                     "x ::= (\"y\" | \"z\" w*)+ root?\nw ::= ((\"1\") | (\"2\" \"3\"){40})\n");
}

/* The tables of states, which are large and hardly used, are not the C library's: it would lay them where
 * smaller pieces were, and could give back neither. */
static void tables_are_apart(void **state)
{
    carat_error err = {0};

    (void)state;
    largest = 0;
    assert_int_equal(compile(read_gbnf, "root ::= [a-z]*", &err), CARAT_OK);
    assert_in_range(largest, 1, 100000);
}

/* ---- the same where the callback says that nobody waits any more ---- */

static long questions, end_at;

static int ends(void *user, size_t done, size_t total)
{
    (void)user;
    (void)total;
    assert_true(done > 0);
    return ++questions >= end_at;
}

/* Ends at one question after another. */
static void end_everywhere(reader read, const char *text, long least)
{
    for (end_at = 1;; end_at += 1 + end_at / 8) {
        struct ct_grammar_watch own = {.progress = ends};
        carat_error err = {0};
        const long before = live;
        questions = 0;
        watch = &own;
        const carat_status status = compile(read, text, &err);
        watch = NULL;
        assert_int_equal(live, before);
        if (status == CARAT_OK)
            break;
        assert_int_equal(status, CARAT_E_CANCELLED);
        assert_int_equal(err.code, CARAT_E_CANCELLED);
        assert_string_equal(err.message, CT_WATCH_SAYS);
        assert_int_equal(questions, end_at);
    }
    assert_true(questions >= least && questions < end_at);
}

static void cancelled(void **state)
{
    (void)state;
    end_everywhere(ct_regex_rule, "(?:a{1,200}b|[c-e]{3,90}){1,20}", 40);
    end_everywhere(read_sought, "(?:a{1,40}b|c){1,5}", 20);
    end_everywhere(read_gbnf, "root ::= (\"ab\" | [c-f]{2,9} x){1,2000}\nx ::= \"y\"{2000}\n", 10);
    end_everywhere(read_schema,
                   "{\"anyOf\":[{\"pattern\":\"a{1,60}b1\"},{\"minItems\":20000,\"maxItems\":50000},"
                   "{\"patternProperties\":{\"a{1,20}b\":{},\"b{1,20}a\":{}},\"minimum\":3,"
                   "\"maxLength\":2000}]}",
                   30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(patterns), cmocka_unit_test(grammars),
                                       cmocka_unit_test(tables_are_apart), cmocka_unit_test(cancelled)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
