/* vocab.h: the inside of struct ct_tokenizer, shared by the readers of its three sources, the encoder and the
 * decoder. Nobody outside src/text includes it.
 *
 * A reader adds pieces (and, for tokenizer.json, merges), sets what its source declares, and calls
 * ct_vocab_finish, which derives everything the encoder needs. After that the object never changes. */
#ifndef CT_VOCAB_H
#define CT_VOCAB_H

#include "text/tokenizer.h"

/* Longest piece in bytes. Gemma's longest is 93; the streaming detokenizer's 256-byte promise rests on it. */
#define CT_PIECE_MAX     240
#define CT_VOCAB_MAX     (1 << 21)
#define CT_MERGES_MAX    (1 << 23)
#define CT_TOKENIZER_MAX ((size_t)512 << 20) /* bytes of a tokenizer file */
#define CT_NO_RANK       UINT32_MAX

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

enum ct_source { CT_SOURCE_JSON, CT_SOURCE_MODEL, CT_SOURCE_GGUF };

struct ct_piece {
    uint32_t at; /* in blob */
    uint8_t n, kind;
};

/* One slot of the hash from text to id. */
struct ct_piece_slot {
    uint32_t hash; /* kept, so that growing need not look at the texts */
    uint32_t next; /* id + 1; 0: empty */
};

/* One slot of the hash from a pair of ids to its rank; left < 0: empty. */
struct ct_merge {
    int32_t left, right;
    uint32_t rank;
};

/* A node of the matcher; its children lie together, ordered by byte. */
struct ct_match_node {
    uint32_t first, count;
    int32_t id; /* piece that ends here, or -1 */
    uint8_t byte;
};

struct ct_tokenizer {
    enum ct_source source;
    uint64_t seed; /* of both hashes, so that no file can be made to collide */

    int n;                  /* ids are [0, n) */
    struct ct_piece *piece; /* [n] */
    size_t piece_capacity;
    char *blob; /* all pieces, one after another */
    size_t blob_n, blob_capacity;
    struct ct_piece_slot *slot;
    uint32_t slot_mask, n_hashed;
    int longest; /* bytes of the longest piece that a merge can make */

    /* The merge rule: pairs of ids (JSON), or the rank of the piece that two texts form (model, GGUF). */
    struct ct_merge *merge;
    uint32_t merge_mask;
    int32_t *product; /* [n_rank], by rank; JSON */
    uint32_t *rank;   /* [n], CT_NO_RANK where no merge makes the piece; model, GGUF */
    uint32_t n_rank;
    uint64_t *joint; /* bitmap by hash: these two characters stand side by side in some merged piece */
    bool no_cut;     /* a merge contains byte tokens: text cannot be cut by looking at characters */

    int32_t *character; /* [65536] id of a character below U+10000, or -1 */
    int32_t byte_id[256];
    bool byte_fallback;
    int32_t unknown; /* id for what cannot be spelled, or -1 */
    bool fuse_unknown;

    struct ct_match_node *node; /* [0] is the root */
    uint32_t n_node;
    bool begins[256];      /* a matchable piece begins with this byte */
    bool match_normalized; /* pieces are matched after space -> U+2581 (model), not in the raw text */
    bool space_prefix;     /* GGUF: text begins as if with a space */

    int32_t bos;
    int32_t end[8];
    int n_end;
    int32_t spoken[7]; /* FunctionGemma's control tokens, printed even without CARAT_SPECIAL; -1: absent */
    char surface[16];  /* what an unknown piece decodes to (model, GGUF) */
};

/* ---- building; name is the path for messages ---- */
carat_status ct_vocab_too_large(const char *name, size_t size, carat_error *err); /* always fails */
carat_status ct_vocab_create(struct ct_tokenizer **t, enum ct_source source, carat_error *err);
/* Gives id its text and kind. E_FORMAT when the id or the text is taken (text: duplicates are let pass when
 * may_repeat), out of range, too long or not UTF-8. */
