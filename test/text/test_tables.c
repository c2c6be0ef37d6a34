/* SPDX-License-Identifier: Apache-2.0 */
/* test_tables.c: a tokenizer through its tables is the same tokenizer, for every source, and makes the
 * same tables again. With CARAT_SHARED the real vocabularies are asked as well. Tables that are wrong:
 * test_tables_bad.c. */
#define _POSIX_C_SOURCE 200809L
#include "vocabulary.h"

#include "text/tokenizer/detokenizer.h"

static void same_encoding(const struct ct_tokenizer *a, const struct ct_tokenizer *b, const char *text,
                          size_t n)
{
    for (int flags = 0; flags < 4; flags++) {
        int f = (flags & 1 ? CARAT_BOS : 0) | (flags & 2 ? CARAT_SPECIAL : 0);
        carat_tokens x = {0}, y = {0};
        assert_int_equal(ct_tokenizer_encode(a, text, n, f, NULL, &x, NULL), CARAT_OK);
        assert_int_equal(ct_tokenizer_encode(b, text, n, f, NULL, &y, NULL), CARAT_OK);
        if (x.n != y.n || (x.n && memcmp(x.ids, y.ids, (size_t)x.n * sizeof *x.ids) != 0))
            fail_msg("flags %d: other ids for %.*s", f, (int)n, text);
        free(x.ids);
        free(y.ids);
    }
}

static void same_decoding(const struct ct_tokenizer *a, const struct ct_tokenizer *b, const int32_t *id,
                          int n)
{
    for (int flags = 0; flags <= CARAT_SPECIAL; flags += CARAT_SPECIAL) {
        char *x, *y, p[256], q[256];
        size_t nx, ny;
        struct ct_detokenizer da, db;
        assert_int_equal(ct_tokenizer_decode(a, id, n, flags, &x, &nx, NULL), CARAT_OK);
        assert_int_equal(ct_tokenizer_decode(b, id, n, flags, &y, &ny, NULL), CARAT_OK);
        assert_int_equal(nx, ny);
        assert_memory_equal(x, y, nx + 1);
        free(x);
        free(y);
        ct_detokenizer_init(&da, a, flags);
        ct_detokenizer_init(&db, b, flags);
        for (int i = 0; i < n; i++) {
            nx = ct_detokenizer_push(&da, id[i], p, sizeof p);
            ny = ct_detokenizer_push(&db, id[i], q, sizeof q);
            assert_true(nx == ny && memcmp(p, q, nx + 1) == 0);
        }
    }
}

static void same_vocabulary(const struct ct_tokenizer *a, const struct ct_tokenizer *b)
{
    int32_t x[8], y[8], *id;
    int n = ct_tokenizer_size(a);
    assert_int_equal(ct_tokenizer_size(b), n);
    assert_string_equal(ct_tokenizer_source(a), ct_tokenizer_source(b));
    assert_int_equal(ct_tokenizer_bos(a), ct_tokenizer_bos(b));
    int ends = ct_tokenizer_end_ids(a, x, 8);
    assert_int_equal(ct_tokenizer_end_ids(b, y, 8), ends);
    assert_memory_equal(x, y, (size_t)ends * sizeof *x);
    id = malloc((size_t)n * sizeof *id);
    assert_non_null(id);
    for (int i = 0; i < n; i++) {
        struct ct_str p = ct_tokenizer_piece(a, i), q = ct_tokenizer_piece(b, i);
        char text[CT_PIECE_MAX + 1];
        id[i] = i;
        assert_true(p.n == q.n && memcmp(p.s, q.s, p.n) == 0);
        assert_int_equal(ct_tokenizer_is_control(a, i), ct_tokenizer_is_control(b, i));
        assert_int_equal(ct_piece_is_visible(a, i), ct_piece_is_visible(b, i));
        memcpy(text, p.s, p.n);
        text[p.n] = 0;
        assert_int_equal(ct_tokenizer_id(a, text), ct_tokenizer_id(b, text));
        for (int special = 0; special < 2; special++) {
            int32_t m = -1, k = -1;
            assert_int_equal(ct_tokenizer_match(a, p.s, p.n, special, &m),
                             ct_tokenizer_match(b, q.s, q.n, special, &k));
            assert_int_equal(m, k);
        }
    }
    same_decoding(a, b, id, n);
    free(id);
}

