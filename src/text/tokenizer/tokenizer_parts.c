/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer_parts.c: the pieces of every tokenizer: text to id and back, the merge tables, the matcher for
 * pieces that are cut out of text before merging, what follows from the names of pieces, and lists of ids.
 * The readers of the three sources fill it; tokenizer.c and bpe.c encode with it.
 *
 * Control tokens are those that the source declares, and those that control.h names, because some sources
 * store them as user-defined. A control token spelled in text stays text unless the caller passes
 * CARAT_SPECIAL. */
#include "text/tokenizer/tokenizer_parts.h"

#include <limits.h>
#include <stdlib.h>

#include "base/array.h"
#include "os/clock.h"
#include "base/utf8.h"

#define META "\xe2\x96\x81" /* U+2581 */

carat_status ct_tokenizer_too_large(const char *name, size_t size, carat_error *err)
{
    return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: the tokenizer is %zu bytes long, expected at most %zu",
                   name, size, CT_TOKENIZER_MAX);
}

carat_status ct_tokenizer_look(struct ct_tokenizer *t, carat_error *err)
{
    const struct ct_listener *l = t->listener;
    if (++t->looks % 4096 || !l || !l->progress || !l->progress(l->user, l->done, l->total))
        return CARAT_OK;
    return ct_fail(err, CARAT_E_CANCELLED, "reading the tokenizer was cancelled");
}

carat_status ct_tokenizer_create(struct ct_tokenizer **out, enum ct_tokenizer_form source,
                                 struct ct_listener *listener, carat_error *err)
{
    struct ct_tokenizer *t = calloc(1, sizeof *t);
    if (!t)
        return ct_no_memory(err, "the tokenizer");
    t->source = source;
    t->seed = ct_os_random();
    t->unknown = t->bos = -1;
    t->listener = listener;
    memcpy(t->surface, " \xe2\x81\x87 ", 6);
    *out = t;
    return CARAT_OK;
}

void ct_tokenizer_free(struct ct_tokenizer *t)
{
    if (t && !t->borrowed) {
        free(t->piece);
        free(t->blob);
        free(t->slot);
        free(t->merge);
        free(t->product);
        free(t->joins);
        free(t->character);
        free(t->node);
    }
    if (t)
        free(t->trie); /* one block */
    free(t);
}

/* ---- text -> id ---- */

static uint32_t piece_hash(const struct ct_tokenizer *t, const char *s, size_t n)
{
    uint64_t h = t->seed ^ (uint64_t)n * 0x9e3779b97f4a7c15u;
    while (n >= 8) {
        h = (h ^ ct_le64(s)) * 0xa0761d6478bd642fu;
        h ^= h >> 32;
        s += 8;
        n -= 8;
    }
    uint64_t tail = 0;
    if (n >= 4)
        tail = (uint64_t)ct_le32(s) << 32 | ct_le32(s + n - 4);
    else if (n)
        tail = (uint64_t)(uint8_t)s[0] << 16 | (uint64_t)(uint8_t)s[n / 2] << 8 | (uint8_t)s[n - 1];
    return (uint32_t)ct_tokenizer_mix(h ^ tail);
}

/* The slot that holds the text whose hash is h, or the empty one where it belongs. */
static uint32_t piece_slot(const struct ct_tokenizer *t, const char *s, size_t n, uint32_t h)
{
    uint32_t i = h & t->slot_mask;
    for (; t->slot[i]; i = (i + 1) & t->slot_mask)
        if (t->slot[i] >> CT_SLOT_BITS == h >> CT_SLOT_BITS) {
            struct ct_piece p = t->piece[CT_SLOT_ID(t->slot[i])];
            if (p.n == n && memcmp(t->blob + p.at, s, n) == 0)
                break;
        }
    return i;
}

int32_t ct_tokenizer_find(const struct ct_tokenizer *t, struct ct_str piece)
{
    if (piece.n == 0 || piece.n > CT_PIECE_MAX || !t->slot)
        return -1;
    uint32_t h = piece_hash(t, piece.s, piece.n);
    return CT_SLOT_ID(t->slot[piece_slot(t, piece.s, piece.n, h)]); /* of an empty one: -1 */
}