carat_status ct_vocab_add(struct ct_tokenizer *t, const char *name, int64_t id, struct ct_str text, int kind,
                          bool may_repeat, carat_error *err);
/* Replaces the text of an id that has one. */
carat_status ct_vocab_rename(struct ct_tokenizer *t, const char *name, int32_t id, struct ct_str text,
                             carat_error *err);
/* triple [n][3] = left id, right id, product id; the index is the rank. */
carat_status ct_vocab_merges(struct ct_tokenizer *t, const int32_t *triple, size_t n, carat_error *err);
/* score [t->n], higher first; turns them into ranks. E_FORMAT for NaN. */
carat_status ct_vocab_scores(struct ct_tokenizer *t, const char *name, const float *score, carat_error *err);
/* Gives control kind to the names that are control tokens however a source stores them; called when all pieces
 * are there and before the merge tables, since a control token is no product of merging. */
void ct_vocab_name_controls(struct ct_tokenizer *t);
/* An id that ends generation; ignored when absent (-1) or known. */
void ct_vocab_add_end(struct ct_tokenizer *t, int32_t id);
carat_status ct_vocab_finish(struct ct_tokenizer *t, const char *name, carat_error *err);

/* ---- asking ---- */
int32_t ct_vocab_find(const struct ct_tokenizer *t, const char *s, size_t n); /* -1: absent */
/* Brings into the cache what finding these texts will touch, all at once instead of one after another. A
 * vocabulary is larger than the cache, and a tokenizer.json looks up a million parts of merges. */
#define CT_WARM_MAX 96
void ct_vocab_warm(const struct ct_tokenizer *t, const struct ct_str *text, size_t n);
static inline struct ct_str ct_vocab_text(const struct ct_tokenizer *t, int32_t id)
{
    return (struct ct_str){t->blob + t->piece[id].at, t->piece[id].n};
}
/* The value of "<0x41>", -1 when the text is not of that form. */
int ct_vocab_byte(struct ct_str text);
static inline bool ct_vocab_is_control(const struct ct_tokenizer *t, int32_t id)
{
    return t->piece[id].kind == CT_PIECE_CONTROL || t->piece[id].kind == CT_PIECE_UNKNOWN;
}
bool ct_vocab_is_spoken(const struct ct_tokenizer *t, int32_t id);

static inline uint64_t ct_vocab_mix(uint64_t h)
{
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 29;
    h *= 0xa0761d6478bd642fu;
    return h ^ h >> 32;
}
#define CT_JOINT_BITS 22
static inline uint32_t ct_vocab_joint_hash(uint32_t a, uint32_t b)
{
    return (uint32_t)(((uint64_t)a << 21 ^ b) * 0x9e3779b97f4a7c15u >> (64 - CT_JOINT_BITS));
}
/* False: no merge ever joins symbols across the border between these two characters. */
static inline bool ct_vocab_joint(const struct ct_tokenizer *t, uint32_t a, uint32_t b)
{
    uint32_t h = ct_vocab_joint_hash(a, b);
    return t->no_cut || (t->joint[h >> 6] >> (h & 63) & 1);
}
/* Where the search for a pair begins. */
static inline uint32_t ct_vocab_pair_slot(const struct ct_tokenizer *t, int32_t left, int32_t right)
{
    return (uint32_t)ct_vocab_mix(((uint64_t)(uint32_t)left << 32 | (uint32_t)right) ^ t->seed) &
           t->merge_mask;
}
static inline uint32_t ct_vocab_pair_rank(const struct ct_tokenizer *t, int32_t left, int32_t right)
{
    for (uint32_t i = ct_vocab_pair_slot(t, left, right);; i = (i + 1) & t->merge_mask) {
        const struct ct_merge *m = &t->merge[i];
        if (m->left == left && m->right == right)
            return m->rank;
        if (m->left < 0)
            return CT_NO_RANK;
    }
}
/* Longest matchable piece at the start of text; returns the bytes of text it covers, 0 for none. */
size_t ct_vocab_match(const struct ct_tokenizer *t, const char *text, size_t n, bool special, int32_t *id);

#endif
