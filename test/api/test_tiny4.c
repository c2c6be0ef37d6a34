/* SPDX-License-Identifier: Apache-2.0 */
/* test_tiny4.c: a trained Gemma 4 of E-shape, test/fixtures/tiny4, writes what the reference implementation
 * writes, id by id: plain answers, thoughts, calls of functions, and what comes behind their results. Replays
 * test/data/tiny4_heldout.jsonl, requests that the model was not trained on; the file keeps those that the
 * reference gets wrong. How both are made: tools/train_tiny4.py. */
#include "api/heldout.h"

#define HELDOUT    CT_TEST_DATA "/tiny4_heldout.jsonl"
#define TINY4      CT_TEST_DATA "/../fixtures/tiny4"
#define MOST_STEPS 80

/* Sanitizers look for memory errors: a few lines of each kind are enough for them. */
#define STRIDE (SANITIZED ? 8 : 1)

static const char *const kinds[] = {"plain", "thinking", "call", "result"};
enum { KINDS = sizeof kinds / sizeof *kinds };

static int kind_of(const json_t *line)
{
    const char *kind = json_string_value(json_object_get(line, "kind"));
    for (int i = 0; kind && i < KINDS; i++)
        if (strcmp(kind, kinds[i]) == 0)
            return i;
    fail_msg("%s: a line of kind %s", HELDOUT, kind ? kind : "(none)");
    return 0;
}

/* Calls look with each stride-th line of the file. */
static void for_lines(int stride, void (*look)(void *user, const json_t *line, int number), void *user)
{
    FILE *f = fopen(HELDOUT, "rb");
    assert_non_null(f);
    json_t *line;
    for (int number = 1; (line = heldout_line(f, HELDOUT)) != NULL; number++) {
        if ((number - 1) % stride == 0)
            look(user, line, number);
        json_decref(line);
    }
    fclose(f);
}

static carat_model *open_tiny4(void)
{
    carat_model *model = NULL;
    OK(carat_model_open(&model, TINY4, NULL, err));
    return model;
}

/* ---- the file is what it says ---- */

static void count_line(void *user, const json_t *line, int number)
{
    int(*count)[2] = user, kind = kind_of(line);
    (void)number;
    count[kind][0]++;
    count[kind][1] += json_is_true(json_object_get(line, "right"));
}

static void the_reference_is_right(void **state)
{
    (void)state;
    int count[KINDS][2] = {{0}}, lines = 0, right = 0;
    for_lines(1, count_line, count);
    for (int i = 0; i < KINDS; i++) {
        print_message("%s: %d right of %d\n", kinds[i], count[i][1], count[i][0]);
        assert_true(count[i][0] >= 25);
        lines += count[i][0];
        right += count[i][1];
    }
    assert_true(100 * right >= 95 * lines);
}

/* ---- prompts ---- */

static void check_ids(const carat_tokens *ids, const json_t *line, int number)
{
    struct ids expected = json_ids(json_object_get(line, "prompt_ids"));
    assert_true(expected.n > 0);
    if (ids->n != expected.n || memcmp(ids->ids, expected.id, (size_t)ids->n * sizeof *ids->ids))
        fail_msg("line %d: %d ids, %d expected, or other ids", number, ids->n, expected.n);
    free(expected.id);
}

static void tokenize_prompt(void *user, const json_t *line, int number)
{
    const char *prompt = json_string_value(json_object_get(line, "prompt"));
    carat_tokens ids = {0};
    assert_non_null(prompt);
    OK(carat_tokenize(user, prompt, strlen(prompt), CARAT_SPECIAL, &ids, err));
    check_ids(&ids, line, number);
    carat_tokens_free(&ids);
}

static void render_prompt(void *user, const json_t *line, int number)
{
    const char *prompt = json_string_value(json_object_get(line, "prompt"));
    const json_t *t = json_object_get(line, "tools"), *thinking = json_object_get(line, "thinking");
    char *messages = json_dumps(json_object_get(line, "messages"), 0), *tools = t ? json_dumps(t, 0) : NULL;
    carat_render_options options;
    carat_tokens ids = {0};
    char *text = NULL;
    carat_render_options_default(&options);
    options.tools = tools;
    assert_true(json_is_boolean(thinking));
    options.thinking = json_is_true(thinking);
    OK(carat_render_json(user, messages, &options, &ids, &text, err));
    if (!prompt || strcmp(text, prompt))
        fail_msg("line %d: rendered\n%s\nexpected\n%s", number, text, prompt ? prompt : "(none)");
    check_ids(&ids, line, number);
    carat_tokens_free(&ids);
    carat_free(text);
    free(messages);
    free(tools);
}

static void prompts_are_those_of_the_reference(void **state)
{
    (void)state;
    carat_model *model = open_tiny4();
    for_lines(1, tokenize_prompt, model);
    for_lines(1, render_prompt, model);
    carat_model_close(model);
}

/* ---- answers ---- */

struct replay {
    struct rig rig;
    int others;
};

static void check_answer(void *user, const json_t *line, int number)
{
    struct replay *r = user;
    struct ids prompt = json_ids(json_object_get(line, "prompt_ids"));
    struct ids expected = json_ids(json_object_get(line, "hf_ids"));
    int32_t ids[MOST_STEPS];
    assert_true(expected.n > 0 && expected.n <= MOST_STEPS);
    int n = greedy_ids(&r->rig, &prompt, ids, MOST_STEPS);
    if (n != expected.n || memcmp(ids, expected.id, (size_t)n * sizeof *ids)) {
        r->others++;
        print_message("line %d, %s: other ids than the reference's\n", number, kinds[kind_of(line)]);
    }
    free(prompt.id);
    free(expected.id);
}

static void answers_are_those_of_the_reference(int exact, carat_kv kv, int stride)
{
    carat_model *model = open_tiny4();
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.exact = exact;
    o.kv = kv;
    o.context = 512;
    struct replay r = {.rig = rig_open(model, &o)};
    for_lines(stride, check_answer, &r);
    assert_int_equal(r.others, 0);
    rig_close(&r.rig);
    carat_model_close(model);
}

static void exact_answers(void **state)
{
    (void)state;
    answers_are_those_of_the_reference(1, CARAT_KV_DEFAULT, STRIDE);
}

static void fast_answers(void **state)
{
    (void)state;
    answers_are_those_of_the_reference(0, CARAT_KV_DEFAULT, STRIDE);
}

static void fast_answers_with_int8_keys_and_values(void **state)
{
    (void)state;
    answers_are_those_of_the_reference(0, CARAT_KV_Q8, 3 * STRIDE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_is_right),
        cmocka_unit_test(prompts_are_those_of_the_reference),
        cmocka_unit_test(exact_answers),
        cmocka_unit_test(fast_answers),
        cmocka_unit_test(fast_answers_with_int8_keys_and_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
