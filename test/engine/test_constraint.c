/* SPDX-License-Identifier: Apache-2.0 */
/* test_constraint.c: answers of models/tiny that have to be calls: they can be read and fit what is declared,
 * whatever the model would rather say; what fits by itself is not changed; the ids are the same however they
 * are made; an answer is complete within the tokens that it has. */
#include "told_util.h"

#include "carat_constrain.h"
#include "carat_tools.h"
#include "text/tokenizer/tokenizer.h"

/* Strings alone: each value is one. */
static const char tools[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"set_light\",\"description\":\"Switches a light\","
    "\"parameters\":{\"type\":\"object\",\"properties\":{\"room\":{\"type\":\"string\"},"
    "\"state\":{\"type\":\"string\"},\"colour\":{\"type\":\"string\"}},\"required\":[\"room\",\"state\"]}}},"
    "{\"type\":\"function\",\"function\":{\"name\":\"play\",\"description\":\"Plays music\","
    "\"parameters\":{\"type\":\"object\",\"properties\":{\"genre\":{\"type\":\"string\"}},"
    "\"required\":[\"genre\"]}}}]";

static carat_constraint *constraint_of(const char *choice)
{
    carat_constraint *c;
    carat_constraint_options o;

    carat_constraint_options_default(&o);
    o.form = CARAT_FORM_TOOLS;
    o.text = tools;
    o.tool_choice = choice;
    OK(carat_constraint_create(&c, tiny, &o, err));
    return c;
}

static carat_matcher *matcher_of(carat_constraint *c)
{
    carat_matcher *m;

    OK(carat_matcher_create(&m, c, err));
    return m;
}

static carat_sampling sampling_of(carat_matcher *m, float temperature, uint64_t seed)
{
    carat_sampling s;

    carat_sampling_default(tiny, &s);
    s.matcher = m;
    s.temperature = temperature;
    s.seed = seed;
    s.top_k = temperature > 1 ? 0 : s.top_k;
    s.top_p = 1;
    return s;
}

/* Calls that fit, and nothing else. */
static void check_calls(const int32_t *ids, int n, const char *name)
{
    carat_calls calls = {.size = sizeof(carat_part)};

    OK(carat_parse_calls(tiny, ids, n, tools, &calls, err));
    assert_true(calls.n > 0);
    for (int i = 0; i < calls.n; i++) {
        const carat_part *p = &calls.part[i];
        if (!p->is_call || p->error)
            fail_msg("part %d: %s: %s", i, p->text, p->error ? p->error : "no call");
        assert_true(!name || strcmp(p->name, name) == 0);
        assert_non_null(strstr(p->arguments, strcmp(p->name, "play") == 0 ? "\"genre\":" : "\"room\":"));
        assert_true(strcmp(p->name, "play") == 0 || strstr(p->arguments, "\"state\":"));
    }
    carat_calls_free(&calls);
}

static void answers_are_calls_that_fit(void **state)
{
    struct rig r = open_rig(1, NULL);
    carat_tokens prompt = prompt_of("What do spiders eat?", tools);
    static const char *const choices[] = {"required", "play", "set_light"};
    static struct got got;

    (void)state;
    for (int i = 0; i < 36; i++) {
        const char *choice = choices[i % 3];
        carat_constraint *c = constraint_of(choice);
        carat_matcher *m = matcher_of(c);
        const carat_sampling s = sampling_of(m, i % 4 ? (float)(i % 4) : 0, (uint64_t)i);
        carat_generation_options o;
        carat_generation_options_default(&o);
        o.sampling = &s;
        o.max_tokens = carat_matcher_shortest(m) + i % 20;
        generate(&got, r.session[0], &prompt, &o);
        check_calls(got.id, got.n, i % 3 ? choice : NULL);
        assert_true(got.info.complete && got.n <= o.max_tokens);
        assert_true(got.info.reason == CARAT_REASON_LENGTH || got.info.reason == CARAT_REASON_TOOL_CALLS);
        assert_true(got.info.reason == CARAT_REASON_LENGTH || got.info.forced == 0);
        assert_int_equal(got.info.closed, 1); /* so it is no answer that was cut off */
        carat_matcher_close(m);
        carat_constraint_close(c);
    }
    carat_tokens_free(&prompt);
    rig_close(&r);
}

/* A text has its form, and calls are calls: one where one is asked for, none where the form says nothing. */
static void calls_stand_beside_a_form(void **state)
{
    struct rig r = open_rig(1, NULL);
    static const carat_form forms[] = {CARAT_FORM_REGEX, CARAT_FORM_GRAMMAR, CARAT_FORM_SCHEMA};
    static const char *const texts[] = {"[A-Z][a-z ]+[.]", "root ::= [A-Z] [a-z ]+ \".\"", "{\"enum\":[7]}"};
    static const char *const asked[] = {"What do spiders eat?", "Switch the light in the kitchen on"};
    static struct got got;
    int calls = 0, said = 0;
    carat_error why;

    (void)state;
    for (int i = 0; i < 36; i++) {
        carat_tokens prompt = prompt_of(asked[i % 2], tools);
        carat_constraint *c;
        carat_constraint_options f;
        carat_generation_options o;
        carat_constraint_options_default(&f);
        f.form = forms[i % 3];
        f.text = texts[i % 3];
        f.tools = tools;
        f.one_call = i % 4 < 2;
        OK(carat_constraint_create(&c, tiny, &f, err));
        carat_matcher *m = matcher_of(c);
        const carat_sampling s = sampling_of(m, (float)(i % 4), (uint64_t)i);
        carat_generation_options_default(&o);
        o.sampling = &s;
        o.max_tokens = 60;
        generate(&got, r.session[0], &prompt, &o);
        assert_true(got.info.complete && got.n > 0);
        if (got.info.reason == CARAT_REASON_TOOL_CALLS || strchr(got.all, '{')) {
            check_calls(got.id, got.n, NULL);
            assert_true(got.info.closed);
            calls++;
        } else {
            assert_true(i % 3 == 2 ? got.all[strspn(got.all, " \t\r\n")] == '7'
                                   : got.all[strspn(got.all + 1, "abcdefghijklmnopqrstuvwxyz ") + 1] == '.');
            said++;
        }
        carat_matcher_close(m);
        carat_constraint_close(c);
        carat_tokens_free(&prompt);
    }
    assert_true(calls > 5 && said > 5);
    carat_constraint *none = NULL;
    carat_constraint_options f;
    carat_constraint_options_default(&f);
    f.form = CARAT_FORM_TOOLS;
    f.text = f.tools = tools;
    assert_int_equal(carat_constraint_create(&none, tiny, &f, &why), CARAT_E_ARGUMENT);
    assert_non_null(strstr(why.message, "tools are given twice"));
    f.form = CARAT_FORM_REGEX;
    f.text = "x";
    f.tools = "[{}]";
    assert_int_equal(carat_constraint_create(&none, tiny, &f, &why), CARAT_E_ARGUMENT);
    assert_non_null(strstr(why.message, "tools[0]"));
    rig_close(&r);
}

/* So many ids, of these again and again. */
static int32_t *repeated(const carat_tokens *t, int n)
{
    int32_t *ids = malloc((size_t)n * sizeof *ids);

    assert_non_null(ids);
    for (int i = 0; i < n; i++)
        ids[i] = t->ids[i % t->n];
    return ids;
}

static void no_shorter_answer_is_begun(void **state)
{
    struct rig r = open_rig(1, NULL);
    carat_tokens prompt = prompt_of("Hello", tools);
    carat_constraint *c = constraint_of("required");
    carat_matcher *m = matcher_of(c);
    const carat_sampling s = sampling_of(m, 0, 0);
    carat_generation *g;
    carat_generation_options o;
    carat_error why;

    (void)state;
    carat_generation_options_default(&o);
    o.sampling = &s;
    o.max_tokens = carat_matcher_shortest(m) - 1;
    OK(carat_sync(r.session[0], prompt.ids, prompt.n, NULL, err));
    OK(carat_generation_create(&g, r.session[0], &o, err));
    assert_int_equal(carat_generate(g, &why), CARAT_E_ARGUMENT);
    assert_non_null(strstr(why.message, "the shortest answer of this form takes"));
    carat_generation_close(g);
    /* a prompt that leaves no room for it is not evaluated */
    const int room = carat_engine_context(r.engine) - carat_matcher_shortest(m) + 1;
    const carat_prompt fills = {.size = sizeof fills, .ids = repeated(&prompt, room), .n = room};
    o.max_tokens = 0;
    OK(carat_generation_create(&g, r.session[0], &o, err));
    OK(carat_rewind(r.session[0], 0, err));
    OK(carat_generation_prompt(g, &fills, NULL, err));
    assert_int_equal(carat_generate(g, &why), CARAT_E_ARGUMENT);
    assert_non_null(strstr(why.message, "the shortest answer of this form takes"));
    assert_int_equal(carat_tokens_held(r.session[0], NULL), 0);
    free((void *)(uintptr_t)fills.ids);
    carat_generation_close(g);
    carat_matcher_close(m);
    carat_constraint_close(c);
    carat_tokens_free(&prompt);
    rig_close(&r);
}

/* ---- what fits by itself ---- */

static void a_free_answer_that_fits_stays(void **state)
{
    struct rig r = open_rig(1, NULL);
    static const char *const asked[] = {"Turn on the lights in the kitchen.", "Play some jazz music.",
                                        "Hello", "Set the lights of the attic to blue."};
    static struct got plain, kept;
    size_t n;
    char *own = read_whole(CT_TEST_DATA "/../../models/tiny/tools.json", &n);
    carat_constraint_options c;
    carat_constraint *constraint;
    int calls = 0;

    (void)state;
    own = realloc(own, n + 1);
    assert_non_null(own);
    own[n] = 0;
    carat_constraint_options_default(&c);
    c.form = CARAT_FORM_TOOLS;
    c.text = own;
    OK(carat_constraint_create(&constraint, tiny, &c, err)); /* auto: text is an answer, too */
    carat_matcher *m = matcher_of(constraint);
    for (int i = 0; i < 40; i++) {
        carat_tokens prompt = prompt_of(asked[i % 4], own);
        carat_generation_options o;
        carat_sampling s = sampling_of(NULL, i < 4 ? 0 : 0.7f, (uint64_t)i);
        carat_generation_options_default(&o);
        o.sampling = &s;
        o.max_tokens = 100;
        generate(&plain, r.session[0], &prompt, &o);
        s.matcher = m;
        generate(&kept, r.session[0], &prompt, &o);
        int same = 0;
        while (same < plain.n && same < kept.n && plain.id[same] == kept.id[same])
            same++;
        if (plain.info.reason == CARAT_REASON_TOOL_CALLS)
            calls++;
        /* where they part the free id does not fit */
        carat_matcher *at;
        OK(carat_matcher_copy(&at, m, err));
        for (int k = 0; k < same; k++)
            OK(carat_matcher_accept(at, plain.id[k], err));
        if (same < plain.n)
            assert_false(carat_matcher_allows(at, plain.id[same], 100 - same));
        carat_matcher_close(at);
        carat_tokens_free(&prompt);
    }
    assert_true(calls > 5);
    carat_matcher_close(m);
    carat_constraint_close(constraint);
    free(own);
    rig_close(&r);
}

/* ---- the same ids, however they are made ---- */

static void check_uses(const carat_generation_info *info, bool drafts)
{
    const carat_draft_use *of_form = &info->use_of_form, *of_text = &info->use[CARAT_FROM_TEXT];

    assert_true(drafts == (of_form->drafted > 0) && of_form->accepted <= of_form->drafted);
    assert_int_equal(of_form->drafted + of_text->drafted, info->drafted);
    assert_int_equal(of_form->accepted + of_text->accepted, info->accepted);
}

static void ways_make_the_same_ids(void **state)
{
    static struct got first, got;
    carat_constraint *c = constraint_of("required");
    carat_matcher *m = matcher_of(c);
    carat_tokens prompt = prompt_of("What do spiders eat?", tools);

    (void)state;
    for (int i = 0; i < 4; i++) {
        const carat_sampling s = sampling_of(m, i % 2 ? 1.5f : 0, (uint64_t)i);
        for (int how = 0; how < 5; how++) {
            struct rig r = how == 1 ? open_pruned() : open_rig(1, how == 2 ? "ref" : NULL);
            carat_generation_options o;
            carat_generation_options_default(&o);
            o.sampling = &s;
            o.max_tokens = 60;
            o.naive = how == 3;
            o.lookup = how == 4 ? CARAT_LOOKUP_ON : CARAT_LOOKUP_OFF;
            generate(how ? &got : &first, r.session[0], &prompt, &o);
            if (how) {
                assert_int_equal(got.n, first.n);
                assert_memory_equal(got.id, first.id, (size_t)got.n * sizeof *got.id);
                assert_int_equal(got.info.reason, first.info.reason);
                /* what alone can follow is drafted, and booked as such */
                assert_true(how < 4 || got.info.passes < first.info.passes);
                check_uses(&got.info, how == 4);
            }
            rig_close(&r);
        }
    }
    carat_matcher_close(m);
    carat_constraint_close(c);
    carat_tokens_free(&prompt);
}

/* What a second draw had computed takes the place of what the first one read: a free draw from there is the
 * same as with all logits. */
static void free_draws_follow_second_ones(void **state)
{
    struct rig pruned = open_pruned(), whole = open_rig(1, NULL);
    carat_constraint *c = constraint_of("required");
    carat_matcher *m = matcher_of(c);
    carat_tokens prompt = prompt_of("What do spiders eat?", tools);
    const carat_sampling s = sampling_of(m, 0, 0), plain = sampling_of(NULL, 0, 0);
    carat_generation *g;
    carat_generation_options o;

    (void)state;
    carat_generation_options_default(&o);
    o.sampling = &s;
    o.lookup = CARAT_LOOKUP_OFF;
    OK(carat_sync(pruned.session[0], prompt.ids, prompt.n, NULL, err));
    OK(carat_generation_create(&g, pruned.session[0], &o, err));
    for (int i = 0; i < 20; i++) {
        const int32_t *held;
        int32_t id, expected;
        OK(carat_generation_step(pruned.engine, &g, 1, err));
        const int n = carat_tokens_held(pruned.session[0], &held);
        OK(carat_sync(whole.session[0], held, n, NULL, err));
        OK(carat_sample(pruned.session[0], &plain, &id, err));
        OK(carat_sample(whole.session[0], &plain, &expected, err));
        assert_int_equal(id, expected);
    }
    carat_generation_close(g);
    carat_matcher_close(m);
    carat_constraint_close(c);
    carat_tokens_free(&prompt);
    rig_close(&pruned);
    rig_close(&whole);
}

/* carat_sample, its caller moving the matcher, draws what a generation draws. */
static void sampling_by_hand_is_the_same(void **state)
{
    struct rig r = open_rig(1, NULL);
    static struct got got;
    carat_constraint *c = constraint_of("required");
    carat_matcher *m = matcher_of(c);
    carat_tokens prompt = prompt_of("Hello", tools);
    carat_sampling s = sampling_of(m, 2, 5);
    carat_generation_options o;

    (void)state;
    carat_generation_options_default(&o);
    o.sampling = &s;
    o.max_tokens = 40;
    generate(&got, r.session[0], &prompt, &o);
    OK(carat_sync(r.session[0], prompt.ids, prompt.n, NULL, err));
    for (int i = 0; i < got.n; i++) {
        int32_t id;
        s.left = 40 - i;
        OK(carat_sample(r.session[0], &s, &id, err));
        assert_int_equal(id, got.id[i]);
        assert_true(carat_matcher_allows(m, id, s.left));
        assert_true(carat_matcher_mask(m, s.left)[id / 64] >> id % 64 & 1);
        OK(carat_matcher_accept(m, id, err));
        OK(carat_append(r.session[0], &id, 1, err));
    }
    assert_true(carat_matcher_complete(m));
    assert_int_equal(carat_matcher_shortest(m), 0);
    carat_matcher_close(m);
    carat_constraint_close(c);
    carat_tokens_free(&prompt);
    rig_close(&r);
}

/* ---- ends of another kind ---- */

static void nothing_but_what_is_banned_fits(void **state)
{
    struct rig r = open_rig(1, NULL);
    static struct got got;
    carat_constraint *c = constraint_of("required");
    carat_matcher *m = matcher_of(c);
    carat_tokens prompt = prompt_of("Hello", tools);
    carat_sampling s = sampling_of(m, 0, 0);
    const int32_t banned[] = {ct_tokenizer_id(tiny->tokenizer, CARAT_CALL_START)};
    carat_generation_options o;
    carat_error why;
    int32_t id;

    (void)state;
    s.banned = banned;
    s.n_banned = 1;
    carat_generation_options_default(&o);
    o.sampling = &s;
    o.max_tokens = 40;
    generate(&got, r.session[0], &prompt, &o);
    assert_int_equal(got.n, 0);
    assert_int_equal(got.info.reason, CARAT_REASON_CONSTRAINT);
    assert_int_equal(got.info.complete, 0);
    OK(carat_sync(r.session[0], prompt.ids, prompt.n, NULL, err));
    assert_int_equal(carat_sample(r.session[0], &s, &id, &why), CARAT_E_CONSTRAINT);
    assert_string_equal(why.message, "every id that the form of the answer allows is banned");
    assert_int_equal(carat_matcher_accept(m, 5, &why), CARAT_E_CONSTRAINT);
    carat_matcher_close(m);
    carat_constraint_close(c);
    carat_tokens_free(&prompt);
    rig_close(&r);
}

/* Greedy answers in strings that never end by themselves: some go round. */
static void what_goes_round_is_ended(void **state)
{
    struct rig r = open_rig(1, NULL);
    static const char *const asked[] = {"Hello", "What do spiders eat?", "How many legs does a duck have?",
                                        "What colour is a zorb?", "Tell me about the owl."};
    static struct got got;
    carat_constraint *c = constraint_of("required");
    carat_matcher *m = matcher_of(c);
    const carat_sampling s = sampling_of(m, 0, 0);
    int round = 0;

    (void)state;
    for (size_t i = 0; i < CT_COUNT(asked); i++) {
        carat_tokens prompt = prompt_of(asked[i], tools);
        carat_generation_options o;
        carat_generation_options_default(&o);
        o.sampling = &s;
        o.max_tokens = 300;
        o.loop_guard = 16;
        generate(&got, r.session[0], &prompt, &o);
        check_calls(got.id, got.n, NULL);
        assert_true(got.info.complete);
        if (got.info.reason == CARAT_REASON_LOOP) {
            assert_true(got.info.cycle > 0 && got.info.forced > 0 && got.n < 300);
            round++;
        }
        carat_tokens_free(&prompt);
    }
    assert_true(round > 0);
    carat_matcher_close(m);
    carat_constraint_close(c);
    rig_close(&r);
}

/* More states than there is room for: those that no matcher is in are forgotten on the way. */
static void long_answers_keep_their_form(void **state)
{
    enum { LONG = 60000 };
    carat_constraint *c;
    carat_matcher *m, *early = NULL;
    carat_constraint_options o;
    const int32_t x = ct_tokenizer_id(tiny->tokenizer, "x"), y = ct_tokenizer_id(tiny->tokenizer, "y"),
                  a = ct_tokenizer_id(tiny->tokenizer, "a"), b = ct_tokenizer_id(tiny->tokenizer, "b");

    (void)state;
    carat_constraint_options_default(&o);
    o.form = CARAT_FORM_GRAMMAR;
    o.text = "root ::= part part part\npart ::= \"x\" [a-c]{0,60000} \"y\"\n";
    OK(carat_constraint_create(&c, tiny, &o, err));
    OK(carat_matcher_create(&m, c, err));
    for (int part = 0; part < 3; part++) {
        OK(carat_matcher_accept(m, x, err));
        for (int i = 0; i < LONG; i++) {
            OK(carat_matcher_accept(m, i % 3 ? a : b, err));
            if (part == 0 && i == 99)
                OK(carat_matcher_copy(&early, m, err));
        }
        assert_false(carat_matcher_allows(m, a, 0));
        assert_true(carat_matcher_allows(m, y, 0));
        assert_int_equal(carat_matcher_complete(m), 0);
        OK(carat_matcher_accept(m, y, err));
    }
    assert_true(carat_matcher_complete(m));
    for (int i = 100; i < LONG; i++)
        OK(carat_matcher_accept(early, a, err));
    assert_false(carat_matcher_allows(early, a, 0));
    OK(carat_matcher_accept(early, y, err));
    carat_matcher_close(early);
    carat_matcher_close(m);
    carat_constraint_close(c);
}

/* What one question takes goes beyond the room that is left. */
static void far_endings_are_counted(void **state)
{
    carat_constraint *c;
    carat_constraint_options o;
    carat_matcher *m[4];

    (void)state;
    carat_constraint_options_default(&o);
    o.form = CARAT_FORM_GRAMMAR;
    o.text = "root ::= [a-b]{2} [c-d]{32000} | [e-f]{2} [g-h]{32001} | [i-j]{2} [k-l]{32002} | "
             "[m-n]{2} [o-p]{40003}\n";
    OK(carat_constraint_create(&c, tiny, &o, err));
    for (int i = 0; i < 4; i++) {
        const char text[] = {(char)('b' + 4 * i), 0}, next[] = {(char)('c' + 4 * i), 0};
        const int32_t id = ct_tokenizer_id(tiny->tokenizer, text);
        const int left = i < 3 ? 32002 + i : 40005;
        OK(carat_matcher_create(&m[i], c, err));
        OK(carat_matcher_accept(m[i], id, err));
        assert_true(carat_matcher_allows(m[i], id, left));
        assert_true(carat_matcher_mask(m[i], left)[id / 64] >> id % 64 & 1);
        OK(carat_matcher_accept(m[i], id, err));
        for (int k = i; k >= 0; k--)
            assert_in_range(carat_matcher_shortest(m[k]), 16000, k < 3 ? 32000 + k : 40003);
        assert_true(carat_matcher_allows(m[i], ct_tokenizer_id(tiny->tokenizer, next), 0));
    }
    for (int i = 0; i < 4; i++)
        carat_matcher_close(m[i]);
    carat_constraint_close(c);
}

/* Text is free with `none`, and no call begins in it. */
static void none_begins_no_call(void **state)
{
    carat_constraint *c = constraint_of("none");
    carat_matcher *m = matcher_of(c);
    const int32_t call = ct_tokenizer_id(tiny->tokenizer, CARAT_CALL_START);

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_true(carat_matcher_complete(m));
        assert_false(carat_matcher_allows(m, call, 0));
        assert_false(carat_matcher_mask(m, 0)[call / 64] >> call % 64 & 1);
        OK(carat_matcher_accept(m, ct_tokenizer_id(tiny->tokenizer, "a"), err));
    }
    carat_matcher_close(m);
    carat_constraint_close(c);
}

