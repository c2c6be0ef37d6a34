/* SPDX-License-Identifier: Apache-2.0 */
/* tables.c: stores a tokenizer as one run of bytes that is used where it lies, so that a vocabulary is parsed
 * once. The run is a header, the scalars of struct ct_tokenizer, and its arrays, each at a multiple of ALIGN.
 * Sizes and offsets follow from the scalars and are not stored. tokenizer_parts.h says what the arrays mean.
 * The caller knows where the bytes are kept and whether somebody else could have changed them.
 *
 * Bytes that are not trusted are checked once: afterwards every look-up stays in the arrays and ends soon,
 * whatever the bytes say. Whether they are the vocabulary that they claim to be cannot be checked here. The
 * trie is not looked at before somebody asks for it, and is checked then (trie.c).
 *
 * The arrays lie as in memory, the seed of the hash table included. Tables of the cache are used at once,
 * those of any other packed file are walked first. */
#include <stdlib.h>

#include "base/utf8.h"
#include "file/packed.h"
#include "text/tokenizer/tokenizer_parts.h"
#include "text/tokenizer/trie.h"

#define ALIGN 64
/* The version of the layout: struct ct_tokenizer, the hashes, this file. A packed file holds the tables;
 * one of another version is packed again. */
#define VERSION CT_PACKED_LAYOUT
/* The most slots in use side by side. With a seed from the random device and tables as full as
 * tokenizer_parts.c makes them, more are less likely than a failure of the machine. */
#define RUN_MAX 1024

static const char magic[8] = "ctTables";

struct header {
    char magic[8];
    uint32_t version;
    uint32_t scalars; /* their bytes, which follow */
    uint64_t size;    /* of all */
    uint8_t zero[40];
};

#define SCALARS offsetof(struct ct_tokenizer, piece)

static_assert(sizeof(struct header) == ALIGN, "the scalars begin at a multiple of ALIGN");
static_assert(offsetof(struct ct_tokenizer, zero) + sizeof((struct ct_tokenizer){0}.zero) == SCALARS,
              "the scalars have no hole at their end");
static_assert(sizeof(struct ct_piece) == 8 && sizeof(struct ct_match_node) == 12 &&
                  sizeof(struct ct_trie_node) == 8,
              "elements have no holes");

/* The trie is last, so that its pages are its own. */
enum array { PIECE, BLOB, SLOT, MERGE, PRODUCT, JOINT, CHARACTER, NODE, PLAIN, TRIE_NODE, TRIE_ID, ARRAYS };

static const struct {
    const char *name;
    size_t field, width;
} arrays[ARRAYS] = {
    [PIECE] = {"piece", offsetof(struct ct_tokenizer, piece), sizeof(struct ct_piece)},
    [BLOB] = {"blob", offsetof(struct ct_tokenizer, blob), 1},
    [SLOT] = {"slot", offsetof(struct ct_tokenizer, slot), sizeof(uint32_t)},
    [MERGE] = {"merge", offsetof(struct ct_tokenizer, merge), sizeof(uint64_t)},
    [PRODUCT] = {"product", offsetof(struct ct_tokenizer, product), sizeof(int32_t)},
    [JOINT] = {"joins", offsetof(struct ct_tokenizer, joins), sizeof(uint64_t)},
    [CHARACTER] = {"character", offsetof(struct ct_tokenizer, character), sizeof(int32_t)},
    [NODE] = {"node", offsetof(struct ct_tokenizer, node), sizeof(struct ct_match_node)},
    [PLAIN] = {"plain_ids", offsetof(struct ct_tokenizer, plain_ids), sizeof(uint64_t)},
    [TRIE_NODE] = {"trie_node", offsetof(struct ct_tokenizer, trie_node), sizeof(struct ct_trie_node)},
    [TRIE_ID] = {"trie_id", offsetof(struct ct_tokenizer, trie_id), sizeof(uint32_t)},
};

struct layout {
    size_t at[ARRAYS], bytes[ARRAYS], size;
};

