/* SPDX-License-Identifier: Apache-2.0 */
/* routes.h: what is asked for, by method and path, and the surfaces: the conventions of one family of
 * clients. */
#ifndef ROUTES_H
#define ROUTES_H

#include "carat_generate.h"
#include "http1.h"
#include "job.h"

/* What the words of an answer look like. All write under the job's lock. */
struct surface {
    const char *stream_type; /* Content-Type of an answer that comes piece by piece */
    void (*refuse)(struct buffer *out, const struct refusal *r);
    void (*refuse_stream)(struct job *job, const struct refusal *r);
    void (*ping)(struct job *job); /* while a stream has no token yet */
    int busy;                      /* the status when too many requests wait already */
};

/* How an answer is written, by those who draw it. All are called under the job's lock. */
struct writer {
    void (*begin)(struct job *job);                                       /* a stream begins */
    void (*given)(struct job *job, int choice, const carat_given *given); /* an id of a choice */
    void (*finish)(struct job *job, int choice); /* of a stream: a choice has ended, and all of it is known */
    void (*end)(struct job *job);                /* all choices have */
};

struct route {
    enum http1_method method;
    const char *path; /* a pattern of paths.h */
    const struct surface *surface;
    /* Answers at once, on the connections' thread, by job_begin and job->out; NULL: */
    void (*answer)(struct job *job, struct text path);
    /* Makes job->ask of job->body, on the preparing thread. False: *r says why not. */
    bool (*prepare)(struct job *job, struct refusal *r);
};

/* NULL: there is none. *allowed gets the methods that the path has otherwise, as bits; 0: no such path. */
const struct route *route_find(enum http1_method method, struct text path, unsigned *allowed);
/* The surface that a path without a route would have. */
const struct surface *route_surface(struct text path);

extern const struct surface surface_openai;

/* ---- inspect.c ---- */

/* Routes that draw nothing: between text and ids, what a conversation becomes, what is served. They are
 * those of llama.cpp's and vLLM's clients. */

/* A route's prepare. */
bool inspect_tokenize(struct job *job, struct refusal *r);
bool inspect_detokenize(struct job *job, struct refusal *r);
bool inspect_template(struct job *job, struct refusal *r); /* the text of a chat completion's prompt */
bool inspect_render(struct job *job, struct refusal *r);   /* its ids and settings */
bool inspect_count(struct job *job, struct refusal *r);    /* the number of its ids */
bool inspect_tokenizer(struct job *job, struct refusal *r);
bool inspect_props(struct job *job, struct refusal *r);
/* A route's answer. */
void inspect_slots(struct job *job, struct text path);

/* ---- evaluate.c ---- */

/* Prompts that are evaluated now, so that an answer to them begins at once later. */

/* A route's prepare. The body is one that a route takes which draws, as explain.h has it. */
bool server_evaluate(struct job *job, struct refusal *r);

#endif
