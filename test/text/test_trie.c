/* SPDX-License-Identifier: Apache-2.0 */
/* test_trie.c: the trie has the bytes of every id that has some, once; subtrees are runs; the plain texts are
 * those that they should be; it is made once. In tables it lies as it is made, nobody looks at it before it
 * is asked for, and one that is changed by a bit is refused. */
#define _DEFAULT_SOURCE
#include <sys/mman.h>

#include "vocabulary.h"

#include "base/utf8.h"
#include "text/tokenizer/speller.h"
#include "text/tokenizer/trie.h"

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
    assert_ptr_equal(trie, trie_of(t));
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

/* ---- in tables ---- */

static void same_trie(const struct ct_trie *a, const struct ct_trie *b)
{
    assert_int_equal(a->n_nodes, b->n_nodes);
    assert_int_equal(a->plain, b->plain);
    assert_int_equal(a->n_ids, b->n_ids);
    assert_int_equal(a->n_words, b->n_words);
    assert_memory_equal(a->node, b->node, ((size_t)a->n_nodes + 1) * sizeof *a->node);
    assert_memory_equal(a->id, b->id, a->n_ids * sizeof *a->id);
    assert_memory_equal(a->plain_ids, b->plain_ids, a->n_words * sizeof *a->plain_ids);
}

/* Tables of a tokenizer whose trie nobody has asked for have none, and it is made for them. */
static struct ct_bytes tables_without_trie(const struct ct_tokenizer *t)
{
    struct ct_bytes tables = {NULL, ct_tokenizer_tables_size(t)};
    uint8_t *data = malloc(tables.size);

    assert_non_null(data);
    ct_tokenizer_tables_write(t, data);
    tables.data = data;
    return tables;
}

static void in_tables(struct ct_tokenizer *t)
{
    const struct ct_bytes none = tables_without_trie(t), tables = tables_of(t);

    assert_true(none.size < tables.size);
    for (int trusted = 0; trusted < 2; trusted++) {
        struct ct_tokenizer *mapped = from_tables(tables, trusted), *other = from_tables(none, trusted);
        const struct ct_trie *trie = trie_of(mapped);
        same_trie(trie, trie_of(t));
        assert_ptr_equal(trie, trie_of(mapped));
        assert_true((const uint8_t *)trie->plain_ids >= tables.data + none.size &&
                    (const uint8_t *)(trie->id + trie->n_ids) <= tables.data + tables.size);
        check(mapped);
        assert_int_equal(other->n_trie_node, 0);
        same_trie(trie_of(other), trie_of(t));
        ct_tokenizer_free(mapped);
        ct_tokenizer_free(other);
    }
    free((void *)none.data);
    free((void *)tables.data);
    ct_tokenizer_free(t);
}

static void tables(void **state)
{
    (void)state;
    for (size_t i = 0; i < CT_COUNT(open_small); i++)
        in_tables(open_small[i]());
    in_tables(open_quote());
}

static void real_tables(void **state)
{
    (void)state;
    in_tables(real_tokenizer("gemma3"));
}

/* Whatever opens the tables, and encodes and decodes, the whole pages of the trie are forbidden to it. */
static void untouched(void **state)
{
    struct ct_tokenizer *t = open_repeats();
    const struct ct_bytes stored = tables_of(t);
    const size_t page = 4096, size = ct_round_up(stored.size, page) + 16 * page;
    uint8_t *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_ptr_not_equal(map, MAP_FAILED);
    memcpy(map, stored.data, stored.size);
    const struct ct_bytes mapped = {map, stored.size};
    for (int trusted = 0; trusted < 2; trusted++) {
        struct ct_tokenizer *own = from_tables(mapped, trusted);
        const size_t from = ct_round_up((size_t)((const uint8_t *)own->plain_ids - map), page);
        ct_tokenizer_free(own);
        assert_true(from + 4 * page < stored.size);
        assert_int_equal(mprotect(map + from, size - from, PROT_NONE), 0);
        own = from_tables(mapped, trusted);
        carat_tokens ids = {0};
        carat_error err;
        char *text;
        size_t n;
        assert_int_equal(ct_tokenizer_encode(own, "17 4 1234", 9, 0, NULL, &ids, &err), CARAT_OK);
        assert_int_equal(ct_tokenizer_decode(own, ids.ids, ids.n, 0, &text, &n, &err), CARAT_OK);
        free(text);
        free(ids.ids);
        assert_int_equal(mprotect(map + from, size - from, PROT_READ | PROT_WRITE), 0);
        same_trie(trie_of(own), trie_of(t));
        ct_tokenizer_free(own);
    }
    munmap(map, size);
    free((void *)stored.data);
    ct_tokenizer_free(t);
}

/* ---- tries that are wrong ---- */