/* False: a size overflows. */
static bool lay_out(const struct ct_tokenizer *t, struct layout *l)
{
    bool pairs = !ct_tokenizer_by_text(t);
    const size_t count[ARRAYS] = {
        [PIECE] = (size_t)t->n,
        [BLOB] = t->n_blob,
        [SLOT] = (size_t)t->slot_mask + 1,
        [MERGE] = pairs ? t->n_merge : 0,
        [PRODUCT] = pairs ? t->n_rank : 0,
        [JOINT] = (size_t)1 << (t->join_bits - 6),
        [CHARACTER] = t->n_character,
        [NODE] = t->n_node,
        [PLAIN] = t->n_trie_node ? ct_trie_words(t->n) : 0,
        [TRIE_NODE] = t->n_trie_node ? (size_t)t->n_trie_node + 1 : 0,
        [TRIE_ID] = t->n_trie_id,
    };
    l->size = ct_round_up(sizeof(struct header) + SCALARS, ALIGN);
    for (int i = 0; i < ARRAYS; i++) {
        size_t end;
        l->at[i] = l->size;
        if (!ct_mul(count[i], arrays[i].width, &l->bytes[i]) || !ct_add(l->size, l->bytes[i], &end) ||
            !ct_add(end, ALIGN - 1, &l->size))
            return false;
        l->size -= l->size % ALIGN;
    }
    return true;
}

/* ---- to bytes ---- */

/* Scalars and arrays as they are stored: with the trie, if it was made. */
static struct ct_tokenizer stored_form(const struct ct_tokenizer *t)
{
    const struct ct_trie *trie = atomic_load_explicit(&t->trie, memory_order_acquire);
    struct ct_tokenizer s = {0};

    memcpy(&s, t, offsetof(struct ct_tokenizer, borrowed));
    if (trie) {
        s.n_trie_node = trie->n_nodes;
        s.trie_plain = trie->plain;
        s.n_trie_id = trie->n_ids;
        s.plain_ids = trie->plain_ids;
        s.trie_node = trie->node;
        s.trie_id = trie->id;
    }
    return s;
}

size_t ct_tokenizer_tables_size(const struct ct_tokenizer *t)
{
    const struct ct_tokenizer stored = stored_form(t);
    struct layout l;
    return lay_out(&stored, &l) ? l.size : 0; /* no size of a tokenizer in memory overflows */
}

void ct_tokenizer_tables_write(const struct ct_tokenizer *t, uint8_t *out)
{
    const struct ct_tokenizer stored = stored_form(t);
    struct layout l;
    if (!lay_out(&stored, &l))
        return;
    struct header h = {.version = VERSION, .scalars = SCALARS, .size = l.size};
    memcpy(h.magic, magic, sizeof magic);
    memcpy(out, &h, sizeof h);
    memcpy(out + sizeof h, &stored, SCALARS);
    size_t end = sizeof h + SCALARS;
    for (int i = 0; i < ARRAYS; i++) {
        const void *from;
        memset(out + end, 0, l.at[i] - end);
        memcpy(&from, (const char *)&stored + arrays[i].field, sizeof from);
        if (l.bytes[i])
            memcpy(out + l.at[i], from, l.bytes[i]);
        end = l.at[i] + l.bytes[i];
    }
    memset(out + end, 0, l.size - end);
}

/* ---- from bytes ---- */

struct walk {
    const struct ct_tokenizer *t;
    const struct layout *l;
    const char *name;
    carat_error *err;
};

/* "file: tokenizer tables: slot[3] at byte 123: sentence" */
static carat_status tables_wrong(const struct walk *w, enum array array, size_t i, const char *format, ...)
{
    char sentence[256];
    CT_FORMAT(sentence, format);
    return ct_bad_file(w->err, w->name, "tokenizer tables: %s[%zu] at byte %zu: %s", arrays[array].name, i,
                       w->l->at[array] + i * arrays[array].width, sentence);
}

static carat_status scalar_out_of_range(const struct walk *w, enum array array, size_t i, const char *what,
                                        long long found, long long lo, long long hi)
{
    return tables_wrong(w, array, i, "%s is %lld, expected %lld to %lld", what, found, lo, hi);
}

