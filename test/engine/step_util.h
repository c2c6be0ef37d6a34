/* SPDX-License-Identifier: Apache-2.0 */
/* step_util.h: what the tests of steps share: a model in memory with one token whose embedding is NaN, tokens
 * whose logits are known, and rows over them. All functions are static and end the running test when
 * something they need is missing. */
#ifndef CT_TEST_STEP_UTIL_H
#define CT_TEST_STEP_UTIL_H

#include "tier.h"
#include "vector_util.h"

#include "checkpoint/checkpoint.h"

#define UNTIED CT_TEST_DATA "/vectors/models/gemma3-f16-untied"

enum { VOCAB = 97, SICK = 96, MOST = 600, BLOCK = 256 };

static carat_model *model; /* the embedding of SICK is NaN; the head is a matrix of its own */
static carat_buffer files[2];
static int32_t ids[MOST];
static float *right; /* [MOST][VOCAB] the logits of ids, by a fresh engine */

UNUSED static carat_engine_options options(int sessions, int chunk, int context)
{
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.threads = 1;
    o.sessions = sessions;
    o.chunk = chunk;
    o.context = context;
    return o;
}

UNUSED static int open_model(void **state)
{
    (void)state;
    files[0].name = "config.json";
    files[1].name = "model.safetensors";
    for (int i = 0; i < 2; i++) {
        char path[PATH_SIZE];
        files[i].data = read_whole(path_join(path, UNTIED, files[i].name), &files[i].size);
    }
    OK(carat_model_open_memory(&model, files, sizeof(carat_buffer), 2, NULL, err));
    const struct ct_weight *w = &model->weights.embed;
    assert_true(w->type == CT_F16 && w->rows == VOCAB && w->data != model->weights.head.data);
    uint16_t *row = (uint16_t *)((uintptr_t)w->data + SICK * w->row_bytes);
    row[w->cols / 2] = 0x7e00; /* NaN */
    struct ids scattered = scattered_ids(MOST, SICK, 11);
    memcpy(ids, scattered.id, sizeof ids);
    free(scattered.id);
    right = malloc(MOST * VOCAB * sizeof *right);
    carat_engine_options o = options(1, MOST, MOST);
    struct rig r = rig_open(model, &o);
    carat_row all = {.session = r.session[0], .tokens = ids, .n = MOST, .logits = right};
    OK(carat_step(r.engine, &all, sizeof(carat_row), 1, err));
    rig_close(&r);
    return 0;
}

UNUSED static int close_model(void **state)
{
    (void)state;
    carat_model_close(model);
    for (int i = 0; i < 2; i++)
        free((void *)(uintptr_t)files[i].data);
    free(right);
    return 0;
}

UNUSED static bool are_of(const float *logits, int token)
{
    return logits && memcmp(logits, right + (size_t)token * VOCAB, VOCAB * sizeof *logits) == 0;
}

/* It holds the first n of ids, and the logits after them. */
UNUSED static void check_held(const carat_session *s, int n)
{
    const int32_t *held;

    assert_int_equal(carat_tokens_held(s, &held), n);
    assert_memory_equal(held, ids, (size_t)n * sizeof *held);
    assert_true(are_of(carat_logits(s), n - 1));
}

/* It works as if nothing had been: from where it stands to n tokens. */
UNUSED static void check_goes_on(carat_session *s, int n)
{
    OK(carat_sync(s, ids, n, NULL, err));
    check_held(s, n);
}

UNUSED static carat_row row_of(carat_session *s, int n)
{
    return (carat_row){.session = s, .tokens = ids + carat_tokens_held(s, NULL), .n = n};
}

UNUSED static carat_status step(struct rig *r, carat_row *rows, int n, carat_error *err)
{
    return carat_step(r->engine, rows, sizeof(carat_row), n, err);
}

UNUSED static void check_use(const struct rig *r, int blocks, int free)
{
    carat_use use = {.size = sizeof use};

    OK(carat_engine_use(r->engine, &use, err));
    assert_int_equal(use.blocks, blocks);
    assert_int_equal(use.free, free);
}

/* Tokens of which the one in the middle is sick. */
UNUSED static const int32_t sick[] = {9, 8, 7, SICK, 6, 5, 4};
enum { N_SICK = sizeof sick / sizeof *sick };

struct heard {
    int count, token[MOST];
    bool wrong;  /* a value differs, or a token came twice */
    int stop_at; /* token that is answered with 1; -1: none */
    int first;   /* held tokens before the row's */
};

UNUSED static int hear(void *user, int token, const float *logits)
{
    struct heard *h = user;
    h->wrong |= !are_of(logits, h->first + token) || (h->count && token <= h->token[h->count - 1]);
    h->token[h->count++] = token;
    return token == h->stop_at;
}

#endif
