/* SPDX-License-Identifier: Apache-2.0 */
/* test_gbnf.c: which texts a grammar in GBNF fits, where one stops fitting, and every reason for which a
 * grammar is refused, with line and column. test/data/grammar holds whole ones. tools/check_patterns.py
 * compares random grammars with Python's re. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "grammar/automaton.h"
#include "grammar/gbnf.h"
#include "grammar/gbnf_read.h"
#include "text/vocabulary.h"

#define MOST 10 /* texts of a row */

struct form {
    struct ct_grammar grammar;
    struct ct_automaton automaton;
};

static carat_status form_open(struct form *f, struct ct_str text, const struct ct_tokenizer *t,
                              carat_error *err)
{
    int32_t root;

    *f = (struct form){0};
    ct_grammar_init(&f->grammar);
    carat_status status = ct_gbnf(&f->grammar, text, t, &root, err);
    if (status == CARAT_OK)
        status = ct_grammar_finish(&f->grammar, root, err);
    if (status == CARAT_OK)
        status = ct_automaton_open(&f->automaton, &f->grammar, err);
    if (status != CARAT_OK)
        ct_grammar_free(&f->grammar);
    return status;
}

static void form_close(struct form *f)
{
    ct_automaton_close(&f->automaton);
    ct_grammar_free(&f->grammar);
}

/* The state behind so many bytes as some text begins with; *at: their number. */
static int32_t form_follow(struct form *f, const char *text, size_t *at)
{
    int32_t state = f->automaton.start, next;

    for (*at = 0; text[*at]; ++*at, state = next)
        if ((next = ct_automaton_byte(&f->automaton, state, (uint8_t)text[*at])) == CT_DEAD)
            break;
    return state;
}

static bool form_fits(struct form *f, const char *text)
{
    size_t at;
    const int32_t state = form_follow(f, text, &at);

    return !text[at] && ct_automaton_accepts(&f->automaton, state);
}

static void open_text(struct form *f, const char *text)
{
    carat_error err = {0};

    if (form_open(f, ct_str_of(text), NULL, &err) != CARAT_OK)
        fail_msg("%s: %s", text, err.message);
}

struct row {
    const char *grammar;
    const char *fit[MOST], *not [MOST];
};

