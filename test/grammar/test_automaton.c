/* SPDX-License-Identifier: Apache-2.0 */
/* test_automaton.c: a grammar that is built by hand, and run: which texts it has, how the shortest ending
 * goes on from everywhere, what alone can follow; and what is refused when a grammar is made ready. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "grammar/automaton.h"

static struct ct_grammar g;
static struct ct_automaton a;
static carat_error err;

static int32_t start(int32_t rule)
{
    return ct_rule_start(&g, rule);
}

static int32_t end(int32_t rule)
{
    return ct_rule_end(&g, rule);
}

static int32_t text_rule(const char *text)
{
    const int32_t rule = ct_grammar_rule(&g, text);

    ct_grammar_text(&g, start(rule), ct_str_of(text), end(rule));
    return rule;
}

static int32_t string_rule(void)
{
    const int32_t rule = ct_grammar_rule(&g, "string"), inside = ct_grammar_node(&g, rule);

    ct_grammar_bytes(&g, start(rule), '"', '"', inside);
    ct_grammar_chars(&g, inside, 0, 0x10ffff, CT_SPELL_JSON, inside);
    ct_grammar_bytes(&g, inside, '"', '"', end(rule));
    return rule;
}

/* '[' value (',' value)* ']' */
static int32_t list_rule(int32_t value)
{
    const int32_t rule = ct_grammar_rule(&g, "list"), first = ct_grammar_node(&g, rule),
                  behind = ct_grammar_node(&g, rule), next = ct_grammar_node(&g, rule);

    ct_grammar_bytes(&g, start(rule), '[', '[', first);
    ct_grammar_bytes(&g, first, ']', ']', end(rule));
    ct_grammar_call(&g, first, value, behind);
    ct_grammar_bytes(&g, behind, ']', ']', end(rule));
    ct_grammar_bytes(&g, behind, ',', ',', next);
    ct_grammar_call(&g, next, value, behind);
    return rule;
}

/* '{' members in any order '}': a and c are required, b is not. */
static int32_t object_rule(int32_t value)
{
    const int32_t rule = ct_grammar_rule(&g, "object"), inside = ct_grammar_node(&g, rule),
                  behind = ct_grammar_node(&g, rule);
    int32_t member[3];

    for (int i = 0; i < 3; i++) {
        const char key[] = {(char)('a' + i), ':', 0};
        member[i] = ct_grammar_rule(&g, key);
        const int32_t colon = ct_grammar_node(&g, member[i]);
        ct_grammar_text(&g, start(member[i]), ct_str_of(key), colon);
        ct_grammar_call(&g, colon, value, end(member[i]));
    }
    const int32_t comma = text_rule(", "), bag = ct_grammar_bag(&g, "members", comma, 0, -1);
    for (int i = 0; i < 3; i++)
        ct_grammar_member(&g, bag, member[i], i != 1);
    ct_grammar_bytes(&g, start(rule), '{', '{', inside);
    ct_grammar_call(&g, inside, bag, behind);
    ct_grammar_bytes(&g, behind, '}', '}', end(rule));
    return rule;
}

static int open_values(void **state)
{
    (void)state;
    ct_grammar_init(&g);
    const int32_t value = ct_grammar_rule(&g, "value");
    const int32_t kinds[] = {object_rule(value), list_rule(value), string_rule(), text_rule("true")};
    for (size_t i = 0; i < CT_COUNT(kinds); i++)
        ct_grammar_call(&g, start(value), kinds[i], end(value));
    ct_grammar_token(&g, start(value), 77, end(value));
    assert_int_equal(ct_grammar_finish(&g, value, &err), CARAT_OK);
    assert_int_equal(ct_automaton_open(&a, &g, &err), CARAT_OK);
    return 0;
}

static int close_values(void **state)
{
    (void)state;
    ct_automaton_close(&a);
    ct_grammar_free(&g);
    return 0;
}

static int32_t run(const char *text)
{
    int32_t at = a.start;

    for (; *text; text++)
        at = ct_automaton_byte(&a, at, (uint8_t)*text);
    return at;
}

