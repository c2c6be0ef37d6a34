/* SPDX-License-Identifier: Apache-2.0 */
/* json_place.c: finds a value again in text that was read as JSON, since jansson does not say where it was.
 * */
#include "io/json_place.h"

#include <stdbool.h>
#include <string.h>

static size_t place_skip(const char *text, size_t n, size_t at)
{
    while (at < n && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r'))
        at++;
    return at < n ? at : n;
}

static size_t place_after_string(const char *text, size_t n, size_t at)
{
    for (at++; at < n && text[at] != '"'; at++)
        at += text[at] == '\\';
    return at < n ? at + 1 : n;
}

/* The end of the value that begins there. */
static size_t place_after(const char *text, size_t n, size_t at)
{
    int depth = 0;

    do {
        if (at < n && text[at] == '"') {
            at = place_after_string(text, n, at);
            continue;
        }
        if (at < n && (text[at] == '{' || text[at] == '['))
            depth++;
        if (at < n && (text[at] == '}' || text[at] == ']') && depth-- == 0)
            return at;
        if (depth == 0 && at < n && text[at] == ',')
            return at;
        at++;
    } while (at < n && (depth > 0 || !strchr(",]}", text[at])));
    return at < n ? at : n;
}

static size_t place_of_element(const char *text, size_t n, size_t at, int i)
{
    if (at >= n || text[at] != '[')
        return at;
    at = place_skip(text, n, at + 1);
    while (i-- > 0 && at < n && text[at] != ']')
        at = place_skip(text, n, place_after(text, n, at) + 1);
    return at < n ? at : n;
}

size_t json_member_at(const char *text, size_t n, const char *member, int i)
{
    size_t length = strlen(member), at = place_skip(text, n, 0);

    if (at >= n || text[at] != '{')
        return 0;
    at = place_skip(text, n, at + 1);
    while (at < n && text[at] == '"') {
        size_t name = at + 1;
        at = place_after_string(text, n, at);
        bool found = at - 1 - name == length && memcmp(text + name, member, length) == 0;
        at = place_skip(text, n, place_skip(text, n, at) + 1);
        if (found)
            return i < 0 ? at : place_of_element(text, n, at, i);
        at = place_skip(text, n, place_after(text, n, at) + 1);
    }
    return 0;
}
