/* SPDX-License-Identifier: Apache-2.0 */
/* test_trie.c: the trie has the bytes of every id that has some, once; subtrees are runs; the plain texts are
 * those that they should be; it is made once. */
#define _POSIX_C_SOURCE 200809L
#include "vocabulary.h"

#include "base/utf8.h"
#include "text/tokenizer/speller.h"
#include "text/tokenizer/trie.h"

static const struct ct_trie *trie_of(const struct ct_tokenizer *t)
{
    const struct ct_trie *trie, *again;
    carat_error err;

    assert_int_equal(ct_tokenizer_trie(&trie, t, &err), CARAT_OK);
    assert_int_equal(ct_tokenizer_trie(&again, t, &err), CARAT_OK);
    assert_ptr_equal(trie, again);
    return trie;
}

/* The node behind a text, from `at` to `end`; UINT32_MAX: there is none. */
static uint32_t find(const struct ct_trie *trie, uint32_t at, uint32_t end, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        while (at < end && trie->node[at].byte != (uint8_t)text[i])
            at = trie->node[at].next;
        if (at >= end)
            return UINT32_MAX;
        if (i + 1 == n)
            return at;
        end = trie->node[at].next;
        at++;
    }
    return UINT32_MAX;
}

/* Characters of a plain text; 0: it is none. */
static int plain(const char *text, size_t n)
{
    int count = 0;

    if (!ct_utf8_valid(text, n) || memchr(text, '"', n) || memchr(text, '\\', n) || memchr(text, 0x7f, n))
        return 0;
    for (size_t i = 0; i < n; i++) {
        if ((uint8_t)text[i] < ' ')
            return 0;
        count += ((uint8_t)text[i] & 0xc0) != 0x80;
    }
    return count <= CT_PLAIN_MAX ? count : 0;
}

static void check_order(const struct ct_trie *trie)
{
    assert_true(trie->plain <= trie->n_nodes);
    for (uint32_t i = 0; i < trie->n_nodes; i++) {
        const struct ct_trie_node *node = &trie->node[i];
        assert_true(node->next > i && node->next <= (i < trie->plain ? trie->plain : trie->n_nodes));
        assert_true(node->first < trie->node[node->next].first); /* no subtree is without ids */
        if (node->next < trie->n_nodes && i + 1 < node->next)
            assert_true(trie->node[i + 1].next <= node->next);
    }
    assert_int_equal(trie->node[trie->n_nodes].first, trie->n_ids);
}

static void check(struct ct_tokenizer *t)
{
    const struct ct_trie *trie = trie_of(t);
    uint8_t *seen = calloc((size_t)ct_tokenizer_size(t), 1);
    char text[CT_TOKEN_BYTES];
    uint32_t n_ids = 0;

    check_order(trie);
    for (uint32_t i = 0; i < trie->n_ids; i++) {
        assert_in_range(ct_trie_id(trie->id[i]), 0, ct_tokenizer_size(t) - 1);
        assert_int_equal(seen[ct_trie_id(trie->id[i])]++, 0);
    }
    for (int32_t id = 0; id < ct_tokenizer_size(t); id++) {
        const size_t n = ct_tokenizer_bytes(t, id, text);
        const int characters = plain(text, n);
        assert_int_equal(seen[id], n > 0);
        assert_int_equal(trie->plain_ids[id / 64] >> id % 64 & 1, n > 0 && characters > 0);
        if (n == 0)
            continue;
        n_ids++;
        const uint32_t at =
            find(trie, characters ? trie->plain : 0, characters ? trie->n_nodes : trie->plain, text, n);
        assert_int_not_equal(at, UINT32_MAX);
        uint32_t i = trie->node[at].first;
        while (i < trie->node[at + 1].first && ct_trie_id(trie->id[i]) != id)
            i++;
        assert_true(i < trie->node[at + 1].first);
        assert_int_equal(ct_trie_characters(trie->id[i]), characters);
    }
    assert_int_equal(trie->n_ids, n_ids);
    free(seen);
}

/* The last text that is not plain begins as the first plain one does. */
static struct ct_tokenizer *open_quote(void)
{
    static const char json[] =
        "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xe2\x96\x81\"},"
        "\"decoder\":{\"type\":\"Sequence\",\"decoders\":["
        "{\"type\":\"Replace\",\"pattern\":{\"String\":\"\xe2\x96\x81\"},\"content\":\" \"},"
        "{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]},\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>"
        "\",\"byte_fallback\":false,"
        "\"vocab\":{\"<unk>\":0,\"<\\\"\":1,\"a\":2,\"ab\":3},\"merges\":[]}}";

    return from_json(json, sizeof json - 1);
}

static void small_vocabularies(void **state)
{
    struct ct_tokenizer *(*const open[])(void) = {open_json, open_model,   open_gguf,
                                                  open_odd,  open_repeats, open_quote};

    (void)state;
    for (size_t i = 0; i < CT_COUNT(open); i++) {
        struct ct_tokenizer *t = open[i]();
        check(t);
        ct_tokenizer_free(t);
    }
}

static void real_gemma3(void **state)
{
    struct ct_tokenizer *t = real_tokenizer("gemma3");

    (void)state;
    check(t);
    const struct ct_trie *trie = trie_of(t);
    assert_true(trie->n_nodes < 601000 && ct_trie_bytes(trie) < 6000000);
    ct_tokenizer_free(t);
}

/* From tables, which are borrowed, too. */
static void tables(void **state)
{
    struct ct_tokenizer *t = open_json(), *other;
    uint64_t *bytes = malloc(ct_tokenizer_tables_size(t));
    carat_error err;

    (void)state;
    ct_tokenizer_tables_write(t, (uint8_t *)bytes);
    const struct ct_bytes all = {(uint8_t *)bytes, ct_tokenizer_tables_size(t)};
    assert_int_equal(ct_tokenizer_from_tables(&other, "tables", all, false, &err), CARAT_OK);
    check(other);
    assert_int_equal(trie_of(other)->n_nodes, trie_of(t)->n_nodes);
    ct_tokenizer_free(other);
    ct_tokenizer_free(t);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_vocabularies),
        cmocka_unit_test(tables),
        cmocka_unit_test(real_gemma3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
