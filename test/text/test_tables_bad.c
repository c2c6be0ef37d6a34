/* SPDX-License-Identifier: Apache-2.0 */
/* test_tables_bad.c: tokenizer tables that are cut off or wrong are refused with their place, those that
 * are changed at random are refused or harmless, and no memory is an error. */
#define _POSIX_C_SOURCE 200809L
#include "refusable.h"
#include "vocabulary.h"

#include "text/tokenizer/detokenizer.h"

/* ---- tables that are wrong ---- */

static void expect_refusal(struct ct_bytes tables, bool trusted, const char *words)
{
    struct ct_tokenizer *t = NULL;
    carat_error err = {0};
    assert_int_equal(ct_tokenizer_from_tables(&t, "a.packed", tables, trusted, &err), CARAT_E_FORMAT);
    if (!strstr(err.message, words) || !strstr(err.message, "a.packed"))
        fail_msg("\"%s\" does not say \"%s\"", err.message, words);
}

static void cut_off(void **state)
{
    (void)state;
    struct ct_tokenizer *t = open_json();
    struct ct_bytes all = tables_of(t);
    for (size_t n = 0; n < all.size; n += n < 2048 ? 1 : 64) {
        uint8_t *copy = malloc(n + 1);
        assert_non_null(copy);
        memcpy(copy, all.data, n);
        expect_refusal((struct ct_bytes){copy, n}, n % 2, "bytes long");
        free(copy);
    }
    free((void *)all.data);
    ct_tokenizer_free(t);
}

/* Where a scalar lies in the tables. */
#define SCALAR(field) (64 + offsetof(struct ct_tokenizer, field))

static void expect_wrong_scalar(struct ct_bytes tables, size_t at, uint32_t value, const char *words)
{
    uint8_t *p = (uint8_t *)tables.data + at, kept[4];
    memcpy(kept, p, 4);
    memcpy(p, &value, 4);
    expect_refusal(tables, true, words);
    memcpy(p, kept, 4);
}

static void wrong_heads(void **state)
{
    (void)state;
    struct ct_tokenizer *t = open_json();
    struct ct_bytes tables = tables_of(t);
    const uint32_t n = (uint32_t)t->n, trie_nodes = trie_of(t)->n_nodes;
    const struct {
        size_t at;
        uint32_t value;
        const char *words;
    } row[] = {
        {0, 0, "do not begin with \"ctTables\""},
        {8, 99, "version 99"},
        {12, 8, "8 bytes of scalars"},
        {16, 0, "and say 0"},
        {SCALAR(source), 4, "scalar source"},
        {SCALAR(n), 0, "scalar n is"},
        {SCALAR(n), UINT32_MAX, "scalar n is"},
        {SCALAR(n), n + 8, "arrays need"},
        {SCALAR(n_blob), UINT32_MAX, "scalar n_blob"},
        {SCALAR(slot_mask), 1022, "scalar slot_mask"},
        {SCALAR(slot_mask), (1u << 23) - 1, "scalar slot_mask"},
        {SCALAR(slot_mask), 0, "arrays need"},
        {SCALAR(n_merge), 0, "scalar n_merge"},
        {SCALAR(n_rank), UINT32_MAX, "scalar n_rank"},
        {SCALAR(n_merge), t->n_merge + 16, "arrays need"},
        {SCALAR(n_node), 0, "scalar n_node"},
        {SCALAR(n_node), UINT32_MAX, "arrays need"},
        {SCALAR(n_character), CT_CHARACTERS + 1, "scalar n_character"},
        {SCALAR(n_trie_node), 1u << 24, "scalar n_trie_node"},
        {SCALAR(n_trie_node), trie_nodes + 9, "arrays need"},
        {SCALAR(trie_plain), UINT32_MAX, "scalar trie_plain"},
        {SCALAR(n_trie_id), n + 1, "scalar n_trie_id"},
        {SCALAR(n_trie_id), 0, "arrays need"},
        {SCALAR(join_bits), 5, "scalar join_bits"},
        {SCALAR(join_bits), 64, "scalar join_bits"},
        {SCALAR(longest), CT_PIECE_MAX + 1, "scalar longest"},
        {SCALAR(unknown), UINT32_MAX, "scalar unknown"},
        {SCALAR(unknown), n, "scalar unknown"},
        {SCALAR(bos), n, "scalar bos"},
        {SCALAR(n_end), 9, "scalar n_end"},
        {SCALAR(end), n, "scalar end"},
        {SCALAR(visible), n, "scalar visible"},
        {SCALAR(byte_id[7]), UINT32_MAX, "scalar byte_id"},
        {SCALAR(byte_id[255]), n, "scalar byte_id"},
        {SCALAR(begins[4]), 0x02000001, "is 2, expected 0 or 1"},
        {SCALAR(byte_fallback) / 4 * 4, 0x07070707, "is 7, expected 0 or 1"},
    };
    for (size_t i = 0; i < CT_COUNT(row); i++)
        expect_wrong_scalar(tables, row[i].at, row[i].value, row[i].words);
    memset((uint8_t *)tables.data + SCALAR(surface), 'x', sizeof t->surface);
    expect_refusal(tables, true, "scalar surface");
    free((void *)tables.data);
    ct_tokenizer_free(t);
}

