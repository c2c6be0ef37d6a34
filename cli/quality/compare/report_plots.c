/* SPDX-License-Identifier: Apache-2.0 */
/* report_plots.c: the pictures of positions: KL and match along the answers, margins, entropies. Each has
 * axes with units and a sentence that says what to look for. Curves differ by dashes and marks, not by
 * colour alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quality/compare/report_parts.h"

/* In pixels of the picture, which is drawn about as large. */
enum { WIDTH = 440, HEIGHT = 290, ASIDE = 46 };
static const struct svg_field field = {.x = 62, .y = 30, .width = 362, .height = 212};

static void figure_begin(FILE *f, const char *title, int height)
{
    fprintf(f, "<figure>\n<h3>%s</h3>\n", title);
    svg_begin(f, WIDTH, height, false, title);
}

static void figure_end(FILE *f, const char *caption)
{
    svg_end(f);
    fprintf(f, "<figcaption>%s</figcaption>\n</figure>\n", caption);
}

static double down(const struct svg_field *in, double share)
{
    return in->y + in->height * (1 - share);
}

/* ---- along the positions ---- */

/* The middle of a column; one that is alone stands in the middle. */
static double column_x(const struct report_figures *g, int i)
{
    return field.x + field.width * (g->columns == 1 ? 0.5 : (i + 0.5) / g->columns);
}

static void put_positions(FILE *f, const struct report_figures *g, const char *left)
{
    int64_t most = g->columns * g->group;
    double step = fmax(1, svg_step((double)most, 8));
    char label[NUMBER_TEXT];

    for (double at = 0; at < (double)g->longest; at += step)
        svg_tick_x(f, &field, field.x + field.width * (at + 0.5 * (double)g->group) / (double)most,
                   count_text(label, (int64_t)at));
    svg_axes(f, &field, "position in the answer (ids, from 0)", left, ASIDE);
}

/* The value of a curve at a column, as a share of the height; NAN where it has none. */
typedef double curve(const struct report_figures *g, int i, const void *with);

/* A line with gaps where there is nothing; few points are marked. */
static void put_curve(FILE *f, const struct report_figures *g, curve *share, const void *with,
                      const char *more, int color)
{
    bool begun = false;

    fprintf(f, "<g class=\"s%d\"><path class=\"line%s\" d=\"", color, more);
    for (int i = 0; i < g->columns; i++) {
        double y = share(g, i, with);
        if (!isnan(y))
            fprintf(f, "%s%.1f,%.1f", begun ? "L" : "M", column_x(g, i), down(&field, y));
        begun = !isnan(y);
    }
    fputs("\"/>", f);
    for (int i = 0; i < g->columns && g->columns <= 40; i++)
        if (!isnan(share(g, i, with)))
            svg_mark(f, color, column_x(g, i), down(&field, share(g, i, with)));
    fputs("</g>\n", f);
}

static void put_band(FILE *f, const struct report_figures *g, curve *low, curve *high, const void *with,
                     int color)
{
    const char *next = "M";

    fprintf(f, "<g class=\"s%d\"><path class=\"band\" d=\"", color);
    for (int i = 0; i < g->columns; i++)
        if (!isnan(high(g, i, with))) {
            fprintf(f, "%s%.1f,%.1f", next, column_x(g, i), down(&field, high(g, i, with)));
            next = "L";
        }
    for (int i = g->columns - 1; i >= 0; i--)
        if (!isnan(low(g, i, with)))
            fprintf(f, "L%.1f,%.1f", column_x(g, i), down(&field, low(g, i, with)));
    fputs("\"/></g>\n", f);
}

struct key {
    const char *name, *path; /* its class */
    int color;
};

static void put_keys(FILE *f, const struct key *keys, int n)
{
    double x = field.x;

    for (int i = 0; i < n; i++) {
        bool band = strcmp(keys[i].path, "band") == 0;
        fprintf(f, "<g class=\"s%d\"><path class=\"%s\" d=\"M%.1f,%d%s\"/></g>", keys[i].color, keys[i].path,
                x, band ? 16 : 12, band ? "v-8h26v8z" : "h26");
        fprintf(f, "<text class=\"key\" x=\"%.1f\" y=\"16\">%s</text>\n", x + 32, keys[i].name);
        x += 50 + 6.6 * (double)strlen(keys[i].name);
    }
}

