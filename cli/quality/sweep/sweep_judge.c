/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_judge.c: which recipes are recommended, by the rules that QUALITY.md states. */
#include <math.h>

#include "quality/sweep/sweep.h"

const char *const advice_words[N_ADVICE] = {"recommended", "best of its size",
                                            "acceptable where size is critical", "not recommended"};

double kl_of(const struct made *m)
{
    return m->summary->metric[KL].mean;
}

/* Is a as small as b and as near, and better in one of them? */
static bool beats(const struct made *a, const struct made *b)
{
    return a->bytes <= b->bytes && kl_of(a) <= kl_of(b) && (a->bytes < b->bytes || kl_of(a) < kl_of(b));
}

/* The model itself is as near as can be: whatever is as large and not the same is beaten by it. */
static bool beaten_by_model(const struct sweep *s, const struct made *m)
{
    return s->source.bytes <= m->bytes && (s->source.bytes < m->bytes || kl_of(m) > 0);
}

static bool is(const struct made *m, carat_health health)
{
    return m->summary->verdict.whole == health;
}

void sweep_judge(struct sweep *s)
{
    const struct made *smallest = NULL;

    s->chosen = -1;
    for (int i = 0; i < s->recipes.n; i++) {
        struct made *m = &s->made[i];
        m->best = !isnan(kl_of(m)) && !beaten_by_model(s, m);
        for (int k = 0; k < s->recipes.n; k++)
            m->best = m->best && !beats(&s->made[k], m);
        const bool within = kl_of(m) <= s->o->sweep->max_kl; /* false, too, where no limit is given */
        if (is(m, CARAT_HEALTHY) && m->best && (within || isnan(s->o->sweep->max_kl)) &&
            (!smallest || m->bytes < smallest->bytes))
            smallest = m;
        if (within && (s->chosen < 0 || m->bytes < s->made[s->chosen].bytes ||
                       (m->bytes == s->made[s->chosen].bytes && kl_of(m) < kl_of(&s->made[s->chosen]))))
            s->chosen = i;
    }
    s->compared = &s->made[0].summary->run.data;
    s->max_kl.there = !isnan(s->o->sweep->max_kl);
    s->max_kl.limit = s->o->sweep->max_kl;
    s->max_kl.smallest = s->chosen < 0 ? NULL : s->made[s->chosen].name;
    for (int i = 0; i < s->recipes.n; i++) {
        struct made *m = &s->made[i];
        m->advice = m == smallest                         ? RECOMMENDED
                    : !m->best || is(m, CARAT_CONCERNING) ? NOT_RECOMMENDED
                    : is(m, CARAT_WATCH)                  ? ACCEPTABLE
                                                          : BEST_OF_SIZE;
    }
}

const char *sweep_why_none(const struct sweep *s)
{
    if (!isnan(s->o->sweep->max_kl) && s->chosen < 0)
        return "none is within --max-kl";
    for (int i = 0; i < s->recipes.n; i++)
        if (is(&s->made[i], CARAT_HEALTHY))
            return "what is healthy is beaten, by the model itself or another recipe";
    return "none is healthy";
}
