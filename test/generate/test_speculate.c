/* SPDX-License-Identifier: Apache-2.0 */
/* test_speculate.c: what proposes drafts against a search that looks at everything, and the account of drafts
 * under clocks that are written down. That no draft changes an id is test_generate_drafts.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the headers above it. */
#include <cmocka.h>

#include "generate/speculate.h"

static uint64_t state;

static uint32_t random_below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

static bool happens(double probability)
{
    return random_below(1 << 30) < probability * (1 << 30);
}

/* ---- n-grams ---- */

/* What ngram.h promises, by looking at every place. */
static int search(const int32_t *ids, int n, int32_t *draft, int k)
{
    for (int length = CT_NGRAM_MOST; length >= CT_NGRAM_LEAST; length--)
        for (int end = n - 1; end >= length; end--) {
            if (memcmp(ids + end - length, ids + n - length, (size_t)length * sizeof *ids) != 0)
                continue;
            for (int i = 0; i < k; i++)
                draft[i] = end + i < n ? ids[end + i] : draft[end + i - n];
            return k;
        }
    return 0;
}

static void check_draft(struct ct_ngrams *g, const int32_t *ids, int n, int k)
{
    int32_t draft[CARAT_MOST_DRAFT] = {0}, right[CARAT_MOST_DRAFT] = {0};
    int expected = search(ids, n, right, k);

    assert_int_equal(ct_ngrams_propose(g, ids, n, draft, k), expected);
    assert_memory_equal(draft, right, sizeof draft);
}

/* Histories grow, by a token or by several; sometimes they go back, or are others. */
static void ngrams_are_those_of_a_search(void **unused)
{
    (void)unused;
    enum { MOST = 400 };
    static const uint32_t alphabets[] = {1, 2, 3, 7, 40, 262144};
    int32_t ids[MOST];
    for (size_t a = 0; a < CT_COUNT(alphabets); a++) {
        struct ct_ngrams g;
        int n = 0;
        assert_true(ct_ngrams_open(&g, MOST));
        for (int step = 0; step < 3000; step++) {
            if (n + 8 > MOST || random_below(200) == 0) {
                n = (int)random_below((uint32_t)n / 2 + 1);
                ct_ngrams_begin(&g);
            }
            for (uint32_t more = 1 + random_below(8); more > 0; more--)
                ids[n++] = (int32_t)random_below(alphabets[a]);
            if (random_below(4))
                check_draft(&g, ids, n, 1 + (int)random_below(CARAT_MOST_DRAFT));
        }
        ct_ngrams_close(&g);
    }
}

static void ngrams_read_on_in_the_draft(void **unused)
{
    (void)unused;
    static const int32_t ids[] = {9, 1, 2, 3, 1, 2};
    static const int32_t right[] = {3, 1, 2, 3, 1, 2, 3};
    int32_t draft[CARAT_MOST_DRAFT];
    struct ct_ngrams g;
    assert_true(ct_ngrams_open(&g, 8));
    for (int n = 0; n < 6; n++)
        assert_int_equal(ct_ngrams_propose(&g, ids, n, draft, 7), 0);
    assert_int_equal(ct_ngrams_propose(&g, ids, 6, draft, 7), 7);
    assert_memory_equal(draft, right, sizeof right);
    ct_ngrams_close(&g);
}

/* Whoever does not say that the text is another one gets useless drafts at worst. */
static void stale_ngrams_are_harmless(void **unused)
{
    (void)unused;
    enum { MOST = 300 };
    int32_t ids[MOST] = {0}, draft[CARAT_MOST_DRAFT];
    struct ct_ngrams g;
    assert_true(ct_ngrams_open(&g, MOST));
    for (int step = 0; step < 2000; step++) {
        int n = 1 + (int)random_below(MOST);
        for (int i = (int)random_below((uint32_t)n); i < n; i++)
            ids[i] = (int32_t)random_below(3);
        int k = ct_ngrams_propose(&g, ids, n, draft, 7);
        assert_true(k == 0 || k == 7);
        for (int i = 0; i < k; i++)
            assert_in_range(draft[i], 0, 2);
    }
    ct_ngrams_close(&g);
}

