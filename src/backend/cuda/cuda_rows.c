/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_rows.c: what kernels read of the rows of a pass, staged as the one piece that goes to the device.
 * Which rows a pass has: cuda_pass.c and cuda_ahead.c. */
#include "backend/cuda/cuda_backend.h"

/* Room for the piece: nine numbers of a row, its angles, and how ids are drawn where that is told. */
size_t ct_cuda_piece_bytes(const struct ct_cuda_backend *b)
{
    size_t n = 9;

    for (int i = 0; i < CT_ATTN_TYPES; i++)
        n += 2 * (size_t)b->o.attn[i].rotated;
    return n * (size_t)b->extent.rows * sizeof(int32_t) + CT_CUDA_LOGITS_ROWS * sizeof(struct ct_gpu_draw);
}

/* A piece on its way. */
struct staging {
    uint8_t *staged;
    size_t used;
    ct_cu_address piece;
};

/* Appends n numbers of 32 bits to the piece, and returns where they come to lie. */
static ct_cu_address append(struct staging *s, const void *numbers, size_t n)
{
    const ct_cu_address at = s->piece + s->used;

    memcpy(s->staged + s->used, numbers, n * sizeof(int32_t));
    s->used += n * sizeof(int32_t);
    return at;
}

static void append_angles(struct ct_cuda_backend *b, struct staging *s, const struct ct_rows *rows,
                          int attn_type)
{
    const size_t pairs = (size_t)b->o.attn[attn_type].rotated, n = (size_t)rows->n * pairs;
    float *cosine = (float *)(void *)(s->staged + s->used), *sine = cosine + n;

    for (size_t row = 0; row < (size_t)rows->n; row++)
        b->kernel.rope_table(cosine + row * pairs, sine + row * pairs, b->inverse[attn_type], (int)pairs,
                             rows->position[row]);
    b->at.cosine[attn_type] = s->piece + s->used;
    b->at.sine[attn_type] = b->at.cosine[attn_type] + n * sizeof(float);
    s->used += 2 * n * sizeof(float);
}

size_t ct_cuda_stage_rows(struct ct_cuda_backend *b, uint8_t *staged, const struct ct_rows *rows)
{
    const size_t n = (size_t)rows->n;
    struct staging s = {.staged = staged, .piece = b->piece};

    b->at.token = append(&s, rows->token, n);
    b->at.position = append(&s, rows->position, n);
    b->at.sequence = append(&s, rows->sequence, n);
    b->at.origin = append(&s, b->origin, n);
    b->at.from = append(&s, b->from, n);
    for (int i = 0; i < CT_ATTN_TYPES; i++) {
        b->at.seen[i] = append(&s, rows->seen[i], 2 * n);
        append_angles(b, &s, rows, i);
    }
    return s.used;
}
