/* SPDX-License-Identifier: Apache-2.0 */
/* fill.c: see fill.h. A thread fills some rows at a time and gives the pages of both files back, so that a
 * model of any size needs little memory. */
#include "convert/fill.h"

#include <math.h>
#include <stdatomic.h>

#include "checkpoint/damage.h"
#include "convert/figures.h"
#include "convert/shared.h"
#include "layout/panel.h"
#include "os/cgroup.h"
#include "os/clock.h"
#include "os/cpu.h"
#include "os/memory.h"
#include "os/pool.h"
#include "quant/encode.h"
#include "quant/lattice.h"

enum { SHARED_RUN = 2048 }; /* rows of a larger chunk after which pages are given back */
enum { SAMPLE = 64 };       /* rows of a tensor, of which it is asked whether they lie on lattices */
enum { TURNS = 8 };         /* chunks of a thread between two questions whether to go on */

#define ENOUGH       0.99 /* of the blocks of a sample */
#define MOST_F16     65504.0f
#define INFINITE_F16 65520.0f /* what is rounded to infinity, from here on */

/* The first weight that cannot be written, in the order of the file: a value, or a byte of a block. */
struct fault {
    int at, row, col; /* at: -1: there is none */
    float value;
    const char *expected;
    int byte;  /* -1: it is the value */
    bool made; /* by what encoded it */
};

struct filling {
    struct ct_conversion *plan;
    const carat_convert_options *o;
    uint8_t *const *base; /* by files */
    bool avx2;
    struct scratch {
        float *x;        /* a row */
        float largest;   /* of its magnitudes */
        float *decoded;  /* one of the new file */
        uint8_t *stored; /* of a packed source */
        struct fault fault;
        struct ct_palette_maker palette;
        uint16_t *half; /* of a row, what entries stand for */
        bool no_memory;
        size_t clamped;              /* values */
    } * scratch;                     /* [threads] */
    int first;                       /* chunk of the job under way */
    struct ct_figures *part, *whole; /* of its chunks, of the tensors; NULL: nobody asks */
    atomic_size_t done;
};

static const uint8_t *stored_row(const struct filling *v, const struct ct_weight *w, int row, int thread)
{
    if (ct_lies_in_rows(w))
        return (const uint8_t *)w->data + (size_t)row * w->row_bytes;
    ct_unpack(v->scratch[thread].stored, w, row);
    return v->scratch[thread].stored;
}

static bool keep_fault(struct fault *first, struct fault f)
{
    if (first->at < 0 || f.at < first->at || (f.at == first->at && f.row < first->row))
        *first = f;
    return false;
}

/* Keeps the first fault; false where the row has one. */
static bool check_row(struct filling *v, int at, int row, const uint8_t *from, int thread)
{
    const struct ct_type_info *type = ct_type_info(v->plan->c[at].w.type);
    const float *x = v->scratch[thread].x;
    struct fault *first = &v->scratch[thread].fault;
    const int n = v->plan->c[at].w.cols;

    for (int i = 0; !(v->scratch[thread].largest < INFINITY) && i < n; i++)
        if (!isfinite(x[i]))
            return keep_fault(first, (struct fault){at, row, i, x[i], "a finite number", -1, false});
    for (int i = 0, byte; type->block > 1 && i < n; i += type->block, from += type->bytes) {
        const char *expected = ct_odd_byte(v->plan->c[at].w.type, from, &byte);
        if (expected)
            return keep_fault(first, (struct fault){at, row, i, 0, expected, from[byte], false});
    }
    return true;
}

/* True when values are written as they are read. */
static bool as_stored(const struct ct_converted *c)
{
    return c->w.scale == 1 && c->times == 0 && c->less == 0;
}