void ct_tokenizer_warm(const struct ct_tokenizer *t, const struct ct_str *text, size_t n)
{
    uint32_t at[CT_WARM_MAX];
    assert(n <= CT_WARM_MAX);
    for (size_t i = 0; i < n; i++) {
        at[i] = piece_hash(t, text[i].s, text[i].n) & t->slot_mask;
        __builtin_prefetch(&t->slot[at[i]]);
    }
    for (size_t i = 0; i < n; i++)
        if (t->slot[at[i]])
            __builtin_prefetch(&t->piece[CT_SLOT_ID(t->slot[at[i]])]);
    for (size_t i = 0; i < n; i++)
        if (t->slot[at[i]])
            __builtin_prefetch(t->blob + t->piece[CT_SLOT_ID(t->slot[at[i]])].at);
}

static void slot_take(struct ct_tokenizer *t, uint32_t i, uint32_t h, int32_t id)
{
    t->slot[i] = h >> CT_SLOT_BITS << CT_SLOT_BITS | ((uint32_t)id + 1);
    t->n_hashed++;
}

/* Keeps the table at most five eighths full: those 2^18 pieces of Gemma's fit into 2^19 slots. */
static bool grow_slots(struct ct_tokenizer *t)
{
    uint32_t size = t->slot ? t->slot_mask + 1 : 0;
    if (t->n_hashed < size / 8 * 5)
        return true;
    size = size ? size * 2 : 64;
    uint32_t *grown = calloc(size, sizeof *grown);
    if (!grown)
        return false;
    free(t->slot);
    t->slot = grown;
    t->slot_mask = size - 1;
    t->n_hashed = 0;
    for (int32_t id = 0; id < t->n; id++) {
        struct ct_str text = ct_piece_text(t, id);
        uint32_t h = piece_hash(t, text.s, text.n), i = piece_slot(t, text.s, text.n, h);
        if (text.n && !t->slot[i]) /* of equal texts the first counts */
            slot_take(t, i, h, id);
    }
    return true;
}

/* Appends the text to the blob and lets the id point at it, and the slots at the id. */
static carat_status set_text(struct ct_tokenizer *t, const char *name, int32_t id, struct ct_str text,
                             bool may_repeat, carat_error *err)
{
    if (text.n > CT_PIECE_MAX)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: token %d is %zu bytes long, expected at most %d", name,
                       id, text.n, CT_PIECE_MAX);
    if (!ct_utf8_valid(text.s, text.n))
        return ct_bad_file(err, name, "token %d is not valid UTF-8", id);
    if (!grow_slots(t))
        return ct_no_memory(err, "the tokenizer");
    uint32_t h = piece_hash(t, text.s, text.n), i = piece_slot(t, text.s, text.n, h);
    if (text.n && t->slot[i] && !may_repeat)
        return ct_bad_file(err, name, "tokens %d and %d are the same text", CT_SLOT_ID(t->slot[i]), id);
    if (!ct_array_grow(&t->blob, &t->blob_capacity, t->n_blob + text.n, 1))
        return ct_no_memory(err, "the tokenizer");
    if (text.n) {
        memcpy(t->blob + t->n_blob, text.s, text.n);
        if (!t->slot[i])
            slot_take(t, i, h, id);
    }
    t->piece[id].at = t->n_blob;
    t->piece[id].n = text.n & 0xff;
    t->n_blob += (uint32_t)text.n;
    return CARAT_OK;
}

