/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_regex.c: any pattern, and behind a NUL any text. Checked besides memory: a refusal names a byte of the
 * pattern; the pattern in brackets is the same set; what fits as a whole is found in the text, too; and the
 * automaton of the rule takes what the language takes, and has from wherever it stops an ending that is as
 * short as it says. */
#include "base/utf8.h"
#include "fuzz_endings.h"
#include "grammar/regex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NOT, FITS, NOBODY_KNOWS };

/* Whether the text fits; nobody knows where that would need too many states. */
static int language_takes(struct ct_str pattern, bool whole, struct ct_str text)
{
    struct ct_language read, determined;
    carat_error err = {0};
    int answer = NOBODY_KNOWS;

    ct_language_init(&read);
    ct_language_init(&determined);
    if (ct_regex_language(pattern, whole, &read, NULL, &err) == CARAT_OK &&
        ct_language_determine(&read, &determined, &err) == CARAT_OK)
        answer = ct_language_takes(&determined, text) ? FITS : NOT;
    ct_language_free(&read);
    ct_language_free(&determined);
    return answer;
}

static int automaton_takes(struct ct_grammar *g, struct ct_str text)
{
    struct ct_automaton a;
    int answer = NOT;

    if (ct_automaton_open(&a, g, NULL) != CARAT_OK)
        return NOBODY_KNOWS;
    int32_t state = a.start, next = CT_DEAD;
    size_t i = 0;
    for (; i < text.n; i++, state = next)
        if ((next = ct_automaton_byte(&a, state, (uint8_t)text.s[i])) == CT_DEAD)
            break;
    check_ending(&a, state);
    if (i == text.n && ct_automaton_accepts(&a, state))
        answer = FITS;
    if (a.full)
        answer = NOBODY_KNOWS;
    ct_automaton_close(&a);
    return answer;
}

static int rule_takes(struct ct_str pattern, struct ct_str text)
{
    struct ct_grammar g;
    carat_error err = {0};
    int32_t rule;
    int answer = NOBODY_KNOWS;

    ct_grammar_init(&g);
    if (ct_regex_rule(&g, pattern, &rule, &err) == CARAT_OK) {
        if (ct_grammar_finish(&g, rule, &err) == CARAT_OK)
            answer = automaton_takes(&g, text);
        else if (strcmp(err.message, "no text fits") == 0)
            answer = NOT;
    }
    ct_grammar_free(&g);
    return answer;
}

static void require_same(int a, int b)
{
    require(a == b || a == NOBODY_KNOWS || b == NOBODY_KNOWS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    const struct ct_str pattern = {(const char *)data, end ? (size_t)(end - data) : size};
    struct ct_str text = {(const char *)data + pattern.n + 1, end ? size - pattern.n - 1 : 0};
    struct ct_language read;
    carat_error err = {0};
    size_t at = SIZE_MAX;

    if (pattern.n > 4096) /* larger ones find nothing new, slowly */
        return 0;
    if (!text.n || !ct_utf8_valid(text.s, text.n))
        text = ct_str_of("");
    ct_language_init(&read);
    const carat_status status = ct_regex_language(pattern, true, &read, &at, &err);
    ct_language_free(&read);
    require(status == CARAT_OK || (status == CARAT_E_ARGUMENT && at <= pattern.n));
    if (status != CARAT_OK)
        return 0;
    const int whole = language_takes(pattern, true, text);
    require_same(whole, rule_takes(pattern, text));
    const int sought = language_takes(pattern, false, text);
    require(whole != FITS || sought != NOT);
    char *inside = malloc(pattern.n + 5);
    require(inside);
    memcpy(inside, "(?:", 3);
    memcpy(inside + 3, pattern.s, pattern.n);
    inside[pattern.n + 3] = ')';
    require_same(whole, language_takes((struct ct_str){inside, pattern.n + 4}, true, text));
    free(inside);
    return 0;
}
