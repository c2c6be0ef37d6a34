/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_tables.c: changed tokenizer tables as somebody else's: refused, or a tokenizer that encodes and
 * decodes, and whose trie is refused or the one that would be made.
 *
 * Random bytes are hardly ever tables, and stored ones age with the layout. So the input says what to
 * change in tables that are made here: its first byte chooses the vocabulary, and every five that follow
 * set one byte (array, place in it from the lowest byte to the highest, value). */
#include <stdio.h>

#include "fuzz_text.h"
#include "text/tokenizer/trie.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add(struct ct_tokenizer *t, const char *text, int kind)
{
    must(ct_tokenizer_add(t, "fuzz", t->n, (struct ct_str){text, strlen(text)}, kind, false, NULL) ==
         CARAT_OK);
}

/* Every string of up to four a's and b's, control and user-defined pieces, and bytes where they are
 * wanted. */
static struct ct_tokenizer *vocabulary(enum ct_tokenizer_form source, bool bytes)
{
    struct ct_tokenizer *t = NULL;
    char s[8] = "";
    must(ct_tokenizer_create(&t, source, NULL, NULL) == CARAT_OK);
    t->seed = 1; /* every run makes the same tables */
    add(t, "<unk>", CT_PIECE_UNKNOWN);
    add(t, "<bos>", CT_PIECE_CONTROL);
    add(t, "<end_of_turn>", CT_PIECE_CONTROL);
    add(t, "<escape>", CT_PIECE_CONTROL);
    add(t, "\n\n", CT_PIECE_USER);
    add(t, "<a>", CT_PIECE_USER);
    add(t, "\xe2\x96\x81", CT_PIECE_NORMAL);
    int32_t first = t->n;
    for (size_t n = 1; n <= 4; n++)
        for (unsigned bits = 0; bits < 1u << n; bits++) {
            for (size_t i = 0; i < n; i++)
                s[i] = bits >> i & 1 ? 'b' : 'a';
            add(t, s, CT_PIECE_NORMAL);
        }
    int32_t triple[96 * 3], n = 0, end = t->n;
    float score[512] = {0};
    for (int32_t id = first; id < end; id++) {
        struct ct_str p = ct_piece_text(t, id);
        score[id] = (float)(id * 7 % 11);
        for (size_t cut = 1; cut < p.n; cut++, n++) {
            triple[n * 3] = ct_tokenizer_find(t, (struct ct_str){p.s, cut});
            triple[n * 3 + 1] = ct_tokenizer_find(t, (struct ct_str){p.s + cut, p.n - cut});
            triple[n * 3 + 2] = id;
        }
    }
    for (int b = 0; b < 256 && bytes; b++) {
        snprintf(s, sizeof s, "<0x%02X>", (unsigned)b);
        add(t, s, CT_PIECE_BYTE);
    }
    t->byte_fallback = bytes;
    t->fuse_unknown = !bytes;
    t->match_normalized = source == CT_SOURCE_MODEL;
    t->space_prefix = source == CT_SOURCE_GGUF;
    ct_tokenizer_name_controls(t);
    must((source == CT_SOURCE_JSON ? ct_tokenizer_merges(t, triple, (size_t)n, NULL)
                                   : ct_tokenizer_scores(t, "fuzz", score, NULL)) == CARAT_OK);
    must(ct_tokenizer_finish(t, "fuzz", NULL) == CARAT_OK);
    return t;
}

static const struct ct_trie *trie_of(const struct ct_tokenizer *t)
{
    const struct ct_trie *trie;

    must(ct_tokenizer_trie(&trie, t, NULL) == CARAT_OK);
    return trie;
}

/* t, whose trie lies in tables, and the same without one there. */
static void look_at_trie(struct ct_tokenizer *t)
{
    const struct ct_trie *stored, *made;
    const uint32_t n = t->n_trie_node;

    if (ct_tokenizer_trie(&stored, t, NULL))
        return;
    _Atomic(struct ct_trie *) kept = atomic_exchange(&t->trie, NULL);
    t->n_trie_node = 0;
    made = trie_of(t);
    must(made->n_nodes == stored->n_nodes && made->plain == stored->plain && made->n_ids == stored->n_ids);
    must(memcmp(made->node, stored->node, ((size_t)made->n_nodes + 1) * sizeof *made->node) == 0);
    must(memcmp(made->id, stored->id, made->n_ids * sizeof *made->id) == 0);
    must(memcmp(made->plain_ids, stored->plain_ids, made->n_words * sizeof *made->plain_ids) == 0);
    t->n_trie_node = n;
    free(kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char text[] =
        "abab\xe2\x96\x81 ba<end_of_turn>\n\n\n<a>\xff<escape>aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbb\xf0\x9f\x91\xa9<bos><0x41>";
    unsigned choice = size ? data[0] : 0;
    struct ct_tokenizer *t = vocabulary((enum ct_tokenizer_form)(choice % 3), choice / 3 % 2);
    trie_of(t);
    struct ct_bytes tables = {NULL, ct_tokenizer_tables_size(t)};
    uint8_t *bytes = malloc(tables.size);
    must(bytes != NULL);
    tables.data = bytes;
    ct_tokenizer_tables_write(t, bytes);
    ct_tokenizer_free(t);
    must(ct_tokenizer_from_tables(&t, "fuzz", tables, false, NULL) == CARAT_OK);
    const void *const begin[] = {
        bytes,        t->piece, t->blob,      t->slot,      t->merge,   t->product,         t->joins,
        t->character, t->node,  t->plain_ids, t->trie_node, t->trie_id, bytes + tables.size};
    ct_tokenizer_free(t);
    for (size_t i = 1; i + 5 <= size; i += 5) {
        size_t array = data[i] % (CT_COUNT(begin) - 1);
        size_t n = (size_t)((const uint8_t *)begin[array + 1] - (const uint8_t *)begin[array]);
        size_t place = data[i + 1] | (size_t)data[i + 2] << 8 | (size_t)data[i + 3] << 16;
        if (n)
            bytes[(const uint8_t *)begin[array] - bytes + (ptrdiff_t)(place % n)] = data[i + 4];
    }
    if (ct_tokenizer_from_tables(&t, "fuzz", tables, false, NULL) == CARAT_OK) {
        exercise(t, (const uint8_t *)text, sizeof text - 1);
        exercise(t, data, size);
        look_at_trie(t);
        ct_tokenizer_free(t);
    }
    free(bytes);
    return 0;
}
