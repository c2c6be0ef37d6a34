/* SPDX-License-Identifier: Apache-2.0 */
/* account.c: see speculate.h.
 *
 * What is not known yet is tried when it can be afforded. A row costs no more in a larger pass than in the
 * smallest, so that a draft can be refused before it loses more than may be lost: two percent of the time, or
 * one pass, or two where a drafter proposes.
 *
 * From the measured time of passes by their rows, what an id of a draft costs, and how many drafts were
 * right, it takes the number of drafts that gives most tokens a second, often none. Each pause is twice the
 * one before. Times are arguments, so that tests can choose them. */
#include "generate/speculate.h"

#define MAY_LOSE 0.02 /* of the time */
#define MEMORY   16.0 /* drafts that an estimate goes back */

void ct_account_begin(struct ct_account *a, bool always)
{
    struct ct_account fresh = {.passes = CT_MAX(a->passes, 1)};

    memcpy(fresh.pass, a->pass, sizeof fresh.pass);
    for (int i = 0; i < CT_DRAFT_SOURCES; i++)
        fresh.source[i] = (struct ct_account_source){.step = a->source[i].step,
                                                     .state = always ? CT_ALWAYS_DRAFTS : CT_DRAFTS,
                                                     .wait = CT_ACCOUNT_WAIT};
    *a = fresh;
}

void ct_account_always(struct ct_account *a, carat_draft_source source, bool always)
{
    a->source[source].state = always ? CT_ALWAYS_DRAFTS : CT_DRAFTS;
}

/* ---- costs ---- */

static void add_sample(struct ct_account_cost *c, double nanoseconds)
{
    if (nanoseconds > 0)
        c->sample[c->n++ % CT_ACCOUNT_SAMPLES] = (float)nanoseconds;
}

void ct_account_cost(struct ct_account *a, int rows, double nanoseconds)
{
    if (rows <= CT_ACCOUNT_ROWS)
        add_sample(&a->pass[rows], nanoseconds);
}

void ct_account_guess(struct ct_account *a, int rows, double nanoseconds)
{
    if (a->pass[rows].n == 0)
        ct_account_cost(a, rows, nanoseconds);
}

void ct_account_step(struct ct_account *a, carat_draft_source source, double nanoseconds)
{
    add_sample(&a->source[source].step, nanoseconds);
}

/* A low sample: of four and more the second, of fewer the lowest, since whatever disturbs a pass makes it
 * longer. 0: there is none. */
static double cost_measured(const struct ct_account_cost *c)
{
    const float *sample = c->sample;
    const int n = (int)CT_MIN(c->n, (unsigned)CT_ACCOUNT_SAMPLES);

    for (int i = 0; i < n; i++) {
        int below = 0, equal = 0;
        for (int j = 0; j < n; j++) {
            below += sample[j] < sample[i];
            equal += sample[j] == sample[i];
        }
        if (below <= (n - 1) / 3 && (n - 1) / 3 < below + equal)
            return (double)sample[i];
    }
    return 0;
}

/* The cost of a pass, as measured, or between the nearest that were. Above them all it is a range: from the
 * nearest one, to as much a row as the smallest pass costs. 0: nothing is known. */
struct cost {
    double least, most;
};
static struct cost cost_of(const struct ct_account *a, int rows)
{
    int smallest = 1, low = rows, high = rows;

    while (low > 0 && !a->pass[low].n)
        low--;
    while (high <= CT_ACCOUNT_ROWS && !a->pass[high].n)
        high++;
    while (smallest < low && !a->pass[smallest].n)
        smallest++;
    if (low == 0)
        return (struct cost){0};
    double below = cost_measured(&a->pass[low]), most = cost_measured(&a->pass[smallest]) * rows / smallest;
    if (high == low)
        return (struct cost){below, below};
    if (high > CT_ACCOUNT_ROWS)
        return (struct cost){below, most};
    double above = cost_measured(&a->pass[high]);
    return (struct cost){below + (above - below) * (rows - low) / (high - low), CT_MAX(above, below)};
}

/* ---- acceptance ---- */

/* One half, until something is known: that stands for one draft. */
static double share_right(const struct ct_account_source *s, int place)
{
    return (s->right[place] + 0.5) / (s->tried[place] + 1);
}

double ct_account_expects(const struct ct_account *a, carat_draft_source source, int drafts)
{
    const struct ct_account_source *s = &a->source[source];
    double more = 0, reached = share_right(s, CT_DRAFT_FIRST);

    for (int i = 0; i < drafts; i++, reached *= share_right(s, CT_DRAFT_NEXT))
        more += reached;
    return more;
}

static void count_trials(struct ct_account_source *s, int drafted, int accepted)
{
    const int next = CT_MAX(accepted - 1, 0);

    for (int i = 0; i < CT_DRAFT_PLACES; i++) {
        s->right[i] *= 1 - 1 / MEMORY;
        s->tried[i] *= 1 - 1 / MEMORY;
    }
    s->tried[CT_DRAFT_FIRST]++;
    s->right[CT_DRAFT_FIRST] += accepted > 0;
    s->tried[CT_DRAFT_NEXT] += next + (accepted > 0 && accepted < drafted);
    s->right[CT_DRAFT_NEXT] += next;
}

/* ---- choice ---- */

static double may_lose(const struct ct_account *a, double pass)
{
    return CT_MAX(MAY_LOSE * a->spent, a->passes * pass);
}

static bool can_afford(const struct ct_account *a, const struct ct_account_source *s, int rows, int drafts)
{
    double pass = cost_of(a, rows).least, proposing = s->first + drafts * cost_measured(&s->step);

    return cost_of(a, rows + drafts).most - pass + proposing <= a->gained + may_lose(a, pass);
}