carat_status ct_tokenizer_add(struct ct_tokenizer *t, const char *name, int64_t id, struct ct_str text,
                              int kind, bool may_repeat, carat_error *err)
{
    if (id < 0 || id >= CT_VOCAB_MAX)
        return ct_bad_file(err, name, "token id %lld found, expected 0 to %d", (long long)id,
                           CT_VOCAB_MAX - 1);
    if (text.n == 0 && !may_repeat)
        return ct_bad_file(err, name, "token %d is empty", (int)id);
    if (id < t->n && t->piece[id].kind != CT_PIECE_ABSENT)
        return ct_bad_file(err, name, "token id %d is given twice", (int)id);
    size_t had = t->piece_capacity;
    if (!ct_array_grow(&t->piece, &t->piece_capacity, (size_t)id + 1, sizeof *t->piece))
        return ct_no_memory(err, "the tokenizer");
    if (t->piece_capacity > had)
        memset(t->piece + had, 0, (t->piece_capacity - had) * sizeof *t->piece);
    CT_TRY(ct_tokenizer_look(t, err));
    CT_TRY(set_text(t, name, (int32_t)id, text, may_repeat, err));
    t->piece[id].kind = (unsigned)kind & 7;
    t->n = CT_MAX(t->n, (int)id + 1);
    return CARAT_OK;
}

carat_status ct_tokenizer_rename(struct ct_tokenizer *t, const char *name, int32_t id, struct ct_str text,
                                 carat_error *err)
{
    if (text.n == 0)
        return ct_bad_file(err, name, "token %d is empty", id);
    return set_text(t, name, id, text, false, err); /* the old slot stays and no longer compares equal */
}

int ct_piece_byte(struct ct_str s)
{
    if (s.n != 6 || memcmp(s.s, "<0x", 3) != 0 || s.s[5] != '>')
        return -1;
    int high = ct_hex_digit(s.s[3]), low = ct_hex_digit(s.s[4]);
    return high < 0 || low < 0 ? -1 : high << 4 | low;
}

bool ct_piece_is_visible(const struct ct_tokenizer *t, int32_t id)
{
    for (size_t i = 0; i < CT_COUNT(t->visible); i++)
        if (t->visible[i] == id)
            return true;
    return false;
}

/* ---- merge tables ---- */

/* A bitmap large enough that few pairs of characters share a bit. */
static uint64_t *create_joins(struct ct_tokenizer *t)
{
    t->join_bits = 10;
    while ((size_t)1 << t->join_bits < (size_t)t->n * 12)
        t->join_bits++;
    return calloc((size_t)1 << (t->join_bits - 6), sizeof *t->joins);
}

/* Notes every pair of neighbouring characters of a piece that a merge makes. */
static void note_joins(struct ct_tokenizer *t, int32_t id)
{
    const uint8_t *s = (const uint8_t *)t->blob + t->piece[id].at;
    uint32_t before = 0;
    for (size_t i = 0, n = t->piece[id].n; i < n;) {
        size_t width = s[i] < 0x80 ? 1 : s[i] < 0xe0 ? 2 : s[i] < 0xf0 ? 3 : 4; /* the text is valid */
        uint32_t c = ct_utf8_decode(s + i, width);
        if (i) {
            uint32_t h = ct_tokenizer_join_hash(t, before, c);
            t->joins[h >> 6] |= (uint64_t)1 << (h & 63);
        }
        before = c;
        i += width;
    }
    t->longest = CT_MAX(t->longest, (int)t->piece[id].n);
}

#define AHEAD 12 /* merges between prefetching a slot and using it */

