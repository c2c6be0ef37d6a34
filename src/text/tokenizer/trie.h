/* SPDX-License-Identifier: Apache-2.0 */
/* trie.h: the texts of all ids as a tree of bytes, for whoever asks which ids may come next. It lies in the
 * tables of a packed model; elsewhere it is made when it is first asked for. Ids without bytes are not in it.
 *
 * Nodes lie in depth-first order, and the ids in the order of the nodes where their texts end, so that those
 * of a subtree are one run. There are two trees, one behind the other. The second one has the plain texts:
 * whole characters, at most CT_PLAIN_MAX, of which none ends or escapes a string of JSON. These are nearly
 * all of them, and where all plain texts may come nobody has to walk over them. */
#ifndef CT_TRIE_H
#define CT_TRIE_H

#include "text/tokenizer/tokenizer.h"

enum { CT_PLAIN_MAX = 16, CT_TRIE_NODES_MAX = (1 << 24) - 1 };

struct ct_trie_node {
    uint32_t byte : 8, next : 24; /* next: the node behind its subtree */
    uint32_t first;               /* the first id of its subtree; its own come before those below */
};

struct ct_trie {
    uint32_t n_nodes, plain; /* the second tree begins at node `plain` */
    uint32_t n_ids, n_words;
    const struct ct_trie_node *node; /* [n_nodes + 1] the last one ends the ids of the one before */
    const uint32_t *id;              /* [n_ids] characters of a plain text << 24 | the id */
    const uint64_t *plain_ids;       /* [n_words] bits of all ids with plain texts */
};

static inline uint32_t ct_trie_words(int32_t n)
{
    return ((uint32_t)n + 63) / 64;
}
static inline int32_t ct_trie_id(uint32_t entry)
{
    return (int32_t)(entry & 0xffffff);
}
static inline uint32_t ct_trie_characters(uint32_t entry)
{
    return entry >> 24;
}

/* Belongs to the tokenizer, which stays as it is for all else. Tables of somebody else are checked by the
 * first who asks: they have exactly the tree that would be made, or are refused. Any thread. E_MEMORY,
 * E_FORMAT (array, index and byte of the tables), E_UNSUPPORTED (more than 2^24 nodes). */
carat_status ct_tokenizer_trie(const struct ct_trie **trie, const struct ct_tokenizer *t, carat_error *err);
size_t ct_trie_bytes(const struct ct_trie *trie);

#endif