static void texts(void **state)
{
    (void)state;
    static const struct row row[] = {
        {"root ::= \"abc\"", {"abc"}, {"", "ab", "abcd"}},
        {"root ::= \"\"", {""}, {"a"}},
        {"root::=\"a\"|\"bc\"", {"a", "bc"}, {"", "b", "abc"}},
        {"root ::= \"a\" | ", {"a", ""}, {"b"}},
        {"root ::= | \"a\"\n", {"a", ""}, {"b"}},
        {"root ::= \"a\" \"b\" # c\n", {"ab"}, {"a", "b"}},
        {"# c\n\n  root ::=\n\n \"a\"\r\n\r\n # d", {"a"}, {""}},
        {"root ::= \"a\" |\n \"b\"\n", {"a", "b"}, {"ab"}},
        {"root ::= \"a\"\n | \"b\"\n | \"c\" x\nx ::= \"d\"", {"a", "b", "cd"}, {"ab", "c", "d"}},
        {"x ::= \"b\" \r root ::= \"a\" x", {"ab"}, {"b", "a"}},
        {"root ::= A-b-0 0\r\nA-b-0 ::= \"a\"\r\n0 ::= \"0\"", {"a0"}, {"a"}},
        /* characters */
        {"root ::= \"\\t\\r\\n\\\\\\\"\\[\\]\\-\"", {"\t\r\n\\\"[]-"}, {""}},
        {"root ::= \"\\x41\\u00e9\\U0001F600\\x80\"", {"A\xc3\xa9\xf0\x9f\x98\x80\xc2\x80"}, {"A"}},
        {"root ::= \"\xe2\x82\xac\n\"", {"\xe2\x82\xac\n"}, {"\xe2\x82\xac"}},
        {"root ::= [abc]", {"a", "b", "c"}, {"", "d", "ab"}},
        {"root ::= [^abc]", {"d", "^", "\n", "\xe2\x82\xac"}, {"", "a", "dd", "\xe2\x82"}},
        {"root ::= [a-cx-z-]", {"a", "b", "z", "-"}, {"d", "w"}},
        {"root ::= [-a]", {"-", "a"}, {"b"}},
        {"root ::= [a\\-c]", {"-", "a", "c"}, {"b"}},
        {"root ::= [[\\]^\"]", {"[", "]", "^", "\""}, {"\\"}},
        {"root ::= [\\x00-\\x1f]", {"\x01", "\n"}, {" "}},
        {"root ::= [\xc3\xa0-\xc3\xbf]", {"\xc3\xa9"}, {"e", "\xc4\x80"}},
        {"root ::= [c-ea-d\n]", {"a", "e", "\n"}, {"f"}},
        {"root ::= .", {"a", "\n", "\xf0\x9f\x98\x80"}, {"", "ab", "\x80"}},
        {"root ::= \"#\" [#] # \"\n", {"##"}, {"#"}},
        /* repeats */
        {"root ::= \"ab\"*", {"", "ab", "abab"}, {"a", "aba", "abb"}},
        {"root ::= \"ab\"+", {"ab", "abab"}, {"", "a"}},
        {"root ::= \"ab\"?", {"", "ab"}, {"a", "abab"}},
        {"root ::= \"a\" * \"b\" ? \"c\" +", {"c", "aabc", "bcc"}, {"", "ab", "abbc"}},
        {"root ::= \"a\"* | \"b\"+ | \"c\"? \"d\"", {"", "aa", "bb", "cd", "d"}, {"ab", "c", "ad", "bd"}},
        {"root ::= \"ab\"{3}", {"ababab"}, {"", "abab", "abababab"}},
        {"root ::= \"a\"{0}", {""}, {"a"}},
        {"root ::= \"x\" \"a\"{0} \"y\"", {"xy"}, {"x", "xay"}},
        {"root ::= \"a\"{1}", {"a"}, {"", "aa"}},
        {"root ::= \"a\"{0,}", {"", "aaa"}, {"b"}},
        {"root ::= \"a\"{1,}", {"a", "aaa"}, {""}},
        {"root ::= \"a\"{2,}", {"aa", "aaaaa"}, {"", "a"}},
        {"root ::= \"a\"{7,}", {"aaaaaaa", "aaaaaaaaaa"}, {"aaaaaa"}},
        {"root ::= [a]{ 1 , 3 } \"b\"", {"ab", "aab", "aaab"}, {"b", "aaaab"}},
        {"root ::= \"ab\"{0,6} \"c\"", {"c", "abc", "ababababababc"}, {"abababababababc", "ab"}},
        {"root ::= \"ab\"{6,} \"c\"", {"ababababababc", "abababababababc"}, {"abababababc"}},
        {"root ::= .{5,6}",
         {"\xc3\xa9"
          "abcd",
          "abcdef"},
         {"abcd", "abcdefg"}},
        {"root ::= x{2,3}\nx ::= \"a\" | \"bc\"", {"aa", "bca", "bcbcbc"}, {"a", "aaaa"}},
        /* groups */
        {"root ::= (\"a\" | \"b\") \"c\"", {"ac", "bc"}, {"c", "abc"}},
        {"root ::= ((\"a\"))", {"a"}, {"", "aa"}},
        {"root ::= () \"a\" ()*", {"a"}, {""}},
        {"root ::= (\"a\" | (\"b\" \"c\")+)* \"d\"", {"d", "ad", "abcbcad"}, {"abd", "a"}},
        {"root ::= (\"a\" | )+ \"b\"", {"b", "aab"}, {"a"}},
        {"root ::= (\n\"a\" # c )\n|\n\"b\"\n)? \"c\"", {"c", "ac", "bc"}, {"abc"}},
        {"root ::= (\"a\" \"b\" | \"c\"){2} \"d\"", {"ababd", "abcd", "ccd"}, {"abd", "cccd"}},
        {"root ::= (\"a\" \"b\" | \"c\"){2,}", {"abab", "ccc"}, {"ab", "c"}},
        {"root ::= (\"a\"? \"b\"?){0,2}", {"", "ab", "aa", "bab", "b"}, {"aaa", "baba", "baab"}},
        {"root ::= ((\"a\" \"b\"){2} \"c\"){2}", {"ababcababc"}, {"ababc", "abcabc"}},
        {"root ::= (\"a\"){3}", {"aaa"}, {"aa"}},
        {"root ::= (\"a\" | \"b\")? (\"c\" | \"d\")", {"c", "ad", "bc"}, {"a", "abc"}},
        {"root ::= (\"a\"* | \"b\" \"c\"*)*", {"", "aabcc", "ba"}, {"c", "ac"}},
        {"root ::= (\"a\"+ | \"b\")+ \"c\"", {"aac", "abac", "bc"}, {"c"}},
        /* rules */
        {"root ::= \"(\" root \")\" | \"x\"", {"x", "((x))"}, {"(x", "x)", "()"}},
        {"root ::= a\na ::= \"a\" b?\nb ::= \"b\" a?", {"a", "ab", "aba"}, {"b", "aa"}},
        {"root ::= ws* \"a\" ws*\nws ::= [ ]*", {"a", "  a ", " a"}, {"", " "}},
        {"root ::= (e e)* \"a\" e+\ne ::= \"\" | \" \"", {"a", "  a", " a "}, {""}},
        {"root ::= \"a\" | [^\\x00-\\U0010ffff]{5}", {"a"}, {"", "b"}},
        {"root ::= \"a\" | never\nnever ::= \"b\" never", {"a"}, {"b", "ba"}},
        {"root ::= \"a\"\nunused ::= \"b\" [c] other\nother ::= \"d\"", {"a"}, {"b"}},
    };
    for (size_t i = 0; i < CT_COUNT(row); i++) {
        struct form f;
        open_text(&f, row[i].grammar);
        for (int k = 0; k < MOST && row[i].fit[k]; k++)
            if (!form_fits(&f, row[i].fit[k]))
                fail_msg("%s\ndoes not fit \"%s\"", row[i].grammar, row[i].fit[k]);
        for (int k = 0; k < MOST && row[i].not [k]; k++)
            if (form_fits(&f, row[i].not [k]))
                fail_msg("%s\nfits \"%s\"", row[i].grammar, row[i].not [k]);
        form_close(&f);
    }
}