static void put_limit(FILE *f, double share)
{
    if (share > 0 && share < 1)
        fprintf(f, "<path class=\"guide\" d=\"M%.1f,%.1fh%.1f\"/>\n", field.x, down(&field, share),
                field.width);
}

/* ---- KL ---- */

/* Powers of ten at the ends of the axis. */
struct decades {
    int least, most;
    bool zero; /* something that is drawn lies below, on the axis */
};

static double kl_share(const struct decades *d, double kl)
{
    double place = kl > 0 ? (log10(kl) - d->least) / (d->most - d->least) : 0;

    return isnan(kl) ? NAN : fmin(fmax(place, 0), 1);
}

/* NAN where too few prompts are left to speak for all. */
static double kl_quantile(const struct report_figures *g, int i, double q)
{
    int64_t least = g->prompts / 20 > 2 ? g->prompts / 20 : 2;

    return g->column[i].n_kl >= least ? report_quantile(&g->column[i], q) : NAN;
}

static double kl_median(const struct report_figures *g, int i, const void *with)
{
    return kl_share(with, kl_quantile(g, i, 0.5));
}

static double kl_p90(const struct report_figures *g, int i, const void *with)
{
    return kl_share(with, kl_quantile(g, i, 0.9));
}

static double kl_mean(const struct report_figures *g, int i, const void *with)
{
    const struct report_column *c = &g->column[i];

    return c->n_kl ? kl_share(with, c->sum / (double)c->n_kl) : NAN;
}

static double kl_low(const struct report_figures *g, int i, const void *with)
{
    return g->column[i].n_kl ? kl_share(with, g->column[i].low) : NAN;
}

static double kl_high(const struct report_figures *g, int i, const void *with)
{
    return g->column[i].n_kl ? kl_share(with, g->column[i].high) : NAN;
}

/* From the least that is drawn and not 0, and no wider than 16 decades. */
static struct decades kl_decades(const struct report_figures *g, double healthy)
{
    double least = INFINITY, most = healthy > 0 ? healthy : 0.01;
    bool zero = false;

    for (int i = 0; i < g->columns; i++) {
        const struct report_column *c = &g->column[i];
        double low = g->prompts == 1 ? c->low : kl_quantile(g, i, 0.5);
        double high = g->prompts == 1 ? c->high : kl_quantile(g, i, 0.9);
        if (c->n_kl == 0)
            continue;
        zero = zero || low == 0;
        least = low > 0 ? fmin(least, low) : least;
        most = high > most ? high : most;
    }
    struct decades d = {.most = (int)ceil(log10(most) + 0.2)};
    d.least = isfinite(least) ? (int)floor(log10(least)) : d.most - 6;
    d.zero = zero || d.least < d.most - 16;
    d.least = d.least < d.most - 16 ? d.most - 16 : d.least > d.most - 2 ? d.most - 2 : d.least;
    return d;
}

static void put_decades(FILE *f, const struct decades *d)
{
    char label[NUMBER_TEXT];
    int step = (d->most - d->least + 7) / 8;

    for (int e = d->most; e > d->least; e -= step)
        svg_tick_y(f, &field, down(&field, kl_share(d, pow(10, e))), power_text(label, e));
    svg_tick_y(f, &field, down(&field, 0), d->zero ? "0" : power_text(label, d->least));
}

