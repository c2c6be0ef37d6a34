/* SPDX-License-Identifier: Apache-2.0 */
/* reply.c: from a request to whoever answers it, and from his reply to the bytes that go out. */
#include <stdio.h>
#include <time.h>

#include "connection.h"
#include "paths.h"

/* ---- out ---- */

static const char *date_now(struct hall *h)
{
    const int64_t second = (int64_t)time(NULL);
    struct tm tm;
    const time_t t = (time_t)second;

    if (second != h->date_second && gmtime_r(&t, &tm)) {
        strftime(h->date, sizeof h->date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
        h->date_second = second;
    }
    return h->date;
}

static void head_line(struct buffer *head, const char *name, const char *value)
{
    buffer_text(head, name);
    buffer_text(head, ": ");
    buffer_text(head, value);
    buffer_text(head, "\r\n");
}

static bool is_chunked(const struct connection *c)
{
    return c->job->streams && c->minor > 0;
}

static void put_reply_head(struct connection *c, size_t n)
{
    const struct job *job = c->job;
    char text[64];

    c->head.n = 0;
    snprintf(text, sizeof text, "HTTP/1.1 %d ", job->status);
    buffer_text(&c->head, text);
    buffer_text(&c->head, status_phrase(job->status));
    buffer_text(&c->head, "\r\n");
    head_line(&c->head, "Date", date_now(c->hall));
    if (job->type)
        head_line(&c->head, "Content-Type", job->type);
    if (is_chunked(c))
        head_line(&c->head, "Transfer-Encoding", "chunked");
    else if (!job->streams && job->status != 204) {
        snprintf(text, sizeof text, "%zu", n);
        head_line(&c->head, "Content-Length", text);
    }
    if (job->streams) {
        head_line(&c->head, "Cache-Control", "no-cache");
        c->keep_alive = c->keep_alive && is_chunked(c);
    }
    head_line(&c->head, "X-Request-Id", c->client_id[0] ? c->client_id : job->id);
    buffer_put(&c->head, job->fields.data, job->fields.n);
    if (!c->keep_alive)
        head_line(&c->head, "Connection", "close");
    buffer_text(&c->head, "\r\n");
}

static void on_written(uv_write_t *request, int status)
{
    struct connection *c = request->data;

    c->writing = false;
    c->sending.n = 0;
    if (c->closing)
        return;
    if (status < 0) {
        c->hall->close(c);
        return;
    }
    c->sent = uv_now(&c->hall->server->loop);
    if (!c->last_write) {
        reply_advance(c);
        return;
    }
    c->job->connection = NULL; /* hall_look frees it */
    c->job = NULL;
    uv_async_send(&c->hall->server->wake);
    c->hall->replied(c);
}

/* Takes what the job has. False: there is nothing to send yet. */
static bool take_out(struct connection *c)
{
    struct job *job = c->job;

    uv_mutex_lock(&job->lock);
    const bool ready = job->begun && (job->ended || (job->streams && (job->out.n || !c->head_sent)));
    if (ready) {
        c->sending.n = 0;
        buffer_swap(&c->sending, &job->out);
        c->last_write = job->ended;
        c->keep_alive = c->keep_alive && !job->broken;
    }
    const bool lost = (job->ended && !job->begun) || c->sending.failed || job->fields.failed;
    uv_mutex_unlock(&job->lock);
    if (lost)
        c->hall->close(c);
    return ready && !lost;
}

void reply_advance(struct connection *c)
{
    static const char line_end[] = "\r\n", end[] = "\r\n0\r\n\r\n";
    char size[24];
    uv_buf_t bufs[3];
    unsigned n = 0;

    if (c->writing || c->closing || !c->job || !take_out(c))
        return;
    if (c->head_sent)
        c->head.n = 0;
    else
        put_reply_head(c, c->sending.n);
    const bool chunked = is_chunked(c);
    if (chunked && c->sending.n) {
        snprintf(size, sizeof size, "%zx\r\n", c->sending.n);
        buffer_text(&c->head, size);
    }
    if (c->head.failed) {
        c->hall->close(c);
        return;
    }
    if (c->head.n)
        bufs[n++] = uv_buf_init(c->head.data, (unsigned)c->head.n);
    if (c->sending.n && !c->bare)
        bufs[n++] = uv_buf_init(c->sending.data, (unsigned)c->sending.n);
    if (chunked && c->sending.n)
        bufs[n++] = c->last_write ? uv_buf_init((char *)(uintptr_t)end, sizeof end - 1)
                                  : uv_buf_init((char *)(uintptr_t)line_end, sizeof line_end - 1);
    else if (chunked && c->last_write)
        bufs[n++] = uv_buf_init((char *)(uintptr_t)end + 2, sizeof end - 3);
    if (n == 0) /* all is out, and its end is that of the connection */
        bufs[n++] = uv_buf_init((char *)(uintptr_t)end, 0);
    c->head_sent = c->writing = true;
    c->sent = uv_now(&c->hall->server->loop);
    c->queued = 0;
    c->write.data = c;
    if (uv_write(&c->write, (uv_stream_t *)&c->tcp, bufs, n, on_written) != 0) {
        c->writing = false;
        c->hall->close(c);
    }
}

/* ---- in ---- */

void connection_free_body(struct connection *c)
{
    atomic_fetch_sub(&c->hall->server->bodies, c->body.n);
    buffer_free(&c->body);
}

static struct job *new_job(struct connection *c, const struct route *route)
{
    struct job *job = job_create(c->hall->server, route);

    if (!job) {
        c->hall->close(c);
        return NULL;
    }
    job->connection = c;
    job->next_active = c->hall->active;
    c->hall->active = job;
    c->job = job;
    return job;
}

void reply_refuse(struct connection *c, const struct surface *surface, const struct refusal *r)
{
    struct job *job = new_job(c, NULL);

    if (!job)
        return;
    connection_free_body(c);
    job_retry(job, r);
    surface->refuse(&job->out, r);
    job_begin(job, r->status, "application/json", false);
    job->ended = true;
    reply_advance(c);
}

static void allow_methods(struct job *job, unsigned allowed)
{
    char text[100] = "OPTIONS";

    for (int m = 0; m < HTTP1_METHODS; m++)
        if (allowed >> m & 1) {
            strcat(text, ", ");
            strcat(text, http1_method_name((enum http1_method)m));
        }
    job_field(job, "Allow", text);
}

/* There is no route. */
static void reply_unrouted(struct connection *c, const struct http1_head *head, unsigned allowed)
{
    struct refusal r = {0};
    struct job *job = new_job(c, NULL);

    if (!job)
        return;
    connection_free_body(c);
    if (allowed & 1u << HTTP1_METHOD_GET)
        allowed |= 1u << HTTP1_METHOD_HEAD;
    if (allowed)
        allow_methods(job, allowed);
    if (allowed && head->method == HTTP1_METHOD_OPTIONS)
        job_begin(job, 204, NULL, false);
    else {
        if (allowed)
            server_refuse(&r, 405, NULL, NULL, "this path does not take %s", http1_method_name(head->method));
        else
            server_refuse(&r, 404, NULL, NULL, "there is nothing at this path");
        route_surface(head->path)->refuse(&job->out, &r);
        job_begin(job, r.status, "application/json", false);
    }
    job->ended = true;
    reply_advance(c);
}

/* A host, or an origin behind its scheme, is this machine's own; a port may stand behind it. */
static bool is_own(struct text host)
{
    static const char *const own[] = {"localhost", "127.0.0.1", "[::1]"};

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        const size_t n = strlen(own[i]);
        if (host.n >= n && text_is((struct text){host.s, n}, own[i]) && (host.n == n || host.s[n] == ':'))
            return true;
    }
    return false;
}

