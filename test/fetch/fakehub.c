/* SPDX-License-Identifier: Apache-2.0 */
/* fakehub.c: a hub on this machine for the tests of fetching, which can misbehave below HTTP: raw sockets, a
 * process for each connection. It serves DIR/OWNER/NAME as repositories of one commit, writes its port into a
 * file, and a line for each answer into a log: path, range, whether a token came, bytes of the body sent.
 *
 *     fakehub DIR PORT_FILE LOG_FILE [FAULT [NUMBER]]
 *
 * What faults there are is a table. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define COMMIT "0123456789abcdef0123456789abcdef01234567"

enum { MOST = 1 << 16, PATH = 2048 };

/* ---- faults ---- */

/* Of answers with the bytes of a file, unless said otherwise. NUMBER is what it needs to know. */
enum fault {
    NONE,
    RANGE_IGNORED, /* 200 to a Range */
    RANGE_WRONG,   /* another Content-Range than asked for */
    RANGE_ABSENT,  /* 206 without one */
    ETAG_CHANGES,  /* another X-Linked-Etag from the second answer on */
    FULL_416,      /* 416 to every Range */
    BUSY_429,      /* the first NUMBER answers are 429 with Retry-After: 0 */
    BUSY_500,      /* the first NUMBER answers are 500 */
    LOOP,          /* redirects to itself */
    FOREIGN,       /* redirects to localhost by another name */
    DOWNGRADE,     /* redirects to http where it was asked by https; here: to ftp */
    RESET,         /* the first answer ends behind NUMBER bytes */
    RESETS,        /* every answer ends behind NUMBER bytes */
    SILENT,        /* no answer */
    LONG_BODY,     /* more bytes than there are */
    FLIP,          /* a bit of byte NUMBER */
    HTML,          /* a page with 200 */
    ENDLESS,       /* headers without end */
    PAGES,         /* of the list: every page names itself as the next one */
    BAD_NAME,      /* of the list: "../x" */
    ZERO_NAME,     /* of the list: a NUL in a name */
    DEEP,          /* of the list: 10000 brackets */
    HUGE_SIZE,     /* of the list: 2^63 bytes */
    LARGE_SIZE,    /* of the list: files above 4096 bytes have NUMBER of them */
    GATED,         /* 403 with GatedRepo */
    ALL_MISSING,   /* 401 for the repository */
};
static const struct {
    const char *name;
    enum fault fault;
} faults[] = {{"none", NONE},
              {"range-ignored", RANGE_IGNORED},
              {"range-wrong", RANGE_WRONG},
              {"range-absent", RANGE_ABSENT},
              {"etag-changes", ETAG_CHANGES},
              {"416", FULL_416},
              {"429", BUSY_429},
              {"500", BUSY_500},
              {"loop", LOOP},
              {"foreign", FOREIGN},
              {"downgrade", DOWNGRADE},
              {"reset", RESET},
              {"resets", RESETS},
              {"silent", SILENT},
              {"long", LONG_BODY},
              {"flip", FLIP},
              {"html", HTML},
              {"endless", ENDLESS},
              {"pages", PAGES},
              {"bad-name", BAD_NAME},
              {"zero-name", ZERO_NAME},
              {"deep", DEEP},
              {"huge-size", HUGE_SIZE},
              {"large-size", LARGE_SIZE},
              {"gated", GATED},
              {"missing", ALL_MISSING}};

static enum fault fault;
static long long number;
static const char *dir, *log_path;
static int port;
static struct shared { /* between the processes */
    int answers;       /* with bytes of a file */
} * shared;

/* ---- one connection ---- */

struct request {
    int fd;
    char path[PATH], query[256], range[64];
    bool token;
    long long sent;
};

static void note(const struct request *r)
{
    FILE *f = fopen(log_path, "ae");

    if (f) {
        fprintf(f, "%s%s%s range=%s token=%d sent=%lld\n", r->path, *r->query ? "?" : "", r->query, r->range,
                r->token, r->sent);
        fclose(f);
    }
}

