/* SPDX-License-Identifier: Apache-2.0 */
/* connection.h: connections of clients, on the loop of one thread: bytes in, requests to those who answer,
 * replies out. */
#ifndef CONNECTION_H
#define CONNECTION_H

#include "http1.h"
#include "routes.h"
#include "state.h"

enum {
    MOST_LISTENERS = 2,
    MOST_AHEAD = 64 << 10, /* bytes of further requests that are kept while one is answered */
};

/* All connections of a server. */
struct hall {
    struct server *server;
    uv_tcp_t listeners[MOST_LISTENERS]; /* [n_listeners] */
    int n_listeners;
    uv_timer_t sweep;
    struct connection *first; /* linked by next, the oldest last */
    struct job *active;       /* linked by next_active: with their connections, or left by them */
    int n;
    char date[40];
    int64_t date_second;
    /* What replies call: the reply is out, and what came in meanwhile is next; the connection ends. */
    void (*replied)(struct connection *c);
    void (*close)(struct connection *c);
};

struct connection {
    uv_tcp_t tcp;
    uv_write_t write;
    uv_shutdown_t shutdown;
    struct hall *hall;
    struct connection *next, **link;
    struct http1 *reader; /* of the request that is coming in; NULL: none is */
    struct buffer body, ahead;
    struct job *job; /* of the reply under way; NULL: none is */
    struct buffer head, sending;
    char client_id[72];    /* the client's X-Request-Id */
    int minor;             /* of the request's version */
    bool keep_alive, bare; /* after this reply; the reply has no body */
    bool head_sent, writing, last_write;
    bool leaving; /* nothing but the end of what the client sends is waited for */
    bool closing;
    bool half_closed;
    uint64_t held;  /* since when no more of the body is read; 0: it is */
    uint64_t since; /* when what is waited for began */
    uint64_t sent;  /* when bytes last went out */
    size_t queued;  /* bytes that were not out then */
};

void hall_open(struct hall *h, struct server *s);
/* Begins to listen, besides where it does already; *got is the port that it got. A code of libuv. */
int hall_listen(struct hall *h, const char *host, int port, int *got);
/* No further connection, and those that wait for a request end. */
void hall_drain(struct hall *h);
/* Looks what replies have to send. */
void hall_look(struct hall *h);
/* Ends all connections at once. */
void hall_cut(struct hall *h);
/* Nobody is connected, and no job is under way. */
bool hall_is_empty(const struct hall *h);
/* The jobs that are left, when no thread has them any more. */
void hall_free_jobs(struct hall *h);

/* ---- reply.c: what goes out ---- */

/* Sends what the job of the connection has. */
void reply_advance(struct connection *c);
/* Answers what came in, or what is wrong with it. */
void reply_route(struct connection *c, const struct http1_head *head);
void reply_refuse(struct connection *c, const struct surface *surface, const struct refusal *r);
/* Nobody reads the body any more. */
void connection_free_body(struct connection *c);

#endif
