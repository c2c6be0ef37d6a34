/* SPDX-License-Identifier: Apache-2.0 */
/* test_arena.c: every push is zeroed, aligned, writable in full and overlaps nothing pushed before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/redzone.h"

static void pushes_do_not_overlap(void **state)
{
    (void)state;
    enum { N = 600 };
    struct ct_arena a = {0};
    uint8_t *piece[N];
    size_t size[N];
    uint32_t random = 1;
    for (int i = 0; i < N; i++) {
        random = random * 1664525u + 1013904223u;
        /* mostly small, some larger than a block, in any order */
        size[i] = i % 29 == 0 ? (random >> 8) % 300000 : (random >> 8) % 3000;
        piece[i] = ct_arena_push(&a, size[i], 1);
        assert_non_null(piece[i]);
        assert_int_equal((uintptr_t)piece[i] % 64, 0);
        for (size_t k = 0; k < size[i]; k++)
            if (piece[i][k] != 0)
                fail_msg("byte %zu of push %d is not zero", k, i);
        memset(piece[i], i % 255 + 1, size[i]);
    }
    for (int i = 0; i < N; i++)
        for (size_t k = 0; k < size[i]; k++)
            if (piece[i][k] != i % 255 + 1)
                fail_msg("byte %zu of push %d was overwritten", k, i);
    ct_arena_free(&a);
    assert_null(a.block);
    ct_arena_free(&a);
}

static void large_push_does_not_close_the_block(void **state)
{
    (void)state;
    struct ct_arena a = {0};
    char *first = ct_arena_push(&a, 10, 1);
    assert_non_null(ct_arena_push(&a, 1 << 20, 1));
    char *second = ct_arena_push(&a, 10, 1);
    assert_ptr_equal(second, first + 64 + CT_REDZONE);
    ct_arena_free(&a);
}

static void refuses_overflow(void **state)
{
    (void)state;
    struct ct_arena a = {0};
    assert_null(ct_arena_push(&a, SIZE_MAX, 2));
    assert_null(ct_arena_push(&a, SIZE_MAX / 2 + 1, 2));
    for (size_t less = 0; less < 300; less++)
        assert_null(ct_arena_push(&a, SIZE_MAX - less, 1));
    assert_null(ct_arena_str(&a, "", SIZE_MAX));
    assert_non_null(ct_arena_push(&a, 0, 8));
    assert_non_null(ct_arena_push(&a, 8, 0));
    ct_arena_free(&a);
}

static void strings(void **state)
{
    (void)state;
    struct ct_arena a = {0};
    char *s = ct_arena_str(&a, "weights", 6);
    char *empty = ct_arena_str(&a, NULL, 0);
    assert_string_equal(s, "weight");
    assert_string_equal(empty, "");
    ct_arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushes_do_not_overlap),
        cmocka_unit_test(large_push_does_not_close_the_block),
        cmocka_unit_test(refuses_overflow),
        cmocka_unit_test(strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