/* Within a character there is no spelling of what follows it. */
static void drafts_begin_with_characters(void **state)
{
    carat_constraint *c;
    carat_matcher *m;
    carat_constraint_options o;
    int32_t draft[CARAT_MOST_DRAFT];

    (void)state;
    carat_constraint_options_default(&o);
    o.form = CARAT_FORM_GRAMMAR;
    o.text = "root ::= \"a\xe2\x82\xac\" <escape> \"b\"\n";
    OK(carat_constraint_create(&c, tiny, &o, err));
    OK(carat_matcher_create(&m, c, err));
    assert_true(carat_matcher_draft(m, draft, CARAT_MOST_DRAFT) > 2);
    OK(carat_matcher_accept(m, ct_tokenizer_id(tiny->tokenizer, "a"), err));
    OK(carat_matcher_accept(m, ct_tokenizer_id(tiny->tokenizer, "<0xE2>"), err));
    const int n = carat_matcher_draft(m, draft, CARAT_MOST_DRAFT);
    for (int i = 0; i < n; i++)
        OK(carat_matcher_accept(m, draft[i], err));
    carat_matcher_close(m);
    carat_constraint_close(c);
    o.text = "root ::= \"x\" [a-b] \"c\"\n"; /* what is one of two is not drafted */
    OK(carat_constraint_create(&c, tiny, &o, err));
    OK(carat_matcher_create(&m, c, err));
    assert_int_equal(carat_matcher_draft(m, draft, CARAT_MOST_DRAFT), 1);
    assert_int_equal(draft[0], ct_tokenizer_id(tiny->tokenizer, "x"));
    OK(carat_matcher_accept(m, draft[0], err));
    assert_int_equal(carat_matcher_draft(m, draft, CARAT_MOST_DRAFT), 0);
    carat_matcher_close(m);
    carat_constraint_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_calls_that_fit),      cmocka_unit_test(no_shorter_answer_is_begun),
        cmocka_unit_test(a_free_answer_that_fits_stays),   cmocka_unit_test(ways_make_the_same_ids),
        cmocka_unit_test(sampling_by_hand_is_the_same),    cmocka_unit_test(free_draws_follow_second_ones),
        cmocka_unit_test(nothing_but_what_is_banned_fits), cmocka_unit_test(what_goes_round_is_ended),
        cmocka_unit_test(long_answers_keep_their_form),    cmocka_unit_test(far_endings_are_counted),
        cmocka_unit_test(drafts_begin_with_characters),    cmocka_unit_test(none_begins_no_call),
        cmocka_unit_test(calls_stand_beside_a_form),
    };
    return cmocka_run_group_tests(tests, prepare, clean_up);
}
