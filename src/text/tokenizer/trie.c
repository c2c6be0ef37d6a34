/* SPDX-License-Identifier: Apache-2.0 */
/* trie.c: see trie.h. Ids are put in the order of their texts, the plain ones last; then each text adds the
 * nodes that the one before has not made. What lies in tables is used there.
 *
 * A tree out of the cache is used where it lies; that of any other packed file has to be exactly the one that
 * would be made, which takes a third of the time of making it. Elsewhere it is made when somebody first
 * constrains an answer, once for a model, and published by one atomic exchange. */
#include "text/tokenizer/trie.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "text/tokenizer/speller.h"
#include "text/tokenizer/tokenizer_parts.h"

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
            node[open[--n_open]].next = n & CT_TRIE_NODES_MAX;
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
        node[open[--n_open]].next = n & CT_TRIE_NODES_MAX;
    node[n] = (struct ct_trie_node){.first = trie->n_ids};
}

/* One block for all: whoever frees the tokenizer frees it without this file. */
static carat_status make(struct ct_trie **out, const struct ct_tokenizer *t, const struct text *text,
                         uint32_t n, carat_error *err)
{
    uint64_t nodes = 0;

    for (uint32_t i = 0; i < n; i++)
        nodes += text[i].n - shared_bytes(text, i);
    if (nodes > CT_TRIE_NODES_MAX)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "the texts of the vocabulary make %llu nodes of a tree, expected at most %d",
                       (unsigned long long)nodes, CT_TRIE_NODES_MAX);
    struct ct_trie size = {.n_nodes = (uint32_t)nodes, .n_ids = n, .n_words = ct_trie_words(t->n)};
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

/* ---- what lies in tables ---- */

/* Walks over nodes, each with the bytes on the way to it. */
struct walk {
    const struct ct_tokenizer *t;
    const struct ct_trie *trie;
    carat_error *err;
    uint32_t depth;
    char path[CT_TOKEN_BYTES];
    uint32_t end[CT_TOKEN_BYTES]; /* the node behind the subtree of each on the way */
    int byte[CT_TOKEN_BYTES + 1]; /* of the last child at each depth; -1: there was none */
    uint32_t n_ids, n_plain;      /* that were passed */
};

/* "file: tokenizer tables: trie_node[3] at byte 123: sentence" */
static carat_status stored_wrong(const struct walk *w, const char *array, size_t i, const void *at,
                                 const char *format, ...)
{
    char sentence[256];
    CT_FORMAT(sentence, format);
    return ct_bad_file(w->err, w->t->name, "tokenizer tables: %s[%zu] at byte %zu: %s", array, i,
                       (size_t)((const uint8_t *)at - w->t->tables), sentence);
}
#define NODE_WRONG(w, i, ...) stored_wrong(w, "trie_node", i, &(w)->trie->node[i], __VA_ARGS__)
#define ID_WRONG(w, i, ...)   stored_wrong(w, "trie_id", i, &(w)->trie->id[i], __VA_ARGS__)

/* Ids come in the order of their texts, so that their pieces lie anywhere. */
static void prefetch_texts(const struct walk *w, uint32_t i)
{
    const struct ct_tokenizer *t = w->t;

    if (i + 32 >= w->trie->n_ids)
        return;
    const int32_t far = ct_trie_id(w->trie->id[i + 32]), near = ct_trie_id(w->trie->id[i + 16]);
    if (far < t->n && near < t->n) {
        __builtin_prefetch(&t->piece[far]);
        __builtin_prefetch(t->blob + t->piece[near].at);
    }
}

/* The ids whose text the walk has come to: exactly these, in their order. */
static carat_status check_ids(struct walk *w, uint32_t at, uint32_t first, uint32_t behind)
{
    const uint32_t characters = plain_characters(w->path, w->depth);
    char bytes[CT_TOKEN_BYTES];

    for (uint32_t i = first; i < behind; i++) {
        const int32_t id = ct_trie_id(w->trie->id[i]);
        prefetch_texts(w, i);
        if (ct_tokenizer_bytes(w->t, id, bytes) != w->depth || memcmp(bytes, w->path, w->depth) != 0)
            return ID_WRONG(w, i, "the id %d has another text, or none", id);
        if (i > first && id <= ct_trie_id(w->trie->id[i - 1]))
            return ID_WRONG(w, i, "the id %d does not follow the one before", id);
        if (ct_trie_characters(w->trie->id[i]) != characters || (characters > 0) != (at >= w->trie->plain))
            return ID_WRONG(w, i, "the text of %d has %u plain characters in a row of its own, found %u", id,
                            characters, ct_trie_characters(w->trie->id[i]));
        if (characters && !(w->trie->plain_ids[id / 64] >> id % 64 & 1))
            return stored_wrong(w, "plain_ids", (size_t)id / 64, &w->trie->plain_ids[id / 64],
                                "no bit for %d", id);
        w->n_plain += characters > 0;
    }
    w->n_ids += behind - first;
    return CARAT_OK;
}