static void misaligned(void **state)
{
    (void)state;
    struct ct_tokenizer *t = open_model();
    size_t size = ct_tokenizer_tables_size(t);
    uint8_t *data = malloc(size + 8);
    assert_non_null(data);
    ct_tokenizer_tables_write(t, data + 4);
    expect_refusal((struct ct_bytes){data + 4, size}, true, "multiple of 8");
    free(data);
    ct_tokenizer_free(t);
}

/* Tables whose arrays a test may change through the pointers of the tokenizer that was opened on them. */
struct open_tables {
    struct ct_bytes tables;
    struct ct_tokenizer *t;
};

static struct open_tables open_tables(struct ct_tokenizer *parsed)
{
    struct open_tables o = {.tables = tables_of(parsed)};
    o.t = from_tables(o.tables, false);
    ct_tokenizer_free(parsed);
    return o;
}

static void close_tables(struct open_tables *o)
{
    ct_tokenizer_free(o->t);
    free((void *)o->tables.data);
}

/* Sets *p, expects these words, and sets it back. */
#define EXPECT_WRONG(o, p, value, words)                                                                     \
    do {                                                                                                     \
        size_t at_ = (size_t)((const uint8_t *)&(p) - (o).tables.data);                                      \
        char place_[64];                                                                                     \
        __typeof__(p) kept_ = (p);                                                                           \
        (p) = (value);                                                                                       \
        snprintf(place_, sizeof place_, "at byte %zu: ", at_);                                               \
        expect_refusal((o).tables, false, words);                                                            \
        expect_refusal((o).tables, false, place_);                                                           \
        ct_tokenizer_free(from_tables((o).tables, true));                                                    \
        (p) = kept_;                                                                                         \
    } while (0)

static struct ct_piece with_length(struct ct_piece p, unsigned n)
{
    p.n = n & 0xff;
    return p;
}
static struct ct_piece with_kind(struct ct_piece p, unsigned kind)
{
    p.kind = kind & 7;
    return p;
}
static struct ct_piece with_place(struct ct_piece p, unsigned at)
{
    p.at = at & ((1u << 30) - 1);
    return p;
}
static struct ct_piece with_rank(struct ct_piece p, unsigned rank)
{
    p.rank = rank & ((1u << 23) - 1);
    return p;
}