static void expect_refusal(const struct ct_tokenizer *t, const char *words)
{
    const struct ct_trie *trie = NULL;
    carat_error err = {0};

    assert_int_equal(ct_tokenizer_trie(&trie, t, &err), CARAT_E_FORMAT);
    assert_null(trie);
    if (!strstr(err.message, words) || !strstr(err.message, "a.packed: tokenizer tables: "))
        fail_msg("\"%s\" does not say \"%s\"", err.message, words);
}

/* Every byte of a small one, and thousands of a large one's, by one bit and by all. */
static void changed_by_a_bit(void **state)
{
    (void)state;
    for (size_t v = 0; v < CT_COUNT(open_small); v++) {
        struct ct_tokenizer *t = open_small[v]();
        const struct ct_bytes tables = tables_of(t);
        struct ct_tokenizer *own = from_tables(tables, false);
        const struct {
            const char *name;
            const void *at;
            size_t bytes;
        } part[] = {
            {"plain_ids[", own->plain_ids, trie_of(t)->n_words * sizeof *own->plain_ids},
            {"trie_node[", own->trie_node, ((size_t)own->n_trie_node + 1) * sizeof *own->trie_node},
            {"trie_id[", own->trie_id, own->n_trie_id * sizeof *own->trie_id},
        };
        for (size_t k = 0; k < CT_COUNT(part); k++) {
            const size_t step = CT_MAX(part[k].bytes / 4096, 1);
            for (size_t i = 0; i < part[k].bytes; i += step) {
                uint8_t *p = (uint8_t *)part[k].at + i, kept = *p;
                *p ^= (uint8_t)(1 << i % 8);
                expect_refusal(own, "at byte ");
                *p = (uint8_t)~kept;
                expect_refusal(own, "at byte ");
                *p = kept;
            }
        }
        same_trie(trie_of(own), trie_of(t));
        ct_tokenizer_free(own);
        ct_tokenizer_free(t);
        free((void *)tables.data);
    }
}

/* Nodes one below the other, more than a text has bytes. */
static void too_deep(void **state)
{
    struct ct_tokenizer *t = open_repeats();
    const struct ct_bytes tables = tables_of(t);
    struct ct_tokenizer *own = from_tables(tables, false);
    struct ct_trie_node *node = (struct ct_trie_node *)(uintptr_t)own->trie_node;

    (void)state;
    assert_true(own->n_trie_node > 2 * CT_TOKEN_BYTES);
    own->trie_plain = 0;
    for (uint32_t i = 0; i < 2 * CT_TOKEN_BYTES; i++)
        node[i] = (struct ct_trie_node){.byte = 'a', .next = own->n_trie_node & CT_TRIE_NODES_MAX};
    expect_refusal(own, "trie_node[256] at byte ");
    expect_refusal(own, "below 256 others");
    ct_tokenizer_free(own);
    ct_tokenizer_free(t);
    free((void *)tables.data);
}

/* Two ids of one text, each at a node of its own; and one id more than there are. */
static void the_same_twice(void **state)
{
    struct ct_tokenizer *t = open_repeats();
    const struct ct_bytes tables = tables_of(t);
    struct ct_tokenizer *own = from_tables(tables, false);
    const struct ct_trie *trie = trie_of(t);
    struct ct_trie_node *node = calloc(trie->n_nodes + 2, sizeof *node);
    uint32_t at = trie->plain;

    (void)state;
    while (trie->node[at].next != at + 1 || trie->node[at + 1].first != trie->node[at].first + 2)
        at++;
    for (uint32_t i = 0; i <= trie->n_nodes; i++) {
        node[i + (i > at)] = trie->node[i];
        if (trie->node[i].next > at + (i == at))
            node[i + (i > at)].next++;
    }
    node[at + 1] =
        (struct ct_trie_node){trie->node[at].byte, (at + 2) & CT_TRIE_NODES_MAX, trie->node[at].first + 1};
    own->trie_node = node;
    own->n_trie_node = trie->n_nodes + 1;
    expect_refusal(own, "does not follow");
    node[at + 1].byte = 0xff; /* and one that has none */
    node[at + 1].first++;
    expect_refusal(own, "ids from");
    memcpy(node, trie->node, ((size_t)trie->n_nodes + 1) * sizeof *node);
    own->n_trie_node = trie->n_nodes;
    node[trie->n_nodes].first++;
    expect_refusal(own, "ids from");
    node[trie->n_nodes].first--;
    own->n_trie_id++;
    expect_refusal(own, "ids, expected");
    own->n_trie_id--;
    own->trie_plain = trie->n_nodes; /* none is plain */
    expect_refusal(own, "in a row of its own");
    free(node);
    ct_tokenizer_free(own);
    ct_tokenizer_free(t);
    free((void *)tables.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_vocabularies), cmocka_unit_test(tables),      cmocka_unit_test(untouched),
        cmocka_unit_test(changed_by_a_bit),   cmocka_unit_test(too_deep),    cmocka_unit_test(the_same_twice),
        cmocka_unit_test(real_gemma3),        cmocka_unit_test(real_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