static void check_refused(struct ct_str text, const struct ct_tokenizer *t, const char *message)
{
    struct form f;
    carat_error err = {0};

    if (form_open(&f, text, t, &err) == CARAT_OK)
        fail_msg("%.*s is taken", (int)text.n, text.s);
    assert_int_equal(err.code, CARAT_E_ARGUMENT);
    assert_string_equal(err.message, message);
    assert_int_equal(form_open(&f, text, t, NULL), CARAT_E_ARGUMENT);
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *grammar, *message;
    } row[] = {
        {"", "line 1, column 1: found no rule with the name root, expected one"},
        {" # \n", "line 2, column 1: found no rule with the name root, expected one"},
        {"x ::= \"a\"\n", "line 2, column 1: found no rule with the name root, expected one"},
        {"root ::= \"a\" x\ny ::= x", "line 1, column 14: found the rule x that is defined nowhere"},
        {"x ::= root\n", "line 1, column 7: found the rule root that is defined nowhere"},
        {"root ::= \"a\"\nx ::= \"b\"\nroot ::= x", "line 3, column 1: found the rule root a second time"},
        {"root ::= x\nx ::= x \"a\" | \"b\"",
         "the rule x begins with itself (left recursion), expected something before it"},
        {"root ::= x\nx ::= \"a\"? y\ny ::= (root \"b\"){2} | \"c\"",
         "the rule root begins with itself (left recursion), expected something before it"},
        {"root ::= \"a\" root", "no text fits"},
        {"root", "line 1, column 5: found something else behind a name, expected ::="},
        {"root \"a\"", "line 1, column 6: found something else behind a name, expected ::="},
        {"root\n::= \"a\"", "line 1, column 5: found something else behind a name, expected ::="},
        {"\"a\"",
         "line 1, column 1: found something else at the beginning of a line, expected the name of a rule"},
        {"root ::= \"a\"\n\"b\"",
         "line 2, column 1: found something else at the beginning of a line, expected the name of a rule"},
        {"| \"a\"",
         "line 1, column 1: found something else at the beginning of a line, expected the name of a rule"},
        {"root ::= \"a\" b ::= \"c\"\n",
         "line 1, column 16: found ::=, expected a line break before its name"},
        {"root ::= *",
         "line 1, column 10: found a repeat, expected something before it that it could repeat"},
        {"root ::= \"a\" | +",
         "line 1, column 16: found a repeat, expected something before it that it could repeat"},
        {"root ::= (?)",
         "line 1, column 11: found a repeat, expected something before it that it could repeat"},
        {"root ::= \"a\"**",
         "line 1, column 14: found a repeat, expected something before it that it could repeat"},
        {"root ::= (\"a\" \"b\")*{2}",
         "line 1, column 20: found a repeat, expected something before it that it could repeat"},
        {"root ::= \"a\"{1,1000000000}", "line 1, column 13: found a repeat of more than 200000 times"},
        {"root ::= \"a\"{3000000000}", "line 1, column 13: found a repeat of more than 200000 times"},
        {"root ::= \"a\"{3,2}", "line 1, column 13: found a repeat of at least 3 and at most 2 times"},
        {"root ::= \"a\"{}", "line 1, column 13: found {, expected a number behind it"},
        {"root ::= \"a\"{,3}", "line 1, column 13: found {, expected a number behind it"},
        {"root ::= \"a\"{1;", "line 1, column 13: found {, expected one number or two, and }"},
        {"root ::= \"a\"{1,2", "line 1, column 13: found {, expected one number or two, and }"},
        {"root ::= \n ((\"a\")", "line 2, column 2: found ( without its )"},
        {"root ::= \"a\"))", "line 1, column 13: found ) without its ("},
        {"root ::= \"a", "line 1, column 10: found \" without the one that ends the text"},
        {"root ::= \"a\\\"", "line 1, column 10: found \" without the one that ends the text"},
        {"root ::= [a", "line 1, column 10: found [ without its ]"},
        {"root ::= [a-", "line 1, column 10: found [ without its ]"},
        {"root ::= []", "line 1, column 10: found a class without characters, expected some before ]"},
        {"root ::= [^]a]", "line 1, column 10: found a class without characters, expected some before ]"},
        {"root ::= [z-a]", "line 1, column 11: found a range from U+007A down to U+0061"},
        {"root ::= \"\\d\"",
         "line 1, column 11: found an escape that is not known, expected one of tnrxuU\\\"[]-"},
        {"root ::= \"\\",
         "line 1, column 11: found an escape that is not known, expected one of tnrxuU\\\"[]-"},
        {"root ::= \"\\x4\"", "line 1, column 11: found \\x, expected 2 hexadecimal digits behind it"},
        {"root ::= \"\\u\"", "line 1, column 11: found \\u, expected 4 hexadecimal digits behind it"},
        {"root ::= \"\\u", "line 1, column 11: found \\u, expected 4 hexadecimal digits behind it"},
        {"root ::= [\\U0001F60]", "line 1, column 11: found \\U, expected 8 hexadecimal digits behind it"},
        {"root ::= \"\\U00110000\"", "line 1, column 11: found the number 110000, expected 10ffff at most"},
        {"root ::= \"\\ud83d\\ude00\"",
         "line 1, column 11: found d83d, which is half of a pair, expected \\U and eight digits"},
        {"root ::= a_b", "line 1, column 11: found _ in a name, expected letters, digits and - alone"},
        {"root ::= 'a'",
         "line 1, column 10: found ', expected a name, a text, a class, a group or a line end"},
        {"root := \"a\"",
         "line 1, column 6: found :, expected a name, a text, a class, a group or a line end"},
        {"root ::= \xe2\x82\xac",
         "line 1, column 10: found \xe2\x82\xac, expected a name, a text, a class, a group or a line end"},
        {"root ::= <think>",
         "line 1, column 10: found the token <think>, and there is no vocabulary that would have it"},
        {"root ::= !<[12]>*",
         "line 1, column 11: found the token <[12]>, and there is no vocabulary that would have it"},
        {"root ::= !a", "line 1, column 10: found ! without a token, expected < behind it"},
        {"root ::= <a\n>", "line 1, column 10: found < without its >"},
        {"root ::= \"\xff\"", "line 1, column 11: found a byte that is no UTF-8"},
    };
    static const char nul[] = "root ::= \"a\0\"";
    for (size_t i = 0; i < CT_COUNT(row); i++)
        check_refused(ct_str_of(row[i].grammar), NULL, row[i].message);
    check_refused((struct ct_str){nul, sizeof nul - 1}, NULL,
                  "line 1, column 12: found NUL, expected \\x00 for the character");
}

