/* SPDX-License-Identifier: Apache-2.0 */
/* hasher.c: see hasher.h. */
#define _POSIX_C_SOURCE 200809L
#include "hasher.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "tap.h"

enum { PIECE = 1 << 20 };

struct hasher {
    int fd;
    int64_t bytes, at, have;
    bool stops, failed;
    struct tap *tap;
    pthread_mutex_t mutex;
    pthread_cond_t more;
    pthread_t thread;
    EVP_MD_CTX *context;
    unsigned char piece[PIECE];
};

/* Git's name of a blob is the hash of its size and its bytes. */
static bool begin_hash(struct hasher *h, size_t digits)
{
    const bool git = digits == 40;
    char head[48];
    const int n = snprintf(head, sizeof head, "blob %lld", (long long)h->bytes) + 1;

    return EVP_DigestInit_ex(h->context,
                             git            ? EVP_sha1()
                             : digits == 32 ? EVP_md5()
                                            : EVP_sha256(),
                             NULL) &&
           (!git || EVP_DigestUpdate(h->context, head, (size_t)n));
}

/* Waits for bytes that can be hashed, and returns how many, in whole pieces; 0: it ends. */
static int64_t wait_for_more(struct hasher *h)
{
    int64_t ready = 0;

    pthread_mutex_lock(&h->mutex);
    while (!h->stops && h->at < h->bytes) {
        ready = CT_MIN(h->have, h->bytes) - h->at;
        if (ready >= PIECE || (ready > 0 && h->have >= h->bytes))
            break;
        pthread_cond_wait(&h->more, &h->mutex);
    }
    ready = h->stops || h->at == h->bytes ? 0 : CT_MIN(ready, PIECE);
    pthread_mutex_unlock(&h->mutex);
    return ready;
}

static void *hash_all(void *user)
{
    struct hasher *h = user;
    int64_t ready;

    while ((ready = wait_for_more(h)) > 0) {
        const ssize_t n = pread(h->fd, h->piece, (size_t)ready, h->at);
        if (n <= 0) {
            h->failed = true;
            break;
        }
        EVP_DigestUpdate(h->context, h->piece, (size_t)n);
        if (h->tap)
            h->tap->take(h->tap, h->piece, (size_t)n);
        pthread_mutex_lock(&h->mutex);
        h->at += n;
        pthread_mutex_unlock(&h->mutex);
    }
    return NULL;
}

static bool take_digest(EVP_MD_CTX *context, char hash[PLAN_HASH])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    const bool good = EVP_DigestFinal_ex(context, digest, &n) == 1 && 2 * n < PLAN_HASH;

    *hash = 0;
    for (unsigned i = 0; i < n && good; i++)
        snprintf(hash + 2 * i, 3, "%02x", digest[i]);
    return good;
}

bool hasher_whole(int fd, int64_t bytes, const char *kind, char hash[PLAN_HASH],
                  void (*tell)(void *user, int64_t done), void *user)
{
    struct hasher *h = calloc(1, sizeof *h);
    ssize_t n = 0;

    if (!h)
        return false;
    h->bytes = bytes;
    h->context = EVP_MD_CTX_new();
    bool good = h->context && begin_hash(h, strlen(kind));
    while (good && (n = read(fd, h->piece, PIECE)) > 0) {
        good = EVP_DigestUpdate(h->context, h->piece, (size_t)n) == 1;
        h->at += n;
        tell(user, h->at);
    }
    good = good && n == 0 && take_digest(h->context, hash);
    EVP_MD_CTX_free(h->context);
    free(h);
    return good;
}

bool hasher_text(const void *data, size_t n, char hash[PLAN_HASH])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const bool good = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1 &&
                      EVP_DigestUpdate(context, data, n) == 1 && take_digest(context, hash);

    EVP_MD_CTX_free(context);
    return good;
}

struct hasher *hasher_start(int fd, int64_t bytes, const char *kind, struct tap *tap)
{
    struct hasher *h = calloc(1, sizeof *h);

    if (!h)
        return NULL;
    h->fd = fd;
    h->bytes = bytes;
    h->tap = tap;
    if (tap)
        tap->begin(tap);
    h->context = EVP_MD_CTX_new();
    pthread_mutex_init(&h->mutex, NULL);
    pthread_cond_init(&h->more, NULL);
    if (h->context && begin_hash(h, strlen(kind)) && pthread_create(&h->thread, NULL, hash_all, h) == 0)
        return h;
    EVP_MD_CTX_free(h->context);
    free(h);
    return NULL;
}

void hasher_allow(struct hasher *h, int64_t have)
{
    pthread_mutex_lock(&h->mutex);
    h->have = have;
    if (have - h->at >= PIECE || have >= h->bytes)
        pthread_cond_signal(&h->more);
    pthread_mutex_unlock(&h->mutex);
}

int64_t hasher_at(struct hasher *h)
{
    pthread_mutex_lock(&h->mutex);
    const int64_t at = h->at;
    pthread_mutex_unlock(&h->mutex);
    return at;
}

void hasher_wait(struct hasher *h)
{
    pthread_join(h->thread, NULL);
}

bool hasher_end(struct hasher *h, char hash[PLAN_HASH])
{
    const bool good = !h->failed && take_digest(h->context, hash);

    pthread_cond_destroy(&h->more);
    pthread_mutex_destroy(&h->mutex);
    EVP_MD_CTX_free(h->context);
    free(h);
    return good;
}

void hasher_stop(struct hasher *h)
{
    char hash[PLAN_HASH];

    if (!h)
        return;
    pthread_mutex_lock(&h->mutex);
    h->stops = true;
    pthread_cond_signal(&h->more);
    pthread_mutex_unlock(&h->mutex);
    hasher_wait(h);
    hasher_end(h, hash);
}