static carat_status check_pieces(const struct walk *w)
{
    const struct ct_tokenizer *t = w->t;
    int shortest = t->source >= CT_SOURCE_GGUF ? 0 : 1;
    for (size_t i = 0; i < CT_COUNT(t->byte_id); i++)
        if (t->byte_id[i] >= 0 && t->piece[t->byte_id[i]].n == 0)
            return tables_wrong(w, PIECE, (size_t)t->byte_id[i], "empty, expected the byte 0x%02zX", i);
    for (int32_t id = 0; id < t->n; id++) {
        struct ct_piece p = t->piece[id];
        struct ct_str text = {t->blob + p.at, p.n};
        size_t i = (size_t)id, at = p.at;
        if (p.n < shortest || p.n > CT_PIECE_MAX)
            return scalar_out_of_range(w, PIECE, i, "the length", p.n, shortest, CT_PIECE_MAX);
        if (at + p.n > t->n_blob)
            return tables_wrong(w, PIECE, i, "%d bytes at %zu, but all texts have %u", (int)p.n, at,
                                t->n_blob);
        if (p.kind < CT_PIECE_NORMAL || p.kind > CT_PIECE_BYTE)
            return scalar_out_of_range(w, PIECE, i, "the kind", p.kind, CT_PIECE_NORMAL, CT_PIECE_BYTE);
        if (p.kind == CT_PIECE_BYTE && ct_piece_byte(text) < 0)
            return tables_wrong(w, PIECE, i, "a byte that is not spelled <0x00> to <0xFF>");
        if (ct_tokenizer_by_text(t) && p.rank >= t->n_rank && p.rank != CT_NO_RANK)
            return tables_wrong(w, PIECE, i, "the rank is %d, expected one below %u, or %u for none",
                                (int)p.rank, t->n_rank, CT_NO_RANK);
        if (!ct_utf8_valid(text.s, text.n))
            return tables_wrong(w, PIECE, i, "the text is not valid UTF-8");
    }
    return CARAT_OK;
}

static carat_status no_end(const struct walk *w, enum array array, size_t i)
{
    return tables_wrong(w, array, i, "none is empty among %d, and a search ends only at one that is",
                        RUN_MAX + 1);
}

/* A run of slots may wrap around from the end to the beginning. */
static carat_status check_slots(const struct walk *w)
{
    const struct ct_tokenizer *t = w->t;
    for (size_t i = 0, run = 0; i < (size_t)t->slot_mask + 1 + RUN_MAX; i++) {
        size_t at = i & t->slot_mask;
        int32_t id = CT_SLOT_ID(t->slot[at]);
        run = t->slot[at] ? run + 1 : 0;
        if (run && (id < 0 || id >= t->n))
            return scalar_out_of_range(w, SLOT, at, "the id", id, 0, t->n - 1);
        if (run > RUN_MAX)
            return no_end(w, SLOT, at);
    }
    return CARAT_OK;
}

static carat_status check_merges(const struct walk *w)
{
    const struct ct_tokenizer *t = w->t;
    if (ct_tokenizer_by_text(t))
        return CARAT_OK;
    for (size_t i = 0, run = 0; i < (size_t)t->n_merge + RUN_MAX; i++) {
        size_t at = i % t->n_merge;
        uint64_t m = t->merge[at];
        uint32_t rank = (uint32_t)m & (CT_NO_RANK - 1);
        uint32_t right = (uint32_t)(m >> CT_RANK_BITS) & (CT_VOCAB_MAX - 1);
        uint32_t left = (uint32_t)(m >> CT_RANK_BITS >> CT_ID_BITS);
        run = m == CT_NO_MERGE ? 0 : run + 1;
        if (run && (left >= (uint32_t)t->n || right >= (uint32_t)t->n))
            return scalar_out_of_range(w, MERGE, at, "an id", CT_MAX(left, right), 0, t->n - 1);
        if (run && rank >= t->n_rank)
            return tables_wrong(w, MERGE, at, "the rank is %u, but there are %u merges", rank, t->n_rank);
        if (run > RUN_MAX)
            return no_end(w, MERGE, at);
    }
    for (uint32_t r = 0; r < t->n_rank; r++)
        if (t->product[r] < 0 || t->product[r] >= t->n)
            return scalar_out_of_range(w, PRODUCT, r, "the id", t->product[r], 0, t->n - 1);
    return CARAT_OK;
}