/* The values of a row as they are to be written, in the thread's x. False: it has a fault, which is kept. */
static bool decode_row(struct filling *v, int at, int row, const uint8_t *from, int thread)
{
    const struct ct_converted *c = &v->plan->c[at];
    float *x = v->scratch[thread].x, *largest = &v->scratch[thread].largest;

    ct_dequantize(c->w.type, x, from, (size_t)c->w.cols);
    *largest = ct_row_largest(x, (size_t)c->w.cols, v->avx2);
    if (!check_row(v, at, row, from, thread))
        return false;
    if (as_stored(c))
        return true;
    for (int i = 0; c->w.scale != 1 && i < c->w.cols; i++)
        x[i] *= c->w.scale;
    for (int i = 0; c->times != 0 && i < c->w.cols; i++)
        x[i] *= c->times;
    for (int i = 0; c->less != 0 && i < c->w.cols; i++)
        x[i] -= c->less;
    *largest = ct_row_largest(x, (size_t)c->w.cols, v->avx2);
    return true;
}

/* The first value of a row that F16 does not hold. */
static void refuse_range(struct filling *v, int at, int row, const char *expected, int thread)
{
    struct scratch *s = &v->scratch[thread];
    int i = 0;

    while (fabsf(s->x[i]) <= MOST_F16)
        i++;
    keep_fault(&s->fault, (struct fault){at, row, i, s->x[i], expected, -1, false});
}

/* again: its values were counted before. */
static void clamp_row(struct scratch *s, int n, bool again, struct ct_figures *f)
{
    for (int i = 0; i < n; i++)
        if (fabsf(s->x[i]) > MOST_F16) {
            if (f && !again)
                ct_figures_clip(f, s->x[i]);
            s->x[i] = copysignf(MOST_F16, s->x[i]);
            s->clamped += !again;
        }
}

/* The type that rounded the values of a weight; F32: none did, or not last. */
static enum ct_type rounded_to(const struct ct_converted *c)
{
    return as_stored(c) ? c->w.type : CT_F32;
}

static void encode_row(const struct filling *v, int at, enum ct_type type, uint8_t *to, int thread,
                       struct ct_figures *f)
{
    const struct ct_converted *c = &v->plan->c[at];
    const float *x = v->scratch[thread].x;

    if (!c->lattice) {
        ct_encode_row(type, to, x, (size_t)c->w.cols, c->importance, v->avx2);
        return;
    }
    const struct ct_lattice found = ct_encode_lattice(to, x, (size_t)c->w.cols, rounded_to(c), v->avx2);
    if (f)
        ct_figures_sample(f, found.blocks, found.on, 1, found.one_scale);
}

/* True when sums over a row that importance weighs, or squares, may have overflowed: 2^20 is more than the
 * columns of a block times the square of their largest code. */
static bool may_overflow(const struct ct_converted *c, float largest)
{
    const float codes = 0x1p20f, square = largest * largest,
                weight = c->importance ? ct_largest(c->importance, (size_t)c->w.cols) : square;

    return !(weight * square * codes < INFINITY);
}

/* The first column of a block that has become 0 though one of its values is another; -1: there is none. */
static int lost_block(const struct scratch *s, int cols, int block)
{
    for (int i = 0; i < cols; i += block) {
        int lost = -1;
        bool zero = true;
        for (int k = i + block; k-- > i;) {
            lost = s->x[k] != 0 ? k : lost;
            zero = zero && s->decoded[k] == 0;
        }
        if (zero && lost >= 0)
            return lost;
    }
    return -1;
}

/* Reads back a row that was encoded: an importance near the largest float gives scales that are no numbers,
 * or none at all, and what rounds to infinity is no number of the row either. The values are in the thread's
 * x. */
static void check_made(struct filling *v, int at, int row, enum ct_type type, const uint8_t *to, int thread)
{
    const struct ct_converted *c = &v->plan->c[at];
    struct scratch *s = &v->scratch[thread];
    int i = 0;

    ct_dequantize(type, s->decoded, to, (size_t)c->w.cols);
    const float largest = ct_row_largest(s->decoded, (size_t)c->w.cols, v->avx2);
    if (largest < INFINITY) {
        i = may_overflow(c, s->largest) ? lost_block(s, c->w.cols, ct_type_info(type)->block) : -1;
        if (i < 0)
            return;
    }
    while (!(largest < INFINITY) && isfinite(s->decoded[i]))
        i++;
    keep_fault(&s->fault, (struct fault){at, row, i, s->decoded[i], "a finite number", -1, true});
}

