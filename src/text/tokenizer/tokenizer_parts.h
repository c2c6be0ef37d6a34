/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer_parts.h: the inside of struct ct_tokenizer, shared by the readers of its sources, the encoder and
 * the decoder. Nobody outside src/text includes it.
 *
 * A reader adds pieces (and merges, where its source has a list of them), sets what its source declares,
 * and calls ct_tokenizer_finish, which derives everything the encoder needs. After that the object never
 * changes, but for the trie, which is made, or taken from the tables, when it is first needed. */
#ifndef CT_TOKENIZER_PARTS_H
#define CT_TOKENIZER_PARTS_H

#include <stdatomic.h>

#include "text/tokenizer/tokenizer.h"

struct ct_trie;
struct ct_trie_node;

/* Longest piece in bytes. Gemma's longest is 93; the streaming detokenizer's 256-byte promise rests on it. */
#define CT_PIECE_MAX     240
#define CT_ID_BITS       21
#define CT_VOCAB_MAX     (1 << CT_ID_BITS)
#define CT_RANK_BITS     22
#define CT_MERGES_MAX    ((1 << CT_RANK_BITS) - 1)
#define CT_CHARACTERS    65536
#define CT_TOKENIZER_MAX ((size_t)512 << 20) /* bytes of a tokenizer file */
#define CT_NO_RANK       ((uint32_t)1 << CT_RANK_BITS)
#define CT_NO_MERGE      UINT64_MAX

/* The numbers are those of SentencePiece and GGUF. */
enum ct_piece_kind {
    CT_PIECE_ABSENT = 0,
    CT_PIECE_NORMAL = 1,
    CT_PIECE_UNKNOWN = 2,
    CT_PIECE_CONTROL = 3, /* matched in text only with CARAT_SPECIAL */
    CT_PIECE_USER = 4,    /* always matched in text */
    CT_PIECE_UNUSED = 5,  /* never produced */
    CT_PIECE_BYTE = 6,    /* <0x00> to <0xFF> */
};

/* A GGUF with merges follows the rules of tokenizer.json, from which it was made. */
enum ct_tokenizer_form { CT_SOURCE_JSON, CT_SOURCE_MODEL, CT_SOURCE_GGUF, CT_SOURCE_GGUF_MERGES };

struct ct_piece {
    uint64_t at : 30; /* in blob: CT_VOCAB_MAX * CT_PIECE_MAX * 2 < 2^30 */
    uint64_t n : 8, kind : 3;
    uint64_t rank : 23; /* model, GGUF: of the merge that makes the piece, CT_NO_RANK where none does */
};

/* A node of the matcher; its children lie together, ordered by byte. */
struct ct_match_node {
    uint32_t first;
    int32_t id; /* piece that ends here, or -1 */
    uint16_t count;
    uint8_t byte, zero;
};

struct ct_tokenizer {
    /* Fixed sizes and no holes, from here to piece: tables.c stores this part as it lies, and the arrays
     * after it. */
    uint64_t seed;  /* of both hashes, so that no file can be made to collide */
    int32_t source; /* enum ct_tokenizer_form */
    int32_t n;      /* ids are [0, n) */
    uint32_t n_blob, slot_mask, n_rank, n_merge, n_node;
    uint32_t n_character, join_bits;
    uint32_t n_trie_node, trie_plain, n_trie_id; /* of what lies in tables; else 0 */
    int32_t longest;                             /* bytes of the longest piece that a merge can make */
    int32_t unknown; /* id for what cannot be spelled, or -1 while it is being read */
    int32_t bos;
    int32_t n_end;
    int32_t end[8];
    /* FunctionGemma's control tokens, printed even without CARAT_SPECIAL; -1: absent. */
    int32_t visible[CT_CONTROLS_VISIBLE];
    int32_t byte_id[256];
    char surface[16]; /* what an unknown piece decodes to (model, GGUF) */
    bool begins[256]; /* a matchable piece begins with this byte */
    bool no_cut;      /* a merge contains byte tokens: text cannot be cut by looking at characters */
    bool byte_fallback;
    bool fuse_unknown;
    bool match_normalized; /* pieces are matched after space -> U+2581 (model), not in the raw text */
    bool space_prefix;     /* GGUF: text begins as if with a space */
    bool zero[7];