static bool put(struct request *r, const void *data, size_t n)
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

static void head(struct request *r, const char *format, ...)
{
    char text[4096];
    va_list arguments;

    va_start(arguments, format);
    const int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put(r, text, (size_t)n);
}

static void answer(struct request *r, int status, const char *more, const char *type, const char *body)
{
    head(r, "HTTP/1.1 %d Answer\r\nConnection: close\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n",
         status, type, strlen(body), more);
    put(r, body, strlen(body));
    r->sent += (long long)strlen(body);
}

/* Ends the connection in the middle: the other side sees a reset. */
static void cut(struct request *r)
{
    const struct linger now = {1, 0};

    setsockopt(r->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(r->fd);
    r->fd = -1;
}

static char *read_file(const char *path, size_t *n)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char *data = NULL;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        (data = malloc((size_t)st.st_size + 1)) != NULL) {
        *n = (size_t)st.st_size;
        for (size_t at = 0; at < *n;) {
            const ssize_t got = read(fd, data + at, *n - at);
            if (got <= 0)
                break;
            at += (size_t)got;
        }
    }
    if (fd >= 0)
        close(fd);
    return data;
}

/* SHA-256 of large files, git's SHA-1 of small ones, as the hub has it. */
static void hash_of(char out[65], const char *data, size_t n, bool large)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    char size[48];
    unsigned m = 0;
    EVP_MD_CTX *c = EVP_MD_CTX_new();

    EVP_DigestInit_ex(c, large ? EVP_sha256() : EVP_sha1(), NULL);
    if (!large)
        EVP_DigestUpdate(c, size, (size_t)snprintf(size, sizeof size, "blob %zu", n) + 1);
    EVP_DigestUpdate(c, data, n);
    EVP_DigestFinal_ex(c, digest, &m);
    EVP_MD_CTX_free(c);
    for (unsigned i = 0; i < m; i++)
        sprintf(out + 2 * i, "%02x", digest[i]);
}

static bool is_large(size_t n)
{
    return n > 4096;
}

/* ---- lists ---- */

static void list_below(FILE *out, const char *root, const char *below, bool *first)
{
    char path[2 * PATH], name[2 * PATH], hash[65];
    struct dirent **entry = NULL;
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", root, below);
    const int n = scandir(path, &entry, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *e = entry[i]->d_name;
        size_t size;
        char *data;
        snprintf(name, sizeof name, "%.1000s%s%.250s", below, *below ? "/" : "", e);
        snprintf(path, sizeof path, "%.1000s/%.2000s", root, name);
        if (*e == '.' || stat(path, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode)) {
            fprintf(out,
                    "%s{\"type\": \"directory\", \"oid\": \"" COMMIT "\", \"size\": 0, \"path\": \"%s\"}",
                    *first ? "" : ", ", name);
            *first = false;
            list_below(out, root, name, first);
        } else if ((data = read_file(path, &size)) != NULL) {
            hash_of(hash, data, size, false);
            fprintf(out, "%s{\"type\": \"file\", \"oid\": \"%s\", \"size\": %zu", *first ? "" : ", ", hash,
                    size);
            if (is_large(size)) {
                hash_of(hash, data, size, true);
                fprintf(out, ", \"lfs\": {\"oid\": \"%s\", \"size\": %zu, \"pointerSize\": 134}", hash,
                        fault == LARGE_SIZE ? (size_t)number : size);
            }
            fprintf(out, ", \"path\": \"%s\"}", name);
            *first = false;
            free(data);
        }
        free(entry[i]);
    }
    free(entry);
}