/* A row whose largest value F16 does not hold. Scales of blocks may hold it all the same. */
static void convert_large(struct filling *v, int at, int row, enum ct_type type, uint8_t *to, int thread,
                          struct ct_figures *f)
{
    struct scratch *s = &v->scratch[thread];
    const int n = v->plan->c[at].w.cols;
    float sum = 0;

    if (v->o->clamp)
        clamp_row(s, n, false, f);
    encode_row(v, at, type, to, thread, f);
    ct_dequantize(type, s->decoded, to, (size_t)n);
    for (int i = 0; i < n; i++)
        sum += s->decoded[i] - s->decoded[i];
    if (sum != 0 && !may_overflow(&v->plan->c[at], s->largest))
        refuse_range(v, at, row, "at most 65504, which F16 holds, or --clamp", thread);
}

static void convert_row(struct filling *v, int at, int row, uint8_t *to, int thread, struct ct_figures *f)
{
    const struct ct_converted *c = &v->plan->c[at];
    const enum ct_type type = v->plan->tensor[c->tensor].type;
    const uint8_t *from = stored_row(v, &c->w, c->row ? c->row[row] : row, thread);
    float *x = v->scratch[thread].x;

    if (c->w.type == CT_TYPE_COUNT) {
        memcpy(to, from, c->row_bytes);
        if (f)
            f->rows++;
        return;
    }
    if (!decode_row(v, at, row, from, thread))
        return;
    const bool copied = c->w.type == type && c->less == 0 && c->times == 0;
    if (copied)
        memcpy(to, from, c->row_bytes);
    else if (type != CT_F32 && type != CT_BF16 && type != CT_MXFP4 && v->scratch[thread].largest > MOST_F16)
        convert_large(v, at, row, type, to, thread, f);
    else
        encode_row(v, at, type, to, thread, f);
    if (!copied)
        check_made(v, at, row, type, to, thread);
    if (f)
        ct_figures_row(f, x, c->w.cols, type, to, v->scratch[thread].decoded);
}

/* Rows r0 to r1 - 1 have been read, and to has been written. */
static void give_back(const struct filling *v, const struct ct_converted *c, int r0, int r1, uint8_t *to)
{
    if (!ct_in_panels(&c->w))
        ct_file_forget(ct_taken_from(v->plan), (const uint8_t *)c->w.data + (size_t)r0 * c->w.row_bytes,
                       (size_t)(r1 - r0) * c->w.row_bytes);
    ct_os_discard(to, (size_t)(r1 - r0) * c->row_bytes);
}

/* Rows that share something, while they are read. */
struct taking {
    struct filling *v;
    int at, thread, r0;
    uint8_t *to;          /* of r0 */
    struct ct_figures *f; /* NULL: nobody asks */
    int next;             /* the first row that has not been read yet; others are read again */
};

static const float *take_row(void *taking, int row)
{
    struct taking *t = taking;
    const struct ct_converted *c = &t->v->plan->c[t->at];
    struct scratch *s = &t->v->scratch[t->thread];
    const int run = c->rows < SHARED_RUN ? c->w.rows : SHARED_RUN, before = row - run;
    const uint8_t *from = stored_row(t->v, &c->w, c->row ? c->row[row] : row, t->thread);

    if (before >= t->r0 && (row - t->r0) % run == 0)
        give_back(t->v, c, before, row, t->to + (size_t)(before - t->r0) * c->row_bytes);
    if (!decode_row(t->v, t->at, row, from, t->thread))
        return NULL;
    const bool again = row < t->next;
    t->next = CT_MAX(t->next, row + 1);
    if (c->scheme.kind == CT_PALETTE && t->v->o->clamp && s->largest > MOST_F16)
        clamp_row(s, c->w.cols, again, t->f);
    else if (c->scheme.kind == CT_PALETTE && s->largest >= INFINITE_F16) {
        refuse_range(t->v, t->at, row, "at most 65504, which an entry in F16 holds, or --clamp", t->thread);
        return NULL;
    }
    return s->x;
}