static carat_status check_characters(const struct walk *w)
{
    const struct ct_tokenizer *t = w->t;
    for (size_t c = 0; c < t->n_character; c++) {
        int32_t id = t->character[c];
        if (id < -1 || id >= t->n)
            return scalar_out_of_range(w, CHARACTER, c, "the id", id, -1, t->n - 1);
        if (id >= 0 && t->piece[id].n == 0)
            return tables_wrong(w, CHARACTER, c, "the piece %d is empty", id);
    }
    return CARAT_OK;
}

/* The nodes lie level by level, as they were made: the children of each follow those of the one before. */
static carat_status check_nodes(const struct walk *w)
{
    const struct ct_tokenizer *t = w->t;
    const struct ct_match_node *node = t->node;
    uint32_t next = 1;
    for (uint32_t k = 0; k < t->n_node; k++) {
        if (node[k].first != next || next <= k || node[k].count > t->n_node - next)
            return tables_wrong(w, NODE, k, "%u children from %u on, expected them from %u on and at most %u",
                                (unsigned)node[k].count, node[k].first, next, t->n_node - next);
        if (node[k].id < -1 || node[k].id >= t->n)
            return scalar_out_of_range(w, NODE, k, "the id", node[k].id, -1, t->n - 1);
        if (node[k].id >= 0 && (k == 0 || t->piece[node[k].id].n == 0))
            return tables_wrong(w, NODE, k, "the piece %d ends where no text has begun", node[k].id);
        for (uint32_t i = next + 1; i < next + node[k].count; i++)
            if (node[i].byte <= node[i - 1].byte)
                return tables_wrong(w, NODE, i, "the byte 0x%02X does not follow 0x%02X", node[i].byte,
                                    node[i - 1].byte);
        next += node[k].count;
    }
    return next == t->n_node ? CARAT_OK
                             : tables_wrong(w, NODE, next, "no parent has this node, the first of %u such",
                                            t->n_node - next);
}

static bool ids_in_range(const struct ct_tokenizer *t, const int32_t *ids, size_t n, int32_t least)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] < least || ids[i] >= t->n)
            return false;
    return true;
}

/* The name of the first scalar that is out of range, or NULL. Every later check relies on them. */
static const char *wrong_scalar(const struct ct_tokenizer *t)
{
    const struct {
        const char *name;
        int64_t found, least, most;
    } range[] = {
        {"source", t->source, CT_SOURCE_JSON, CT_SOURCE_GGUF_MERGES},
        {"n", t->n, 1, CT_VOCAB_MAX},
        {"n_blob", t->n_blob, 0, ((int64_t)1 << 30) - 1},
        {"slot_mask", t->slot_mask, 0, 2 * CT_VOCAB_MAX - 1},
        {"n_rank", t->n_rank, 0, CT_MERGES_MAX},
        {"n_merge", t->n_merge, ct_tokenizer_by_text(t) ? 0 : 1, UINT32_MAX},
        {"longest", t->longest, 0, CT_PIECE_MAX},
        {"join_bits", t->join_bits, 6, 30},
        {"n_character", t->n_character, 0, CT_CHARACTERS},
        {"n_node", t->n_node, 1, UINT32_MAX},
        {"n_trie_node", t->n_trie_node, 0, CT_TRIE_NODES_MAX},
        {"trie_plain", t->trie_plain, 0, t->n_trie_node},
        {"n_trie_id", t->n_trie_id, 0, t->n_trie_node ? t->n : 0},
        {"unknown", t->unknown, 0, (int64_t)t->n - 1},
        {"bos", t->bos, -1, (int64_t)t->n - 1},
        {"n_end", t->n_end, 0, CT_COUNT(t->end)},
    };
    for (size_t i = 0; i < CT_COUNT(range); i++)
        if (range[i].found < range[i].least || range[i].found > range[i].most)
            return range[i].name;
    if (t->slot_mask & (t->slot_mask + 1))
        return "slot_mask";
    if (!ids_in_range(t, t->end, (size_t)t->n_end, 0))
        return "end";
    if (!ids_in_range(t, t->visible, CT_COUNT(t->visible), -1))
        return "visible";
    if (!ids_in_range(t, t->byte_id, CT_COUNT(t->byte_id), t->byte_fallback ? 0 : -1))
        return "byte_id";
    if (!memchr(t->surface, 0, sizeof t->surface) || !ct_utf8_valid(t->surface, strlen(t->surface)))
        return "surface";
    return NULL;
}

