/* SPDX-License-Identifier: Apache-2.0 */
/* judge.c: from means and their intervals to a verdict. Which limits are sensible, why the better end of an
 * interval counts, and entropy only where the reference's own is healthy, is said in QUALITY.md. */
#include "check/quality.h"

#include <math.h>
#include <stdlib.h>

/* One metric: its mean, interval and limits, whether less of it is better, and how it is told. */
struct rule {
    double mean;
    const double *interval; /* low, high */
    const double *limits;   /* healthy, concerning */
    carat_health *health;
    bool less_is_better;
    const char *name, *unit;
};

const char *carat_health_name(carat_health health)
{
    static const char *const names[] = {"healthy", "watch", "concerning", "not judged"};

    return (size_t)health < CT_COUNT(names) ? names[health] : "";
}

static carat_quality_limits default_limits(void)
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

static bool has_interval(const struct rule *r)
{
    return !isnan(r->interval[0]) && !isnan(r->interval[1]) && (r->interval[0] != 0 || r->interval[1] != 0);
}

static carat_status check_interval(const struct rule *r, carat_error *err)
{
    if (!has_interval(r) || r->interval[0] <= r->interval[1])
        return CARAT_OK;
    return ct_fail(err, CARAT_E_ARGUMENT, "the interval of %s goes from %g to %g, expected its low end first",
                   r->name, r->interval[0], r->interval[1]);
}

/* The figure that is judged: the mean, or the end of its interval that is better. A NaN stays one. */
static double favourable(const struct rule *r)
{
    if (!has_interval(r) || isnan(r->mean))
        return r->mean;
    return r->less_is_better ? fmin(r->mean, r->interval[0]) : fmax(r->mean, r->interval[1]);
}

/* NaN is beyond every limit. */
static carat_health health_of(const struct rule *r, double judged)
{
    const double sign = r->less_is_better ? 1 : -1, value = sign * judged;

    return value < sign * r->limits[0]    ? CARAT_HEALTHY
           : value <= sign * r->limits[1] ? CARAT_WATCH
                                          : CARAT_CONCERNING;
}

/* As many digits as show that it is not the limit, where it is not. */
static const char *number_beside(char out[32], double value, double limit)
{
    for (int digits = 4; digits <= 17; digits++) {
        snprintf(out, 32, "%.*g", digits, value);
        if (value == limit || strtod(out, NULL) != limit)
            break;
    }
    return out;
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
    const double judged = favourable(r);
    const carat_health health = health_of(r, judged);
    const double limit = r->limits[health == CARAT_CONCERNING];
    char mean[32], end[32], interval[80] = "";

    *r->health = health;
    if (judged != r->mean && !isnan(judged))
        snprintf(interval, sizeof interval, ", its interval %s at %s%s",
                 r->less_is_better ? "begins" : "ends", number_beside(end, judged, limit), r->unit);
    take_health(j, health, "%s is %s%s%s, %s %g%s is %s", r->name, number_beside(mean, r->mean, limit),
                r->unit, interval, r->less_is_better ? "above" : "below", limit, r->unit,
                health == CARAT_CONCERNING ? "concerning" : "to be watched");
}

/* Tells the figures of a healthy comparison, and the first of them that only its interval makes so. */
static void tell_healthy(const carat_quality *q, const struct rule *rules, size_t n, carat_judgement *j)
{
    char end[32], chance[160] = "";

    for (size_t i = 0; i < n && !*chance; i++) {
        const struct rule *r = &rules[i];
        if (*r->health == CARAT_HEALTHY && health_of(r, r->mean) != CARAT_HEALTHY)
            snprintf(chance, sizeof chance,
                     "; %s may be on the healthy side of %g%s: its interval %s at %s%s", r->name,
                     r->limits[0], r->unit, r->less_is_better ? "begins" : "ends",
                     number_beside(end, favourable(r), r->limits[0]), r->unit);
    }
    snprintf(j->reason, sizeof j->reason, "mean KL(ref||test) is %.3g, correlation %.6g, match %.4g %%%s",
             q->kl, q->correlation, q->match, chance);
}

carat_status carat_judge(const carat_quality *quality, const carat_quality_limits *limits,
                         carat_judgement *judgement, carat_error *err)
{
    CT_GIVEN(quality, err);
    carat_quality q = {0};
    carat_quality_limits l = default_limits();
    carat_judgement j = {.entropy = CARAT_NOT_JUDGED};

    CT_TRY(ct_take_struct(&q, sizeof q, quality, "carat_quality", err));
    CT_TRY(ct_take_struct(&l, sizeof l, limits, "carat_quality_limits", err));
    const struct rule rules[] = {
        {q.outside, q.outside_interval, l.outside, &j.outside, true,
         "mean probability of ids that the test leaves out", ""},
        {q.kl, q.kl_interval, l.kl, &j.kl, true, "mean KL(ref||test)", ""},
        {q.correlation, q.correlation_interval, l.correlation, &j.correlation, false, "mean correlation", ""},
        {q.match, q.match_interval, l.match, &j.match, false, "match without near-ties", " %"},
        {q.entropy_test, q.entropy_interval, l.entropy, &j.entropy, false, "mean entropy of the test", ""},
    };
    for (size_t i = 0; i < CT_COUNT(rules); i++) {
        CT_TRY(check_limits(&rules[i], err));
        CT_TRY(check_interval(&rules[i], err));
    }
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
        tell_healthy(&q, rules, CT_COUNT(rules), &j);
    return ct_give_struct(judgement, &j, sizeof j, "carat_judgement", err);
}

void carat_get_quality_limits(carat_quality_limits *limits)
{
    const carat_quality_limits full = default_limits();

    (void)ct_give_struct(limits, &full, sizeof full, "carat_quality_limits", NULL);
}
