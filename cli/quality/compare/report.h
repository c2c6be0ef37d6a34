/* SPDX-License-Identifier: Apache-2.0 */
/* report.h: results and their summary as a page for people. QUALITY.md says how to read it. */
#ifndef REPORT_H
#define REPORT_H

#include <stdio.h>

#include "quality/compare/summary.h"

/* Writes the page whole or not at all. results are read from their beginning, line by line; nothing of the
 * summary's "timings" is used. An exit code. */
int report_write(const char *path, FILE *results, const struct summary *summary);

#endif
