/* SPDX-License-Identifier: Apache-2.0 */
/* verify_weights.c: reads every weight of a model once: its values must be finite, its bytes such as encoders
 * make, and they make the content hash (checkpoint/content.c). */
#include "check/verify.h"

#include <stdio.h>

#include "checkpoint/damage.h"

enum {
    BATCH = 64,     /* chunks between two reports of progress */
    MOST_NAMED = 3, /* tensors with values that are not finite, in one message */
};

/* Counts something in a chunk. */
struct count {
    int row, col; /* of the first */
    size_t n;
};

struct found {
    struct count bad; /* values that are not finite */
    struct count odd; /* blocks with a byte that no encoder makes */
    int at;           /* the first of those bytes in its block */
    uint8_t byte;
    const char *expected;
};

struct scan {
    struct ct_verify *v;
    struct ct_content content;
    struct found *found; /* [n_chunk] */
    float **values;      /* [threads] a row, and what a kernel asks for */
    int first;           /* chunk of the batch */
};

static carat_status begin_scan(struct scan *s, carat_error *err)
{
    struct ct_content *c = &s->content;
    int threads = ct_pool_threads(s->v->pool);

    CT_TRY(ct_content_begin(c, s->v->model, err));
    CT_TRY(ct_content_list(c, threads, err));
    size_t cols = (size_t)c->cols;
    s->found = ct_arena_push(&c->arena, (size_t)c->n_chunk, sizeof *s->found);
    s->values = ct_arena_push(&c->arena, (size_t)threads, sizeof *s->values);
    for (int i = 0; s->values && i < threads; i++)
        if (!(s->values[i] =
                  ct_arena_push(&c->arena, CT_SCRATCH(cols) + ct_round_up(cols, 16), sizeof(float))))
            return ct_no_memory(err, "the values of a row");
    return s->found && s->values ? CARAT_OK : ct_no_memory(err, "the values of a row");
}

static bool note(struct count *c, int row, int col)
{
    if (c->n++ > 0)
        return false;
    c->row = row;
    c->col = col;
    return true;
}

static void note_bad(struct count *c, int row, const float *x, int n)
{
    for (int i = 0; i < n; i++)
        if ((ct_f32_bits(x[i]) & 0x7f800000u) == 0x7f800000u)
            note(c, row, i);
}

static void note_odd(struct found *f, int row, enum ct_type type, const uint8_t *blocks, int n)
{
    const struct ct_type_info *t = ct_type_info(type);

    for (int i = 0, at; i < n; i += t->block, blocks += t->bytes) {
        const char *expected = ct_odd_byte(type, blocks, &at);
        if (!expected || !note(&f->odd, row, i))
            continue;
        f->at = at;
        f->byte = blocks[at];
        f->expected = expected;
    }
}

static void look_at_rows(void *user, int chunk, int r0, const struct ct_weight *rows, int thread)
{
    struct scan *s = user;
    const struct ct_kernel *k = &s->v->kernel;
    float *values = s->values[thread], *scratch = values + ct_round_up((size_t)s->content.cols, 16);

    for (int r = 0; r < rows->rows; r++) {
        k->dequantize_row(values, rows, r, scratch);
        if (!k->finite(values, (size_t)rows->cols))
            note_bad(&s->found[chunk].bad, r0 + r, values, rows->cols);
        note_odd(&s->found[chunk], r0 + r, rows->type,
                 (const uint8_t *)rows->data + (size_t)r * rows->row_bytes, rows->cols);
    }
}

static void read_chunk(void *arg, int item, int thread)
{
    struct scan *s = arg;
    int chunk = s->first + item;
    const struct ct_content_chunk *c = &s->content.chunk[chunk];
    const struct ct_weight *w = s->content.slot[c->slot].w;

    ct_content_read(&s->content, chunk, thread, look_at_rows, s);
    int unit = ct_in_panels(w) ? CT_PANEL_ROWS : 1;
    ct_file_forget(s->v->model->file, (const uint8_t *)w->data + (size_t)(c->r0 / unit) * w->row_bytes,
                   (size_t)((c->r1 - c->r0 + unit - 1) / unit) * w->row_bytes);
}

