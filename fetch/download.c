/* SPDX-License-Identifier: Apache-2.0 */
/* download.c: see download.h. Connections, a thread each, take pieces of the files that are coming, or the
 * next file; what an answer says decides how the file goes on. The main thread tells how far all are. */
#define _POSIX_C_SOURCE 200809L
#include "download.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/base.h"
#include "hasher.h"
#include "report.h"
#include "source.h"
#include "store.h"
#include "tap.h"
#include "tries.h"

enum {
    MOST_JOBS = 8,
    MOST_RESTARTS = 2, /* of a file, without a byte that could stay */
    MOST_GONE = 32,    /* addresses that run out while a piece comes */
    LONG_PIECE = 16,   /* pieces in one, where every connection has a file of its own */
};

/* ---- a file that is coming ---- */

/* By one connection or several. Each takes a piece of it; the pieces run ahead in memory and are written in
 * order, so that the disk always has a plain beginning. Whoever calls has the lock of them all. */

enum {
    PIECE_BYTES = 4 << 20,
    MOST_AHEAD = 8,  /* pieces in memory, of all files together */
    MOST_PIECES = 16 /* of a file: those in memory, and those that connections write through */
};

/* The memory of pieces. */
struct ahead {
    unsigned char *spare[MOST_AHEAD];
    int n_spare, used;
};

struct piece {
    bool taken;
    int64_t from, until; /* until: behind its last byte */
    int64_t have, put;   /* bytes of it that have come, and that are written */
    unsigned char *data; /* [PIECE_BYTES] where it runs ahead, else NULL */
};

enum running_state {
    RUNNING_OPENING, /* perhaps another process has the lock */
    RUNNING_FRESH,   /* nothing is known of the server yet: one piece at most */
    RUNNING_PIECES,  /* it sends parts */
    RUNNING_WHOLE,   /* it does not: one piece is the whole file */
    RUNNING_ENDING,  /* all has come, and is checked */
};

struct running {
    struct wanted *w; /* NULL: nothing */
    enum running_state state;
    struct part part;
    struct hasher *hasher; /* NULL where nobody says what the hash should be, nor hears the bytes */
    struct tap *tap;       /* of the plan, or NULL */
    int generation;        /* counts how often it began again */
    int workers;           /* that have a piece */
    int restarts;          /* without a new byte */
    bool only_whole;       /* parts were asked for in vain */
    bool again;            /* what has come is wrong: once no worker has a piece, it begins again */
    int64_t next;          /* the first byte that nobody has taken */
    char where[PLAN_PATH]; /* where the hub's answer led; "" is asked anew */
    char etag[136];        /* of the bytes there */
    struct piece piece[MOST_PIECES];
};

static bool is_next(const struct running *f, const struct piece *p)
{
    return p->from + p->put == f->part.have;
}

static unsigned char *take_memory(struct ahead *ahead)
{
    if (ahead->used == MOST_AHEAD)
        return NULL;
    unsigned char *data = ahead->n_spare ? ahead->spare[--ahead->n_spare] : malloc(PIECE_BYTES);
    ahead->used += data != NULL;
    return data;
}

static void free_piece(struct piece *p, struct ahead *ahead)
{
    if (p->data) {
        ahead->spare[ahead->n_spare++] = p->data;
        ahead->used--;
    }
    *p = (struct piece){.taken = false};
}

/* A piece of at most that many bytes; NULL: there is none now. */
static struct piece *running_take(struct running *f, int64_t length, struct ahead *ahead)
{
    struct piece *p = f->piece;
    const bool alone = f->state == RUNNING_FRESH || f->state == RUNNING_WHOLE;

    if (f->again || f->state == RUNNING_OPENING || f->state == RUNNING_ENDING || f->next >= f->w->bytes ||
        (alone && f->workers))
        return NULL;
    while (p < f->piece + MOST_PIECES && (p->taken || p->until))
        p++;
    if (p == f->piece + MOST_PIECES)
        return NULL;
    *p = (struct piece){.from = f->next};
    if (!is_next(f, p)) {
        length = CT_MIN(length, PIECE_BYTES);
        if (!(p->data = take_memory(ahead)))
            return NULL;
    }
    p->taken = true;
    p->until = f->only_whole || length > f->w->bytes - f->next ? f->w->bytes : f->next + length;
    f->next = p->until;
    f->workers++;
    return p;
}

