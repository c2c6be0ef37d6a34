/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h: a fixed set of threads that run one job after another. Workers spin for a short while, then
 * sleep on a futex. The pool says who computes, never what: results must not depend on it.
 *
 * Cancelling happens here (ct_pool_watch): the calling thread asks when a job begins and every 5 ms whether
 * to stop, and long items look at the flag. A stopped pool does no more work, so that a pass or the packing
 * of weights reaches its end in microseconds, without code of its own for it. A stopped pass advances no
 * session. */
#ifndef CT_POOL_H
#define CT_POOL_H

#include "base/base.h"

struct ct_pool;

/* threads >= 1 counts the caller; threads - 1 workers are started. Every worker sets the floating-point
 * environment of NUMERICS.md section 2. */
carat_status ct_pool_create(struct ct_pool **pool, int threads, carat_error *err);
/* The same for who has asked ct_os_cpus; processors 0: he has not. */
carat_status ct_pool_create_on(struct ct_pool **pool, int threads, int processors, carat_error *err);
void ct_pool_destroy(struct ct_pool *pool); /* NULL is fine */
int ct_pool_threads(const struct ct_pool *pool);

/* Calls fn(arg, item, thread) once for every item in [0, items), items claimed one at a time by whoever is
 * free, thread in [0, threads). Returns when all are done. Allocates nothing. */
void ct_pool_run(struct ct_pool *pool, int items, void (*fn)(void *arg, int item, int thread), void *arg);

/* Lets so many threads of the pool work, the caller included; the others sleep. Between jobs. */
void ct_pool_limit(struct ct_pool *pool, int threads);

/* Whether the next job may come late: a worker then waits awake some hundred microseconds, since waking it
 * would take as long. Holds until it is said otherwise. */
void ct_pool_wait_awake(struct ct_pool *pool, bool late);

/* From now on the thread that calls ct_pool_run asks stop(user) when a job begins and some hundred times a
 * second while it lasts. Once the answer is not 0 nothing is asked any more and no item begins: jobs end at
 * once, this one and all later ones, and what they leave is not whole. */
void ct_pool_watch(struct ct_pool *pool, int (*stop)(void *user), void *user);
/* Ends watching. False when the pool was stopped meanwhile. */
bool ct_pool_unwatch(struct ct_pool *pool);
/* For a loop inside a long item, and between jobs with thread 0: asks as above; false once the pool is
 * stopped. */
bool ct_pool_goes_on(struct ct_pool *pool, int thread);

#endif
