/* SPDX-License-Identifier: Apache-2.0 */
/* speculate.c: see speculate.h. Whether drafts pay is account.c's question.
 *
 * Drafts come from the text itself (the last 2 to 4 tokens stood there before), from the caller's propose, or
 * from a drafter (draft.c). Who proposes knows nothing of passes, and may be wrong at will. */
#include "generate/speculate.h"

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

/* Copies what once followed tokens that ended at `end`; where the history ends, it reads on in the draft
 * itself. */
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

/* A new text: costs that are known stay. */
static void begin_account(struct ct_speculation *s)
{
    ct_account_begin(&s->account, false);
    for (int i = 0; i < CT_DRAFT_SOURCES; i++)
        ct_account_always(&s->account, (carat_draft_source)i, s->use[i] == CARAT_LOOKUP_ON);
}

bool ct_speculate_open(struct ct_speculation *s, const carat_generation_options *o, int tokens)
{
    const carat_lookup text = o->naive ? CARAT_LOOKUP_OFF : o->lookup;

    *s = (struct ct_speculation){
        .use = {[CARAT_FROM_TEXT] = text, [CARAT_FROM_DRAFTER] = CARAT_LOOKUP_OFF, [CARAT_FROM_FORM] = text},
        .least = CT_MAX(o->draft_min, 1),
        .most = o->draft_max ? o->draft_max : CARAT_MOST_DRAFT,
        .callers = o->propose,
        .user = o->user,
    };
    begin_account(s);
    return text == CARAT_LOOKUP_OFF || s->callers || ct_ngrams_open(&s->ngrams, tokens);
}

void ct_speculate_with(struct ct_speculation *s, carat_session *session, carat_lookup use)
{
    if (use == CARAT_LOOKUP_OFF || !ct_draft_exists(session->engine))
        return;
    s->session = session;
    s->use[CARAT_FROM_DRAFTER] = use;
    s->account.passes = 2;
    begin_account(s);
    ct_account_step(&s->account, CARAT_FROM_DRAFTER, session->engine->drafts.step_ns);
}

void ct_speculate_close(struct ct_speculation *s)
{
    ct_ngrams_close(&s->ngrams);
}

void ct_speculate_begin(struct ct_speculation *s)
{
    begin_account(s);
    ct_ngrams_begin(&s->ngrams);
}

struct ct_draft_pass ct_draft_pass(int generations, int most)
{
    return (struct ct_draft_pass){.generations = generations, .most = most, .tokens = generations};
}

static int pass_rows(const struct ct_draft_pass *pass)
{
    return pass->generations + pass->drafts;
}

/* Finds how many ids are worth a draft of each source, and which source gives most tokens a second with
 * them. */
static carat_draft_source choose_source(struct ct_speculation *s, const struct ct_draft_pass *pass, int n,
                                        int most, int worth[CARAT_DRAFT_SOURCES])
{
    struct ct_account *a = &s->account;
    double fastest = 0;
    carat_draft_source best = CARAT_FROM_TEXT;

    if (s->session)
        a->source[CARAT_FROM_DRAFTER].first = ct_draft_lag(s->session, n);
    for (carat_draft_source i = 0; i < CARAT_DRAFT_SOURCES; i++) {
        worth[i] = s->use[i] == CARAT_LOOKUP_OFF
                       ? 0
                       : ct_account_choose(a, i, pass_rows(pass), pass->tokens, s->least, most);
        double speed = worth[i] ? ct_account_speed(a, i, pass_rows(pass), pass->tokens, worth[i]) : 0;
        if (speed > fastest) {
            fastest = speed;
            best = i;
        }
    }
    return best;
}

static int ask_source(struct ct_speculation *s, carat_draft_source source, const int32_t *ids, int n,
                      int32_t *draft, int most)
{
    const double start = ct_os_seconds();
    int k;

    if (source == CARAT_FROM_DRAFTER)
        k = ct_draft_propose(s->session, ids, n, draft, most);
    else
        k = s->callers ? s->callers(s->user, ids, n, draft, most)
                       : ct_ngrams_propose(&s->ngrams, ids, n, draft, most);
    const double took = (ct_os_seconds() - start) * 1e9;
    if (source == CARAT_FROM_DRAFTER && k > 0)
        ct_account_step(&s->account, source, (took - s->account.source[source].first) / k);
    s->proposing += took;
    s->source = source;
    s->asked = most;
    return CT_MAX(0, CT_MIN(k, most));
}

int ct_speculate_propose(struct ct_speculation *s, const struct ct_draft_pass *pass, const int32_t *ids,
                         int n, int32_t *draft, int room)
{
    int most = CT_MIN(room, s->most), worth[CARAT_DRAFT_SOURCES], k = 0;

    s->asked = s->drafted = 0;
    s->proposing = 0;
    if (most < s->least)
        return 0;
    const carat_draft_source first = choose_source(s, pass, n, most, worth);
    for (int i = 0; i < CARAT_DRAFT_SOURCES && k < s->least; i++) {
        const carat_draft_source source = (first + (unsigned)i) % CARAT_DRAFT_SOURCES;
        if (worth[source])
            k = ask_source(s, source, ids, n, draft, worth[source]);
    }
    return k;
}

int ct_speculate_settle(struct ct_speculation *s, struct ct_draft_pass *pass, int k)
{
    if (k < s->asked && k >= s->least)
        k = ct_account_best(&s->account, s->source, pass_rows(pass), pass->tokens, s->least, k);
    s->drafted = k < s->least ? 0 : k;
    pass->drafts += s->drafted;
    pass->tokens += ct_account_expects(&s->account, s->source, s->drafted);
    return s->drafted;
}

int ct_speculate_room(const struct ct_speculation *s, int room)
{
    return s->use[CARAT_FROM_FORM] == CARAT_LOOKUP_OFF ? 0 : CT_MIN(room, s->most);
}

int ct_speculate_given(struct ct_speculation *s, struct ct_draft_pass *pass, int k)
{
    s->source = CARAT_FROM_FORM;
    s->proposing = 0;
    s->asked = s->drafted = k < s->least ? 0
                                         : ct_account_choose(&s->account, CARAT_FROM_FORM, pass_rows(pass),
                                                             pass->tokens, s->least, k);
    pass->drafts += s->drafted;
    pass->tokens += ct_account_expects(&s->account, CARAT_FROM_FORM, s->drafted);
    return s->drafted;
}

void ct_speculate_verified(struct ct_speculation *s, const struct ct_draft_pass *pass, int accepted,
                           double seconds)
{
    ct_account_book(&s->account, &(struct ct_draft_facts){.generations = pass->generations,
                                                          .drafts = pass->drafts,
                                                          .drafted = s->drafted,
                                                          .accepted = s->drafted ? accepted : 0,
                                                          .pass = seconds * 1e9,
                                                          .proposing = s->proposing,
                                                          .source = s->source});
}