static void wrong_arrays_of_pairs(void **state)
{
    (void)state;
    struct open_tables o = open_tables(open_json());
    struct ct_tokenizer *t = o.t;
    uint32_t last = (uint32_t)t->n - 1, used = 0, pair = 0;
    int32_t a = t->character['a'];
    EXPECT_WRONG(o, t->piece[5], with_length(t->piece[5], 0), "piece[5]");
    EXPECT_WRONG(o, t->piece[5], with_length(t->piece[5], 241), "the length is 241");
    EXPECT_WRONG(o, t->piece[last], with_place(t->piece[last], t->n_blob), "piece[");
    EXPECT_WRONG(o, t->piece[6], with_kind(t->piece[6], 0), "the kind is 0");
    EXPECT_WRONG(o, t->piece[6], with_kind(t->piece[6], 7), "the kind is 7");
    EXPECT_WRONG(o, t->piece[a], with_kind(t->piece[a], CT_PIECE_BYTE), "not spelled <0x00>");
    while (!t->slot[used])
        used++;
    EXPECT_WRONG(o, t->slot[used], t->slot[used] >> CT_SLOT_BITS << CT_SLOT_BITS | (last + 2), "slot[");
    EXPECT_WRONG(o, t->slot[used], (uint32_t)1 << CT_SLOT_BITS, "the id is -1");
    while (t->merge[pair] == CT_NO_MERGE)
        pair++;
    EXPECT_WRONG(o, t->merge[pair], t->merge[pair] | (uint64_t)(CT_VOCAB_MAX - 1) << CT_RANK_BITS, "merge[");
    EXPECT_WRONG(o, t->merge[pair],
                 t->merge[pair] | (uint64_t)(CT_VOCAB_MAX - 1) << CT_RANK_BITS << CT_ID_BITS,
                 "an id is 2097151");
    EXPECT_WRONG(o, t->merge[pair], t->merge[pair] | (CT_NO_RANK - 1), "the rank is 4194303");
    EXPECT_WRONG(o, t->product[4], -1, "product[4]");
    EXPECT_WRONG(o, t->product[4], t->n, "product[4]");
    EXPECT_WRONG(o, t->character['b'], -2, "character[98]");
    EXPECT_WRONG(o, t->character['b'], t->n, "character[98]");
    EXPECT_WRONG(o, t->node[0].first, 0, "node[0]");
    for (uint32_t i = 0; i < t->n_merge; i++)
        if (t->merge[i] == CT_NO_MERGE)
            t->merge[i] = t->merge[pair];
    expect_refusal(o.tables, false, "none is empty among 1025");
    close_tables(&o);
}

/* The members of a node lie within it, so only the words are looked at. */
static void wrong_nodes(void **state)
{
    (void)state;
    struct open_tables o = open_tables(open_gguf());
    struct ct_tokenizer *t = o.t;
    struct ct_match_node root = t->node[0], one = t->node[1], two = t->node[2], end = t->node[t->n_node - 1];
    const struct {
        uint32_t at;
        struct ct_match_node node;
        const char *words;
    } row[] = {
        {0, {root.first, 0, root.count, 0, 0}, "where no text has begun"},
        {0, {root.first, -1, 0xffff, 0, 0}, "node[0] at byte"},
        {0, {2, -1, root.count, 0, 0}, "children from 2 on"},
        {0, {1, -1, 0, 0, 0}, "node[1]"},
        {1, {0, one.id, one.count, one.byte, 0}, "node[1]"},
        {1, {one.first, t->n, one.count, one.byte, 0}, "the id is"},
        {1, {one.first, -2, one.count, one.byte, 0}, "the id is -2"},
        {2, {two.first, two.id, two.count, one.byte, 0}, "does not follow"},
        {t->n_node - 1, {end.first, end.id, 1, end.byte, 0}, "at most 0"},
    };
    for (size_t i = 0; i < CT_COUNT(row); i++) {
        struct ct_match_node kept = t->node[row[i].at];
        t->node[row[i].at] = row[i].node;
        expect_refusal(o.tables, false, row[i].words);
        t->node[row[i].at] = kept;
    }
    close_tables(&o);
}

static void wrong_arrays_of_texts(void **state)
{
    (void)state;
    struct open_tables o = open_tables(open_model());
    struct ct_tokenizer *t = o.t;
    int32_t a = t->character['a'], space = t->character[0x2581];
    assert_true(a >= 0 && space >= 0);
    EXPECT_WRONG(o, t->piece[a], with_rank(t->piece[a], t->n_rank), "the rank is");
    char kept = t->blob[t->piece[space].at];
    t->blob[t->piece[space].at] = 'x';
    expect_refusal(o.tables, false, "not valid UTF-8");
    t->blob[t->piece[space].at] = kept;
    for (uint32_t i = 0; i <= t->slot_mask; i++)
        if (!t->slot[i])
            t->slot[i] = 1;
    expect_refusal(o.tables, false, "none is empty among 1025");
    close_tables(&o);
}

/* ---- tables changed at random: refused, or harmless ---- */

