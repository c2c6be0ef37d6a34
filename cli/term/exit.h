/* SPDX-License-Identifier: Apache-2.0 */
/* exit.h: the exit codes of the command; `carat help` prints them. */
#ifndef TERM_EXIT_H
#define TERM_EXIT_H

enum {
    DONE = 0,
    FAILED = 1,
    USAGE = 2,
    NOT_FOUND = 3,
    BAD_MODEL = 4,
    NO_MEMORY = 5,
    NO_CONNECTION = 6,
    CHECK_FAILED = 7,
    INTERRUPTED = 130,
    PIPE_CLOSED = 141,
};

/* A step of several: ends the caller with its exit code unless that is DONE. */
#define TRY(step)                                                                                            \
    do {                                                                                                     \
        const int try_ = (step);                                                                             \
        if (try_ != DONE)                                                                                    \
            return try_;                                                                                     \
    } while (0)

#endif
