/* SPDX-License-Identifier: Apache-2.0 */
/* self_check.h: the same answer computed again and again, on every processor in turn, with a hash of what
 * each operation gives: a processor, or memory, that gets one bit wrong once is found, with what it
 * computed. */
#ifndef MODEL_SELF_CHECK_H
#define MODEL_SELF_CHECK_H

#include <stdbool.h>

#include "carat_receipt.h"
#include "options/options.h"

enum { MOST_PROCESSORS = 1024 };

/* A run that gave something else than the others. */
struct self_check_fault {
    int processor;  /* -1: which one is not known */
    long run;       /* from 1 */
    double seconds; /* since the start */
    int layer;      /* -1: of none */
    const char *operation;
};

/* The hashes of one run. */
struct self_check_hashes {
    carat_operation_hash *of; /* [n] */
    int n, capacity;
    bool confirmed; /* they are what was drawn from, token by token */
    struct self_check_fault of_run;
};

/* Starts from {0}; what is first is the caller's. */
struct self_check {
    long rounds;                            /* runs on each processor; 0: until the time is over */
    double limit;                           /* seconds */
    int (*watch)(void *user, double share); /* of all; nonzero ends it */
    void (*tell)(void *user, const struct self_check_fault *fault);
    void *user;

    carat_engine *engine;
    carat_receipt *receipt;
    int processor[MOST_PROCESSORS], n_processors;
    struct self_check_hashes right, other, now; /* other: the first that is not right */
    bool elsewhere;                             /* what is right was computed on more than one processor */
    bool varies;                                /* what is not right is not always the same */
    /* One processor gave what is taken as right, and the others the same other thing each time: nobody can
     * say which of the two is wrong. */
    bool undecided;
    bool no_memory; /* for hashes */
    long runs, wrong;
    double start, seconds;
};

/* Engine and answer for it, by one thread. Exit codes. */
int self_check_open(struct self_check *c, const carat_model *model, const char *isa);
/* All runs; what went wrong is told, and counted in c->wrong. */
int self_check_run(struct self_check *c);
void self_check_close(struct self_check *c);

/* self_check_print.c: all of it, with a bar and what it says. A model that is not open yet is opened. */
int self_check(const struct options *o, long rounds, double limit, bool json);

#endif
