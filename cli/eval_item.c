/* SPDX-License-Identifier: Apache-2.0 */
/* eval_item.c: see eval_item.h. Needs nothing but jansson, so that a fuzz target can take it alone. */
#include "eval_item.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static bool
item_wrong(char *why, size_t capacity, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why, capacity, format, args);
    va_end(args);
    return false;
}

/* A text without NUL, of a byte at least when it is needed; *to stays when it is not there. */
static bool item_text(const char **to, const json_t *value, const char *name, bool needed, char *why,
                      size_t capacity)
{
    if (!value && !needed)
        return true;
    if (!value)
        return item_wrong(why, capacity, "there is no \"%s\"", name);
    if (!json_is_string(value))
        return item_wrong(why, capacity, "\"%s\" is not a string", name);
    *to = json_string_value(value);
    if (strlen(*to) != json_string_length(value))
        return item_wrong(why, capacity, "\"%s\" has a NUL character", name);
    return !needed || **to || item_wrong(why, capacity, "\"%s\" is empty", name);
}

static bool item_choices(struct eval_item *item, const json_t *list, char *why, size_t capacity)
{
    char name[16];

    if (!json_is_array(list))
        return item_wrong(why, capacity, "there is no list \"choices\"");
    if (json_array_size(list) < 2 || json_array_size(list) > MOST_CHOICES)
        return item_wrong(why, capacity, "\"choices\" are %zu, expected 2 to %d", json_array_size(list),
                          MOST_CHOICES);
    for (item->n = 0; item->n < (int)json_array_size(list); item->n++) {
        snprintf(name, sizeof name, "choices[%d]", item->n);
        if (!item_text(&item->choice[item->n], json_array_get(list, (size_t)item->n), name, true, why,
                       capacity))
            return false;
        for (int i = 0; i < item->n; i++)
            if (strcmp(item->choice[i], item->choice[item->n]) == 0)
                return item_wrong(why, capacity, "choices[%d] and choices[%d] are the same", i, item->n);
    }
    return true;
}

/* An index from 0, or a letter. */
static bool item_answer(struct eval_item *item, const json_t *value, char *why, size_t capacity)
{
    const char *letter = json_string_value(value);
    json_int_t at = -1;

    if (!value)
        return item_wrong(why, capacity, "there is no \"answer\"");
    if (json_is_integer(value))
        at = json_integer_value(value);
    else if (letter && json_string_length(value) == 1 && *letter >= 'A' && *letter <= 'Z')
        at = *letter - 'A';
    else if (letter && json_string_length(value) == 1 && *letter >= 'a' && *letter <= 'z')
        at = *letter - 'a';
    else
        return item_wrong(why, capacity, "\"answer\" is neither an index nor a letter");
    if (at < 0 || at >= item->n)
        return item_wrong(why, capacity, "\"answer\" is none of the %d choices, expected 0 to %d or A to %c",
                          item->n, item->n - 1, 'A' + item->n - 1);
    item->answer = (int)at;
    return true;
}

bool eval_item_read(struct eval_item *item, const json_t *value, char *why, size_t capacity)
{
    *item = (struct eval_item){.question = "", .context = "", .subject = ""};
    if (!json_is_object(value))
        return item_wrong(why, capacity, "this is not a JSON object");
    return item_text(&item->question, json_object_get(value, "question"), "question", true, why, capacity) &&
           item_text(&item->context, json_object_get(value, "context"), "context", false, why, capacity) &&
           item_text(&item->subject, json_object_get(value, "subject"), "subject", false, why, capacity) &&
           item_choices(item, json_object_get(value, "choices"), why, capacity) &&
           item_answer(item, json_object_get(value, "answer"), why, capacity);
}
