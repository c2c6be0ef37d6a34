/* SPDX-License-Identifier: Apache-2.0 */
/* places.c: which session an answer gets. */
#include "places.h"

#include <stdbool.h>
#include <stdlib.h>

int places_open(struct places *p, carat_engine *engine, int n)
{
    *p = (struct places){.engine = engine, .place = calloc((size_t)n, sizeof *p->place), .n = n, .free = n};
    return p->place ? 0 : -1;
}

void places_close(struct places *p)
{
    for (int i = 0; i < p->n; i++)
        carat_session_close(p->place[i].session);
    free(p->place);
}

/* How many of the first ids a session holds. */
static int held_in_common(const carat_session *session, const carat_tokens *prompt)
{
    const int32_t *held = NULL;
    const int n = carat_tokens_held(session, &held);
    int i = 0;

    while (i < n && i < prompt->n && held[i] == prompt->ids[i])
        i++;
    return i;
}

static struct place *best_place(struct places *p, const carat_tokens *prompt)
{
    struct place *best = NULL;
    int most = -1;

    for (int i = 0; i < p->n; i++) {
        struct place *one = &p->place[i];
        if (one->taken)
            continue;
        const int common = one->session ? held_in_common(one->session, prompt) : 0;
        if (common > most) {
            most = common;
            best = one;
        }
    }
    return best;
}

/* What free sessions hold makes room for those that are drawn for. True: there was some. */
static bool empty_one(struct places *p, const struct place *except)
{
    for (int i = 0; i < p->n; i++) {
        struct place *one = &p->place[i];
        if (!one->taken && one != except && one->session && carat_tokens_held(one->session, NULL) > 0)
            return carat_rewind(one->session, 0, NULL) == CARAT_OK;
    }
    return false;
}

static carat_status reserve_positions(struct places *p, struct place *place, int positions, carat_error *err)
{
    carat_status status;

    do
        status = carat_reserve(place->session, positions, err);
    while (status == CARAT_E_MEMORY && empty_one(p, place));
    return status;
}

carat_status places_take(struct places *p, const carat_tokens *prompt, int positions, carat_session **session,
                         carat_error *err)
{
    struct place *place = best_place(p, prompt);
    carat_status status = CARAT_OK;

    if (!place->session)
        status = carat_session_create(&place->session, p->engine, NULL, err);
    if (status == CARAT_OK)
        status = reserve_positions(p, place, positions, err);
    if (status != CARAT_OK)
        return status;
    place->taken = 1;
    p->free--;
    *session = place->session;
    return CARAT_OK;
}

carat_status places_fork(struct places *p, carat_session *from, int n, int positions, carat_session **session,
                         carat_error *err)
{
    const carat_tokens nothing = {0};
    struct place *place = best_place(p, &nothing);

    carat_session_close(place->session);
    place->session = NULL;
    carat_status status = carat_fork(from, n, &place->session, err);
    if (status == CARAT_OK)
        status = reserve_positions(p, place, positions, err);
    if (status != CARAT_OK)
        return status;
    place->taken = 1;
    p->free--;
    *session = place->session;
    return CARAT_OK;
}

void places_give(struct places *p, carat_session *session)
{
    for (int i = 0; i < p->n; i++)
        if (p->place[i].session == session && p->place[i].taken) {
            (void)carat_reserve(session, 0, NULL);
            p->place[i].taken = 0;
            p->free++;
        }
}