/* ---- the account ---- */

/* Passes of a machine: what 1 to 64 rows cost. */
struct clock {
    const char *name;
    double cost[CT_ACCOUNT_ROWS + 1];
};

/* Points of rows and costs of a clock, with straight lines between. */
static struct clock clock_of(const char *name, const double (*point)[2], int n)
{
    struct clock c = {.name = name};
    for (int rows = 1; rows <= CT_ACCOUNT_ROWS; rows++) {
        int i = 1;
        while (i < n - 1 && point[i][0] < rows)
            i++;
        c.cost[rows] = point[i - 1][1] + (point[i][1] - point[i - 1][1]) * (rows - point[i - 1][0]) /
                                             (point[i][0] - point[i - 1][0]);
    }
    return c;
}
#define CLOCK(name, ...)                                                                                     \
    clock_of(name, (const double[][2]){__VA_ARGS__}, (int)CT_COUNT(((const double[][2]){__VA_ARGS__})))

enum { N_CLOCK = 5 };
static void make_clocks(struct clock *c)
{
    c[0] = CLOCK("as on a CPU", {1, 3.5e6}, {2, 3.9e6}, {4, 5.4e6}, {5, 9.4e6}, {8, 9.9e6}, {64, 70e6});
    c[1] = CLOCK("free rows", {1, 10e6}, {64, 11e6});
    c[2] = CLOCK("no gain at all", {1, 1e6}, {64, 64e6});
    c[3] = CLOCK("stairs of eight", {1, 1e6}, {2, 1.9e6}, {8, 2e6}, {9, 3.8e6}, {64, 16e6});
    c[4] = CLOCK("slow rows", {1, 40e6}, {8, 200e6}, {64, 1600e6});
}

/* Which drafts are right. */
struct luck {
    const char *name;
    double (*right)(int given);
};
static double never(int given)
{
    (void)given;
    return 0;
}
static double always(int given)
{
    (void)given;
    return 1;
}
static double rarely(int given)
{
    (void)given;
    return 0.15;
}
static double mostly(int given)
{
    (void)given;
    return 0.8;
}
static double at_first(int given)
{
    return given < 100;
}
static double in_turns(int given)
{
    return given / 40 % 2;
}
static double at_probes(int given) /* wins trust, and breaks it */
{
    return given % 64 < 3;
}
static const struct luck lucks[] = {{"never", never},        {"always", always},     {"rarely", rarely},
                                    {"mostly", mostly},      {"at first", at_first}, {"in turns", in_turns},
                                    {"at probes", at_probes}};

struct run {
    double spent, plain; /* nanoseconds, and what plain decoding would have taken */
    double worst;        /* most that was lost, beyond what may be */
    int given, drafted, accepted;
};

/* A generation of so many tokens under a clock. */
static struct run generate(struct ct_account *a, const struct clock *c, const struct luck *luck, int tokens)
{
    struct run r = {.worst = -INFINITY};
    double gained = 0;
    while (r.given < tokens) {
        int accepted = 0, k = ct_account_choose(a, CARAT_FROM_TEXT, 1, 1, 1, CARAT_MOST_DRAFT);
        assert_in_range(k, 0, CARAT_MOST_DRAFT);
        while (accepted < k && happens(luck->right(r.given + accepted)))
            accepted++;
        double pass = c->cost[1 + k];
        ct_account_book(a,
                        &(struct ct_draft_facts){
                            .generations = 1, .drafts = k, .drafted = k, .accepted = accepted, .pass = pass});
        r.given += 1 + accepted;
        r.drafted += k;
        r.accepted += accepted;
        r.spent += pass;
        r.plain += (1 + accepted) * c->cost[1];
        gained = r.plain - r.spent;
        r.worst = fmax(r.worst, -gained - fmax(0.02 * r.spent, c->cost[1]));
    }
    assert_true(fabs(gained - a->gained) <= 1e-5 * r.spent); /* costs are kept as floats */
    return r;
}

static struct ct_account fresh_account(void)
{
    struct ct_account a = {.given = 0};
    ct_account_begin(&a, false);
    return a;
}

