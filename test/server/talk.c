/* SPDX-License-Identifier: Apache-2.0 */
/* talk.c: see talk.h. */
#include "talk.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

enum { PATIENCE_MS = 20000 };

static void must(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "talk.c: %s\n", what);
    abort();
}

/* ---- servers ---- */

static atomic_int skipped_ms;

/* The linker puts this before the loop's clock. */
uint64_t __real_uv_now(const uv_loop_t *loop);
uint64_t __wrap_uv_now(const uv_loop_t *loop);
uint64_t __wrap_uv_now(const uv_loop_t *loop)
{
    return __real_uv_now(loop) + (uint64_t)atomic_load(&skipped_ms);
}

/* And these before the two ways to read JSON, which they count. */
static atomic_int json_reads;

carat_status __real_ct_json_tree_read(struct ct_json_tree *t, carat_status code, const char *name,
                                      struct ct_bytes text, carat_error *err);
carat_status __wrap_ct_json_tree_read(struct ct_json_tree *t, carat_status code, const char *name,
                                      struct ct_bytes text, carat_error *err);
carat_status __wrap_ct_json_tree_read(struct ct_json_tree *t, carat_status code, const char *name,
                                      struct ct_bytes text, carat_error *err)
{
    atomic_fetch_add(&json_reads, 1);
    return __real_ct_json_tree_read(t, code, name, text, err);
}

bool __real_ct_json_tree_value(struct ct_json_tree *t, struct ct_json *j, enum ct_json_token bracket,
                               size_t most);
bool __wrap_ct_json_tree_value(struct ct_json_tree *t, struct ct_json *j, enum ct_json_token bracket,
                               size_t most);
bool __wrap_ct_json_tree_value(struct ct_json_tree *t, struct ct_json *j, enum ct_json_token bracket,
                               size_t most)
{
    atomic_fetch_add(&json_reads, 1);
    return __real_ct_json_tree_value(t, j, bracket, most);
}

int serve_reads(void)
{
    return atomic_load(&json_reads);
}

void serve_skip(int ms)
{
    atomic_fetch_add(&skipped_ms, ms);
}

void sleep_ms(int ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&t, NULL);
}

bool soon(bool (*is_so)(const struct served *s), const struct served *s)
{
    for (int i = 0; i < 1000; i++) {
        if (is_so(s))
            return true;
        sleep_ms(10);
    }
    return false;
}

static void listening(void *user, const char *url, const char *ollama)
{
    struct served *s = user;

    (void)ollama;
    pthread_mutex_lock(&s->lock);
    s->port = atoi(strrchr(url, ':') + 1);
    pthread_cond_signal(&s->told);
    pthread_mutex_unlock(&s->lock);
}

static void *serve(void *user)
{
    struct served *s = user;

    s->result = server_run(&s->options, &s->signal, s->message);
    return NULL;
}

void serve_begin(struct served *s)
{
    const struct server_limits usual = {.body = 8 << 20,
                                        .bodies = 64 << 20,
                                        .messages = 4096,
                                        .tools = 128,
                                        .n = 8,
                                        .waiting = 64,
                                        .wait = 1 << 20, /* as long as it takes */
                                        .connections = 1024};

    const uint64_t bodies = s->options.most.bodies;
    s->options.most = usual;
    if (bodies)
        s->options.most.bodies = bodies;
    s->options.name = "tiny";
    s->options.host = "127.0.0.1";
    s->options.listening = listening;
    s->options.user = s;
    s->port = 0;
    signal(SIGPIPE, SIG_IGN);
    must(pthread_mutex_init(&s->lock, NULL) == 0 && pthread_cond_init(&s->told, NULL) == 0 &&
             pthread_create(&s->thread, NULL, serve, s) == 0,
         "no thread for the server");
    pthread_mutex_lock(&s->lock);
    while (!s->port)
        pthread_cond_wait(&s->told, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

enum server_result serve_wait(struct served *s)
{
    pthread_join(s->thread, NULL);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->told);
    return s->result;
}

enum server_result serve_end(struct served *s)
{
    kill(getpid(), SIGTERM);
    return serve_wait(s);
}

/* ---- clients ---- */

static int dial_with(const struct served *s, int bytes)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)s->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (bytes)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    must(fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof to) == 0, "no connection");
    return fd;
}

int dial(const struct served *s)
{
    return dial_with(s, 0);
}

int dial_small(const struct served *s)
{
    return dial_with(s, 4096);
}

