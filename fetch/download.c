/* SPDX-License-Identifier: Apache-2.0 */
/* download.c: see download.h. What has come is always a beginning of the file, so nothing of it is lost
 * whenever the program ends; it is hashed again when it is taken up, and the whole gets a name only when the
 * hash is the publisher's. */
#define _POSIX_C_SOURCE 200809L
#include "download.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "report.h"
#include "source.h"
#include "store.h"

enum {
    MOST_TRIES = 5,      /* without a new byte */
    LONGEST_PAUSE = 300, /* seconds that a server may ask for */
    PIECE = 1 << 20,     /* bytes that are hashed at once when a file is taken up */
    STEP = 256 << 10,    /* bytes between two lines of progress */
};

/* A file that is coming. */
struct coming {
    const struct plan *plan;
    struct wanted *wanted;
    struct part part;
    EVP_MD_CTX *hash;
    int64_t asked;              /* the first byte of the request */
    int64_t *done, total, told; /* of all files of the plan */
    bool begun;                 /* the answer was looked at */
    int code;                   /* why the sink ended it; DONE: it did not */
    bool wrong;                 /* what is there cannot be used */
};

static bool give_up(struct coming *c, int code, bool wrong)
{
    c->code = code;
    c->wrong = wrong;
    return false;
}

/* ---- hashes ---- */

/* Git's name of a blob is the hash of its size and its bytes. */
static bool begin_hash(struct coming *c)
{
    const size_t digits = strlen(c->wanted->hash);
    const bool git = digits == 40;
    char head[48];
    const int n = snprintf(head, sizeof head, "blob %lld", (long long)c->wanted->bytes) + 1;

    return EVP_DigestInit_ex(c->hash,
                             git            ? EVP_sha1()
                             : digits == 32 ? EVP_md5()
                                            : EVP_sha256(),
                             NULL) == 1 &&
           (!git || EVP_DigestUpdate(c->hash, head, (size_t)n) == 1);
}

/* Hashes what was there. */
static int hash_beginning(struct coming *c)
{
    unsigned char *piece = malloc(PIECE);
    ssize_t n = 0;

    if (!piece || !begin_hash(c)) {
        free(piece);
        return refuse(NO_MEMORY, "out of memory for %s", c->wanted->name);
    }
    for (int64_t at = 0; at < c->part.have; at += n) {
        n = pread(c->part.fd, piece, PIECE, at);
        if (n <= 0)
            break;
        EVP_DigestUpdate(c->hash, piece, (size_t)n);
    }
    free(piece);
    return c->part.have > 0 && n <= 0
               ? refuse(LOCAL, "%s: cannot be read: %s", c->part.at.part, strerror(errno))
               : DONE;
}

static int check_hash(struct coming *c)
{
    if (!*c->wanted->hash)
        return DONE; /* nobody says what it should be */
    unsigned char digest[EVP_MAX_MD_SIZE];
    char text[2 * EVP_MAX_MD_SIZE + 1] = "";
    unsigned n = 0;

    EVP_DigestFinal_ex(c->hash, digest, &n);
    for (unsigned i = 0; i < n; i++)
        sprintf(text + 2 * i, "%02x", digest[i]);
    if (strcmp(text, c->wanted->hash) == 0)
        return DONE;
    store_leave(&c->part, true);
    return refuse(REMOTE, "%s: what came has the hash %s, expected %s: nothing of it is kept",
                  c->wanted->name, text, c->wanted->hash);
}

/* ---- bytes ---- */

static bool begins_with(const void *data, size_t n, const char *text)
{
    return n >= strlen(text) && strncasecmp(data, text, strlen(text)) == 0;
}

/* What the answer says of itself, before its first byte is taken. */
static bool look_at_answer(struct coming *c, const struct http_reply *r, const void *data, size_t n)
{
    const char *name = c->wanted->name;
    char range[128];

    c->begun = true;
    const int code = c->plan->source->look ? c->plan->source->look(c->plan, c->wanted, r) : DONE;
    if (code != DONE)
        return give_up(c, code, true);
    snprintf(range, sizeof range, "bytes %lld-%lld/%lld", (long long)c->asked,
             (long long)c->wanted->bytes - 1, (long long)c->wanted->bytes);
    if (r->status == 206 && strcmp(r->range, range) != 0)
        return give_up(c, DONE, true); /* another part than was asked for: from the beginning */
    if (c->asked == 0 || r->status == 200) {
        if (begins_with(data, n, "<!doctype html") || begins_with(data, n, "<html"))
            return give_up(c, refuse(REMOTE, "%s: is a page of HTML, not the file", name), true);
        if (begins_with(data, n, "version https://git-lfs.github.com") && strlen(c->wanted->hash) == 64)
            return give_up(c, refuse(REMOTE, "%s: is a pointer of Git LFS, not the file", name), true);
    }
    if (r->status == 206 || c->part.have == 0)
        return true;
    *c->done -= c->part.have; /* the whole file comes: the same bytes go to the same places */
    c->part.have = 0;
    return begin_hash(c) || give_up(c, refuse(NO_MEMORY, "out of memory for %s", name), false);
}

