/* SPDX-License-Identifier: Apache-2.0 */
/* server.h: a model served over HTTP. Whoever serves opens the model, makes the engine, and ignores SIGPIPE,
 * as programs must that write to sockets. */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "carat.h"

/* What the host allows a request to cost, and all of them together. */
struct server_limits {
    uint64_t body, bodies;  /* bytes of a request, and of all that have not been read yet */
    int messages, tools, n; /* n: answers to a request, at most MOST_CHOICES */
    int waiting, wait;      /* requests that have no place yet, and seconds until the last one has */
    int connections;
};

struct server_options {
    const carat_model *model;
    carat_engine *engine;
    const char *name;          /* of the model, in replies */
    const char *chat_template; /* as in carat_render_options; NULL: the model's own */
    const char *host;          /* "127.0.0.1", "::1" or "localhost" */
    int port;                  /* 0: any that is free */
    bool ollama;               /* listens at the port of Ollama too */
    int parallel;              /* answers at once: sessions that the engine has */
    bool strict;               /* refuses fields that nobody knows */
    bool strict_model;         /* and names of models other than this one */
    bool keeps_half_closed;    /* answers in one piece those who have closed their side, too */
    int default_tokens;        /* of an answer whose request says no number; 0: to the end of the context */
    int drain_delay;           /* seconds from a signal to the end of listening */
    struct server_limits most;
    /* Told once it listens: where, without a / at the end; ollama: where Ollama's clients look first, if it
     * listens there, else the same. */
    void (*listening)(void *user, const char *url, const char *ollama);
    /* Told before, where there are descriptors for fewer connections than most.connections: for how many, of
     * how many descriptors. NULL: nobody is told. */
    void (*short_of)(void *user, int connections, long descriptors);
    void *user;
};

enum server_result {
    SERVER_ENDED,   /* a signal asked for it, and every answer under way was given */
    SERVER_CUT,     /* a second signal came */
    SERVER_NO_BIND, /* the address is another's, or not this machine's */
    SERVER_FAILED,
};

/* Whether this host may be listened at: as long as there are no keys, only this machine's own. */
bool server_takes_host(const char *host);
/* Serves until a signal ends it. message gets one sentence where it returns NO_BIND or FAILED; *signal the
 * one that cut it. */
enum server_result server_run(const struct server_options *options, int *signal, char message[256]);

#endif
