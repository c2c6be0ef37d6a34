/* SPDX-License-Identifier: Apache-2.0 */
/* bpe.c: repeatedly merges the neighbouring pair of lowest rank, leftmost among equals, as both reference
 * libraries do.
 *
 * A run of up to CT_BPE_SHORT symbols is scanned for its best pair again and again: words are short, and a
 * scan is fastest there. A long run, such as one character repeated a million times, uses lanes: for each
 * rank a queue of the positions whose candidate has that rank, in ascending order. Merging goes from left to
 * right within a rank, so a new candidate nearly always belongs at the end of its lane, and a merge costs
 * constant time. A position that would have to be sorted in goes to an ordinary heap, which bounds the
 * worst case by n log n.
 *
 * An entry is stale when the rank of its position has changed; it is skipped. A stale entry that names the
 * present rank again equals the live one, so (rank, position) is all that is kept. Symbols do not move:
 * each notes at its first and its last position how many positions it takes. */
#include "text/tokenizer/bpe.h"

#include <stdlib.h>

#include "base/array.h"

#define CHUNK                                                                                                \
    16 /* places in memory for lanes that are handed out together; the last one says where the next are */

void ct_bpe_init(struct ct_bpe *b, const struct ct_tokenizer *t, struct ct_listener *listener,
                 carat_tokens *out)
{
    memset(b, 0, sizeof *b);
    b->t = t;
    b->listener = listener;
    b->out = out;
}

void ct_bpe_free(struct ct_bpe *b)
{
    free(b->id);
    free(b->rank);
    free(b->at);
    free(b->text);
    free(b->span);
    free(b->place);
    free(b->lane);
    free(b->ready_set);
    free(b->ready.key);
    free(b->spill.key);
}

/* Room for one more symbol in the arrays that hold a value for each. */
static bool grow_symbols(struct ct_bpe *b)
{
    size_t id = b->capacity, rank = id, at = id, need = (size_t)b->n + 1;
    if (!ct_array_grow(&b->id, &id, need, sizeof *b->id) ||
        !ct_array_grow(&b->rank, &rank, need, sizeof *b->rank) ||
        (ct_tokenizer_by_text(b->t) && !ct_array_grow(&b->at, &at, need, sizeof *b->at)))
        return false;
    b->capacity = id; /* the same for all three: each element takes four bytes */
    return true;
}

bool ct_bpe_reserve(struct ct_bpe *b)
{
    assert(b->n == 0);
    b->n = CT_BPE_SHORT;
    const bool good =
        grow_symbols(b) && ct_array_grow(&b->text, &b->text_capacity, CT_BPE_SHORT + CT_PIECE_MAX, 1);
    b->n = 0;
    return good;
}

carat_status ct_bpe_ask(struct ct_bpe *b, carat_error *err)
{
    struct ct_listener *l = b->listener;
    if (!l || !l->progress || !l->progress(l->user, l->done + b->taken, l->total))
        return CARAT_OK;
    return ct_fail(err, CARAT_E_CANCELLED, "encoding the text was cancelled at byte %zu of %zu",
                   l->done + b->taken, l->total);
}

carat_status ct_bpe_add(struct ct_bpe *b, int32_t id, const char *text, size_t n, carat_error *err)
{
    CT_TRY(ct_bpe_look(b, err));
    if (b->n == b->capacity && !grow_symbols(b))
        return ct_no_memory(err, "encoding a text");
    if (ct_tokenizer_by_text(b->t)) {
        if (!ct_array_grow(&b->text, &b->text_capacity, b->n_text + n, 1))
            return ct_no_memory(err, "encoding a text");
        b->at[b->n] = b->n_text;
        memcpy(b->text + b->n_text, text, n);
        b->n_text += (uint32_t)n;
    }
    b->id[b->n++] = id;
    return CARAT_OK;
}

/* Where the symbol at position i begins in the text; model, GGUF. */
static uint32_t symbol_at(const struct ct_bpe *b, uint32_t i)
{
    return i < b->n ? b->at[i] : b->n_text;
}

/* The piece that the text of positions [i, next) makes by merging, or -1; model, GGUF. */
static int32_t product_of_text(const struct ct_bpe *b, uint32_t i, uint32_t next)
{
    uint32_t from = symbol_at(b, i), to = symbol_at(b, next);
    if (to - from > (uint32_t)b->t->longest)
        return -1;
    int32_t id = ct_tokenizer_find(b->t, (struct ct_str){b->text + from, to - from});
    return id >= 0 && b->t->piece[id].rank != CT_NO_RANK ? id : -1;
}

