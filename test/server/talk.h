/* SPDX-License-Identifier: Apache-2.0 */
/* talk.h: a server in a thread of the test, clients that speak to it byte by byte, and what surfaces send and
 * get. Which library is behind the server is the test's choice. Whatever takes longer than it may ends the
 * test. */
#ifndef TEST_SERVER_TALK_H
#define TEST_SERVER_TALK_H

#include <pthread.h>
#include <stdbool.h>

#include "base/json_tree.h"
#include "server.h"

/* ---- servers ---- */

struct served {
    struct server_options
        options; /* model, engine and parallel, and most.bodies unless it is 0: the test's */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t told;
    int port; /* where it listens */
    enum server_result result;
    int signal;
    char message[256];
};

void serve_begin(struct served *s);
/* Sends SIGTERM, and waits until the server has ended. */
enum server_result serve_end(struct served *s);
enum server_result serve_wait(struct served *s); /* without the signal */
/* The server's clock goes on by so much at once; it looks at it four times a second. */
void serve_skip(int ms);
/* How often JSON was read so far. */
int serve_reads(void);
void sleep_ms(int ms);
/* Tries for ten seconds until it is true. */
bool soon(bool (*is_so)(const struct served *s), const struct served *s);
/* The body of a route, as the text "\"running\":0". */
bool is_told(const struct served *s, const char *path, const char *text);

/* ---- clients ---- */

int dial(const struct served *s);
int dial_small(const struct served *s); /* what is not read soon fills the connection */
void hang_up(int fd, bool resets);      /* resets: the server gets an RST */
void send_bytes(int fd, const char *bytes, size_t n);
void send_text(int fd, const char *text);
/* A request with a body; more: further lines of the head, each with its end, or "". */
void send_request(int fd, const char *method, const char *path, const char *more, const char *body);

struct reply {
    int status; /* 0: the connection ended before a head */
    char *head; /* terminated */
    char *body; /* [n], terminated; chunks are put together */
    size_t n;
    bool whole; /* its end was said, or the server closed where that is the end */
};

/* Reads the next reply; *r is for reply_free. */
void take_reply(int fd, bool has_body, struct reply *r);
void reply_free(struct reply *r);
/* Whether the server ends the connection, with nothing more to read. */
bool is_closed(int fd);
/* Sends a request on a connection of its own, and reads the reply. */
void ask(const struct served *s, const char *method, const char *path, const char *more, const char *body,
         struct reply *r);

/* ---- surfaces ---- */

/* Those behind KINDS say otherwise that they are streams, or have another body; read_told knows no streams of
 * those behind TOLD_KINDS. */
enum {
    CHAT,
    TEXT,
    MESSAGES,
    OLLAMA_CHAT,
    OLLAMA_GENERATE,
    KINDS,
    LLAMA = KINDS,
    GEMINI,        /* whole */
    GEMINI_EVENTS, /* in pieces */
    GEMINI_LIST,
    TOLD_KINDS,
    RESPONSES = TOLD_KINDS,
    PREPARE,
    EXPLAIN,
    VECTORS,
    OLLAMA_VECTORS,
    ALL_KINDS,
};

struct kind {
    const char *path;
    const char *body;  /* with the prompt and further members */
    const char *text;  /* keys that lead to the text in a piece of an answer, */
    const char *whole; /* and in the whole of it */
    bool events;       /* server-sent; else lines */
    const char *most;  /* the member that bounds the number of ids, where the test wants that; or NULL */
};
extern const struct kind kinds[ALL_KINDS];

/* Whether there are streams, or whole replies, of a kind, and the member of a body that asks for these. */
bool kind_gives(int kind, bool streams);
bool kind_streams(int kind, bool rather); /* rather, unless there is only the other */
const char *stream_of(int kind, bool streams);
/* Both of them: how it comes, and how many ids at most. */
void members_of(int kind, bool streams, int most, char members[120]);
/* The body of a request; free it. more: further members, each behind a comma, or "". */
char *body_of(int kind, const char *prompt, const char *more);
void ask_kind(const struct served *s, int kind, const char *prompt, const char *more, struct reply *r);

/* What a reply says. False: it is no JSON, or its frame is broken. Free text and last. */
struct told {
    char *text;  /* of the answer, all pieces together */
    char *last;  /* the last object */
    char *error; /* message of a refusal; NULL: there is none */
    size_t n;    /* bytes of text */
    int pieces;  /* with text */
    bool done;   /* said at the end of a stream */
};
bool read_told(int kind, const struct reply *r, bool streams, struct told *t);
void told_free(struct told *t);

#endif
