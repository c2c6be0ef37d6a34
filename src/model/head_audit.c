/* SPDX-License-Identifier: Apache-2.0 */
/* head_audit.c: compares a strategy with the whole head: are the best ids the same, and are their logits
 * the same where the strategy is exact? What follows for a strategy that fails is its own decision. */
#include "model/head_strategy.h"

#include <stdlib.h>

enum { MOST = 256, ALL = 64 }; /* the most ids that are compared; as many where all logits are read */

struct best {
    carat_candidate of[MOST];
    int n;
};

static int compare_apart(const void *a, const void *b)
{
    return (*(const int32_t *)a > *(const int32_t *)b) - (*(const int32_t *)a < *(const int32_t *)b);
}

static bool stands_apart(const struct ct_reading *r, int32_t id)
{
    return r && (id >= r->n ||
                 (r->n_apart && bsearch(&id, r->apart, (size_t)r->n_apart, sizeof id, compare_apart)));
}

/* The k best ids, by logit descending and id ascending. */
static void find_best(struct best *best, const struct ct_logits *l, const struct ct_reading *r, int k)
{
    best->n = 0;
    for (int i = 0; i < l->n; i++) {
        const carat_candidate c = {ct_logits_id(l, i), l->value[i]};
        int at = best->n;
        if ((at == k && !(c.logit > best->of[k - 1].logit)) || stands_apart(r, c.id))
            continue;
        while (at > 0 && c.logit > best->of[at - 1].logit)
            at--;
        best->n = CT_MIN(best->n + 1, k);
        memmove(&best->of[at + 1], &best->of[at], (size_t)(best->n - 1 - at) * sizeof c);
        best->of[at] = c;
    }
}

static int count_found(const struct best *wanted, const struct best *got)
{
    int found = 0;

    for (int i = 0; i < wanted->n; i++)
        for (int j = 0; j < got->n; j++)
            found += wanted->of[i].id == got->of[j].id;
    return found;
}

/* A list may leave out what is not read, but each of its logits is dense's. */
static bool is_dense(const struct ct_logits *got, const struct ct_logits *dense, const struct best *found,
                     const struct best *wanted)
{
    for (int i = 0; got->id && i < got->n; i++)
        if (memcmp(&got->value[i], &dense->value[got->id[i]], sizeof *got->value) != 0)
            return false;
    if (!got->id)
        return memcmp(got->value, dense->value, (size_t)dense->n * sizeof *dense->value) == 0;
    return found->n == wanted->n &&
           memcmp(found->of, wanted->of, (size_t)wanted->n * sizeof *wanted->of) == 0;
}

static void audit_row(struct ct_head *h, const struct ct_pass *p, int at, const struct ct_head_row *row)
{
    const struct ct_logits dense = {h->audited, NULL, h->stored.rows};
    const int k = row->reading && row->reading->k > 0 ? CT_MIN(row->reading->k, MOST) : CT_MIN(ALL, dense.n);
    carat_head_stats *s = &h->stats;
    struct best wanted, found;

    /* nobody listens: it is no part of the pass */
    h->backend->verb.project_logits(h->backend, p->h, at, 1, &h->audited, h->packed, p->config->logit_cap);
    if (h->aside)
        h->backend->verb.give_back(h->backend, h->packed);
    if (!h->backend->verb.goes_on(h->backend))
        return; /* one of the two is not whole */
    find_best(&wanted, &dense, row->reading, k);
    find_best(&found, &row->logits, row->reading, k);
    if (wanted.n == 0)
        return;
    const double n = (double)s->audits++, found_share = (double)count_found(&wanted, &found) / wanted.n;
    const bool same = found.n && found.of[0].id == wanted.of[0].id;
    s->recall = (s->recall * n + found_share) / (n + 1);
    s->top1 = (s->top1 * n + (same ? 1 : 0)) / (n + 1);
    if (!is_dense(&row->logits, &dense, &found, &wanted) && s->exact && s->differences++ == 0)
        ct_head_log(h, "an audit of the head found other ids or logits than dense, an error of carat");
    if (s->recall < (double)h->o.min_recall && h->strategy->give_up)
        h->strategy->give_up(h);
}

void ct_head_audit_rows(struct ct_head *h, const struct ct_pass *p, int first, int n,
                        const struct ct_head_row *row)
{
    for (int i = 0; i < n && h->o.audit; i++)
        if (!(row[i].reading && row[i].reading->allowed) && ++h->since_audit >= h->o.audit) {
            h->since_audit = 0;
            audit_row(h, p, first + i, &row[i]);
        }
}