void hang_up(int fd, bool resets)
{
    const struct linger at_once = {.l_onoff = 1};

    if (resets)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
}

/* The server may have closed already, which reading will show. */
void send_bytes(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        must(poll(&p, 1, PATIENCE_MS) == 1, "the server reads nothing");
        const ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent < 0)
            return;
        bytes += sent;
        n -= (size_t)sent;
    }
}

void send_text(int fd, const char *text)
{
    send_bytes(fd, text, strlen(text));
}

void send_request(int fd, const char *method, const char *path, const char *more, const char *body)
{
    const size_t n = strlen(body), capacity = n + strlen(path) + strlen(more) + 120;
    char *text = malloc(capacity);

    must(text != NULL, "no memory");
    snprintf(text, capacity, "%s %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %zu\r\n\r\n%s", method,
             path, more, n, body);
    send_text(fd, text);
    free(text);
}

/* One byte; -1: there is none any more. */
static int get_byte(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    unsigned char c;

    must(poll(&p, 1, PATIENCE_MS) == 1, "the server says nothing");
    return recv(fd, &c, 1, 0) == 1 ? c : -1;
}

static void *grow(void *p, size_t n)
{
    p = realloc(p, n);
    must(p != NULL, "no memory");
    return p;
}

/* Room for n bytes where there is some for `had`, and for more to come. */
static void *room_for(void *p, size_t had, size_t n)
{
    size_t capacity = 64;

    while (capacity < n)
        capacity *= 2;
    return p && had > capacity / 2 ? p : grow(p, capacity);
}

/* A line without its end; false: the connection ended in it. */
static bool get_line(int fd, char *line, size_t capacity)
{
    size_t n = 0;
    int c;

    while ((c = get_byte(fd)) >= 0 && c != '\n')
        if (c != '\r' && n + 1 < capacity)
            line[n++] = (char)c;
    line[n] = 0;
    return c == '\n';
}

/* Adds n bytes to the body, or as many as come. */
static bool get_bytes(int fd, struct reply *r, size_t n)
{
    r->body = room_for(r->body, r->n + 1, r->n + n + 1);
    while (n > 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        must(poll(&p, 1, PATIENCE_MS) == 1, "the server does not go on");
        const ssize_t got = recv(fd, r->body + r->n, n, 0);
        if (got <= 0)
            break;
        r->n += (size_t)got;
        n -= (size_t)got;
    }
    r->body[r->n] = 0;
    return n == 0;
}

static bool get_chunks(int fd, struct reply *r)
{
    char line[64];

    for (;;) {
        if (!get_line(fd, line, sizeof line))
            return false;
        const size_t n = strtoul(line, NULL, 16);
        if ((n > 0 && !get_bytes(fd, r, n)) || !get_line(fd, line, sizeof line))
            return false;
        if (n == 0)
            return true;
    }
}

void take_reply(int fd, bool has_body, struct reply *r)
{
    char line[1024];
    size_t n = 0;

    *r = (struct reply){.head = grow(NULL, 1), .body = room_for(NULL, 0, 1)};
    *r->head = *r->body = 0;
    do {
        if (!get_line(fd, line, sizeof line))
            return;
        r->head = grow(r->head, n + strlen(line) + 2);
        n += (size_t)sprintf(r->head + n, "%s\n", line);
    } while (*line);
    must(sscanf(r->head, "HTTP/1.1 %d ", &r->status) == 1, "no status");
    const char *length = strstr(r->head, "\nContent-Length: ");
    if (!has_body || r->status == 204 || r->status == 100)
        r->whole = true;
    else if (strstr(r->head, "\nTransfer-Encoding: chunked\n"))
        r->whole = get_chunks(fd, r);
    else if (length)
        r->whole = get_bytes(fd, r, strtoul(length + strlen("\nContent-Length: "), NULL, 10));
    else
        r->whole = !get_bytes(fd, r, 64 << 20);
}

void reply_free(struct reply *r)
{
    free(r->head);
    free(r->body);
}

bool is_closed(int fd)
{
    return get_byte(fd) < 0;
}

void ask(const struct served *s, const char *method, const char *path, const char *more, const char *body,
         struct reply *r)
{
    const int fd = dial(s);

    send_request(fd, method, path, more, body);
    take_reply(fd, strcmp(method, "HEAD") != 0, r);
    close(fd);
}

