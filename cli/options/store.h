/* SPDX-License-Identifier: Apache-2.0 */
/* store.h: from the text of a value to the field that keeps it. Numbers are taken strictly: the whole word,
 * in range, or an exit code with the option's name. */
#ifndef OPTIONS_STORE_H
#define OPTIONS_STORE_H

#include "options/table.h"

/* Memory for all groups, and defaults in them. An exit code. */
int options_begin(struct options *o, const struct verb *verb);
/* The field that keeps the value of a row. */
void *option_field(const struct options *o, const struct option_row *row);
/* Puts a value into its field; what names the origin in messages ("option --temp", "CARAT_ARG_TEMP"). An exit
 * code. */
int option_store(struct options *o, const struct option_row *row, const char *what, const char *text);
/* Could the word be a value of an option that may stand alone? */
bool is_value(const struct option *option, const char *word);

#endif
