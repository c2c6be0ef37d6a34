/* SPDX-License-Identifier: Apache-2.0 */
/* row_logits.c: what evaluation leaves behind a token: the hidden state, and of the logits what somebody
 * needed. What is asked for later is computed then, with the same bits: the head of a row depends on
 * nothing beside it. Which rows of the head that takes is model/head.c's.
 *
 * A draw says which logits it reads (struct ct_reading). Rows of logits that sessions hold count their
 * holders, as blocks do. */
#include "engine/row_logits.h"
#include "engine/session.h"

#include "checkpoint/damage.h"
#include "os/clock.h"

int ct_row_logits_take(carat_engine *e)
{
    int i = 0;

    while (e->kept.row[i].holders) /* each session holds one and takes one more, a slice its own */
        i++;
    assert((size_t)i < ct_row_logits_count(e));
    e->kept.row[i] = (struct ct_row_logits){.holders = 1};
    return i;
}

void ct_row_logits_drop(carat_engine *e, int *i)
{
    if (*i >= 0)
        e->kept.row[*i].holders--;
    *i = -1;
}

float *ct_row_logits_memory(const carat_engine *e, int i)
{
    return e->kept.logits + (size_t)i * (size_t)e->config.n_vocab;
}

float *ct_row_logits_hidden(const carat_engine *e, int i)
{
    return e->kept.hidden + (size_t)i * (size_t)e->config.hidden;
}

const float *ct_row_logits_state(const carat_engine *e, int i)
{
    return i >= 0 && e->kept.row[i].has_hidden ? ct_row_logits_hidden(e, i) : NULL;
}

void ct_row_logits_keep(carat_engine *e, int kept, const struct ct_head_row *row)
{
    struct ct_row_logits *o = &e->kept.row[kept];
    const struct ct_reading *r = row->reading;

    o->logits = row->logits;
    o->k = 0;
    if (!row->logits.id || !r || r->n_apart > (int)CT_COUNT(o->apart))
        return;
    o->k = r->k;
    o->n = r->n;
    o->n_apart = r->n_apart;
    for (int i = 0; i < r->n_apart; i++)
        o->apart[i] = r->apart[i];
}

/* True when every id of a is one of b; both ascend. */
static bool are_among(const int32_t *a, int n, const int32_t *b, int m)
{
    int i = 0;

    for (int j = 0; i < n && j < m; j++)
        i += a[i] == b[j];
    return i == n;
}

/* True when kept logits are enough for a reading. Those with more ids apart serve one with fewer. */
static bool serves(const struct ct_row_logits *o, const struct ct_reading *r)
{
    if (!o->logits.value)
        return false;
    if (!o->logits.id)
        return true;
    return r && r->k > 0 && r->k <= o->k && r->n == o->n &&
           are_among(r->apart, r->n_apart, o->apart, o->n_apart);
}

carat_status ct_fail_not_finite(carat_engine *e, carat_error *err)
{
    if (ct_f16_explains(e, err))
        return CARAT_E_NUMERIC;
    if (err && !e->not_finite.code)
        (void)ct_fail_damaged(e->model, e->plan.threads, &e->not_finite);
    return ct_fail(err, CARAT_E_NUMERIC, "%s", e->not_finite.message);
}

carat_status ct_session_read(const carat_session *s, const struct ct_reading *reading,
                             struct ct_logits *logits, carat_error *err)
{
    carat_engine *e = s->engine;

    if (s->logits < 0)
        return ct_fail(err, CARAT_E_ARGUMENT, "the session holds no logits; evaluate a token first");
    struct ct_row_logits *o = &e->kept.row[s->logits];
    if (!serves(o, reading)) {
        struct ct_head_row row = {.reading = reading,
                                  .memory = ct_row_logits_memory(e, s->logits),
                                  .held = ct_held_tokens(s),
                                  .n_held = s->n};
        const double start = ct_os_seconds();
        assert(o->has_hidden); /* a file has all logits */
        o->logits = (struct ct_logits){0};
        bool finite = ct_head_again(&e->head, &e->pass, ct_row_logits_hidden(e, s->logits), &row);
        if (e->backend->failure.code && ct_engine_leave_device(e))
            finite = ct_head_again(&e->head, &e->pass, ct_row_logits_hidden(e, s->logits), &row);
        ct_head_took(&e->head, 1, ct_os_seconds() - start);
        if (e->backend->failure.code)
            return ct_fail(err, e->backend->failure.code, "%s", e->backend->failure.message);
        if (!finite) {
            ((carat_session *)(uintptr_t)s)->unsound = true;
            return ct_fail_not_finite(e, err);
        }
        ct_row_logits_keep(e, s->logits, &row);
    }
    *logits = o->logits;
    return CARAT_OK;
}

bool ct_draw_more(carat_engine *e, struct ct_draw_logits *l, const struct ct_reading *reading)
{
    const double start = ct_os_seconds();

    if (!l->have.id)
        return true;
    if (l->session)
        return !ct_session_read(l->session, reading, &l->have, NULL);
    struct ct_head_row row = *l->row;
    row.reading = reading;
    ct_head_rows(&e->head, &e->pass, l->nth, 1, &row);
    ct_head_took(&e->head, 1, ct_os_seconds() - start);
    l->have = row.logits;
    if (l->kept >= 0)
        ct_row_logits_keep(e, l->kept, &row);
    return true; /* whoever hands them over looks whether they are finite */
}

/* Shell sort, ascending. That of the C library allocates when there are many. */
static void sort_ids(int32_t *id, int n)
{
    for (int gap = n / 2; gap > 0; gap /= 2)
        for (int i = gap; i < n; i++) {
            const int32_t own = id[i];
            int at = i;
            for (; at >= gap && id[at - gap] > own; at -= gap)
                id[at] = id[at - gap];
            id[at] = own;
        }
}

int ct_never_drawn(const carat_engine *e, const carat_sampling *o, int32_t *ids)
{
    const struct carat_model *m = e->model;

    for (int i = 0; i < m->n_banned; i++)
        ids[i] = m->banned[i];
    for (int i = 0; i < o->n_banned; i++)
        ids[m->n_banned + i] = o->banned[i];
    return m->n_banned + o->n_banned;
}

struct ct_reading ct_reading_of(const carat_engine *e, const carat_sampling *o, const int32_t *held,
                                int first, int last, int32_t *apart)
{
    const carat_chain *c = o->chain;
    struct ct_reading r = {.n = e->model->config.n_text_vocab, .apart = apart};
    int n = ct_never_drawn(e, o, apart);
    int edited = ct_chain_apart(c, held, first, last, apart + n, CT_MOST_APART - n);
    bool unknown = c && !held && (ct_chain_repeats(c) || ct_chain_is_dry(c));
    r.k = edited < 0 || unknown ? 0 : CT_MIN(ct_chain_best(o), r.n);
    n += CT_MAX(edited, 0);
    sort_ids(apart, n);
    for (int i = 0; i < n; i++)
        if (!r.n_apart || apart[i] != apart[r.n_apart - 1])
            apart[r.n_apart++] = apart[i];
    return r;
}
