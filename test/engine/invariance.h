/* SPDX-License-Identifier: Apache-2.0 */
/* invariance.h: what the tests that compare carat with itself share: the arithmetics and KV types, a sequence
 * with the logits of a fresh engine, and a loop over every committed model. All functions are static and end
 * the running test when something they need is missing. */
#ifndef CT_TEST_INVARIANCE_H
#define CT_TEST_INVARIANCE_H

#include "tier.h"
#include "vector_util.h"

#define CONTEXT 1024

/* An arithmetic and a KV type. */
struct mode {
    int exact;
    carat_kv kv;
    const char *name;
};
static const struct mode modes[] = {
    {1, CARAT_KV_F32, "exact, f32"}, {0, CARAT_KV_BF16, "fast, bf16"}, /* the defaults */
    {0, CARAT_KV_F16, "fast, f16"},  {1, CARAT_KV_BF16, "exact, bf16"}, {1, CARAT_KV_F16, "exact, f16"},
    {0, CARAT_KV_F32, "fast, f32"},  {0, CARAT_KV_Q8, "fast, q8"},      {1, CARAT_KV_Q8, "exact, q8"},
};
#define FAST    1
#define FAST_Q8 6
#define N_MODE  (sizeof modes / sizeof *modes)

enum { N_MODELS = 28 };
static int model_turn; /* of the model that for_every_model has reached */

/* Whether a model takes a mode, in for_every_model. Each takes two, an exact and a fast one, so that each
 * mode has four or five models, and each family several modes. A sanitizer looks for other mistakes: there it
 * takes one, and so it does in the sample, the other one after the next commit. */
UNUSED static bool takes_mode(size_t m)
{
    if ((int)m / 2 != model_turn % 4)
        return false;
    return (!SANITIZED && tier_is_deep()) || m % 2 == ((unsigned)model_turn / 4 + tier_turn()) % 2;
}

/* A sequence and the logits after each of its tokens, from one pass over a fresh engine. */
struct baseline {
    struct ids ids;
    float *logits; /* [n][n_vocab] */
};

static char where[512]; /* model, mode and variant, for messages */

UNUSED static carat_engine_options options_of(const struct mode *m, int chunk, int threads)
{
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.exact = m->exact;
    o.kv = m->kv;
    o.chunk = chunk;
    o.threads = threads;
    o.context = CONTEXT;
    return o;
}

UNUSED static void expect_same(const float *a, const float *b, size_t n, const char *what, int at)
{
    if (!a)
        fail_msg("%s: %s: no logits at token %d", where, what, at);
    if (memcmp(a, b, n * sizeof *a) == 0)
        return;
    for (size_t i = 0; i < n; i++)
        if (memcmp(a + i, b + i, sizeof *a))
            fail_msg("%s: %s: token %d, logit %zu: %.9g, not %.9g", where, what, at, i, (double)a[i],
                     (double)b[i]);
}

UNUSED static float *step_all(struct rig *r, int session, const struct ids *ids)
{
    float *logits = malloc((size_t)ids->n * (size_t)r->n_vocab * sizeof *logits);
    carat_row row = {.session = r->session[session], .tokens = ids->id, .n = ids->n, .logits = logits};
    OK(carat_step(r->engine, &row, sizeof(carat_row), 1, err));
    return logits;
}

UNUSED static struct baseline baseline_of(carat_model *model, const struct mode *m, int n, uint32_t seed)
{
    carat_engine_options o = options_of(m, n < 16 ? 16 : n, 1);
    struct rig r = rig_open(model, &o);
    struct baseline b = {scattered_ids(n, model_info(model).n_text_vocab, seed), NULL};
    b.logits = step_all(&r, 0, &b.ids);
    rig_close(&r);
    return b;
}

UNUSED static void baseline_free(struct baseline *b)
{
    free(b->ids.id);
    free(b->logits);
}

UNUSED static const float *row_of(const struct baseline *b, int i, int n_vocab)
{
    return b->logits + (size_t)i * (size_t)n_vocab;
}

/* Whether a test has the model: the deep tier has all, a sample one for each architecture and two others. */
UNUSED static bool takes_model(const char *name, unsigned i, unsigned n)
{
    static const char *const one_of_each[] = {"gemma1-f32", "gemma2-bf16",  "gemma3-f16-untied", "gemma3n",
                                              "gemma4-e",   "gemma4-dense", "gemma4-moe"};

    for (size_t k = 0; k < sizeof one_of_each / sizeof *one_of_each; k++)
        if (strcmp(name, one_of_each[k]) == 0)
            return true;
    return tier_takes(i, n);
}

/* Calls one(model, info) for every committed model that the tier has. Tests of one program begin with
 * different modes: with each number as first_turn a model takes others. */
UNUSED static void for_every_model(void (*one)(carat_model *, const carat_model_info *), int first_turn)
{
    char path[PATH_SIZE], file[PATH_SIZE], **names;
    static const char *const folders[] = {"models", "gguf"};
    int count = 0;
    for (int f = 0; f < 2; f++) {
        int n = list_folder(path_join(path, own_vectors(), folders[f]), &names);
        for (int i = 0; i < n; i++) {
            carat_model *model = NULL;
            model_turn = first_turn + count;
            if (!takes_model(names[i], (unsigned)count++, N_MODELS))
                continue;
            OK(carat_model_open(&model, path_join(file, path, names[i]), NULL, err));
            carat_model_info info = model_info(model);
            snprintf(where, sizeof where, "%s", names[i]);
            one(model, &info);
            carat_model_close(model);
        }
        free_names(names, n);
    }
    assert_int_equal(count, N_MODELS);
}

UNUSED static void name_mode(const struct mode *m)
{
    char *bar = strstr(where, " | ");
    if (bar)
        *bar = 0;
    size_t n = strlen(where);
    snprintf(where + n, sizeof where - n, " | %s", m->name);
}

UNUSED static carat_model *open_own(const char *name)
{
    char path[PATH_SIZE];
    carat_model *model = NULL;
    OK(carat_model_open(&model, path_join(path, own_vectors(), name), NULL, err));
    snprintf(where, sizeof where, "%s", name);
    return model;
}

/* A model in memory whose window, of 300, lies in several blocks. */
struct windowed {
    carat_model *model;
    carat_buffer file[2];
};

UNUSED static struct windowed windowed_open(void)
{
    struct windowed w = {NULL, {{"config.json", NULL, 0}, {"model.safetensors", NULL, 0}}};
    char path[PATH_SIZE];
    for (int i = 0; i < 2; i++)
        w.file[i].data =
            read_whole(path_join(path, CT_TEST_DATA "/vectors/models/gemma3-f16-untied", w.file[i].name),
                       &w.file[i].size);
    char *says = strstr((char *)(uintptr_t)w.file[0].data, "\"sliding_window\": 8,");
    assert_non_null(says);
    memcpy(says, "\"sliding_window\":300,", 21); /* over the end of the line */
    OK(carat_model_open_memory(&w.model, w.file, sizeof(carat_buffer), 2, NULL, err));
    assert_int_equal(model_info(w.model).sliding_window, 300);
    snprintf(where, sizeof where, "gemma3 with a window of 300");
    return w;
}

UNUSED static void windowed_close(struct windowed *w)
{
    carat_model_close(w->model);
    for (int i = 0; i < 2; i++)
        free((void *)(uintptr_t)w->file[i].data);
}

#endif
