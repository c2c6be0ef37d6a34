/* SPDX-License-Identifier: Apache-2.0 */
/* fakehub.c: a hub on this machine for the tests of fetching, which can misbehave below HTTP: raw sockets, a
 * process for each connection. It serves DIR/OWNER/NAME as repositories of one commit, writes its port into a
 * file, and a line for each answer into a log: path, range, whether a token came, bytes of the body sent.
 * FAKEHUB_PORT of the environment is the port, where a client asks for one alone.
 *
 *     fakehub DIR PORT_FILE LOG_FILE [FAULT [NUMBER]]
 *
 * Large files are redirected to /cdn/OWNER/NAME/FILE, which is also an address
 * of a file without a hub. LOG_FILE.headers has every header line of requests to another host than 127.0.0.1.
 * Faults: fakehub_faults.c. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fakehub.h"

enum { MOST = 1 << 16 };

const char *dir, *log_path;
int port;
struct shared *shared;

/* ---- one connection ---- */

static void note(const struct request *r)
{
    FILE *f = fopen(log_path, "ae");

    if (f) {
        fprintf(f, "%s%s%s range=%s token=%d sent=%lld\n", r->path, *r->query ? "?" : "", r->query, r->range,
                r->token, r->sent);
        fclose(f);
    }
}

static bool put_all(const struct request *r, const void *data, size_t n)
{
    const char *p = data;

    while (n > 0) {
        const ssize_t put = send(r->fd, p, n, MSG_NOSIGNAL);
        if (put <= 0)
            return false;
        p += put;
        n -= (size_t)put;
    }
    return true;
}

bool put(struct request *r, const void *data, size_t n)
{
    return r->only_head || put_all(r, data, n);
}

void head(struct request *r, const char *format, ...)
{
    char text[4096];
    va_list arguments;

    va_start(arguments, format);
    const int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put_all(r, text, (size_t)n);
}

void answer(struct request *r, int status, const char *more, const char *type, const char *body)
{
    head(r, "HTTP/1.1 %d Answer\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n",
         status, type, strlen(body), more);
    put(r, body, strlen(body));
    r->sent += (long long)strlen(body);
}

/* ---- addresses ---- */

/* OWNER/NAME at the front of path, which then stands behind it. */
static bool take_repository(const char **path, char repository[PATH])
{
    const char *slash = strchr(*path, '/'), *end = slash ? slash + 1 + strcspn(slash + 1, "/") : NULL;
    struct stat st;
    char folder[2 * PATH];

    if (!end)
        return false;
    snprintf(repository, PATH, "%.*s", (int)(end - *path), *path);
    *path = end;
    snprintf(folder, sizeof folder, "%s/%s", dir, repository);
    return stat(folder, &st) == 0;
}

static void serve(struct request *r)
{
    const char *path = r->path;
    char repository[PATH];
    const bool api = strncmp(path, "/api/models/", 12) == 0, cdn = strncmp(path, "/cdn/", 5) == 0;

    if (answer_kaggle_search(r) || answer_kaggle(r) || answer_ollama(r))
        return;
    if (strcmp(path, "/api/models") == 0) {
        answer_search(r);
        return;
    }
    path += api ? 12 : cdn ? 5 : 1;
    if (!take_repository(&path, repository) || fault == ALL_MISSING)
        answer(r, 401, "X-Error-Code: RepoNotFound\r\n", "application/json",
               "{\"error\": \"Repository not found\"}");
    else if (fault == BUSY_LIST && api && __atomic_fetch_add(&shared->lists, 1, __ATOMIC_SEQ_CST) < number)
        answer(r, 503, "Retry-After: 0\r\n", "text/plain", "busy");
    else if (fault == GATED && !cdn)
        answer(r, 403, "X-Error-Code: GatedRepo\r\n", "application/json", "{\"error\": \"gated\"}");
    else if (api && (strcmp(path, "/revision/main") == 0 || strcmp(path, "/revision/" COMMIT) == 0))
        answer_revision(r, repository);
    else if (api && strncmp(path, "/revision/", 10) == 0)
        answer(r, 404, "X-Error-Code: RevisionNotFound\r\n", "application/json",
               "{\"error\": \"Invalid rev id\"}");
    else if (api && strncmp(path, "/tree/", 6) == 0)
        answer_list(r, repository);
    else if (cdn)
        answer_file(r, repository, path + 1, true);
    else if (strncmp(path, "/resolve/" COMMIT "/", 50) == 0 || strncmp(path, "/resolve/main/", 14) == 0)
        answer_file(r, repository, strchr(path + 9, '/') + 1, false);
    else
        answer(r, 404, "", "text/plain", "no");
}