static carat_status check_node(struct walk *w, uint32_t at)
{
    const struct ct_trie *trie = w->trie;
    const struct ct_trie_node node = trie->node[at];
    const uint32_t behind = trie->node[at + 1].first;

    while (w->depth > 0 && w->end[w->depth - 1] == at)
        w->depth--;
    if (at == 0 || at == trie->plain)
        w->byte[0] = -1;
    const uint32_t end = w->depth > 0 ? w->end[w->depth - 1] : at < trie->plain ? trie->plain : trie->n_nodes;
    if (w->depth == CT_TOKEN_BYTES)
        return NODE_WRONG(w, at, "below %d others, and no text is so long", CT_TOKEN_BYTES);
    if (node.next <= at || node.next > end)
        return NODE_WRONG(w, at, "its subtree ends before %u, expected %u to %u", (uint32_t)node.next, at + 1,
                          end);
    if ((int)node.byte <= w->byte[w->depth])
        return NODE_WRONG(w, at, "the byte 0x%02X does not follow 0x%02X", (unsigned)node.byte,
                          (unsigned)w->byte[w->depth]);
    if (node.first != w->n_ids || behind < node.first || behind > trie->n_ids ||
        (node.next == at + 1 && behind == node.first))
        return NODE_WRONG(w, at, "ids from %u to %u, expected some from %u on and at most %u", node.first,
                          behind, w->n_ids, trie->n_ids);
    w->path[w->depth] = (char)node.byte;
    w->byte[w->depth] = node.byte;
    w->end[w->depth++] = node.next;
    w->byte[w->depth] = -1;
    return behind > node.first ? check_ids(w, at, node.first, behind) : CARAT_OK;
}

/* Nodes of a tree have different texts, as each has other bytes than those before it; so no id comes twice,
 * and none is left out where there are as many as have bytes. */
static carat_status check(const struct ct_trie *trie, const struct ct_tokenizer *t, carat_error *err)
{
    struct walk w = {.t = t, .trie = trie, .err = err};
    const struct ct_trie_node last = trie->node[trie->n_nodes];
    uint32_t n_ids = 0, n_plain = 0;

    for (uint32_t at = 0; at < trie->n_nodes; at++)
        CT_TRY(check_node(&w, at));
    for (int32_t id = 0; id < t->n; id++)
        n_ids += !ct_piece_is_control(t, id) && t->piece[id].n > 0;
    for (uint32_t i = 0; i < trie->n_words; i++)
        n_plain += (uint32_t)__builtin_popcountll(trie->plain_ids[i]);
    if (last.byte || last.next || last.first != n_ids || w.n_ids != n_ids || trie->n_ids != n_ids)
        return NODE_WRONG(&w, trie->n_nodes, "the trie has %u ids, expected %u", w.n_ids, n_ids);
    if (w.n_plain != n_plain)
        return stored_wrong(&w, "plain_ids", 0, trie->plain_ids, "bits for %u ids, expected %u", n_plain,
                            w.n_plain);
    return CARAT_OK;
}

static carat_status take_stored(struct ct_trie **out, const struct ct_tokenizer *t, carat_error *err)
{
    const struct ct_trie stored = {t->n_trie_node, t->trie_plain, t->n_trie_id, ct_trie_words(t->n),
                                   t->trie_node,   t->trie_id,    t->plain_ids};
    if (t->tables) /* which takes a third of the time of making it */
        CT_TRY(check(&stored, t, err));
    struct ct_trie *trie = malloc(sizeof *trie);
    if (!trie)
        return ct_no_memory(err, "the texts of a vocabulary");
    *trie = stored;
    *out = trie;
    return CARAT_OK;
}

/* ---- */

carat_status ct_tokenizer_trie(const struct ct_trie **trie, const struct ct_tokenizer *t, carat_error *err)
{
    _Atomic(struct ct_trie *) *kept = &((struct ct_tokenizer *)t)->trie;
    struct ct_trie *own, *other = NULL;

    *trie = atomic_load_explicit(kept, memory_order_acquire);
    if (*trie)
        return CARAT_OK;
    CT_TRY((t->n_trie_node ? take_stored : build)(&own, t, err));
    if (atomic_compare_exchange_strong(kept, &other, own)) {
        *trie = own;
    } else { /* another thread was first */
        free(own);
        *trie = other;
    }
    return CARAT_OK;
}
