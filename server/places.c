/* SPDX-License-Identifier: Apache-2.0 */
/* places.c: sessions for answers. */
#include "places.h"

/* Whose sessions find what others have evaluated: as long as there are no keys, all are one owner's. */
enum { EVERYBODY = 1 };
enum { BLOCK = 256 }; /* positions of a block of K and V */

carat_status place_take(carat_engine *engine, int positions, carat_session **session, carat_error *err)
{
    carat_session_options options;

    carat_session_options_default(&options);
    options.owner = EVERYBODY;
    carat_status status = carat_session_create(session, engine, &options, err);
    if (status == CARAT_OK && (status = carat_reserve(*session, positions, err)) != CARAT_OK)
        place_give(session);
    return status;
}

carat_status place_fork(carat_session *from, int positions, carat_session **session, carat_error *err)
{
    place_give(session);
    carat_status status = carat_fork(from, carat_tokens_held(from, NULL), session, err);
    if (status == CARAT_OK && (status = carat_reserve(*session, positions, err)) != CARAT_OK)
        place_give(session);
    return status;
}

void place_give(carat_session **session)
{
    carat_session_close(*session);
    *session = NULL;
}

int place_behind(int n, int positions)
{
    return n < 2 * BLOCK ? positions : positions - (n / BLOCK - 1) * BLOCK;
}