/* Rows r0 to r1 - 1, which share nothing with others. */
static void convert_shared(struct filling *v, int at, int r0, int r1, uint8_t *to, int thread,
                           struct ct_figures *f)
{
    const struct ct_converted *c = &v->plan->c[at];
    const struct ct_new_tensor *palettes = c->palette >= 0 ? &v->plan->tensor[c->palette] : NULL;
    struct taking taking = {v, at, thread, r0, to, f, r0};
    struct ct_rows_of rows = {take_row, &taking, r0, r1, c->w.cols};
    struct scratch *s = &v->scratch[thread];
    const struct ct_clipping clip = {v->o->qmax ? v->o->qmax : 127,
                                     v->o->clip_percentile > 0 ? v->o->clip_percentile : 100};
    bool fits = true;

    if (c->scheme.kind == CT_ALIKE) {
        fits = ct_write_alike(to, c->row_bytes, &rows, c->scheme.shared, &clip);
        for (int r = r0; r < r1 && fits; r++)
            check_made(v, at, r, CT_Q8_0, to + (size_t)(r - r0) * c->row_bytes, thread);
        for (int r = r0; r < r1 && f && fits; r++, to += c->row_bytes) {
            const float *x = take_row(&taking, r);
            ct_figures_row(f, x, c->w.cols, CT_Q8_0, to, s->decoded);
            ct_figures_clipped(f, x, c->w.cols, to, clip.qmax);
        }
        return;
    }
    const int groups = (int)ct_palette_groups(c->w.rows, c->scheme.shared ? c->scheme.shared : c->w.rows);
    const int shared = (int)ct_palette_rows(c->w.rows, groups);
    for (; rows.first < r1 && fits && !s->no_memory;
         rows.first = rows.last, to += (size_t)shared * c->row_bytes) {
        uint16_t entries[CT_PALETTE_MOST];
        rows.last = CT_MIN(rows.first + shared, r1);
        s->no_memory = ct_write_palette(entries, to, c->row_bytes, !palettes, &rows, c->scheme.bits,
                                        &s->palette, &fits, NULL) != CARAT_OK;
        if (palettes)
            memcpy(v->base[palettes->file] + palettes->at +
                       ((size_t)(c->palettes_before + rows.first / shared) << c->scheme.bits) *
                           sizeof *entries,
                   entries, sizeof *entries << c->scheme.bits);
        for (int r = rows.first; r < rows.last && f && fits && !s->no_memory; r++) {
            const float *x = take_row(&taking, r);
            ct_palette_values(&s->palette, s->half, entries, x, c->w.cols);
            ct_figures_row(f, x, c->w.cols, CT_F16, s->half, s->decoded);
        }
    }
}

static int weight_of(const struct filling *v, int chunk)
{
    int low = 0, high = v->plan->n;

    while (high - low > 1) {
        const int mid = (low + high) / 2;
        if (v->plan->c[mid].chunks <= chunk)
            low = mid;
        else
            high = mid;
    }
    return low;
}

static void fill_chunk(void *conversion, int item, int thread)
{
    struct filling *v = conversion;
    const int at = weight_of(v, v->first + item);
    const struct ct_converted *c = &v->plan->c[at];
    const int r0 = (v->first + item - c->chunks) * c->rows, r1 = CT_MIN(r0 + c->rows, c->w.rows);
    const struct ct_new_tensor *t = &v->plan->tensor[c->tensor];
    uint8_t *to = v->base[t->file] + t->at + (size_t)(c->first + r0) * c->row_bytes;
    struct ct_figures *f = v->part ? &v->part[item] : NULL;
    const double start = f ? ct_os_seconds() : 0;

    if (f)
        ct_figures_begin(f);
    if (c->scheme.kind)
        convert_shared(v, at, r0, r1, to, thread, f);
    for (int r = r0; r < r1 && !c->scheme.kind; r++)
        convert_row(v, at, r, to + (size_t)(r - r0) * c->row_bytes, thread, f);
    if (f)
        f->seconds = ct_os_seconds() - start;
    give_back(v, c, r0, r1, to);
    atomic_fetch_add_explicit(&v->done, (size_t)(r1 - r0) * c->row_bytes, memory_order_relaxed);
}

