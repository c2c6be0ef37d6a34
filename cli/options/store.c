/* SPDX-License-Identifier: Apache-2.0 */
/* store.c: the values of options: their memory, their defaults, and what becomes of the text that gives one.
 * Which options there are is table.c's, which words of a command line belong together parse.c's. */
#include "options/store.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "term/message.h"

/* Offsets in struct options of each group's pointer. */
static const size_t pointers[N_GROUPS] = {
#define GROUP(name) offsetof(struct options, name),
    OPTION_GROUPS(GROUP)
#undef GROUP
};

enum { ALIGN = 16 };

/* The values of all groups lie behind each other, behind them a bool for each row: whether it was given. */
static size_t size_of(int group)
{
    return (table_group(group)->size + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t size_of_all(void)
{
    size_t n = 0;

    for (int i = 0; i < N_GROUPS; i++)
        n += size_of(i);
    return n;
}

static void point(struct options *o)
{
    char *at = o->values;

    for (int i = 0; i < N_GROUPS; at += size_of(i++))
        *(void **)((char *)o + pointers[i]) = at;
}

static bool *is_given_at(const struct options *o, const struct option_row *row)
{
    return (bool *)(o->values + size_of_all()) + table_place(row);
}

void *options_group(struct options *o, enum option_group_number group)
{
    return *(void **)((char *)o + pointers[group]);
}

void *option_field(const struct options *o, const struct option_row *row)
{
    const char *base =
        row->group == N_GROUPS ? (const char *)o : *(char *const *)((const char *)o + pointers[row->group]);

    return (void *)(base + row->option->field);
}

bool options_given(const struct options *o, const void *field)
{
    for (const struct option_row *r = table_rows(); r->option; r++)
        if (option_field(o, r) == field && *is_given_at(o, r))
            return true;
    return false;
}

/* Decimal digits with an optional minus: strtoll alone would take leading space, a plus and hexadecimal. */
static bool parse_int64(const char *text, int64_t *value)
{
    const char *digits = text + (*text == '-');
    char *end;

    if (!*digits || strspn(digits, "0123456789") != strlen(digits))
        return false;
    errno = 0;
    long long parsed = strtoll(text, &end, 10);
    *value = parsed;
    return errno == 0 && *end == 0;
}

/* Decimal notation only; inf and nan are no numbers here. */
static bool parse_real(const char *text, double *value)
{
    char *end;

    if (!*text || strspn(text, "0123456789.eE+-") != strlen(text))
        return false;
    errno = 0;
    *value = strtod(text, &end);
    return end != text && *end == 0 && *value - *value == 0;
}

/* "2G", "1.5GiB", "800M", "4096". */
static bool parse_size(const char *text, double *value)
{
    static const char units[] = "KMGT";
    size_t n = strspn(text, "0123456789.");
    char number[32];
    const char *unit = NULL;

    if (n == 0 || n >= sizeof number || text[0] == '.')
        return false;
    memcpy(number, text, n);
    number[n] = 0;
    text += n;
    if (*text && (unit = strchr(units, *text & ~0x20)) != NULL)
        text++;
    if (unit && *text == 'i' && (text[1] & ~0x20) == 'B')
        text++;
    if ((*text & ~0x20) == 'B')
        text++;
    if (*text || !parse_real(number, value))
        return false;
    for (int i = 0; unit && i <= unit - units; i++)
        *value *= 1024;
    return true;
}

bool is_value(const struct option *option, const char *word)
{
    double size;

    return option->kind == SWITCH ? is_choice(option->value, word) : parse_size(word, &size);
}

static int store_amount(struct amount *field, const struct option *option, const char *what, const char *text)
{
    bool bytes = strspn(text, "0123456789") != strlen(text);
    double real;

    if (!parse_size(text, &real) || real < option->low || real > (bytes ? 0x1p60 : option->high))
        return term_fail(USAGE,
                         "%s: '%.80s' is not a whole number from %.0f to %.0f, nor bytes as in 800M or 2G",
                         what, text, option->low, option->high);
    *field = (struct amount){(uint64_t)real, bytes};
    return DONE;
}

static int store_text(struct texts *field, const struct option *option, const char *what, const char *text)
{
    if (field->n == (int)option->high)
        return term_fail(USAGE, "%s: '%.80s' is one too many, at most %d are taken", what, text,
                         (int)option->high);
    field->text[field->n++] = text;
    return DONE;
}

static int store(void *field, const struct option *option, const char *what, const char *text)
{
    char choices[CHOICES_TEXT];
    int64_t integer;
    double real;

    switch (option->kind) {
    case FLAG:
        *(bool *)field = true;
        return DONE;
    case MODEL:
    case PATH:
    case READS:
    case WRITES:
        if (!*text)
            return term_fail(USAGE, "%s is empty, expected %s", what, option->value);
        *(const char **)field = text;
        return DONE;
    case TEXT:
    case IDS:
        *(const char **)field = text;
        return DONE;
    case TEXTS:
        return store_text(field, option, what, text);
    case CHOICE:
    case SWITCH:
        if (!is_choice(option->value, text))
            return term_fail(USAGE, "%s: '%.80s' must be one of %s", what, text,
                             choices_text(choices, option->value));
        *(const char **)field = text;
        return DONE;
    case INT:
        if (!parse_int64(text, &integer) || integer < (int64_t)option->low || integer > (int64_t)option->high)
            return term_fail(USAGE, "%s: '%.80s' is not a whole number from %.0f to %.0f", what, text,
                             option->low, option->high);
        *(int *)field = (int)integer;
        return DONE;
    case INTS:
        for (const char *at = text;; at++) {
            size_t n = strcspn(at, ",");
            char number[24];
            snprintf(number, sizeof number, "%.*s", (int)n, at);
            if (n >= sizeof number || !parse_int64(number, &integer) || integer < (int64_t)option->low ||
                integer > (int64_t)option->high)
                return term_fail(USAGE,
                                 "%s: '%.80s' is not a list of whole numbers from %.0f to %.0f, as in 1,2",
                                 what, text, option->low, option->high);
            if (!*(at += n))
                break;
        }
        *(const char **)field = text;
        return DONE;
    case OFF_OR_INT:
        integer = 0;
        if (strcmp(text, "off") != 0 && (!parse_int64(text, &integer) || integer < (int64_t)option->low ||
                                         integer > (int64_t)option->high))
            return term_fail(USAGE, "%s: '%.80s' is neither off nor a whole number from %.0f to %.0f", what,
                             text, option->low, option->high);
        *(int *)field = (int)integer;
        return DONE;
    case INT64:
        if (!parse_int64(text, &integer) || integer < (int64_t)option->low)
            return term_fail(USAGE, "%s: '%.80s' is not a whole number from %.0f to %lld", what, text,
                             option->low, (long long)INT64_MAX);
        *(int64_t *)field = integer;
        return DONE;
    case REAL:
    case REAL_OR_0:
        if (!parse_real(text, &real) ||
            ((real < option->low || real > option->high) && !(option->kind == REAL_OR_0 && real == 0)))
            return term_fail(USAGE, "%s: '%.80s' is not %sa number from %g to %g", what, text,
                             option->kind == REAL ? "" : "0 or ", option->low, option->high);
        *(double *)field = real;
        return DONE;
    case SIZE:
    case MAYBE_SIZE:
        if (!parse_size(text, &real) || real < option->low || real > option->high)
            return term_fail(USAGE, "%s: '%.80s' is not a size from %.0f to %.0f bytes, as in 800M or 2G",
                             what, text, option->low, option->high);
        *(uint64_t *)field = (uint64_t)real;
        return DONE;
    case AMOUNT:
        return store_amount(field, option, what, text);
    }
    return DONE;
}

/* Stores the value that says that nothing was given. */
static void store_nothing(void *field, const struct option *option)
{
    switch (option->kind) {
    case REAL:
    case REAL_OR_0:
        *(double *)field = NAN;
        return;
    case MAYBE_SIZE:
        *(uint64_t *)field = NO_SIZE;
        return;
    case INT:
        *(int *)field = option->low > 0 ? 0 : option->low == 0 ? -1 : NOT_GIVEN;
        return;
    default: /* all bytes are 0 */
        return;
    }
}

static void store_standards(struct options *o, const struct verb *verb)
{
    for (const struct option_row *r = table_rows(); r->option; r++) {
        if (verb && !verb_belongs(r->option->verbs, verb))
            continue;
        if (r->option->standard)
            (void)store(option_field(o, r), r->option, "default", r->option->standard);
        else
            store_nothing(option_field(o, r), r->option);
    }
}

int options_begin(struct options *o, const struct verb *verb)
{
    *o = (struct options){.verb = verb, .values = calloc(1, size_of_all() + MOST_OPTIONS)};
    if (!o->values)
        return fail_memory();
    point(o);
    store_standards(o, NULL); /* a field may belong to rows of several verbs: the verb's own come last */
    store_standards(o, verb);
    return DONE;
}

int options_copy(struct options *to, const struct options *from)
{
    const size_t n = size_of_all() + MOST_OPTIONS;

    char *values = malloc(n);

    *to = *from;
    if (!values)
        return fail_memory();
    to->values = memcpy(values, from->values, n);
    point(to);
    return DONE;
}

void options_free(struct options *o)
{
    free(o->values);
    o->values = NULL;
}

int option_store(struct options *o, const struct option_row *row, const char *what, const char *text)
{
    int code = store(option_field(o, row), row->option, what, text);

    *is_given_at(o, row) = *is_given_at(o, row) || code == DONE;
    return code;
}
