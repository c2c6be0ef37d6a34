/* SPDX-License-Identifier: Apache-2.0 */
/* parse.c: reads the words of a command line by the table of options. What the options mean together is
 * settled afterwards, before a verb sees them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options/environment.h"
#include "options/store.h"
#include "term/message.h"

/* Spelling i of the verb that user points at. */
static const char *spelling(void *user, int i)
{
    for (const struct option_row *r = table_rows(); r->option; r++)
        for (int j = 0; verb_belongs(r->option->verbs, user) && j < MOST_NAMES && r->option->names[j]; j++)
            if (i-- == 0)
                return r->option->names[j];
    return NULL;
}

static int unknown(const struct verb *verb, const char *word, size_t n)
{
    char name[64];
    const char *meant = NULL;

    if (n < sizeof name) {
        memcpy(name, word, n);
        name[n] = 0;
        meant = term_nearest(name, spelling, (void *)verb);
    }
    if (meant)
        return term_fail(USAGE, "%s: unknown option '%.*s'; did you mean %s?", verb->name,
                         (int)(n < 80 ? n : 80), word, meant);
    return term_fail(USAGE, "%s: unknown option '%.*s'; 'carat help %s' lists them", verb->name,
                     (int)(n < 80 ? n : 80), word, verb->name);
}

/* The state of the parser. */
struct parse {
    struct options *o;
    const struct verb *verb;
    int argc, at; /* argv[at] is being read */
    char **argv;
};

static int take_foreign(struct parse *p, const struct foreign *f, size_t n, const char *attached)
{
    const char *next = p->at + 1 < p->argc ? p->argv[p->at + 1] : NULL;
    size_t used = strlen(p->o->ignored);
    char name[64];
    bool took_next = false;
    int code;

    snprintf(name, sizeof name, "%.*s", (int)n, p->argv[p->at]);
    code = foreign_take(f, p->verb->name, name, attached, next, &took_next);
    if (code == DONE)
        snprintf(p->o->ignored + used, sizeof p->o->ignored - used, "%s%s", used ? ", " : "", name);
    p->at += took_next;
    return code;
}

/* The option at argv[at]; moves `at` to its last word. */
static int take_option(struct parse *p)
{
    const char *word = p->argv[p->at], *value = NULL, *equals = word[1] == '-' ? strchr(word, '=') : NULL;
    const char *next = p->at + 1 < p->argc ? p->argv[p->at + 1] : NULL;
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    const struct option_row *row = option_find(p->verb, word, n);
    const struct foreign *foreign;
    char what[96];

    if (!row && word[1] != '-' && word[2] >= '0' && word[2] <= '9') { /* -n64 */
        row = option_find(p->verb, word, 2);
        if (row) {
            n = 2;
            value = word + 2;
        }
    }
    if (equals)
        value = equals + 1;
    if (!row) {
        foreign = p->verb->opens ? foreign_find(word, n) : NULL;
        return foreign ? take_foreign(p, foreign, n, value) : unknown(p->verb, word, n);
    }
    const struct option *option = row->option;
    if (option->kind == FLAG) {
        if (value)
            return term_fail(USAGE, "option %.*s takes no value", (int)n, word);
    } else if (may_stand_alone(option) && !value) {
        bool given = next && is_value(option, next);
        value = given ? next : option->kind == SWITCH ? "on" : "0";
        p->at += given;
        if (!given && option->kind == MAYBE_SIZE && *(uint64_t *)option_field(p->o, row) != NO_SIZE)
            return DONE; /* the size that a variable gave stays */
    } else if (!value) {
        if (!next)
            return term_fail(USAGE, "option %.*s needs a value: %s", (int)n, word, option->value);
        value = next;
        p->at++;
    }
    snprintf(what, sizeof what, "option %.*s", (int)n, word);
    return option_store(p->o, row, what, value);
}

/* Only a text may be empty: an argument that names something says what. `first`: of the words in the verb's
 * line of usage, those before it were given otherwise. */
