/* SPDX-License-Identifier: Apache-2.0 */
/* test_thoughts.c: what a generation tells of thoughts: their text apart from the answer's, whatever stands
 * in them and wherever they end; the same of a whole list of ids. That a thought ends where its budget does
 * is test_thought_budget.c's. */
#include "thinking.h"

#include "carat_tools.h"
#include "generate/readout.h"

/* ---- ids that are given one by one ---- */

struct texts {
    char answer[512], thought[512]; /* an empty line between two thoughts */
    int ids;                        /* of thoughts */
    bool inside;                    /* at the end */
    int stopped;                    /* ids until a stop string was complete; 0: none was */
};

static void add(struct texts *x, const carat_given *given, bool begins)
{
    char *to = given->thought ? x->thought : x->answer;

    assert_int_equal(given->n_text, strlen(given->text));
    if (begins && given->thought && *to && given->n_text)
        strcat(to, "\n\n");
    strcat(to, given->text);
}

/* The session holds what comes before. */
static void tell(struct texts *x, struct rig *r, const carat_tokens *ids, const char *stop)
{
    static struct ct_readout t;
    carat_generation_options o;
    bool begins = false;
    int of_thought = 0;

    memset(x, 0, sizeof *x);
    carat_generation_options_default(&o);
    carat_sampling sampling;
    carat_sampling_default(model, &sampling);
    o.sampling = &sampling;
    o.stops = stop ? &stop : NULL;
    o.n_stops = stop != NULL;
    OK(ct_readout_open(&t, r->session[0], &o, err));
    ct_readout_begin(&t, ct_held_tokens(r->session[0]), r->session[0]->n);
    for (int i = 0; i < ids->n && !x->stopped; i++) {
        carat_given given = {.id = ids->ids[i]};
        int which;
        begins |= given.id == CHANNEL;
        if (ct_readout_give(&t, r->session[0], 0, &given, &which) == CARAT_REASON_STOP_STRING)
            x->stopped = i + 1;
        add(x, &given, begins);
        of_thought += given.of_thought;
        begins &= !(given.thought && given.n_text);
    }
    char rest[CARAT_REST_BYTES] = "";
    x->inside = t.thought.inside;
    x->ids = t.thought_ids;
    assert_int_equal(of_thought, x->ids); /* the tokens around it, too */
    carat_given last = {.text = rest, .thought = x->inside};
    assert_true(ct_readout_rest(&t, r->session[0], true, rest, 1) <= 1 || rest[0] == 0); /* taken back */
    last.n_text = ct_readout_rest(&t, r->session[0], true, rest, sizeof rest);
    add(x, &last, begins);
    ct_readout_close(&t);
}

/* carat_split_thoughts says the same of the whole. */
static void check_whole(const struct texts *x, const carat_tokens *ids, bool inside)
{
    carat_tokens answer = {0};
    char *text = NULL, *thought = NULL;
    size_t n, n_thought;

    OK(carat_split_thoughts(model, ids->ids, ids->n, inside, &answer, &thought, &n_thought, err));
    OK(carat_detokenize(model, answer.ids, answer.n, 0, &text, &n, err));
    assert_string_equal(text, x->answer);
    assert_string_equal(thought, x->thought);
    assert_int_equal(n_thought, strlen(thought));
    carat_free(text);
    carat_free(thought);
    carat_tokens_free(&answer);
}

