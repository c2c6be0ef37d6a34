/* SPDX-License-Identifier: Apache-2.0 */
/* test_drafter.c: the steps of Gemma 4's drafters, against the vectors of transformers: the ids that are
 * drafted, the logits of each step and the state that it hands to the next, with prompts around the window of
 * local layers. In GGUF there are no centroids: there the states of the first step are the same. */
#include "vector_util.h"

#include <math.h>

#include "generate/draft.h"
#include "engine/row_logits.h"
#include "engine/session.h"

enum { STEPS = 4 };

/* Not so far apart as 1e-4 of the largest. */
static void assert_near(const char *what, const float *found, const float *expected, size_t n)
{
    float most = 0, apart = 0;

    for (size_t i = 0; i < n; i++) {
        most = fmaxf(most, fabsf(expected[i]));
        apart = fmaxf(apart, fabsf(found[i] - expected[i]));
    }
    if (!(apart <= 1e-4f * most))
        fail_msg("%s: %g apart, the largest is %g", what, (double)apart, (double)most);
}

/* The scores of all ids, as the reference has them: what is not near is one below the lowest. */
static void spread(float *to, const struct ct_draft_scores *s, int n_vocab)
{
    float least = s->value[0];

    for (int i = 1; i < s->n; i++)
        least = fminf(least, s->value[i]);
    for (int i = 0; i < n_vocab; i++)
        to[i] = least - 1;
    for (int i = 0; i < s->n; i++)
        to[s->id ? s->id[i] : i] = s->value[i];
}

struct case_of {
    struct rig rig;
    const char *dir, *name;
    bool groups; /* the drafter has those of the reference */
};

static void check_prompt(const struct case_of *c)
{
    char file[PATH_SIZE], what[128];
    carat_session *s = c->rig.session[0];
    carat_engine *e = c->rig.engine;
    struct ct_drafter *d = &e->drafts.reader;
    snprintf(file, sizeof file, "%s.json", c->name);
    json_t *j = read_json(c->dir, file);
    struct ids ids = json_ids(json_object_get(j, "ids")), drafted = json_ids(json_object_get(j, "drafted"));
    int32_t token = (int32_t)json_integer_value(json_object_get(j, "pending")), proposed[STEPS];
    snprintf(file, sizeof file, "%s.npy", c->name);
    struct array logits = read_npy(c->dir, file);
    snprintf(file, sizeof file, "%s.states.npy", c->name);
    struct array states = read_npy(c->dir, file);
    snprintf(file, sizeof file, "%s.first.npy", c->name);
    struct array first = read_npy(c->dir, file);
    float *found = malloc((logits.cols + states.cols) * sizeof *found);

    OK(carat_sync(s, ids.id, ids.n, NULL, err));
    assert_int_equal(json_integer_value(json_object_get(j, "position")), ids.n);
    const float *state = ct_row_logits_hidden(e, s->logits);
    assert_near(c->name, state, first.v, first.cols);
    int32_t *all = malloc((size_t)(ids.n + 1) * sizeof *all);
    memcpy(all, ids.id, (size_t)ids.n * sizeof *all);
    all[ids.n] = token;
    if (c->groups) {
        assert_int_equal(ct_draft_propose(s, all, ids.n + 1, proposed, STEPS), STEPS);
        assert_memory_equal(proposed, drafted.id, sizeof proposed);
    }
    ct_drafter_begin(d, state);
    for (int i = 0; i < (c->groups ? STEPS : 1); i++) {
        snprintf(what, sizeof what, "%s, step %d", c->name, i);
        token = ct_drafter_step(d, (struct ct_draft_place){s->slot, s->n}, token);
        e->backend->verb.copy_out(e->backend, found, d->state, 0);
        assert_near(what, found, states.v + (size_t)i * states.cols, states.cols);
        spread(found, &d->scores, c->rig.n_vocab);
        if (!c->groups)
            continue;
        assert_near(what, found, logits.v + (size_t)i * logits.cols, logits.cols);
        assert_int_equal(token, drafted.id[i]);
    }
    free(found);
    free(all);
    free(first.v);
    free(states.v);
    free(logits.v);
    free(drafted.id);
    free(ids.id);
    json_decref(j);
}

/* All prompts of a folder of expectations with a model and its drafter, in a container. */
static int check_drafter(const char *family, const char *expect, const char *model, const char *drafter,
                         bool groups)
{
    char dir[PATH_SIZE], path[PATH_SIZE], with[PATH_SIZE], name[128];
    carat_model *m = NULL;
    carat_model_options o;
    carat_model_options_default(&o);
    carat_engine_options engine = small_engine();
    size_t at, n = 0;
    json_t *p;

    snprintf(name, sizeof name, "expect/%s", expect);
    path_join(dir, family, name);
    o.drafter = path_join(with, family, drafter);
    OK(carat_model_open(&m, path_join(path, family, model), &o, err));
    engine.exact = 1;
    engine.context = 128;
    struct case_of c = {rig_open(m, &engine), dir, NULL, groups};
    json_t *info = read_json(dir, "info.json");
    json_array_foreach(json_object_get(info, "prompts"), at, p)
    {
        c.name = json_string_value(p);
        check_prompt(&c);
        n++;
    }
    json_decref(info);
    rig_close(&c.rig);
    carat_model_close(m);
    return (int)n;
}

static void steps_are_those_of_the_reference(void **state)
{
    char vectors[PATH_SIZE], family[PATH_SIZE];

    (void)state;
    if (!shared_vectors(vectors))
        skip();
    path_join(family, vectors, "../family");
    assert_int_equal(check_drafter(family, "g4-e-assistant", "models/g4-e", "models/g4-e-assistant", true),
                     6);
    assert_int_equal(
        check_drafter(family, "g4-dense-assistant", "models/g4-dense", "models/g4-dense-assistant", true), 6);
    check_drafter(family, "g4-dense-assistant", "gguf/g4-dense-f32.gguf", "gguf/g4-dense-assistant-f32.gguf",
                  true);
    check_drafter(family, "g4-e-assistant", "gguf/g4-e-f32.gguf", "gguf/g4-e-assistant-f32.gguf", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(steps_are_those_of_the_reference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