/* The rank of merging the symbol at position i with the one at right, behind which the one at next lies. */
static uint32_t candidate(struct ct_bpe *b, uint32_t i, uint32_t right, uint32_t next)
{
    if (right >= b->n)
        return CT_NO_RANK;
    if (!ct_tokenizer_by_text(b->t)) {
        uint64_t pair = ct_tokenizer_pair(b->id[i], b->id[right]) + 1;
        struct ct_bpe_memo *m = &b->memo[pair * 0x9e3779b97f4a7c15u >> (64 - CT_BPE_MEMO_BITS)];
        if (m->pair != pair)
            *m = (struct ct_bpe_memo){pair, ct_tokenizer_pair_rank(b->t, b->id[i], b->id[right])};
        return m->rank;
    }
    int32_t id = product_of_text(b, i, next);
    return id < 0 ? CT_NO_RANK : b->t->piece[id].rank;
}

/* What the merge of rank[i] makes of positions [i, next). */
static int32_t product(const struct ct_bpe *b, uint32_t i, uint32_t next)
{
    return ct_tokenizer_by_text(b->t) ? product_of_text(b, i, next) : b->t->product[b->rank[i]];
}

/* ---- short runs: symbols lie side by side ---- */

static void merge_short(struct ct_bpe *b)
{
    for (uint32_t i = 0; i < b->n; i++)
        b->rank[i] = candidate(b, i, i + 1, i + 2);
    for (;;) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < b->n; i++)
            if (b->rank[i] < b->rank[best])
                best = i;
        if (b->n == 0 || b->rank[best] == CT_NO_RANK)
            return;
        b->id[best] = product(b, best, best + 2);
        uint32_t tail = b->n - best - 2;
        memmove(b->id + best + 1, b->id + best + 2, tail * sizeof *b->id);
        memmove(b->rank + best + 1, b->rank + best + 2, tail * sizeof *b->rank);
        if (ct_tokenizer_by_text(b->t))
            memmove(b->at + best + 1, b->at + best + 2, tail * sizeof *b->at);
        b->n--;
        b->rank[best] = candidate(b, best, best + 1, best + 2);
        if (best)
            b->rank[best - 1] = candidate(b, best - 1, best, best + 1);
    }
}

/* ---- long runs ---- */

static bool heap_push(struct ct_bpe_heap *h, uint64_t key)
{
    if (!ct_array_grow(&h->key, &h->capacity, h->n + 1, sizeof *h->key))
        return false;
    size_t i = h->n++;
    for (; i && h->key[(i - 1) / 2] > key; i = (i - 1) / 2)
        h->key[i] = h->key[(i - 1) / 2];
    h->key[i] = key;
    return true;
}

static void heap_pop(struct ct_bpe_heap *h)
{
    uint64_t last = h->key[--h->n];
    size_t i = 0;
    for (size_t c; (c = i * 2 + 1) < h->n; i = c) {
        c += c + 1 < h->n && h->key[c + 1] < h->key[c];
        if (h->key[c] >= last)
            break;
        h->key[i] = h->key[c];
    }
    h->key[i] = last;
}

/* A chunk for a lane; 0: no memory. Chunk 0 is never handed out. */
static uint32_t take_chunk(struct ct_bpe *b)
{
    uint32_t chunk = b->free_chunk;
    if (chunk) {
        b->free_chunk = b->place[chunk];
        return chunk;
    }
    b->n_place = CT_MAX(b->n_place, CHUNK);
    if (b->n_place > UINT32_MAX / 2 ||
        !ct_array_grow(&b->place, &b->place_capacity, (size_t)b->n_place + CHUNK, sizeof *b->place))
        return 0;
    chunk = b->n_place;
    b->n_place += CHUNK;
    return chunk;
}

static void free_chunk(struct ct_bpe *b, uint32_t place)
{
    uint32_t chunk = place / CHUNK * CHUNK;
    b->place[chunk] = b->free_chunk;
    b->free_chunk = chunk;
}

static bool lane_push(struct ct_bpe *b, struct ct_bpe_lane *lane, uint32_t i)
{
    if (lane->tail % CHUNK == CHUNK - 1 || !lane->tail) {
        uint32_t chunk = take_chunk(b);
        if (!chunk)
            return false;
        *(lane->tail ? &b->place[lane->tail] : &lane->head) = chunk;
        lane->tail = chunk;
    }
    b->place[lane->tail++] = i;
    return true;
}

static void lane_pop(struct ct_bpe *b, struct ct_bpe_lane *lane)
{
    if (++lane->head == lane->tail) {
        free_chunk(b, lane->head - 1);
        lane->head = lane->tail = 0;
    } else if (lane->head % CHUNK == CHUNK - 1) {
        uint32_t next = b->place[lane->head];
        free_chunk(b, lane->head);
        lane->head = next;
    }
}

/* Adds position i as a candidate of this rank; its older entry becomes stale. */
static bool lane_attach(struct ct_bpe *b, uint32_t i, uint32_t rank)
{
    b->rank[i] = rank;
    if (rank == CT_NO_RANK)
        return true;
    struct ct_bpe_lane *lane = &b->lane[rank];
    uint32_t last = lane->tail ? b->place[lane->tail - 1] : 0;
    if (lane->tail && last >= i)
        return last == i || heap_push(&b->spill, (uint64_t)rank << 32 | i);
    if (!lane_push(b, lane, i) || (!b->ready_set[rank] && !heap_push(&b->ready, rank)))
        return false;
    b->ready_set[rank] = 1;
    return true;
}