/* A text so many times between two others. */
static char *many(const char *before, const char *text, size_t times, const char *after)
{
    const size_t n = strlen(text), first = strlen(before);
    char *all = malloc(first + n * times + strlen(after) + 1);

    assert_non_null(all);
    memcpy(all, before, first);
    for (size_t i = 0; i < times; i++)
        memcpy(all + first + i * n, text, n);
    memcpy(all + first + n * times, after, strlen(after) + 1);
    return all;
}

static void refuse_many(const char *before, const char *text, size_t times, const char *after,
                        const char *message)
{
    char *all = many(before, text, times, after);

    check_refused(ct_str_of(all), NULL, message);
    free(all);
}

static void limits(void **state)
{
    (void)state;
    struct form f;
    size_t at;
    char *text;

    refuse_many("root ::= ", "(", 60000, "", "line 1, column 60009: found ( without its )");
    refuse_many("root ::= \"a\"", " ", CT_GBNF_MAX - 11, "",
                "line 1, column 65537: found a grammar of 65537 bytes, expected 65536 at most");
    refuse_many("root ::= ", ".{2}", 16000, "", "more than 200000 states are needed");
    text = many("root ::= \"a\"", " ", CT_GBNF_MAX - 12, "");
    open_text(&f, text);
    form_close(&f);
    free(text);
    /* each of these groups is a rule */
    refuse_many("root ::= ", "(|){2}", 10000, "", "more than 10000 rules are needed");
    text = many("root ::= ", "(|){2}", 9999, "");
    open_text(&f, text);
    form_close(&f);
    free(text);
    /* deep, and long */
    text = many("root ::= ", "(", 30000, "\"a\"");
    char *all = many(text, ")", 30000, "");
    open_text(&f, all);
    assert_true(form_fits(&f, "a"));
    form_close(&f);
    free(text);
    free(all);
    open_text(&f, "root ::= .{0,10000}");
    text = many("", "\xc3\xa9", 10000, "");
    assert_true(form_fits(&f, text));
    free(text);
    text = many("", "a", 10001, "");
    form_follow(&f, text, &at);
    assert_int_equal(at, 10000);
    free(text);
    form_close(&f);
}