static void texts_are_taken_or_not(void **state)
{
    static const struct {
        const char *text;
        int verdict; /* 0: leads nowhere, 1: a beginning, 2: a text of the grammar */
    } table[] = {
        {"", 1},
        {"[]", 2},
        {"[true,[\"a\\u00e9\",[]]]", 2},
        {"[true,]", 0},
        {"[true", 1},
        {"\"\\ud83d\\ude00\"", 2},
        {"\"\\ud83d\"", 0},
        {"\"\\ude00\"", 0},
        {"\"a\\u0041\"", 0}, /* printable ASCII has one spelling */
        {"\"\\u001f\\n\\/\\\\\\\"\"", 2},
        {"\"\n\"", 0},
        {"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", 2},
        {"\"\xff\"", 0},
        {"\"\xc0\x80\"", 0},
        {"\"\xed\xa0\x80\"", 0},
        {"\"\xf4\x90\x80\x80\"", 0},
        {"\"\xe2\x82\"", 0},
        {"{a:[], c:true}", 2},
        {"{c:[], a:true}", 2},
        {"{a:[], c:[], b:\"x\"}", 2},
        {"{b:{a:true, c:true}, c:[], a:[]}", 2},
        {"{a:[], b:[]}", 0},
        {"{a:[], a:[]", 0},
        {"{a:[], c:[], ", 1},
        {"{a:[], c:[], b:[], ", 0},
        {"{a:[], c:[], b:[],", 0},
        {"{}", 0},
        {"[]x", 0},
    };
    (void)state;
    for (size_t i = 0; i < CT_COUNT(table); i++) {
        const int32_t at = run(table[i].text);
        const int verdict = at == CT_DEAD ? 0 : ct_automaton_accepts(&a, at) ? 2 : 1;
        if (verdict != table[i].verdict)
            fail_msg("%s: %d, expected %d", table[i].text, verdict, table[i].verdict);
    }
}

static void endings_become_shorter_by_one(void **state)
{
    static const struct {
        const char *text, *ending;
    } table[] = {
        {"", "#"},
        {"[", "]"},
        {"[[[", "]]]"},
        {"\"abc", "\""},
        {"\"\\ud83d", "\\udc00\""},
        {"{", "a:#, c:#}"},
        {"{b:true", ", a:#, c:#}"},
        {"{c:", "#, a:#}"},
        {"{a:[], c:[], ", "b:#}"},
        {"{a:[], c:{", "a:#, c:#}}"},
    };
    (void)state;
    for (size_t i = 0; i < CT_COUNT(table); i++) {
        char ending[64];
        size_t n = 0;
        int32_t at = run(table[i].text), symbol;
        while ((symbol = ct_automaton_shortest(&a, at)) != CT_NO_SYMBOL) {
            const uint32_t least = ct_automaton_least(&a, at);
            ending[n++] = symbol == 256 ? '#' : (char)symbol;
            at = ct_automaton_symbol(&a, at, symbol);
            assert_int_equal(ct_automaton_least(&a, at), least - 1);
        }
        ending[n] = 0;
        assert_true(ct_automaton_accepts(&a, at));
        assert_int_equal(ct_automaton_least(&a, at), 0);
        assert_string_equal(ending, table[i].ending);
    }
}

static void tokens_stand_for_themselves(void **state)
{
    (void)state;
    const int32_t list = run("[");
    assert_int_not_equal(ct_automaton_token(&a, list, 77), CT_DEAD);
    assert_int_equal(ct_automaton_token(&a, list, 76), CT_DEAD);
    assert_int_equal(ct_automaton_token(&a, run("\""), 77), CT_DEAD);
    assert_true(ct_automaton_accepts(&a, ct_automaton_token(&a, a.start, 77)));
}

static void what_alone_can_follow(void **state)
{
    (void)state;
    int32_t at = run("{a:[], c:[], ");
    assert_int_equal(ct_automaton_only(&a, at), 'b');
    at = ct_automaton_symbol(&a, at, 'b');
    assert_int_equal(ct_automaton_only(&a, at), ':');
    at = ct_automaton_symbol(&a, at, ':');
    assert_int_equal(ct_automaton_only(&a, at), CT_NO_SYMBOL);
    assert_int_equal(ct_automaton_only(&a, run("[]")), CT_NO_SYMBOL);
    assert_int_equal(ct_automaton_only(&a, run("tr")), 'u');
}

