/* SPDX-License-Identifier: Apache-2.0 */
/* test_form_sample.c: 500 random schemas of every keyword that is understood, with JSON that fits them and
 * JSON that nearly does, as jsonschema has judged it (tools/make_form_sample.py): the automaton takes the one
 * and refuses the other. Texts that are walked through it at random are JSON without a key that is there
 * twice, and it says of each how short it can end. */
#define _POSIX_C_SOURCE 200809L
#include "grammar/schema_reader.h"

#include <stdio.h>

enum { MOST = 60000, STEPS = 80 };

static uint64_t random_state = 1;
static uint32_t next_random(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33);
}

/* Any bytes that lead on, then the shortest ending. Returns the length. */
static size_t walk(struct reader *r, char *text)
{
    int32_t state = r->a.start;
    size_t n = 0;

    for (uint32_t i = next_random() % STEPS; i > 0; i--) {
        const uint8_t byte = (uint8_t)next_random();
        for (int k = 0; k < 256; k++) {
            const int32_t to = ct_automaton_byte(&r->a, state, (uint8_t)(byte + k));
            if (to == CT_DEAD)
                continue;
            text[n++] = (char)(byte + k);
            state = to;
            break;
        }
    }
    for (int32_t symbol; (symbol = ct_automaton_shortest(&r->a, state)) != CT_NO_SYMBOL;) {
        const uint32_t least = ct_automaton_least(&r->a, state);
        assert_true(n < MOST - 1 && symbol < 256);
        text[n++] = (char)symbol;
        state = ct_automaton_symbol(&r->a, state, symbol);
        assert_int_equal(ct_automaton_least(&r->a, state), least - 1);
    }
    assert_true(ct_automaton_accepts(&r->a, state));
    return n;
}

/* In brackets, so that the reader of trees takes any value. */
static void check_walk(struct reader *r, const char *schema)
{
    static char text[MOST + 2] = "[";
    struct ct_json_tree tree = {0};
    size_t n = walk(r, text + 1) + 1;
    carat_error err = {0};

    text[n++] = ']';
    if (ct_json_tree_read(&tree, CARAT_E_ARGUMENT, "text", (struct ct_bytes){(uint8_t *)text, n}, &err))
        fail_msg("%s: %.*s: %s", schema, (int)n, text, err.message);
    ct_json_tree_free(&tree);
}

static void texts_are_judged_as_by_others(void **state)
{
    struct reader free_space, dumps;
    const struct ct_schema_options as_dumps = {.space = CT_SPACE_DUMPS};
    char *line = NULL, *schema = NULL;
    size_t room = 0;
    int n = 0, fit = 0, not_fit = 0, wrong = 0;
    FILE *f = fopen(CT_TEST_DATA "/grammar/sample.txt", "r");

    (void)state;
    assert_non_null(f);
    for (ssize_t length; (length = getline(&line, &room, f)) > 2;) {
        line[length - 1] = 0;
        if (line[0] == 's') {
            if (n++) {
                reader_close(&free_space);
                reader_close(&dumps);
                free(schema);
            }
            schema = strdup(line + 2);
            if (reader_open(&free_space, schema, &in_order) || reader_open(&dumps, schema, &as_dumps))
                fail_msg("%s: %s", schema, free_space.err.message);
            check_walk(&free_space, schema);
            check_walk(&dumps, schema);
        } else if (line[0] != '#') {
            const bool fits = line[0] == '+';
            *(fits ? &fit : &not_fit) += 1;
            if (reader_takes(&free_space, line + 2, false) == fits &&
                reader_takes(&dumps, line + 2, false) == fits)
                continue;
            wrong++;
            print_error("%s: %s: expected that it %s\n", schema, line + 2, fits ? "fits" : "does not fit");
        }
    }
    reader_close(&free_space);
    reader_close(&dumps);
    free(schema);
    free(line);
    fclose(f);
    assert_int_equal(n, 500);
    assert_true(fit >= 1000 && not_fit >= 1000);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts_are_judged_as_by_others)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
