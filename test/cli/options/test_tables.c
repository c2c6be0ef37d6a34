/* SPDX-License-Identifier: Apache-2.0 */
/* test_tables.c: the tables of verbs and options are sound: every word in them is a verb, every row has a
 * verb, no two rows of a verb share a spelling, every value fits into its field, every default is accepted,
 * and help spells no default or limit that it can take from the row. It is linked with the tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "options/store.h"
#include "options/texts.h"
#include "term/exit.h"

#define GROUP(name) extern const struct option_group name##_group;
OPTION_GROUPS(GROUP)
#undef GROUP
static const struct option_group *const groups[N_GROUPS] = {
#define GROUP(name) &name##_group,
    OPTION_GROUPS(GROUP)
#undef GROUP
};

static int assemble(void **state)
{
    (void)state;
    table_assemble(groups);
    return 0;
}

#define EACH_ROW(r) for (const struct option_row *r = table_rows(); r->option; r++)

/* ---- verbs ---- */

static bool is_verb(const char *word, size_t n)
{
    for (const struct verb *v = verb_table; v->name; v++)
        if (strlen(v->name) == n && memcmp(v->name, word, n) == 0)
            return true;
    return false;
}

/* option.h says what the words may be. No verb stands twice. */
static void check_words(const char *words, const char *whose)
{
    const char *slash = strchr(words, '/');

    if (slash && strchr(slash + 1, '/'))
        fail_msg("%s: two / in '%s'", whose, words);
    for (const char *at = words; *at;) {
        size_t n = strcspn(at, " "), minus = *at == '-';
        bool known = (n == 1 && *at == '/') || (n == 3 && memcmp(at, "any", n) == 0) ||
                     (n == 5 && memcmp(at, "opens", n) == 0) || is_verb(at + minus, n - minus);
        if (!known)
            fail_msg("%s: '%.*s' of '%s' is no verb", whose, (int)n, at, words);
        for (const char *other = words; other < at; other += strcspn(other, " ") + 1)
            if (strcspn(other, " ") == n && memcmp(other, at, n) == 0)
                fail_msg("%s: '%.*s' stands twice in '%s'", whose, (int)n, at, words);
        at += n + (at[n] == ' ');
    }
}

static void words_are_verbs(void **state)
{
    (void)state;
    EACH_ROW(r)
    check_words(r->option->verbs, r->option->names[0]);
    for (const struct exit_text *t = exit_texts; t->text; t++)
        check_words(t->verbs, t->text);
    for (const struct named_text *t = variable_texts; t->name; t++)
        check_words(t->verbs, t->name);
    for (const struct named_text *t = file_texts; t->name; t++)
        check_words(t->verbs, t->name);
}

/* The list that main.c calls by, and the table that says what they are. */
static void verbs_are_listed(void **state)
{
    static const char *const listed[] = {
#define VERB(name) #name,
        VERBS(VERB)
#undef VERB
    };
    const int n = sizeof listed / sizeof *listed;
    int in_table = 0;

    (void)state;
    for (const struct verb *v = verb_table; v->name; v++, in_table++) {
        int i = 0;
        while (i < n && strcmp(listed[i], v->name) != 0)
            i++;
        if (i == n)
            fail_msg("%s is not in lists.h", v->name);
        assert_true(strlen(v->brief) <= 24);
        assert_true(v->min_args <= v->max_args && v->max_args <= MOST_ARGS);
        assert_true(!*v->details || v->details[strlen(v->details) - 1] == '\n');
        assert_true(*v->examples && v->examples[strlen(v->examples) - 1] == '\n');
    }
    assert_int_equal(in_table, n);
}

/* ---- rows ---- */

static void rows_have_verbs(void **state)
{
    (void)state;
    EACH_ROW(r)
    {
        bool has = false;
        for (const struct verb *v = verb_table; v->name; v++)
            has |= verb_belongs(r->option->verbs, v) != NOT_THERE;
        if (!has)
            fail_msg("%s: no verb has it: '%s'", r->option->names[0], r->option->verbs);
    }
}

static void spellings_are_single(void **state)
{
    (void)state;
    for (const struct verb *v = verb_table; v->name; v++)
        EACH_ROW(r)
    for (int i = 0; i < MOST_NAMES && r->option->names[i]; i++) {
        if (r->option->names[i][0] != '-')
            fail_msg("'%s' is no option", r->option->names[i]);
        if (verb_belongs(r->option->verbs, v) && option_named(v, r->option->names[i]) != r)
            fail_msg("%s has two options %s", v->name, r->option->names[i]);
    }
}

/* Rows that shared a place would be in whatever order they are sorted. */
static void places_are_single(void **state)
{
    const struct option *before = NULL;

    (void)state;
    EACH_ROW(r)
    {
        const struct option *o = r->option;
        if (o->place < ABOUT_MODEL || o->place >= ABOUT_MESSAGES + ABOUT_MODEL)
            fail_msg("%s: no section has place %d", o->names[0], o->place);
        if (before && before->place == o->place)
            fail_msg("%s and %s share place %d", before->names[0], o->names[0], o->place);
        before = o;
    }
}