carat_status ct_tokenizer_merges(struct ct_tokenizer *t, const int32_t *triple, size_t n, carat_error *err)
{
    t->n_rank = (uint32_t)n;
    t->n_merge =
        t->n_rank + t->n_rank / 3 + 16; /* at most three quarters full: nearly every search finds its pair */
    t->merge = malloc(t->n_merge * sizeof *t->merge);
    t->product = malloc((n + 1) * sizeof *t->product);
    t->joins = create_joins(t);
    if (!t->merge || !t->product || !t->joins)
        return ct_no_memory(err, "the tokenizer");
    memset(t->merge, 0xff, t->n_merge * sizeof *t->merge);
    for (size_t r = 0; r < n; r++) {
        const int32_t *m = triple + r * 3, *later = m + CT_MIN(n - 1 - r, AHEAD) * 3;
        uint64_t pair = ct_tokenizer_pair(m[0], m[1]);
        CT_TRY(ct_tokenizer_look(t, err));
        __builtin_prefetch(&t->merge[ct_tokenizer_pair_slot(t, ct_tokenizer_pair(later[0], later[1]))]);
        t->product[r] = m[2];
        if (r == 0 || m[2] != t->product[r - 1])
            note_joins(t, m[2]);
        if (t->piece[m[0]].kind == CT_PIECE_BYTE || t->piece[m[1]].kind == CT_PIECE_BYTE)
            t->no_cut = true;
        uint32_t i = ct_tokenizer_pair_slot(t, pair);
        while (t->merge[i] != CT_NO_MERGE && t->merge[i] >> CT_RANK_BITS != pair)
            i = i + 1 < t->n_merge ? i + 1 : 0;
        t->merge[i] = pair << CT_RANK_BITS | r; /* the last of repeated pairs counts */
    }
    return CARAT_OK;
}

struct scored {
    float score;
    int32_t id;
};

static int by_score(const void *a, const void *b)
{
    const struct scored *x = a, *y = b;
    return x->score > y->score ? -1 : x->score < y->score ? 1 : (x->id > y->id) - (x->id < y->id);
}

/* Equal scores share a rank, so that the leftmost wins among them, as in SentencePiece. */
carat_status ct_tokenizer_scores(struct ct_tokenizer *t, const char *name, const float *score,
                                 carat_error *err)
{
    struct scored *order = malloc((size_t)t->n * sizeof *order);
    t->joins = create_joins(t);
    if (!order || !t->joins) {
        free(order);
        return ct_no_memory(err, "the tokenizer");
    }
    size_t n = 0;
    bool sorted = true;
    for (int32_t id = 0; id < t->n; id++) {
        t->piece[id].rank = CT_NO_RANK;
        if (score[id] != score[id]) {
            free(order);
            return ct_bad_file(err, name, "the score of token %d is not a number", id);
        }
        if (t->piece[id].kind != CT_PIECE_NORMAL && t->piece[id].kind != CT_PIECE_USER)
            continue;
        order[n] = (struct scored){score[id], id};
        sorted = sorted && (n == 0 || order[n - 1].score >= score[id]);
        n++;
    }
    if (!sorted)
        qsort(order, n, sizeof *order, by_score);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || order[i].score != order[i - 1].score)
            t->n_rank++;
        t->piece[order[i].id].rank = (t->n_rank - 1) & (CT_NO_RANK - 1);
        note_joins(t, order[i].id);
    }
    free(order);
    return CARAT_OK;
}

/* ---- the matcher ---- */

struct match {
    const uint8_t *s;
    uint32_t n;
    int32_t id;
};

static int by_text(const void *a, const void *b)
{
    const struct match *x = a, *y = b;
    int order = memcmp(x->s, y->s, CT_MIN(x->n, y->n));
    return order ? order : (x->n > y->n) - (x->n < y->n);
}

/* The matches under a node, which agree in their first depth bytes. */
struct range {
    uint32_t lo, hi, depth;
};

/* A tree over the n sorted matches, level by level. */
static void fill_matcher(struct ct_tokenizer *t, const struct match *m, uint32_t n, struct range *range)
{
    t->node[0] = (struct ct_match_node){.id = -1};
    range[0] = (struct range){0, n, 0};
    t->n_node = 1;
    for (uint32_t k = 0; k < t->n_node; k++) {
        uint32_t lo = range[k].lo, depth = range[k].depth;
        for (; lo < range[k].hi && m[lo].n == depth; lo++) /* equal texts: the first id */
            t->node[k].id = t->node[k].id < 0 ? m[lo].id : t->node[k].id;
        t->node[k].first = t->n_node;
        for (uint32_t hi; lo < range[k].hi; lo = hi) {
            for (hi = lo + 1; hi < range[k].hi && m[hi].s[depth] == m[lo].s[depth];)
                hi++;
            t->node[t->n_node] = (struct ct_match_node){.id = -1, .byte = m[lo].s[depth]};
            range[t->n_node++] = (struct range){lo, hi, depth + 1};
            t->node[k].count++;
        }
    }
    for (uint32_t k = 0; k < t->node[0].count; k++)
        t->begins[t->node[t->node[0].first + k].byte] = true;
    if (t->match_normalized)
        t->begins[' '] = t->begins[0xe2];
    if (t->source == CT_SOURCE_GGUF)
        t->begins[0xe2] = t->begins[0xe2] || t->begins[' '];
}