double ct_account_speed(const struct ct_account *a, carat_draft_source source, int rows, double tokens,
                        int drafts)
{
    return (tokens + ct_account_expects(a, source, drafts)) /
           (cost_of(a, rows + drafts).least + drafts * cost_measured(&a->source[source].step));
}

int ct_account_best(const struct ct_account *a, carat_draft_source source, int rows, double tokens, int least,
                    int most)
{
    const struct ct_account_source *s = &a->source[source];
    double fastest = tokens / cost_of(a, rows).least;
    int best = 0;

    if (s->state == CT_ALWAYS_DRAFTS)
        return most;
    for (int k = least; k <= CT_MIN(most, CT_ACCOUNT_ROWS - rows); k++) {
        double speed = ct_account_speed(a, source, rows, tokens, k);
        if (speed > fastest && can_afford(a, s, rows, k)) {
            fastest = speed;
            best = k;
        }
    }
    return best;
}

static void switch_drafting(struct ct_account *a, carat_draft_source source, enum ct_drafting to,
                            const char *reason)
{
    a->source[source].state = to;
    if (a->switched < CARAT_MOST_SWITCHES) {
        a->switches[a->switched] = (carat_draft_switch){a->given, to == CT_DRAFTS, reason};
        a->switched_source[a->switched] = source;
    }
    a->switched++;
}

/* A pause after drafts that won something begins anew with the shortest. */
static void pause_drafting(struct ct_account *a, carat_draft_source source, const char *reason)
{
    struct ct_account_source *s = &a->source[source];

    if (s->gained > s->before)
        s->wait = CT_ACCOUNT_WAIT;
    s->until = a->given + s->wait;
    switch_drafting(a, source, CT_WAITS, reason);
}

static void wait_longer(const struct ct_account *a, struct ct_account_source *s)
{
    s->wait = CT_MIN(2 * s->wait, 1 << 20);
    s->until = a->given + s->wait;
}

/* Clauses for people: too few are right, one could lose too much, they have lost too much. */
static const char *const reasons[CT_DRAFT_SOURCES][3] = {
    [CARAT_FROM_TEXT] = {"too few are right for what rows cost",
                         "a wrong one could lose 2 % of the time, or a pass",
                         "they lost 2 % of the time, or a pass"},
    [CARAT_FROM_DRAFTER] = {"too few are right for what rows and the drafter cost",
                            "a wrong one could lose 2 % of the time, or two passes",
                            "they lost 2 % of the time, or two passes"},
    [CARAT_FROM_FORM] = {"too few of what the form leaves are right for what rows cost",
                         "a wrong one could lose 2 % of the time, or a pass",
                         "they lost 2 % of the time, or a pass"},
};

int ct_account_choose(struct ct_account *a, carat_draft_source source, int rows, double tokens, int least,
                      int most)
{
    struct ct_account_source *s = &a->source[source];

    if (s->state == CT_ALWAYS_DRAFTS)
        return most;
    if (s->state == CT_STAYS_OFF || (s->state == CT_WAITS && a->given < s->until) || least > most ||
        rows + least > CT_ACCOUNT_ROWS || !(cost_of(a, rows).least > 0))
        return 0;
    bool affords = can_afford(a, s, rows, least);
    if (s->state == CT_WAITS) {
        if (!affords)
            wait_longer(a, s);
        return affords ? least : 0;
    }
    int best = ct_account_best(a, source, rows, tokens, least, most);
    if (best == 0)
        pause_drafting(a, source, reasons[source][affords ? 0 : 1]);
    return best;
}

/* ---- booking ---- */

/* What was lost is more than may be. Without a drafter costs are then not to be trusted; with one it may have
 * been what a draft costs the first time, and drafts are tried again once more may be lost. */
static void end_drafting(struct ct_account *a, carat_draft_source source)
{
    struct ct_account_source *s = &a->source[source];

    if (a->passes == 1) {
        switch_drafting(a, source, CT_STAYS_OFF, reasons[source][2]);
        return;
    }
    if (s->state == CT_WAITS)
        wait_longer(a, s);
    else
        pause_drafting(a, source, reasons[source][2]);
}

void ct_account_book(struct ct_account *a, const struct ct_draft_facts *f)
{
    const int rows = f->generations + f->drafts;
    struct ct_account_source *s = &a->source[f->source];

    if (rows > CT_ACCOUNT_ROWS)
        return;
    ct_account_cost(a, rows, f->pass);
    double pass = cost_of(a, f->generations).least, whole = cost_of(a, rows).least;
    a->given += 1 + f->accepted;
    a->spent += f->pass + f->proposing;
    a->gained -= f->proposing;
    s->gained -= f->proposing;
    s->drafted += f->drafted;
    s->accepted += f->accepted;
    if (f->drafted == 0 || !(pass > 0))
        return;
    const double gained = f->accepted * pass / f->generations - (whole - pass) * f->drafted / f->drafts;
    a->gained += gained;
    s->gained += gained;
    count_trials(s, f->drafted, f->accepted);
    if (s->state == CT_ALWAYS_DRAFTS)
        return;
    if (a->gained < -may_lose(a, pass)) {
        end_drafting(a, f->source);
    } else if (s->state == CT_WAITS && f->accepted > 0) {
        s->before = s->gained;
        switch_drafting(a, f->source, CT_DRAFTS, "one that was tried was right");
    } else if (s->state == CT_WAITS) {
        wait_longer(a, s);
    }
}
