/* SPDX-License-Identifier: Apache-2.0 */
/* bench_table.h: a markdown table as wide as what is in it. */
#ifndef BENCH_BENCH_TABLE_H
#define BENCH_BENCH_TABLE_H

#include "term/message.h"

enum { MOST_COLUMNS = 12, MOST_ROWS = 129, CELL = 48 };

struct table {
    int columns, cells;
    const char *title[MOST_COLUMNS]; /* a colon at its end aligns to the right */
    int width[MOST_COLUMNS];
    char cell[MOST_ROWS * MOST_COLUMNS][CELL];
};
/* titles are ended by NULL. */
void table_begin(struct table *t, const char *const *titles);
void table_cell(struct table *t, const char *format, ...) PRINTF(2, 3);
/* Nothing where there is nothing to say: the number is NAN or not above 0. */
void table_number(struct table *t, const char *format, double value);
void table_print(struct table *t);
/* The same in steps, for rows that come one by one: the widths, out of all that stands there; the titles; a
 * row. */
void table_measure(struct table *t);
void table_head(const struct table *t);
void table_row(const struct table *t, int row);

#endif
