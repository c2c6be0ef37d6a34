/* SPDX-License-Identifier: Apache-2.0 */
/* recipes.c: see sweep.h. A line is parsed by the table of options, as words of a command line are. */
#define _POSIX_C_SOURCE 200809L
#include "quality/sweep/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "write/writing.h"
#include "term/message.h"

enum { MOST_NAME = 64 };

void recipe_speaks(const char *file, const struct recipe *r)
{
    char place[256];

    if (r)
        snprintf(place, sizeof place, "%.160s, line %d: ", file, r->line);
    message_place(r ? place : NULL);
}

/* The next word of a line, as a shell has it: quotes keep what is between them together. The word is written
 * over the line, and terminated; what follows it begins at *next. NULL: there is none; *open: a quote was not
 * closed. */
static char *recipe_word(char **next, bool *open)
{
    char *at = *next + strspn(*next, " \t\r"), *word = at, *to = at, quote = 0;

    if (!*at || *at == '#')
        return NULL;
    for (; *at && (quote || !strchr(" \t\r", *at)); at++)
        if (*at == quote)
            quote = 0;
        else if (!quote && (*at == '\'' || *at == '"'))
            quote = *at;
        else
            *to++ = *at;
    *open = quote != 0;
    *next = at + (*at != 0);
    *to = 0;
    return word;
}

static int check_name(const struct recipes *r, const struct recipe *one)
{
    static const char usual[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    const size_t n = strlen(one->name);

    if (n > MOST_NAME || strspn(one->name, usual) != n || strchr(".-", *one->name))
        return term_fail(
            USAGE, "'%.80s' is not a name: letters, digits, dots, _ and -, at most %d, no dot or - first",
            one->name, MOST_NAME);
    for (const struct recipe *other = r->of; other < one; other++)
        if (strcmp(other->name, one->name) == 0)
            return term_fail(USAGE, "the name '%s' is that of line %d already", one->name, other->line);
    return DONE;
}

/* Refuses options that are not the recipe's: the sweep itself sets them for each recipe. */
static int check_options(const struct options *o)
{
    const struct writing_options *w = o->writing;
    const struct {
        const char *name;
        bool given;
    } taken[] = {{"--dry-run", w->dry_run},          {"--report", w->report != NULL},
                 {"--output", w->output != NULL},    {"--shard-size", w->shard > 0},
                 {"--help", o->help || o->help_all}, {"--json", o->json}};

    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (taken[i].given)
            return term_fail(USAGE, "%s is no option of a recipe", taken[i].name);
    if (w->to && strcmp(w->to, "gguf") != 0)
        return term_fail(USAGE, "--to %s: a recipe makes a GGUF file", w->to);
    return DONE;
}

/* Words of the line become a command line of convert. */
static int parse_recipe(struct recipes *r, struct recipe *one, const char *model, const char *dir)
{
    const size_t n = strlen(dir) + strlen(one->name) + sizeof "/.gguf";
    char *rest = one->memory;
    bool open = false;

    TRY(check_name(r, one));
    one->path = malloc(n);
    one->word = calloc(strlen(rest) / 2 + 4, sizeof *one->word);
    if (!one->path || !one->word)
        return fail_memory();
    snprintf(one->path, n, "%s/%s.gguf", dir, one->name);
    one->word[one->n_words++] = (char *)(uintptr_t)model;
    one->word[one->n_words++] = one->path;
    for (char *word; (word = recipe_word(&rest, &open)) != NULL;) {
        if (open)
            return term_fail(USAGE, "a quote is not closed: %.80s", word);
        one->word[one->n_words++] = word;
    }
    TRY(options_parse(&one->options, find_verb("convert"), one->n_words, one->word));
    return check_options(&one->options);
}

/* A line that is neither empty nor a remark; it stays, and words are written into it. */
static int read_line(struct recipes *r, char *line, int number, const char *file, const char *model,
                     const char *dir)
{
    struct recipe *grown;
    bool open = false;
    char *name, *rest = line;

    if (!line[strspn(line, " \t\r")] || line[strspn(line, " \t\r")] == '#')
        return DONE;
    grown = realloc(r->of, (size_t)(r->n + 1) * sizeof *grown);
    if (!grown)
        return fail_memory();
    r->of = grown;
    struct recipe *one = &r->of[r->n++];
    *one = (struct recipe){.line = number};
    name = recipe_word(&rest, &open);
    rest += strspn(rest, " \t");
    one->name = strdup(name);
    one->text = strdup(rest);
    one->memory = strdup(rest);
    if (!one->name || !one->text || !one->memory)
        return fail_memory();
    one->text[strcspn(one->text, "\r")] = 0;
    recipe_speaks(file, one);
    int code = parse_recipe(r, one, model, dir);
    recipe_speaks(file, NULL);
    return code;
}

int recipes_read(struct recipes *r, const char *file, const char *model, const char *dir)
{
    char *text = NULL;
    size_t n = 0;
    int code = read_input(file, &text, &n), number = 1;

    if (code == DONE && strlen(text) != n)
        code = term_fail(USAGE, "%s: has a byte of 0, and recipes are text", input_name(file));
    for (char *line = text; code == DONE && line; number++) {
        char *end = strchr(line, '\n');
        if (end)
            *end = 0;
        code = read_line(r, line, number, input_name(file), model, dir);
        line = end ? end + 1 : NULL;
    }
    if (code == DONE && r->n == 0)
        code = term_fail(USAGE, "%s: has no recipe: a name and options of convert in each line",
                         input_name(file));
    free(text);
    return code;
}

void recipes_free(struct recipes *r)
{
    for (int i = 0; i < r->n; i++) {
        struct recipe *one = &r->of[i];
        options_free(&one->options);
        free(one->memory);
        free(one->word);
        free(one->path);
        free(one->name);
        free(one->text);
    }
    free(r->of);
}