static const struct {
    const char *before; /* behind the prompt */
    const char *ids, *answer, *thought;
    int n;               /* ids of thoughts; -1: not looked at */
    bool inside, unlike; /* at the end; a whole list begins otherwise */
} streams[] = {
    {"", "The lights", "The lights", "", 0, false, false},
    {"", "<|channel>thought\nthe lights\n<channel|>Yes", "Yes", "the lights", 8, false, false},
    {"", "<|channel>thought\n<channel|>Yes", "Yes", "", 4, false, false},
    {"", "<|channel><channel|>Yes", "Yes", "", 2, false, false},
    {"", "<|channel>thought<channel|>Yes", "Yes", "", 3, false, false},
    {"", "a<|channel>thought\nb\n<channel|>c", "ac", "b", 6, false, false},
    /* without the line that names it, or with one that is not */
    {"", "<|channel>the lights<channel|>Yes", "Yes", "the lights", -1, false, false},
    {"", "<|channel>thought thought\n<channel|>Yes", "Yes", "thought thought", -1, false, false},
    {"", "<|channel>thoughtthe<channel|>Yes", "Yes", "thoughtthe", -1, false, false},
    /* line breaks: one before the end is not the text's */
    {"", "<|channel>thought\na\n\nb\n\n\n<channel|>\nYes\n", "\nYes\n", "a\n\nb\n\n", -1, false, false},
    {"", "<|channel>thought\n\n\na\n<channel|>Yes", "Yes", "\n\na", -1, false, false},
    {"", "<|channel>thought\n\n<channel|>Yes", "Yes", "", -1, false, false},
    /* without an end, without a beginning, one in another */
    {"", "a<|channel>thought\nthe lights\n", "a", "the lights", -1, true, false},
    {"", "a<|channel>", "a", "", 1, true, false},
    {"", "a<|channel>thought", "a", "", 2, true, false},
    {"", "a<channel|>b", "ab", "", 0, false, false},
    {"", "<|channel>thought\na<|channel>thought\nb\n<channel|>c", "c", "a\n\nb", -1, false, false},
    {"", "<|channel>thought\na\n<channel|>b<|channel>thought\nd\n<channel|>c", "bc", "a\n\nd", -1, false,
     false},
    /* other control tokens, and text that spells some */
    {"", "<|channel>thought\na<|turn>b<turn|>\n<channel|>c", "c", "ab", -1, false, false},
    {"", "a<turn|>b", "ab", "", 0, false, false},
    /* a prompt that ends within one */
    {"<|channel>thought\n", "the\n<channel|>Yes", "Yes", "the", 4, false, false},
    {"<|channel>thought", "\nthe\n<channel|>Yes", "Yes", "the", 5, false, true},
    {"<|channel>", "thought\nthe\n<channel|>Yes", "Yes", "the", 6, false, true},
    {"<|channel>thought\nthe", " lights\n<channel|>Yes", "Yes", " lights", -1, false, false},
    {"<|channel>thought\n<channel|>", "Yes", "Yes", "", 0, false, false},
    {"<|channel>thought\na\n<channel|>Yes<|turn>", "Yes", "Yes", "", 0, false, false},
};

static void texts_apart(void **state)
{
    (void)state;
    carat_engine_options engine = engine_of(1, NULL);
    struct rig r = rig_open(model, &engine);
    for (size_t i = 0; i < CT_COUNT(streams); i++) {
        carat_tokens ids = ids_of(streams[i].ids), before = ids_of(streams[i].before), all = {0};
        static struct texts x;
        all.ids = malloc((size_t)(prompt.n + before.n) * sizeof *all.ids);
        memcpy(all.ids, prompt.ids, (size_t)prompt.n * sizeof *all.ids);
        if (before.n)
            memcpy(all.ids + prompt.n, before.ids, (size_t)before.n * sizeof *all.ids);
        all.n = prompt.n + before.n;
        OK(carat_sync(r.session[0], all.ids, all.n, NULL, err));
        tell(&x, &r, &ids, NULL);
        if (strcmp(x.answer, streams[i].answer) || strcmp(x.thought, streams[i].thought))
            fail_msg("%s: answer \"%s\", thought \"%s\"", streams[i].ids, x.answer, x.thought);
        assert_int_equal(x.inside, streams[i].inside);
        if (streams[i].n >= 0)
            assert_int_equal(x.ids, streams[i].n);
        bool inside = before.n && before.ids[0] == CHANNEL && strstr(streams[i].before, "|>") == NULL;
        if (!streams[i].unlike)
            check_whole(&x, &ids, inside);
        carat_tokens_free(&ids);
        carat_tokens_free(&before);
        carat_tokens_free(&all);
    }
    rig_close(&r);
}

