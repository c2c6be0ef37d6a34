/* SPDX-License-Identifier: Apache-2.0 */
/* judge.c: from means to a verdict. Which limits are sensible, and why entropy is judged only where the
 * reference's own is healthy, is said in QUALITY.md. */
#include "check/quality.h"

#include <math.h>

/* One metric: its value and limits, whether less of it is better, and how it is told. */
struct rule {
    double value;
    const double *limits; /* healthy, concerning */
    carat_health *health;
    bool less_is_better;
    const char *name, *unit;
};

const char *ct_health_name(carat_health health)
{
    static const char *const names[] = {"healthy", "watch", "concerning", "not judged"};

    return (size_t)health < CT_COUNT(names) ? names[health] : "";
}

carat_quality_limits ct_quality_limits(void)
{
    return (carat_quality_limits){.size = sizeof(carat_quality_limits),
                                  .kl = {0.01, 0.1},
                                  .correlation = {0.99, 0.95},
                                  .match = {98, 90},
                                  .entropy = {0.5, 0.1},
                                  .outside = {0.01, 0.1}};
}

static carat_status check_limits(const struct rule *r, carat_error *err)
{
    const double healthy = r->limits[0], concerning = r->limits[1];

    if (isfinite(healthy) && isfinite(concerning) &&
        (r->less_is_better ? healthy <= concerning : healthy >= concerning))
        return CARAT_OK;
    return ct_fail(err, CARAT_E_ARGUMENT,
                   "the limits of %s are %g and %g, expected two numbers, the first for healthy, the second "
                   "for concerning, which is %s",
                   r->name, healthy, concerning, r->less_is_better ? "no less" : "no more");
}

/* NaN is beyond every limit. */
static carat_health health_of(const struct rule *r)
{
    const double sign = r->less_is_better ? 1 : -1, value = sign * r->value;

    return value < sign * r->limits[0]    ? CARAT_HEALTHY
           : value <= sign * r->limits[1] ? CARAT_WATCH
                                          : CARAT_CONCERNING;
}

/* Takes a metric into the whole, and says why if it is the worst so far. */
static void __attribute__((format(printf, 3, 4)))
take_health(carat_judgement *j, carat_health health, const char *format, ...)
{
    if (health <= j->whole)
        return;
    j->whole = health;
    CT_FORMAT(j->reason, format);
}

static void judge_rule(const struct rule *r, carat_judgement *j)
{
    const carat_health health = health_of(r);

    *r->health = health;
    take_health(j, health, "%s is %.4g%s, %s %g%s is %s", r->name, r->value, r->unit,
                r->less_is_better ? "above" : "below", r->limits[health == CARAT_CONCERNING], r->unit,
                health == CARAT_CONCERNING ? "concerning" : "to be watched");
}

carat_status ct_judge(const carat_quality *quality, const carat_quality_limits *limits,
                      carat_judgement *judgement, carat_error *err)
{
    carat_quality q = {0};
    carat_quality_limits l = ct_quality_limits();
    carat_judgement j = {.entropy = CARAT_NOT_JUDGED};

    CT_TRY(ct_take_struct(&q, sizeof q, quality, "carat_quality", err));
    CT_TRY(ct_take_struct(&l, sizeof l, limits, "carat_quality_limits", err));
    const struct rule rules[] = {
        {q.outside, l.outside, &j.outside, true, "mean probability of ids that the test leaves out", ""},
        {q.kl, l.kl, &j.kl, true, "mean KL(ref||test)", ""},
        {q.correlation, l.correlation, &j.correlation, false, "mean correlation", ""},
        {q.match, l.match, &j.match, false, "match of highest ids", " %"},
        {q.entropy_test, l.entropy, &j.entropy, false, "mean entropy of the test", ""},
    };
    for (size_t i = 0; i < CT_COUNT(rules); i++)
        CT_TRY(check_limits(&rules[i], err));
    if (q.broken > 0)
        take_health(&j, CARAT_CONCERNING, "%d %s NaN or infinity among the logits", q.broken,
                    q.broken == 1 ? "prompt has" : "prompts have");
    for (size_t i = 0; i < CT_COUNT(rules); i++)
        if (rules[i].health != &j.entropy || q.entropy_ref > l.entropy[0])
            judge_rule(&rules[i], &j);
    j.loop = q.loops > 0 ? CARAT_WATCH : CARAT_HEALTHY;
    take_health(&j, j.loop, "the test goes round in %d %s where the reference does not", q.loops,
                q.loops == 1 ? "answer" : "answers");
    if (j.whole == CARAT_HEALTHY)
        snprintf(j.reason, sizeof j.reason, "mean KL(ref||test) is %.3g, correlation %.6g, match %.4g %%",
                 q.kl, q.correlation, q.match);
    return ct_give_struct(judgement, &j, sizeof j, "carat_judgement", err);
}