static void put_kl(FILE *f, const struct summary *summary, const struct report_figures *g)
{
    static const struct key many[] = {
        {"median", "line", 0}, {"90th percentile", "line dash", 1}, {"limits", "guide", 0}};
    static const struct key one[] = {{"KL", "line", 0}, {"limits", "guide", 0}};
    static const struct key thinned[] = {
        {"mean", "line", 0}, {"least to largest", "band", 0}, {"limits", "guide", 0}};
    const double *limits = summary->limits.kl;
    struct decades d = kl_decades(g, limits[0]);

    figure_begin(f, "KL over the position", HEIGHT);
    put_decades(f, &d);
    put_positions(f, g, "KL(ref‖test), nats");
    for (int i = 0; i < 2; i++)
        put_limit(f, kl_share(&d, limits[i]));
    if (g->prompts > 1) {
        put_band(f, g, kl_median, kl_p90, &d, 0);
        put_curve(f, g, kl_p90, &d, " dash", 1);
        put_curve(f, g, kl_median, &d, "", 0);
        put_keys(f, many, 3);
        figure_end(
            f,
            "Look for a curve that rises: small differences that add up along the answer. Flat and low is "
            "what rounding does. Drawn as far as two prompts, and one in twenty, go. What is 0 lies on the "
            "axis.");
        return;
    }
    if (g->group > 1)
        put_band(f, g, kl_low, kl_high, &d, 0);
    put_curve(f, g, kl_mean, &d, "", 0);
    put_keys(f, g->group > 1 ? thinned : one, g->group > 1 ? 3 : 2);
    figure_end(
        f,
        "Look for a curve that rises: small differences that add up along the answer. Flat and low is what "
        "rounding does; single peaks are places where the model hesitates. What is 0 lies on the axis.");
}

/* ---- match ---- */

struct from {
    double least; /* of the axis, a share */
    const double *match, *whole;
};

static double match_share(const struct from *from, double share)
{
    return isnan(share) ? NAN : fmax((share - from->least) / (1 - from->least), 0);
}

static double match_curve(const struct report_figures *g, int i, const void *with)
{
    (void)g;
    return match_share(with, ((const struct from *)with)->match[i]);
}

static double whole_curve(const struct report_figures *g, int i, const void *with)
{
    (void)g;
    return match_share(with, ((const struct from *)with)->whole[i]);
}

/* Returns the least of both. */
static double count_matches(const struct report_figures *g, double *match, double *whole)
{
    int64_t n = 0, matches = 0, parted = 0;
    double least = 1;

    for (int i = 0; i < g->columns; i++) {
        n += g->column[i].n;
        matches += g->column[i].matches;
        parted += g->column[i].parted;
        match[i] = n ? (double)matches / (double)n : NAN;
        whole[i] = 1 - (double)parted / (double)g->prompts;
        least = fmin(least, g->prompts > 1 ? fmin(match[i], whole[i]) : match[i]);
    }
    return least;
}

static void put_match(FILE *f, const struct summary *summary, const struct report_figures *g)
{
    static const struct key keys[] = {
        {"positions", "line", 2}, {"limits", "guide", 0}, {"whole answers", "line dash", 3}};
    static const double floors[] = {0.99, 0.98, 0.95, 0.9, 0.8, 0.5, 0};
    const double *limits = summary->limits.match;
    double match[REPORT_COLUMNS], whole[REPORT_COLUMNS], least = count_matches(g, match, whole);
    struct from from = {.match = match, .whole = whole};
    char label[NUMBER_TEXT];
    size_t at = 0;

    while (floors[at] > 0 && floors[at] > least - 1e-9)
        at++;
    from.least = floors[at];
    figure_begin(f, "Match so far", HEIGHT);
    for (int i = 0; i <= 5; i++) {
        double share = from.least + (1 - from.least) * i / 5;
        snprintf(label, sizeof label, "%.4g", 100 * share);
        svg_tick_y(f, &field, down(&field, match_share(&from, share)), label);
    }
    put_positions(f, g, "same first choice, %");
    for (int i = 0; i < 2; i++)
        put_limit(f, (limits[i] / 100 - from.least) / (1 - from.least));
    if (g->prompts > 1)
        put_curve(f, g, whole_curve, &from, " dash", 3);
    put_curve(f, g, match_curve, &from, "", 2);
    put_keys(f, keys, g->prompts > 1 ? 3 : 2);
    figure_end(
        f,
        g->prompts > 1
            ? "Share of all positions up to this one at which both choose the same id, and of the answers "
              "that are the same as far as here. Look for a steady fall of the first; a step down and a flat "
              "line behind it is a single near-tie. Mind where the axis begins."
            : "Share of all positions up to this one at which both choose the same id. Look for a steady "
              "fall; a step down and a flat line behind it is a single near-tie. Mind where the axis "
              "begins.");
}

