/* SPDX-License-Identifier: Apache-2.0 */
/* table.c: puts the rows of all groups together and finds them. What becomes of a value is store.c's. */
#include "options/table.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The options about options.h: what every verb has. */
#define AT(field) offsetof(struct options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_MODEL + 10, {"-m", "--model", "--weights"}, MODEL, AT(model), "opens", "MODEL", NULL,
     "the model, instead of the first argument", 0, 0},
    {ABOUT_MODEL + 11, {"-hf", "-hfr", "--hf-repo"}, TEXT, AT(model), "/ opens pull", "OWNER/NAME", NULL,
     "the same, a repository of the hub, with :QUANT behind it for one of several GGUF files", 0, 0},
    {ABOUT_MODEL + 15, {"--search-hf"}, TEXT, AT(model), "/ search", "WORDS", NULL,
     "the words, as in carat fetch --search-hf WORDS", 0, 0},
    {ABOUT_MODEL + 16, {"--search-kaggle"}, TEXT, AT(kaggle), "/ search", "WORDS", NULL,
     "the same, and --source kaggle", 0, 0},
    {ABOUT_MODEL + 17, {"--kaggle"}, TEXT, AT(kaggle), "/ pull", "HANDLE", NULL,
     "OWNER/MODEL/FRAMEWORK/VARIATION of Kaggle, as kaggle://HANDLE", 0, 0},
    {ABOUT_MODEL + 13, {"-mu", "--model-url"}, TEXT, AT(model), "/ opens", "ADDRESS", NULL,
     "the same, the address of a file or of a page of the hub", 0, 0},
    {ABOUT_OUTPUT + 110, {"--json"}, FLAG, AT(json), "any -chat -render -pack -completion -help", NULL, NULL,
     "print JSON", 0, 0},
    {ABOUT_OUTPUT + 120, {"--jsonl"}, FLAG, AT(lines), SCORES " decode", NULL, NULL,
     "print JSON line by line as results arrive", 0, 0},
    {ABOUT_MESSAGES + 30, {"-v", "--verbose"}, FLAG, AT(verbose), GENERATES, NULL, NULL,
     "print the speed, how the model was run, and why it stopped", 0, 0},
    {ABOUT_MESSAGES + 60, {"--color", "-co"}, SWITCH, AT(color), "/ any", "on|off|auto|always|never", "auto",
     "use colours in messages (default {default}: on a terminal)", 0, 0},
    {ABOUT_MESSAGES + 70, {"--man"}, FLAG, AT(man), "help", NULL, NULL,
     "print a man page, for man -l", 0, 0},
    {ABOUT_MESSAGES + 80, {"-h", "--help", "--usage"}, FLAG, AT(help), "any", NULL, NULL,
     "print the most used options", 0, 0},
    {ABOUT_MESSAGES + 90, {"--help-all"}, FLAG, AT(help_all), "any", NULL, NULL,
     "print every option", 0, 0},
};
/* clang-format on */

const struct option_group command_group = OPTION_GROUP(rows, struct options, NULL);

extern const struct option_group command_group; /* whose values are in struct options itself */

static struct {
    struct option_row row[MOST_OPTIONS + 1];
    int n;
    const struct option_group *const *groups;
} table;

static void add_group(const struct option_group *group, int number)
{
    assert(table.n + group->n <= MOST_OPTIONS);
    for (int i = 0; i < group->n; i++)
        table.row[table.n++] = (struct option_row){&group->rows[i], number};
    if (group->prepare)
        group->prepare();
}

static int by_place(const void *a, const void *b)
{
    return ((const struct option_row *)a)->option->place - ((const struct option_row *)b)->option->place;
}

void table_assemble(const struct option_group *const groups[N_GROUPS])
{
    table.groups = groups;
    table.n = 0;
    add_group(&command_group, N_GROUPS);
    for (int i = 0; i < N_GROUPS; i++)
        add_group(groups[i], i);
    qsort(table.row, (size_t)table.n, sizeof *table.row, by_place);
    table.row[table.n].option = NULL;
}

const struct option_row *table_rows(void)
{
    return table.row;
}

int table_place(const struct option_row *row)
{
    return (int)(row - table.row);
}

const struct option_group *table_group(int group)
{
    return group == N_GROUPS ? &command_group : table.groups[group];
}

