/* SPDX-License-Identifier: Apache-2.0 */
/* columns.h: how wide a terminal is. */
#ifndef TERM_COLUMNS_H
#define TERM_COLUMNS_H

enum { USUAL_COLUMNS = 80 }; /* where nobody says how many */

/* Columns of the terminal behind a descriptor; 0 when there is none, or it does not say. */
int terminal_columns(int fd);
/* The number of columns that text for this descriptor may have: COLUMNS, or those of its terminal, never
 * below 20; or `otherwise` where neither says how many. */
int columns_of(int fd, int otherwise);

#endif
