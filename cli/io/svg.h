/* SPDX-License-Identifier: Apache-2.0 */
/* svg.h: what pictures of the command share: text that may stand in XML, decimal steps, axes with ticks,
 * marks, and colours that follow the reader's light or dark scheme. What is drawn into the axes is left to
 * who draws. */
#ifndef SVG_H
#define SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Inside the axes, in pixels of the picture. */
struct svg_field {
    double x, y, width, height;
};

enum { SVG_COLORS = 6, SVG_MARKS = 6 };

/* Classes: grid, axis, line, limit, whisker and mark; s0 to s5 give what is inside a colour; end and mid
 * anchor text; title, head and key are text that matters more. */
extern const char svg_style[];

/* Alone: a file of its own, with the style, its size and paper; else it stands in a page that has the
 * style, and is as wide as that allows. */
void svg_begin(FILE *f, int width, int height, bool alone, const char *title);
void svg_end(FILE *f);
/* Writes text. Bytes that are not UTF-8 become U+FFFD, control characters and what XML forbids become
 * spaces. */
void svg_text(FILE *f, const char *s);
/* A character of XML text: escaped where it must be. */
void svg_char(FILE *f, char c);
/* The character that begins at s, of n bytes and valid UTF-8: how many bytes it has. */
int svg_decode(const char *s, size_t n, uint32_t *code);

/* The least of 1, 2, 5 times a power of ten that makes at most `most` steps. */
double svg_step(double range, int most);
/* A tick with its label; svg_tick_y also draws a line through the field. x and y are pixels. */
void svg_tick_x(FILE *f, const struct svg_field *in, double x, const char *label);
void svg_tick_y(FILE *f, const struct svg_field *in, double y, const char *label);
/* The lower axis and what both say; that of the left one stands `aside` of it. */
void svg_axes(FILE *f, const struct svg_field *in, const char *below, const char *left, double aside);
/* A shape for each of SVG_MARKS series, so that colours are not needed to tell them apart. */
void svg_mark(FILE *f, int shape, double x, double y);

#endif