/* Bytes of a character that its thought does not finish are the thought's. */
static void cut_characters(void **state)
{
    (void)state;
    carat_engine_options engine = engine_of(1, NULL);
    struct rig r = rig_open(model, &engine);
    const int32_t f0 = ct_tokenizer_id(model->tokenizer, "<0xF0>"),
                  e2 = ct_tokenizer_id(model->tokenizer, "<0xE2>");
    static struct texts x;
    int32_t list[] = {CHANNEL, THOUGHT, LINE_BREAK, f0, CHANNEL_END, e2, CHANNEL, f0};

    assert_true(f0 >= 0 && e2 >= 0);
    const carat_tokens ids = {list, (int)CT_COUNT(list), 0};
    OK(carat_sync(r.session[0], prompt.ids, prompt.n, NULL, err));
    tell(&x, &r, &ids, NULL);
    assert_string_equal(x.thought, "\xef\xbf\xbd\n\n\xef\xbf\xbd");
    assert_string_equal(x.answer, "\xef\xbf\xbd");
    check_whole(&x, &ids, false);
    rig_close(&r);
}

/* A stop string ends an answer, no thought, and goes across no thought. */
static void stop_strings(void **state)
{
    (void)state;
    static const struct {
        const char *stop, *ids, *answer, *thought;
        bool stops;
    } cases[] = {
        {"lights", "<|channel>thought\nthe lights\n<channel|>the", "the", "the lights", false},
        {"lights", "<|channel>thought\nthe lights\n<channel|>the lights are", "the ", "the lights", true},
        {"lights", "the li<|channel>thought\nthe\n<channel|>ghts are", "the lights are", "the", false},
        {"\n", "<|channel>thought\na\nb\n<channel|>the\n", "the", "a\nb", true},
    };
    carat_engine_options engine = engine_of(1, NULL);
    struct rig r = rig_open(model, &engine);
    for (size_t i = 0; i < CT_COUNT(cases); i++) {
        carat_tokens ids = ids_of(cases[i].ids);
        static struct texts x;
        OK(carat_sync(r.session[0], prompt.ids, prompt.n, NULL, err));
        tell(&x, &r, &ids, cases[i].stop);
        assert_string_equal(x.answer, cases[i].answer);
        assert_string_equal(x.thought, cases[i].thought);
        assert_int_equal(x.stopped > 0, cases[i].stops);
        carat_tokens_free(&ids);
    }
    rig_close(&r);
}

/* A vocabulary without these tokens has no thoughts. */
static void no_such_tokens(void **state)
{
    carat_tokens ids = {0}, answer = {0};
    char *text = NULL;

    prepare(state);
    OK(carat_tokenize(tiny, "<|channel>thought\na", 19, CARAT_SPECIAL, &ids, err));
    OK(carat_split_thoughts(tiny, ids.ids, ids.n, 0, &answer, &text, NULL, err));
    assert_int_equal(answer.n, ids.n);
    assert_string_equal(text, "");
    carat_free(text);
    OK(carat_split_thoughts(tiny, ids.ids, ids.n, 1, &answer, NULL, NULL, err)); /* appended */
    assert_int_equal(answer.n, 2 * ids.n);
    ids.ids[1] = 1 << 20;
    FAILS(CARAT_E_ARGUMENT, carat_split_thoughts(tiny, ids.ids, ids.n, 0, &answer, NULL, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_split_thoughts(tiny, NULL, 1, 0, &answer, NULL, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_split_thoughts(tiny, ids.ids, -1, 0, &answer, NULL, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_split_thoughts(tiny, ids.ids, 1, 0, NULL, NULL, NULL, err));
    carat_tokens_free(&ids);
    carat_tokens_free(&answer);
    clean_up(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_apart),
        cmocka_unit_test(cut_characters),
        cmocka_unit_test(stop_strings),
        cmocka_unit_test(no_such_tokens),
    };
    return cmocka_run_group_tests_name("thoughts", tests, open_thinking, close_thinking);
}