/* Is the word of n bytes about the verb, whose name has `length`? */
static bool is_about(const char *word, size_t n, const struct verb *verb, size_t length)
{
    return (n == length && memcmp(word, verb->name, n) == 0) || (n == 3 && memcmp(word, "any", n) == 0) ||
           (n == 5 && verb->opens && memcmp(word, "opens", n) == 0);
}

enum belongs verb_belongs(const char *words, const struct verb *verb)
{
    enum belongs here = OFTEN, belongs = NOT_THERE;
    const size_t length = strlen(verb->name);

    for (size_t n; *words; words += n + (words[n] == ' ')) {
        for (n = 0; words[n] && words[n] != ' '; n++) /* words are short, and thousands at each start */
            continue;
        if (*words == '/')
            here = SELDOM;
        else if (*words == '-' && is_about(words + 1, n - 1, verb, length))
            belongs = NOT_THERE;
        else if (is_about(words, n, verb, length))
            belongs = here;
    }
    return belongs;
}

const struct option_row *option_find(const struct verb *verb, const char *name, size_t n)
{
    for (const struct option_row *r = table.row; r->option; r++)
        for (int i = 0; i < MOST_NAMES && r->option->names[i]; i++)
            if (strlen(r->option->names[i]) == n && memcmp(r->option->names[i], name, n) == 0 &&
                verb_belongs(r->option->verbs, verb))
                return r;
    return NULL;
}

const struct option_row *option_named(const struct verb *verb, const char *name)
{
    return option_find(verb, name, strlen(name));
}

const char *section_title(const struct option *option)
{
    static const char *const titles[] = {
        "Model",     "Input",   "Generation", "What is compared", "Output", "What is measured",
        "Computing", "Messages"};

    return titles[option->place / ABOUT_MODEL - 1];
}

bool may_stand_alone(const struct option *option)
{
    return option->kind == SWITCH || option->kind == MAYBE_SIZE;
}

const char *option_heading(char out[HEADING_TEXT], const struct option *option)
{
    size_t n = 0;

    *out = 0;
    for (int i = 0; i < MOST_NAMES && option->names[i] && n < HEADING_TEXT; i++)
        n += (size_t)snprintf(out + n, HEADING_TEXT - n, "%s%s", i ? ", " : "", option->names[i]);
    if (option->value && n < HEADING_TEXT)
        snprintf(out + n, HEADING_TEXT - n, may_stand_alone(option) ? " [%.*s]" : " %.*s",
                 (int)choices_shown(option->value), option->value);
    return out;
}

const char *option_help(char out[HELP_TEXT], const struct option *option)
{
    char most[32];
    const struct {
        const char *word, *text;
    } fills[] = {{"{default}", option->standard}, {"{most}", most}};
    size_t n = 0;

    snprintf(most, sizeof most, "%.0f", option->high);
    for (const char *p = option->help; *p && n + 1 < HELP_TEXT;) {
        const int fill = strncmp(p, fills[0].word, strlen(fills[0].word)) == 0   ? 0
                         : strncmp(p, fills[1].word, strlen(fills[1].word)) == 0 ? 1
                                                                                 : -1;
        n += (size_t)(fill < 0 ? snprintf(out + n, HELP_TEXT - n, "%c", *p)
                               : snprintf(out + n, HELP_TEXT - n, "%s", fills[fill].text));
        p += fill < 0 ? 1 : strlen(fills[fill].word);
    }
    return out;
}

bool is_choice(const char *choices, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = choices; n > 0; p++) {
        size_t length = strcspn(p, "|");
        if (length == n && memcmp(p, word, n) == 0)
            return true;
        p += length;
        if (!*p)
            break;
    }
    return false;
}

size_t choices_shown(const char *choices)
{
    const char *end = strstr(choices, "||");

    return end ? (size_t)(end - choices) : strlen(choices);
}

const char *choices_text(char out[CHOICES_TEXT], const char *choices)
{
    const char *end = choices + choices_shown(choices);
    size_t n = 0;

    for (; choices < end && n + 3 < CHOICES_TEXT; choices++) {
        out[n++] = *choices == '|' ? ',' : *choices;
        if (*choices == '|')
            out[n++] = ' ';
    }
    out[n] = 0;
    return out;
}
