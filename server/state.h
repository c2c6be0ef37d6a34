/* SPDX-License-Identifier: Apache-2.0 */
/* state.h: what the threads of a server share. */
#ifndef STATE_H
#define STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

#include "carat_embed.h"
#include "forms.h"
#include "job.h"
#include "server.h"
#include "stored.h"

/* ---- fingerprint.c ---- */

/* What the texts of answers depend on, as one word: the version, the arithmetic, the versions of its
 * rules, the type of K and V, and the hash of the model's content. Where no packed file says the hash, a
 * thread works it out, which leaves processors to all others. */

struct fingerprint {
    const carat_model *model;
    char text[160];
    int n; /* bytes of it without the hash */
    atomic_bool known, unwanted;
    bool has_thread;
    uv_thread_t thread;
};

/* Without memory or a thread it stays unknown. */
void fingerprint_begin(struct fingerprint *f, const carat_model *model, const carat_engine *engine);
void fingerprint_end(struct fingerprint *f); /* before the model ends */
/* NULL: it is not known yet. Any thread. */
const char *fingerprint_text(const struct fingerprint *f);

/* ---- the server ---- */

/* Threads that prepare: a client that leaves can be seen to have done so half a second later, and its form is
 * compiled until then, so that a few who come and leave keep many. Each keeps memory once it had work. */
enum { FIRST_PREPARING = 8, MOST_PREPARING = 32 };

/* Of the threads that prepare the one that takes the next request. */
struct desk {
    uv_mutex_t lock;
    uv_cond_t changed;
    uv_thread_t thread[MOST_PREPARING]; /* [n] */
    int n, n_free;                      /* n_free: without a request */
    bool is_taken;
    uint64_t turn;  /* whose it is */
    uint64_t since; /* when its request came, in nanoseconds; 0: it waits for one */
};

struct server {
    const struct server_options *options;
    carat_model_info info;
    struct fingerprint fingerprint;
    carat_embedder embedder; /* of an embedding model */
    int context;             /* positions of a session, or of a text that is embedded */
    size_t longest_text;     /* bytes of the longest piece of the vocabulary */
    int64_t created;         /* seconds since 1970 */
    int32_t call_start;      /* the control token before a call; -1: calls are JSON */
    int32_t marks[7];        /* of called.h */

    uv_loop_t loop; /* of the connections' thread; the rest of it is connection.c's */
    uv_async_t wake;
    struct job_queue to_prepare, to_answer;
    struct forms forms;
    struct desk desk;
    struct store responses; /* that are remembered; as long as there are no keys, all are everybody's */
    atomic_bool ready, draining;
    atomic_size_t bodies;        /* bytes of all bodies that are kept */
    atomic_int running, waiting; /* answers under way, and requests that wait for a place */
    atomic_int taken;            /* places of answers under way */
    /* of the engine, behind its last pass: carat_use, and tokens of prompts a second; 0: not measured */
    atomic_int blocks, blocks_free, blocks_cached, prompt_rate;
    atomic_int wait_ms; /* until somebody who comes then has a place, as far as that can be told */
    int blocks_in_all;  /* of K and V, that answers together can have */
    int connections;    /* at once; fewer than the host allows where descriptors are too few */
};

#endif