/* ---- what was found ---- */

/* Says where in its file a value, or a byte of its block, is. */
static void say_offset(const struct scan *s, const struct ct_content_slot *slot, const struct count *first,
                       int at)
{
    const struct ct_value_place p = ct_value_place(s->v->model->file, slot, first->row, first->col);

    if (p.tensor)
        ct_verify_say(s->v, " (%s of %s, byte %llu of %s)", p.unit, p.tensor->name,
                      (unsigned long long)p.offset + (unsigned long long)at, p.tensor->file);
}

static void add(struct count *all, const struct count *more)
{
    const size_t n = all->n + more->n;

    if (all->n == 0)
        *all = *more;
    all->n = n;
}

/* Sums up a slot's chunks: the first one's places, and how many there are. */
static struct found sum_up(const struct scan *s, const struct ct_content_slot *p)
{
    struct found all = {{0}, {0}, 0, 0, NULL};

    for (int c = p->chunk; c < p->chunk + p->n; c++) {
        const struct found *f = &s->found[c];
        if (all.odd.n == 0) {
            all.at = f->at;
            all.byte = f->byte;
            all.expected = f->expected;
        }
        add(&all.bad, &f->bad);
        add(&all.odd, &f->odd);
    }
    return all;
}

static void judge(struct scan *s, int *verdict)
{
    size_t bad = 0, tensors = 0;

    for (int i = 0; i < s->content.n_slot; i++) {
        const struct ct_content_slot *p = &s->content.slot[i];
        const struct found all = sum_up(s, p);
        const size_t here = all.bad.n + all.odd.n;
        bad += here;
        tensors += here > 0;
        if (here == 0 || tensors > MOST_NAMED)
            continue;
        ct_verify_say(s->v, "%s%s has ", tensors > 1 ? "; " : "", p->name);
        if (all.bad.n > 0) {
            ct_verify_say(s->v, "%zu that %s NaN or infinite, the first in row %d, column %d", all.bad.n,
                          all.bad.n == 1 ? "is" : "are", all.bad.row, all.bad.col);
            say_offset(s, p, &all.bad, 0);
            continue;
        }
        ct_verify_say(s->v, "%zu block%s that no encoder of %s makes, the first in row %d, column %d",
                      all.odd.n, all.odd.n == 1 ? "" : "s", ct_type_info(p->w->type)->name, all.odd.row,
                      all.odd.col);
        say_offset(s, p, &all.odd, all.at);
        ct_verify_say(s->v, ": a byte is 0x%02x, expected %s", all.byte, all.expected);
    }
    if (tensors > MOST_NAMED)
        ct_verify_say(s->v, "; and %zu more weights have such values", tensors - MOST_NAMED);
    if (bad == 0)
        ct_verify_say(s->v, "all of %.2f M values in %d weights are finite",
                      (double)s->v->model->weights.n_parameter / 1e6, s->content.n_slot);
    *verdict = bad == 0 ? CT_PASSED : CT_FAILED;
}

carat_status ct_verify_values(struct ct_verify *v, int *verdict, carat_error *err)
{
    struct scan s = {.v = v};
    carat_status status = begin_scan(&s, err);
    int n = s.content.n_chunk;

    for (; !status && s.first < n; s.first += BATCH) {
        ct_verify_run(v, CT_MIN(BATCH, n - s.first), read_chunk, &s);
        status = ct_verify_step(v, (size_t)CT_MIN(s.first + BATCH, n), (size_t)n, err);
    }
    if (!status) {
        judge(&s, verdict);
        ct_content_end(&s.content, v->content);
    }
    ct_content_free(&s.content);
    return status;
}
