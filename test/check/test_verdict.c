/* SPDX-License-Identifier: Apache-2.0 */
/* test_verdict.c: what comparing says of damaged copies of models/tiny, and of copies in other stored types,
 * over the answers of the held-out conversations: verdicts, and the numbers behind them. Where damage lies is
 * test_bisect.c's. */
#include "check/bisect_util.h"

#include <math.h>

enum { LINES = SANITIZED ? 12 : 100, MOST_POSITIONS = 4096 };

/* Conversations with the reference's answers. */
static struct line {
    struct ids prompt, answer;
} lines[LINES];

static struct ids take_ids(const json_t *list)
{
    struct ids r = {malloc((json_array_size(list) + 1) * sizeof(int32_t)), (int)json_array_size(list)};
    for (int i = 0; i < r.n; i++)
        r.id[i] = (int32_t)json_integer_value(json_array_get(list, (size_t)i));
    return r;
}

static int open_lines(void **state)
{
    char text[1 << 16];
    FILE *f = fopen(CT_TEST_DATA "/tiny_heldout.jsonl", "r");
    (void)state;
    OK(carat_model_open(&tiny, CT_TEST_DATA "/../../models/tiny", NULL, err));
    for (int i = 0; i < LINES; i++) {
        assert_non_null(fgets(text, sizeof text, f));
        json_t *line = json_loads(text, 0, NULL);
        lines[i].prompt = take_ids(json_object_get(line, "prompt_ids"));
        lines[i].answer = take_ids(json_object_get(line, "hf_ids"));
        json_decref(line);
    }
    fclose(f);
    return 0;
}

static int close_lines(void **state)
{
    (void)state;
    for (int i = 0; i < LINES; i++) {
        free(lines[i].prompt.id);
        free(lines[i].answer.id);
    }
    carat_model_close(tiny);
    return 0;
}

struct means {
    carat_quality q;
    int n, next;
};

static int add(void *user, void *prompt, const carat_position *p)
{
    struct means *m = user;
    (void)prompt;
    m->q.kl += p->difference.kl;
    m->q.correlation += p->difference.correlation;
    m->q.match += 100 * p->difference.match;
    m->q.entropy_ref += p->difference.entropy_ref;
    m->q.entropy_test += p->difference.entropy_test;
    m->n++;
    return 0;
}

static int next_line(void *user, carat_compare_prompt *p)
{
    struct means *m = user;
    if (m->next == LINES)
        return 0;
    const struct line *l = &lines[m->next++];
    p->prompt = l->prompt.id;
    p->n_prompt = l->prompt.n;
    p->text = l->answer.id;
    p->n_text = l->answer.n;
    return 1;
}

/* The verdict over all lines; the model of the test in its mode. */
static carat_judgement judge(carat_model *test, int exact, carat_quality *means)
{
    carat_engine *engine[2];
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.threads = 1;
    o.context = 256;
    o.sessions = 4;
    OK(carat_engine_create(&engine[0], tiny, &o, err));
    o.exact = exact;
    OK(carat_engine_create(&engine[1], test, &o, err));
    struct means m = {.q = {.size = sizeof m.q}};
    carat_compare_prompt first = {.size = sizeof first};
    carat_compare_options c = {.size = sizeof c,
                               .driver = CARAT_DRIVER_TEXT,
                               .parallel = 4,
                               .next = next_line,
                               .on_position = add,
                               .user = &m};
    next_line(&m, &first);
    OK(carat_compare(engine[0], engine[1], &first, &c, err));
    carat_engine_close(engine[0]);
    carat_engine_close(engine[1]);
    double *sums[] = {&m.q.kl, &m.q.correlation, &m.q.match, &m.q.entropy_ref, &m.q.entropy_test};
    for (int i = 0; i < 5; i++)
        *sums[i] /= m.n;
    assert_true(m.n > 5 * LINES);
    carat_judgement j = {.size = sizeof j};
    OK(carat_judge(&m.q, NULL, &j, err));
    if (means)
        *means = m.q;
    print_message("  %s; entropy %.4f and %.4f\n", j.reason, m.q.entropy_ref, m.q.entropy_test);
    return j;
}