bool is_told(const struct served *s, const char *path, const char *text)
{
    struct reply r;

    ask(s, "GET", path, "", "", &r);
    const bool told = strstr(r.body, text) != NULL;
    reply_free(&r);
    return told;
}

/* ---- surfaces ---- */

#define MESSAGE   "\"messages\":[{\"role\":\"user\",\"content\":\"%s\"}]"
#define CONTENT   "{\"contents\":[{\"parts\":[{\"text\":\"%s\"}]}]%s%s}"
#define PARTS     "candidates content parts text"
#define TOKENS    ",\"max_tokens\":%d"
#define PREDICTED ",\"options\":{\"num_predict\":%d}"
#define OUTPUT    ",\"generationConfig\":{\"maxOutputTokens\":%d}"

const struct kind kinds[ALL_KINDS] = {
    [CHAT] = {"/v1/chat/completions", "{" MESSAGE "%s%s}", "choices delta content", "choices message content",
              true, TOKENS},
    [TEXT] = {"/v1/completions", "{\"prompt\":\"%s\"%s%s}", "choices text", "choices text", true, TOKENS},
    [MESSAGES] = {"/v1/messages", "{" MESSAGE "%s%s}", "delta text", "content text", true, TOKENS},
    [OLLAMA_CHAT] = {"/api/chat", "{\"model\":\"tiny\"," MESSAGE "%s%s}", "message content",
                     "message content", false, PREDICTED},
    [OLLAMA_GENERATE] = {"/api/generate", "{\"model\":\"tiny\",\"prompt\":\"%s\"%s%s}", "response",
                         "response", false, PREDICTED},
    [RESPONSES] = {"/v1/responses", "{\"input\":\"%s\"%s%s}", "delta", "output content text", true, NULL},
    [LLAMA] = {"/completion", "{\"prompt\":\"%s\"%s%s}", "content", "content", true, ",\"n_predict\":%d"},
    [GEMINI] = {"/v1beta/models/tiny:generateContent", CONTENT, PARTS, PARTS, true, OUTPUT},
    [GEMINI_EVENTS] = {"/v1beta/models/tiny:streamGenerateContent?alt=sse", CONTENT, PARTS, PARTS, true,
                       OUTPUT},
    [GEMINI_LIST] = {"/v1beta/models/tiny:streamGenerateContent", CONTENT, PARTS, PARTS, false, OUTPUT},
    [PREPARE] = {"/v1/prepare", "{" MESSAGE "%s%s}", "", "", false, NULL},
    [EXPLAIN] = {"/v1/explain", "{" MESSAGE "%s%s}", "", "", false, NULL},
    [VECTORS] = {"/v1/embeddings", "{\"input\":\"%s\"%s%s}", "", "", false, NULL},
    [OLLAMA_VECTORS] = {"/api/embed", "{\"model\":\"tiny\",\"input\":\"%s\"%s%s}", "", "", false, NULL},
};

bool kind_gives(int kind, bool streams)
{
    return kind <= LLAMA || streams == (kind != GEMINI);
}

bool kind_streams(int kind, bool rather)
{
    return kind_gives(kind, rather) ? rather : !rather;
}

const char *stream_of(int kind, bool streams)
{
    return kind > LLAMA ? "" : streams ? ",\"stream\":true" : ",\"stream\":false";
}

void members_of(int kind, bool streams, int most, char members[120])
{
    char bound[80] = "";

    must(kinds[kind].most != NULL, "nothing bounds this kind");
    snprintf(bound, sizeof bound, kinds[kind].most, most);
    snprintf(members, 120, "%s%s", stream_of(kind, streams), bound);
}

char *body_of(int kind, const char *prompt, const char *more)
{
    const char *length = kind == MESSAGES && !strstr(more, "max_tokens") ? ",\"max_tokens\":2000" : "";
    const size_t capacity = strlen(kinds[kind].body) + strlen(prompt) + strlen(more) + strlen(length) + 1;
    char *body = grow(NULL, capacity);

    snprintf(body, capacity, kinds[kind].body, prompt, more, length);
    return body;
}

void ask_kind(const struct served *s, int kind, const char *prompt, const char *more, struct reply *r)
{
    char *body = body_of(kind, prompt, more);

    ask(s, "POST", kinds[kind].path, "", body, r);
    free(body);
}

static char *copy_of(const char *s, size_t n)
{
    char *copy = grow(NULL, n + 1);

    memcpy(copy, s, n);
    copy[n] = 0;
    return copy;
}

