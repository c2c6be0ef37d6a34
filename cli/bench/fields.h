/* SPDX-License-Identifier: Apache-2.0 */
/* fields.h: results as fields for programs: CSV and JSON. */
#ifndef BENCH_FIELDS_H
#define BENCH_FIELDS_H

#include <stdbool.h>

#include <jansson.h>

#include "bench/bench.h"

/* format: "csv", "json", "jsonl"; what stands before the tests, test i, and what ends them. Exit codes. */
int bench_fields_begin(const char *format);
int bench_fields_test(const struct bench *b, int i, const char *format);
int bench_fields_end(const char *format);
/* Writes a result of another bench: an object, numbered from 0 on, whose scalars are the cells of CSV. Takes
 * the reference; an exit code. */
int bench_fields_object(json_t *object, int i, const char *format);
/* Is a field of a test what the older result has under that name? Yes, if it has none. */
bool bench_field_equal(const struct bench *b, const struct test *t, const char *name, const json_t *older);
void bench_note_field(const struct bench *b, const struct test *t, const char *name, const json_t *older,
                      const char *file);

#endif