static void check_token(const struct ct_tokenizer *t, const char *text, int32_t id)
{
    struct form f;
    carat_error err = {0};
    size_t at;

    if (form_open(&f, ct_str_of(text), t, &err) != CARAT_OK)
        fail_msg("%s: %s", text, err.message);
    const int32_t state = ct_automaton_token(&f.automaton, form_follow(&f, "a", &at), id);
    assert_int_not_equal(state, CT_DEAD);
    assert_false(ct_automaton_accepts(&f.automaton, state));
    assert_int_equal(ct_automaton_byte(&f.automaton, state, 'a'), CT_DEAD);
    assert_true(ct_automaton_accepts(&f.automaton, ct_automaton_byte(&f.automaton, state, 'b')));
    assert_int_equal(ct_automaton_token(&f.automaton, state, id), CT_DEAD);
    form_close(&f);
}

static void tokens(void **state)
{
    (void)state;
    struct ct_tokenizer *t = open_json();
    const int32_t id = ct_tokenizer_find(t, ct_str_of("<start_of_turn>"));
    char text[128];
    struct form f;

    assert_true(id > 0);
    check_token(t, "root ::= \"a\" <start_of_turn> \"b\"", id);
    snprintf(text, sizeof text, "root ::= \"a\" <[%d]> \"b\"", id);
    check_token(t, text, id);
    snprintf(text, sizeof text, "root ::= \"a\" (<[%d]>){1} \"b\"", id);
    check_token(t, text, id);
    /* any text without it */
    static const char *const others[] = {"root ::= !<start_of_turn>* <start_of_turn>",
                                         "root ::= ( !<start_of_turn> )* <start_of_turn>",
                                         "root ::= !<start_of_turn>+ <start_of_turn>"};
    for (size_t i = 0; i < CT_COUNT(others); i++) {
        size_t at;
        carat_error err = {0};
        if (form_open(&f, ct_str_of(others[i]), t, &err) != CARAT_OK)
            fail_msg("%s: %s", others[i], err.message);
        const int32_t behind = ct_automaton_token(&f.automaton, form_follow(&f, "a\xe2\x82\xac\n", &at), id);
        assert_true(ct_automaton_accepts(&f.automaton, behind));
        assert_int_equal(ct_automaton_token(&f.automaton, f.automaton.start, id) == CT_DEAD, i == 2);
        form_close(&f);
    }
    static const struct {
        const char *grammar, *message;
    } row[] = {
        {"root ::= !<start_of_turn>",
         "line 1, column 10: found one token that is another, expected * or + behind it"},
        {"root ::= (!<start_of_turn>){2,}",
         "line 1, column 11: found one token that is another, expected * or + behind it"},
        {"root ::= !<start_of_turn>?",
         "line 1, column 10: found one token that is another, expected * or + behind it"},
        {"root ::= <nobody>", "line 1, column 10: found the token <nobody>, which the vocabulary has not"},
        {"root ::= <[99999999999]>",
         "line 1, column 10: found the token <[99999999999]>, which the vocabulary has not"},
        {"root ::= <[1x]>", "line 1, column 10: found <[1x]>, expected the number of a token"},
        {"root ::= <[]>", "line 1, column 10: found the token <[]>, which the vocabulary has not"},
    };
    for (size_t i = 0; i < CT_COUNT(row); i++)
        check_refused(ct_str_of(row[i].grammar), t, row[i].message);
    const int32_t word = ct_tokenizer_find(t, ct_str_of("a"));
    char message[128];
    assert_true(word > 0);
    snprintf(text, sizeof text, "root ::= !<[%d]>*", word);
    snprintf(message, sizeof message,
             "line 1, column 11: found <[%d]>, which is text, expected it between quotes", word);
    check_refused(ct_str_of(text), t, message);
    ct_tokenizer_free(t);
}