static void the_same_place_is_the_same_state(void **state)
{
    (void)state;
    assert_int_equal(run("[true,"), run("[[],"));
    assert_int_equal(run("{a:[], c:[]"), run("{c:true, a:\"x\""));
    assert_int_not_equal(run("{a:[]"), run("{c:[]"));
    const uint32_t sets = a.n_sets;
    (void)run("{c:true, a:\"x\"");
    assert_int_equal(a.n_sets, sets);
}

/* Random texts of the grammar, so many bytes of each: where they lead. */
static int32_t run_random(uint64_t seed, int n)
{
    int32_t at = a.start;

    for (int i = 0; i < n; i++) {
        int32_t next = CT_DEAD;
        for (int tries = 0; next == CT_DEAD && tries < 1000; tries++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            next = ct_automaton_byte(&a, at, "[[[[{{a:bc ,\"x]}true"[seed >> 33 & 15]);
        }
        if (next == CT_DEAD)
            break;
        at = next;
    }
    return at;
}

static void what_nobody_needs_is_forgotten(void **state)
{
    enum { N = 40 };
    int32_t at[N];
    uint32_t least[N];
    (void)state;
    for (int i = 0; i < N; i++) {
        at[i] = run_random((uint64_t)i, 10 + 13 * i);
        least[i] = ct_automaton_least(&a, at[i]);
    }
    for (int round = 0; round < 3; round++) {
        const uint32_t sets = a.n_sets, kept = round ? N / 4 : N / 2;
        for (uint32_t i = 0; i < kept; i++)
            ct_automaton_mark(&a, at[i]);
        ct_automaton_compact(&a);
        assert_true(a.n_sets < sets);
        for (uint32_t i = 0; i < kept; i++)
            at[i] = ct_automaton_moved(&a, at[i]);
        for (uint32_t i = 0; i < kept; i++) {
            assert_int_equal(at[i], run_random(i, 10 + 13 * (int)i)); /* the same state, made once */
            assert_int_equal(ct_automaton_least(&a, at[i]), least[i]);
            int32_t end = at[i];
            while (!ct_automaton_accepts(&a, end))
                end = ct_automaton_symbol(&a, end, ct_automaton_shortest(&a, end));
        }
    }
    texts_are_taken_or_not(state);
}

/* x ::= 'a' x | '': nothing is kept for the ends that follow one another. */
static void a_tail_takes_no_frame(void **state)
{
    (void)state;
    ct_grammar_init(&g);
    const int32_t x = ct_grammar_rule(&g, "x"), next = ct_grammar_node(&g, x);
    ct_grammar_bytes(&g, start(x), 'a', 'a', next);
    ct_grammar_call(&g, next, x, end(x));
    ct_grammar_skip(&g, start(x), end(x));
    assert_int_equal(ct_grammar_finish(&g, x, &err), CARAT_OK);
    assert_int_equal(ct_automaton_open(&a, &g, &err), CARAT_OK);
    const int32_t one = run("a");
    assert_int_equal(run("aaaaaaaaaa"), one);
    assert_true(ct_automaton_accepts(&a, one));
    assert_true(a.n_sets < 8);
}

/* x ::= 'a' x 'b' | 'a' x 'c' | 'd': two ways to read each a. */
static void ways_to_read_share_their_frames(void **state)
{
    char text[2 * 200 + 2] = {0};
    (void)state;
    ct_grammar_init(&g);
    const int32_t x = ct_grammar_rule(&g, "x");
    for (char last = 'b'; last <= 'c'; last++) {
        const int32_t inside = ct_grammar_node(&g, x), behind = ct_grammar_node(&g, x);
        ct_grammar_bytes(&g, start(x), 'a', 'a', inside);
        ct_grammar_call(&g, inside, x, behind);
        ct_grammar_bytes(&g, behind, last, last, end(x));
    }
    ct_grammar_text(&g, start(x), ct_str_of("d"), end(x));
    assert_int_equal(ct_grammar_finish(&g, x, &err), CARAT_OK);
    assert_int_equal(ct_automaton_open(&a, &g, &err), CARAT_OK);
    memset(text, 'a', 200);
    text[200] = 'd';
    for (int i = 0; i < 200; i++)
        text[201 + i] = i % 3 ? 'b' : 'c';
    assert_true(ct_automaton_accepts(&a, run(text)));
    text[400] = 0;
    assert_int_equal(ct_automaton_least(&a, run(text)), 1);
    assert_true(a.n_places < 8 * 800 && !a.full);
}