struct pair {
    struct ct_tokenizer *parsed, *mapped;
};

static void same_line(void *arg, int line, json_t *golden)
{
    const struct pair *p = arg;
    const json_t *text = json_object_get(golden, "text");
    (void)line;
    same_encoding(p->parsed, p->mapped, json_string_value(text), json_string_length(text));
}

/* Strings of pieces, with a byte changed here and there; and any ids. */
static void same_at_random(const struct pair *p, int rounds)
{
    uint64_t seed = 7;
    char text[4096];
    int32_t id[64];
    for (int round = 0; round < rounds; round++) {
        size_t n = 0;
        uint32_t pieces = 1 + next_random(&seed) % 32;
        for (uint32_t i = 0; i < pieces; i++) {
            struct ct_str s =
                ct_tokenizer_piece(p->parsed, (int32_t)(next_random(&seed) % (uint32_t)p->parsed->n));
            if (n + s.n > sizeof text)
                break;
            memcpy(text + n, s.s, s.n);
            n += s.n;
        }
        if (n && round % 3 == 0)
            text[next_random(&seed) % n] = (char)next_random(&seed);
        same_encoding(p->parsed, p->mapped, text, n);
        for (size_t i = 0; i < CT_COUNT(id); i++)
            id[i] = (int32_t)(next_random(&seed) % (uint32_t)p->parsed->n);
        same_decoding(p->parsed, p->mapped, id, CT_COUNT(id));
    }
}

/* Takes t. */
static void check_round_trip(struct ct_tokenizer *t, const char *goldens)
{
    struct ct_bytes tables = tables_of(t);
    for (int trusted = 0; trusted < 2; trusted++) {
        struct pair p = {t, from_tables(tables, trusted)};
        same_vocabulary(p.parsed, p.mapped);
        same_at_random(&p, 300);
        assert_true(each_line(goldens, same_line, &p) > 500);
        struct ct_bytes again = tables_of(p.mapped);
        assert_int_equal(again.size, tables.size);
        assert_memory_equal(again.data, tables.data, tables.size);
        free((void *)again.data);
        ct_tokenizer_free(p.mapped);
    }
    free((void *)tables.data);
    ct_tokenizer_free(t);
}

static void small_vocabularies(void **state)
{
    (void)state;
    for (size_t i = 0; i < CT_COUNT(open_small); i++)
        check_round_trip(open_small[i](), CT_TEST_DATA "/text/goldens.jsonl");
}

static void real_vocabulary(const char *family)
{
    char path[1024];
    struct ct_tokenizer *t = real_tokenizer(family);
    check_round_trip(t, real_goldens(path, family, ""));
}

static void real_gemma(void **state)
{
    (void)state;
    real_vocabulary("gemma");
}

static void real_gemma3(void **state)
{
    (void)state;
    real_vocabulary("gemma3");
}

static void real_gemma4(void **state)
{
    (void)state;
    real_vocabulary("gemma4");
}

/* Of a pair that is merged twice the last rank holds, and it is there once. */
static void repeated_merges(void **state)
{
    (void)state;
    struct ct_tokenizer *t = open_odd();
    assert_int_equal(t->n_rank, 6);
    assert_int_equal(ct_tokenizer_pair_rank(t, 1, 2), 5);
    assert_int_equal(ct_tokenizer_pair_rank(t, 2, 1), 1);
    assert_int_equal(ct_tokenizer_pair_rank(t, 2, 2), CT_NO_RANK);
    ct_tokenizer_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_vocabularies), cmocka_unit_test(real_gemma),
        cmocka_unit_test(real_gemma3),        cmocka_unit_test(real_gemma4),
        cmocka_unit_test(repeated_merges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
