/* SPDX-License-Identifier: Apache-2.0 */
/* environment.c: variables named after options, CARAT_ARG_TEMP for --temp, and LLAMA_ARG_TEMP where that is
 * not set. Texts and files have none: a prompt that comes from nowhere would surprise. */
#define _GNU_SOURCE /* environ */
#include "options/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options/store.h"
#include "term/message.h"

static const char own[] = "CARAT_ARG_", llama[] = "LLAMA_ARG_";

/* The variable of a long spelling; false for a short one. */
static bool variable_name(char *out, size_t capacity, const char *prefix, const char *spelling)
{
    size_t n;

    if (strncmp(spelling, "--", 2) != 0)
        return false;
    n = (size_t)snprintf(out, capacity, "%s%s", prefix, spelling + 2);
    for (size_t i = 0; i < n && i < capacity; i++) {
        if (out[i] == '-')
            out[i] = '_';
        else if (out[i] >= 'a' && out[i] <= 'z')
            out[i] = (char)(out[i] - 'a' + 'A');
    }
    return n < capacity;
}

static int take(struct options *o, const struct option_row *row, const char *name, const char *value)
{
    if (row->option->kind != FLAG)
        return option_store(o, row, name, value);
    if (!is_choice("1|true|on|0|false|off", value))
        return term_fail(USAGE, "%s: '%.80s' must be 1 or 0", name, value);
    *(bool *)option_field(o, row) = is_choice("1|true|on", value);
    return DONE;
}

static bool has_variable(const struct option *option)
{
    return option->kind == FLAG || option->kind >= CHOICE;
}

bool option_variable(char *out, size_t capacity, const struct option *option)
{
    for (int k = 0; has_variable(option) && k < MOST_NAMES && option->names[k]; k++) {
        if (variable_name(out, capacity, own, option->names[k]))
            return true;
    }
    return false;
}

/* Long spelling i of the options that have variables. */
static const char *next_spelling(void *user, int i)
{
    (void)user;
    for (const struct option_row *r = table_rows(); r->option; r++)
        for (int k = 0; has_variable(r->option) && k < MOST_NAMES && r->option->names[k]; k++)
            if (strncmp(r->option->names[k], "--", 2) == 0 && i-- == 0)
                return r->option->names[k];
    return NULL;
}

/* The spelling that belongs to a variable, "" when it is too long for one. */
static void spelling_of(char *out, size_t capacity, const char *variable, size_t n)
{
    size_t i = 0, skip = strlen(own);

    if (n - skip + 3 <= capacity) {
        for (; i < 2; i++)
            out[i] = '-';
        for (const char *p = variable + skip; p < variable + n; p++)
            out[i++] = *p == '_' ? '-' : *p >= 'A' && *p <= 'Z' ? (char)(*p | 0x20) : *p;
    }
    out[i] = 0;
}

/* A variable that looks like one of carat's and is not would be ignored without a word. */
static void note_unknown(void)
{
    char spelling[64], name[64];
    const char *known, *meant;

    for (char **entry = environ; entry && *entry; entry++) {
        size_t n = strcspn(*entry, "=");
        bool found = false;
        if (strncmp(*entry, own, strlen(own)) != 0)
            continue;
        spelling_of(spelling, sizeof spelling, *entry, n);
        for (int i = 0; !found && (known = next_spelling(NULL, i)) != NULL; i++)
            found = strcmp(spelling, known) == 0;
        if (found)
            continue;
        meant = term_nearest(spelling, next_spelling, NULL);
        if (meant && variable_name(name, sizeof name, own, meant))
            term_note("%.*s is not a variable of carat; did you mean %s?", (int)n, *entry, name);
        else
            term_note("%.*s is not a variable of carat; 'carat help --help-all' says which there are", (int)n,
                      *entry);
    }
}

/* Takes what variables with that prefix say about an option. *found is set when there is one. */
static int take_all(struct options *o, const struct option_row *row, const char *prefix, bool *found)
{
    char name[64];
    int code = DONE;

    for (int k = 0; k < MOST_NAMES && row->option->names[k] && code == DONE; k++) {
        const char *value =
            variable_name(name, sizeof name, prefix, row->option->names[k]) ? getenv(name) : NULL;
        if (value && *value) {
            *found = true;
            code = take(o, row, name, value);
        }
    }
    return code;
}

/* True: there is a variable with that prefix at all; if not, none has to be asked for. */
static bool is_used(const char *prefix)
{
    char **entry = environ;

    while (entry && *entry && strncmp(*entry, prefix, strlen(prefix)) != 0)
        entry++;
    return entry && *entry;
}

int options_environment(struct options *o)
{
    const bool mine = is_used(own), theirs = is_used(llama);
    int code = DONE;

    note_unknown();
    if (!mine && !theirs)
        return DONE;
    for (const struct option_row *r = table_rows(); r->option && code == DONE; r++) {
        bool found = false;
        if (!has_variable(r->option) || !verb_belongs(r->option->verbs, o->verb))
            continue;
        if (mine)
            code = take_all(o, r, own, &found);
        if (theirs && code == DONE && !found)
            code = take_all(o, r, llama, &found);
    }
    return code;
}