static int write_piece(struct running *f, struct piece *p, const void *data, size_t n)
{
    TRY(store_put(&f->part, data, n));
    p->put += (int64_t)n;
    if (f->hasher)
        hasher_allow(f->hasher, f->part.have);
    return DONE;
}

/* Pieces in memory whose turn has come. */
static int write_ready(struct running *f, struct ahead *ahead)
{
    for (int i = 0; i < MOST_PIECES; i++) {
        struct piece *p = &f->piece[i];
        if (!p->until || !is_next(f, p) || p->put == p->have)
            continue;
        TRY(write_piece(f, p, p->data + p->put, (size_t)(p->have - p->put)));
        if (p->from + p->put == p->until && !p->taken)
            free_piece(p, ahead);
        i = -1; /* another one may be next now */
    }
    return DONE;
}

/* Bytes of a piece, behind those that it has. A code of report.h. */
static int running_put(struct running *f, struct piece *p, struct ahead *ahead, const void *data, size_t n)
{
    f->restarts = 0;
    if (is_next(f, p) && p->put == p->have) {
        p->have += (int64_t)n;
        TRY(write_piece(f, p, data, n));
    } else {
        memcpy(p->data + p->have, data, n);
        p->have += (int64_t)n;
    }
    return write_ready(f, ahead);
}

/* The connection is done with its piece, whole or not. */
static void running_give_back(struct running *f, struct piece *p, struct ahead *ahead)
{
    p->taken = false;
    f->workers--;
    if (p->from + p->put == p->until)
        free_piece(p, ahead);
}

/* Hashes what is there, and what will be. */
static int running_hash(struct running *f)
{
    if (!f->hasher && (*f->w->hash || f->tap) &&
        !(f->hasher = hasher_start(f->part.fd, f->w->bytes, f->w->hash, f->tap)))
        return fetch_refuse(NO_MEMORY, "out of memory for %s", f->w->name);
    if (f->hasher)
        hasher_allow(f->hasher, f->part.have);
    return DONE;
}

static void forget(struct running *f, struct ahead *ahead)
{
    for (int i = 0; i < MOST_PIECES; i++)
        free_piece(&f->piece[i], ahead);
    hasher_stop(f->hasher);
    f->hasher = NULL;
}

/* Everything that has come goes; no worker has a piece. */
static int running_again(struct running *f, struct ahead *ahead)
{
    forget(f, ahead);
    f->again = false;
    f->generation++;
    f->next = 0;
    f->state = RUNNING_FRESH;
    *f->where = *f->etag = 0;
    TRY(store_again(&f->part));
    return running_hash(f);
}

static void running_drop(struct running *f, struct ahead *ahead)
{
    forget(f, ahead);
    *f = (struct running){.w = NULL};
}

static void ahead_free(struct ahead *ahead)
{
    while (ahead->n_spare)
        free(ahead->spare[--ahead->n_spare]);
}

/* ---- connections ---- */

struct download {
    struct plan *plan;
    struct store store;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct running running[MOST_JOBS];
    struct ahead ahead;
    int next_file, n_running, n_workers;
    int64_t ended, total; /* bytes of files that were missing: whole by now, and all */
    double began;         /* with the wish for a rate */
    int64_t came;
    atomic_bool stops;
    int code; /* why */
};

/* A connection. */
struct worker {
    struct download *d;
    struct http *h;
    pthread_t thread;
    struct running *f;
    struct piece *p;
    int generation;
    bool direct; /* it asked where the hub's answer had led before */
    bool begun;  /* the answer was looked at */
};

static bool stops(void *user)
{
    return atomic_load(&((struct download *)user)->stops);
}

/* The first reason counts. */
static bool fail(struct download *d, int code)
{
    if (code == DONE)
        return true;
    if (!atomic_exchange(&d->stops, true))
        d->code = code;
    pthread_cond_broadcast(&d->changed);
    return false;
}

/* ---- what an answer says ---- */

static bool begins_with(const void *data, size_t n, const char *text)
{
    return n >= strlen(text) && strncasecmp(data, text, strlen(text)) == 0;
}

/* By its first bytes; "": it may be the file. */
static const char *what_else(const struct wanted *w, const void *data, size_t n)
{
    if (begins_with(data, n, "<!doctype html") || begins_with(data, n, "<html"))
        return "is a page of HTML, not the file";
    if (begins_with(data, n, "version https://git-lfs.github.com") && strlen(w->hash) != 40)
        return "is a pointer of Git LFS, not the file";
    const char *dot = strrchr(w->name, '.');
    if (begins_with(data, n, "\x1f\x8b") && dot &&
        (strcasecmp(dot, ".gguf") == 0 || strcasecmp(dot, ".safetensors") == 0))
        return "is compressed (gzip), not the file";
    return "";
}