static bool refuse_head(const struct http1_head *head, struct refusal *r)
{
    static const char scheme[] = "http://";
    const struct text host = head->field[HTTP1_HOST], coding = head->field[HTTP1_CONTENT_ENCODING];
    struct text origin = head->field[HTTP1_ORIGIN];

    if (host.n && !is_own(host))
        return !server_refuse(r, 403, NULL, NULL, "the host of this request is not served here");
    if (origin.n > sizeof scheme - 1 && text_is((struct text){origin.s, sizeof scheme - 1}, scheme))
        origin = text_from(origin, sizeof scheme - 1);
    if (origin.s && !is_own(origin))
        return !server_refuse(r, 403, NULL, NULL, "requests of pages from elsewhere are not answered");
    if (coding.s && !text_is(coding, "identity"))
        return !server_refuse(r, 415, NULL, NULL, "a body in another coding than identity is not read");
    return false;
}

void reply_route(struct connection *c, const struct http1_head *head)
{
    struct server *s = c->hall->server;
    const enum http1_method method = head->method == HTTP1_METHOD_HEAD ? HTTP1_METHOD_GET : head->method;
    unsigned allowed;
    const struct route *route = route_find(method, head->path, &allowed);
    struct refusal r = {0};

    if (refuse_head(head, &r)) {
        reply_refuse(c, route_surface(head->path), &r);
        return;
    }
    if (!route) {
        reply_unrouted(c, head, allowed);
        return;
    }
    if (route->prepare && atomic_load(&s->waiting) >= s->options->most.waiting) {
        server_refuse(&r, route->surface->busy, "queue_full", NULL, "%d requests wait already",
                      s->options->most.waiting);
        reply_refuse(c, route->surface, &r);
        return;
    }
    struct job *job = new_job(c, route);
    if (!job)
        return;
    buffer_swap(&job->body, &c->body); /* it stays counted */
    path_rest(route->path, head->path, job->rest, sizeof job->rest);
    snprintf(job->query, sizeof job->query, "%.*s", (int)head->query.n, head->query.n ? head->query.s : "");
    job->versioned = head->field[HTTP1_ANTHROPIC_VERSION].s != NULL;
    job->google = head->field[HTTP1_X_GOOG_API_KEY].s != NULL;
    if (route->answer) {
        route->answer(job, head->path);
        job->ended = true;
        reply_advance(c);
        return;
    }
    atomic_fetch_add(&s->waiting, 1);
    job_queue_put(&s->to_prepare, job);
}
