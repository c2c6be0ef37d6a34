/* SPDX-License-Identifier: Apache-2.0 */
/* trie.c: see trie.h. Ids are put in the order of their texts, the plain ones last; then each text adds the
 * nodes that the one before has not made. */
#include "text/tokenizer/trie.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "text/tokenizer/speller.h"
#include "text/tokenizer/tokenizer_parts.h"

enum { NODES_MAX = (1 << 24) - 1 };

/* A text while texts are put in order. */
struct text {
    uint64_t key; /* 1 for a plain one, then its first seven bytes */
    const char *at;
    int32_t id;
    uint8_t n, characters; /* characters of a plain one; 0 */
};
static_assert(CT_TOKEN_BYTES <= 256, "a length is a byte");

/* The characters of a plain text; 0: it is none. */
static uint8_t plain_characters(const char *s, size_t n)
{
    uint8_t count = 0;

    for (size_t i = 0, width; i < n; i += width, count++) {
        const uint8_t c = (uint8_t)s[i];
        width = ct_utf8_length((const uint8_t *)s + i, n - i);
        if (!width || c < 0x20 || c == 0x7f || c == '"' || c == '\\' || count == CT_PLAIN_MAX)
            return 0;
    }
    return count;
}

static int compare(const void *one, const void *other)
{
    const struct text *a = one, *b = other;
    const int order = memcmp(a->at, b->at, CT_MIN(a->n, b->n));

    return order ? order : a->n != b->n ? a->n - b->n : a->id - b->id;
}

/* By the keys, from their last byte to their first; then those of the same key by the rest of the texts. */
static void sort(struct text *text, struct text *other, uint32_t n)
{
    for (int shift = 0; shift < 64; shift += 8) {
        uint32_t at[257] = {0};
        for (uint32_t i = 0; i < n; i++)
            at[(text[i].key >> shift & 0xff) + 1]++;
        for (int byte = 0; byte < 255; byte++)
            at[byte + 1] += at[byte];
        for (uint32_t i = 0; i < n; i++)
            other[at[text[i].key >> shift & 0xff]++] = text[i];
        struct text *sorted = other;
        other = text;
        text = sorted;
    }
    for (uint32_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && text[to].key == text[from].key; to++)
            ;
        if (to - from > 1)
            qsort(text + from, to - from, sizeof *text, compare);
    }
}

/* Texts of all ids that have bytes, in order; the bytes lie in blob, and text has room for twice as many.
 * Returns their number. */
static uint32_t put_in_order(const struct ct_tokenizer *t, struct text *text, char *blob)
{
    uint32_t n = 0;

    for (int32_t id = 0; id < t->n; id++) {
        struct text *own = &text[n];
        *own = (struct text){.at = blob, .id = id, .n = (uint8_t)ct_tokenizer_bytes(t, id, blob)};
        if (!own->n)
            continue;
        own->characters = plain_characters(blob, own->n);
        own->key = own->characters != 0;
        for (int i = 0; i < 7; i++)
            own->key = own->key << 8 | (i < own->n ? (uint8_t)blob[i] : 0);
        blob += own->n;
        n++;
    }
    sort(text, text + n, n); /* eight times from one half to the other */
    return n;
}

/* The bytes that text i begins with as the one before it does; the first plain one begins another tree. */
static uint32_t shared_bytes(const struct text *text, uint32_t i)
{
    uint32_t n = 0;

    if (i == 0 || !text[i - 1].characters != !text[i].characters)
        return 0;
    while (n < text[i - 1].n && n < text[i].n && text[i - 1].at[n] == text[i].at[n])
        n++;
    return n;
}

static void fill(struct ct_trie *trie, const struct text *text, struct ct_trie_node *node, uint32_t *ids,
                 uint64_t *plain_ids)
{
    uint32_t open[CT_TOKEN_BYTES], n_open = 0, n = 0; /* nodes whose subtrees are not closed */

    trie->plain = trie->n_nodes;
    for (uint32_t i = 0; i < trie->n_ids; i++) {
        const struct text *own = &text[i];
        const uint32_t shared = shared_bytes(text, i);
        while (n_open > shared)
            node[open[--n_open]].next = n & NODES_MAX;
        if (own->characters)
            trie->plain = CT_MIN(trie->plain, n);
        for (; n_open < own->n; n_open++) {
            open[n_open] = n;
            node[n++] = (struct ct_trie_node){.byte = (uint8_t)own->at[n_open], .first = i};
        }
        ids[i] = (uint32_t)own->characters << 24 | (uint32_t)own->id;
        if (own->characters)
            plain_ids[own->id / 64] |= UINT64_C(1) << own->id % 64;
    }
    while (n_open > 0)
        node[open[--n_open]].next = n & NODES_MAX;
    node[n] = (struct ct_trie_node){.first = trie->n_ids};
}

/* One block for all: whoever frees the tokenizer frees it without this file. */
static carat_status make(struct ct_trie **out, const struct ct_tokenizer *t, const struct text *text,
                         uint32_t n, carat_error *err)
{
    uint64_t nodes = 0;

    for (uint32_t i = 0; i < n; i++)
        nodes += text[i].n - shared_bytes(text, i);
    if (nodes > NODES_MAX)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "the texts of the vocabulary make %llu nodes of a tree, expected at most %d",
                       (unsigned long long)nodes, NODES_MAX);
    struct ct_trie size = {.n_nodes = (uint32_t)nodes, .n_ids = n, .n_words = ((uint32_t)t->n + 63) / 64};
    struct ct_trie *trie = calloc(1, ct_trie_bytes(&size));
    if (!trie)
        return ct_no_memory(err, "the texts of a vocabulary");
    *trie = size;
    uint64_t *plain_ids = (uint64_t *)(trie + 1);
    struct ct_trie_node *node = (struct ct_trie_node *)(plain_ids + size.n_words);
    uint32_t *ids = (uint32_t *)(node + size.n_nodes + 1);
    fill(trie, text, node, ids, plain_ids);
    trie->plain_ids = plain_ids;
    trie->node = node;
    trie->id = ids;
    *out = trie;
    return CARAT_OK;
}

size_t ct_trie_bytes(const struct ct_trie *trie)
{
    return sizeof *trie + trie->n_words * sizeof *trie->plain_ids +
           ((size_t)trie->n_nodes + 1) * sizeof *trie->node + trie->n_ids * sizeof *trie->id;
}

static carat_status build(struct ct_trie **trie, const struct ct_tokenizer *t, carat_error *err)
{
    size_t bytes = CT_TOKEN_BYTES;

    for (int32_t id = 0; id < t->n; id++) /* pieces may lie one over another */
        bytes += t->piece[id].n;
    struct text *text = malloc((2 * (size_t)t->n + 1) * sizeof *text);
    char *blob = malloc(bytes);
    const carat_status status = text && blob ? make(trie, t, text, put_in_order(t, text, blob), err)
                                             : ct_no_memory(err, "the texts of a vocabulary");
    free(text);
    free(blob);
    return status;
}

carat_status ct_tokenizer_trie(const struct ct_trie **trie, const struct ct_tokenizer *t, carat_error *err)
{
    _Atomic(struct ct_trie *) *kept = &((struct ct_tokenizer *)t)->trie;
    struct ct_trie *own, *other = NULL;

    *trie = atomic_load_explicit(kept, memory_order_acquire);
    if (*trie)
        return CARAT_OK;
    CT_TRY(build(&own, t, err));
    if (atomic_compare_exchange_strong(kept, &other, own)) {
        *trie = own;
    } else { /* another thread was first */
        free(own);
        *trie = other;
    }
    return CARAT_OK;
}
