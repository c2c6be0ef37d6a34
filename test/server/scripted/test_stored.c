/* SPDX-License-Identifier: Apache-2.0 */
/* test_stored.c: responses that are remembered, against a model of them: those that were used last stay, as
 * many as there is room for, and what is forgotten is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stored.h"

enum { STEPS = 20000, NAMES = 3 * MOST_STORED };

/* The names that are there, the one that was used last first. */
static struct {
    int name[NAMES], n;
    size_t size[NAMES]; /* of each name */
    size_t bytes;
} known;

static struct store store;
static uint32_t drawn = 1;

static int draw(int n)
{
    drawn = drawn * 1664525u + 1013904223u;
    return (int)((drawn >> 8) % (unsigned)n);
}

static int known_at(int name)
{
    for (int i = 0; i < known.n; i++)
        if (known.name[i] == name)
            return i;
    return -1;
}

static void drop(int at)
{
    known.bytes -= known.size[known.name[at]];
    memmove(&known.name[at], &known.name[at + 1], (size_t)(--known.n - at) * sizeof known.name[0]);
}

static void put_first(int name)
{
    memmove(&known.name[1], &known.name[0], (size_t)known.n++ * sizeof known.name[0]);
    known.name[0] = name;
    known.bytes += known.size[name];
}

static void put(int name, size_t n)
{
    struct stored *one = calloc(1, sizeof *one);
    char *text = calloc(1, n);

    assert_true(one && text);
    snprintf(one->id, sizeof one->id, "resp_%d", name);
    snprintf(text, n, "%d", name);
    buffer_put(&one->reply, text, n);
    buffer_put(&one->input, text, 1);
    known.size[name] = sizeof *one + one->reply.capacity + one->input.capacity;
    free(text);
    store_put(&store, one);
    if (known.size[name] > MOST_STORED_ONE)
        return;
    put_first(name);
    while (known.n > MOST_STORED || known.bytes > MOST_STORED_BYTES)
        drop(known.n - 1);
}

static void read_name(void *user, const struct stored *one)
{
    *(int *)user = atoi(one->reply.data);
}

static void look(int name)
{
    char id[40];
    int told = -1;
    const int at = known_at(name);

    snprintf(id, sizeof id, "resp_%d", name);
    assert_int_equal(store_read(&store, id, read_name, &told), at >= 0);
    if (at < 0)
        return;
    assert_int_equal(told, name);
    drop(at);
    put_first(name);
}

static void forget(int name)
{
    char id[40];
    const int at = known_at(name);

    snprintf(id, sizeof id, "resp_%d", name);
    assert_int_equal(store_forget(&store, id), at >= 0);
    if (at >= 0)
        drop(at);
}

/* most: bytes of the largest. */
static void steps(int most)
{
    assert_int_equal(store_open(&store), 0);
    known.n = 0;
    known.bytes = 0;
    for (int i = 0; i < STEPS; i++) {
        const int name = draw(NAMES), what = draw(8);
        if (what < 4 && known_at(name) < 0)
            put(name, (size_t)(16 + draw(most)));
        else if (what < 7)
            look(name);
        else
            forget(name);
        assert_int_equal(store.n, known.n);
        assert_int_equal(store.bytes, known.bytes);
    }
    for (int name = 0; name < NAMES; name++)
        look(name);
    store_close(&store);
}

static void many(void **state)
{
    (void)state;
    steps(64);
}

static void large(void **state)
{
    (void)state;
    steps(1 << 17);
}

/* One that is too large goes, and the others stay. */
static void too_large(void **state)
{
    (void)state;
    assert_int_equal(store_open(&store), 0);
    known.n = 0;
    known.bytes = 0;
    put(1, 100);
    put(2, MOST_STORED_ONE);
    assert_int_equal(known.n, 1);
    assert_int_equal(store.n, 1);
    look(1);
    look(2);
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many),
        cmocka_unit_test(large),
        cmocka_unit_test(too_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
