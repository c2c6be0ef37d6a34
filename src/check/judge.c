/* SPDX-License-Identifier: Apache-2.0 */
/* judge.c: from means to a verdict. Which limits are sensible, and why entropy is judged only where the
 * reference's own is healthy, is said in QUALITY.md. */
#include "check/compare.h"

#include <math.h>
#include <stdio.h>

/* One metric: its limits, whether less of it is better, and how it is told. */
struct rule {
    size_t value, limits, health; /* where they are in their structs */
    bool less_is_better;
    const char *name, *unit;
};
enum { KL, CORRELATION, MATCH, ENTROPY, RULES };
static const struct rule rules[RULES] = {
    [KL] = {offsetof(carat_quality, kl), offsetof(carat_quality_limits, kl), offsetof(carat_judgement, kl),
            true, "mean KL(ref||test)", ""},
    [CORRELATION] = {offsetof(carat_quality, correlation), offsetof(carat_quality_limits, correlation),
                     offsetof(carat_judgement, correlation), false, "mean correlation", ""},
    [MATCH] = {offsetof(carat_quality, match), offsetof(carat_quality_limits, match),
               offsetof(carat_judgement, match), false, "match of highest ids", " %"},
    [ENTROPY] = {offsetof(carat_quality, entropy_test), offsetof(carat_quality_limits, entropy),
                 offsetof(carat_judgement, entropy), false, "mean entropy of the test", ""},
};

const char *ct_health_name(carat_health health)
{
    static const char *const names[] = {"healthy", "watch", "concerning", "not judged"};

    return (size_t)health < CT_COUNT(names) ? names[health] : "";
}

void ct_quality_limits(carat_quality_limits *limits)
{
    *limits = (carat_quality_limits){.size = sizeof *limits,
                                     .kl = {0.01, 0.1},
                                     .correlation = {0.99, 0.95},
                                     .match = {98, 90},
                                     .entropy = {0.5, 0.1}};
}

static double value_of(const void *s, size_t place)
{
    double value;

    memcpy(&value, (const char *)s + place, sizeof value);
    return value;
}

static carat_status check_limits(const struct rule *r, const carat_quality_limits *limits, carat_error *err)
{
    double healthy = value_of(limits, r->limits), concerning = value_of(limits, r->limits + sizeof(double));

    if (isfinite(healthy) && isfinite(concerning) &&
        (r->less_is_better ? healthy <= concerning : healthy >= concerning))
        return CARAT_OK;
    return ct_fail(err, CARAT_E_ARGUMENT,
                   "the limits of %s are %g and %g, expected two numbers, the first for healthy, the second "
                   "for concerning, which is %s",
                   r->name, healthy, concerning, r->less_is_better ? "no less" : "no more");
}

/* NaN is beyond every limit. */
static carat_health health_of(const struct rule *r, double value, const carat_quality_limits *limits)
{
    const double sign = r->less_is_better ? 1 : -1;
    double healthy = sign * value_of(limits, r->limits),
           concerning = sign * value_of(limits, r->limits + sizeof(double));

    return sign * value < healthy       ? CARAT_HEALTHY
           : sign * value <= concerning ? CARAT_WATCH
                                        : CARAT_CONCERNING;
}

/* Takes a metric into the whole, and says why if it is the worst so far. */
static void __attribute__((format(printf, 3, 4)))
take_health(carat_judgement *j, carat_health health, const char *format, ...)
{
    va_list args;

    if (health == CARAT_NOT_JUDGED || health <= j->whole)
        return;
    j->whole = health;
    va_start(args, format);
    vsnprintf(j->reason, sizeof j->reason, format, args);
    va_end(args);
}

static void judge_rule(const struct rule *r, const carat_quality *q, const carat_quality_limits *limits,
                       carat_judgement *j)
{
    const double value = value_of(q, r->value);
    const carat_health health = health_of(r, value, limits);

    memcpy((char *)j + r->health, &health, sizeof health);
    take_health(j, health, "%s is %.4g%s, %s %g%s is %s", r->name, value, r->unit,
                r->less_is_better ? "above" : "below",
                value_of(limits, r->limits + (health == CARAT_CONCERNING ? sizeof(double) : 0)), r->unit,
                health == CARAT_CONCERNING ? "concerning" : "to be watched");
}

carat_status ct_judge(const carat_quality *q, const carat_quality_limits *limits, carat_judgement *j,
                      carat_error *err)
{
    *j = (carat_judgement){.size = sizeof *j, .entropy = CARAT_NOT_JUDGED};
    for (int i = 0; i < RULES; i++)
        CT_TRY(check_limits(&rules[i], limits, err));
    if (q->broken > 0)
        take_health(j, CARAT_CONCERNING, "%d %s NaN or infinity among the logits", q->broken,
                    q->broken == 1 ? "prompt has" : "prompts have");
    for (int i = 0; i < RULES; i++)
        if (i != ENTROPY || q->entropy_ref > limits->entropy[0])
            judge_rule(&rules[i], q, limits, j);
    j->loop = q->loops > 0 ? CARAT_WATCH : CARAT_HEALTHY;
    take_health(j, j->loop, "the test goes round in %d %s where the reference does not", q->loops,
                q->loops == 1 ? "answer" : "answers");
    if (j->whole == CARAT_HEALTHY)
        snprintf(j->reason, sizeof j->reason, "mean KL(ref||test) is %.3g, correlation %.6g, match %.4g %%",
                 q->kl, q->correlation, q->match);
    return CARAT_OK;
}
