/* SPDX-License-Identifier: Apache-2.0 */
/* report_heat.c: the bisection as heat maps, layers down and operations across: the error of each
 * operation on the reference's own inputs, over all and of the worst channel. What is flagged has a cross,
 * so that no colour is needed. */
#include <math.h>
#include <string.h>

#include "quality/compare/report_parts.h"

enum { MOST_LAYERS = 256, MOST_OPERATIONS = 48, MOST_NAMED = 2500, MOST_FLAGGED = 20 };
enum { WIDTH = 440, LEFT = 46, RIGHT = 6, MOST_NAME = 24 };

struct heat {
    int layers, operations;
    int layer[MOST_LAYERS];
    const char *operation[MOST_OPERATIONS];
    double top, width, height; /* where the cells begin; of a cell */
};

/* Finds the row and column of an entry; false: the picture has no room for it. */
static bool place_entry(struct heat *h, const carat_operation_error *e, int *row, int *column)
{
    int y = 0, x = 0;

    while (y < h->layers && h->layer[y] != e->layer)
        y++;
    while (x < h->operations && strcmp(h->operation[x], e->operation) != 0)
        x++;
    if (y == MOST_LAYERS || x == MOST_OPERATIONS)
        return false;
    if (y == h->layers)
        h->layer[h->layers++] = e->layer;
    if (x == h->operations)
        h->operation[h->operations++] = e->operation;
    *row = y;
    *column = x;
    return true;
}

/* ---- steps of an error ---- */

static const double steps[] = {1e-6, 1e-4, 1e-2, 0.1, 0.2, 0.5};
static const char *const step_names[] = {"to 10⁻⁶", "to 10⁻⁴", "to 0.01", "to 0.1",
                                         "to 0.2",  "to 0.5",  "more"};
static const double shades[] = {0.05, 0.13, 0.24, 0.38, 0.56, 0.76, 1};
enum { STEPS = sizeof steps / sizeof *steps };

static int step_of(double error)
{
    int step = 0;

    while (step < STEPS && !(error <= steps[step]))
        step++;
    return step;
}

/* ---- the map ---- */

static void put_cell(FILE *f, const struct heat *h, const carat_operation_error *e, double error, double x,
                     double y, bool named)
{
    double w = h->width, v = h->height;
    char own[NUMBER_TEXT], channel[NUMBER_TEXT];

    fprintf(f, "<path fill=\"currentColor\" fill-opacity=\"%.2f\" d=\"M%.1f,%.1fh%.1fv%.1fh-%.1fz\"",
            shades[step_of(error)], x, y, w, v, w);
    if (named) {
        fputs("><title>", f);
        report_text(f, e->operation, strlen(e->operation), 5 * MOST_NAME, false);
        fprintf(f, ", layer %d: own error %s, channel %d %s</title></path>\n", e->layer,
                number_text(own, e->own, 3), e->channel, number_text(channel, e->channel_error, 3));
    } else {
        fputs("/>\n", f);
    }
    if (e->flagged)
        fprintf(f, "<path class=\"hit\" d=\"M%.1f,%.1fl%.1f,%.1fm-%.1f,0l%.1f,-%.1f\"/>\n", x + 1.5, y + 1.5,
                w - 3, v - 3, w - 3, w - 3, v - 3);
}

static void put_names(FILE *f, const struct heat *h)
{
    double last = -100;
    char label[24];

    fprintf(f, "<text x=\"2\" y=\"12\">operations, in the order of a pass</text>\n");
    for (int i = 0; i < h->operations; i++) {
        fprintf(f, "<text transform=\"translate(%.1f,%.1f) rotate(-90)\">", LEFT + (i + 0.5) * h->width + 4,
                h->top - 6);
        report_text(f, h->operation[i], strlen(h->operation[i]), 5 * MOST_NAME, false);
        fputs("</text>\n", f);
    }
    for (int i = 0; i < h->layers; i++) {
        double y = h->top + (i + 0.5) * h->height;
        if (y - last < 13)
            continue;
        snprintf(label, sizeof label, "%d", h->layer[i]);
        fprintf(f, "<text class=\"end\" x=\"%d\" y=\"%.1f\">%s</text>\n", LEFT - 5, y + 4,
                h->layer[i] < 0 ? "–" : label);
        last = y;
    }
    fprintf(f, "<text class=\"mid\" transform=\"translate(12,%.1f) rotate(-90)\">layer</text>\n",
            h->top + h->layers * h->height / 2);
}

static void put_steps(FILE *f, double y)
{
    for (int i = 0; i <= STEPS; i++) {
        double x = LEFT + i * 56.0;
        fprintf(f,
                "<path fill=\"currentColor\" fill-opacity=\"%.2f\" d=\"M%.1f,%.1fh52v10h-52z\"/>"
                "<text class=\"mid\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
                shades[i], x, y, x + 26, y + 24, step_names[i]);
    }
}