static int check_named(const struct verb *v, const char *const *args, int first)
{
    const char *word = v->args;

    for (int i = -first; *word && (i < 0 || args[i]); i++) {
        while (v->words && i == -first &&
               strcspn(word, "|") < strcspn(word, " ")) /* a word, which came apart */
            word += strcspn(word, " ") + (word[strcspn(word, " ")] == ' ');
        word += *word == '[';
        const int n = (int)strcspn(word, " ].");
        const bool names = !memchr(word, '|', (size_t)n) && strncmp(word, "PROMPT", 6) != 0 &&
                           strncmp(word, "TEXT", 4) != 0 && strncmp(word, "IDS", 3) != 0;
        if (i >= 0 && !*args[i] && names)
            return term_fail(USAGE, "%s: %.*s is empty: carat %s %s", v->name, n, word, v->name, v->args);
        if (strncmp(word + n, " ...", 4) != 0 && strncmp(word + n, "...", 3) != 0) /* else one of many */
            word += strcspn(word, " ") + (word[strcspn(word, " ")] == ' ');
    }
    return DONE;
}

/* A verb that takes one model is given two, say. */
static int fail_too_many(const struct verb *v, const char *word, const char *beside)
{
    if (v->opens && v->max_args == 1)
        return term_fail(USAGE, "%s: '%.80s' is one argument too many%s: it takes one model each%s", v->name,
                         word, beside,
                         strcmp(v->name, "serve") == 0 ? ", and --port puts another beside it" : "");
    return term_fail(USAGE, "%s: '%.80s' is one argument too many%s", v->name, word, beside);
}

/* Arguments go where they belong. */
static int take_arguments(struct parse *p, const char **args, int n_args)
{
    const struct verb *v = p->verb;
    struct options *o = p->o;

    if (!o->model)
        o->model = o->kaggle;
    if (o->model && n_args > v->max_args - 1)
        return fail_too_many(v, args[n_args - 1], " beside -m");
    if (n_args + (o->model != NULL) < v->min_args)
        return term_fail(USAGE, "%s needs %s: carat %s %s", v->name, v->needs ? v->needs : "a model", v->name,
                         v->args);
    TRY(check_named(v, args, o->model != NULL));
    o->appends_stdin = o->model == NULL;
    if (!o->model && v->model_last) {
        o->model = args[n_args - 1];
        args[n_args - 1] = NULL;
    } else if (!o->model) {
        o->model = *args++;
    }
    o->text = *args;
    for (args += *args != NULL; *args; args++)
        o->more.text[o->more.n++] = *args;
    return DONE;
}

void options_color(int argc, char **argv)
{
    const struct option_row *row = table_rows();
    const char *color = getenv("CARAT_ARG_COLOR");

    while (strcmp(row->option->names[0], "--color") != 0)
        row++;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        size_t n = strcspn(argv[i], "=");
        bool is_color = false;
        for (int k = 0; k < MOST_NAMES && row->option->names[k]; k++)
            is_color |= strlen(row->option->names[k]) == n && memcmp(row->option->names[k], argv[i], n) == 0;
        if (is_color)
            color = argv[i][n]                                                   ? argv[i] + n + 1
                    : i + 1 < argc && is_choice(row->option->value, argv[i + 1]) ? argv[i + 1]
                                                                                 : "on";
    }
    if (color && is_choice(row->option->value, color))
        message_color(color);
}

bool options_ask_for_help(const struct options *o)
{
    return o->help || (o->help_all && !verb_belongs("help", o->verb)); /* help takes arguments beside it */
}

int options_parse(struct options *o, const struct verb *verb, int argc, char **argv)
{
    struct parse p = {.o = o, .verb = verb, .argc = argc, .argv = argv};
    const char *args[MOST_ARGS + 1] = {NULL}; /* NULL behind the last */
    int n_args = 0, code;
    bool only_args = false;

    if ((code = options_begin(o, verb)) != DONE || (code = options_environment(o)) != DONE)
        return code;
    for (; p.at < argc; p.at++) {
        const char *word = argv[p.at];
        if (!only_args && strcmp(word, "--") == 0) {
            only_args = true;
        } else if (!only_args && word[0] == '-' && word[1]) {
            if ((code = take_option(&p)) != DONE)
                return code;
        } else if (verb->words && !only_args && n_args == 0 && !o->word && is_choice(verb->words, word)) {
            o->word = word;
        } else if (n_args + (o->model != NULL) == verb->max_args || n_args == MOST_ARGS) {
            return fail_too_many(verb, word,
                                 verb->max_args == 2 ? " (a text of several words needs quotes)" : "");
        } else {
            args[n_args++] = word;
        }
    }
    return options_ask_for_help(o) ? DONE : take_arguments(&p, args, n_args);
}