static void what_begins_with_itself_is_refused(void **state)
{
    (void)state;
    ct_grammar_init(&g);
    const int32_t x = ct_grammar_rule(&g, "x"), empty = ct_grammar_rule(&g, "empty");
    const int32_t behind = ct_grammar_node(&g, x), next = ct_grammar_node(&g, x);
    ct_grammar_skip(&g, start(empty), end(empty));
    ct_grammar_call(&g, start(x), empty, behind);
    ct_grammar_call(&g, behind, x, next);
    ct_grammar_text(&g, next, ct_str_of("a"), end(x));
    ct_grammar_text(&g, start(x), ct_str_of("b"), end(x));
    assert_int_equal(ct_grammar_finish(&g, x, &err), CARAT_E_ARGUMENT);
    assert_string_equal(err.message,
                        "the rule x begins with itself (left recursion), expected something before it");
    ct_grammar_free(&g);
}

static void what_has_no_text_is_refused(void **state)
{
    (void)state;
    ct_grammar_init(&g);
    const int32_t x = ct_grammar_rule(&g, "x"), next = ct_grammar_node(&g, x);
    ct_grammar_bytes(&g, start(x), 'a', 'a', next);
    ct_grammar_call(&g, next, x, end(x));
    assert_int_equal(ct_grammar_finish(&g, x, &err), CARAT_E_ARGUMENT);
    assert_string_equal(err.message, "no text fits");
    ct_grammar_free(&g);
}

/* Where one way has no end, the other is the only one. */
static void a_way_without_an_end_is_left_out(void **state)
{
    (void)state;
    ct_grammar_init(&g);
    const int32_t x = ct_grammar_rule(&g, "x"), never = ct_grammar_rule(&g, "never");
    ct_grammar_bytes(&g, start(never), 'n', 'n', ct_grammar_node(&g, never));
    ct_grammar_call(&g, start(x), never, end(x));
    ct_grammar_text(&g, start(x), ct_str_of("no"), end(x));
    assert_int_equal(ct_grammar_finish(&g, x, &err), CARAT_OK);
    assert_int_equal(ct_automaton_open(&a, &g, &err), CARAT_OK);
    assert_int_equal(run("x"), CT_DEAD);
    assert_int_equal(ct_automaton_only(&a, run("n")), 'o');
}

/* More than the table of places begins with. */
static void a_state_of_many_places(void **state)
{
    (void)state;
    ct_grammar_init(&g);
    const int32_t rule = ct_grammar_rule(&g, "many");
    for (int i = 0; i < 5000; i++) {
        const int32_t first = ct_grammar_node(&g, rule), second = ct_grammar_node(&g, rule);
        ct_grammar_skip(&g, start(rule), first);
        ct_grammar_bytes(&g, first, 'a', 'a', second);
        ct_grammar_bytes(&g, second, (uint8_t)('a' + i % 26), (uint8_t)('a' + i % 26), end(rule));
    }
    assert_int_equal(ct_grammar_finish(&g, rule, &err), CARAT_OK);
    assert_int_equal(ct_automaton_open(&a, &g, &err), CARAT_OK);
    const int32_t at = ct_automaton_byte(&a, a.start, 'a');
    for (int c = 'a'; c <= 'z'; c++)
        assert_true(ct_automaton_accepts(&a, ct_automaton_byte(&a, at, (uint8_t)c)));
    assert_int_equal(ct_automaton_byte(&a, at, 'A'), CT_DEAD);
    assert_int_equal(ct_automaton_byte(&a, a.start, 'b'), CT_DEAD);
}

/* list ::= '[' inside ']', inside ::= '' | list | 'ab' list | tie, where a tie has two shortest texts: of one
 * level more, and of two. */
