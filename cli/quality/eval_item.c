/* SPDX-License-Identifier: Apache-2.0 */
/* eval_item.c: see eval_item.h. Needs nothing but jansson, so that a fuzz target can take it alone. */
#include "quality/eval_item.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
static bool
item_wrong(struct item_fault *fault, const char *member, int element, const char *format, ...)
{
    va_list args;

    fault->member = member;
    fault->element = element;
    va_start(args, format);
    vsnprintf(fault->text, sizeof fault->text, format, args);
    va_end(args);
    return false;
}

/* A text without NUL; one that is needed has a byte at least. element: of the list `name`, or -1. */
static bool item_text(const char **to, const json_t *value, const char *name, int element, bool needed,
                      struct item_fault *fault)
{
    char what[32];

    if (!value && !needed)
        return true;
    snprintf(what, sizeof what, element < 0 ? "\"%s\"" : "\"%s\"[%d]", name, element);
    if (!value)
        return item_wrong(fault, "", -1, "there is no %s", what);
    if (!json_is_string(value))
        return item_wrong(fault, name, element, "%s is not a string", what);
    *to = json_string_value(value);
    if (strlen(*to) != json_string_length(value))
        return item_wrong(fault, name, element, "%s has a NUL character", what);
    return !needed || **to || item_wrong(fault, name, element, "%s is empty", what);
}

static bool item_choices(struct eval_item *item, const json_t *list, struct item_fault *fault)
{
    static const char name[] = "choices";
    const size_t n = json_array_size(list);

    if (!json_is_array(list))
        return item_wrong(fault, list ? name : "", -1, "there is no list \"%s\"", name);
    if (n < 2 || n > MOST_CHOICES)
        return item_wrong(fault, name, -1, "\"%s\" are %zu, expected 2 to %d", name, n, MOST_CHOICES);
    for (int i = 0; i < (int)n; i++) {
        if (!item_text(&item->choice[i], json_array_get(list, (size_t)i), name, i, true, fault))
            return false;
        for (int j = 0; j < i; j++)
            if (strcmp(item->choice[j], item->choice[i]) == 0)
                return item_wrong(fault, name, i, "\"%s\"[%d] and [%d] are the same", name, j, i);
    }
    item->n = (int)n;
    return true;
}

/* An index from 0, or a letter. */
static bool item_answer(struct eval_item *item, const json_t *value, struct item_fault *fault)
{
    static const char name[] = "answer";
    const char *letter = json_string_length(value) == 1 ? json_string_value(value) : NULL;
    json_int_t at = -1;

    if (!value)
        return item_wrong(fault, "", -1, "there is no \"%s\"", name);
    if (json_is_integer(value))
        at = json_integer_value(value);
    else if (letter && *letter >= 'A' && *letter <= 'Z')
        at = *letter - 'A';
    else if (letter && *letter >= 'a' && *letter <= 'z')
        at = *letter - 'a';
    else
        return item_wrong(fault, name, -1, "\"%s\" is neither an index nor a letter", name);
    if (at < 0 || at >= item->n)
        return item_wrong(fault, name, -1, "\"%s\" is none of the %d choices, expected 0 to %d or A to %c",
                          name, item->n, item->n - 1, 'A' + item->n - 1);
    item->answer = (int)at;
    return true;
}

bool eval_item_read(struct eval_item *item, json_t *value, struct item_fault *fault)
{
    json_t *question = NULL, *context = NULL, *subject = NULL, *choices = NULL, *answer = NULL;

    *item = (struct eval_item){.question = "", .context = "", .subject = ""};
    if (json_unpack(value, "{s?o, s?o, s?o, s?o, s?o}", "question", &question, "context", &context, "subject",
                    &subject, "choices", &choices, "answer", &answer) != 0)
        return item_wrong(fault, "", -1, "this is not a JSON object");
    return item_text(&item->question, question, "question", -1, true, fault) &&
           item_text(&item->context, context, "context", -1, false, fault) &&
           item_text(&item->subject, subject, "subject", -1, false, fault) &&
           item_choices(item, choices, fault) && item_answer(item, answer, fault);
}