static void never_loses_more_than_its_bound(void **unused)
{
    (void)unused;
    struct clock c[N_CLOCK];
    make_clocks(c);
    for (int i = 0; i < N_CLOCK; i++)
        for (size_t l = 0; l < CT_COUNT(lucks); l++)
            for (int tokens = 16; tokens <= 4096; tokens *= 4) {
                struct ct_account a = fresh_account();
                struct run r = generate(&a, &c[i], &lucks[l], tokens);
                if (r.worst > 1e-5 * r.spent)
                    fail_msg("%s, right %s, %d tokens: %.0f ns more than may be lost", c[i].name,
                             lucks[l].name, tokens, r.worst);
            }
}

/* tokens/s against plain decoding. */
static double gain(const struct clock *c, const struct luck *luck, int tokens)
{
    struct ct_account a = fresh_account();
    struct run r = generate(&a, c, luck, tokens);
    return r.plain / r.spent;
}

static void wins_what_there_is_to_win(void **unused)
{
    (void)unused;
    struct clock c[N_CLOCK];
    make_clocks(c);
    assert_true(gain(&c[0], &lucks[1], 1024) > 2.4); /* always right: 8 tokens in 2.8 passes, at most 2.83 */
    assert_true(gain(&c[0], &lucks[3], 1024) > 1.7);
    assert_true(gain(&c[0], &lucks[0], 1024) > 0.985);
    assert_true(gain(&c[1], &lucks[1], 1024) > 6);
    assert_true(gain(&c[2], &lucks[3], 1024) > 0.97);
    assert_true(gain(&c[3], &lucks[1], 8192) > 2); /* one draft hardly pays, seven do */
}

/* With costs and luck known, no other number of drafts gives more tokens a second. */
static void chooses_the_fastest(void **unused)
{
    (void)unused;
    struct clock c[N_CLOCK];
    make_clocks(c);
    for (int i = 0; i < N_CLOCK; i++)
        for (int rows = 1; rows <= 17; rows += 4)
            for (int tenths = 0; tenths <= 10; tenths++) {
                struct ct_account a = fresh_account();
                double fastest = 0;
                int best = 0, least = 1 + tenths % 3, most = 7 - tenths % 2;
                for (int m = 1; m <= CT_ACCOUNT_ROWS; m++)
                    ct_account_cost(&a, m, c[i].cost[m]);
                a.gained = 1e12; /* it may lose anything */
                a.source[CARAT_FROM_TEXT].tried[0] = a.source[CARAT_FROM_TEXT].tried[1] = 1e6;
                a.source[CARAT_FROM_TEXT].right[0] = a.source[CARAT_FROM_TEXT].right[1] = 1e5 * tenths;
                for (int k = 0; k <= most; k = k ? k + 1 : least) {
                    double speed = (rows + ct_account_expects(&a, CARAT_FROM_TEXT, k)) /
                                   (double)(float)c[i].cost[rows + k];
                    if (speed > fastest) {
                        fastest = speed;
                        best = k;
                    }
                }
                assert_int_equal(ct_account_best(&a, CARAT_FROM_TEXT, rows, rows, least, most), best);
                assert_int_equal(ct_account_choose(&a, CARAT_FROM_TEXT, rows, rows, least, most), best);
                assert_int_equal(a.switched, best == 0);
            }
}

static void expects_what_acceptance_says(void **unused)
{
    (void)unused;
    struct ct_account a = fresh_account();
    a.source[CARAT_FROM_TEXT].tried[CT_DRAFT_FIRST] = a.source[CARAT_FROM_TEXT].tried[CT_DRAFT_NEXT] = 1e9;
    a.source[CARAT_FROM_TEXT].right[CT_DRAFT_FIRST] = 0.5e9;
    a.source[CARAT_FROM_TEXT].right[CT_DRAFT_NEXT] = 0.8e9;
    assert_true(ct_account_expects(&a, CARAT_FROM_TEXT, 0) == 0);
    assert_true(fabs(ct_account_expects(&a, CARAT_FROM_TEXT, 1) - 0.5) < 1e-6);
    assert_true(fabs(ct_account_expects(&a, CARAT_FROM_TEXT, 3) - (0.5 + 0.4 + 0.32)) < 1e-6);
}

