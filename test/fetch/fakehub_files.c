/* SPDX-License-Identifier: Apache-2.0 */
/* fakehub_files.c: the fake hub's files: their hashes, where they lie, and their bytes. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fakehub.h"

const char *open_file(const char *path, size_t *n)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char *data = NULL;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        *n = (size_t)st.st_size;
        data = mmap(NULL, *n + 1, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0)
        close(fd);
    return data == MAP_FAILED ? NULL : data;
}

void close_file(const char *data, size_t n)
{
    munmap((void *)(uintptr_t)data, n + 1);
}

static bool kept_hash(char out[65], const char *kept)
{
    FILE *f = fopen(kept, "re");
    const bool read = f && fscanf(f, "%64s", out) == 1;

    if (f)
        fclose(f);
    return read;
}

/* Large files would take seconds for each answer: beside the log lies what was computed once. */
void hash_of(char out[65], const char *path, bool large)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    char size[48], kept[PATH + 128];
    unsigned m = 0;
    size_t n = 0;
    struct stat st;
    const char *data;

    if (stat(path, &st) != 0)
        return;
    snprintf(kept, sizeof kept, "%s.%d.%llu.%lld.%lld", log_path, large, (unsigned long long)st.st_ino,
             (long long)st.st_size, (long long)st.st_mtime);
    const bool keeps = st.st_size > 8 << 20;
    if ((keeps && kept_hash(out, kept)) || !(data = open_file(path, &n)))
        return;
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    EVP_DigestInit_ex(c, large ? EVP_sha256() : EVP_sha1(), NULL);
    if (!large)
        EVP_DigestUpdate(c, size, (size_t)snprintf(size, sizeof size, "blob %zu", n) + 1);
    EVP_DigestUpdate(c, data, n);
    EVP_DigestFinal_ex(c, digest, &m);
    EVP_MD_CTX_free(c);
    close_file(data, n);
    for (unsigned i = 0; i < m; i++)
        sprintf(out + 2 * i, "%02x", digest[i]);
    FILE *f = keeps ? fopen(kept, "we") : NULL;
    if (f) {
        fputs(out, f);
        fclose(f);
    }
}

bool is_large(size_t n)
{
    return n > 4096;
}

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