static void answer_list(struct request *r, const char *repository)
{
    static const char entry[] =
        "[{\"type\": \"file\", \"oid\": \"" COMMIT "\", \"size\": %s, \"path\": \"%s\"}]";
    char root[2 * PATH], link[PATH + 64] = "", small[512], *text = NULL;
    size_t n = 0;
    bool first = true;

    if (fault == BAD_NAME || fault == ZERO_NAME || fault == HUGE_SIZE) {
        snprintf(small, sizeof small, entry, fault == HUGE_SIZE ? "9223372036854775808" : "1",
                 fault == BAD_NAME    ? "../x"
                 : fault == ZERO_NAME ? "a\\u0000b"
                                      : "x");
        answer(r, 200, "", "application/json", small);
        return;
    }
    FILE *out = open_memstream(&text, &n);
    snprintf(root, sizeof root, "%s/%s", dir, repository);
    fputc('[', out);
    for (int i = 0; i < 10000 && fault == DEEP; i++)
        fputs("{\"path\": [", out);
    list_below(out, root, "", &first);
    fputc(']', out);
    fclose(out);
    if (fault == PAGES)
        snprintf(link, sizeof link, "Link: <http://127.0.0.1:%d%s?cursor=x>; rel=\"next\"\r\n", port,
                 r->path);
    answer(r, 200, link, "application/json", text);
    free(text);
}

/* ---- files ---- */

struct range {
    size_t from, end; /* end: behind the last byte */
    bool partial;
};

/* "bytes=FROM-", "bytes=FROM-LAST", or nothing. */
static struct range range_of(const struct request *r, size_t n)
{
    struct range part = {0, n, strlen(r->range) > 6};
    const char *dash = strchr(r->range, '-');

    if (part.partial) {
        part.from = strtoull(r->range + 6, NULL, 10);
        if (dash && dash[1] && strtoull(dash + 1, NULL, 10) + 1 < n)
            part.end = strtoull(dash + 1, NULL, 10) + 1;
    }
    return part;
}

/* A part of a file, of which at most `until` bytes are sent. */
static void send_bytes(struct request *r, const char *data, size_t n, const char *hash, size_t until)
{
    struct range part = range_of(r, n);
    char range[128] = "", *copy;

    if (fault == RANGE_IGNORED)
        part = (struct range){0, n, false};
    if (part.partial && fault != RANGE_ABSENT)
        snprintf(range, sizeof range, "Content-Range: bytes %zu-%zu/%zu\r\n",
                 part.from + (fault == RANGE_WRONG), part.end - 1, n);
    head(r,
         "HTTP/1.1 %d Answer\r\nConnection: close\r\nContent-Type: application/octet-stream\r\n"
         "Accept-Ranges: bytes\r\nETag: \"%.32s\"\r\nContent-Length: %zu\r\n%s\r\n",
         part.partial ? 206 : 200, hash, part.end - part.from + (fault == LONG_BODY ? 100 : 0), range);
    copy = malloc(n + 101);
    memcpy(copy, data, n);
    memset(copy + n, 'x', 100);
    if (fault == FLIP && n > (size_t)number)
        copy[number] ^= 1;
    const bool cuts = until < part.end - part.from;
    if (cuts)
        part.end = part.from + until;
    if (fault == LONG_BODY)
        part.end += 100;
    if (put(r, copy + part.from, part.end - part.from))
        r->sent += (long long)(part.end - part.from);
    free(copy);
    if (cuts) {
        usleep(20000); /* what was sent arrives */
        cut(r);
    }
}

