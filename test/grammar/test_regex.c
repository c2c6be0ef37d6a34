/* SPDX-License-Identifier: Apache-2.0 */
/* test_regex.c: which texts a pattern fits, as a whole and somewhere in them, and every reason for which one
 * is refused, with its byte. tools/check_patterns.py compares random patterns with Python's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "grammar/regex.h"

#define MOST 12 /* texts of a row */

struct row {
    const char *pattern;
    const char *fit[MOST], *not [MOST];
};

static void make(const char *pattern, bool whole, struct ct_language *out)
{
    struct ct_language read;
    carat_error err = {0};

    ct_language_init(&read);
    if (ct_regex_language(ct_str_of(pattern), whole, &read, NULL, &err) != CARAT_OK)
        fail_msg("%s: %s", pattern, err.message);
    assert_int_equal(ct_language_determine(&read, out, &err), CARAT_OK);
    ct_language_free(&read);
}

static void check_rows(const struct row *row, size_t n, bool whole)
{
    for (size_t i = 0; i < n; i++) {
        struct ct_language l;
        make(row[i].pattern, whole, &l);
        for (int k = 0; k < MOST && row[i].fit[k]; k++)
            if (!ct_language_takes(&l, ct_str_of(row[i].fit[k])))
                fail_msg("%s does not fit \"%s\"", row[i].pattern, row[i].fit[k]);
        for (int k = 0; k < MOST && row[i].not [k]; k++)
            if (ct_language_takes(&l, ct_str_of(row[i].not [k])))
                fail_msg("%s fits \"%s\"", row[i].pattern, row[i].not [k]);
        ct_language_free(&l);
    }
}