static carat_status tables_head(const char *name, struct ct_bytes tables, carat_error *err)
{
    struct header h;
    if (tables.size < sizeof h + SCALARS)
        return ct_bad_file(err, name, "the tokenizer tables are %zu bytes long, expected at least %zu",
                           tables.size, sizeof h + SCALARS);
    if ((uintptr_t)tables.data % sizeof(uint64_t))
        return ct_bad_file(err, name, "the tokenizer tables lie at no multiple of %zu bytes",
                           sizeof(uint64_t));
    memcpy(&h, tables.data, sizeof h);
    if (memcmp(h.magic, magic, sizeof magic) != 0)
        return ct_bad_file(err, name, "the tokenizer tables do not begin with \"%.8s\"", magic);
    if (h.version != VERSION || h.scalars != SCALARS)
        return ct_bad_file(
            err, name,
            "the tokenizer tables are of version %u with %u bytes of scalars, expected %d with %zu",
            h.version, h.scalars, VERSION, SCALARS);
    if (h.size != tables.size)
        return ct_bad_file(err, name, "the tokenizer tables are %zu bytes long and say %llu", tables.size,
                           (unsigned long long)h.size);
    /* A bool is 0 or 1 before it may be looked at. */
    for (size_t i = sizeof h + offsetof(struct ct_tokenizer, begins); i < sizeof h + SCALARS; i++)
        if (tables.data[i] > 1)
            return ct_bad_file(err, name, "tokenizer tables: byte %zu is %d, expected 0 or 1", i,
                               tables.data[i]);
    return CARAT_OK;
}

/* Fills the struct, whose arrays then lie in the tables. */
static carat_status tables_attach(struct ct_tokenizer *t, const char *name, struct ct_bytes tables,
                                  bool trusted, carat_error *err)
{
    struct layout l;
    struct walk w = {t, &l, name, err};
    static carat_status (*const check[])(const struct walk *) = {check_pieces, check_slots, check_merges,
                                                                 check_characters, check_nodes};
    memcpy(t, tables.data + sizeof(struct header), SCALARS);
    const char *what = wrong_scalar(t);
    if (what)
        return ct_bad_file(err, name, "tokenizer tables: the scalar %s is out of range", what);
    if (!lay_out(t, &l) || l.size != tables.size)
        return ct_bad_file(err, name, "the tokenizer tables are %zu bytes long, but their arrays need %zu",
                           tables.size, l.size);
    for (int i = 0; i < ARRAYS; i++) {
        const void *array = tables.data + l.at[i];
        memcpy((char *)t + arrays[i].field, &array, sizeof array);
    }
    if (trusted)
        return CARAT_OK;
    t->tables = tables.data;
    t->name = name;
    for (size_t i = 0; i < CT_COUNT(check); i++)
        CT_TRY(check[i](&w));
    return CARAT_OK;
}

carat_status ct_tokenizer_from_tables(struct ct_tokenizer **out, const char *name, struct ct_bytes tables,
                                      bool trusted, carat_error *err)
{
    CT_TRY(tables_head(name, tables, err));
    struct ct_tokenizer *t = calloc(1, sizeof *t);
    if (!t)
        return ct_no_memory(err, name);
    t->borrowed = true;
    carat_status status = tables_attach(t, name, tables, trusted, err);
    if (!status && t->source == CT_SOURCE_GGUF) /* older ones do not say so */
        t->begins[0xe2] = t->begins[0xe2] || t->begins[' '];
    return ct_tokenizer_give(out, t, status);
}
