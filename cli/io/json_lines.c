/* SPDX-License-Identifier: Apache-2.0 */
/* json_lines.c: see json_lines.h. Lines that are read one by one, as they come, are tokenize.c's. */
#include "io/json_lines.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "io/json_place.h"
#include "term/utf8.h"

int json_lines_open(struct json_lines *l, const char *path)
{
    *l = (struct json_lines){.name = input_name(path)};

    TRY(read_input(path, &l->text, &l->n));
    if (l->n == 0)
        return term_fail(USAGE, "%s is empty, expected a JSON value in every line", l->name);
    return DONE;
}

bool json_lines_next(struct json_lines *l)
{
    if (l->next >= l->n)
        return false;
    l->line = l->text + l->next;
    const char *end = memchr(l->line, '\n', l->n - l->next);
    l->n_line = end ? (size_t)(end - l->line) : l->n - l->next;
    l->next += l->n_line + 1;
    l->number++;
    return true;
}

int json_lines_fail(const struct json_lines *l, size_t byte, const char *format, ...)
{
    char message[512];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return term_fail(USAGE, "%s: line %ld, byte %zu: %s", l->name, l->number, byte, message);
}

size_t json_lines_byte(const struct json_lines *l, const char *member, int i)
{
    return json_member_at(l->line, l->n_line, member, i);
}

json_t *json_lines_value(const struct json_lines *l, int *code)
{
    const size_t valid = utf8_valid(l->line, l->n_line);
    json_error_t error;

    if (valid < l->n_line) {
        *code = json_lines_fail(l, valid, "this is not UTF-8 (found 0x%02x)", (unsigned char)l->line[valid]);
        return NULL;
    }
    json_t *value = json_loadb(l->line, l->n_line, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    *code = value ? DONE
            : json_error_code(&error) == json_error_out_of_memory
                ? fail_memory()
                : json_lines_fail(l, error.position > 0 ? (size_t)error.position : 0, "this is not JSON: %s",
                                  error.text);
    return value;
}

void json_lines_close(struct json_lines *l)
{
    free(l->text);
    *l = (struct json_lines){0};
}
