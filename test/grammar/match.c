/* SPDX-License-Identifier: Apache-2.0 */
/* match.c: asks the patterns and grammars of the library which texts fit: a driver for scripts that compare
 * it with others (tools/check_patterns.py). A line of the input is a word, a number of bytes and, behind the
 * line, so many bytes and a line break: `regex` and `search` give a pattern, `gbnf` a grammar, `text` a text
 * for the one that was given last. A line of output for each: `ok` or the error; `yes`, or `no` and how many
 * bytes some text begins with. */
#include <stdio.h>
#include <stdlib.h>

#include "grammar/automaton.h"
#include "grammar/gbnf.h"
#include "grammar/regex.h"

struct match {
    struct ct_grammar grammar;
    struct ct_automaton automaton;
    bool open;
};

static void match_close(struct match *m)
{
    if (m->open)
        ct_automaton_close(&m->automaton);
    ct_grammar_free(&m->grammar);
    *m = (struct match){0};
}

static carat_status match_read(struct ct_grammar *g, const char *kind, struct ct_str text, int32_t *root,
                               carat_error *err)
{
    struct ct_language language;
    struct ct_charsets sets = {0};
    carat_status status;

    if (strcmp(kind, "gbnf") == 0)
        return ct_gbnf(g, text, NULL, root, err);
    if (strcmp(kind, "regex") == 0)
        return ct_regex_rule(g, text, root, err);
    ct_language_init(&language);
    status = ct_regex_language(text, false, &language, NULL, err);
    if (status == CARAT_OK) {
        *root = ct_grammar_rule(g, "pattern");
        ct_language_emit(g, &sets, &language, ct_rule_start(g, *root), CT_SPELL_PLAIN, ct_rule_end(g, *root));
    }
    ct_charsets_free(&sets);
    ct_language_free(&language);
    return status;
}

static void match_open(struct match *m, const char *kind, struct ct_str text)
{
    carat_error err = {0};
    int32_t root = -1;

    match_close(m);
    ct_grammar_init(&m->grammar);
    if (match_read(&m->grammar, kind, text, &root, &err) == CARAT_OK &&
        ct_grammar_finish(&m->grammar, root, &err) == CARAT_OK)
        m->open = ct_automaton_open(&m->automaton, &m->grammar, &err) == CARAT_OK;
    puts(m->open ? "ok" : err.message);
}

static void match_text(struct match *m, struct ct_str text)
{
    int32_t state = m->automaton.start;
    size_t n = 0;

    for (int32_t next; n < text.n; n++, state = next)
        if ((next = ct_automaton_byte(&m->automaton, state, (uint8_t)text.s[n])) == CT_DEAD)
            break;
    if (n == text.n && ct_automaton_accepts(&m->automaton, state))
        puts("yes");
    else
        printf("no %zu\n", n);
}

int main(void)
{
    struct match m = {0};
    char kind[16];
    size_t n;

    while (scanf("%15s %zu", kind, &n) == 2 && getchar() == '\n') {
        char *text = malloc(n + 1);
        if (!text || fread(text, 1, n, stdin) != n)
            return 1;
        const struct ct_str given = {text, n};
        if (strcmp(kind, "text") != 0)
            match_open(&m, kind, given);
        else if (m.open)
            match_text(&m, given);
        else
            puts("nothing to compare with");
        free(text);
        fflush(stdout);
    }
    match_close(&m);
    return ferror(stdin) != 0;
}
