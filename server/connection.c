/* SPDX-License-Identifier: Apache-2.0 */
/* connection.c: connections, what they read, and how long that may take. */
#define _GNU_SOURCE /* POLLRDHUP */
#include "connection.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>

enum {
    SWEEP_MS = 250,
    HEAD_MS = 10000,
    BODY_MS = 30000,
    BODY_BYTES_MS = 16, /* a body has a further millisecond for so many bytes */
    IDLE_MS = 60000,
    STALL_MS = 30000,
    LEAVE_MS = 2000,
    HALF_CLOSED_MS = 250,
    HELD_MS = 30000,
    PING_MS = 5000,
    BACKLOG = 511,
};

/* ---- the end of a connection ---- */

static void leave_job(struct connection *c)
{
    if (!c->job)
        return;
    atomic_store(&c->job->cancelled, true);
    c->job->connection = NULL;
    c->job = NULL;
}

static void free_connection(uv_handle_t *handle)
{
    struct connection *c = handle->data;

    free(c->reader);
    buffer_free(&c->ahead);
    buffer_free(&c->head);
    buffer_free(&c->sending);
    free(c);
}

static void connection_close(struct connection *c)
{
    struct hall *h = c->hall;

    if (c->closing)
        return;
    c->closing = true;
    leave_job(c);
    connection_free_body(c);
    h->n--;
    *c->link = c->next;
    if (c->next)
        c->next->link = c->link;
    uv_close((uv_handle_t *)&c->tcp, free_connection);
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
    struct connection *c = request->data;

    if (status < 0)
        connection_close(c);
}

/* The last reply is out. What the client still sends is passed over, so that the reply is not lost. */
static void connection_leave(struct connection *c)
{
    c->leaving = true;
    c->since = uv_now(&c->hall->server->loop);
    c->shutdown.data = c;
    if (c->half_closed || uv_shutdown(&c->shutdown, (uv_stream_t *)&c->tcp, on_shutdown) != 0)
        connection_close(c);
}

/* ---- reading ---- */

static void refuse_bytes(struct connection *c)
{
    struct refusal r = {0};

    server_refuse(&r, c->reader->status, NULL, NULL, "%s", c->reader->message);
    c->keep_alive = false;
    reply_refuse(c, route_surface(c->reader->head.path), &r);
}

/* One that has not come to its end; the connection ends with it. */
static void refuse_request(struct connection *c, const struct surface *surface, const struct refusal *r)
{
    c->keep_alive = false;
    reply_refuse(c, surface, r);
    free(c->reader);
    c->reader = NULL;
}

static void take_body(struct connection *c)
{
    struct refusal r = {0};
    const struct text piece = c->reader->piece;

    buffer_put(&c->body, piece.s, piece.n);
    if (!c->body.failed) {
        atomic_fetch_add(&c->hall->server->bodies, piece.n);
        return;
    }
    server_refuse(&r, 503, NULL, NULL, "there is no memory for the body of this request");
    refuse_request(c, route_surface(c->reader->head.path), &r);
}

static bool bodies_are_full(const struct server *s)
{
    return atomic_load(&s->bodies) >= s->options->most.bodies;
}

/* Refuses a body that has no room even when there is no other. One in pieces is known by what has come. */
static bool refuse_too_long(struct connection *c)
{
    const struct http1_head *head = &c->reader->head;
    const uint64_t most = c->hall->server->options->most.bodies;
    struct refusal r = {.lasts = true};

    if (head->length <= most && c->body.n <= most)
        return false;
    server_refuse(&r, 503, NULL, NULL,
                  "the body has more than %llu bytes, all together have room for no more",
                  (unsigned long long)most);
    refuse_request(c, route_surface(head->path), &r);
    return true;
}

/* No more of a body is read while all of them have too many bytes together. */
static void hold_body(struct connection *c)
{
    const struct server *s = c->hall->server;

    if (!c->reader->behind || !bodies_are_full(s) || refuse_too_long(c) ||
        c->body.n == s->options->most.bodies) /* its end alone is to come */
        return;
    uv_read_stop((uv_stream_t *)&c->tcp);
    c->held = uv_now(&c->hall->server->loop);
}