/* So many bytes a second. */
static bool put_slowly(struct request *r, const char *data, size_t n, double rate)
{
    const size_t step = rate < 1e5 ? 1 : (size_t)(rate / 100);
    const struct timespec pause = {
        .tv_sec = (time_t)((double)step / rate),
        .tv_nsec = (long)(1e9 * ((double)step / rate - (double)(time_t)((double)step / rate)))};

    for (size_t at = 0; at < n; at += step) {
        const size_t now = at + step < n ? step : n - at;
        if (!put(r, data + at, now))
            return false;
        r->sent += (long long)now;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* Ends the connection in the middle: the other side sees a reset. */
static void cut(struct request *r)
{
    const struct linger now = {1, 0};

    usleep(20000); /* what was sent arrives */
    setsockopt(r->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(r->fd);
    r->fd = -1;
}

/* The bytes of a part where they have to be others than data's, and 100 behind them; NULL: they are data's.
 * With a header that is wrong come the bytes that it speaks of: who does not read it gets a wrong file. */
static char *other_bytes(struct range part, const char *data, size_t n, bool foreign)
{
    const size_t all = part.end - part.from;
    size_t first = part.from;

    if (part.partial && fault == RANGE_WRONG)
        first++;
    else if (part.partial && fault == RANGE_ABSENT)
        first = 0;
    if (first == part.from && !foreign && fault != FLIP && fault != LONG_BODY)
        return NULL;
    char *copy = malloc(all + 100);
    for (size_t i = 0; i < all; i++)
        copy[i] = (char)(data[(first + i) % n] ^ (foreign ? 0x55 : 0));
    memset(copy + all, 'x', 100);
    if (fault == FLIP && part.from <= (size_t)number && (size_t)number < part.end)
        copy[(size_t)number - part.from] ^= 1;
    return copy;
}

/* The part that is asked for, of which at most `until` bytes are sent before a reset; foreign: of another
 * file. */
static void send_bytes(struct request *r, const char *data, size_t n, const char *hash, size_t until,
                       bool foreign)
{
    struct range part = range_of(r, n);
    char range[128] = "";

    if (fault == RANGE_IGNORED)
        part = (struct range){0, n, false};
    if (part.partial && fault != RANGE_ABSENT)
        snprintf(range, sizeof range, "Content-Range: bytes %zu-%zu/%zu\r\n",
                 part.from + (fault == RANGE_WRONG), part.end - 1, n);
    const size_t all = part.end - part.from, more = fault == LONG_BODY ? 100 : 0;
    head(r,
         "HTTP/1.1 %d Answer\r\nConnection: close\r\nContent-Type: application/octet-stream\r\n"
         "Accept-Ranges: bytes\r\nETag: \"%.32s\"\r\nContent-Length: %zu\r\n%s\r\n",
         part.partial ? 206 : 200, hash, all + more, range);
    char *copy = other_bytes(part, data, n, foreign);
    const char *from = copy ? copy : data + part.from;
    size_t sends = until < all ? until : all + more;
    if (fault == SHORT_BODY)
        sends = (size_t)number < all ? all - (size_t)number : 0;
    if (fault == DRIP || fault == LINK)
        put_slowly(r, from, sends, (double)number);
    else if (put(r, from, sends))
        r->sent += (long long)sends;
    free(copy);
    if (until < all)
        cut(r);
}

/* ---- addresses ---- */

/* Of a large file: the answer says what it is, and where. */
static void redirect(struct request *r, const char *repository, const char *name, const char *hash, size_t n)
{
    char where[2 * PATH], more[3 * PATH];

    if (fault == LOOP)
        snprintf(where, sizeof where, "%s", r->path);
    else if (fault == DOWNGRADE)
        snprintf(where, sizeof where, "ftp://127.0.0.1:%d/x", port);
    else {
        char host[32] = "";
        if (fault != RELATIVE)
            snprintf(host, sizeof host, "http://%s:%d",
                     fault == FOREIGN || fault == LINK ? "localhost" : "127.0.0.1", port);
        snprintf(where, sizeof where, "%s/cdn/%.200s/%.1000s?signed=%d", host, repository, name,
                 __atomic_add_fetch(&shared->addresses, 1, __ATOMIC_SEQ_CST));
    }
    snprintf(more, sizeof more,
             "X-Repo-Commit: " COMMIT "\r\nX-Linked-Etag: \"%s\"\r\nX-Linked-Size: %zu\r\nLocation: %s\r\n",
             hash, n, where);
    answer(r, 302, more, "text/plain", "Found");
}

/* Instead of bytes; false: they are sent. before: answers before this one. */
static bool misbehave(struct request *r, size_t n, int before)
{
    int address = 0;

    sscanf(r->query, "signed=%d", &address);
    if (before < number &&
        (fault == BUSY_429 || fault == BUSY_500 || fault == BUSY_DATE || fault == BUSY_PLAIN))
        answer(r, fault == BUSY_500 ? 500 : 429,
               fault == BUSY_PLAIN  ? ""
               : fault == BUSY_DATE ? "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n"
                                    : "Retry-After: 0\r\n",
               "text/plain", "busy");
    else if (fault == EXPIRES &&
             __atomic_fetch_add(&shared->used[address % MOST_ADDRESSES], 1, __ATOMIC_SEQ_CST) >= number)
        answer(r, 403, "", "application/xml", "<Error><Code>AccessDenied</Code></Error>");
    else if (fault == FULL_416 && range_of(r, n).from > 0)
        answer(r, 416, "", "text/plain", "no");
    else if (fault == SILENT)
        recv(r->fd, &(char){0}, 1, 0); /* until the other side has gone */
    else if (fault == HTML)
        answer(r, 200, "", "text/html", "<!DOCTYPE html><html><body>Sign in</body></html>");
    else if (fault == GZIP)
        answer(r, 200, "", "text/plain", "\x1f\x8b\x08 and so on");
    else if (fault == POINTER)
        answer(r, 200, "", "text/plain", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
    else if (fault == ENDLESS) {
        head(r, "HTTP/1.1 200 OK\r\n");
        for (int i = 0; i < 1 << 20; i++)
            head(r, "X-%d: abcdefghijklmnopqrstuvwxyz\r\n", i);
    } else
        return false;
    return true;
}

void answer_file(struct request *r, const char *repository, const char *name, bool away)
{
    char path[2 * PATH], hash[65] = "";
    size_t n = 0;

    snprintf(path, sizeof path, "%s/%s/%s", dir, repository, name);
    if (fault == XET_ONLY) {
        answer(r, 403, "", "text/plain", "too large");
        return;
    }
    const char *data = open_file(path, &n);
    if (!data) {
        answer(r, 404, "X-Error-Code: EntryNotFound\r\n", "text/plain", "Entry not found");
        return;
    }
    hash_of(hash, path, is_large(n));
    if (!away && is_large(n)) {
        if (fault == ETAG_CHANGES && __atomic_fetch_add(&shared->used[0], 1, __ATOMIC_SEQ_CST) > 0)
            hash[0] = hash[0] == '0' ? '1' : '0';
        redirect(r, repository, name, hash, n);
    } else if (!away) {
        head(r,
             "HTTP/1.1 200 OK\r\nConnection: close\r\nX-Repo-Commit: " COMMIT
             "\r\nETag: \"%s\"\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n",
             hash, n);
        if (put(r, data, n))
            r->sent += (long long)n;
    } else {
        const int before = __atomic_fetch_add(&shared->answers, 1, __ATOMIC_SEQ_CST);
        const bool foreign = fault == BODY_CHANGES && before == number;
        if (foreign)
            hash[0] = hash[0] == '0' ? '1' : '0';
        if (!misbehave(r, n, before))
            send_bytes(r, data, n, hash,
                       fault == RESETS || (fault == RESET && before == 0) ? (size_t)number : n, foreign);
    }
    close_file(data, n);
}