static bool is_matched(const struct ct_tokenizer *t, int32_t id)
{
    return t->piece[id].n && (ct_piece_is_control(t, id) || t->piece[id].kind == CT_PIECE_USER);
}

static carat_status build_matcher(struct ct_tokenizer *t, carat_error *err)
{
    size_t n = 0, nodes = 1;
    for (int32_t id = 0; id < t->n; id++)
        if (is_matched(t, id)) {
            n++;
            nodes += t->piece[id].n;
        }
    struct match *m = malloc((n + 1) * sizeof *m);
    struct range *range = malloc(nodes * sizeof *range);
    t->node = malloc(nodes * sizeof *t->node);
    bool good = m && range && t->node;
    if (good) {
        n = 0;
        for (int32_t id = 0; id < t->n; id++)
            if (is_matched(t, id))
                m[n++] = (struct match){(const uint8_t *)t->blob + t->piece[id].at, t->piece[id].n, id};
        qsort(m, n, sizeof *m, by_text);
        fill_matcher(t, m, (uint32_t)n, range);
        struct ct_match_node *fitted = realloc(t->node, t->n_node * sizeof *fitted);
        t->node = fitted ? fitted : t->node;
    }
    free(m);
    free(range);
    return good ? CARAT_OK : ct_no_memory(err, "the tokenizer");
}

static uint32_t match_child(const struct ct_tokenizer *t, uint32_t node, uint8_t byte)
{
    uint32_t lo = t->node[node].first, hi = lo + t->node[node].count;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (t->node[mid].byte < byte)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < t->node[node].first + t->node[node].count && t->node[lo].byte == byte ? lo : 0;
}

static bool is_meta(const char *text, size_t n)
{
    return n >= 3 && memcmp(text, META, 3) == 0;
}

/* The node behind the character at text, n bytes, of which it takes *length; 0: there is none. What a GGUF
 * file spells as a space is U+2581 in the text, too: the original has one piece for both. That takes those
 * U+2581 that stand side by side for a piece before it knows of spaces, so that they are not joined with
 * spaces beside them; metas: it is such a piece. */
static uint32_t match_step(const struct ct_tokenizer *t, uint32_t k, const char *text, size_t n, bool metas,
                           size_t *length)
{
    *length = 1;
    if (*text == ' ' && t->match_normalized) {
        k = match_child(t, k, 0xe2);
        k = k ? match_child(t, k, 0x96) : 0;
        return k ? match_child(t, k, 0x81) : 0;
    }
    if (t->source == CT_SOURCE_GGUF && (*text == ' ' || is_meta(text, n))) {
        const bool meta = *text != ' ', beside = meta && is_meta(text + 3, n - 3);
        const uint32_t blank = match_child(t, k, ' ');
        if (blank && (metas ? meta : !beside)) {
            *length = meta ? 3 : 1;
            return blank;
        }
        return blank && !meta ? 0 : match_child(t, k, (uint8_t)*text);
    }
    return match_child(t, k, (uint8_t)*text);
}

size_t ct_tokenizer_match(const struct ct_tokenizer *t, const char *text, size_t n, bool special, int32_t *id)
{
    const bool metas = is_meta(text, n) && is_meta(text + 3, n - 3);
    size_t length = 0, step;
    uint32_t k = 0;
    for (size_t i = 0; i < n; i += step) {
        k = match_step(t, k, text + i, n - i, metas, &step);
        if (!k)
            break;
        int32_t here = t->node[k].id;
        if (here >= 0 && (special || !ct_piece_is_control(t, here))) {
            *id = here;
            length = i + step;
        }
    }
    return length;
}