static void take_head(struct connection *c)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    uv_buf_t text = uv_buf_init((char *)(uintptr_t)go_on, sizeof go_on - 1);
    const struct http1_head *head = &c->reader->head;
    const struct text id = head->field[HTTP1_X_REQUEST_ID];

    c->minor = head->minor;
    c->keep_alive = head->keep_alive;
    c->bare = head->method == HTTP1_METHOD_HEAD;
    c->client_id[0] = 0;
    if (id.n && id.n < sizeof c->client_id) {
        memcpy(c->client_id, id.s, id.n);
        c->client_id[id.n] = 0;
    }
    if (refuse_too_long(c))
        return;
    if (head->expects && uv_try_write((uv_stream_t *)&c->tcp, &text, 1) != (int)text.len)
        connection_close(c);
}

static bool begin_request(struct connection *c)
{
    c->reader = malloc(sizeof *c->reader);
    if (!c->reader) {
        connection_close(c);
        return false;
    }
    http1_init(c->reader, c->hall->server->options->most.body);
    c->since = uv_now(&c->hall->server->loop);
    c->minor = 1;
    c->keep_alive = c->bare = false;
    c->client_id[0] = 0;
    return true;
}

/* Takes bytes until a request is complete; what is behind it waits for the reply. */
static void connection_feed(struct connection *c, struct text bytes)
{
    while (!c->job && !c->closing) {
        if (!c->reader && (bytes.n == 0 || !begin_request(c)))
            return;
        switch (http1_read(c->reader, &bytes)) {
        case HTTP1_MORE:
            hold_body(c);
            return;
        case HTTP1_HEAD:
            take_head(c);
            break;
        case HTTP1_BODY:
            take_body(c);
            break;
        case HTTP1_END:
            reply_route(c, &c->reader->head);
            break;
        case HTTP1_BAD:
            refuse_bytes(c);
            break;
        }
    }
    if (!c->closing && c->job) {
        free(c->reader);
        c->reader = NULL;
        buffer_put(&c->ahead, bytes.s, bytes.n);
    }
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
    static char bytes[64 << 10]; /* of one thread; what comes is taken before the next read */

    (void)handle;
    (void)size;
    *buf = uv_buf_init(bytes, sizeof bytes);
}

static bool replies_in_pieces(const struct connection *c)
{
    if (!c->job)
        return false;
    uv_mutex_lock(&c->job->lock);
    const bool streams = c->job->streams;
    uv_mutex_unlock(&c->job->lock);
    return streams;
}

/* Tells the client of a stream that has no token yet that it is alive. */
static void ping(struct connection *c)
{
    if (!c->head_sent || c->writing || !replies_in_pieces(c) || !atomic_load(&c->job->silent))
        return;
    uv_mutex_lock(&c->job->lock);
    c->job->surface->ping(c->job);
    uv_mutex_unlock(&c->job->lock);
    reply_advance(c);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct connection *c = stream->data;

    if (n == 0 || c->closing)
        return;
    if (n < 0) {
        if (n != UV_EOF || !c->job || c->leaving) {
            connection_close(c);
            return;
        }
        uv_read_stop(stream);
        c->half_closed = true;
        c->since = uv_now(&c->hall->server->loop);
        ping(c); /* one that has gone altogether resets the connection */
        return;
    }
    if (c->leaving)
        return;
    if (!c->job) {
        connection_feed(c, (struct text){buf->base, (size_t)n});
        return;
    }
    buffer_put(&c->ahead, buf->base, (size_t)n);
    if (c->ahead.n >= MOST_AHEAD)
        uv_read_stop(stream);
}

static bool goes_on_reading(struct connection *c)
{
    const int code = uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);

    return code == 0 || code == UV_EALREADY;
}