static void lay_out(struct heat *h, const struct bisection *b)
{
    size_t longest = 4;
    int row, column;

    for (int i = 0; i < b->n; i++)
        place_entry(h, &b->table[i], &row, &column);
    for (int k = 0; k < h->operations; k++)
        longest = strlen(h->operation[k]) > longest ? strlen(h->operation[k]) : longest;
    h->top = 30 + 6.9 * (double)(longest < MOST_NAME ? longest : MOST_NAME);
    h->width = h->operations > 8 ? (double)(WIDTH - LEFT - RIGHT) / h->operations : 48;
    h->height = h->layers > 40 ? 9 : h->layers > 24 ? 12 : 15;
}

/* Draws a map of own errors, or of the errors of the worst channel. */
static void put_map(FILE *f, const struct bisection *b, bool own, const char *title, const char *caption)
{
    struct heat h = {0};
    int row, column;

    lay_out(&h, b);
    double bottom = h.top + h.layers * h.height;
    fprintf(f, "<figure>\n<h3>%s</h3>\n", title);
    svg_begin(f, WIDTH, (int)bottom + 66, false, title);
    put_names(f, &h);
    fputs("<g class=\"s0 heat\">\n", f);
    for (const carat_operation_error *e = b->table; e < b->table + b->n; e++)
        if (place_entry(&h, e, &row, &column))
            put_cell(f, &h, e, own ? e->own : e->channel_error, LEFT + column * h.width,
                     h.top + row * h.height, b->n <= MOST_NAMED);
    put_steps(f, bottom + 10);
    fprintf(f,
            "</g>\n<text class=\"mid\" x=\"%.1f\" y=\"%.1f\">‖test − ref‖ / ‖ref‖, a cross where it is "
            "flagged</text>\n",
            LEFT + (WIDTH - LEFT - RIGHT) / 2.0, bottom + 54);
    svg_end(f);
    fprintf(f, "<figcaption>%s</figcaption>\n</figure>\n", caption);
}

/* ---- what is flagged ---- */

static void put_operation(FILE *f, const carat_operation_error *e)
{
    if (e->layer >= 0)
        fprintf(f, "layer %d, ", e->layer);
    report_words(f, words_of(e->operation));
}

static void put_flagged(FILE *f, const struct bisection *b)
{
    int n = 0;
    char own[NUMBER_TEXT], carried[NUMBER_TEXT], channel[NUMBER_TEXT];

    fputs("<table class=\"cards\"><thead><tr><th>flagged, in the order of a pass</th><th>tensor</th><th>own "
          "error</th>"
          "<th>carried</th><th>channel</th><th>its error</th></tr></thead>\n<tbody>\n",
          f);
    for (const carat_operation_error *e = b->table; e < b->table + b->n; e++) {
        if (!e->flagged || n++ >= MOST_FLAGGED)
            continue;
        fputs("<tr><th scope=\"row\">", f);
        put_operation(f, e);
        fputs("</th><td data-l=\"tensor\">", f);
        report_words(f, words_of(e->tensor));
        fprintf(f,
                "</td><td data-l=\"own error\">%s</td><td data-l=\"carried\">%s</td><td "
                "data-l=\"channel\">%d</td><td data-l=\"its error\">%s</td></tr>\n",
                number_text(own, e->own, 3), number_text(carried, e->carried, 3), e->channel,
                number_text(channel, e->channel_error, 3));
    }
    fputs("</tbody></table>\n", f);
    if (n > MOST_FLAGGED)
        fprintf(f, "<p class=\"soft\">and %d more</p>\n", n - MOST_FLAGGED);
}

void report_bisection(FILE *f, const struct bisection *b)
{
    fputs("<section>\n<h2>Where it begins</h2>\n<p>", f);
    if (*b->failed) {
        report_words(f, words_of(b->failed));
        fputs(".", f);
    } else if (b->flagged) {
        fputs("The first operation that stands out: ", f);
        put_operation(f, b->flagged);
        fprintf(f, ", channel %d: ", b->flagged->channel);
        report_words(f, words_of(b->flagged->reason));
        fputs(".", f);
    } else {
        fputs("No operation stands out.", f);
    }
    fputs("</p>\n<p class=\"soft\">Each operation was given the reference's own inputs, so that an error "
          "shows where it is "
          "made and nowhere behind.</p>\n",
          f);
    if (b->flagged)
        put_flagged(f, b);
    if (b->n > 0) {
        fputs("<div class=\"plots\">\n", f);
        put_map(
            f, b, true, "Own error of each operation",
            "Look for a cell that is stronger than its column: the same operation does better in the other "
            "layers. Whole columns are strong where matrices are stored in fewer bits.");
        put_map(f, b, false, "Error of the worst channel",
                "Look for single strong cells: one damaged row of a matrix hardly moves the error over all, "
                "but its "
                "channel is wrong.");
        fputs("</div>\n", f);
    }
    fputs("</section>\n", f);
}
