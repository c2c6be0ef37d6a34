/* SPDX-License-Identifier: Apache-2.0 */
/* columns.h: how wide a terminal is. */
#ifndef TERM_COLUMNS_H
#define TERM_COLUMNS_H

/* Columns of the terminal behind a descriptor; 0 when there is none, or it does not say. */
int terminal_columns(int fd);
/* How many columns text for this descriptor may have: COLUMNS, or those of its terminal, else 80; never below
 * 20. */
int columns_of(int fd);

#endif