/* Makes the file begin again: what has come is of something else, or parts are not what they are called. */
static bool begin_again(struct running *f, bool only_whole)
{
    f->again = true;
    f->only_whole |= only_whole;
    return false;
}

static bool look_at_answer(struct worker *c, const struct http_reply *r, const void *data, size_t n)
{
    struct running *f = c->f;
    struct piece *p = c->p;
    const struct plan *plan = c->d->plan;
    const int64_t asked = p->from + p->have;
    const bool ranged = asked > 0 || p->until < f->w->bytes;
    char range[128];

    c->begun = true;
    if (c->direct && strcmp(f->etag, r->etag) != 0)
        return begin_again(f, false);
    if (!c->direct && plan->source->look && !fail(c->d, plan->source->look(plan, f->w, r)))
        return false;
    if ((asked == 0 || r->status == 200) && *what_else(f->w, data, n))
        return fail(c->d, fetch_refuse(REMOTE, "%s: %s", f->w->name, what_else(f->w, data, n)));
    snprintf(range, sizeof range, "bytes %lld-%lld/%lld", (long long)asked, (long long)p->until - 1,
             (long long)f->w->bytes);
    if (r->status == 206 && strcmp(r->range, range) != 0)
        return begin_again(f, true);
    if (r->status == 200 && r->size >= 0 && r->size != f->w->bytes) {
        if (f->restarts < MOST_RESTARTS)
            return begin_again(f, false);
        return fail(c->d, fetch_refuse(REMOTE, "%s: the server has %lld bytes of it, expected %lld",
                                       f->w->name, (long long)r->size, (long long)f->w->bytes));
    }
    if (r->status == 200 && ranged) {
        if (asked > 0 || f->state != RUNNING_FRESH)
            return begin_again(f, true);
        p->until = f->next = f->w->bytes;
    }
    if (f->state == RUNNING_FRESH)
        f->state = r->status == 206 ? RUNNING_PIECES : RUNNING_WHOLE;
    if (!c->direct) {
        snprintf(f->where, sizeof f->where, "%s", http_where(c->h));
        snprintf(f->etag, sizeof f->etag, "%s", r->etag);
    }
    pthread_cond_broadcast(&c->d->changed); /* others may take pieces now */
    return fail(c->d, running_hash(f));
}

/* Keeps to the rate where so many bytes a second are wished: who has got some waits until they are due. */
static void keep_rate(struct download *d, size_t n)
{
    const double second = 1e9;

    if (d->plan->rate == 0)
        return;
    pthread_mutex_lock(&d->mutex);
    d->came += (int64_t)n;
    const double due = d->began + (double)d->came / (double)d->plan->rate;
    pthread_mutex_unlock(&d->mutex);
    wait_for((int64_t)(second * CT_MIN(due - seconds_now(), 10)), stops, d);
}

static bool take_bytes(void *user, const struct http_reply *reply, const void *data, size_t n)
{
    struct worker *c = user;
    struct running *f = c->f;

    pthread_mutex_lock(&c->d->mutex);
    bool good = !stops(c->d) && !f->again && f->generation == c->generation;
    if (good && !c->begun)
        good = look_at_answer(c, reply, data, n);
    if (good && (int64_t)n > c->p->until - c->p->from - c->p->have)
        good = fail(c->d, fetch_refuse(REMOTE, "%s: more bytes come than the %lld that it has", f->w->name,
                                       (long long)f->w->bytes));
    if (good)
        good = fail(c->d, running_put(f, c->p, &c->d->ahead, data, n));
    pthread_mutex_unlock(&c->d->mutex);
    if (good)
        keep_rate(c->d, n);
    return good;
}

/* ---- a piece ---- */

/* Counts over the tries of a piece. */
struct trying {
    int fruitless, slow; /* tries in a row without a byte; spans of patience with too few */
    int gone;            /* addresses that had run out */
    double since;
    int64_t had;
};

/* A status that is none of the file's; true: try again. */
static bool take_status(struct worker *c, const struct trying *t, const struct http_reply *reply)
{
    const struct plan *plan = c->d->plan;
    struct running *f = c->f;

    if (c->direct)
        return true; /* a signed address has run out */
    if (reply->status == 416)
        return begin_again(f, true);
    if (is_passing(reply->status) || (reply->status == 403 && !*reply->error_code && t->fruitless == 0))
        return true;
    return fail(c->d, plan->source->refuse(plan, reply, f->w->name));
}