/* A source that is always wrong: where it is asked. */
static void pauses_double(void **unused)
{
    (void)unused;
    struct clock c[N_CLOCK];
    make_clocks(c);
    struct ct_account a = fresh_account();
    int asked[64], n = 0;
    for (int given = 0; given < 4000; given++) {
        int k = ct_account_choose(&a, CARAT_FROM_TEXT, 1, 1, 1, CARAT_MOST_DRAFT);
        if (k && n < 64)
            asked[n++] = given;
        ct_account_book(&a, &(struct ct_draft_facts){1, k, k, 0, c[0].cost[1 + k], 0, CARAT_FROM_TEXT});
    }
    int pause = 64, i = 1;
    while (i < n && asked[i] - asked[i - 1] < pause)
        i++;
    assert_true(i < n && i < 16); /* it tried, and saw that nothing is won */
    for (; i < n; i++, pause *= 2)
        assert_in_range(asked[i] - asked[i - 1], pause, pause + 1);
    assert_true(pause >= 1024);
    assert_int_equal(a.switched, 1); /* a draft that fails in a pause is no switch */
    assert_int_equal(a.switches[0].on, 0);
    assert_non_null(strstr(a.switches[0].reason, "too few are right"));
}

/* When the text begins to repeat itself, drafting begins again, and its pauses are short again. */
static void begins_again(void **unused)
{
    (void)unused;
    struct clock c[N_CLOCK];
    make_clocks(c);
    struct ct_account a = fresh_account();
    generate(&a, &c[0], &lucks[0], 300);
    assert_int_equal(a.source[CARAT_FROM_TEXT].state, CT_WAITS);
    struct run r = {.given = a.given};
    double before = a.gained;
    for (int pass = 0; pass < 400; pass++) {
        int k = ct_account_choose(&a, CARAT_FROM_TEXT, 1, 1, 1, CARAT_MOST_DRAFT);
        ct_account_book(&a, &(struct ct_draft_facts){1, k, k, k, c[0].cost[1 + k], 0, CARAT_FROM_TEXT});
        r.accepted += k;
    }
    assert_true(r.accepted > 300 && a.gained > before);
    assert_int_equal(a.source[CARAT_FROM_TEXT].state, CT_DRAFTS);
    assert_int_equal(a.switched, 2);
    assert_true(a.switches[1].on && a.switches[1].given > 300);
    assert_string_equal(a.switches[1].reason, "one that was tried was right");
    for (int pass = 0; pass < 40; pass++) {
        int k = ct_account_choose(&a, CARAT_FROM_TEXT, 1, 1, 1, CARAT_MOST_DRAFT);
        ct_account_book(&a, &(struct ct_draft_facts){1, k, k, 0, c[0].cost[1 + k], 0, CARAT_FROM_TEXT});
    }
    assert_int_equal(a.source[CARAT_FROM_TEXT].state, CT_WAITS);
    assert_int_equal(a.source[CARAT_FROM_TEXT].wait, CT_ACCOUNT_WAIT);
}

/* Costs were not as measured: a draft that takes ever so long ends drafting for good. */
static void stays_off_after_a_loss(void **unused)
{
    (void)unused;
    struct ct_account a = fresh_account();
    for (int i = 0; i < 4; i++)
        ct_account_book(&a, &(struct ct_draft_facts){1, 0, 0, 0, 1e6, 0, CARAT_FROM_TEXT});
    assert_int_equal(ct_account_choose(&a, CARAT_FROM_TEXT, 1, 1, 1, 1), 1);
    ct_account_book(&a, &(struct ct_draft_facts){1, 1, 1, 0, 2.5e6, 0, CARAT_FROM_TEXT});
    assert_int_equal(a.source[CARAT_FROM_TEXT].state, CT_STAYS_OFF);
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(ct_account_choose(&a, CARAT_FROM_TEXT, 1, 1, 1, 7), 0);
        ct_account_book(&a, &(struct ct_draft_facts){1, 0, 0, 0, 1e6, 0, CARAT_FROM_TEXT});
    }
    assert_int_equal(a.switched, 1);
    assert_string_equal(a.switches[0].reason, "they lost 2 % of the time, or a pass");
}