/* ---- what follows from the names ---- */

void ct_tokenizer_add_end(struct ct_tokenizer *t, int32_t id)
{
    for (int i = 0; i < t->n_end; i++)
        if (t->end[i] == id)
            return;
    if (id >= 0 && id < t->n && t->n_end < (int)CT_COUNT(t->end))
        t->end[t->n_end++] = id;
}

/* The code point of a piece that is one character below U+10000; CT_CHARACTERS for every other piece. */
static uint32_t only_character(const struct ct_tokenizer *t, int32_t id)
{
    const uint8_t *s = (const uint8_t *)t->blob + t->piece[id].at;
    size_t n = t->piece[id].n;
    bool symbol = !ct_tokenizer_by_text(t) || t->piece[id].kind == CT_PIECE_NORMAL ||
                  t->piece[id].kind == CT_PIECE_USER;
    return symbol && n && n <= 3 && ct_utf8_length(s, n) == n ? ct_utf8_decode(s, n) : CT_CHARACTERS;
}

/* The table of single characters, as far as the highest. */
static bool index_characters(struct ct_tokenizer *t)
{
    for (int32_t id = 0; id < t->n; id++) {
        uint32_t c = only_character(t, id);
        if (c < CT_CHARACTERS)
            t->n_character = CT_MAX(t->n_character, c + 1);
    }
    t->character = malloc((t->n_character + 1) * sizeof *t->character);
    if (!t->character)
        return false;
    memset(t->character, 0xff, t->n_character * sizeof *t->character);
    for (int32_t id = t->n - 1; id >= 0; id--) {
        uint32_t c = only_character(t, id);
        if (c < CT_CHARACTERS)
            t->character[c] = id;
    }
    return true;
}

int32_t ct_tokenizer_id(const struct ct_tokenizer *t, const char *piece)
{
    return ct_tokenizer_find(t, ct_str_of(piece));
}

int32_t ct_tokenizer_control(const struct ct_tokenizer *t, enum ct_control c)
{
    return ct_tokenizer_id(t, ct_controls[c].text);
}

int32_t ct_tokenizer_call_end(const struct ct_tokenizer *t)
{
    int32_t gemma4 = ct_tokenizer_control(t, CT_CONTROL_TOOL_CALL_END);
    return gemma4 >= 0 ? gemma4 : ct_tokenizer_control(t, CT_CONTROL_END_CALL);
}

void ct_tokenizer_name_controls(struct ct_tokenizer *t)
{
    for (int k = 0; k < CT_CONTROLS; k++) {
        int32_t id = ct_tokenizer_control(t, (enum ct_control)k);
        enum ct_control_use use = ct_controls[k].use;
        bool medium = (use == CT_CONTROL_OF_IMAGE || use == CT_CONTROL_OF_AUDIO) && id >= 0 &&
                      t->piece[id].kind == CT_PIECE_USER;
        bool always = use == CT_CONTROL_OF_TURN || use == CT_CONTROL_OF_CALL || use == CT_CONTROL_OF_TOOL;
        if (use == CT_CONTROL_OF_CALL)
            t->visible[k - CT_CONTROL_START_DECLARATION] = id;
        if (id >= 0 && (medium || always))
            t->piece[id].kind = CT_PIECE_CONTROL;
    }
}

carat_status ct_tokenizer_finish(struct ct_tokenizer *t, const char *name, carat_error *err)
{
    for (int b = 0; b < 256; b++) {
        static const char hex[] = "0123456789ABCDEF";
        char spelled[6] = {'<', '0', 'x', hex[b >> 4], hex[b & 15], '>'};
        t->byte_id[b] = ct_tokenizer_find(t, (struct ct_str){spelled, 6});
    }
    if (t->unknown < 0)
        t->unknown = ct_tokenizer_control(t, CT_CONTROL_UNK);
    if (t->unknown < 0)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: the vocabulary has no %s token", name,
                       ct_controls[CT_CONTROL_UNK].text);
    if (t->bos < 0)
        t->bos = ct_tokenizer_control(t, CT_CONTROL_BOS);
    ct_tokenizer_add_end(t, ct_tokenizer_control(t, CT_CONTROL_EOS));
    ct_tokenizer_add_end(t, ct_tokenizer_control(t, CT_CONTROL_END_OF_TURN));
    ct_tokenizer_add_end(t, ct_tokenizer_control(t, CT_CONTROL_TURN_END));
    t->listener = NULL; /* reading is over: the tokenizer is shared from here on */
    if (!index_characters(t))
        return ct_no_memory(err, "the tokenizer");
    return build_matcher(t, err);
}