static bool take_bytes(void *user, const struct http_reply *reply, const void *data, size_t n)
{
    struct coming *c = user;

    if (!c->begun && !look_at_answer(c, reply, data, n))
        return false;
    if ((int64_t)n > c->wanted->bytes - c->part.have)
        return give_up(
            c,
            refuse(REMOTE, "%s: has more than its %lld bytes", c->wanted->name, (long long)c->wanted->bytes),
            true);
    for (size_t at = 0; at < n;) {
        const ssize_t put = pwrite(c->part.fd, (const char *)data + at, n - at, c->part.have + (int64_t)at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return give_up(
                c,
                refuse(LOCAL, "%s: cannot be written: %s", c->part.at.part, strerror(put ? errno : ENOSPC)),
                false);
        at += (size_t)put;
    }
    EVP_DigestUpdate(c->hash, data, n);
    c->part.have += (int64_t)n;
    *c->done += (int64_t)n;
    if (*c->done - c->told >= STEP || *c->done < c->told) {
        report_progress(*c->done, c->total);
        c->told = *c->done;
    }
    return true;
}

/* ---- tries ---- */

static void pause_before(int tries, int64_t asked_for)
{
    struct timespec t = {.tv_nsec = (long)(rand() % 500) * 1000000};

    t.tv_sec = asked_for >= 0 ? (asked_for < LONGEST_PAUSE ? (time_t)asked_for : LONGEST_PAUSE)
                              : (time_t)1 << (tries - 1);
    nanosleep(&t, NULL);
}

static bool is_passing(long status)
{
    return status == 403 || status == 408 || status == 416 || status == 429 || status >= 500;
}

/* Until the file is whole, or nothing more comes of it. */
static int fetch_bytes(struct http *h, struct coming *c)
{
    char url[2 * PLAN_PATH];
    struct http_reply reply;
    int tries = 0;

    if (!c->plan->source->address(url, sizeof url, c->plan, c->wanted))
        return refuse(WRONG_PLAN, "%s: its address is too long", c->wanted->name);
    while (c->part.have < c->wanted->bytes) {
        c->asked = c->part.have;
        c->begun = c->wrong = false;
        c->code = DONE;
        const enum http_end end = http_get(h, url, c->asked, 0, take_bytes, c, &reply);
        if (end == HTTP_REFUSED)
            return refuse(REMOTE, "%s: %s", c->wanted->name, http_why(h));
        if (c->code != DONE)
            return c->code;
        if (end == HTTP_ANSWERED && reply.status != 200 && reply.status != 206 &&
            (!is_passing(reply.status) || (reply.status == 403 && *reply.error_code)))
            return c->plan->source->refuse(c->plan, &reply, c->wanted->name);
        if (c->wrong || (end == HTTP_ANSWERED && reply.status == 416)) {
            *c->done -= c->part.have;
            c->part.have = 0;
            TRY(hash_beginning(c));
        } else if (c->part.have > c->asked) {
            tries = 0;
        }
        if (c->part.have == c->wanted->bytes)
            break;
        if (++tries > MOST_TRIES)
            return end == HTTP_ANSWERED
                       ? refuse(REMOTE, "%s: the server answers with status %ld, %d times", c->wanted->name,
                                reply.status, tries)
                       : refuse(UNREACHABLE, "%s: %s, %d times without a new byte; what has come is kept",
                                c->wanted->name, http_why(h), tries);
        pause_before(tries, reply.retry_after);
    }
    return DONE;
}

/* Of a layout that names no hashes: whether what is there is the file. */
static int check_old(struct coming *c, const struct store *s)
{
    struct stat st;

    if (s->layout->by_hash || s->plan->force || stat(c->part.at.whole, &st) != 0)
        return DONE;
    return refuse(LOCAL, "%s: is there, and is another file; --force replaces it", c->part.at.whole);
}

static int fetch_file(struct http *h, const struct store *s, struct coming *c)
{
    bool done;
    int code = store_begin(s, &c->part, c->wanted, &done);

    if (code == DONE && !done)
        code = check_old(c, s);
    if (code == DONE && !done) {
        *c->done += c->part.have;
        code = hash_beginning(c);
        if (code == DONE)
            code = fetch_bytes(h, c);
        if (code == DONE)
            code = check_hash(c);
        if (code == DONE)
            code = store_finish(&c->part);
    } else if (code == DONE) {
        *c->done += c->wanted->bytes; /* another process has fetched it */
    }
    store_leave(&c->part, c->wrong);
    return code;
}

int download_check(const struct plan *plan)
{
    struct store store;

    store_open(&store, plan);
    for (int i = 0; i < plan->n; i++)
        report_there(plan->file[i].name, plan->file[i].bytes, store_has(&store, &plan->file[i]));
    return DONE;
}

int download_all(struct http *h, const struct plan *plan)
{
    char path[4 * PLAN_PATH];
    struct store store;
    int64_t done = 0, total = 0;
    int code = DONE;
    EVP_MD_CTX *hash = EVP_MD_CTX_new();

    if (!hash)
        return refuse(NO_MEMORY, "out of memory for hashes");
    store_open(&store, plan);
    for (int i = 0; i < plan->n && code == DONE; i++)
        total += !plan->force && store_has(&store, &plan->file[i]) ? 0 : plan->file[i].bytes;
    if (code == DONE)
        report_progress(0, total);
    for (int i = 0; i < plan->n && code == DONE; i++) {
        struct wanted *w = &plan->file[i];
        struct coming c = {
            .plan = plan, .wanted = w, .hash = hash, .done = &done, .total = total, .told = done};
        if (plan->force || !store_has(&store, w))
            code = fetch_file(h, &store, &c);
        if (code == DONE)
            code = store_enter(&store, w);
    }
    EVP_MD_CTX_free(hash);
    if (code == DONE)
        code = store_end(&store, path, sizeof path);
    if (code == DONE)
        report_progress(done, total);
    if (code == DONE)
        report_done(path);
    return code;
}