/* One pass in a hundred is disturbed by somebody else. */
static void disturbed_passes_count_little(void **unused)
{
    (void)unused;
    struct clock c[N_CLOCK];
    make_clocks(c);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct ct_account a = fresh_account();
        double spent = 0, plain = 0;
        int given = 0;
        state = seed;
        while (given < 2000) {
            int accepted = 0, k = ct_account_choose(&a, CARAT_FROM_TEXT, 1, 1, 1, CARAT_MOST_DRAFT);
            while (accepted < k && happens(0.8))
                accepted++;
            double pass = c[0].cost[1 + k] * (0.97 + 0.06 * random_below(100) / 100);
            double heard = random_below(100) ? pass : 2.5 * pass;
            ct_account_book(&a, &(struct ct_draft_facts){1, k, k, accepted, heard, 0, CARAT_FROM_TEXT});
            given += 1 + accepted;
            spent += pass;
            plain += (1 + accepted) * c[0].cost[1];
        }
        if (plain / spent < 1.6)
            fail_msg("seed %d: %.2f times as fast", (int)seed, plain / spent);
    }
}

static void books_the_time_of_proposing(void **unused)
{
    (void)unused;
    struct ct_account a = fresh_account();
    ct_account_book(&a, &(struct ct_draft_facts){1, 0, 0, 0, 1e6, 0, CARAT_FROM_TEXT});
    ct_account_book(&a, &(struct ct_draft_facts){1, 0, 0, 0, 1e6, 1e4, CARAT_FROM_TEXT});
    assert_true(fabs(a.gained + 1e4) < 1);
    ct_account_book(&a, &(struct ct_draft_facts){1, 3, 3, 3, 1.5e6, 1e4, CARAT_FROM_TEXT});
    assert_true(fabs(a.gained - (2.5e6 - 2e4)) < 1);
    assert_true(fabs(a.spent - (3.5e6 + 2e4)) < 1);
}

/* Four generations in a pass: each books its part, and together that is what the pass gained. */
static void generations_share_a_pass(void **unused)
{
    (void)unused;
    struct clock c[N_CLOCK];
    make_clocks(c);
    struct ct_account a[4];
    static const int drafted[4] = {3, 1, 0, 4}, accepted[4] = {3, 0, 0, 2};
    double gained = 0;
    for (int i = 0; i < 4; i++) {
        a[i] = fresh_account();
        ct_account_book(&a[i], &(struct ct_draft_facts){4, 0, 0, 0, c[0].cost[4], 0, CARAT_FROM_TEXT});
        ct_account_book(&a[i], &(struct ct_draft_facts){4, 8, drafted[i], accepted[i], c[0].cost[12], 0,
                                                        CARAT_FROM_TEXT});
        gained += a[i].gained;
    }
    assert_true(fabs(gained - (9 * c[0].cost[4] / 4 - c[0].cost[12])) < 10);
    assert_true(a[2].gained == 0);
}

static void many_rows_are_not_drafted(void **unused)
{
    (void)unused;
    struct ct_account a = fresh_account();
    ct_account_book(&a, &(struct ct_draft_facts){100, 0, 0, 0, 1e6, 0, CARAT_FROM_TEXT});
    assert_int_equal(ct_account_choose(&a, CARAT_FROM_TEXT, 100, 100, 1, 7), 0);
    ct_account_book(&a, &(struct ct_draft_facts){60, 0, 0, 0, 1e6, 0, CARAT_FROM_TEXT});
    assert_in_range(ct_account_choose(&a, CARAT_FROM_TEXT, 60, 60, 1, 7), 1, 4);
    assert_int_equal(ct_account_choose(&a, CARAT_FROM_TEXT, 60, 60, 5, 7), 0);
}

/* ---- a drafter beside the text ---- */