/* True when something but the list of pieces rests on one. */
static bool is_leaned_on(const struct ct_tokenizer *t, int32_t id)
{
    bool leaned = id == t->unknown || id == t->bos;
    for (int b = 0; b < 256; b++)
        leaned = leaned || t->byte_id[b] == id;
    for (int i = 0; i < t->n_end; i++)
        leaned = leaned || t->end[i] == id;
    return leaned || !is_matched(t, id);
}

static bool is_merged(const struct ct_tokenizer *t, int32_t rows)
{
    const uint64_t least = (uint64_t)(uint32_t)rows;
    if (ct_tokenizer_by_text(t))
        return false; /* nothing but texts says what merges */
    for (uint32_t r = 0; r < t->n_rank; r++)
        if (t->product[r] >= rows)
            return true;
    for (uint32_t i = 0; i < t->n_merge; i++) {
        const uint64_t pair = t->merge[i] >> CT_RANK_BITS;
        if (t->merge[i] != CT_NO_MERGE &&
            (pair >> CT_ID_BITS >= least || (pair & (CT_VOCAB_MAX - 1)) >= least))
            return true;
    }
    return false;
}

carat_status ct_tokenizer_leave_out(struct ct_tokenizer *t, int32_t rows, int *n, carat_error *err)
{
    *n = 0;
    for (int32_t id = rows; id < t->n; id++)
        if (t->borrowed || is_leaned_on(t, id))
            return CARAT_OK;
    if (rows >= t->n || is_merged(t, rows))
        return CARAT_OK;
    *n = t->n - rows;
    for (uint32_t i = 0; i <= t->slot_mask; i++) /* a search goes on behind them: they name another text */
        if (CT_SLOT_ID(t->slot[i]) >= rows)
            t->slot[i] = t->slot[i] >> CT_SLOT_BITS << CT_SLOT_BITS | 1;
    for (size_t i = 0; i < CT_COUNT(t->visible); i++)
        t->visible[i] = t->visible[i] < rows ? t->visible[i] : -1;
    t->n = rows;
    free(t->node);
    free(t->character);
    t->node = NULL;
    t->n_character = 0;
    memset(t->begins, 0, sizeof t->begins);
    if (!index_characters(t))
        return ct_no_memory(err, "the tokenizer");
    return build_matcher(t, err);
}

int ct_tokenizer_missing_byte(struct ct_tokenizer *t)
{
    for (int b = 0; b < 256; b++) {
        if (t->byte_id[b] < 0 && b < 128)
            t->byte_id[b] = ct_tokenizer_character(t, (uint32_t)b);
        if (t->byte_id[b] < 0)
            return b;
    }
    return -1;
}

/* ---- the list of ids that encoding appends to ---- */

void carat_tokens_free(carat_tokens *t)
{
    if (!t)
        return;
    free(t->ids);
    *t = (carat_tokens){0};
}

carat_status ct_tokens_push(carat_tokens *t, int32_t id, carat_error *err)
{
    size_t capacity = (size_t)t->capacity;
    if (t->n == INT_MAX || !ct_array_grow(&t->ids, &capacity, (size_t)t->n + 1, sizeof *t->ids))
        return ct_fail(err, CARAT_E_MEMORY, "no memory for more than %d tokens", t->n);
    t->capacity = (int)CT_MIN(capacity, (size_t)INT_MAX);
    t->ids[t->n++] = id;
    return CARAT_OK;
}
