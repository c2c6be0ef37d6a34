/* SPDX-License-Identifier: Apache-2.0 */
/* svg.c: the parts of a picture that stand in every one: its frame, text, axes, marks, colours. */
#include "io/svg.h"

#include <math.h>
#include <string.h>

#include "term/utf8.h"

const char svg_style[] =
    "text{font-family:system-ui,-apple-system,'Segoe "
    "UI',Helvetica,Arial,sans-serif;font-size:12px;fill:#59636e}\n"
    ".paper{fill:#ffffff}.title{font-size:17px;font-weight:600}.head{font-size:14px;font-weight:600}\n"
    ".title,.head,.key{fill:#1f2328}.grid{stroke:#e4e8ec}.axis{stroke:#8b949e}\n"
    ".end{text-anchor:end}.mid{text-anchor:middle}\n"
    ".line,.limit,.whisker{fill:none;stroke:currentColor}.line{stroke-width:2}\n"
    ".limit{stroke-width:1.5;stroke-dasharray:6 4;opacity:.8}.whisker{stroke-width:1.2}\n"
    ".mark{fill:currentColor}\n"
    ".s0{color:#0b62c4}.s1{color:#c2500a}.s2{color:#1a7f37}.s3{color:#8250df}.s4{color:#b5156c}.s5{color:#"
    "6e6100}\n"
    "@media "
    "(prefers-color-scheme:dark){text{fill:#9198a1}.paper{fill:#0d1117}.title,.head,.key{fill:#f0f6fc}\n"
    ".grid{stroke:#262c36}.axis{stroke:#656c76}\n"
    ".s0{color:#58a6ff}.s1{color:#f0883e}.s2{color:#3fb950}.s3{color:#bc8cff}.s4{color:#ff7bb8}.s5{color:#"
    "d4c04a}}\n";

void svg_begin(FILE *f, int width, int height, bool alone, const char *title)
{
    fputs("<svg xmlns=\"http://www.w3.org/2000/svg\" ", f);
    if (alone)
        fprintf(f, "width=\"%d\" height=\"%d\" ", width, height);
    fprintf(f, "viewBox=\"0 0 %d %d\" role=\"img\">\n<title>", width, height);
    svg_text(f, title);
    fputs("</title>\n", f);
    if (alone)
        fprintf(f, "<style>\n%s</style>\n<rect class=\"paper\" width=\"%d\" height=\"%d\"/>\n", svg_style,
                width, height);
}

void svg_end(FILE *f)
{
    fputs("</svg>\n", f);
}

/* ---- text ---- */

void svg_char(FILE *f, char c)
{
    switch (c) {
    case '<':
        fputs("&lt;", f);
        break;
    case '>': /* "]]>" may not stand in text */
        fputs("&gt;", f);
        break;
    case '&':
        fputs("&amp;", f);
        break;
    default:
        fputc(c, f);
    }
}

int svg_decode(const char *s, size_t n, uint32_t *code)
{
    const unsigned char *u = (const unsigned char *)s;
    int more = u[0] < 0xc0 ? 0 : u[0] < 0xe0 ? 1 : u[0] < 0xf0 ? 2 : 3;

    if ((size_t)more >= n)
        more = 0;
    *code = more == 0 ? u[0] : u[0] & (0x3fu >> more);
    for (int i = 1; i <= more; i++)
        *code = *code << 6 | (u[i] & 0x3fu);
    return more + 1;
}

static void put_character(FILE *f, const char *s, int bytes, uint32_t code)
{
    if (code < 0x20 || code == 0x7f || code == 0xfffe || code == 0xffff)
        fputc(' ', f);
    else if (bytes == 1)
        svg_char(f, *s);
    else
        fwrite(s, 1, (size_t)bytes, f);
}

void svg_text(FILE *f, const char *s)
{
    size_t n = strlen(s);
    uint32_t code;

    for (size_t i = 0; i < n; i++) { /* each round ends at a byte that is not UTF-8 */
        size_t end = i + utf8_valid(s + i, n - i);
        while (i < end) {
            int bytes = svg_decode(s + i, end - i, &code);
            put_character(f, s + i, bytes, code);
            i += (size_t)bytes;
        }
        if (i < n)
            fputs("\xef\xbf\xbd", f);
    }
}

/* ---- axes ---- */

double svg_step(double range, int most)
{
    static const double mantissas[] = {1, 2, 5, 10};
    double power = pow(10, floor(log10(range / most))), step = power;

    for (int i = 0; i < 4 && range / step > most; i++)
        step = power * mantissas[i];
    return step;
}

void svg_tick_y(FILE *f, const struct svg_field *in, double y, const char *label)
{
    fprintf(f, "<path class=\"grid\" d=\"M%.1f,%.1fh%.1f\"/><text class=\"end\" x=\"%.1f\" y=\"%.1f\">",
            in->x, y, in->width, in->x - 8, y + 4);
    svg_text(f, label);
    fputs("</text>\n", f);
}

void svg_tick_x(FILE *f, const struct svg_field *in, double x, const char *label)
{
    double bottom = in->y + in->height;

    fprintf(f, "<path class=\"axis\" d=\"M%.1f,%.1fv5\"/><text class=\"mid\" x=\"%.1f\" y=\"%.1f\">", x,
            bottom, x, bottom + 19);
    svg_text(f, label);
    fputs("</text>\n", f);
}

void svg_axes(FILE *f, const struct svg_field *in, const char *below, const char *left, double aside)
{
    double bottom = in->y + in->height;

    fprintf(f, "<path class=\"axis\" d=\"M%.1f,%.1fh%.1f\"/>\n", in->x, bottom, in->width);
    fprintf(f, "<text class=\"mid\" x=\"%.1f\" y=\"%.1f\">", in->x + in->width / 2, bottom + 39);
    svg_text(f, below);
    fprintf(f, "</text>\n<text class=\"mid\" transform=\"translate(%.1f,%.1f) rotate(-90)\">", in->x - aside,
            in->y + in->height / 2);
    svg_text(f, left);
    fputs("</text>\n", f);
}

void svg_mark(FILE *f, int shape, double x, double y)
{
    static const char *const paths[SVG_MARKS] = {
        "m-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0",
        "m-3.6,-3.6h7.2v7.2h-7.2z",
        "m0,-5l5,5l-5,5l-5,-5z",
        "m0,-4.6l4.6,8.2h-9.2z",
        "m0,4.6l4.6,-8.2h-9.2z",
        "m-5,-1.6h10v3.2h-10z",
    };

    fprintf(f, "<path class=\"mark\" d=\"M%.1f,%.1f%s\"/>", x, y, paths[shape % SVG_MARKS]);
}
