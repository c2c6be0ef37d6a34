/* SPDX-License-Identifier: Apache-2.0 */
/* measure_sides.c: what passes cost on the CPU and on a GPU, where both have all: some passes of made-up
 * tokens on each are timed when the engine is made, unless it was told of any. They are passes as all others,
 * so that the table of costs (stats.h) learns from them; by it passes are computed here or there.
 *
 * That takes two seconds at most. Later passes keep the table true, and the command keeps it
 * (cli/model/costs.c). */
#include "device/device.h"
#include "engine/session.h"

#include <stdlib.h>

#include "os/clock.h"

enum {
    SOME = 16,   /* rows of a middling pass */
    DEEP = 3072, /* tokens before one that is deep */
    TIMES = 2,   /* each pass, of which the faster counts */
    ENOUGH = 40, /* times the shortest pass: a small model takes less than the seconds below */
    MOST_ROWS = 1024,
};
static const double most_seconds = 0.4; /* of each of five series: two seconds in all */

struct measuring {
    carat_engine *engine;
    carat_session *session; /* NULL: of an embedder */
    int32_t *token;         /* [MOST_ROWS] */
    double left;            /* seconds */
    double row;             /* seconds that one takes, at most */
};

static int pass_over(void *user, int token, const float *logits)
{
    (void)user, (void)token, (void)logits;
    return 0;
}

/* Rows behind those that are held, at least so many, or for 0 the first ones: what is held lies where a pass
 * goes on. False: there is no time or no room for them. */
static bool run(struct measuring *m, int held, int n, bool all_logits)
{
    const double start = ct_os_seconds();
    float vector[1];
    bool whole;

    if (n * m->row > m->left)
        return false;
    if (m->session) {
        struct ct_row row = {.row = {.session = m->session,
                                     .tokens = m->token,
                                     .n = n,
                                     .wants = all_logits ? CARAT_WANTS_ALL : CARAT_WANTS_NONE,
                                     .deliver = pass_over}};
        whole = (held > 0 || ct_rewind(m->session, 0, NULL) == CARAT_OK) &&
                m->session->n + n < m->engine->plan.context && ct_evaluate(&row, false, NULL) == CARAT_OK;
    } else {
        carat_embed_input text = {.tokens = m->token, .n = n, .vector = vector};
        const carat_embed_options o = {.size = sizeof o, .dim = 1};
        whole = n <= m->engine->plan.context && ct_embed(m->engine, &text, 1, &o, NULL) == CARAT_OK;
    }
    const double took = ct_os_seconds() - start;
    m->left -= took;
    m->row = took / n;
    return whole;
}

/* Passes at a depth: few rows first, which say how long more will take. */
static void run_all(struct measuring *m, enum ct_turn turn, int held)
{
    const int chunk = CT_MIN(m->engine->plan.chunk, MOST_ROWS);
    const struct {
        int rows;
        bool all_logits;
    } passes[] = {
        {1, true}, {1, false}, {CT_MIN(SOME, chunk), false}, {CT_MIN(SOME, chunk), true}, {chunk, false}};

    m->engine->sides.turn = turn;
    m->left = most_seconds;
    m->row = 0;
    for (size_t i = 0; i < CT_COUNT(passes); i++)
        for (int k = 0; k < TIMES && run(m, held, passes[i].rows, passes[i].all_logits); k++)
            if (i == 0)
                m->left = CT_MIN(m->left, ENOUGH * m->row);
}

static void measure(struct measuring *m)
{
    const int chunk = CT_MIN(m->engine->plan.chunk, MOST_ROWS),
              deep = CT_MIN(DEEP, m->engine->plan.context - 8 * chunk);
    int held = 0;

    run_all(m, CT_TURN_HOST, 0);
    run_all(m, CT_TURN_DEVICE, 0);
    m->left = most_seconds;
    while (m->session && held < deep && run(m, held, CT_MIN(chunk, deep - held), false))
        held = m->session->n;
    if (held <= 1024 || held < deep) /* not deeper than what is measured, or there was no time */
        return;
    run_all(m, CT_TURN_DEVICE, held);
    run_all(m, CT_TURN_HOST, held);
}

/* True when the table has a pass of each. */
static bool is_known(const carat_costs *costs)
{
    const carat_cost *of = &costs->of[0][0][0], *on_gpu = &costs->on_gpu[0][0][0];
    bool host = false, device = false;

    for (int i = 0; i < CARAT_COST_KINDS * CARAT_COST_DEPTHS * CARAT_ROW_BUCKETS; i++) {
        host |= of[i].passes > 0;
        device |= on_gpu[i].passes > 0;
    }
    return host && device;
}

void ct_measure_sides(carat_engine *e)
{
    const carat_head_stats head = e->head.stats;
    struct measuring m = {.engine = e, .token = malloc(MOST_ROWS * sizeof *m.token)};

    if (!e->sides.chooses || is_known(&e->stats.costs) || !m.token ||
        (!e->config.embeds && carat_session_create(&m.session, e, NULL, NULL))) {
        free(m.token);
        return;
    }
    for (int i = 0; i < MOST_ROWS; i++)
        m.token[i] = (int32_t)((uint32_t)i * 7919u % (uint32_t)e->config.n_text_vocab);
    measure(&m);
    carat_session_close(m.session);
    free(m.token);
    e->sides.turn = CT_TURN_OPEN;
    e->stats = (struct ct_stats){.costs = e->stats.costs};
    e->head.stats = head;
    e->snapshots.taken = e->snapshots.dropped = 0;
}