/* The position of the best candidate; false when there is none. */
static bool best_position(struct ct_bpe *b, uint32_t *i)
{
    uint64_t key = UINT64_MAX;
    struct ct_bpe_lane *lane = NULL;
    while (b->ready.n && key == UINT64_MAX) {
        uint32_t rank = (uint32_t)b->ready.key[0];
        lane = &b->lane[rank];
        while (lane->head && b->rank[b->place[lane->head]] != rank)
            lane_pop(b, lane);
        if (lane->head) {
            key = (uint64_t)rank << 32 | b->place[lane->head];
        } else {
            b->ready_set[rank] = 0;
            heap_pop(&b->ready);
        }
    }
    while (b->spill.n && b->rank[(uint32_t)b->spill.key[0]] != (uint32_t)(b->spill.key[0] >> 32))
        heap_pop(&b->spill);
    if (b->spill.n && b->spill.key[0] <= key) {
        key = b->spill.key[0];
        heap_pop(&b->spill);
    } else if (key != UINT64_MAX) {
        lane_pop(b, lane);
    }
    *i = (uint32_t)key;
    return key != UINT64_MAX;
}

static bool prepare_long(struct ct_bpe *b)
{
    if (!ct_array_grow(&b->span, &b->span_capacity, b->n, sizeof *b->span))
        return false;
    if (!b->lane)
        b->lane = calloc((size_t)b->t->n_rank + 1, sizeof *b->lane);
    if (!b->ready_set)
        b->ready_set = calloc((size_t)b->t->n_rank + 1, 1);
    for (uint32_t i = 0; i < b->n; i++)
        b->span[i] = 1;
    return b->lane && b->ready_set;
}

static uint32_t long_candidate(struct ct_bpe *b, uint32_t i)
{
    uint32_t right = i + b->span[i];
    return right < b->n ? candidate(b, i, right, right + b->span[right]) : CT_NO_RANK;
}

static carat_status merge_long(struct ct_bpe *b, carat_error *err)
{
    if (!prepare_long(b))
        return ct_no_memory(err, "encoding a text");
    for (uint32_t i = 0; i < b->n; i++) {
        CT_TRY(ct_bpe_look(b, err));
        if (!lane_attach(b, i, long_candidate(b, i)))
            return ct_no_memory(err, "encoding a text");
    }
    for (uint32_t i; best_position(b, &i);) {
        CT_TRY(ct_bpe_look(b, err));
        uint32_t right = i + b->span[i], span = b->span[i] + b->span[right];
        b->id[i] = product(b, i, i + span);
        b->rank[right] = CT_NO_RANK;
        b->span[i] = b->span[i + span - 1] = span;
        if (i) { /* first, as lanes grow at their end */
            uint32_t left = i - b->span[i - 1];
            if (!lane_attach(b, left, long_candidate(b, left)))
                return ct_no_memory(err, "encoding a text");
        }
        if (!lane_attach(b, i, long_candidate(b, i)))
            return ct_no_memory(err, "encoding a text");
    }
    /* Close the gaps, so that the survivors lie side by side as after merge_short. */
    uint32_t kept = 0;
    for (uint32_t i = 0; i < b->n; i += b->span[i]) {
        b->id[kept] = b->id[i];
        if (ct_tokenizer_by_text(b->t))
            b->at[kept] = b->at[i];
        kept++;
    }
    b->n = kept;
    return CARAT_OK;
}

/* ---- ids ---- */

/* A symbol that no piece spells: its bytes, or the unknown token. */
static carat_status emit_unknown(struct ct_bpe *b, const char *text, size_t n, carat_error *err)
{
    if (b->t->byte_fallback) {
        for (size_t i = 0; i < n; i++)
            CT_TRY(ct_tokens_push(b->out, b->t->byte_id[(uint8_t)text[i]], err));
        return CARAT_OK;
    }
    if (!b->unknown_open || !b->t->fuse_unknown)
        CT_TRY(ct_tokens_push(b->out, b->t->unknown, err));
    b->unknown_open = true;
    return CARAT_OK;
}

carat_status ct_bpe_run(struct ct_bpe *b, carat_error *err)
{
    if (b->n > CT_BPE_SHORT)
        CT_TRY(merge_long(b, err));
    else
        merge_short(b);
    for (uint32_t i = 0; i < b->n; i++)
        if (b->id[i] >= 0) {
            CT_TRY(ct_tokens_push(b->out, b->id[i], err));
            b->unknown_open = b->id[i] == b->t->unknown;
        } else {
            CT_TRY(emit_unknown(b, b->text + b->at[i], symbol_at(b, i + 1) - b->at[i], err));
        }
    b->n = b->n_text = 0;
    return CARAT_OK;
}
