/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_few.c: what a draw reads of logits, found on the device where they lie: the best ids and those that
 * stand apart come to the host, and the rest never does. Logits themselves: cuda_pass.c.
 *
 * Kernels find the k best and the ids that are edited or banned, some hundred bytes a token, as a pruned head
 * gives them. What a GPU draws is a guess: ids are drawn by the CPU's kernels, through a small backend that
 * this one holds. The list, whether rows are finite, and the states that the head has read arrive together in
 * pinned memory, so that a token waits once. All logits come for who reads all: carat_logits, taps,
 * log-probabilities, top_k 0, more than 256 best ids, and a form that has refused an id. */
#include "backend/cuda/cuda_backend.h"

static_assert(CT_FEW_BEST + CT_FEW_APART <= CT_GPU_SORTED && CT_FEW_BEST <= CT_GPU_SORTED / 4,
              "one block sorts all that is read, and four leave no more than that");

/* Keys that blocks leave of n. */
static size_t keys_left(size_t n)
{
    return (n + CT_GPU_SORTED - 1) / CT_GPU_SORTED * CT_FEW_BEST;
}

/* ---- on the device ---- */

/* The reading that serves all rows of a slice; a row may get more of the best than it asked for. */
struct slice {
    int rows, k, ids, n;
};

static struct slice slice_of(const struct ct_few *few, int n)
{
    struct slice s = {.n = few->reading->n};

    for (; s.rows < n && s.rows < CT_CUDA_LOGITS_ROWS; s.rows++) {
        const struct ct_reading *r = few[s.rows].reading;
        if (!r || r->n != s.n)
            break;
        s.k = CT_MAX(s.k, r->k);
        s.ids = CT_MAX(s.ids, r->n_apart);
    }
    return s;
}

static void take_apart(struct ct_cuda_backend *b, const struct slice *s, const struct ct_few *few, int rows)
{
    struct ct_cuda_few *f = &b->few;

    for (int r = 0; r < s->rows; r++)
        for (int i = 0; i < s->ids; i++)
            f->asked[r * s->ids + i] = i < few[r].reading->n_apart ? few[r].reading->apart[i] : -1;
    ct_cuda_put(b, f->id, f->asked, (size_t)(s->rows * s->ids) * sizeof *f->asked);
    ct_cuda_launch(b, CT_CUDA_apart,
                   &(struct ct_gpu_apart){.x = b->logits.handle,
                                          .id = CT_CUDA_AT(const int32_t, f->id),
                                          .to = CT_CUDA_AT(uint64_t, f->apart),
                                          .ldx = b->logits.stride,
                                          .n = rows,
                                          .ids = s->ids},
                   (s->ids + CT_GPU_THREADS - 1) / CT_GPU_THREADS, s->rows);
}

/* a: how ids are drawn, or nothing. */
static void find_best(struct ct_cuda_backend *b, const struct slice *s, struct ct_gpu_best a)
{
    const struct ct_cuda_few *f = &b->few;

    a.x = b->logits.handle;
    a.apart = CT_CUDA_AT(const uint64_t, f->apart);
    a.ldx = b->logits.stride;
    a.n = s->n;
    a.k = s->k;
    a.ids = s->ids;
    for (int turn = 0; !a.ends; turn ^= 1) {
        const int blocks = (a.n + CT_GPU_SORTED - 1) / CT_GPU_SORTED;
        a.ends = blocks == 1;
        a.to = CT_CUDA_AT(uint64_t, a.ends ? f->found : f->keys[turn]);
        ct_cuda_launch(b, CT_CUDA_best, &a, blocks, s->rows);
        a.from = CT_CUDA_AT(const uint64_t, f->keys[turn]);
        a.n = blocks * s->k;
    }
}

/* ---- in memory of the host ---- */

static void unpack(struct ct_few *few, const uint64_t *candidate, int most)
{
    int n = 0;

    while (n < most && (int32_t)(candidate[n] >> 32) >= 0)
        n++;
    int32_t *id = (int32_t *)(void *)(few->memory + n);
    for (int i = 0; i < n; i++) {
        few->memory[i] = ct_f32_from_bits((uint32_t)candidate[i]);
        id[i] = (int32_t)(candidate[i] >> 32);
    }
    few->logits = (struct ct_logits){few->memory, id, n};
}

