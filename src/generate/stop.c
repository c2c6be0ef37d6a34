/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c: see stop.h. Each string has the automaton of Knuth, Morris and Pratt. The text that is held back is
 * the longest end of the text that a stop string begins with, so that it need not be kept: it is written
 * there. */
#include "generate/stop.h"

#include <stdlib.h>

#include "base/arguments.h"
#include "base/utf8.h"

static carat_status check_stop(const char *text, int i, carat_error *err)
{
    if (!text)
        return ct_fail(err, CARAT_E_ARGUMENT, "stop string %d is NULL", i);
    const char *end = memchr(text, 0, CARAT_MOST_STOP_BYTES + 1);
    if (end == text)
        return ct_fail(err, CARAT_E_ARGUMENT, "stop string %d is empty, expected 1 to %d bytes", i,
                       CARAT_MOST_STOP_BYTES);
    if (!end)
        return ct_fail(err, CARAT_E_ARGUMENT, "stop string %d is longer than %d bytes", i,
                       CARAT_MOST_STOP_BYTES);
    if (!ct_utf8_valid(text, (size_t)(end - text)))
        return ct_fail(err, CARAT_E_ARGUMENT, "stop string %d is not UTF-8", i);
    return CARAT_OK;
}

/* Goes on to the longest beginning of the string that the text ends with, now that c follows. */
static int stop_advance(const struct ct_stop *s, int at, char c)
{
    while (at > 0 && s->text[at] != c)
        at = s->fail[at - 1];
    return at + (s->text[at] == c);
}

static void fill_fail(const struct ct_stop *s, uint16_t *fail)
{
    fail[0] = 0;
    for (int i = 1; i < s->n; i++)
        fail[i] = (uint16_t)stop_advance(s, fail[i - 1], s->text[i]);
}

carat_status ct_stops_open(struct ct_stops *s, const char *const *stops, int n, carat_error *err)
{
    size_t bytes = 0;

    *s = (struct ct_stops){0};
    CT_TRY(ct_check_range("n_stops", n, 0, stops ? CARAT_MOST_STOPS : 0, err));
    for (int i = 0; i < n; i++) {
        CT_TRY(check_stop(stops[i], i, err));
        bytes += strlen(stops[i]);
    }
    if (n == 0)
        return CARAT_OK;
    uint16_t *fail = malloc(bytes * (sizeof *fail + 1));
    if (!fail)
        return ct_no_memory(err, "stop strings");
    char *text = (char *)(fail + bytes);
    s->memory = fail;
    for (s->n = 0; s->n < n; s->n++) {
        struct ct_stop *one = &s->of[s->n];
        one->n = (int)strlen(stops[s->n]);
        one->text = memcpy(text, stops[s->n], (size_t)one->n);
        one->fail = fail;
        fill_fail(one, fail);
        text += one->n;
        fail += one->n;
    }
    return CARAT_OK;
}

void ct_stops_close(struct ct_stops *s)
{
    free(s->memory);
}

void ct_stops_begin(struct ct_stops *s)
{
    for (int i = 0; i < s->n; i++)
        s->of[i].at = 0;
}

/* The string of which most is there: so much of it is held back. */
static const struct ct_stop *longest_begun(const struct ct_stops *s)
{
    static const struct ct_stop none = {.text = ""};
    const struct ct_stop *longest = &none;

    for (int i = 0; i < s->n; i++)
        if (s->of[i].at > longest->at)
            longest = &s->of[i];
    return longest;
}

/* One byte more. The longest string that it completes, or -1. */
static int push_stop_byte(struct ct_stops *s, char c)
{
    int complete = -1;

    for (int i = 0; i < s->n; i++) {
        struct ct_stop *one = &s->of[i];
        one->at = stop_advance(one, one->at, c);
        if (one->at == one->n && (complete < 0 || one->n > s->of[complete].n))
            complete = i;
    }
    return complete;
}

size_t ct_stops_rest(struct ct_stops *s, char *out)
{
    const struct ct_stop *begun = longest_begun(s);
    size_t n = (size_t)begun->at;

    memcpy(out, begun->text, n);
    ct_stops_begin(s);
    return n;
}

int ct_stops_push(struct ct_stops *s, const char *text, size_t n, char *out, size_t *n_out)
{
    const struct ct_stop *begun = longest_begun(s);
    size_t held = (size_t)begun->at;
    int complete = -1;

    memcpy(out, begun->text, held);
    memcpy(out + held, text, n);
    for (size_t i = 0; i < n && complete < 0; i++) {
        complete = push_stop_byte(s, text[i]);
        if (complete >= 0)
            *n_out = held + i + 1 - (size_t)s->of[complete].n;
    }
    if (complete >= 0) {
        ct_stops_begin(s);
        return complete;
    }
    *n_out = held + n - (size_t)longest_begun(s)->at;
    return -1;
}