static void exercise(const struct ct_tokenizer *t, uint64_t *seed)
{
    static const char text[] =
        " <start_of_turn>user\nThe theory of sand, \xe4\xb8\xad\xe6\x96\x87 and \xf0\x9f\x91\xa9"
        "\xff\xe2 <bos><eos>  \n\n\n<0x41> ababbabbbaaa 12 1234 5678 "
        "andandandandandandandandandandandandandandandandandandandandandandand<end_of_turn>";
    char piece[256];
    struct ct_detokenizer d;
    for (int flags = 0; flags < 2; flags++) {
        carat_tokens out = {0};
        int f = flags ? CARAT_BOS | CARAT_SPECIAL : 0;
        assert_int_equal(ct_tokenizer_encode(t, text, sizeof text - 1, f, NULL, &out, NULL), CARAT_OK);
        for (int i = 0; i < out.n; i++)
            assert_true(out.ids[i] >= 0 && out.ids[i] < t->n);
        for (int i = 0; i < 64; i++)
            assert_int_equal(ct_tokens_push(&out, (int32_t)(next_random(seed) % (uint32_t)t->n), NULL),
                             CARAT_OK);
        char *back = NULL;
        size_t n;
        assert_int_equal(ct_tokenizer_decode(t, out.ids, out.n, f, &back, &n, NULL), CARAT_OK);
        assert_true(strlen(back) <= n);
        free(back);
        ct_detokenizer_init(&d, t, f);
        for (int i = 0; i < out.n; i++)
            assert_true(ct_detokenizer_push(&d, out.ids[i], piece, sizeof piece) < sizeof piece);
        free(out.ids);
    }
    const struct ct_trie *trie;
    carat_error err = {0};
    if (ct_tokenizer_trie(&trie, t, &err) != CARAT_OK)
        assert_int_equal(err.code, CARAT_E_FORMAT);
}

static void changed_at_random(void **state)
{
    (void)state;
    uint64_t seed = 2024;
    int refused = 0, opened = 0;
    for (size_t v = 0; v < CT_COUNT(open_small); v++) {
        struct open_tables o = open_tables(open_small[v]());
        const uint8_t *begin[] = {o.tables.data,
                                  (const uint8_t *)o.t->piece,
                                  (const uint8_t *)o.t->blob,
                                  (const uint8_t *)o.t->slot,
                                  (const uint8_t *)o.t->merge,
                                  (const uint8_t *)o.t->product,
                                  (const uint8_t *)o.t->joins,
                                  (const uint8_t *)o.t->character,
                                  (const uint8_t *)o.t->node,
                                  (const uint8_t *)o.t->plain_ids,
                                  (const uint8_t *)o.t->trie_node,
                                  (const uint8_t *)o.t->trie_id,
                                  o.tables.data + o.tables.size};
        for (int round = 0; round < 2000; round++) {
            size_t part = next_random(&seed) % (CT_COUNT(begin) - 1);
            size_t size = (size_t)(begin[part + 1] - begin[part]);
            if (!size)
                continue;
            uint8_t *p = (uint8_t *)begin[part] + next_random(&seed) % size, kept = *p;
            *p = (uint8_t)(round % 2 ? *p ^ 1u << next_random(&seed) % 8 : next_random(&seed));
            struct ct_tokenizer *t = NULL;
            carat_error err = {0};
            if (ct_tokenizer_from_tables(&t, "a.packed", o.tables, false, &err) == CARAT_OK) {
                exercise(t, &seed);
                ct_tokenizer_free(t);
                opened++;
            } else {
                assert_int_equal(err.code, CARAT_E_FORMAT);
                refused++;
            }
            *p = kept;
        }
        close_tables(&o);
    }
    assert_true(refused > 1000 && opened > 1000);
}

static void no_memory(void **state)
{
    (void)state;
    struct ct_tokenizer *t = open_gguf(), *mapped = NULL;
    struct ct_bytes tables = tables_of(t);
    carat_error err = {0};
    ct_tokenizer_free(t);
    requests = 0;
    refuse_at = 0;
    refuse_later = true;
    carat_status status = ct_tokenizer_from_tables(&mapped, "a.packed", tables, false, &err);
    refuse_at = NEVER;
    assert_int_equal(status, CARAT_E_MEMORY);
    assert_non_null(strstr(err.message, "out of memory for a.packed"));
    assert_null(mapped);
    free((void *)tables.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_off),           cmocka_unit_test(wrong_heads),
        cmocka_unit_test(misaligned),        cmocka_unit_test(wrong_arrays_of_pairs),
        cmocka_unit_test(wrong_nodes),       cmocka_unit_test(wrong_arrays_of_texts),
        cmocka_unit_test(changed_at_random), cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