/* The same with a drafter whose ids cost `step` each; the text proposes nothing, or is right like that. */
static struct run generate_with_drafter(struct ct_account *a, const struct clock *c,
                                        const struct luck *drafter, const struct luck *text, double step,
                                        int tokens)
{
    struct run r = {.worst = -INFINITY};
    double gained = 0;

    ct_account_step(a, CARAT_FROM_DRAFTER, step);
    while (r.given < tokens) {
        carat_draft_source source = CARAT_FROM_TEXT;
        int accepted = 0, k = 0;
        if (text)
            k = ct_account_choose(a, source, 1, 1, 1, CARAT_MOST_DRAFT);
        int other = ct_account_choose(a, CARAT_FROM_DRAFTER, 1, 1, 1, CARAT_MOST_DRAFT);
        if (other && (!k || ct_account_speed(a, CARAT_FROM_DRAFTER, 1, 1, other) >
                                ct_account_speed(a, CARAT_FROM_TEXT, 1, 1, k))) {
            source = CARAT_FROM_DRAFTER;
            k = other;
        }
        const struct luck *luck = source == CARAT_FROM_DRAFTER ? drafter : text;
        while (accepted < k && happens(luck->right(r.given + accepted)))
            accepted++;
        const double proposing = source == CARAT_FROM_DRAFTER ? k * step : 0, pass = c->cost[1 + k];
        ct_account_book(a, &(struct ct_draft_facts){.generations = 1,
                                                    .drafts = k,
                                                    .drafted = k,
                                                    .accepted = accepted,
                                                    .pass = pass,
                                                    .proposing = proposing,
                                                    .source = source});
        r.given += 1 + accepted;
        r.drafted += k;
        r.accepted += accepted;
        r.spent += pass + proposing;
        r.plain += (1 + accepted) * c->cost[1];
        gained = r.plain - r.spent;
        r.worst = fmax(r.worst, -gained - fmax(0.02 * r.spent, 2 * c->cost[1]));
    }
    assert_true(fabs(gained - a->gained) <= 1e-5 * r.spent);
    return r;
}

static struct ct_account account_of_two(void)
{
    struct ct_account a = {.passes = 2};
    ct_account_begin(&a, false);
    return a;
}

static void a_drafter_never_loses_more(void **unused)
{
    (void)unused;
    static const double steps[] = {0.002, 0.02, 0.3, 1.5, 20}; /* passes */
    struct clock c[N_CLOCK];
    make_clocks(c);
    for (int i = 0; i < N_CLOCK; i++)
        for (size_t l = 0; l < CT_COUNT(lucks); l++)
            for (size_t s = 0; s < CT_COUNT(steps); s++)
                for (int tokens = 16; tokens <= 4096; tokens *= 4) {
                    struct ct_account a = account_of_two();
                    const struct luck *text = tokens % 3 ? NULL : &lucks[(l + 3) % CT_COUNT(lucks)];
                    struct run r =
                        generate_with_drafter(&a, &c[i], &lucks[l], text, steps[s] * c[i].cost[1], tokens);
                    if (r.worst > 1e-5 * r.spent)
                        fail_msg("%s, right %s, %g passes a step, %d tokens: %.0f ns more than may be lost",
                                 c[i].name, lucks[l].name, steps[s], tokens, r.worst);
                }
}

static void a_drafter_wins(void **unused)
{
    (void)unused;
    struct clock c[N_CLOCK];
    make_clocks(c);
    struct ct_account a = account_of_two();
    struct run r = generate_with_drafter(&a, &c[0], &lucks[3], NULL, 0.02 * c[0].cost[1], 1024);
    assert_true(r.plain / r.spent > 1.6);
    assert_true(a.source[CARAT_FROM_DRAFTER].drafted == r.drafted && a.source[CARAT_FROM_TEXT].drafted == 0);
    assert_true(fabs(a.source[CARAT_FROM_DRAFTER].gained - a.gained) < 1);

    a = account_of_two(); /* the text is always right, for nothing */
    r = generate_with_drafter(&a, &c[0], &lucks[3], &lucks[1], 0.02 * c[0].cost[1], 1024);
    assert_true(a.source[CARAT_FROM_TEXT].accepted > 10 * a.source[CARAT_FROM_DRAFTER].accepted);

    a = account_of_two(); /* the text is never right */
    r = generate_with_drafter(&a, &c[0], &lucks[1], &lucks[0], 0.02 * c[0].cost[1], 1024);
    assert_true(a.source[CARAT_FROM_DRAFTER].accepted > 700 && r.plain / r.spent > 2);
    assert_true(a.source[CARAT_FROM_TEXT].drafted < 100);
}

