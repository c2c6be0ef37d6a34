/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.c: bytes that grow. */
#include "buffer.h"

#include <stdlib.h>
#include <string.h>

bool buffer_reserve(struct buffer *b, size_t n)
{
    size_t capacity = b->capacity ? b->capacity : 512;

    if (b->failed || (b->most && n > b->most)) {
        b->failed = true;
        return false;
    }
    if (n <= b->capacity)
        return true;
    while (capacity < n)
        capacity *= 2;
    char *data = realloc(b->data, capacity);
    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->capacity = capacity;
    return true;
}

void buffer_put(struct buffer *b, const void *data, size_t n)
{
    if (n == 0 || !buffer_reserve(b, b->n + n))
        return;
    memcpy(b->data + b->n, data, n);
    b->n += n;
}

void buffer_text(struct buffer *b, const char *terminated)
{
    buffer_put(b, terminated, strlen(terminated));
}

const char *buffer_terminate(struct buffer *b)
{
    buffer_put(b, "", 1);
    if (b->failed)
        return NULL;
    b->n--;
    return b->data;
}

void buffer_swap(struct buffer *a, struct buffer *b)
{
    struct buffer kept = *a;

    *a = *b;
    *b = kept;
}

void buffer_free(struct buffer *b)
{
    free(b->data);
    *b = (struct buffer){0};
}