static int ask_progress(void *conversion)
{
    const struct filling *v = conversion;
    const size_t done = (size_t)v->plan->heads + atomic_load_explicit(&v->done, memory_order_relaxed);

    return v->o->progress(v->o->user, CT_MIN(done, (size_t)v->plan->size) >> 10, (size_t)v->plan->size >> 10);
}

/* Says where the value lies, as the end of a phrase; small matrices are bound as vectors. */
static void say_place(const struct filling *v, const struct fault *f, char text[64])
{
    const struct ct_converted *c = &v->plan->c[f->at];
    const bool small = c->w.type == CT_F32 && c->w.layout == CT_LAYOUT_ROWS;
    const struct ct_weight flat = {.rows = 1, .data = c->w.data};
    const int row = c->row ? c->row[f->row] : f->row;
    const struct ct_content_slot slot = {
        .tensor = c->source, .w = small ? &flat : &c->w, .row_bytes = c->w.row_bytes};
    struct ct_value_place p = ct_value_place(ct_taken_from(v->plan), &slot, row, f->col);

    if (p.tensor && small &&
        (c->w.data < (const void *)p.tensor->data ||
         c->w.data >= (const void *)(p.tensor->data + p.tensor->size)))
        p = ct_value_place(ct_taken_from(v->plan), &slot, 0, row * c->w.cols + f->col);
    text[0] = 0;
    if (p.tensor)
        snprintf(text, 64, ", the %s at byte %llu", p.unit, (unsigned long long)p.offset);
}

static carat_status say_made(const struct filling *v, const struct fault *f, carat_error *err)
{
    const struct ct_converted *c = &v->plan->c[f->at];
    const char *type = ct_type_info(v->plan->tensor[c->tensor].type)->name, *path = v->plan->importance_path;

    if (c->importance)
        return ct_fail(err, CARAT_E_NUMERIC,
                       "%s: tensor %s would have %g in row %d, column %d as %s, by the importance of its "
                       "columns in %s, where this one has %g; expected %s: nothing is converted, measure it "
                       "anew",
                       ct_file_path(ct_taken_from(v->plan)), c->source, (double)f->value, f->row, f->col,
                       type, path ? path : "the options", (double)c->importance[f->col], f->expected);
    return ct_fail(err, CARAT_E_NUMERIC,
                   "%s: tensor %s would have %g in row %d, column %d as %s; expected %s: nothing is "
                   "converted, choose another type",
                   ct_file_path(ct_taken_from(v->plan)), c->source, (double)f->value, f->row, f->col, type,
                   f->expected);
}

static carat_status say_fault(const struct filling *v, int threads, carat_error *err)
{
    struct fault first = {.at = -1};
    char place[64];

    for (int i = 0; i < threads; i++)
        if (v->scratch[i].fault.at >= 0)
            keep_fault(&first, v->scratch[i].fault);
    for (int i = 0; i < threads; i++)
        if (v->scratch[i].no_memory)
            return ct_no_memory(err, "a palette");
    if (first.at < 0)
        return CARAT_OK;
    if (first.byte >= 0)
        return ct_fail(err, CARAT_E_NUMERIC,
                       "%s: tensor %s has a block with a byte of 0x%02x in row %d, column %d; expected %s: "
                       "nothing is converted",
                       ct_file_path(ct_taken_from(v->plan)), v->plan->c[first.at].source,
                       (unsigned)first.byte, first.row, first.col, first.expected);
    if (first.made)
        return say_made(v, &first, err);
    say_place(v, &first, place);
    return ct_fail(err, CARAT_E_NUMERIC,
                   "%s: tensor %s has %g in row %d, column %d%s; expected %s: nothing is converted",
                   ct_file_path(ct_taken_from(v->plan)), v->plan->c[first.at].source, (double)first.value,
                   first.row, first.col, place, first.expected);
}