static const size_t sizes[] = {
    [FLAG] = sizeof(bool),           [TEXT] = sizeof(char *),    [TEXTS] = sizeof(struct texts),
    [IDS] = sizeof(char *),          [MODEL] = sizeof(char *),   [PATH] = sizeof(char *),
    [READS] = sizeof(char *),        [WRITES] = sizeof(char *),  [CHOICE] = sizeof(char *),
    [SWITCH] = sizeof(char *),       [INT] = sizeof(int),        [INTS] = sizeof(char *),
    [INT64] = sizeof(int64_t),       [OFF_OR_INT] = sizeof(int), [REAL] = sizeof(double),
    [REAL_OR_0] = sizeof(double),    [SIZE] = sizeof(uint64_t),  [MAYBE_SIZE] = sizeof(uint64_t),
    [AMOUNT] = sizeof(struct amount)};

/* Inside of the struct, and in nobody else's field: rows that overlap are of one field. */
static void values_fit(void **state)
{
    (void)state;
    EACH_ROW(r)
    {
        const struct option *o = r->option;
        const size_t end = o->field + sizes[o->kind];
        if (end > table_group(r->group)->size)
            fail_msg("%s: its field lies outside of its group", o->names[0]);
        EACH_ROW(other)
        {
            const size_t begin = other->option->field;
            if (other->group == r->group && begin < end && begin + sizes[other->option->kind] > o->field &&
                (begin != o->field || sizes[other->option->kind] != sizes[o->kind]))
                fail_msg("%s and %s overlap", o->names[0], other->option->names[0]);
        }
    }
}

/* Those of a verb in a struct of options, as parsing begins. */
static void defaults_are_accepted(void **state)
{
    struct options o;

    (void)state;
    for (const struct verb *v = verb_table; v->name; v++) {
        assert_int_equal(options_begin(&o, v), DONE);
        EACH_ROW(r)
        if (r->option->standard && verb_belongs(r->option->verbs, v) &&
            option_store(&o, r, r->option->names[0], r->option->standard) != DONE)
            fail_msg("%s of %s: its own default is refused", r->option->names[0], v->name);
        options_free(&o);
    }
}

/* ---- help ---- */

/* Does the text have the word, neither as part of another word nor of a number? */
static bool has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);

    for (const char *at = text; n && (at = strstr(at, word)) != NULL; at++)
        if ((at == text || !strchr("0123456789.-", at[-1])) && (!at[n] || strchr(" ,:;)", at[n])))
            return true;
    return false;
}

static void help_takes_from_rows(void **state)
{
    char help[HELP_TEXT], word[48];

    (void)state;
    EACH_ROW(r)
    {
        const struct option *o = r->option;
        if (strstr(o->help, "{default}") && !o->standard)
            fail_msg("%s: help has {default}, and there is none", o->names[0]);
        if (o->standard) {
            snprintf(word, sizeof word, "default %s", o->standard);
            if (has_word(o->help, word))
                fail_msg("%s: help spells the default that its row has", o->names[0]);
        }
        snprintf(word, sizeof word, "%.0f", o->high);
        if (o->high > 1 && has_word(o->help, word))
            fail_msg("%s: help spells the limit that its row has", o->names[0]);
        option_help(help, o);
        assert_null(strstr(help, "{default}"));
        assert_null(strstr(help, "{most}"));
        if (strlen(help) + 1 == HELP_TEXT)
            fail_msg("%s: help is longer than %d bytes", o->names[0], HELP_TEXT);
        if ((o->kind == FLAG) != !o->value)
            fail_msg("%s: a flag has no value, any other option has", o->names[0]);
    }
}

/* A text that a buffer cuts ends in the middle of a word: headings of help and pages, the words that messages
 * and completions list. */
static void no_text_is_cut(void **state)
{
    char heading[HEADING_TEXT], choices[CHOICES_TEXT];

    (void)state;
    EACH_ROW(r)
    {
        const struct option *o = r->option;
        option_heading(heading, o);
        if (strlen(heading) + 1 == HEADING_TEXT)
            fail_msg("%s: the heading is longer than %d bytes", o->names[0], HEADING_TEXT);
        if (!o->value)
            continue;
        const size_t shown = choices_shown(o->value), n = strlen(heading) - (may_stand_alone(o) ? 1 : 0);
        assert_true(n > shown && memcmp(heading + n - shown, o->value, shown) == 0);
        choices_text(choices, o->value);
        if (strlen(choices) + 4 >= CHOICES_TEXT || strncmp(choices, o->value, strcspn(o->value, "|")) != 0)
            fail_msg("%s: the choices are longer than %d bytes", o->names[0], CHOICES_TEXT);
    }
    for (const struct verb *v = verb_table; v->name; v++) {
        assert_true(strlen("usage: carat   [OPTIONS]") + strlen(v->name) + strlen(v->args) < HELP_TEXT);
        assert_true(strlen("carat : ") + strlen(v->name) + strlen(v->summary) < HELP_TEXT);
        assert_true(strlen(v->args) < CHOICES_TEXT && (!v->words || strlen(v->words) < CHOICES_TEXT));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_verbs),       cmocka_unit_test(verbs_are_listed),
        cmocka_unit_test(rows_have_verbs),       cmocka_unit_test(spellings_are_single),
        cmocka_unit_test(places_are_single),     cmocka_unit_test(values_fit),
        cmocka_unit_test(defaults_are_accepted), cmocka_unit_test(help_takes_from_rows),
        cmocka_unit_test(no_text_is_cut),
    };

    return cmocka_run_group_tests(tests, assemble, NULL);
}
