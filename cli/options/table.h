/* SPDX-License-Identifier: Apache-2.0 */
/* table.h: the rows of all groups as one table, in the order of help. */
#ifndef OPTIONS_TABLE_H
#define OPTIONS_TABLE_H

#include "options/options.h"

/* A row, and the group whose struct its field is in; N_GROUPS: struct options itself. */
struct option_row {
    const struct option *option;
    int group;
};
enum { MOST_OPTIONS = 512 };

/* Puts the table together, once, before anything reads it; groups are in the order of lists.h. */
void table_assemble(const struct option_group *const groups[N_GROUPS]);
/* Ended by one whose option is NULL. */
const struct option_row *table_rows(void);
/* Which place a row has among them; which struct a group has. */
int table_place(const struct option_row *row);
const struct option_group *table_group(int group);

/* Is the verb one of these words (option.h says which)? SELDOM: behind a /. */
enum belongs { NOT_THERE, SELDOM, OFTEN };
enum belongs verb_belongs(const char *words, const struct verb *verb);
/* The verb's option of that spelling of n bytes; NULL when there is none. */
const struct option_row *option_find(const struct verb *verb, const char *name, size_t n);
const struct option_row *option_named(const struct verb *verb, const char *name);
/* The section of help that has it. */
const char *section_title(const struct option *option);
/* May its value be left out? */
bool may_stand_alone(const struct option *option);
/* "-n, --predict N" as help and man pages head it; out. No heading, help or list of choices of a row is cut:
 * a test holds all of them against these sizes. */
enum { HEADING_TEXT = 256 };
const char *option_heading(char out[HEADING_TEXT], const struct option *option);
/* The text of help about an option; returns out. */
enum { HELP_TEXT = 512 };
const char *option_help(char out[HELP_TEXT], const struct option *option);

/* Is the word one of the choices "a|b|c"? */
bool is_choice(const char *choices, const char *word);
/* "a, b, c" for messages, those that are shown; out. */
enum { CHOICES_TEXT = 256 };
const char *choices_text(char out[CHOICES_TEXT], const char *choices);
/* The number of bytes of them that are shown. */
size_t choices_shown(const char *choices);

/* ---- compat.c ---- */

/* Options of other programs that are none here. */
struct foreign;
/* NULL when the word of n bytes is not one of them. */
const struct foreign *foreign_find(const char *word, size_t n);
/* Accepts it, or says why not. name is the spelling, attached what followed a = or NULL, next the word after
 * it or NULL; *took_next is set when that was its value. An exit code. */
int foreign_take(const struct foreign *f, const char *verb, const char *name, const char *attached,
                 const char *next, bool *took_next);

#endif