/* After an answer or a broken connection, with the lock; true: try again, *pause later. */
static bool goes_on(struct worker *c, struct trying *t, enum http_end end, const struct http_reply *reply,
                    const char *url, int64_t before, int64_t *pause)
{
    const double slowest = 1024, now = seconds_now();
    const struct plan *plan = c->d->plan;
    const struct piece *p = c->p;
    struct running *f = c->f;
    /* where it had led before, there is nothing any more */
    const bool gone =
        c->direct && (end == HTTP_UNREACHABLE || (end == HTTP_ANSWERED && reply->status != 200 &&
                                                  reply->status != 206 && !is_passing(reply->status)));

    if (stops(c->d) || f->again || f->generation != c->generation || p->have == p->until - p->from)
        return false;
    if (end == HTTP_REFUSED)
        return fail(c->d, fetch_refuse(REMOTE, "%s: %s", f->w->name, http_why(c->h)));
    if (end == HTTP_ANSWERED && reply->status != 200 && reply->status != 206 && !take_status(c, t, reply))
        return false;
    if (gone && strcmp(f->where, url) == 0)
        *f->where = 0;
    if (now - t->since >= (double)plan->patience) {
        t->slow = (double)(p->have - t->had) < slowest * (now - t->since) ? t->slow + 1 : 0;
        t->since = now;
        t->had = p->have;
    }
    if (gone && t->gone++ < MOST_GONE) {
        *pause = 0;
        return true;
    }
    t->fruitless = p->have > before && end != HTTP_SLOW ? 0 : t->fruitless + 1;
    *pause = pause_before(t->fruitless, reply->retry_after, plan->patience);
    if (t->fruitless <= MOST_TRIES && t->slow <= MOST_TRIES)
        return true;
    return end == HTTP_ANSWERED
               ? fail(c->d, fetch_refuse(REMOTE, "%s: the server answers with status %ld, %d times",
                                         f->w->name, reply->status, t->fruitless))
               : fail(c->d, fetch_refuse(UNREACHABLE, "%s: %s, %d times; what has come is kept", f->w->name,
                                         http_why(c->h), CT_MAX(t->fruitless, t->slow)));
}

/* Until it is whole, or nothing more comes of it. Comes and goes with the lock. */
static void fetch_piece(struct worker *c)
{
    struct download *d = c->d;
    struct running *f = c->f;
    struct piece *p = c->p;
    struct trying t = {.since = seconds_now()};
    struct http_reply reply;
    const struct source *source = d->plan->source;
    char url[2 * PLAN_PATH], body[2 * PLAN_PATH];
    int64_t pause = 0;

    for (bool goes = true; goes;) {
        const int64_t from = p->from + p->have, until = p->until == f->w->bytes ? 0 : p->until;
        c->begun = false;
        c->direct = *f->where != 0;
        snprintf(url, sizeof url, "%s", f->where);
        const bool asks = !c->direct && source->question;
        if ((!c->direct && !source->address(url, sizeof url, d->plan, f->w)) ||
            (asks && !source->question(body, sizeof body, d->plan, f->w))) {
            fail(d, fetch_refuse(WRONG_PLAN, "%s: its address is too long", f->w->name));
            return;
        }
        const int64_t before = p->have;
        pthread_mutex_unlock(&d->mutex);
        const enum http_end end = http_ask(c->h, url, asks ? body : NULL, from, until, take_bytes, c, &reply);
        pthread_mutex_lock(&d->mutex);
        goes = goes_on(c, &t, end, &reply, url, before, &pause);
        pthread_mutex_unlock(&d->mutex);
        wait_for(goes ? pause : 0, stops, d);
        pthread_mutex_lock(&d->mutex);
        goes = goes && !f->again && f->generation == c->generation && !stops(d);
    }
}

/* ---- a file ---- */

static void drop(struct download *d, struct running *f)
{
    running_drop(f, &d->ahead);
    d->n_running--;
    pthread_cond_broadcast(&d->changed);
}

