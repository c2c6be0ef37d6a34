/* bench_table.c: a markdown table whose columns are as wide as what stands in them. */
#include <stdio.h>
#include <string.h>

#include "bench.h"

/* Characters, not bytes: a cell may hold a plus-minus sign. */
static int width_of(const char *s)
{
    int n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
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

/* The text of a title, and whether its column is aligned to the right. */
static bool to_right(const char *title, int *n)
{
    *n = (int)strlen(title);
    if (title[*n - 1] != ':')
        return false;
    --*n;
    return true;
}

static void print_cell(const char *text, int n, int blanks, bool right)
{
    if (right)
        out_print(" %*s%.*s |", blanks, "", n, text);
    else
        out_print(" %.*s%*s |", n, text, blanks, "");
}

void table_print(const struct table *t)
{
    int width[MOST_COLUMNS], n;

    for (int c = 0; c < t->columns; c++) {
        to_right(t->title[c], &width[c]);
        for (int i = c; i < t->cells; i += t->columns)
            width[c] = width_of(t->cell[i]) > width[c] ? width_of(t->cell[i]) : width[c];
    }
    out_print("|");
    for (int c = 0; c < t->columns; c++) {
        bool right = to_right(t->title[c], &n);
        print_cell(t->title[c], n, width[c] - n, right);
    }
    out_print("\n|");
    for (int c = 0; c < t->columns; c++) {
        bool right = to_right(t->title[c], &n);
        out_print(" ");
        for (int i = 0; i < width[c] - right; i++)
            out_print("-");
        out_print(right ? ": |" : " |");
    }
    for (int i = 0; i < t->cells; i++) {
        int c = i % t->columns;
        const char *cell = t->cell[i];
        out_print(c == 0 ? "\n|" : "");
        print_cell(cell, (int)strlen(cell), width[c] - width_of(cell), to_right(t->title[c], &n));
    }
    out_print("\n");
}
