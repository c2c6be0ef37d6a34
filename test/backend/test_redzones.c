/* SPDX-License-Identifier: Apache-2.0 */
/* test_redzones.c: under AddressSanitizer an overrun from one allocation into the next is caught: in an
 * arena, and in an engine's activations, packed weights, K and V. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/cpu/cpu_backend.h"
#include "base/arena.h"
#include "base/redzone.h"

/* Fails unless a process that writes to the last byte of p[n] lives, and one that writes behind it does
 * not. */
static void check_end(void *p, size_t n)
{
    for (size_t beyond = 0; beyond <= 1; beyond++) {
        pid_t child = fork();
        if (child == 0) {
            if (!freopen("/dev/null", "w", stderr))
                _exit(2);
            ((volatile uint8_t *)p)[n - 1 + beyond] = 1;
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(WIFEXITED(status) && WEXITSTATUS(status) == 0, !beyond);
    }
}

static void arena(void **unused)
{
    struct ct_arena a = {0};

    (void)unused;
    if (!CT_REDZONE)
        skip();
    for (size_t n = 1; n <= 300; n += 13)
        check_end(ct_arena_push(&a, n, 1), n);
    check_end(ct_arena_push(&a, 100000, 1), 100000); /* a block of its own */
    ct_arena_free(&a);
}

static void done_with(void *unused, const void *p, size_t bytes)
{
    (void)unused;
    (void)p;
    (void)bytes;
}

static void engine_memory(void **unused)
{
    static const float stored[48 * 32];
    const struct ct_weight w = {CT_F32, CT_LAYOUT_ROWS, 48, 32, 32 * sizeof(float), stored, 1, false, NULL};
    const struct ct_backend_options o = {
        .threads = 1,
        .max_input = 32,
        .max_ffn = 32,
        .max_heads = 1,
        .max_head_dim = 32,
        .n_vocab = 32,
        .attn = {{.head_dim = 32, .rope_base = 10000, .rope_factor = 1},
                 {.head_dim = 32, .rope_base = 10000, .rope_factor = 1}},
        .done_with = done_with,
    };
    struct ct_backend *b;
    int32_t table[] = {1, 3, 0, 2}; /* [sequence][block] */
    struct ct_kv_pool pool = {.n_blocks = 4, .length = 2, .table = table};
    struct ct_kv kv[] = {{.type = CT_KV_BF16, .n_kv_head = 3, .head_dim = 32, .pool = &pool},
                         {.type = CT_KV_Q8, .n_kv_head = 3, .head_dim = 32, .pool = &pool}};
    ct_mat x;
    void *host;
    carat_error err;

    (void)unused;
    if (!CT_REDZONE)
        skip();
    assert_int_equal(ct_backend_create_cpu(&b, &o, &err), CARAT_OK);
    assert_int_equal(b->verb.plan_weight(b, &w, &err), CARAT_OK);
    for (int reserved = 0; reserved <= 1; reserved++) {
        b->verb.lay_out(b, &(struct ct_extent){4, 300, 2});
        x = b->verb.alloc(b, 4, 33);
        host = b->verb.alloc_host(b, 5);
        b->verb.alloc_kv(b, &pool, 2, kv);
        if (!reserved)
            assert_int_equal(b->verb.reserve(b, &err), CARAT_OK);
    }
    b->verb.load_begin(b, NULL, NULL);
    struct ct_weight packed = b->verb.pack_weight(b, w);
    assert_true(b->verb.load_end(b));

    check_end(ct_row(x, 3), 33 * sizeof(float));
    check_end(host, 5);
    if (packed.data != w.data)
        check_end((void *)(uintptr_t)packed.data, ct_weight_bytes(&packed));
    for (int i = 0; i < 8; i++) { /* each block of each sequence, in both layers */
        const struct ct_kv *layer = &kv[i % 2];
        struct ct_kv_head last = ct_cpu_kv_head(ct_cpu(b), layer, i / 4, i / 2 % 2, 2);
        size_t head = ct_kv_bytes(layer->type, last.capacity, layer->head_dim);
        check_end(last.k, head);
        check_end(last.v, head);
    }
    b->verb.destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(arena), cmocka_unit_test(engine_memory)};
    return cmocka_run_group_tests_name("backend: redzones", tests, NULL, NULL);
}
