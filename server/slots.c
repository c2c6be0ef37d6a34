/* SPDX-License-Identifier: Apache-2.0 */
/* slots.c: sessions for answers. */
#include "slots.h"

#include <stdlib.h>

#include "base/base.h"
#include "prompt_list.h"

/* Whose sessions find what others have evaluated: as long as there are no keys, all are one owner's. */
enum { EVERYBODY = 1 };

carat_status slot_take(carat_engine *engine, int positions, carat_session **session, carat_error *err)
{
    carat_session_options options;

    carat_session_options_default(&options);
    options.owner = EVERYBODY;
    carat_status status = carat_session_create(session, engine, &options, err);
    if (status == CARAT_OK && (status = carat_reserve(*session, positions, err)) != CARAT_OK)
        slot_give(session);
    return status;
}

carat_status slot_fork(carat_session *from, int positions, carat_session **session, carat_error *err)
{
    slot_give(session);
    carat_status status = carat_fork(from, carat_tokens_held(from, NULL), session, err);
    if (status == CARAT_OK && (status = carat_reserve(*session, positions, err)) != CARAT_OK)
        slot_give(session);
    return status;
}

void slot_give(carat_session **session)
{
    carat_session_close(*session);
    *session = NULL;
}

int slot_behind(int n, int positions)
{
    return n < 2 * SLOT_BLOCK ? positions : positions - (n / SLOT_BLOCK - 1) * SLOT_BLOCK;
}

carat_status slot_find(carat_engine *engine, const carat_tokens *prompt, carat_prefix *prefix, int32_t *next,
                       int most)
{
    return carat_find_prefix(engine, EVERYBODY, prompt->ids, prompt->n, prefix, next, most, NULL);
}

/* ---- blocks ---- */

static int blocks_for(int positions)
{
    return (positions + SLOT_BLOCK - 1) / SLOT_BLOCK;
}

static int blocks_of(const struct request *request, int prompt, int max_tokens)
{
    const int positions = prompt + max_tokens - 1;

    return blocks_for(positions) + (request->n - 1) * blocks_for(slot_behind(prompt, positions));
}

int slots_blocks(const struct request *request)
{
    int most = blocks_of(request, request->prompt.n, request->max_tokens);

    for (int i = request->prompts.at + 1; i < request->prompts.n_list; i++)
        most = CT_MAX(
            most, blocks_of(request, request->prompts.list[i].ids.n, request->prompts.list[i].max_tokens));
    return most;
}

int slots_count(carat_engine *engine, int sessions)
{
    carat_session **held = calloc((size_t)sessions, sizeof(carat_session *));
    const int context = carat_engine_context(engine);
    int blocks = 0, n = 0;

    for (int positions = context; held && n < sessions && positions > 0;)
        if (slot_take(engine, positions, &held[n], NULL) == CARAT_OK) {
            blocks += blocks_for(positions);
            n++;
        } else
            positions = (blocks_for(positions) - 1) * SLOT_BLOCK;
    while (n > 0)
        slot_give(&held[--n]);
    free(held);
    return blocks;
}
