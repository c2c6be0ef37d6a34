/* pool.h: a fixed set of threads that run one job after another. Workers spin for a short while, then
 * sleep on a futex. The pool says who computes, never what: results must not depend on it. */
#ifndef CT_POOL_H
#define CT_POOL_H

#include "base/base.h"

struct ct_pool;

/* threads >= 1 counts the caller; threads - 1 workers are started. Every worker sets the floating-point
 * environment of NUMERICS.md section 2. */
carat_status ct_pool_create(struct ct_pool **pool, int threads, carat_error *err);
void ct_pool_destroy(struct ct_pool *pool); /* NULL is fine */
int ct_pool_threads(const struct ct_pool *pool);

/* Calls fn(arg, item, thread) once for every item in [0, items), items claimed one at a time by whoever is
 * free, thread in [0, threads). Returns when all are done. Allocates nothing. */
void ct_pool_run(struct ct_pool *pool, int items, void (*fn)(void *arg, int item, int thread), void *arg);

#endif