    struct ct_piece *piece; /* [n] */
    char *blob;             /* [n_blob] all pieces, one after another */
    /* The hash table from text to id. A slot holds id + 1 and above it the highest bits of the hash, so
     * that few texts are compared in vain; 0: empty. */
#define CT_SLOT_BITS     (CT_ID_BITS + 1)
#define CT_SLOT_ID(slot) ((int32_t)((slot) & (((uint32_t)1 << CT_SLOT_BITS) - 1)) - 1)
    uint32_t *slot; /* [slot_mask + 1] */

    /* The merge rule. By pairs: a hash from a pair of ids to its rank. By text: the rank of the piece that
     * two texts form. */
    /* [n_merge] left id, right id, rank, from the highest bits to the lowest; or CT_NO_MERGE. */
    uint64_t *merge;
    int32_t *product; /* [n_rank], by rank */
    /* [2^join_bits / 64] bitmap by hash: these two characters stand side by side in some merged piece. */
    uint64_t *joins;

    int32_t *character;         /* [n_character] id of a character, or -1 */
    struct ct_match_node *node; /* [n_node], [0] is the root */
    /* The trie (trie.h) as tables have it; nobody has looked at it. */
    const uint64_t *plain_ids;
    const struct ct_trie_node *trie_node;
    const uint32_t *trie_id;

    bool borrowed;         /* the arrays lie in tables that the caller owns */
    const uint8_t *tables; /* these, where somebody else may have written them; else NULL */
    const char *name;      /* and the path for messages */
    size_t piece_capacity, blob_capacity;
    uint32_t n_hashed; /* slots in use */

    _Atomic(struct ct_trie *) trie; /* trie.h; NULL: nobody has asked yet */

    struct ct_listener *listener; /* while the tokenizer is being read; may be NULL */
    uint32_t looks;
};

/* The merge rule looks at texts instead of pairs of ids. */
static inline bool ct_tokenizer_by_text(const struct ct_tokenizer *t)
{
    return t->source == CT_SOURCE_MODEL || t->source == CT_SOURCE_GGUF;
}

/* ---- building; name is the path for messages ---- */
carat_status ct_tokenizer_too_large(const char *name, size_t size, carat_error *err); /* always fails */
carat_status ct_tokenizer_create(struct ct_tokenizer **t, enum ct_tokenizer_form source,
                                 struct ct_listener *listener, carat_error *err);
/* The end of a reader: gives t to the caller, or frees it when status is an error. Returns status. */
static inline carat_status ct_tokenizer_give(struct ct_tokenizer **out, struct ct_tokenizer *t,
                                             carat_status status)
{
    if (status == CARAT_OK)
        *out = t;
    else
        ct_tokenizer_free(t);
    return status;
}
/* Called for each piece and merge: calls the listener about every millisecond. E_CANCELLED. */
carat_status ct_tokenizer_look(struct ct_tokenizer *t, carat_error *err);
/* Gives id its text and kind. E_FORMAT when the id or the text is taken (text: duplicates are let pass when
 * may_repeat), out of range, too long or not UTF-8. */
carat_status ct_tokenizer_add(struct ct_tokenizer *t, const char *name, int64_t id, struct ct_str text,
                              int kind, bool may_repeat, carat_error *err);
/* Replaces the text of an id that has one. */
carat_status ct_tokenizer_rename(struct ct_tokenizer *t, const char *name, int32_t id, struct ct_str text,
                                 carat_error *err);
/* triple [n][3] = left id, right id, product id; the index is the rank. */
carat_status ct_tokenizer_merges(struct ct_tokenizer *t, const int32_t *triple, size_t n, carat_error *err);
/* score [t->n], higher first; turns them into ranks. E_FORMAT for NaN. */
carat_status ct_tokenizer_scores(struct ct_tokenizer *t, const char *name, const float *score,
                                 carat_error *err);
/* Gives control kind to the names that are control tokens however a source stores them; called when all
 * pieces are there and before the merge tables, since a control token is no product of merging. */
