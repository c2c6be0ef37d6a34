/* SPDX-License-Identifier: Apache-2.0 */
/* speculate.c: see speculate.h. Whether drafts pay is account.c's question. */
#include "engine/speculate.h"

#include <stdlib.h>

#include "os/clock.h"

/* ---- drafts from the text: a token goes into three tables once, so that a draft costs the same after any
 * history ---- */

/* The slot of a run that ends with ids[end - 1]: its own, or the empty one where it would be. */
static int32_t *run_slot(const struct ct_ngrams *g, int length, const int32_t *ids, int end)
{
    const int32_t *run = ids + end - length;
    int32_t *table = g->end + (size_t)(length - CT_NGRAM_LEAST) * g->slots;
    uint64_t hash = 0;

    for (int i = 0; i < length; i++)
        hash = (hash ^ (uint32_t)run[i]) * 0x9e3779b97f4a7c15u;
    size_t at = (hash >> 32) & (g->slots - 1);
    while (table[at] && memcmp(ids + table[at] - length, run, (size_t)length * sizeof *run))
        at = (at + 1) & (g->slots - 1);
    return &table[at];
}

bool ct_ngrams_open(struct ct_ngrams *g, int most)
{
    size_t slots = 64;

    while (slots < 2 * (size_t)most)
        slots *= 2;
    *g = (struct ct_ngrams){.slots = slots, .end = calloc(CT_NGRAM_LENGTHS * slots, sizeof *g->end)};
    return g->end != NULL;
}

void ct_ngrams_close(struct ct_ngrams *g)
{
    free(g->end);
}

void ct_ngrams_begin(struct ct_ngrams *g)
{
    if (g->indexed > 0)
        memset(g->end, 0, CT_NGRAM_LENGTHS * g->slots * sizeof *g->end);
    g->indexed = 0;
}

/* What followed tokens that ended at `end` once, read on in the draft itself where the history ends. */
static void copy_on(const int32_t *ids, int n, int end, int32_t *draft, int k)
{
    for (int i = 0; i < k; i++)
        draft[i] = end + i < n ? ids[end + i] : draft[end + i - n];
}

int ct_ngrams_propose(struct ct_ngrams *g, const int32_t *ids, int n, int32_t *draft, int k)
{
    if (n <= g->indexed)
        ct_ngrams_begin(g);
    for (; g->indexed < n - 1; g->indexed++)
        for (int length = CT_NGRAM_LEAST; length <= CT_MIN(CT_NGRAM_MOST, g->indexed + 1); length++)
            *run_slot(g, length, ids, g->indexed + 1) = g->indexed + 1;
    for (int length = CT_MIN(CT_NGRAM_MOST, n - 1); length >= CT_NGRAM_LEAST; length--) {
        int end = *run_slot(g, length, ids, n);
        if (end) {
            copy_on(ids, n, end, draft, k);
            return k;
        }
    }
    return 0;
}

/* ---- a generation ---- */

bool ct_speculate_open(struct ct_speculation *s, const carat_generation_options *o, int tokens)
{
    *s = (struct ct_speculation){
        .off = o->naive || o->lookup == CARAT_LOOKUP_OFF,
        .always = o->lookup == CARAT_LOOKUP_ON,
        .least = CT_MAX(o->draft_min, 1),
        .most = o->draft_max ? o->draft_max : CARAT_MOST_DRAFT,
        .callers = o->propose,
        .user = o->user,
    };
    ct_account_begin(&s->account, s->always);
    return s->off || s->callers || ct_ngrams_open(&s->ngrams, tokens);
}

void ct_speculate_close(struct ct_speculation *s)
{
    ct_ngrams_close(&s->ngrams);
}

void ct_speculate_begin(struct ct_speculation *s)
{
    ct_account_begin(&s->account, s->always);
    ct_ngrams_begin(&s->ngrams);
}

struct ct_draft_pass ct_draft_pass(int generations)
{
    return (struct ct_draft_pass){.generations = generations, .tokens = generations};
}

static int pass_rows(const struct ct_draft_pass *pass)
{
    return pass->generations + pass->drafts;
}

int ct_speculate_propose(struct ct_speculation *s, const struct ct_draft_pass *pass, const int32_t *ids,
                         int n, int32_t *draft, int room)
{
    int most = CT_MIN(room, s->most);

    s->asked = s->drafted = 0;
    s->proposing = 0;
    if (s->off || most < s->least)
        return 0;
    most = ct_account_choose(&s->account, pass_rows(pass), pass->tokens, s->least, most);
    if (most == 0)
        return 0;
    double start = ct_os_seconds();
    int k = s->callers   ? s->callers(s->user, ids, n, draft, most)
            : s->session ? ct_draft_propose(s->session, ids, n, draft, most)
                         : ct_ngrams_propose(&s->ngrams, ids, n, draft, most);
    s->proposing = (ct_os_seconds() - start) * 1e9;
    s->asked = most;
    return CT_MAX(0, CT_MIN(k, most));
}

int ct_speculate_settle(struct ct_speculation *s, struct ct_draft_pass *pass, int k)
{
    if (k < s->asked && k >= s->least)
        k = ct_account_best(&s->account, pass_rows(pass), pass->tokens, s->least, k);
    s->drafted = k < s->least ? 0 : k;
    pass->drafts += s->drafted;
    pass->tokens += ct_account_expects(&s->account, s->drafted);
    return s->drafted;
}

void ct_speculate_verified(struct ct_speculation *s, const struct ct_draft_pass *pass, int accepted,
                           double seconds)
{
    ct_account_book(&s->account, &(struct ct_draft_facts){.generations = pass->generations,
                                                          .drafts = pass->drafts,
                                                          .drafted = s->drafted,
                                                          .accepted = accepted,
                                                          .pass = seconds * 1e9,
                                                          .proposing = s->proposing});
}
