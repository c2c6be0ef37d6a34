/* SPDX-License-Identifier: Apache-2.0 */
/* running.c: see running.h. */
#include "running.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "report.h"

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

struct piece *running_take(struct running *f, int64_t length, struct ahead *ahead)
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

int running_put(struct running *f, struct piece *p, struct ahead *ahead, const void *data, size_t n)
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

void running_give_back(struct running *f, struct piece *p, struct ahead *ahead)
{
    p->taken = false;
    f->workers--;
    if (p->from + p->put == p->until)
        free_piece(p, ahead);
}

int running_hash(struct running *f)
{
    if (!f->hasher && (*f->w->hash || f->tap) &&
        !(f->hasher = hasher_start(f->part.fd, f->w->bytes, f->w->hash, f->tap)))
        return refuse(NO_MEMORY, "out of memory for %s", f->w->name);
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

int running_again(struct running *f, struct ahead *ahead)
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

void running_drop(struct running *f, struct ahead *ahead)
{
    forget(f, ahead);
    *f = (struct running){.w = NULL};
}

void ahead_free(struct ahead *ahead)
{
    while (ahead->n_spare)
        free(ahead->spare[--ahead->n_spare]);
}