void report_curves(FILE *f, const struct summary *summary, const struct report_figures *g)
{
    put_kl(f, summary, g);
    put_match(f, summary, g);
}

/* ---- margins ---- */

static double margin_x(const struct svg_field *in, double margin)
{
    double share = (log10(margin) - MARGIN_LEAST) / (MARGIN_MOST - MARGIN_LEAST);

    return in->x + in->width * fmin(fmax(share, 0), 1);
}

/* "20", "5000", "20k", "3M": beside an axis there is little room. */
static const char *short_count(char out[NUMBER_TEXT], double n)
{
    bool millions = n >= 1e6, thousands = n >= 1e4;

    snprintf(out, NUMBER_TEXT, "%.4g%s",
             millions    ? n / 1e6
             : thousands ? n / 1e3
                         : n,
             millions    ? "M"
             : thousands ? "k"
                         : "");
    return out;
}

static void put_bars(FILE *f, const struct svg_field *in, const int64_t *bins, int64_t n, const char *name,
                     int color)
{
    int64_t most = 1;
    double width = in->width / MARGIN_BINS;
    char label[NUMBER_TEXT];

    for (int i = 0; i < MARGIN_BINS; i++)
        most = bins[i] > most ? bins[i] : most;
    double step = fmax(1, svg_step((double)most, 3)), top = ceil((double)most / step) * step;
    for (double v = 0; v <= top * (1 + 1e-9); v += step)
        svg_tick_y(f, in, down(in, v / top), short_count(label, v));
    fprintf(f, "<g class=\"s%d\"><path class=\"bar\" d=\"", color);
    for (int i = 0; i < MARGIN_BINS; i++)
        if (bins[i] > 0) {
            double height = fmax(in->height * (double)bins[i] / top, 1.5);
            fprintf(f, "M%.1f,%.1fv-%.1fh%.1fv%.1fz", in->x + i * width + 1, in->y + in->height, height,
                    width - 2, height);
        }
    fprintf(f, "\"/></g>\n<text class=\"key\" x=\"%.1f\" y=\"%.1f\">%s: %s %s</text>\n", in->x, in->y - 8,
            name, count_text(label, n), n == 1 ? "position" : "positions");
}

void report_margins(FILE *f, const struct summary *summary, const struct report_figures *g)
{
    static const struct svg_field panels[2] = {{.x = 62, .y = 26, .width = 362, .height = 90},
                                               {.x = 62, .y = 152, .width = 362, .height = 90}};
    double near_tie = summary->run.options.near_tie;
    char label[NUMBER_TEXT];

    figure_begin(f, "Margins at matches and at flips", HEIGHT);
    put_bars(f, &panels[0], g->margins[1], g->n_margin[1], "both choose the same", 2);
    put_bars(f, &panels[1], g->margins[0], g->n_margin[0], "the test chooses another id", 1);
    if (!(near_tie > 0))
        near_tie = 0.05;
    double x = margin_x(&panels[0], near_tie);
    fprintf(f, "<path class=\"guide\" d=\"M%.1f,%.1fV%.1fM%.1f,%.1fV%.1f\"/>", x, panels[0].y,
            panels[0].y + panels[0].height, x, panels[1].y, panels[1].y + panels[1].height);
    fprintf(f, "<text class=\"end over\" x=\"%.1f\" y=\"%.1f\">near-ties</text>\n", x - 5, panels[0].y + 13);
    for (int e = MARGIN_LEAST; e <= MARGIN_MOST; e++) {
        double tick = margin_x(&panels[1], pow(10, e));
        fprintf(f, "<path class=\"axis\" d=\"M%.1f,%.1fv4\"/>\n", tick, panels[0].y + panels[0].height);
        snprintf(label, sizeof label, "%g", pow(10, e));
        svg_tick_x(f, &panels[1], tick, label);
    }
    fprintf(f, "<path class=\"axis\" d=\"M%.1f,%.1fh%.1f\"/>\n", panels[0].x, panels[0].y + panels[0].height,
            panels[0].width);
    svg_axes(f, &(struct svg_field){.x = 62, .y = 26, .width = 362, .height = 216},
             "margin of the reference (difference of logits)", "positions", ASIDE);
    figure_end(f, "Flips belong to the left, where the reference itself hardly prefers one id. Look for "
                  "flips with large "
                  "margins: there the test contradicts what the reference is sure of.");
}