static int32_t nested_rule(bool flat_first)
{
    const int32_t list = ct_grammar_rule(&g, "list"), inside = ct_grammar_rule(&g, "inside"),
                  word = text_rule("ab"), tie = ct_grammar_rule(&g, "tie");
    const int32_t in = ct_grammar_node(&g, list), out = ct_grammar_node(&g, list),
                  behind = ct_grammar_node(&g, inside);

    ct_grammar_bracket(&g, start(list), '[', 1, in);
    ct_grammar_call(&g, in, inside, out);
    ct_grammar_bracket(&g, out, ']', -1, end(list));
    ct_grammar_skip(&g, start(inside), end(inside));
    ct_grammar_call(&g, start(inside), word, behind);
    ct_grammar_call(&g, behind, list, end(inside));
    ct_grammar_call(&g, start(inside), list, end(inside));
    ct_grammar_call(&g, start(inside), tie, end(inside));
    const int32_t first = ct_grammar_node(&g, tie);
    int32_t at = first;
    ct_grammar_bytes(&g, start(tie), '!', '!', first);
    for (int way = 0; way < 2; way++, at = first)
        for (int i = 0; i < 4; i++) {
            const int32_t next = i < 3 ? ct_grammar_node(&g, tie) : end(tie);
            if (way == flat_first)
                ct_grammar_bracket(&g, at, i < 2 ? '[' : ']', i < 2 ? 1 : -1, next);
            else
                ct_grammar_bytes(&g, at, 'x', 'x', next);
            at = next;
        }
    return list;
}

static void levels_have_a_limit(void **state)
{
    static const struct {
        const char *text;
        bool goes_on;
    } table[] = {{"[[[", true},     {"[[[[", false},   {"[[[a", false}, {"[[ab[", true},
                 {"[[ab[[", false}, {"[ab[ab[", true}, {"[[]", true},   {"[[[]][", false},
                 {"[![[]]", true},  {"[!xxxx]", true}, {"[[![", false}, {"[ab[[]", true}};
    int ties = 0;

    (void)state;
    for (int flat_first = 0; flat_first < 2; flat_first++) {
        ct_grammar_init(&g);
        g.most_levels = 3;
        const int32_t list = nested_rule(flat_first);
        assert_int_equal(ct_grammar_finish(&g, list, &err), CARAT_OK);
        assert_int_equal(ct_automaton_open(&a, &g, &err), CARAT_OK);
        for (size_t i = 0; i < CT_COUNT(table); i++)
            if ((run(table[i].text) != CT_DEAD) != table[i].goes_on)
                fail_msg("%s", table[i].text);
        int32_t at = run("[[!");
        ties += at != CT_DEAD; /* where the shortest way that was found first is the flat one */
        for (uint32_t least = ct_automaton_least(&a, at); at != CT_DEAD && least > 0; least--) {
            assert_int_equal(ct_automaton_least(&a, at), least);
            at = ct_automaton_symbol(&a, at, ct_automaton_shortest(&a, at));
            assert_int_not_equal(at, CT_DEAD);
        }
        at = run("[[");
        ct_automaton_mark(&a, at);
        ct_automaton_compact(&a);
        at = ct_automaton_byte(&a, ct_automaton_moved(&a, at), '[');
        assert_int_not_equal(at, CT_DEAD);
        assert_int_equal(ct_automaton_byte(&a, at, '['), CT_DEAD);
        close_values(NULL);
    }
    assert_int_not_equal(ties, 0);
}

static void nodes_have_a_limit(void **state)
{
    (void)state;
    ct_grammar_init(&g);
    const int32_t x = ct_grammar_rule(&g, "x");
    for (int i = 0; i < CT_NODES_MAX; i++)
        (void)ct_grammar_node(&g, x);
    assert_int_equal(ct_grammar_finish(&g, x, &err), CARAT_E_ARGUMENT);
    assert_string_equal(err.message, "more than 200000 states are needed");
    ct_grammar_free(&g);
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, open_values, close_values)
#define OWN(test)  cmocka_unit_test_teardown(test, close_values)
    const struct CMUnitTest tests[] = {
        WITH(texts_are_taken_or_not),
        WITH(endings_become_shorter_by_one),
        WITH(tokens_stand_for_themselves),
        WITH(what_alone_can_follow),
        WITH(the_same_place_is_the_same_state),
        WITH(what_nobody_needs_is_forgotten),
        OWN(a_tail_takes_no_frame),
        OWN(ways_to_read_share_their_frames),
        cmocka_unit_test(what_begins_with_itself_is_refused),
        cmocka_unit_test(what_has_no_text_is_refused),
        OWN(a_way_without_an_end_is_left_out),
        OWN(a_state_of_many_places),
        cmocka_unit_test(levels_have_a_limit),
        cmocka_unit_test(nodes_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