void ct_tokenizer_name_controls(struct ct_tokenizer *t);
/* An id that ends generation; ignored when absent (-1) or known. */
void ct_tokenizer_add_end(struct ct_tokenizer *t, int32_t id);
carat_status ct_tokenizer_finish(struct ct_tokenizer *t, const char *name, carat_error *err);
/* Behind that: lets a byte that has no token of its own but is a character be spelled by that,
 * as Gemma 1's tab is; the first byte that nothing spells, or -1. */
int ct_tokenizer_missing_byte(struct ct_tokenizer *t);

/* ---- asking ---- */
/* Prefetches what finding these texts will touch, for all of them at once. A vocabulary is larger than the
 * processor's cache, and a tokenizer.json looks up a million parts of merges. */
#define CT_WARM_MAX 96
void ct_tokenizer_warm(const struct ct_tokenizer *t, const struct ct_str *text, size_t n);
static inline struct ct_str ct_piece_text(const struct ct_tokenizer *t, int32_t id)
{
    return (struct ct_str){t->blob + t->piece[id].at, t->piece[id].n};
}
/* Copies a piece with U+2581 turned into spaces; never longer than the piece. */
static inline size_t ct_piece_put(char *out, struct ct_str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n;)
        if (s.s[i] == '\xe2' && s.n - i >= 3 && memcmp(s.s + i, "\xe2\x96\x81", 3) == 0) {
            out[n++] = ' ';
            i += 3;
        } else {
            out[n++] = s.s[i++];
        }
    return n;
}
/* The value of "<0x41>", -1 when the text is not of that form. */
int ct_piece_byte(struct ct_str text);
static inline bool ct_piece_is_control(const struct ct_tokenizer *t, int32_t id)
{
    return t->piece[id].kind == CT_PIECE_CONTROL || t->piece[id].kind == CT_PIECE_UNKNOWN;
}
bool ct_piece_is_visible(const struct ct_tokenizer *t, int32_t id);

/* The id of a character below U+10000, -1: absent. */
static inline int32_t ct_tokenizer_character(const struct ct_tokenizer *t, uint32_t code)
{
    return code < t->n_character ? t->character[code] : -1;
}

static inline uint64_t ct_tokenizer_mix(uint64_t h)
{
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 29;
    h *= 0xa0761d6478bd642fu;
    return h ^ h >> 32;
}
static inline uint32_t ct_tokenizer_join_hash(const struct ct_tokenizer *t, uint32_t a, uint32_t b)
{
    return (uint32_t)(((uint64_t)a << 21 ^ b) * 0x9e3779b97f4a7c15u >> (64 - t->join_bits));
}
/* False: no merge ever joins symbols across the border between these two characters. */
static inline bool ct_tokenizer_joins(const struct ct_tokenizer *t, uint32_t a, uint32_t b)
{
    uint32_t h = ct_tokenizer_join_hash(t, a, b);
    return t->no_cut || (t->joins[h >> 6] >> (h & 63) & 1);
}
/* A pair of ids as it stands above the rank in merge, and where the search for it begins. */
static inline uint64_t ct_tokenizer_pair(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << CT_ID_BITS | (uint32_t)right;
}
static inline uint32_t ct_tokenizer_pair_slot(const struct ct_tokenizer *t, uint64_t pair)
{
    return (uint32_t)((uint64_t)(uint32_t)ct_tokenizer_mix(pair ^ t->seed) * t->n_merge >> 32);
}
static inline uint32_t ct_tokenizer_pair_rank(const struct ct_tokenizer *t, int32_t left, int32_t right)
{
    uint64_t pair = ct_tokenizer_pair(left, right);
    for (uint32_t i = ct_tokenizer_pair_slot(t, pair);; i = i + 1 < t->n_merge ? i + 1 : 0) {
        if (t->merge[i] == CT_NO_MERGE)
            return CT_NO_RANK;
        if (t->merge[i] >> CT_RANK_BITS == pair)
            return (uint32_t)t->merge[i] & (CT_NO_RANK - 1);
    }
}
/* Longest matchable piece at the start of text; returns the bytes of text it covers, 0 for none. */
size_t ct_tokenizer_match(const struct ct_tokenizer *t, const char *text, size_t n, bool special,
                          int32_t *id);

#endif