static void wholes(void **state)
{
    (void)state;
    static const struct row row[] = {
        {"", {""}, {"a", " "}},
        {"abc", {"abc"}, {"", "ab", "abcd", "xabc"}},
        {"a|bc|", {"a", "bc", ""}, {"b", "abc", "ab"}},
        {"a(b|c)d", {"abd", "acd"}, {"ad", "abcd", "ab"}},
        {"a(|b|cc)d", {"ad", "abd", "accd"}, {"acd"}},
        {"(?:a|b)(?<name>c)(?P<other_1>d)", {"acd", "bcd"}, {"abcd", "cd"}},
        {"()", {""}, {"a"}},
        {"(())*x", {"x"}, {""}},
        {"((a))", {"a"}, {"", "aa"}},
        /* quantifiers */
        {"a*", {"", "a", "aaaa"}, {"b", "ab"}},
        {"a+", {"a", "aaaa"}, {"", "b"}},
        {"a?", {"", "a"}, {"aa"}},
        {"a*?b+?c??", {"b", "aabb", "bc"}, {"", "a", "bcc"}},
        {"xa*y", {"xy", "xaay"}, {"xaxy", "x"}},
        {"a{3}", {"aaa"}, {"", "aa", "aaaa"}},
        {"a{0}", {""}, {"a"}},
        {"xa{0}y", {"xy"}, {"xay", "x", "y"}},
        {"a{0,0}b", {"b"}, {"ab", ""}},
        {"a{1}", {"a"}, {"", "aa"}},
        {"a{2,}", {"aa", "aaaaa"}, {"", "a"}},
        {"a{0,}", {"", "a", "aa"}, {"b"}},
        {"a{1,3}", {"a", "aa", "aaa"}, {"", "aaaa"}},
        {"a{0,2}b", {"b", "ab", "aab"}, {"aaab", "a"}},
        {"a{2,4}?", {"aa", "aaaa"}, {"a", "aaaaa"}},
        {"(ab){2}", {"abab"}, {"ab", "ababab", "abba"}},
        {"(a|bc){2,3}", {"aa", "bca", "bcbcbc", "abca"}, {"a", "bc", "aaaa", "abcb"}},
        {"((ab?){2}c){2}", {"aacaac", "abacaabc"}, {"aac", "aacac", "ababab"}},
        {"(a{2}){3}", {"aaaaaa"}, {"aaaaa", "aaaaaaa"}},
        {"(a*)*b", {"b", "aaab"}, {"a", ""}},
        {"(a+)+", {"a", "aaaa"}, {"", "ab"}},
        {"(a+)+$", {"a", "aaaa"}, {"", "ab"}},
        {"(a?){3}", {"", "a", "aaa"}, {"aaaa"}},
        {"(|a)+b", {"b", "aab"}, {"a"}},
        {"(a|b)*?c", {"c", "abbac"}, {"ab"}},
        {"a{", {"a{"}, {"a", "a{{"}},
        {"a{x}", {"a{x}"}, {"a"}},
        {"{a}]}", {"{a}]}"}, {"a"}},
        {"a{1", {"a{1"}, {"a"}},
        {"a{1,x}{2}", {"a{1,x}}"}, {"a{1,x}", "aa"}},
        {"a{,x}", {"a{,x}"}, {"a"}},
        /* classes */
        {"[abc]", {"a", "b", "c"}, {"", "d", "ab", "^"}},
        {"[^abc]", {"d", "^", "\n", "\xf0\x9f\x98\x80"}, {"", "a", "c", "dd"}},
        {"[a-cx-z]", {"a", "b", "c", "x", "y", "z"}, {"d", "w", "-"}},
        {"[a-]", {"a", "-"}, {"b", "]"}},
        {"[-a]", {"a", "-"}, {"b"}},
        {"[a-c-e]", {"a", "b", "c", "-", "e"}, {"d"}},
        {"[\\w-.]+", {"a-b.c_9"}, {"", "a b", "a+b"}},
        {"[a-\\d]", {"a", "-", "5"}, {"b"}},
        {"[a^]", {"a", "^"}, {"b"}},
        {"[[a(.*+?{|$]", {"[", "a", "(", ".", "*", "+", "?", "{", "|", "$"}, {"b", "]"}},
        {"[\\]\\\\\\-]", {"]", "\\", "-"}, {"a"}},
        {"[\\b]", {"\b"}, {"b"}},
        {"[\\d\\s]", {"0", "9", " ", "\n"}, {"a"}},
        {"[^\\d\\s]", {"a", "_"}, {"0", " ", "\t"}},
        {"[\\D]", {"a"}, {"0"}},
        {"[^\\D]", {"0"}, {"a"}},
        {"[^\\W]", {"a", "_", "0"}, {"-"}},
        {"[\xc3\xa0-\xc3\xbf]", {"\xc3\xa9"}, {"e", "\xc4\x80"}},
        {"[\\ud83d\\ude00-\\u{1F602}]", {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x82"}, {"\xf0\x9f\x98\x83"}},
        {"[c-ea-d]", {"a", "c", "d", "e"}, {"f", "`"}},
        {"[\\x00-\\x7f]", {"a", "\x7f"}, {"\xc2\x80"}},
        /* escapes */
        {"\\d\\D", {"0a", "9-"}, {"00", "a0", "\xd9\xa0"}},
        {"\\w\\W", {"_-", "a ", "Z\xc3\xa9"}, {"ab", "\xc3\xa9-"}},
        {"\\s",
         {" ", "\t", "\n", "\r", "\v", "\f", "\xc2\xa0", "\xe2\x80\xa8", "\xef\xbb\xbf"},
         {"a", "\xc2\x85"}},
        {"\\S", {"a", "\xc2\x85"}, {" ", "\n", "\xe3\x80\x80"}},
        {"\\n\\t\\r\\f\\v", {"\n\t\r\f\v"}, {"ntrfv"}},
        {"\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\^\\$\\\\\\/", {".*+?()[]{}|^$\\/"}, {""}},
        {"\\-\\ \\#\\&\\~\\@\\_\\\"\\'\\:\\\n", {"- #&~@_\"':\n"}, {""}},
        {"\\\xc3\xa9", {"\xc3\xa9"}, {"e"}},
        {"\\x41\\u0042\\u{43}\\u{000000044}\\U00000045", {"ABCDE"}, {"abcde"}},
        {"\\u00e9\\ud83d\\ude00", {"\xc3\xa9\xf0\x9f\x98\x80"}, {"\xc3\xa9"}},
        {"\\u{0000000000041}", {"A"}, {"0"}},
        {"\\cA\\cj", {"\x01\n"}, {"Aj"}},
        {".",
         {"a", " ", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xc2\x85"},
         {"", "\n", "\r", "\xe2\x80\xa8", "ab"}},
        {"\xe2\x82\xac+", {"\xe2\x82\xac", "\xe2\x82\xac\xe2\x82\xac"}, {""}},
        /* anchors of a whole text */
        {"^a$", {"a"}, {"", "aa"}},
        {"\\Aa\\Z", {"a"}, {"", "aa"}},
        {"(^|a)b($|c)", {"b", "ab", "bc", "abc"}, {"", "a", "c"}},
        {"(^a|b)*", {"", "a", "ab", "bb"}, {"aa", "ba"}},
        {"(a$|b)*", {"", "a", "ba", "bb"}, {"aa", "ab"}},
        {"$^", {""}, {"a"}},
        {"(^a?){3}", {"", "a"}, {"aa"}},
        {"(^a?b?){2}", {"", "a", "ab", "b"}, {"aa", "abab"}},
    };
    check_rows(row, CT_COUNT(row), true);
}

static void sought(void **state)
{
    (void)state;
    static const struct row row[] = {
        {"", {"", "a", "\n"}, {NULL}},
        {"a", {"a", "xay", "\na\n"}, {"", "b"}},
        {"^a", {"a", "ab"}, {"", "ba", "\na"}},
        {"a$", {"a", "ba"}, {"", "ab", "a\n"}},
        {"^a$", {"a"}, {"", "ab", "ba", "a\n"}},
        {"^a|b$", {"ax", "xb", "a", "b", "ab"}, {"xa", "bx", "", "xax"}},
        {"^(a|b$)", {"ax", "b"}, {"xb", "bx"}},
        {"(^|,)a(,|$)", {"a", "a,b", "b,a", "b,a,c"}, {"ba", "ab", ""}},
        {"^", {"", "x"}, {NULL}},
        {"$", {"", "x"}, {NULL}},
        {"^$", {""}, {"a", "\n"}},
        {"(^a|b)+c", {"ac", "bc", "abbc", "xbc", "xabc"}, {"xac", "c"}},
        {"x*", {"", "y"}, {NULL}},
        {"^[a-z]{2,4}$", {"ab", "abcd"}, {"a", "abcde", "ab\n"}},
        {"a{0}^b", {"b", "bx"}, {"ab", ""}},
        {"\\d{3}", {"123", "a1234", "x999y"}, {"12", "1a23", "12 3"}},
    };
    check_rows(row, CT_COUNT(row), false);
}

struct refused {
    const char *pattern;
    size_t at;
    const char *message; /* behind "byte N: " */
};

static void check_refused(const char *pattern, size_t n, size_t expected_at, const char *message)
{
    struct ct_language l;
    carat_error err = {0};
    size_t at = SIZE_MAX;
    char expected[256];

    ct_language_init(&l);
    if (ct_regex_language((struct ct_str){pattern, n}, true, &l, &at, &err) != CARAT_E_ARGUMENT)
        fail_msg("%s is taken", pattern);
    snprintf(expected, sizeof expected, "byte %zu: %s", expected_at, message);
    assert_string_equal(err.message, expected);
    assert_int_equal(at, expected_at);
    assert_int_equal(ct_regex_language((struct ct_str){pattern, n}, false, &l, NULL, NULL), CARAT_E_ARGUMENT);
    ct_language_free(&l);
}

static void refusals(void **state)
{
    (void)state;
    static const struct refused row[] = {
        {"*", 0, "found *, expected something before it that it could repeat"},
        {"a|*", 2, "found *, expected something before it that it could repeat"},
        {"(+)", 1, "found +, expected something before it that it could repeat"},
        {"?", 0, "found ?, expected something before it that it could repeat"},
        {"{2}", 0, "found {, expected something before it that it could repeat"},
        {"a**", 2, "found * behind a quantifier, expected something that it could repeat"},
        {"a{2}{3}", 4, "found { behind a quantifier, expected something that it could repeat"},
        {"a???", 3, "found ? behind a quantifier, expected something that it could repeat"},
        {"a++", 2, "found + behind a quantifier, and possessive ones are not taken"},
        {"a*+", 2, "found + behind a quantifier, and possessive ones are not taken"},
        {"^*", 1, "found * behind an anchor, expected something that it could repeat"},
        {"a$+", 2, "found + behind an anchor, expected something that it could repeat"},
        {"\\A{2}", 2, "found { behind an anchor, expected something that it could repeat"},
        {"a{1,1000000000}", 1, "found a repeat of more than 200000 times"},
        {"a{1000000000}", 1, "found a repeat of more than 200000 times"},
        {"a{99999999999999999999,}", 1, "found a repeat of more than 200000 times"},
        {"a{3,2}", 1, "found a repeat of at least 3 and at most 2 times"},
        {"a{,3}", 1, "found {, which is read in two ways, expected {0, or \\{"},
        {"(", 0, "found ( without its )"},
        {"a(b(c)", 1, "found ( without its )"},
        {"a)", 1, "found ) without its ("},
        {"(a))", 3, "found ) without its ("},
        {"a[", 1, "found [ without its ]"},
        {"[a-", 0, "found [ without its ]"},
        {"[a\\]", 0, "found [ without its ]"},
        {"[^", 0, "found [ without its ]"},
        {"[]a]", 0, "found [], which is read in two ways, expected \\] for the bracket itself"},
        {"a[^]", 1, "found [^], which is read in two ways, expected \\] for the bracket itself"},
        {"[z-a]", 1, "found a range from U+007A down to U+0061"},
        {"\\", 0, "found a backslash at the end, expected a character behind it"},
        {"[\\", 1, "found a backslash at the end, expected a character behind it"},
        {"a\\b", 1, "found \\b, the bound of a word, which is not taken"},
        {"\\B", 0, "found \\B, the bound of a word, which is not taken"},
        {"[\\B]", 1, "found \\B, the bound of a word, which is not taken"},
        {"(a)\\1", 3, "found \\1, a reference back, which is not taken"},
        {"(?<x>a)\\k<x>", 7, "found \\k, a reference back, which is not taken"},
        {"\\p{L}", 0, "found \\p, a property of characters, which is not taken"},
        {"[\\P{Lu}]", 1, "found \\P, a property of characters, which is not taken"},
        {"\\N{DASH}", 0, "found \\N, the name of a character, which is not taken"},
        {"\\a", 0, "found \\a, an escape that is not known"},
        {"\\e", 0, "found \\e, an escape that is not known"},
        {"[\\A]", 1, "found \\A, an escape that is not known"},
        {"\\01", 0, "found \\0, an escape that is not known"},
        {"\\c1", 0, "found \\c, an escape that is not known"},
        {"\\x4", 0, "found \\x, expected 2 hexadecimal digits behind it"},
        {"a\\u12g4", 1, "found \\u, expected 4 hexadecimal digits behind it"},
        {"\\U1234567", 0, "found \\U, expected 8 hexadecimal digits behind it"},
        {"\\u{}", 0, "found \\u{, expected hexadecimal digits and } behind it"},
        {"\\u{12", 0, "found \\u{, expected hexadecimal digits and } behind it"},
        {"\\u{110000}", 0, "found the number 110000, expected 10ffff at most"},
        {"\\u{123456789}", 0, "found a number of 9 digits, expected 10ffff at most"},
        {"\\UFFFFFFFF", 0, "found the number ffffffff, expected 10ffff at most"},
        {"\\ud83d", 0, "found d83d, which is half of a pair, expected both"},
        {"\\ude00\\ud83d", 0, "found de00, which is half of a pair, expected both"},
        {"\\ud83d\\u0041", 0, "found d83d, which is half of a pair, expected both"},
        {"[\\ud83d-\\ud83e]", 1, "found d83d, which is half of a pair, expected both"},
        {"\\u{d83d}\\ude00", 0, "found d83d, which is half of a pair, expected both"},
        {"(?=a)", 0, "found (?=, and looking ahead is not taken"},
        {"a(?!b)", 1, "found (?!, and looking ahead is not taken"},
        {"(?<=a)b", 0, "found (?<=, and looking back is not taken"},
        {"(?<!a)b", 0, "found (?<!, and looking back is not taken"},
        {"(?P<x>a)(?P=x)", 8, "found (?P=, and a reference back is not taken"},
        {"(?>a)", 0, "found (?>, and an atomic group is not taken"},
        {"(?#a)", 0, "found (?#, and a comment is not taken"},
        {"(?i)a", 0, "found (?, and flags and kinds of groups other than (?: and (?<name> are not taken"},
        {"(?<>a)", 0, "found (?<, expected a name and > behind it"},
        {"(?P<1>a)", 0, "found (?P<, expected a name and > behind it"},
        {"(?<a-b>a)", 0, "found (?<, expected a name and > behind it"},
        {"ab\xff", 2, "found a byte that is no UTF-8"},
        {"[\xed\xa0\x80]", 1, "found a byte that is no UTF-8"},
        {"(a\xc3", 2, "found a byte that is no UTF-8"},
    };
    for (size_t i = 0; i < CT_COUNT(row); i++)
        check_refused(row[i].pattern, strlen(row[i].pattern), row[i].at, row[i].message);
    check_refused("a\0b", 3, 1, "found NUL, expected \\x00 for the character");
}

/* A text so many times. */
static char *many(const char *text, size_t times)
{
    const size_t n = strlen(text);
    char *all = malloc(n * times + 1);

    assert_non_null(all);
    for (size_t i = 0; i < times; i++)
        memcpy(all + i * n, text, n);
    all[n * times] = 0;
    return all;
}

static void limits(void **state)
{
    (void)state;
    struct ct_language l;
    char *text = many("(", 60000);

    check_refused(text, 60000, 59999, "found ( without its )");
    free(text);
    text = many("a", CT_REGEX_MAX + 1);
    check_refused(text, CT_REGEX_MAX + 1, CT_REGEX_MAX,
                  "found a pattern of 65537 bytes, expected 65536 at most");
    free(text);
    /* one inside another, 30,000 deep */
    text = many("(", 60000);
    memset(text + 30000, ')', 30000);
    ct_language_init(&l);
    assert_int_equal(ct_regex_language(ct_str_of(text), true, &l, NULL, NULL), CARAT_OK);
    ct_language_free(&l);
    free(text);
    /* copies of copies */
    check_refused("((((a{100}){100}){100}){100}){100}", 34, 22,
                  "the pattern up to here needs more than 200000 states or 800000 arcs");
    check_refused("(a{1000}){0}(a{199}){1000}", 26, 26,
                  "the pattern up to here needs more than 200000 states or 800000 arcs");
    ct_language_init(&l);
    assert_int_equal(ct_regex_language(ct_str_of("(?:a{100}){300}"), true, &l, NULL, NULL), CARAT_OK);
    ct_language_free(&l);
}

static carat_status finish(const char *pattern, carat_error *err)
{
    struct ct_grammar g;
    int32_t root;

    ct_grammar_init(&g);
    carat_status status = ct_regex_rule(&g, ct_str_of(pattern), &root, err);
    if (status == CARAT_OK)
        status = ct_grammar_finish(&g, root, err);
    ct_grammar_free(&g);
    return status;
}

static void rules(void **state)
{
    (void)state;
    static const char *const none[] = {"a^", "$a", "a$b", "x^y", "[^\\s\\S]", "a(b^)+c"};
    carat_error err = {0};

    assert_int_equal(finish("(a+)+$", &err), CARAT_OK);
    for (size_t i = 0; i < CT_COUNT(none); i++) {
        assert_int_equal(finish(none[i], &err), CARAT_E_ARGUMENT);
        assert_string_equal(err.message, "no text fits");
    }
    assert_int_equal(finish("a{", &err), CARAT_OK);
    assert_int_equal(finish("*", &err), CARAT_E_ARGUMENT);
    assert_string_equal(err.message, "byte 0: found *, expected something before it that it could repeat");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wholes), cmocka_unit_test(sought),
                                       cmocka_unit_test(refusals), cmocka_unit_test(limits),
                                       cmocka_unit_test(rules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