static void connection_replied(struct connection *c)
{
    struct buffer ahead = c->ahead;
    const bool alone = c->half_closed || atomic_load(&c->hall->server->draining);

    c->head_sent = c->last_write = false;
    c->since = uv_now(&c->hall->server->loop);
    if (!c->keep_alive || (alone && ahead.n == 0)) {
        connection_leave(c);
        return;
    }
    c->ahead = (struct buffer){0};
    if (ahead.n >= MOST_AHEAD && !c->half_closed && !goes_on_reading(c))
        connection_close(c);
    else if (ahead.n)
        connection_feed(c, (struct text){ahead.data, ahead.n});
    buffer_free(&ahead);
    if (c->half_closed && !c->job) /* the rest of a request that never comes */
        connection_close(c);
}

/* ---- all of them ---- */

static bool is_idle(const struct connection *c)
{
    return !c->job && !c->reader && !c->writing && !c->leaving;
}

static void close_oldest_idle(struct hall *h)
{
    struct connection *oldest = NULL;

    for (struct connection *c = h->first; c; c = c->next)
        if (is_idle(c) && (!oldest || c->since <= oldest->since))
            oldest = c;
    if (oldest)
        connection_close(oldest);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct hall *h = listener->data;
    const int most = h->server->connections;

    if (status < 0)
        return;
    struct connection *c = calloc(1, sizeof *c);
    if (!c)
        return;
    if (h->n >= most)
        close_oldest_idle(h);
    uv_tcp_init(&h->server->loop, &c->tcp);
    c->tcp.data = c;
    c->hall = h;
    c->since = uv_now(&h->server->loop);
    c->next = h->first;
    c->link = &h->first;
    if (c->next)
        c->next->link = &c->next;
    h->first = c;
    h->n++;
    /* the kernel owes no more than we do: by itself it would take megabytes for one who reads nothing */
    if (uv_accept(listener, (uv_stream_t *)&c->tcp) != 0 || h->n > most || uv_tcp_nodelay(&c->tcp, 1) != 0 ||
        uv_send_buffer_size((uv_handle_t *)&c->tcp, &(int){MOST_OWED}) != 0 ||
        uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) != 0)
        connection_close(c);
}

/* Whether a client that has closed its side, so that nothing is read, has gone altogether. */
static bool is_reset(const struct connection *c)
{
    uv_os_fd_t socket;
    int error = 0;
    socklen_t n = sizeof error;

    return uv_fileno((const uv_handle_t *)&c->tcp, &socket) == 0 &&
           getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &n) == 0 && error != 0;
}

/* Whether a client sends no more, and what lies ready is less than its body lacks. One in pieces does not say
 * how much that is: then the client has left. */
static bool breaks_off(const struct connection *c)
{
    const struct http1_head *head = &c->reader->head;
    struct pollfd p = {.events = POLLRDHUP};
    int ready = 0;

    return uv_fileno((const uv_handle_t *)&c->tcp, &p.fd) == 0 && poll(&p, 1, 0) == 1 &&
           (p.revents & (POLLERR | POLLHUP) || head->chunked || ioctl(p.fd, FIONREAD, &ready) != 0 ||
            (uint64_t)ready < head->length - c->body.n);
}

/* A body of which no more is read goes on when others have been looked at, or is refused. */
static void watch_held(struct connection *c, uint64_t now)
{
    const bool full = bodies_are_full(c->hall->server);
    struct refusal r = {0};

    if (breaks_off(c)) {
        connection_close(c);
        return;
    }
    if (full && now - c->held <= HELD_MS)
        return;
    c->since += now - c->held;
    c->held = 0;
    if (uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) != 0) {
        connection_close(c);
        return;
    }
    if (full) {
        server_refuse(&r, 503, NULL, NULL, "there is no memory for the body of this request");
        refuse_request(c, route_surface(c->reader->head.path), &r);
    }
}

