/* kcheck_bench.h: what kcheck's timing asks of its measuring loops. */
#ifndef KCHECK_BENCH_H
#define KCHECK_BENCH_H

#include "kcheck.h"

enum { KC_THREADS = 64 };

/* The kinds of multiplication of weights: f32 (and f16), bf16, int8, int8 by nibbles. */
enum kc_peak { KC_F32, KC_BF16, KC_INT8, KC_NIBBLES, KC_PEAKS };

double kc_now(void);
/* Runs work on so many threads at once; the seconds from the first to the last. */
double kc_together(int threads, void (*work)(void *arg, int id, int threads), void *arg);

/* Fresh zeros on whole pages. */
void *kc_map(size_t bytes);
void kc_unmap(void *p, size_t bytes);
/* Bytes that no cache holds for the next pass. */
size_t kc_beyond_caches(void);

/* GB/s of reading, and G operations/s of a level's multiplications; 0: not known for this level. */
double kc_bandwidth(int threads);
double kc_peak(const char *level, enum kc_peak what, int threads);

#endif
