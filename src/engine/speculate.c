/* SPDX-License-Identifier: Apache-2.0 */
/* speculate.c: see speculate.h. Whether drafts pay is account.c's question, what the text itself proposes
 * ngram.c's. */
#include "engine/speculate.h"

#include "os/clock.h"

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
    int k = s->callers ? s->callers(s->user, ids, n, draft, most)
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
