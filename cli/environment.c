/* environment.c: variables named after options, CARAT_ARG_TEMP for --temp. Texts and files have none: a prompt that
 * comes from nowhere would surprise. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* The variable of a long spelling; false for a short one. */
static bool variable_name(char *out, size_t capacity, const char *spelling)
{
    size_t n;

    if (strncmp(spelling, "--", 2) != 0)
        return false;
    n = (size_t)snprintf(out, capacity, "CARAT_ARG_%s", spelling + 2);
    for (size_t i = 0; i < n && i < capacity; i++) {
        if (out[i] == '-')
            out[i] = '_';
        else if (out[i] >= 'a' && out[i] <= 'z')
            out[i] = (char)(out[i] - 'a' + 'A');
    }
    return n < capacity;
}

static int take(struct options *o, const struct option *option, const char *name, const char *value)
{
    if (option->kind != FLAG)
        return option_store(o, option, name, value);
    if (!is_choice("1|true|on|0|false|off", value))
        return fail(USAGE, "%s: '%.80s' is neither 1 nor 0", name, value);
    *(bool *)((char *)o + option->field) = is_choice("1|true|on", value);
    return DONE;
}

int options_environment(struct options *o, enum verb verb)
{
    char name[64];
    int code = DONE;

    for (int i = 0; i < option_count && code == DONE; i++) {
        const struct option *option = &option_table[i];
        bool setting = option->kind == FLAG || option->kind >= CHOICE;
        for (int k = 0; k < MOST_NAMES && option->names[k] && code == DONE; k++) {
            if (!setting || !(option->verbs & ON(verb)) ||
                !variable_name(name, sizeof name, option->names[k]))
                continue;
            const char *value = getenv(name);
            if (value && *value)
                code = take(o, option, name, value);
        }
    }
    return code;
}