/* ---- whole grammars ---- */

static void files(void **state)
{
    (void)state;
    static const struct {
        const char *name, *fit[MOST], *not [MOST];
    } row[] = {
        {"json",
         {"{}", "{\"a\":1}", "{\"a\": [1, -2.5e+10, {\"\\u00e9\\n\": null}],\n \"\xc3\xa9\": \"\"}",
          "{\n\t}"},
         {"", "[]", "{\"a\":01}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{\"a\":\"\n\"}", "{}}", "{\"a\":[1}"}},
        {"arithmetic", {"1+2=3\n", "(a * (b1 + 1.5)) = c\n0 =0\n"}, {"1+2=3", "1+=2\n", "(1=1\n", "1\n"}},
        {"chess",
         {"1. e4 e5\n2. Nf3 Nc6\n3. O-O\n", "1. e8=Q+ Rxa1#\n1/2-1/2"},
         {"e4\n", "1. e9 e5\n", "1. e4 e5", "0. e4\n"}},
        {"list", {"- a\n", "- a\n- \xe2\x82\xac b\n"}, {"", "- \n", "-a\n", "- a"}},
    };
    for (size_t i = 0; i < CT_COUNT(row); i++) {
        char path[256], text[4096];
        snprintf(path, sizeof path, CT_TEST_DATA "/grammar/%s.gbnf", row[i].name);
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        const size_t n = fread(text, 1, sizeof text - 1, file);
        fclose(file);
        text[n] = 0;
        struct form f;
        open_text(&f, text);
        for (int k = 0; k < MOST && row[i].fit[k]; k++)
            if (!form_fits(&f, row[i].fit[k]))
                fail_msg("%s does not fit \"%s\"", row[i].name, row[i].fit[k]);
        for (int k = 0; k < MOST && row[i].not [k]; k++)
            if (form_fits(&f, row[i].not [k]))
                fail_msg("%s fits \"%s\"", row[i].name, row[i].not [k]);
        form_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(refusals),
                                       cmocka_unit_test(limits), cmocka_unit_test(tokens),
                                       cmocka_unit_test(files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
