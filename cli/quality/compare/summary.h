/* SPDX-License-Identifier: Apache-2.0 */
/* summary.h: what the lines of results say together. QUALITY.md has the formats. */
#ifndef SUMMARY_H
#define SUMMARY_H

#include <jansson.h>

#include "carat_quality.h"

/* Reads the lines from the beginning; memory grows by some bytes a prompt, the rest lies in temporary files.
 * *summary has everything but "timings". An exit code. */
int summary_make(FILE *results, const carat_quality_limits *limits, json_t **summary);
/* As text with numbers in 17 digits; NULL when memory is out. */
char *summary_text(const json_t *summary);

/* An unlinked file in TMPDIR. An exit code. */
int spill_file(FILE **file);

/* compare_table.c: the summary in as many columns as the terminal has, at most 80, the verdict first. */
int summary_print(const json_t *summary);

#endif