/* A request that does not come, a reply that is not taken, a client that has half gone. */
static void watch_time(struct connection *c, uint64_t now)
{
    const uint64_t waited = now - c->since;
    const bool keeps = c->hall->server->options->keeps_half_closed;
    struct refusal r = {0};

    if (c->writing) {
        const size_t queued = uv_stream_get_write_queue_size((uv_stream_t *)&c->tcp);
        if (queued != c->queued)
            c->sent = now;
        c->queued = queued;
        if (now - c->sent > STALL_MS)
            connection_close(c);
    } else if (c->held)
        watch_held(c, now);
    else if (c->leaving ? waited > LEAVE_MS : is_idle(c) && waited > IDLE_MS)
        connection_close(c);
    else if (c->reader && waited > (c->reader->behind ? BODY_MS + c->body.n / BODY_BYTES_MS : HEAD_MS)) {
        server_refuse(&r, 408, NULL, NULL, "the request did not come to its end in time");
        refuse_request(c, route_surface((struct text){0}), &r);
    } else if (c->half_closed &&
               (is_reset(c) || (!keeps && c->job && !replies_in_pieces(c) && waited > HALF_CLOSED_MS)))
        connection_close(c);
    else if (now - c->sent > PING_MS)
        ping(c);
}

static void on_sweep(uv_timer_t *timer)
{
    struct hall *h = timer->data;
    const uint64_t now = uv_now(&h->server->loop);
    struct connection *next;

    for (struct connection *c = h->first; c; c = next) {
        next = c->next;
        watch_time(c, now);
    }
    if (atomic_load(&h->server->draining)) /* the last one may have gone */
        uv_async_send(&h->server->wake);
}

void hall_open(struct hall *h, struct server *s)
{
    *h = (struct hall){.server = s, .replied = connection_replied, .close = connection_close};
    uv_timer_init(&s->loop, &h->sweep);
    h->sweep.data = h;
    uv_timer_start(&h->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
}

int hall_listen(struct hall *h, const char *host, int port, int *got)
{
    uv_tcp_t *listener = &h->listeners[h->n_listeners++];
    struct sockaddr_storage address;
    int n = sizeof address, code;

    uv_tcp_init(&h->server->loop, listener);
    listener->data = h;
    code = strchr(host, ':') ? uv_ip6_addr(host, port, (struct sockaddr_in6 *)&address)
                             : uv_ip4_addr(host, port, (struct sockaddr_in *)&address);
    if (code == 0)
        code = uv_tcp_bind(listener, (const struct sockaddr *)&address, 0);
    if (code == 0)
        code = uv_listen((uv_stream_t *)listener, BACKLOG, on_connection);
    if (code == 0)
        code = uv_tcp_getsockname(listener, (struct sockaddr *)&address, &n);
    if (code == 0)
        *got = ntohs(address.ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)&address)->sin6_port
                                                   : ((const struct sockaddr_in *)&address)->sin_port);
    return code;
}

void hall_drain(struct hall *h)
{
    struct connection *next;

    for (int i = 0; i < h->n_listeners; i++)
        if (!uv_is_closing((uv_handle_t *)&h->listeners[i]))
            uv_close((uv_handle_t *)&h->listeners[i], NULL);
    for (struct connection *c = h->first; c; c = next) {
        next = c->next;
        if (is_idle(c))
            connection_close(c);
    }
}

void hall_cut(struct hall *h)
{
    hall_drain(h);
    while (h->first)
        connection_close(h->first);
    for (struct job *job = h->active; job; job = job->next_active)
        atomic_store(&job->cancelled, true);
    if (!uv_is_closing((uv_handle_t *)&h->sweep))
        uv_close((uv_handle_t *)&h->sweep, NULL);
}

bool hall_is_empty(const struct hall *h)
{
    return !h->first && !h->active;
}

void hall_look(struct hall *h)
{
    struct job **at = &h->active, *job;

    while ((job = *at) != NULL) {
        if (job->connection)
            reply_advance(job->connection);
        uv_mutex_lock(&job->lock);
        const bool left = job->ended && !job->connection;
        uv_mutex_unlock(&job->lock);
        if (left) {
            *at = job->next_active;
            job_free(job);
        } else
            at = &job->next_active;
    }
}

void hall_free_jobs(struct hall *h)
{
    struct job *next;

    for (struct job *job = h->active; job; job = next) {
        next = job->next_active;
        job_free(job);
    }
    h->active = NULL;
}