/* Drops what has come, and begins the file again, MOST_RESTARTS times at most. */
static void restart(struct download *d, struct running *f)
{
    if (f->restarts++ < MOST_RESTARTS)
        fail(d, running_again(f, &d->ahead));
    else
        fail(d,
             fetch_refuse(REMOTE,
                          "%s: what the server sends is of another file, or other parts than were asked for, "
                          "%d times",
                          f->w->name, f->restarts));
    pthread_cond_broadcast(&d->changed);
}

/* True: the hash is right; all of the file is there. Comes and goes with the lock, and waits without it. */
static bool check_hash(struct download *d, struct running *f, char hash[PLAN_HASH])
{
    struct hasher *h = f->hasher;

    *hash = 0;
    if (!h)
        return true; /* nobody says what it should be */
    pthread_mutex_unlock(&d->mutex);
    hasher_wait(h);
    pthread_mutex_lock(&d->mutex);
    f->hasher = NULL;
    return hasher_end(h, hash) && (!*f->w->hash || strcmp(hash, f->w->hash) == 0);
}

/* All of it has come. Comes and goes with the lock. */
static void finish(struct download *d, struct running *f)
{
    const int64_t bytes = f->w->bytes;
    char hash[PLAN_HASH];

    f->state = RUNNING_ENDING;
    if (!check_hash(d, f, hash)) {
        if (f->part.old) { /* what lay there was of something else */
            restart(d, f);
            return;
        }
        store_leave(&f->part, true);
        if (f->tap)
            f->tap->drop(f->tap);
        fail(d, fetch_refuse(REMOTE, "%s: what came has the hash %s, expected %s: nothing of it is kept",
                             f->w->name, hash, f->w->hash));
        return;
    }
    pthread_mutex_unlock(&d->mutex);
    int code = f->tap ? f->tap->end(f->tap) : DONE;
    const bool wrong = code == REMOTE;
    if (code == DONE)
        code = store_finish(&d->store, &f->part, f->w);
    if (code == DONE)
        code = store_enter(&d->store, f->w);
    pthread_mutex_lock(&d->mutex);
    if (code == PRUNED) {
        restart(d, f);
        return;
    }
    store_leave(&f->part, wrong);
    if (fail(d, code))
        d->ended += bytes;
    drop(d, f);
}

/* Checks that the file that lies there is what is wanted, in a layout whose names say nothing of it. */
static int check_old(struct download *d, struct running *f)
{
    char hash[PLAN_HASH];

    if (d->store.layout->by_hash || !*f->w->hash)
        return DONE;
    f->part.have = f->w->bytes;
    TRY(running_hash(f));
    return check_hash(d, f, hash)
               ? DONE
               : fetch_refuse(LOCAL, "%s: is there, and is another file; --force replaces it",
                              f->part.at.whole);
}

/* The next one. Comes and goes with the lock. */
static void open_file(struct download *d)
{
    struct running *f = d->running;
    const bool named = d->store.layout->by_hash && !d->plan->force;
    bool whole = false;

    while (f->w)
        f++;
    f->w = &d->plan->file[d->next_file++];
    f->tap = d->plan->tap;
    f->state = RUNNING_OPENING;
    f->part = (struct part){.fd = -1, .lock = {.fd = -1}};
    d->n_running++;
    const int64_t missing = d->total - d->ended + (d->plan->tap ? d->plan->tap->room : 0);
    pthread_mutex_unlock(&d->mutex);
    const bool there = named && store_has(&d->store, f->w);
    int code = there ? DONE : store_begin(&d->store, &f->part, f->w, missing, &whole);
    pthread_mutex_lock(&d->mutex);
    if (code == DONE && whole)
        code = check_old(d, f);
    if (code == DONE && (there || whole))
        code = store_enter(&d->store, f->w);
    if (code != DONE || there || whole) {
        if (fail(d, code) && whole && named)
            d->ended += f->w->bytes; /* another process has fetched it */
        store_leave(&f->part, false);
        drop(d, f);
        return;
    }
    f->next = f->part.have;
    f->state = RUNNING_FRESH;
    if (fail(d, running_hash(f)) && f->part.have == f->w->bytes)
        finish(d, f);
}

/* ---- connections ---- */

static bool take_piece(struct worker *c)
{
    struct download *d = c->d;
    const int64_t length = d->plan->jobs == 1              ? INT64_MAX
                           : d->n_running == d->plan->jobs ? LONG_PIECE * (int64_t)PIECE_BYTES
                                                           : PIECE_BYTES;

    for (int i = 0; i < MOST_JOBS; i++) {
        c->f = &d->running[i];
        if (c->f->w && (c->p = running_take(c->f, length, &d->ahead)) != NULL) {
            c->generation = c->f->generation;
            return true;
        }
    }
    return false;
}

