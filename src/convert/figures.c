/* SPDX-License-Identifier: Apache-2.0 */
/* figures.c: see figures.h. */
#include "convert/figures.h"

#include <math.h>

#include "quant/encode.h"

void ct_figures_begin(struct ct_figures *f)
{
    *f = (struct ct_figures){.least_scale = -1};
}

static void see_scale(struct ct_figures *f, float scale)
{
    const float d = fabsf(scale);

    f->most_scale = CT_MAX(f->most_scale, d);
    f->least_scale = f->least_scale < 0 ? d : CT_MIN(f->least_scale, d);
}

static void see_value(struct ct_figures *f, float v)
{
    const uint16_t half = v == 0 ? 0 : ct_f32_to_f16(v); /* one zero */

    f->seen[half / 64] |= (uint64_t)1 << half % 64;
}

void ct_figures_row(struct ct_figures *f, const float *w, int n, enum ct_type type, const void *blocks,
                    float *decoded)
{
    const struct ct_type_info *t = ct_type_info(type);

    ct_dequantize(type, decoded, blocks, (size_t)n);
    for (int i = 0; i < n; i++) {
        const double from = (double)w[i], to = (double)decoded[i], off = to - from;
        f->w += from;
        f->v += to;
        f->w2 += from * from;
        f->v2 += to * to;
        f->wv += from * to;
        f->e += off;
        f->e2 += off * off;
        f->largest = CT_MAX(f->largest, fabsf(w[i]));
        f->off = CT_MAX(f->off, (float)fabs(off));
        see_value(f, decoded[i]);
    }
    for (int i = 0; t->block > 1 && ct_encodes_rows(type) && i < n / t->block; i++)
        see_scale(f, ct_block_scale(type, (const uint8_t *)blocks + (size_t)i * (size_t)t->bytes));
    f->n += n;
    f->rows++;
}

void ct_figures_sample(struct ct_figures *f, int blocks, int on, int rows, int one_scale)
{
    f->blocks += blocks;
    f->on_lattice += on;
    f->looked += rows;
    f->one_scale += one_scale;
}

void ct_figures_clip(struct ct_figures *f, float w)
{
    f->clipped++;
    f->most_clipped = CT_MAX(f->most_clipped, fabsf(w));
}

void ct_figures_clipped(struct ct_figures *f, const float *w, int n, const uint8_t *blocks, int qmax)
{
    const struct ct_type_info *t = ct_type_info(CT_Q8_0);

    for (int i = 0; i < n; i++) {
        const float d = ct_block_scale(CT_Q8_0, blocks + (size_t)(i / t->block) * (size_t)t->bytes);
        if (d > 0 && fabsf(w[i]) > d * ((float)qmax + 0.5f))
            ct_figures_clip(f, w[i]);
    }
}

void ct_figures_add(struct ct_figures *to, const struct ct_figures *part)
{
    to->n += part->n;
    to->w += part->w;
    to->v += part->v;
    to->w2 += part->w2;
    to->v2 += part->v2;
    to->wv += part->wv;
    to->e += part->e;
    to->e2 += part->e2;
    to->seconds += part->seconds;
    to->blocks += part->blocks;
    to->on_lattice += part->on_lattice;
    to->looked += part->looked;
    to->one_scale += part->one_scale;
    to->largest = CT_MAX(to->largest, part->largest);
    to->off = CT_MAX(to->off, part->off);
    if (part->least_scale >= 0) {
        see_scale(to, part->least_scale);
        see_scale(to, part->most_scale);
    }
    to->rows += part->rows;
    to->clipped += part->clipped;
    to->most_clipped = CT_MAX(to->most_clipped, part->most_clipped);
    for (size_t i = 0; i < CT_COUNT(to->seen); i++)
        to->seen[i] |= part->seen[i];
}

void ct_figures_tell(const struct ct_figures *f, carat_converted *c)
{
    const double n = f->n > 0 ? f->n : 1, spread = (f->w2 - f->w * f->w / n) * (f->v2 - f->v * f->v / n);

    c->measured = 1;
    c->seconds = f->seconds;
    c->largest = (double)f->largest;
    c->least_scale = f->least_scale < 0 ? 0 : (double)f->least_scale;
    c->most_scale = (double)f->most_scale;
    c->mean_error = f->e / n;
    c->rms_error = sqrt(f->e2 / n);
    c->largest_error = (double)f->off;
    c->on_lattice = f->blocks > 0 ? f->on_lattice / f->blocks : -1;
    c->one_scale = f->looked > 0 ? f->one_scale / f->looked : -1;
    c->clipped = f->clipped;
    c->largest_clipped = (double)f->most_clipped;
    for (size_t i = 0; i < CT_COUNT(f->seen); i++)
        c->distinct += (uint64_t)__builtin_popcountll(f->seen[i]);
    c->snr = f->e2 > 0 ? 10 * log10(f->w2 / f->e2) : INFINITY;
    c->correlation = spread > 0 ? (f->wv - f->w * f->v / n) / sqrt(spread) : f->e2 > 0 ? 0 : 1;
}