static void add_text(struct told *t, struct ct_str s)
{
    t->text = room_for(t->text, t->n + 1, t->n + s.n + 1);
    memcpy(t->text + t->n, s.s, s.n);
    t->n += s.n;
    t->text[t->n] = 0;
    t->pieces += s.n > 0;
}

/* Strings at the end of a path of keys, of every element where there is a list. */
static void add_at(struct told *t, const struct ct_json_value *v, const char *path)
{
    char key[32];
    int n;

    if (sscanf(path, "%31s%n", key, &n) != 1)
        add_text(t, ct_json_str(v));
    else if (!ct_json_is(v, CT_JSON_ARRAY))
        add_at(t, ct_json_get(v, key), path + n);
    CT_JSON_EACH(one, ct_json_is(v, CT_JSON_ARRAY) ? v : NULL)
    add_at(t, one, path);
}

static bool read_object(const char *s, size_t n, const char *text, struct told *t)
{
    struct ct_json_tree tree = {0};
    carat_error err;
    const bool good = ct_json_tree_read(&tree, CARAT_E_FORMAT, "reply",
                                        (struct ct_bytes){(const uint8_t *)s, n}, &err) == CARAT_OK;

    if (!good)
        fprintf(stderr, "%s: %.*s\n", err.message, (int)n, s);
    else {
        const struct ct_json_value *refused = ct_json_get(&tree.value[0], "error");
        if (ct_json_is(refused, CT_JSON_OBJECT))
            refused = ct_json_get(refused, "message");
        free(t->last);
        t->last = copy_of(s, n);
        add_at(t, &tree.value[0], text);
        if (ct_json_is(refused, CT_JSON_STRING) && !t->error)
            t->error = copy_of(ct_json_str(refused).s, ct_json_str(refused).n);
    }
    ct_json_tree_free(&tree);
    return good;
}

/* A line of a stream; of events there are those with data, their names, comments, and empty ones. */
static bool read_line(const struct kind *kind, const char *s, size_t n, struct told *t)
{
    static const char data[] = "data: ";

    if (!kind->events)
        return read_object(s, n, kind->text, t);
    if (n == 0 || *s == ':' || (n > 7 && memcmp(s, "event: ", 7) == 0))
        return true;
    if (n < sizeof data || memcmp(s, data, sizeof data - 1) != 0)
        return false;
    s += sizeof data - 1;
    n -= sizeof data - 1;
    if (n == 6 && memcmp(s, "[DONE]", 6) == 0)
        return t->done = true;
    return read_object(s, n, kind->text, t);
}

/* A list in pieces: its elements are lines, with "[" before the first, and a comma or "]" behind each. */
static bool read_list(const struct reply *r, const char *text, struct told *t)
{
    struct told whole = {0};
    bool good = r->n > 0 && *r->body == '[' && read_object(r->body, r->n, "", &whole);

    for (const char *at = r->body + 1, *end; good && at < r->body + r->n; at = end + 1) {
        end = memchr(at, '\n', (size_t)(r->body + r->n - at));
        if (!end)
            end = r->body + r->n;
        good = read_object(at, (size_t)(end - at) - 1, text, t);
    }
    told_free(&whole);
    return good;
}

/* What each family of clients takes for the end. */
static bool is_last(const char *object)
{
    static const char *const ends[] = {"\"done\":true", "message_stop", "\"stop\":true", "\"finishReason\":"};

    for (size_t i = 0; i < CT_COUNT(ends); i++)
        if (strstr(object, ends[i]))
            return true;
    return false;
}

bool read_told(int k, const struct reply *r, bool streams, struct told *t)
{
    const struct kind *kind = &kinds[k];
    bool good = true;

    *t = (struct told){.text = room_for(NULL, 0, 1)};
    *t->text = 0;
    if (!streams)
        return read_object(r->body, r->n, kind->whole, t);
    if (k == GEMINI_LIST)
        good = read_list(r, kind->text, t);
    for (const char *at = r->body, *end; k != GEMINI_LIST && good && at < r->body + r->n; at = end + 1) {
        end = memchr(at, '\n', (size_t)(r->body + r->n - at));
        good = end && read_line(kind, at, (size_t)(end - at), t);
    }
    if (t->last && is_last(t->last))
        t->done = true;
    return good;
}

void told_free(struct told *t)
{
    free(t->text);
    free(t->last);
    free(t->error);
}
