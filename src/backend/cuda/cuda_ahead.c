/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_ahead.c: a pass that decodes begins before it is asked for. Where the ids of a pass are drawn from its
 * logits alone, the device draws them, too, puts them where the next pass reads its tokens, and runs the
 * graph of that pass, while the host draws by itself, spells, looks whether an answer ends, and says what is
 * next. What runs ahead is a guess: it counts where the next pass has its rows to the byte, the host's ids
 * among them, and nothing else was asked of the device before. Otherwise nobody sees it: matrices are made
 * anew, and K and V lie behind what a session holds, in a block that was its own to write, where its next
 * pass writes.
 *
 * So a guess decides nothing, and a wrong one costs a pass. None is made before two passes have gone on with
 * the rows of the one before, for more than eight rows, at the end of a block of K and V, or with inputs of
 * layers, forms, edits, drafts or log-probabilities. */
#include "backend/cuda/cuda_backend.h"

#include "kernel/sizes.h"

enum { STREAK = 2 }; /* a guess that is wrong costs a pass */

/* ---- the pass that begins ---- */

static bool goes_on(const struct ct_cuda_backend *b, const struct ct_rows *rows, int bucket)
{
    bool same = bucket >= 0 && rows->n == b->begun;

    for (int i = 0; same && i < rows->n; i++)
        same = rows->position[i] == b->position[i] + 1 && rows->sequence[i] == b->sequence[i];
    return same;
}

void ct_cuda_note_rows(struct ct_cuda_backend *b, const struct ct_rows *rows, int bucket)
{
    struct ct_cuda_ahead *a = &b->ahead;

    a->streak = goes_on(b, rows, bucket) ? a->streak + 1 : 0;
    a->bucket = bucket;
}

bool ct_cuda_ran_ahead(struct ct_cuda_backend *b, size_t used)
{
    struct ct_cuda_ahead *a = &b->ahead;
    const bool ran = a->runs && a->bucket >= 0 && used == a->used && memcmp(a->staged, b->staged, used) == 0;

    a->runs = false;
    return ran;
}

/* ---- the pass behind it ---- */

/* A block that ends needs another one, which is the engine's to give. */
static bool stays_in_blocks(const struct ct_cuda_backend *b)
{
    bool stays = true;

    for (int i = 0; i < b->begun; i++)
        stays &= (b->position[i] + 1) % CT_KEY_BLOCK != 0 && b->position[i] + 1 < b->extent.context;
    return stays;
}

static bool are_drawn_alone(const struct ct_few *few, int n)
{
    int i = 0;

    while (i < n && few[i].reading->draws)
        i++;
    return i == n;
}

/* The rows of the next pass, without their ids. */
static struct ct_rows rows_ahead(struct ct_cuda_backend *b)
{
    struct ct_cuda_ahead *a = &b->ahead;
    struct ct_rows rows = b->rows;

    for (int i = 0; i < rows.n; i++) {
        a->position[i] = b->position[i] + 1;
        for (int k = 0; k < CT_ATTN_TYPES; k++)
            a->seen[k][i] =
                (struct ct_seen){ct_first_seen(b->o.attn[k].window, a->position[i]), a->position[i]};
    }
    rows.token = a->token;
    rows.position = a->position;
    for (int k = 0; k < CT_ATTN_TYPES; k++)
        rows.seen[k] = a->seen[k];
    return rows;
}

bool ct_cuda_may_run_ahead(struct ct_cuda_backend *b, const struct ct_few *few, int first, int n,
                           struct ct_gpu_best *best)
{
    struct ct_cuda_ahead *a = &b->ahead;
    struct ct_gpu_draw draw[CT_CUDA_LOGITS_ROWS];

    if (a->bucket < 0 || a->streak < STREAK || first > 0 || n < b->begun || b->stopped ||
        b->rows.n != b->begun + b->copies || !are_drawn_alone(few, n) || !stays_in_blocks(b))
        return false;
    const struct ct_rows rows = rows_ahead(b);
    a->used = ct_cuda_stage_rows(b, a->staged, &rows);
    for (int i = 0; i < n; i++) {
        const carat_sampling *o = few[i].reading->draws;
        draw[i] = (struct ct_gpu_draw){.temperature = o->temperature,
                                       .top_p = o->top_p,
                                       .min_p = o->min_p,
                                       .k = o->temperature == 0 ? 1 : o->top_k,
                                       .seed = {(uint32_t)o->seed, (uint32_t)(o->seed >> 32)},
                                       .position = (uint32_t)a->position[i],
                                       .number = o->number};
    }
    memcpy(a->staged + a->used, draw, (size_t)n * sizeof *draw);
    ct_cuda_put(b, b->piece, a->staged, a->used + (size_t)n * sizeof *draw);
    best->draw = CT_CUDA_AT(const struct ct_gpu_draw, b->piece + a->used);
    best->token = CT_CUDA_AT(int32_t, b->at.token);
    best->drawn = n;
    best->padded = rows.n;
    return true;
}

void ct_cuda_run_ahead(struct ct_cuda_backend *b)
{
    struct ct_cuda_ahead *a = &b->ahead;
    const size_t tokens = (size_t)b->rows.n * sizeof *a->drawn;

    ct_cuda_fetch(b, a->drawn, b->at.token, tokens);
    ct_cuda_mark(b);
    ct_cuda_zero(b, b->bad, (size_t)b->begun * sizeof(int32_t));
    const bool runs = !b->base.failure.code && ct_cuda_run_graph(b, a->bucket);
    ct_cuda_wait_marked(b);
    memcpy(a->staged, a->drawn, tokens); /* ids are the first of the piece */
    a->runs = runs && !b->base.failure.code;
}

void ct_cuda_lay_out_ahead(struct ct_cuda_backend *b)
{
    b->ahead.staged = b->host->verb.alloc_host(b->host, ct_cuda_piece_bytes(b));
    b->ahead.drawn = ct_cuda_take_pinned(b, CT_CUDA_LOGITS_ROWS * sizeof *b->ahead.drawn);
}
