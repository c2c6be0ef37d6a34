/* SPDX-License-Identifier: Apache-2.0 */
/* shared.c: see shared.h. */
#include "convert/shared.h"

#include <math.h>

#include "quant/encode.h"

/* Some columns of rows. */
struct part {
    const struct ct_rows_of *rows;
    const float *x; /* the only row, if there is one; else NULL */
    int first, n;   /* columns */
};

/* Behind the last one of its rows. */
static int part_end(const struct part *p)
{
    return p->x ? p->rows->first + 1 : p->rows->last;
}

static const float *part_row(const struct part *p, int r)
{
    if (p->x)
        return p->x + p->first;
    return p->rows->row(p->rows->user, r); /* all of it */
}

/* The value of that rank, from 1, among all |x|, of which the highest bits are found first. NaN: a row could
 * not be read. */
static float value_of_rank(const struct part *p, uint64_t rank)
{
    uint32_t found = 0;

    for (int shift = 24; shift >= 0; shift -= 8) {
        uint64_t count[256] = {0};
        int at = 0;
        for (int r = p->rows->first; r < part_end(p); r++) {
            const float *x = part_row(p, r);
            for (int i = 0; x && i < p->n; i++) {
                const uint32_t bits = ct_f32_bits(x[i]) & 0x7fffffffu;
                count[bits >> shift & 255] += (uint64_t)bits >> (shift + 8) == (uint64_t)found >> (shift + 8);
            }
            if (!x)
                return NAN;
        }
        while (rank > count[at])
            rank -= count[at++];
        found |= (uint32_t)at << shift;
    }
    return ct_f32_from_bits(found);
}

/* The largest |x|, or the smallest that so many percent of all do not exceed. */
static float percentile_of(const struct part *p, double percentile)
{
    float most = 0;

    if (percentile < 100) {
        const int rows = part_end(p) - p->rows->first;
        const double n = (double)rows * p->n, rank = ceil(percentile / 100 * n);
        return value_of_rank(p, (uint64_t)(rank < 1 ? 1 : rank));
    }
    for (int r = p->rows->first; r < part_end(p); r++) {
        const float *x = part_row(p, r);
        if (!x)
            return NAN;
        most = fmaxf(most, ct_largest(x, (size_t)p->n));
    }
    return most;
}

bool ct_write_alike(uint8_t *to, size_t row_bytes, const struct ct_rows_of *rows, int shared,
                    const struct ct_clipping *clip)
{
    const struct part all = {rows, NULL, 0, rows->cols};
    const float whole = shared ? 0 : percentile_of(&all, clip->percentile);

    for (int r = rows->first; r < rows->last && !isnan(whole); r++, to += row_bytes) {
        const float *x = rows->row(rows->user, r);
        if (!x)
            return false;
        for (int c = 0, n; c < rows->cols; c += n) {
            n = shared ? CT_MIN(shared, rows->cols - c) : rows->cols;
            const struct part part = {rows, x, c, n};
            ct_encode_alike(to + row_bytes * (size_t)c / (size_t)rows->cols, x + c, (size_t)n,
                            shared ? percentile_of(&part, clip->percentile) : whole, clip->qmax);
        }
    }
    return !isnan(whole);
}

carat_status ct_write_palette(uint16_t *palette, uint8_t *to, size_t row_bytes, bool values,
                              const struct ct_rows_of *rows, int bits, struct ct_palette_maker *maker,
                              bool *fits, carat_error *err)
{
    *fits = true;
    for (int r = rows->first; r < rows->last; r++) {
        const float *x = rows->row(rows->user, r);
        *fits = *fits && x;
        if (x)
            ct_palette_count(maker, x, (size_t)rows->cols);
    }
    CT_TRY(ct_palette_cluster(maker, palette, bits, err));
    for (int r = rows->first; r < rows->last && *fits; r++, to += row_bytes) {
        const float *x = rows->row(rows->user, r);
        if (values)
            ct_palette_values(maker, to, palette, x, rows->cols);
        else
            ct_palette_indices(maker, to, bits, x, rows->cols);
    }
    return CARAT_OK;
}
