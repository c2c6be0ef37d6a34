/* SPDX-License-Identifier: Apache-2.0 */
/* server.c: a server from its first thread to its last. */
#include "server.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "request.h"
#include "called.h"
#include "carat_tools.h"
#include "connection.h"
#include "slots.h"
#include "workers.h"

enum { OLLAMA_PORT = 11434, URL_BYTES = 80 };

bool server_takes_host(const char *host)
{
    return strcmp(host, "127.0.0.1") == 0 || strcmp(host, "::1") == 0 || strcmp(host, "localhost") == 0;
}

/* ---- descriptors ---- */

enum {
    KEPT = 32, /* descriptors that no connection gets: files, and one that is accepted before another ends */
    LOOKED_AT = 1024, /* a new descriptor gets the lowest number that is free */
    ENDLESS = 1 << 30,
};

static int count_open(long limit)
{
    int n = 0;

    for (int i = 0; i < LOOKED_AT && i < limit; i++)
        n += fcntl(i, F_GETFD) != -1;
    return n;
}

/* Raises the process's own limit to what the system lets it have. Returns how many connections there may be,
 * `most` or fewer, so that some descriptors are left for whatever else is opened; *limit is that of all
 * descriptors. 0 and below: there are not enough for one. */
static int descriptors_for(int most, long *limit)
{
    struct rlimit now;

    *limit = ENDLESS;
    if (getrlimit(RLIMIT_NOFILE, &now) != 0)
        return most;
    if (now.rlim_cur < now.rlim_max) {
        const struct rlimit all = {.rlim_cur = now.rlim_max, .rlim_max = now.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &all) == 0)
            now = all;
    }
    if (now.rlim_cur < ENDLESS)
        *limit = (long)now.rlim_cur;
    const long left = *limit - KEPT - count_open(*limit);
    return left < most ? (int)left : most;
}

/* ---- serving ---- */

/* What the threads are told by signals and by each other. */
struct serving {
    struct server s;
    struct hall hall;
    char url[URL_BYTES], ollama[URL_BYTES];
    uv_signal_t signals[2];
    uv_timer_t drain;
    int cut_by;
};

static void look(uv_async_t *wake)
{
    struct serving *v = wake->data;

    hall_look(&v->hall);
    if (atomic_load(&v->s.draining) && hall_is_empty(&v->hall))
        uv_stop(&v->s.loop);
}

static void on_drain(uv_timer_t *timer)
{
    struct serving *v = timer->data;

    atomic_store(&v->s.draining, true);
    hall_drain(&v->hall);
    uv_async_send(&v->s.wake);
}

/* The first one tells who asks whether the server is ready, and later those who want to come in. */
static void on_signal(uv_signal_t *handle, int number)
{
    struct serving *v = handle->data;

    if (atomic_exchange(&v->s.ready, false)) {
        uv_timer_start(&v->drain, on_drain, (uint64_t)v->s.options->drain_delay * 1000, 0);
        return;
    }
    v->cut_by = number;
    uv_stop(&v->s.loop);
}

static void learn_model(struct server *s)
{
    const carat_model *model = s->options->model;

    s->info.size = sizeof s->info;
    carat_model_get_info(model, &s->info, NULL);
    if (s->options->chat_template) {
        s->info.has_chat_template = 1;
        s->info.chat_template = s->options->chat_template;
        s->info.can_think = strncmp(s->options->chat_template, "gemma4", 6) == 0;
        s->info.template_altered = 0;
        s->info.template_origin = "";
    }
    s->embedder.size = sizeof s->embedder;
    if (s->info.kind == CARAT_EMBEDDER)
        carat_get_embedder(model, &s->embedder, NULL);
    s->context = carat_engine_context(s->options->engine);
    s->blocks_in_all = slots_count(s->options->engine, s->options->parallel);
    s->created = (int64_t)time(NULL);
    s->call_start = call_start_id(s->options->model);
    marks_find(s->options->model, s->marks);
    s->longest_text = 1;
    for (int32_t id = 0; id < s->info.n_vocab; id++) {
        size_t n = 0;
        carat_piece(model, id, &n);
        if (n > s->longest_text)
            s->longest_text = n;
    }
}

