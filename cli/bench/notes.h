/* SPDX-License-Identifier: Apache-2.0 */
/* notes.h: what may explain or distort the figures of a test, in words. */
#ifndef BENCH_NOTES_H
#define BENCH_NOTES_H

#include "bench/bench.h"

void bench_judge(const struct bench *b, struct test *t);
/* A cause in words, of tests in which it lies from low to high. */
void bench_note(char *out, size_t capacity, enum cause cause, double low, double high);
void bench_print_notes(const struct bench *b);

#endif
