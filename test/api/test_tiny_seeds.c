/* SPDX-License-Identifier: Apache-2.0 */
/* test_tiny_seeds.c: models/tiny answers exactly those requests of test/data/tiny_seeds.jsonl that the file
 * says it answers: held-out ones of thirteen seeds, for a single seed may be a lucky sample. A request counts
 * as answered where each token of the expected answer is the most likely one after those before it, which is
 * what greedy generation gives; so an answer costs one pass. That prompts are those of the reference, and
 * generation itself, is test_tiny.c's. How the file is made: tools/train_tiny.py. */
#include "api/heldout.h"

#define SEEDS CT_TEST_DATA "/tiny_seeds.jsonl"
#define TINY  CT_TEST_DATA "/../../models/tiny"

/* Sanitizers look for memory errors, not for quality; in exact arithmetic every eleventh line is enough, the
 * tie among them. */
#define STRIDE_FAST  (SANITIZED ? 66 : 1)
#define STRIDE_EXACT (SANITIZED ? 66 : 11)

/* Where the reference is wrong by 0.027 of a logit, and the roundings of fast arithmetic make it right. */
#define TIE 2312

static void render_request(const carat_model *model, const json_t *line, const json_t *declarations,
                           carat_tokens *ids)
{
    carat_render_options options;
    carat_render_options_default(&options);
    const json_t *numbers = json_object_get(line, "tools");
    json_t *tools = json_array();
    for (size_t i = 0; i < json_array_size(numbers); i++) {
        json_t *tool = json_array_get(declarations, (size_t)json_integer_value(json_array_get(numbers, i)));
        assert_int_equal(json_array_append(tools, tool), 0); /* fails for NULL */
    }
    char *messages = json_dumps(json_object_get(line, "messages"), 0), *text = json_dumps(tools, 0);
    if (json_array_size(tools))
        options.tools = text;
    OK(carat_render_json(model, messages, &options, ids, NULL, err));
    json_decref(tools);
    free(messages);
    free(text);
}

static int32_t likeliest(const float *logits, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        best = logits[i] > logits[best] ? i : best;
    return best;
}

/* Whether greedy generation after ids[n_prompt] gives the rest of ids. */
static bool gives(struct rig *r, const carat_tokens *ids, int n_prompt, float *logits)
{
    const int32_t *last = ids->ids + n_prompt - 1; /* of the prompt */
    carat_row row = {.session = r->session[0], .tokens = last, .n = ids->n - n_prompt, .logits = logits};
    OK(carat_sync(r->session[0], ids->ids, n_prompt - 1, NULL,
                  err)); /* keeps what the prompt before began with */
    OK(carat_step(r->engine, &row, sizeof row, 1, err));
    for (int i = 0; i < row.n; i++)
        if (likeliest(logits + (size_t)i * (size_t)r->n_vocab, r->n_vocab) != last[i + 1])
            return false;
    return true;
}

static void exactly_these_are_right(bool exact, int stride)
{
    carat_model *model = NULL;
    OK(carat_model_open(&model, TINY, NULL, err));
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.context = 1024;
    o.threads = 1;
    o.exact = exact;
    struct rig r = rig_open(model, &o);
    float *logits = malloc((size_t)o.context * (size_t)r.n_vocab * sizeof *logits);
    FILE *f = fopen(SEEDS, "rb");
    assert_non_null(f);
    json_t *head = heldout_line(f, SEEDS), *line;
    const json_t *declarations = json_object_get(head, "declarations");
    int read = 0, looked_at = 0, right = 0, others = 0;
    for (; (line = heldout_line(f, SEEDS)) != NULL; json_decref(line)) {
        if (read++ % stride)
            continue;
        carat_tokens ids = {0};
        const char *expected = json_string_value(json_object_get(line, "expected"));
        bool recorded = json_is_true(json_object_get(line, "right")) || (!exact && read + 1 == TIE);
        render_request(model, line, declarations, &ids);
        int n_prompt = ids.n;
        OK(carat_tokenize(model, expected, strlen(expected), CARAT_SPECIAL, &ids, err));
        assert_true(n_prompt > 0 && ids.n > n_prompt && carat_is_stop(model, ids.ids[ids.n - 1]));
        bool is = gives(&r, &ids, n_prompt, logits);
        looked_at++;
        right += is;
        others += is != recorded;
        if (is != recorded)
            print_message("line %d should be %s: %s\n", read + 1, recorded ? "right" : "wrong", expected);
        carat_tokens_free(&ids);
    }
    print_message("%s: %d lines, %d looked at, %d right\n", exact ? "exact" : "fast", read, looked_at, right);
    assert_int_equal(others, 0);
    assert_true(read > 2000 && 100 * right >= 90 * looked_at);
    fclose(f);
    json_decref(head);
    free(logits);
    rig_close(&r);
    carat_model_close(model);
}

static void in_fast_arithmetic(void **state)
{
    (void)state;
    exactly_these_are_right(false, STRIDE_FAST);
}

static void in_exact_arithmetic(void **state)
{
    (void)state;
    exactly_these_are_right(true, STRIDE_EXACT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_fast_arithmetic),
        cmocka_unit_test(in_exact_arithmetic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