/* ---- entropies ---- */

static void put_entropy_ticks(FILE *f, const struct report_scale *s, const struct svg_field *in)
{
    char label[NUMBER_TEXT];

    if (!s->logarithmic) {
        double step = svg_step(s->most, 5);
        for (double v = 0; v <= s->most * (1 + 1e-9); v += step) {
            snprintf(label, sizeof label, "%.4g", v);
            svg_tick_x(f, in, in->x + in->width * report_place(s, v), label);
            svg_tick_y(f, in, down(in, report_place(s, v)), label);
        }
        return;
    }
    int least = (int)lround(log10(s->least)), most = (int)lround(log10(s->most)),
        step = (most - least + 5) / 6;
    for (int e = least; e <= most; e += step) {
        double place = report_place(s, pow(10, e));
        power_text(label, e);
        svg_tick_x(f, in, in->x + in->width * place, label);
        svg_tick_y(f, in, down(in, place), label);
    }
}

/* Cells by their counts, a path for each size: 1, to 9, to 99, to 999, more. */
static const double dot_sizes[] = {3, 4, 5, 5.8, 6.6};
enum { DOT_SIZES = sizeof dot_sizes / sizeof *dot_sizes };

static int dot_size(int64_t n)
{
    int size = 0;

    for (int64_t most = 1; n > most && size < DOT_SIZES - 1; most = most == 1 ? 9 : most * 10 + 9)
        size++;
    return size;
}

static void put_dots(FILE *f, const struct report_figures *g, const struct svg_field *in)
{
    for (int size = 0; size < DOT_SIZES; size++) {
        fprintf(f, "<path class=\"dot\" stroke-width=\"%.1f\" d=\"", dot_sizes[size]);
        for (int y = 0; y < REPORT_CELLS; y++)
            for (int x = 0; x < REPORT_CELLS; x++)
                if (g->cells[y][x] > 0 && dot_size(g->cells[y][x]) == size)
                    fprintf(f, "M%.1f,%.1fh0", in->x + in->width * (x + 0.5) / REPORT_CELLS,
                            down(in, (y + 0.5) / REPORT_CELLS));
        fputs("\"/>\n", f);
    }
}

void report_entropies(FILE *f, const struct report_figures *g)
{
    static const struct svg_field in = {.x = 62, .y = 30, .width = 292, .height = 292};
    static const char *const sizes[] = {"1", "to 9", "to 99", "to 999", "more"};

    figure_begin(f, "Entropy of one against the other", 370);
    put_entropy_ticks(f, &g->entropy, &in);
    svg_axes(f, &in, "entropy of the reference, nats", "entropy of the test, nats", ASIDE);
    fprintf(f, "<path class=\"guide\" d=\"M%.1f,%.1fL%.1f,%.1f\"/>\n<g class=\"s0\">", in.x, in.y + in.height,
            in.x + in.width, in.y);
    put_dots(f, g, &in);
    for (int i = 0; i < DOT_SIZES; i++)
        fprintf(f, "<path class=\"dot\" stroke-width=\"%.1f\" d=\"M372,%dh0\"/>", dot_sizes[i], 58 + 20 * i);
    fputs("</g>\n<text class=\"key\" x=\"364\" y=\"40\">positions</text>", f);
    for (int i = 0; i < DOT_SIZES; i++)
        fprintf(f, "<text x=\"384\" y=\"%d\">%s</text>", 62 + 20 * i, sizes[i]);
    fputs("\n", f);
    figure_end(f, g->entropy.logarithmic ? "On the broken line both are equally sure. Dots above it: the "
                                           "test is less sure; far below: its "
                                           "predictions collapse. What is smaller than the axes lies on them."
                                         : "On the broken line both are equally sure. Dots above it: the "
                                           "test is less sure; far below: its "
                                           "predictions collapse.");
}
