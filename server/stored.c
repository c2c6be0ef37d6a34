/* SPDX-License-Identifier: Apache-2.0 */
/* stored.c: see stored.h. What stands in a response is left to openai_responses.c. */
#include "stored.h"

#include <stdlib.h>
#include <string.h>

static size_t size_of(const struct stored *one)
{
    return sizeof *one + one->before.capacity + one->input.capacity + one->reply.capacity;
}

void stored_free(struct stored *one)
{
    if (!one)
        return;
    buffer_free(&one->before);
    buffer_free(&one->input);
    buffer_free(&one->reply);
    free(one);
}

int store_open(struct store *s)
{
    *s = (struct store){0};
    return uv_mutex_init(&s->lock);
}

static void put_first(struct store *s, struct stored *one)
{
    one->next = s->first;
    one->link = &s->first;
    if (one->next)
        one->next->link = &one->next;
    s->first = one;
}

static void take_out(struct stored *one)
{
    *one->link = one->next;
    if (one->next)
        one->next->link = one->link;
}

static void forget(struct store *s, struct stored *one)
{
    take_out(one);
    s->n--;
    s->bytes -= size_of(one);
    stored_free(one);
}

static void forget_last(struct store *s)
{
    struct stored *last = s->first;

    while (last->next)
        last = last->next;
    forget(s, last);
}

void store_put(struct store *s, struct stored *one)
{
    if (size_of(one) > MOST_STORED_ONE) {
        stored_free(one);
        return;
    }
    uv_mutex_lock(&s->lock);
    put_first(s, one);
    s->n++;
    s->bytes += size_of(one);
    while (s->n > MOST_STORED || s->bytes > MOST_STORED_BYTES)
        forget_last(s);
    uv_mutex_unlock(&s->lock);
}

/* NULL: it is not there. */
static struct stored *find(struct store *s, const char *id)
{
    struct stored *one = s->first;

    while (one && strcmp(one->id, id) != 0)
        one = one->next;
    return one;
}

bool store_read(struct store *s, const char *id, void (*read)(void *user, const struct stored *one),
                void *user)
{
    uv_mutex_lock(&s->lock);
    struct stored *one = find(s, id);
    if (one) {
        take_out(one);
        put_first(s, one);
        read(user, one);
    }
    uv_mutex_unlock(&s->lock);
    return one != NULL;
}

bool store_forget(struct store *s, const char *id)
{
    uv_mutex_lock(&s->lock);
    struct stored *one = find(s, id);
    if (one)
        forget(s, one);
    uv_mutex_unlock(&s->lock);
    return one != NULL;
}

void store_close(struct store *s)
{
    while (s->first)
        forget_last(s);
    uv_mutex_destroy(&s->lock);
}
