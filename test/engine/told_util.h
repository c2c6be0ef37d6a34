/* SPDX-License-Identifier: Apache-2.0 */
/* told_util.h: what the tests of what generations tell share: models/tiny, all that a generation gave, and
 * the ways in which the same ids can be made. */
#ifndef CT_TEST_TOLD_UTIL_H
#define CT_TEST_TOLD_UTIL_H

#include "vector_util.h"

#include <carat_generate.h>
#include <math.h>

#include "checkpoint/checkpoint.h"

enum { ROOM = 1024, MOST = 400 };

static carat_model *tiny;

UNUSED static int prepare(void **state)
{
    (void)state;
    OK(carat_model_open(&tiny, CT_TEST_DATA "/../../models/tiny", NULL, err));
    return 0;
}

UNUSED static int clean_up(void **state)
{
    (void)state;
    carat_model_close(tiny);
    return 0;
}

UNUSED static carat_engine_options engine_of(int sessions, const char *isa)
{
    carat_engine_options o;

    carat_engine_options_default(&o);
    o.threads = 1;
    o.sessions = sessions;
    o.context = ROOM;
    o.isa = isa;
    return o;
}

UNUSED static struct rig open_rig(int sessions, const char *isa)
{
    carat_engine_options o = engine_of(sessions, isa);

    return rig_open(tiny, &o);
}

/* Few logits are computed there. */
UNUSED static struct rig open_pruned(void)
{
    carat_engine_options o = engine_of(1, NULL);
    carat_head_options head;

    carat_head_options_default(&head);
    head.strategy = CARAT_HEAD_EXACT_PRUNED;
    o.head = &head;
    return rig_open(tiny, &o);
}

UNUSED static carat_tokens prompt_of(const char *text, const char *tools)
{
    carat_tokens prompt = {0};
    carat_render_options o;
    carat_message message = {.role = "user", .content = text};

    carat_render_options_default(&o);
    o.tools = tools;
    OK(carat_render(tiny, &message, sizeof message, 1, &o, &prompt, NULL, err));
    return prompt;
}

/* ---- what a generation gave ---- */

struct got {
    int32_t id[MOST];
    char text[MOST][64]; /* of each id */
    char all[4096];      /* of all of them, with the rest */
    size_t n_given;      /* of that, without the rest */
    float logprob[MOST];
    carat_logprob top[MOST][CARAT_MOST_LOGPROBS];
    int n_top, n;
    int stop_at; /* that many ids were enough; 0: none are */
    carat_generation_info info;
    carat_session *session;
    carat_generation *g;
};

UNUSED static int take_given(void *user, const carat_given *given)
{
    struct got *got = user;

    assert_true(got->n < MOST && given->n_text == strlen(given->text));
    assert_true(strlen(got->all) + given->n_text < sizeof got->all);
    got->id[got->n] = given->id;
    snprintf(got->text[got->n], sizeof got->text[0], "%s", given->text);
    strcat(got->all, given->text);
    got->n_given += given->n_text;
    got->logprob[got->n] = given->logprob;
    got->n_top = given->n_top;
    memcpy(got->top[got->n], given->top, (size_t)given->n_top * sizeof *given->top);
    return ++got->n == got->stop_at;
}

UNUSED static void begin(struct got *got, carat_session *s, const carat_tokens *prompt,
                         const carat_generation_options *options)
{
    carat_generation_options o = *options;
    int stop_at = got->stop_at;

    memset(got, 0, sizeof *got);
    got->stop_at = stop_at;
    got->session = s;
    o.on_token = take_given;
    o.user = got;
    if (!o.max_tokens)
        o.max_tokens = MOST;
    OK(carat_sync(s, prompt->ids, prompt->n, NULL, err));
    OK(carat_generation_create(&got->g, s, &o, err));
}

UNUSED static void take_rest(struct got *got)
{
    char rest[CARAT_REST_BYTES];

    carat_generation_info_default(&got->info);
    OK(carat_generation_get_info(got->g, &got->info, err));
    size_t n = carat_generation_rest(got->g, rest, sizeof rest);
    assert_int_equal(n, strlen(rest));
    strcat(got->all, rest);
    assert_int_equal(carat_generation_rest(got->g, rest, sizeof rest), 0);
}

UNUSED static void end(struct got *got)
{
    take_rest(got);
    carat_generation_close(got->g);
}

UNUSED static void generate(struct got *got, carat_session *s, const carat_tokens *prompt,
                            const carat_generation_options *o)
{
    begin(got, s, prompt, o);
    OK(carat_generate(got->g, err));
    end(got);
}

/* The ids of the other one, as far as it goes. */
UNUSED static void check_same_ids(const struct got *got, const struct got *plain, const carat_tokens *prompt)
{
    const int32_t *held;
    int n = carat_tokens_held(got->session, &held);

    assert_true(got->n <= plain->n);
    assert_memory_equal(got->id, plain->id, (size_t)got->n * sizeof *got->id);
    assert_int_equal(got->info.given, got->n);
    assert_int_equal(n, prompt->n + got->n - (got->info.last >= 0));
    assert_memory_equal(held, prompt->ids, (size_t)prompt->n * sizeof *held);
    assert_memory_equal(held + prompt->n, got->id, (size_t)(n - prompt->n) * sizeof *held);
}

/* How ids can be made: from the cache, anew, with drafts. */
enum way { PLAIN, NAIVE, LOOKUP, RIGHT, WRONG, N_WAY };
static const struct got *proposed;
static int proposed_from;

UNUSED static int propose(void *user, const int32_t *ids, int n, int32_t *draft, int k)
{
    struct got *got = user;
    int given = n - proposed_from, i = 0;

    (void)ids;
    (void)got;
    for (; i < k && given + i < proposed->n; i++)
        draft[i] = proposed->id[given + i];
    return i;
}

UNUSED static int propose_wrongly(void *user, const int32_t *ids, int n, int32_t *draft, int k)
{
    int i = propose(user, ids, n, draft, k);

    if (i > 2)
        draft[2] = (draft[2] + 1) % 100;
    return i;
}

UNUSED static void go_way(carat_generation_options *o, enum way way, const struct got *plain,
                          const carat_tokens *prompt)
{
    proposed = plain;
    proposed_from = prompt->n;
    o->naive = way == NAIVE;
    o->lookup = way == LOOKUP || way == RIGHT || way == WRONG ? CARAT_LOOKUP_ON : CARAT_LOOKUP_OFF;
    o->propose = way == RIGHT ? propose : way == WRONG ? propose_wrongly : NULL;
}

UNUSED static carat_generation_options greedy(void)
{
    static carat_sampling sampling;
    carat_generation_options o;

    carat_sampling_default(tiny, &sampling);
    sampling.temperature = 0;
    carat_generation_options_default(&o);
    o.sampling = &sampling;
    o.lookup = CARAT_LOOKUP_OFF;
    return o;
}

static const char question[] = "Turn on the kitchen lights";

#endif
