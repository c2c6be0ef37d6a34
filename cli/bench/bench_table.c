/* SPDX-License-Identifier: Apache-2.0 */
/* bench_table.c: a markdown table whose columns are as wide as what stands in them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "term/output.h"

/* Characters, not bytes: a cell may hold a plus-minus sign. */
static int width_of(const char *s, int n_bytes)
{
    int n = 0;

    for (int i = 0; i < n_bytes; i++)
        n += ((unsigned char)s[i] & 0xc0) != 0x80;
    return n;
}

void table_begin(struct table *t, const char *const *titles)
{
    t->columns = t->cells = 0;
    while (titles[t->columns]) {
        t->title[t->columns] = titles[t->columns];
        t->columns++;
    }
}

void table_cell(struct table *t, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (t->cells < MOST_ROWS * MOST_COLUMNS)
        vsnprintf(t->cell[t->cells++], CELL, format, args);
    va_end(args);
}

void table_number(struct table *t, const char *format, double value)
{
    char text[CELL] = "";

    if (value > 0)
        snprintf(text, sizeof text, format, value);
    table_cell(t, "%s", text);
}

/* The bytes of a title's text, and whether its column is aligned to the right. */
static bool to_right(const char *title, int *n)
{
    *n = (int)strlen(title);
    if (title[*n - 1] != ':')
        return false;
    --*n;
    return true;
}

/* n bytes of text in a column so wide; a column of no width has nothing in it and is left out. */
static void print_cell(const char *text, int n, int width, bool right)
{
    int blanks = width - width_of(text, n);

    if (width == 0)
        return;
    if (right)
        out_print(" %*s%.*s |", blanks, "", n, text);
    else
        out_print(" %.*s%*s |", n, text, blanks, "");
}

void table_measure(struct table *t)
{
    for (int c = 0; c < t->columns; c++) {
        int n, title, most = 0;
        to_right(t->title[c], &n);
        title = width_of(t->title[c], n);
        for (int i = c; i < t->cells; i += t->columns) {
            n = width_of(t->cell[i], (int)strlen(t->cell[i]));
            most = n > most ? n : most;
        }
        t->width[c] = most == 0 ? 0 : most > title ? most : title;
    }
}

void table_head(const struct table *t)
{
    static const char dashes[] = "------------------------------------------------";

    for (int line = 0; line < 2; line++) {
        out_print("|");
        for (int c = 0; c < t->columns; c++) {
            int n, width = t->width[c];
            bool right = to_right(t->title[c], &n);
            if (line == 0)
                print_cell(t->title[c], n, width, right);
            else if (width)
                out_print(" %.*s%s |", width - right, dashes, right ? ":" : "");
        }
        out_print("\n");
    }
}

void table_row(const struct table *t, int row)
{
    int n;

    out_print("|");
    for (int c = 0; c < t->columns; c++) {
        const char *cell = t->cell[row * t->columns + c];
        bool right = to_right(t->title[c], &n);
        print_cell(cell, (int)strlen(cell), t->width[c], right);
    }
    out_print("\n");
}

void table_print(struct table *t)
{
    table_measure(t);
    table_head(t);
    for (int row = 0; row < t->cells / t->columns; row++)
        table_row(t, row);
}