static carat_judgement judge_copy(struct copy *c, carat_quality *means)
{
    copy_open(c);
    carat_judgement j = judge(c->model, 0, means);
    copy_close(c);
    return j;
}

static void itself_is_healthy(void **state)
{
    (void)state;
    carat_quality q;
    carat_judgement j = judge(tiny, 0, &q);
    assert_int_equal(j.whole, CARAT_HEALTHY);
    assert_int_equal(j.entropy, CARAT_NOT_JUDGED); /* its own is 0.003: the plain rule would condemn it */
    assert_true(q.kl == 0 && fabs(q.correlation - 1) < 1e-12 && q.match == 100);
    assert_true(q.entropy_ref > 0.001 && q.entropy_ref < 0.05);
    j = judge(tiny, 1, &q);
    assert_int_equal(j.whole, CARAT_HEALTHY);
    assert_true(q.kl > 0 && q.kl < 1e-5);
}

static void a_negated_down_is_concerning(void **state)
{
    (void)state;
    struct copy c = copy_tiny();
    carat_quality q;
    uint16_t *down = copy_tensor(&c, "model.layers.3.mlp.down_proj.weight");
    const size_t n = (size_t)model_info(tiny).ffn * HIDDEN;
    for (size_t i = 0; i < n; i++)
        down[i] ^= 0x8000;
    carat_judgement j = judge_copy(&c, &q);
    assert_int_equal(j.whole, CARAT_CONCERNING);
}

static void a_scaled_norm_is_watched(void **state)
{
    (void)state;
    struct copy c = copy_tiny();
    uint16_t *gain = copy_tensor(&c, "model.layers.3.post_feedforward_layernorm.weight");
    for (int i = 0; i < HIDDEN; i++) { /* the gain is 1 + w: times -0.4 */
        uint32_t bits = (uint32_t)gain[i] << 16;
        float w;
        memcpy(&w, &bits, sizeof w);
        w = -0.4f * (1 + w) - 1;
        memcpy(&bits, &w, sizeof bits);
        gain[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
    carat_judgement j = judge_copy(&c, NULL);
    assert_int_equal(j.whole, CARAT_WATCH);
}

/* The norm behind it takes every positive factor back, and a part that is absent is missed little. */
static void the_model_is_robust(void **state)
{
    (void)state;
    const size_t n = (size_t)model_info(tiny).ffn * HIDDEN;
    carat_quality q;
    struct copy c = copy_tiny();
    uint16_t *down = copy_tensor(&c, "model.layers.3.mlp.down_proj.weight");
    for (size_t i = 0; i < n; i++)
        down[i] += down[i] & 0x7f80 ? 2 << 7 : 0; /* times 4 */
    assert_int_equal(judge_copy(&c, &q).whole, CARAT_HEALTHY);
    assert_true(q.kl < 1e-7);
    c = copy_tiny();
    memset(copy_tensor(&c, "model.layers.3.mlp.down_proj.weight"), 0, n * sizeof(uint16_t));
    assert_true(judge_copy(&c, &q).whole < CARAT_CONCERNING);
    assert_true(q.kl < 0.01);
}

static void stored_types_are_healthy(void **state)
{
    static const struct {
        enum ct_type type;
        double most;
    } types[] = {{CT_Q8_0, 1e-5}, {CT_Q4_0, 1e-3}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct copy c = copy_tiny();
        carat_quality q;
        copy_open(&c);
        copy_encode(&c, types[i].type);
        carat_judgement j = judge(c.model, 0, &q);
        copy_close(&c);
        assert_int_equal(j.whole, CARAT_HEALTHY);
        assert_true(q.kl > 0 && q.kl < types[i].most);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(itself_is_healthy),        cmocka_unit_test(a_negated_down_is_concerning),
        cmocka_unit_test(a_scaled_norm_is_watched), cmocka_unit_test(the_model_is_robust),
        cmocka_unit_test(stored_types_are_healthy),
    };
    return cmocka_run_group_tests(tests, open_lines, close_lines);
}