/* %20 and so on, in place. */
static void unescape(char *s)
{
    char *out = s;
    unsigned c;

    for (; *s; s++)
        if (*s == '%' && sscanf(s + 1, "%2x", &c) == 1)
            *out++ = (char)c, s += 2;
        else
            *out++ = *s;
    *out = 0;
}

/* What another host gets to know. */
static void keep_headers(const char *text)
{
    char path[PATH];

    if (strstr(text, "Host: 127.0.0.1"))
        return;
    snprintf(path, sizeof path, "%s.headers", log_path);
    FILE *f = fopen(path, "ae");
    if (f) {
        fputs(text, f);
        fclose(f);
    }
}

/* What comes behind the head of a POST, of which n bytes at text have come. */
static void hear_body(struct request *r, const char *text, size_t n)
{
    const char *length = strcasestr(text, "\r\ncontent-length: "), *from = strstr(text, "\r\n\r\n") + 4;
    size_t want = length ? (size_t)atoi(length + 18) : 0, have = n - (size_t)(from - text);

    if (want >= sizeof r->body || have > want)
        return;
    memcpy(r->body, from, have);
    while (have < want) {
        const ssize_t got = recv(r->fd, r->body + have, want - have, 0);
        if (got <= 0)
            return;
        have += (size_t)got;
    }
}

static void hear(int fd)
{
    struct request r = {.fd = fd};
    static char text[MOST];
    size_t n = 0;

    while (n + 1 < sizeof text && !strstr(text, "\r\n\r\n")) {
        const ssize_t got = recv(fd, text + n, sizeof text - 1 - n, 0);
        if (got <= 0)
            return;
        n += (size_t)got;
        text[n] = 0;
    }
    if (sscanf(text, "%*s %2047s", r.path) != 1)
        return;
    char *query = strchr(r.path, '?');
    if (query) {
        *query = 0;
        snprintf(r.query, sizeof r.query, "%.255s", query + 1);
    }
    unescape(r.path);
    r.only_head = strncmp(text, "HEAD ", 5) == 0;
    for (char *line = strstr(text, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, "range: ", 7) == 0)
            sscanf(line + 9, "%63[^\r]", r.range);
        if (strncasecmp(line + 2, "authorization: ", 15) == 0)
            sscanf(line + 17, "%255[^\r]", r.authorization);
        if (strncasecmp(line + 2, "accept: ", 8) == 0)
            sscanf(line + 10, "%255[^\r]", r.accept);
        r.token |= *r.authorization != 0;
    }
    hear_body(&r, text, n);
    keep_headers(text);
    if (fault == LINK)
        usleep(40000);
    serve(&r);
    if (r.only_head)
        r.sent = 0;
    note(&r);
    if (r.fd >= 0) {
        shutdown(r.fd, SHUT_WR);
        while (recv(r.fd, text, sizeof text, 0) > 0)
            ;
    }
}

int main(int argc, char **argv)
{
    const char *wanted = getenv("FAKEHUB_PORT");
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)(wanted ? atoi(wanted) : 0))};
    socklen_t size = sizeof at;
    const int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (argc < 4)
        return 2;
    dir = argv[1];
    log_path = argv[3];
    if (argc > 4 && !find_fault(argv[4]))
        return 2;
    number = argc > 5 ? atoll(argv[5]) : 0;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    signal(SIGCHLD, SIG_IGN);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (shared == MAP_FAILED || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 64) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) != 0)
        return 1;
    port = ntohs(at.sin_port);
    FILE *f = fopen(argv[2], "we");
    if (!f || fprintf(f, "%d\n", port) < 0 || fclose(f) != 0)
        return 1;
    for (;;) {
        const int connection = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        if (connection < 0)
            continue;
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            hear(connection);
            _exit(0);
        }
        close(connection);
    }
}
