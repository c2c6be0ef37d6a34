/* SPDX-License-Identifier: Apache-2.0 */
/* job.h: a request on its way through the threads, with the reply that grows meanwhile. The thread of the
 * connections makes it and hands it over; whoever has it then writes the reply, and with job_end gives it
 * back. What both use at once stands under the lock, or is atomic. */
#ifndef JOB_H
#define JOB_H

#include <stdatomic.h>
#include <uv.h>

#include "buffer.h"
#include "refusal.h"

struct request;
struct connection;
struct server;
struct route;
struct surface;

enum { ID_BYTES = 28, MOST_OWED = 256 << 10 };

struct job {
    struct server *server;
    const struct route *route;
    const struct surface *surface; /* the route's, until the body or the query says otherwise */
    struct buffer body;
    char id[ID_BYTES];     /* of the request, in hexadecimal digits */
    char rest[256];        /* of the path, at the * of the route's */
    char query[128];       /* of the path, cut where it is longer */
    atomic_bool cancelled; /* nobody waits for the reply any more */
    atomic_bool silent;    /* no token has come yet: pings tell the client that it is alive */

    uv_mutex_t lock;
    struct buffer out;    /* of the body; whoever sends it takes it away */
    struct buffer fields; /* further lines of the head */
    int status;
    const char *type; /* of the body; static */
    bool versioned;   /* the request has Anthropic's version */
    bool google;      /* it has a key of Google's */
    bool begun;       /* status, type and fields stand */
    bool streams;     /* the body goes out as it comes */
    bool ended;       /* nobody but the connections' thread has it any more */
    bool broken;      /* a stream whose last event is a refusal: the connection ends behind it */

    struct request *request; /* of those who answer; NULL: it is not prepared */
    struct job *next;        /* in a queue */

    struct connection *connection; /* of the connections' thread, as its lists; NULL: it has gone */
    struct job *next_active;
};

/* NULL without memory. */
struct job *job_create(struct server *server, const struct route *route);
void job_free(struct job *job);
void job_free_body(struct job *job); /* nobody reads it any more */

/* The head of a reply whose body comes piece by piece, or when it is whole. */
void job_begin(struct job *job, int status, const char *type, bool streams);
/* A line of the head, before it is begun; the value is cut at bytes that may not stand there. */
void job_field(struct job *job, const char *name, const char *value);
/* A line of the head that says when there may be room, where it is refused for want of that. */
void job_retry(struct job *job, const struct refusal *r);
/* The reply is a refusal in the shape of the route's surface. Of a stream that has begun it is the last
 * event. */
void job_refuse(struct job *job, const struct refusal *r);
/* The reply is complete, and the job given back. */
void job_end(struct job *job);
/* Tells the connections' thread to look. */
void job_wake(struct job *job);

/* ---- jobs that wait for a thread, first come, first served ---- */

struct job_queue {
    uv_mutex_t lock;
    uv_cond_t some;
    struct job *first, **last;
    bool closed;
};

int job_queue_open(struct job_queue *q);                  /* nonzero: it could not */
bool job_queue_put(struct job_queue *q, struct job *job); /* false: it is closed */
/* Takes the first one; waits for one unless `waits` is false. NULL: there is none, or the queue is closed and
 * empty. */
struct job *job_queue_take(struct job_queue *q, bool waits);
/* No further job comes. */
void job_queue_close(struct job_queue *q);
void job_queue_free(struct job_queue *q);

#endif