/* Serves the first rows when all their logits are wanted. Returns how many of them have these now. */
static int give_all(struct ct_cuda_backend *b, ct_mat in, int first, int n, struct ct_few *few,
                    const struct ct_weight *head, float cap)
{
    float *to[CT_CUDA_LOGITS_ROWS];
    int rows = 0;

    for (; rows < n && rows < CT_CUDA_LOGITS_ROWS && !few[rows].reading; rows++) {
        to[rows] = few[rows].memory;
        few[rows].logits = (struct ct_logits){to[rows], NULL, head->rows};
    }
    if (rows)
        b->base.verb.project_logits(&b->base, in, first, rows, to, head, cap);
    return rows;
}

/* Bytes of rows that come with their logits. */
static size_t here_most(const struct ct_cuda_backend *b)
{
    return (size_t)CT_CUDA_LOGITS_ROWS * ct_round_up((size_t)CT_MAX(b->widest, 1), 32) * sizeof(float);
}

/* Serves the first rows when few of their logits are read. Returns how many of them have these now. */
static int give_few(struct ct_cuda_backend *b, ct_mat in, int first, int n, struct ct_few *few,
                    const struct ct_weight *head, float cap)
{
    const struct slice s = slice_of(few, n);
    const int most = s.k + s.ids;
    const ct_cu_address at = ct_cuda_row(in, first); /* who keeps the logits keeps what they are made of */
    const size_t bytes = (size_t)(s.rows * in.stride) * sizeof(float);
    struct ct_gpu_best draws = {.draw = NULL};

    ct_cuda_logits(b, in, first, s.rows, head, cap);
    if (s.ids)
        take_apart(b, &s, few, head->rows);
    const bool ahead = bytes <= here_most(b) && ct_cuda_may_run_ahead(b, few, first, s.rows, &draws);
    find_best(b, &s, draws);
    ct_cuda_fetch(b, b->known_bad, b->bad, (size_t)b->begun * sizeof *b->known_bad);
    if (bytes <= here_most(b))
        ct_cuda_fetch(b, b->here.of_host, at, bytes);
    ct_cuda_fetch(b, b->few.candidate, b->few.found, (size_t)(s.rows * most) * sizeof *b->few.candidate);
    if (ahead)
        ct_cuda_run_ahead(b);
    else
        ct_cuda_wait(b);
    b->bad_is_known = true;
    b->here.at = at;
    b->here.bytes = bytes <= here_most(b) && !b->base.failure.code ? bytes : 0;
    for (int r = 0; r < s.rows; r++)
        unpack(&few[r], b->few.candidate + (size_t)r * (size_t)most, most);
    return s.rows;
}

static void cuda_project_few(struct ct_backend *base, ct_mat in, int first, int n, struct ct_few *few,
                             const struct ct_weight *head, float cap)
{
    for (int at = 0; at < n;)
        at += (few[at].reading ? give_few : give_all)(ct_cuda(base), in, first + at, n - at, few + at, head,
                                                      cap);
}

void ct_cuda_lay_out_few(struct ct_cuda_backend *b)
{
    struct ct_backend *h = b->host;
    struct ct_cuda_few *f = &b->few;
    const size_t rows = CT_CUDA_LOGITS_ROWS, keys = keys_left((size_t)b->o.n_vocab);

    f->asked = h->verb.alloc_host(h, rows * CT_FEW_APART * sizeof *f->asked);
    f->candidate = ct_cuda_take_pinned(b, rows * CT_GPU_SORTED * sizeof *f->candidate);
    b->here.of_host = ct_cuda_take_pinned(b, here_most(b));
    b->here.bytes = 0;
    f->id = ct_cuda_take(&b->work, rows * CT_FEW_APART * sizeof(int32_t));
    f->apart = ct_cuda_take(&b->work, rows * CT_FEW_APART * sizeof(uint64_t));
    f->keys[0] = ct_cuda_take(&b->work, rows * keys * sizeof(uint64_t));
    f->keys[1] = ct_cuda_take(&b->work, rows * keys_left(keys) * sizeof(uint64_t));
    f->found = ct_cuda_take(&b->work, rows * CT_GPU_SORTED * sizeof(uint64_t));
}

void ct_cuda_few_verbs(struct ct_verbs *v)
{
    v->project_few = cuda_project_few;
}