/* Until a signal has ended it. */
static void serve(struct serving *v)
{
    const struct server_options *o = v->s.options;
    static const int numbers[] = {SIGTERM, SIGINT};

    for (int i = 0; i < 2; i++) {
        uv_signal_init(&v->s.loop, &v->signals[i]);
        v->signals[i].data = v;
        uv_signal_start(&v->signals[i], on_signal, numbers[i]);
    }
    uv_timer_init(&v->s.loop, &v->drain);
    v->drain.data = v;
    atomic_store(&v->s.ready, true);
    o->listening(o->user, v->url, v->ollama);
    fingerprint_begin(&v->s.fingerprint, o->model, o->engine);
    uv_run(&v->s.loop, UV_RUN_DEFAULT);
    hall_cut(&v->hall); /* whoever is left */
    fingerprint_end(&v->s.fingerprint);
    for (int i = 0; i < 2; i++)
        uv_close((uv_handle_t *)&v->signals[i], NULL);
    uv_close((uv_handle_t *)&v->drain, NULL);
}

/* False: the descriptors of this process are not enough to serve anybody. */
static bool count_connections(struct server *s, char message[256])
{
    const struct server_options *o = s->options;
    long limit;

    s->connections = descriptors_for(o->most.connections, &limit);
    if (s->connections < 1) {
        snprintf(message, 256,
                 "this process may have %ld descriptors, which is too few for a connection; raise the limit "
                 "(ulimit -n)",
                 limit);
        return false;
    }
    if (s->connections < o->most.connections && o->short_of)
        o->short_of(o->user, s->connections, limit);
    return true;
}

/* The threads behind the connections, around all that is served. */
static bool serve_with_threads(struct serving *v, char message[256])
{
    void (*const drives)(void *server) = v->s.info.kind == CARAT_EMBEDDER ? embed_jobs : answer_jobs;
    uv_thread_t answering;

    if (!count_connections(&v->s, message))
        return false;
    snprintf(message, 256, "the system starts no further thread");
    if (uv_thread_create(&answering, drives, &v->s) != 0)
        return false;
    const bool prepares = prepare_begin(&v->s);
    if (prepares)
        serve(v);
    prepare_end(&v->s);
    job_queue_close(&v->s.to_answer);
    uv_thread_join(&answering);
    return prepares;
}

/* url gets where clients find it. A code of libuv, about which message has a sentence. */
static int listen_at(struct serving *v, const char *host, int port, char url[URL_BYTES], char message[256])
{
    int got;
    const int code = hall_listen(&v->hall, host, port, &got);

    if (code != 0)
        snprintf(message, 256, "cannot listen at %s, port %d: %s", host, port, uv_strerror(code));
    else
        snprintf(url, URL_BYTES, strchr(host, ':') ? "http://[%s]:%d" : "http://%s:%d", host, got);
    return code;
}

enum server_result server_run(const struct server_options *options, int *signal, char message[256])
{
    const char *host = strcmp(options->host, "localhost") == 0 ? "127.0.0.1" : options->host;
    struct serving v = {.s.options = options};
    bool good = false;
    int code;

    learn_model(&v.s);
    if (uv_loop_init(&v.s.loop) != 0 || job_queue_open(&v.s.to_prepare) != 0 ||
        job_queue_open(&v.s.to_answer) != 0 || store_open(&v.s.responses) != 0 ||
        forms_open(&v.s.forms, options->model, v.s.info.n_vocab) != 0 || desk_open(&v.s.desk) != 0) {
        snprintf(message, 256, "there is no memory for the server");
        return SERVER_FAILED;
    }
    uv_async_init(&v.s.loop, &v.s.wake, look);
    v.s.wake.data = &v;
    hall_open(&v.hall, &v.s);
    code = listen_at(&v, host, options->port, v.url, message);
    memcpy(v.ollama, v.url, sizeof v.ollama);
    if (code == 0 && options->ollama && options->port != OLLAMA_PORT)
        code = listen_at(&v, host, OLLAMA_PORT, v.ollama, message);
    good = code == 0 && serve_with_threads(&v, message);
    hall_cut(&v.hall);
    hall_free_jobs(&v.hall);
    uv_close((uv_handle_t *)&v.s.wake, NULL);
    uv_run(&v.s.loop, UV_RUN_DEFAULT);
    uv_loop_close(&v.s.loop);
    job_queue_free(&v.s.to_prepare);
    job_queue_free(&v.s.to_answer);
    store_close(&v.s.responses);
    forms_close(&v.s.forms);
    desk_free(&v.s.desk);
    *signal = v.cut_by;
    return code != 0 ? SERVER_NO_BIND : !good ? SERVER_FAILED : v.cut_by ? SERVER_CUT : SERVER_ENDED;
}