static void *work(void *user)
{
    struct worker *c = user;
    struct download *d = c->d;

    pthread_mutex_lock(&d->mutex);
    while (!stops(d)) {
        if (take_piece(c)) {
            struct running *f = c->f;
            fetch_piece(c);
            running_give_back(f, c->p, &d->ahead);
            if (!stops(d) && f->workers == 0 && f->again)
                restart(d, f);
            else if (!stops(d) && f->workers == 0 && f->part.have == f->w->bytes)
                finish(d, f);
            else
                pthread_cond_broadcast(&d->changed);
        } else if (d->next_file < d->plan->n && d->n_running < d->plan->jobs) {
            open_file(d);
        } else if (d->n_running > 0) {
            pthread_cond_wait(&d->changed, &d->mutex);
        } else {
            break;
        }
    }
    d->n_workers--;
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->mutex);
    return NULL;
}

/* ---- how far all are ---- */

static void tell_progress(struct download *d)
{
    struct report_running line[MOST_JOBS];
    int64_t done = d->ended;
    int n = 0;

    for (int i = 0; i < MOST_JOBS; i++) {
        const struct running *f = &d->running[i];
        if (!f->w || f->part.fd < 0 || f->state == RUNNING_OPENING) {
            if (f->w && f->part.lock.fd >= 0)
                line[n++] = (struct report_running){f->w->name, 0, f->w->bytes, "waiting"};
            continue;
        }
        int64_t have = f->part.have;
        for (int k = 0; k < MOST_PIECES; k++)
            have += f->piece[k].have - f->piece[k].put;
        done += have;
        line[n++] = f->state == RUNNING_ENDING
                        ? (struct report_running){f->w->name, f->hasher ? hasher_at(f->hasher) : have,
                                                  f->w->bytes, "checking"}
                        : (struct report_running){f->w->name, have, f->w->bytes, "coming"};
    }
    report_progress(done, d->total, line, n);
}

/* Now and then, until no connection is left. */
static void watch(struct download *d)
{
    const long step = 100000000, second = 1000000000;
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    while (d->n_workers > 0) {
        t.tv_nsec += step;
        t.tv_sec += t.tv_nsec / second;
        t.tv_nsec %= second;
        while (d->n_workers > 0 && pthread_cond_timedwait(&d->changed, &d->mutex, &t) == 0)
            ;
        tell_progress(d);
    }
}

static int run(struct download *d, struct http *h)
{
    struct worker worker[MOST_JOBS];
    int n = 0;

    pthread_mutex_lock(&d->mutex);
    tell_progress(d);
    for (; n < d->plan->jobs; n++) {
        worker[n] = (struct worker){.d = d, .h = n ? http_like(h) : h};
        if (!worker[n].h || pthread_create(&worker[n].thread, NULL, work, &worker[n]) != 0) {
            if (n)
                http_close(worker[n].h);
            break;
        }
        http_stops(worker[n].h, stops, d);
        d->n_workers++;
    }
    if (n == 0)
        fail(d, fetch_refuse(NO_MEMORY, "out of memory for a connection"));
    watch(d);
    pthread_mutex_unlock(&d->mutex);
    for (int i = 0; i < n; i++) {
        pthread_join(worker[i].thread, NULL);
        if (i)
            http_close(worker[i].h);
    }
    for (int i = 0; i < MOST_JOBS; i++) {
        if (!d->running[i].w)
            continue;
        store_leave(&d->running[i].part, false);
        running_drop(&d->running[i], &d->ahead);
    }
    return d->code;
}

int download_all(struct http *h, struct plan *plan)
{
    static struct download d;
    pthread_condattr_t monotonic;
    char path[4 * PLAN_PATH];

    d.plan = plan;
    d.began = seconds_now();
    pthread_mutex_init(&d.mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&d.changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    store_open(&d.store, plan);
    d.store.stops = &d.stops;
    for (int i = 0; i < plan->n; i++)
        d.total += !plan->force && store_has(&d.store, &plan->file[i]) ? 0 : plan->file[i].bytes;
    int code = run(&d, h);
    ahead_free(&d.ahead);
    pthread_cond_destroy(&d.changed);
    pthread_mutex_destroy(&d.mutex);
    if (code == DONE)
        code = store_end(&d.store, path, sizeof path);
    if (code == DONE)
        report_done(path);
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