/* Adds what the chunks of a job measured, and tells of the tensors that are whole now. */
static void tell_tensors(struct filling *v, int n)
{
    for (int i = 0; v->part && i < n; i++) {
        const int tensor = v->plan->c[weight_of(v, v->first + i)].tensor;
        const struct ct_new_tensor *t = &v->plan->tensor[tensor];
        const struct ct_converted *c = &v->plan->c[weight_of(v, v->first + i)];
        ct_figures_add(&v->whole[tensor], &v->part[i]);
        if ((size_t)v->whole[tensor].rows * c->row_bytes == t->size)
            ct_plan_tell(v->plan, tensor, &v->whole[tensor], v->o);
    }
}

static carat_status run_chunks(struct filling *v, int threads, carat_error *err)
{
    struct ct_pool *pool;
    carat_status status = CARAT_OK;

    CT_TRY(ct_pool_create(&pool, threads, err));
    ct_pool_watch(pool, v->o->progress ? ask_progress : NULL, v);
    for (v->first = 0; v->first < v->plan->n_chunk && !status; v->first += TURNS * threads) {
        const int n = CT_MIN(TURNS * threads, v->plan->n_chunk - v->first);
        ct_pool_run(pool, n, fill_chunk, v);
        status = ct_pool_goes_on(pool, 0)
                     ? say_fault(v, threads, err)
                     : ct_fail(err, CARAT_E_CANCELLED, "writing %s was cancelled; nothing is left of it",
                               v->plan->path);
        if (!status)
            tell_tensors(v, n);
    }
    ct_pool_destroy(pool);
    return status;
}

static carat_status scratch_rows(struct filling *v, int threads, carat_error *err)
{
    size_t most = 1, stored = 1;

    for (int i = 0; i < v->plan->n; i++) {
        const struct ct_weight *w = &v->plan->c[i].w;
        size_t bytes = 0;
        if (w->type != CT_TYPE_COUNT)
            ct_type_row_bytes(w->type, (size_t)w->cols, &bytes);
        most = CT_MAX(most, (size_t)w->cols);
        stored = CT_MAX(stored, bytes);
    }
    v->scratch = ct_arena_push(&v->plan->arena, (size_t)threads, sizeof *v->scratch);
    for (int i = 0; v->scratch && i < threads; i++) {
        struct scratch *s = &v->scratch[i];
        *s = (struct scratch){.x = ct_arena_push(&v->plan->arena, most, sizeof *s->x),
                              .decoded = ct_arena_push(&v->plan->arena, most, sizeof *s->x),
                              .half = ct_arena_push(&v->plan->arena, most, sizeof *s->half),
                              .stored = ct_arena_push(&v->plan->arena, stored, 1),
                              .fault.at = -1};
        if (!s->x || !s->decoded || !s->half || !s->stored)
            return ct_no_memory(err, "converting");
    }
    if (v->o->tensor) {
        v->part = ct_arena_push(&v->plan->arena, (size_t)threads * TURNS, sizeof *v->part);
        v->whole = ct_arena_push(&v->plan->arena, (size_t)v->plan->n_tensor, sizeof *v->whole);
        for (int i = 0; v->whole && i < v->plan->n_tensor; i++)
            ct_figures_begin(&v->whole[i]);
        if (!v->part || !v->whole)
            return ct_no_memory(err, "converting");
    }
    return v->scratch ? CARAT_OK : ct_no_memory(err, "converting");
}

static carat_status begin_palettes(struct filling *v, int threads, carat_error *err)
{
    int n = 0;

    for (int i = 0; i < v->plan->n; i++)
        n += v->plan->c[i].scheme.kind == CT_PALETTE;
    for (int i = 0; n > 0 && i < threads; i++)
        CT_TRY(ct_palette_begin(&v->scratch[i].palette, err));
    return CARAT_OK;
}