/* The dearer an id, the shorter the drafts; when one costs as much as a pass, there are none. */
static void a_drafter_has_its_price(void **unused)
{
    (void)unused;
    struct clock c[N_CLOCK];
    make_clocks(c);
    int before = CARAT_MOST_DRAFT;
    for (int tenths = 0; tenths <= 12; tenths++) {
        struct ct_account a = account_of_two();
        struct ct_account_source *s = &a.source[CARAT_FROM_DRAFTER];
        for (int m = 1; m <= CT_ACCOUNT_ROWS; m++)
            ct_account_cost(&a, m, c[1].cost[m]);
        a.gained = 1e12;
        s->tried[0] = s->tried[1] = 1e6;
        s->right[0] = s->right[1] = 0.8e6;
        ct_account_step(&a, CARAT_FROM_DRAFTER, 0.1 * tenths * c[1].cost[1]);
        const int k = ct_account_best(&a, CARAT_FROM_DRAFTER, 1, 1, 1, CARAT_MOST_DRAFT);
        assert_true(k <= before);
        before = k;
        s->first = 2e12; /* before the first id more than may be lost */
        assert_int_equal(ct_account_best(&a, CARAT_FROM_DRAFTER, 1, 1, 1, CARAT_MOST_DRAFT), 0);
    }
    assert_int_equal(before, 0);
}

/* What cost more than it should is no end: it is tried again when more may be lost. */
static void a_drafter_is_tried_again(void **unused)
{
    (void)unused;
    struct ct_account a = account_of_two();
    for (int i = 0; i < 4; i++)
        ct_account_book(&a, &(struct ct_draft_facts){1, 0, 0, 0, 1e6, 0, CARAT_FROM_DRAFTER});
    assert_int_equal(ct_account_choose(&a, CARAT_FROM_DRAFTER, 1, 1, 1, 1), 1);
    ct_account_book(&a, &(struct ct_draft_facts){1, 1, 1, 0, 2e6, 40e6, CARAT_FROM_DRAFTER});
    assert_int_equal(a.source[CARAT_FROM_DRAFTER].state, CT_WAITS);
    assert_string_equal(a.switches[0].reason, "they lost 2 % of the time, or two passes");
    int tried = 0;
    for (int i = 0; i < 8000 && !tried; i++) {
        tried = ct_account_choose(&a, CARAT_FROM_DRAFTER, 1, 1, 1, 7) ? i : 0;
        ct_account_book(&a, &(struct ct_draft_facts){1, 0, 0, 0, 1e6, 0, CARAT_FROM_DRAFTER});
    }
    assert_in_range(tried, 2000, 5000); /* two percent of them are the 41 that were lost, and one more */
}

/* ---- both together ---- */

static int propose_too_many(void *user, const int32_t *ids, int n, int32_t *draft, int k)
{
    (void)ids;
    for (int i = 0; i < k; i++)
        draft[i] = n + i;
    return *(int *)user;
}

