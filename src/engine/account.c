/* SPDX-License-Identifier: Apache-2.0 */
/* account.c: see account.h.
 *
 * What is not known yet is tried when it can be afforded. A row costs no more in a larger pass than in the
 * smallest, so that a draft can be refused before it loses more than may be lost: two percent of the time, or
 * one pass. */
#include "engine/account.h"

#define MAY_LOSE 0.02 /* of the time */
#define MEMORY   16.0 /* drafts that an estimate goes back */

void ct_account_begin(struct ct_account *a, bool always)
{
    *a = (struct ct_account){
        .costs = a->costs, .state = always ? CT_ALWAYS_DRAFTS : CT_DRAFTS, .wait = CT_ACCOUNT_WAIT};
}

/* ---- costs ---- */

void ct_account_cost(struct ct_account *a, int rows, double nanoseconds)
{
    if (rows <= CT_ACCOUNT_ROWS && nanoseconds > 0)
        a->costs.sample[rows][a->costs.n[rows]++ % CT_ACCOUNT_SAMPLES] = (float)nanoseconds;
}

void ct_account_guess(struct ct_account *a, int rows, double nanoseconds)
{
    if (a->costs.n[rows] == 0)
        ct_account_cost(a, rows, nanoseconds);
}

/* A low sample: of four and more the second, of fewer the lowest, since whatever disturbs a pass makes it
 * longer. 0: there is none. */
static double cost_measured(const struct ct_account *a, int rows)
{
    const float *sample = a->costs.sample[rows];
    const int n = (int)CT_MIN(a->costs.n[rows], (unsigned)CT_ACCOUNT_SAMPLES);

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

/* What a pass costs, as measured, or between the nearest that were. Above them all it is a range: from the
 * nearest one, to as much a row as the smallest pass costs. 0: nothing is known. */
struct cost {
    double least, most;
};
static struct cost cost_of(const struct ct_account *a, int rows)
{
    int smallest = 1, low = rows, high = rows;

    while (low > 0 && !a->costs.n[low])
        low--;
    while (high <= CT_ACCOUNT_ROWS && !a->costs.n[high])
        high++;
    while (smallest < low && !a->costs.n[smallest])
        smallest++;
    if (low == 0)
        return (struct cost){0};
    double below = cost_measured(a, low), most = cost_measured(a, smallest) * rows / smallest;
    if (high == low)
        return (struct cost){below, below};
    if (high > CT_ACCOUNT_ROWS)
        return (struct cost){below, most};
    double above = cost_measured(a, high);
    return (struct cost){below + (above - below) * (rows - low) / (high - low), CT_MAX(above, below)};
}

/* ---- acceptance ---- */

/* One half, until something is known: that stands for one draft. */
static double share_right(const struct ct_account *a, int place)
{
    return (a->right[place] + 0.5) / (a->tried[place] + 1);
}

double ct_account_expects(const struct ct_account *a, int drafts)
{
    double more = 0, reached = share_right(a, CT_DRAFT_FIRST);

    for (int i = 0; i < drafts; i++, reached *= share_right(a, CT_DRAFT_NEXT))
        more += reached;
    return more;
}

static void count_trials(struct ct_account *a, int drafted, int accepted)
{
    const int next = CT_MAX(accepted - 1, 0);

    for (int i = 0; i < CT_DRAFT_PLACES; i++) {
        a->right[i] *= 1 - 1 / MEMORY;
        a->tried[i] *= 1 - 1 / MEMORY;
    }
    a->tried[CT_DRAFT_FIRST]++;
    a->right[CT_DRAFT_FIRST] += accepted > 0;
    a->tried[CT_DRAFT_NEXT] += next + (accepted > 0 && accepted < drafted);
    a->right[CT_DRAFT_NEXT] += next;
}

/* ---- choice ---- */

static double may_lose(const struct ct_account *a, double pass)
{
    return CT_MAX(MAY_LOSE * a->spent, pass);
}

static bool can_afford(const struct ct_account *a, int rows, int drafts)
{
    double pass = cost_of(a, rows).least;

    return cost_of(a, rows + drafts).most - pass <= a->gained + may_lose(a, pass);
}

int ct_account_best(const struct ct_account *a, int rows, double tokens, int least, int most)
{
    double fastest = tokens / cost_of(a, rows).least;
    int best = 0;

    if (a->state == CT_ALWAYS_DRAFTS)
        return most;
    for (int k = least; k <= CT_MIN(most, CT_ACCOUNT_ROWS - rows); k++) {
        double speed = (tokens + ct_account_expects(a, k)) / cost_of(a, rows + k).least;
        if (speed > fastest && can_afford(a, rows, k)) {
            fastest = speed;
            best = k;
        }
    }
    return best;
}

static void switch_drafting(struct ct_account *a, enum ct_drafting to, const char *reason)
{
    a->state = to;
    if (a->switched < CARAT_MOST_SWITCHES)
        a->switches[a->switched] = (carat_draft_switch){a->given, to == CT_DRAFTS, reason};
    a->switched++;
}

/* A pause after drafts that won something begins anew with the shortest. */
static void pause_drafting(struct ct_account *a, const char *reason)
{
    if (a->gained > a->before)
        a->wait = CT_ACCOUNT_WAIT;
    a->until = a->given + a->wait;
    switch_drafting(a, CT_WAITS, reason);
}

static void wait_longer(struct ct_account *a)
{
    a->wait = CT_MIN(2 * a->wait, 1 << 20);
    a->until = a->given + a->wait;
}

int ct_account_choose(struct ct_account *a, int rows, double tokens, int least, int most)
{
    if (a->state == CT_ALWAYS_DRAFTS)
        return most;
    if (a->state == CT_STAYS_OFF || (a->state == CT_WAITS && a->given < a->until) || least > most ||
        rows + least > CT_ACCOUNT_ROWS || !(cost_of(a, rows).least > 0))
        return 0;
    bool affords = can_afford(a, rows, least);
    if (a->state == CT_WAITS) {
        if (!affords)
            wait_longer(a);
        return affords ? least : 0;
    }
    int best = ct_account_best(a, rows, tokens, least, most);
    if (best == 0)
        pause_drafting(a, affords ? "too few are right for what rows cost"
                                  : "a wrong one could lose 2 % of the time, or a pass");
    return best;
}

/* ---- booking ---- */

void ct_account_book(struct ct_account *a, const struct ct_draft_facts *f)
{
    const int rows = f->generations + f->drafts;

    if (rows > CT_ACCOUNT_ROWS)
        return;
    ct_account_cost(a, rows, f->pass);
    double pass = cost_of(a, f->generations).least, whole = cost_of(a, rows).least;
    a->given += 1 + f->accepted;
    a->spent += f->pass + f->proposing;
    a->gained -= f->proposing;
    if (f->drafted == 0 || !(pass > 0))
        return;
    a->gained += f->accepted * pass / f->generations - (whole - pass) * f->drafted / f->drafts;
    count_trials(a, f->drafted, f->accepted);
    if (a->state == CT_ALWAYS_DRAFTS)
        return;
    if (a->gained < -may_lose(a, pass)) {
        switch_drafting(a, CT_STAYS_OFF, "they lost 2 % of the time, or a pass");
    } else if (a->state == CT_WAITS && f->accepted > 0) {
        a->before = a->gained;
        switch_drafting(a, CT_DRAFTS, "one that was tried was right");
    } else if (a->state == CT_WAITS) {
        wait_longer(a);
    }
}
