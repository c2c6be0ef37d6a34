/* SPDX-License-Identifier: Apache-2.0 */
/* copies.c: a list of copies in the order in which they were asked for. What is copied was read then, as a
 * stream reads it in its turn. */
#include "copies.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct copy {
    struct copy *next;
    void *to;         /* NULL: to the device */
    const void *from; /* NULL: from it */
    size_t n;
    uint8_t bytes[];
} * first;
static int marked; /* of them, from the first on */

static void add(void *to, const void *from, const void *bytes, size_t n)
{
    struct copy **last = &first, *c = malloc(sizeof *c + n);

    if (!c)
        abort();
    while (*last)
        last = &(*last)->next;
    *c = (struct copy){.to = to, .from = from, .n = n};
    memcpy(c->bytes, bytes, n);
    *last = c;
}

void emu_arrive(void *to, const void *bytes, size_t n)
{
    add(to, NULL, bytes, n);
}

void emu_depart(const void *from, size_t n)
{
    add(NULL, from, from, n);
}

void emu_mark_copies(void)
{
    marked = 0;
    for (const struct copy *c = first; c; c = c->next)
        marked++;
}

bool emu_end_marked(void)
{
    struct copy **end = &first;

    for (; marked > 0; marked--)
        end = &(*end)->next;
    struct copy *behind = *end;
    *end = NULL;
    const bool good = emu_end_copies(true);
    first = behind;
    return good;
}

bool emu_end_copies(bool wait)
{
    bool good = true;

    marked = 0;
    for (struct copy *c = first, *next; c; c = next) {
        next = c->next;
        if (wait && c->to)
            memcpy(c->to, c->bytes, c->n);
        if (wait && c->from)
            good &= memcmp(c->from, c->bytes, c->n) == 0;
        free(c);
    }
    first = NULL;
    return good;
}