static void a_callers_source_is_bounded(void **unused)
{
    (void)unused;
    int says = 0;
    const carat_generation_options o = {.lookup = CARAT_LOOKUP_ON,
                                        .propose = propose_too_many,
                                        .user = &says,
                                        .draft_max = 5,
                                        .draft_min = 2};
    int32_t draft[CARAT_MOST_DRAFT], id = 0;
    struct ct_speculation s;
    struct ct_draft_pass pass = ct_draft_pass(3, 256);
    assert_true(ct_speculate_open(&s, &o, 16));
    const int answers[][3] = {{-1, 7, 0}, {0, 7, 0},       {1, 7, 1}, {5, 7, 5},
                              {6, 7, 5},  {1 << 30, 3, 3}, {2, 1, 0}};
    for (size_t i = 0; i < CT_COUNT(answers); i++) {
        says = answers[i][0];
        assert_int_equal(ct_speculate_propose(&s, &pass, &id, 1, draft, answers[i][1]), answers[i][2]);
    }
    assert_int_equal(ct_speculate_settle(&s, &pass, 1), 0); /* below draft_min */
    assert_int_equal(ct_speculate_settle(&s, &pass, 4), 4);
    assert_int_equal(pass.drafts, 4);
    assert_true(pass.tokens > 3);
    ct_speculate_close(&s);
}

static void off_proposes_nothing(void **unused)
{
    (void)unused;
    static const carat_generation_options off[] = {{.lookup = CARAT_LOOKUP_OFF},
                                                   {.lookup = CARAT_LOOKUP_OFF, .propose = propose_too_many},
                                                   {.naive = 1}};
    static const int32_t ids[] = {1, 1, 1, 1};
    for (size_t i = 0; i < CT_COUNT(off); i++) {
        int32_t draft[CARAT_MOST_DRAFT];
        struct ct_speculation s;
        struct ct_draft_pass pass = ct_draft_pass(1, 256);
        assert_true(ct_speculate_open(&s, &off[i], 16));
        assert_int_equal(ct_speculate_propose(&s, &pass, ids, 4, draft, 7), 0);
        ct_speculate_close(&s);
    }
}

/* From the text itself, when they pay: it asks for drafts only after a plain pass was measured, and takes as
 * many as are worth it. */
static void drafts_come_from_the_text(void **unused)
{
    (void)unused;
    static const int32_t ids[] = {1, 2, 3, 4, 1, 2, 3};
    static const carat_generation_options o = {.lookup = CARAT_LOOKUP_AUTO};
    int32_t draft[CARAT_MOST_DRAFT];
    struct ct_speculation s;
    assert_true(ct_speculate_open(&s, &o, 16));
    for (int again = 0; again < 2; again++) {
        struct ct_draft_pass pass = ct_draft_pass(1, 256);
        int k = ct_speculate_propose(&s, &pass, ids, 7, draft, 7);
        if (again == 0) {
            assert_int_equal(ct_speculate_settle(&s, &pass, k), 0);
        } else {
            assert_true(k >= 1 && draft[0] == 4);
            assert_int_equal(ct_speculate_settle(&s, &pass, k), k);
        }
        ct_speculate_verified(&s, &pass, k, 0.001);
    }
    ct_speculate_begin(&s);
    struct ct_draft_pass pass = ct_draft_pass(1, 256);
    assert_int_equal(ct_speculate_propose(&s, &pass, ids + 3, 3, draft, 7), 0); /* not of the text before */
    assert_int_equal(s.account.given, 0);
    ct_speculate_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ngrams_are_those_of_a_search),
        cmocka_unit_test(ngrams_read_on_in_the_draft),
        cmocka_unit_test(stale_ngrams_are_harmless),
        cmocka_unit_test(never_loses_more_than_its_bound),
        cmocka_unit_test(wins_what_there_is_to_win),
        cmocka_unit_test(chooses_the_fastest),
        cmocka_unit_test(expects_what_acceptance_says),
        cmocka_unit_test(pauses_double),
        cmocka_unit_test(begins_again),
        cmocka_unit_test(stays_off_after_a_loss),
        cmocka_unit_test(disturbed_passes_count_little),
        cmocka_unit_test(books_the_time_of_proposing),
        cmocka_unit_test(generations_share_a_pass),
        cmocka_unit_test(many_rows_are_not_drafted),
        cmocka_unit_test(a_drafter_never_loses_more),
        cmocka_unit_test(a_drafter_wins),
        cmocka_unit_test(a_drafter_has_its_price),
        cmocka_unit_test(a_drafter_is_tried_again),
        cmocka_unit_test(a_callers_source_is_bounded),
        cmocka_unit_test(off_proposes_nothing),
        cmocka_unit_test(drafts_come_from_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
