/* SPDX-License-Identifier: Apache-2.0 */
/* test_tiny.c: models/tiny answers conversations it was not trained on. Replays test/data/tiny_heldout.jsonl:
 * the prompt must be rendered and tokenized exactly as recorded, and greedy generation must give the expected
 * text on exactly the lines where the reference implementation does (the file keeps those that it gets
 * wrong), in fast arithmetic with KV of the default type and of q8; in exact arithmetic it must give the very
 * ids of the reference nearly always (a tie in its float32 may fall the other way). How the file is made:
 * tools/train_tiny.py. */
#include "api/heldout.h"

#define HELDOUT    CT_TEST_DATA "/tiny_heldout.jsonl"
#define TINY       CT_TEST_DATA "/../../models/tiny"
#define MOST_STEPS 256

struct score {
    int lines, right, as_recorded, same_ids;
    int read, recorded_right; /* of the whole file, which sanitizers do not replay */
};

static int without_stop(const carat_model *model, const int32_t *ids, int n)
{
    return n > 0 && carat_is_stop(model, ids[n - 1]) ? n - 1 : n;
}

static void check_prompt(const carat_model *model, const json_t *line, const struct ids *expected, int number)
{
    carat_render_options options;
    carat_render_options_default(&options);
    carat_tokens ids = {0};
    char *messages = json_dumps(json_object_get(line, "messages"), 0), *text = NULL, *tools = NULL;
    const json_t *t = json_object_get(line, "tools");
    if (t && !json_is_null(t))
        tools = json_dumps(t, 0);
    options.tools = tools;
    options.chat_template = json_string_value(json_object_get(line, "layout")); /* absent: the model's own */
    OK(carat_render_json(model, messages, &options, &ids, &text, err));
    const char *prompt = json_string_value(json_object_get(line, "prompt"));
    assert_non_null(prompt);
    if (strcmp(text, prompt))
        fail_msg("line %d: rendered\n%s\nexpected\n%s", number, text, prompt);
    if (ids.n != expected->n || memcmp(ids.ids, expected->id, (size_t)ids.n * sizeof *ids.ids))
        fail_msg("line %d: %d ids, %d expected, or other ids: %s", number, ids.n, expected->n, prompt);
    carat_tokens_free(&ids);
    carat_free(text);
    free(messages);
    free(tools);
}

/* The text of ids as a user sees it: control tokens other than call syntax left out, as carat_stream_text
 * does. */
static void text_of(struct rig *r, const int32_t *ids, int n, char *out, size_t size)
{
    size_t at = 0;
    char piece[256];
    out[0] = 0;
    for (int i = 0; i <= n; i++) {
        size_t k = carat_stream_text(r->session[0], i < n ? ids[i] : -1, piece, sizeof piece);
        assert_true(at + k < size);
        memcpy(out + at, piece, k + 1);
        at += k;
    }
}

/* Sanitizers make a token 20 times slower and look for memory errors, not for quality: every eighth line is
 * enough for them, and too few to measure a share of right answers. */
#if defined(__SANITIZE_ADDRESS__)
#define STRIDE 8
#else
#define STRIDE 1
#endif

static struct score replay(int exact, carat_kv kv, const char *name)
{
    struct score score = {0};
    carat_model *model = NULL;
    OK(carat_model_open(&model, TINY, NULL, err));
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.exact = exact;
    o.kv = kv;
    struct rig r = rig_open(model, &o);
    FILE *f = fopen(HELDOUT, "rb");
    if (!f)
        fail_msg("%s: cannot open", HELDOUT);
    json_t *line;
    while ((line = heldout_line(f, HELDOUT)) != NULL) {
        score.recorded_right += json_is_true(json_object_get(line, "right"));
        if (score.read++ % STRIDE) {
            json_decref(line);
            continue;
        }
        int32_t ids[MOST_STEPS];
        char text[MOST_STEPS * 256];
        struct ids prompt = json_ids(json_object_get(line, "prompt_ids"));
        struct ids hf = json_ids(json_object_get(line, "hf_ids"));
        const char *expected = json_string_value(json_object_get(line, "expected"));
        assert_true(prompt.n > 0 && hf.n > 0 && hf.n < MOST_STEPS && expected);
        score.lines++;
        check_prompt(model, line, &prompt, score.lines);
        int n = greedy_ids(&r, &prompt, ids, MOST_STEPS);
        int answer = without_stop(model, ids, n), hf_answer = without_stop(model, hf.id, hf.n);
        text_of(&r, ids, answer, text, sizeof text);
        int right = strcmp(text, expected) == 0, recorded = json_is_true(json_object_get(line, "right"));
        score.right += right;
        score.as_recorded += right == recorded;
        if (right != recorded)
            print_message("line %d, %s: \"%s\", expected \"%s\"\n", score.read, recorded ? "right" : "wrong",
                          text, expected);
        if (answer == hf_answer && memcmp(ids, hf.id, (size_t)answer * sizeof *ids) == 0)
            score.same_ids++;
        free(prompt.id);
        free(hf.id);
        json_decref(line);
    }
    fclose(f);
    rig_close(&r);
    carat_model_close(model);
    print_message("%s: %d lines, %d right, %d as recorded, %d with the ids of the reference\n", name,
                  score.lines, score.right, score.as_recorded, score.same_ids);
    assert_true(score.lines >= 20);
    return score;
}

static void check_answers(struct score s)
{
    assert_int_equal(s.as_recorded, s.lines);
    assert_true(100 * s.recorded_right >= 95 * s.read);
}

static void fast_answers_are_right(void **state)
{
    (void)state;
    check_answers(replay(0, CARAT_KV_DEFAULT, "fast"));
}

static void so_they_are_with_int8_keys_and_values(void **state)
{
    (void)state;
    check_answers(replay(0, CARAT_KV_Q8, "fast, q8"));
}

static void exact_ids_are_those_of_the_reference(void **state)
{
    (void)state;
    struct score s = replay(1, CARAT_KV_DEFAULT, "exact");
    assert_true(100 * s.same_ids >= 99 * s.lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fast_answers_are_right),
        cmocka_unit_test(so_they_are_with_int8_keys_and_values),
        cmocka_unit_test(exact_ids_are_those_of_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
