/* SPDX-License-Identifier: Apache-2.0 */
/* running.h: a file that is coming, by one connection or several. Each takes a piece of it; the pieces run
 * ahead in memory and are written in order, so that the disk always has a plain beginning. Whoever calls has
 * the lock of them all (download.c). */
#ifndef FETCH_RUNNING_H
#define FETCH_RUNNING_H

#include "hasher.h"
#include "store.h"

enum {
    PIECE_BYTES = 4 << 20,
    MOST_AHEAD = 8,  /* pieces in memory, of all files together */
    MOST_PIECES = 16 /* of a file: those in memory, and those that connections write through */
};

/* The memory of pieces. */
struct ahead {
    unsigned char *spare[MOST_AHEAD];
    int n_spare, used;
};

struct piece {
    bool taken;
    int64_t from, until; /* until: behind its last byte */
    int64_t have, put;   /* bytes of it that have come, and that are written */
    unsigned char *data; /* [PIECE_BYTES] where it runs ahead, else NULL */
};

enum running_state {
    RUNNING_OPENING, /* perhaps another process has the lock */
    RUNNING_FRESH,   /* nothing is known of the server yet: one piece at most */
    RUNNING_PIECES,  /* it sends parts */
    RUNNING_WHOLE,   /* it does not: one piece is the whole file */
    RUNNING_ENDING,  /* all has come, and is checked */
};

struct running {
    struct wanted *w; /* NULL: nothing */
    enum running_state state;
    struct part part;
    struct hasher *hasher; /* NULL where nobody says what the hash should be, nor hears the bytes */
    struct tap *tap;       /* of the plan, or NULL */
    int generation;        /* counts how often it began again */
    int workers;           /* that have a piece */
    int restarts;          /* without a new byte */
    bool only_whole;       /* parts were asked for in vain */
    bool again;            /* what has come is wrong: once no worker has a piece, it begins again */
    int64_t next;          /* the first byte that nobody has taken */
    char where[PLAN_PATH]; /* where the hub's answer led; "" is asked anew */
    char etag[136];        /* of the bytes there */
    struct piece piece[MOST_PIECES];
};

/* A piece of at most that many bytes; NULL: there is none now. */
struct piece *running_take(struct running *f, int64_t length, struct ahead *ahead);
/* Bytes of a piece, behind those that it has. A code of report.h. */
int running_put(struct running *f, struct piece *p, struct ahead *ahead, const void *data, size_t n);
/* The connection is done with its piece, whole or not. */
void running_give_back(struct running *f, struct piece *p, struct ahead *ahead);
/* Hashes what is there, and what will be. */
int running_hash(struct running *f);
/* Everything that has come goes; no worker has a piece. */
int running_again(struct running *f, struct ahead *ahead);
void running_drop(struct running *f, struct ahead *ahead);
void ahead_free(struct ahead *ahead);

#endif