static void answer_file(struct request *r, const char *repository, const char *name, bool redirected)
{
    char path[2 * PATH], hash[65], more[PATH + 512], where[PATH + 128];
    size_t n;
    char *data;

    snprintf(path, sizeof path, "%s/%s/%s", dir, repository, name);
    data = read_file(path, &n);
    if (!data) {
        answer(r, 404, "X-Error-Code: EntryNotFound\r\n", "text/plain", "Entry not found");
        return;
    }
    hash_of(hash, data, n, is_large(n));
    if (!redirected) { /* large files lie elsewhere */
        if (fault == ETAG_CHANGES && shared->answers > 0)
            hash[0] = hash[0] == '0' ? '1' : '0';
        snprintf(where, sizeof where, "http://%s:%d/cdn/%s/%s", fault == FOREIGN ? "localhost" : "127.0.0.1",
                 port, repository, name);
        if (fault == LOOP)
            snprintf(where, sizeof where, "%s", r->path);
        if (fault == DOWNGRADE)
            snprintf(where, sizeof where, "ftp://127.0.0.1:%d/x", port);
        snprintf(more, sizeof more,
                 "X-Repo-Commit: " COMMIT
                 "\r\nX-Linked-Etag: \"%s\"\r\nX-Linked-Size: %zu\r\nLocation: %s\r\n",
                 hash, n, where);
        if (is_large(n)) {
            answer(r, 302, more, "text/plain", "Found");
            free(data);
            return;
        }
        head(r,
             "HTTP/1.1 200 OK\r\nConnection: close\r\nX-Repo-Commit: " COMMIT
             "\r\nETag: \"%s\"\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n",
             hash, n);
        put(r, data, n);
        r->sent += (long long)n;
        free(data);
        return;
    }
    const int before = __atomic_fetch_add(&shared->answers, 1, __ATOMIC_SEQ_CST);
    if ((fault == BUSY_429 || fault == BUSY_500) && before < number)
        answer(r, fault == BUSY_429 ? 429 : 500, "Retry-After: 0\r\n", "text/plain", "busy");
    else if (fault == FULL_416 && range_of(r, n).from > 0)
        answer(r, 416, "", "text/plain", "no");
    else if (fault == SILENT)
        while (recv(r->fd, path, sizeof path, 0) > 0) /* until the other side has had enough */
            ;
    else if (fault == HTML)
        answer(r, 200, "", "text/html", "<!DOCTYPE html><html><body>Sign in</body></html>");
    else if (fault == ENDLESS) {
        head(r, "HTTP/1.1 200 OK\r\n");
        for (int i = 0; i < 1 << 20; i++)
            head(r, "X-%d: abcdefghijklmnopqrstuvwxyz\r\n", i);
    } else
        send_bytes(r, data, n, hash, fault == RESETS || (fault == RESET && before == 0) ? (size_t)number : n);
    free(data);
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

    path += api ? 12 : cdn ? 5 : 1;
    if (!take_repository(&path, repository) || fault == ALL_MISSING)
        answer(r, 401, "X-Error-Code: RepoNotFound\r\n", "application/json",
               "{\"error\": \"Repository not found\"}");
    else if (fault == GATED && !cdn)
        answer(r, 403, "X-Error-Code: GatedRepo\r\n", "application/json", "{\"error\": \"gated\"}");
    else if (api && (strcmp(path, "/revision/main") == 0 || strcmp(path, "/revision/" COMMIT) == 0))
        answer(r, 200, "", "application/json",
               "{\"id\": \"x\", \"siblings\": [{\"a\": {}}], \"sha\": \"" COMMIT "\"}");
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
    for (char *line = strstr(text, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, "range: ", 7) == 0)
            sscanf(line + 9, "%63[^\r]", r.range);
        r.token |= strncasecmp(line + 2, "authorization:", 14) == 0;
    }
    serve(&r);
    note(&r);
    if (r.fd >= 0) {
        shutdown(r.fd, SHUT_WR);
        while (recv(r.fd, text, sizeof text, 0) > 0)
            ;
    }
}

int main(int argc, char **argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    const int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (argc < 4)
        return 2;
    dir = argv[1];
    log_path = argv[3];
    for (size_t i = 0; argc > 4 && i < sizeof faults / sizeof faults[0]; i++)
        if (strcmp(argv[4], faults[i].name) == 0)
            fault = faults[i].fault;
    if (argc > 4 && fault == NONE && strcmp(argv[4], "none") != 0)
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
            hear(connection);
            _exit(0);
        }
        close(connection);
    }
}