/* A sample counts this in some rows of a tensor. */
struct sample {
    int blocks, zeros, on, rows, one_scale;
};

/* Rows of a weight that belong to the sample of its tensor. What is wrong in them is found again, in its
 * turn. */
static void look_at(struct filling *v, const struct ct_converted *c, int at, struct sample *s)
{
    const int rows = (int)(v->plan->tensor[c->tensor].size / c->row_bytes), step = CT_MAX(rows / SAMPLE, 1);

    for (int r = (step - c->first % step) % step; r < c->w.rows; r += step)
        if (decode_row(v, at, r, stored_row(v, &c->w, c->row ? c->row[r] : r, 0), 0)) {
            const struct ct_lattice found =
                ct_encode_lattice(NULL, v->scratch[0].x, (size_t)c->w.cols, rounded_to(c), v->avx2);
            s->blocks += found.blocks;
            s->zeros += found.zeros;
            s->on += found.on;
            s->rows++;
            s->one_scale += found.one_scale;
        }
    v->scratch[0].fault.at = -1;
    if (c->w.layout != CT_LAYOUT_PANELS)
        ct_file_forget(v->plan->m->file, c->w.data, (size_t)c->w.rows * c->w.row_bytes);
}

/* True when it becomes blocks of Q4_0, whose scales may be looked for. */
static bool may_lie(const struct filling *v, const struct ct_converted *c)
{
    return v->plan->tensor[c->tensor].type == CT_Q4_0 && !c->scheme.kind && c->w.type < CT_TYPE_COUNT &&
           c->w.type != CT_Q4_0;
}

/* Which tensors lie on lattices. */
static carat_status look_for_lattices(struct filling *v, carat_error *err)
{
    struct ct_conversion *plan = v->plan;
    struct sample *sample = ct_arena_push(&plan->arena, (size_t)plan->n_tensor, sizeof *sample);
    const bool on = v->o->qat == CARAT_QAT_ON;
    int n = 0, all = 0;
    char line[128];

    if (!sample)
        return ct_no_memory(err, "converting");
    for (int i = 0; i < plan->n && v->o->qat == CARAT_QAT_AUTO; i++)
        if (may_lie(v, &plan->c[i]) && plan->c[i].w.type <= CT_BF16)
            look_at(v, &plan->c[i], i, &sample[plan->c[i].tensor]);
    for (int i = 0; i < plan->n; i++) {
        struct ct_converted *c = &plan->c[i];
        const struct sample *s = &sample[c->tensor];
        const int some = s->blocks - s->zeros;
        c->lattice = may_lie(v, c) && (on || (some > 0 && s->on - s->zeros >= ENOUGH * some));
        n += c->lattice && c->first == 0;
        all += may_lie(v, c) && c->first == 0;
        if (!c->lattice && v->whole && c->first == 0)
            ct_figures_sample(&v->whole[c->tensor], s->blocks, s->on, s->rows, s->one_scale);
    }
    snprintf(line, sizeof line, "%d of %d tensors lie on lattices of four bits, whose values Q4_0 keeps", n,
             all);
    if (n && !on && v->o->log)
        v->o->log(v->o->user, line);
    return CARAT_OK;
}

carat_status ct_fill(struct ct_conversion *plan, uint8_t *const *base, const carat_convert_options *o,
                     carat_error *err)
{
    const int threads = o->threads > 0 ? o->threads : ct_os_cpus();
    struct filling v = {.plan = plan, .o = o, .base = base, .avx2 = ct_cpu_has_avx2()};

    CT_TRY(scratch_rows(&v, threads, err));
    carat_status status = begin_palettes(&v, threads, err);
    if (!status)
        status = look_for_lattices(&v, err);
    if (!status)
        status = run_chunks(&v, threads, err);
    size_t clamped = 0;
    for (int i = 0; i < threads; i++) {
        ct_palette_end(&v.scratch[i].palette);
        clamped += v.scratch[i].clamped;
    }
    if (o->clamped && !status)
        *o->clamped = clamped;
    return status;
}
