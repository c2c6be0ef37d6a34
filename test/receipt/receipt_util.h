/* SPDX-License-Identifier: Apache-2.0 */
/* receipt_util.h: what the tests of receipts share: answers of models/tiny with all kinds of settings, and
 * their receipts. All functions are static and end the running test when something they need is missing. */
#ifndef CT_TEST_RECEIPT_UTIL_H
#define CT_TEST_RECEIPT_UTIL_H

#include "engine/vector_util.h"

#include <math.h>

#include <carat_receipt.h>
#include <carat_tools.h>

#define TINY CT_TEST_DATA "/../../models/tiny"

enum { CONTEXT = 400 };

static carat_model *tiny;

UNUSED static int open_tiny(void **state)
{
    (void)state;
    OK(carat_model_open(&tiny, TINY, NULL, err));
    return 0;
}

UNUSED static int close_tiny(void **state)
{
    (void)state;
    carat_model_close(tiny);
    return 0;
}

/* How an answer is drawn. */
struct settings {
    const char *name, *prompt;
    carat_sampling sampling;
    carat_chain chain;
    carat_generation_options options;
};

static const char *const stop_words[] = {"lamp", "\xe2\x82\xac \"\\\n"};
static const int32_t stop_numbers[] = {1, 106};
static const int32_t banned_ids[] = {107, 650};
static const int32_t breakers[] = {107, 954};
static const carat_bias biases[] = {{528, -INFINITY}, {606, 2.5f}, {530, -0.1f}, {99, 1e-7f}};

enum { SETTINGS = 15 };
/* Number i of them. They point into each other, so that s must stay where it is. */
UNUSED static void choose_settings(struct settings *s, int i)
{
    static const char *const names[SETTINGS] = {
        "greedy", "seeded", "penalties", "dry",     "xtc",   "typical", "stop string", "no stop id",
        "biases", "bans",   "guard",     "top-k 0", "order", "min-p",   "one token"};

    *s = (struct settings){.name = names[i], .prompt = "Tell me of a lamp"};
    carat_sampling_default(tiny, &s->sampling);
    carat_chain_default(&s->chain);
    carat_generation_options_default(&s->options);
    s->sampling.temperature = i ? 1 : 0;
    s->sampling.seed = 0x8000000000000001u + (uint64_t)i;
    s->sampling.chain = &s->chain;
    s->options.sampling = &s->sampling;
    s->options.max_tokens = 80;
    s->options.stop_ids = stop_numbers;
    s->options.n_stop_ids = 0;
    switch (i) {
    case 0:
        s->options.stop_ids = NULL;
        break;
    case 2:
        s->chain.repeat_penalty = 1.3f;
        s->chain.frequency_penalty = 0.25f;
        s->chain.presence_penalty = -0.125f;
        s->chain.repeat_last_n = 20;
        break;
    case 3:
        s->chain.dry_multiplier = 0.8f;
        s->chain.dry_breakers = breakers;
        s->chain.n_dry_breakers = 2;
        break;
    case 4:
        s->chain.xtc_probability = 0.5f;
        s->chain.xtc_threshold = 0.05f;
        break;
    case 5:
        s->chain.typical_p = 0.9f;
        break;
    case 6:
        s->options.stops = stop_words;
        s->options.n_stops = 2;
        s->sampling.temperature = 0.7f;
        s->options.n_stop_ids = 2;
        break;
    case 8:
        s->chain.biases = biases;
        s->chain.n_biases = 4;
        break;
    case 9:
        s->sampling.banned = banned_ids;
        s->sampling.n_banned = 2;
        s->sampling.number = 3000000000u;
        break;
    case 10:
        s->sampling.temperature = 0;
        s->options.loop_guard = 32;
        break;
    case 11:
        s->sampling.top_k = 0;
        s->sampling.top_p = 0.99f;
        break;
    case 12: {
        static const carat_link order[] = {CARAT_LINK_TEMPERATURE, CARAT_LINK_TOP_P, CARAT_LINK_TOP_K};
        s->chain.links = order;
        s->chain.n_links = 3;
        break;
    }
    case 13:
        s->sampling.min_p = 0.05f;
        break;
    case 14:
        s->options.max_tokens = 1;
        break;
    default:
        break;
    }
}

/* An engine over models/tiny. */
UNUSED static carat_engine_options tiny_options(int threads, const char *isa, int chunk)
{
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.threads = threads;
    o.isa = isa;
    o.chunk = chunk;
    o.context = CONTEXT;
    o.sessions = 3;
    return o;
}

UNUSED static carat_tokens prompt_of(const char *text)
{
    carat_message message = {.role = "user", .content = text};
    carat_tokens ids = {0};

    OK(carat_render(tiny, &message, sizeof message, 1, NULL, &ids, NULL, err));
    return ids;
}

/* The receipt of an answer, and its text. */
UNUSED static char *receipt_of(carat_engine *engine, const struct settings *s,
                               const carat_receipt_options *options, carat_receipt **kept)
{
    carat_tokens prompt = prompt_of(s->prompt);
    carat_session *session = NULL;
    carat_generation *g = NULL;
    carat_receipt *receipt = NULL;
    char *text = NULL;

    OK(carat_session_create(&session, engine, NULL, err));
    OK(carat_sync(session, prompt.ids, prompt.n, NULL, err));
    OK(carat_generation_create(&g, session, &s->options, err));
    OK(carat_receipt_begin(&receipt, g, options, err));
    OK(carat_generate(g, err));
    OK(carat_receipt_finish(receipt, err));
    OK(carat_receipt_write(receipt, &text, NULL, err));
    carat_generation_close(g);
    carat_session_close(session);
    carat_tokens_free(&prompt);
    if (kept)
        *kept = receipt;
    else
        carat_receipt_close(receipt);
    return text;
}

UNUSED static carat_receipt *read_receipt(const char *text)
{
    carat_receipt *r = NULL;

    OK(carat_receipt_read(&r, "r.json", text, strlen(text), err));
    return r;
}

/* An engine for a receipt. */
UNUSED static carat_engine *engine_for(const carat_receipt *r, carat_engine_options o)
{
    carat_head_options head;
    carat_head_options_default(&head);
    carat_engine *engine = NULL;

    OK(carat_receipt_engine(r, &o, &head, err));
    OK(carat_engine_create(&engine, tiny, &o, err));
    return engine;
}

UNUSED static carat_replay replayed(const carat_receipt *r, const carat_engine_options *o,
                                    const carat_replay_options *how)
{
    carat_engine *engine = engine_for(r, *o);
    carat_replay t;
    carat_replay_default(&t);

    OK(carat_receipt_replay(r, engine, how, &t, err));
    carat_engine_close(engine);
    return t;
}

#endif
