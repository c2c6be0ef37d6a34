/* SPDX-License-Identifier: Apache-2.0 */
/* test_constraint_hashes.c: the committed hashes of 50 answers that have a form: ten forms with five
 * samplings and budgets each. Each answer is made in many ways: kernels' levels, threads, chunks, heads,
 * drafts, anew at each step, beside another generation, and after one that was cut short. And wherever the
 * free answer fits it is that answer: the two part only at an id that may not come.
 *
 * After a change of the numbers, of models/tiny or of what a form has for its shortest ending, rewrite
 * test/data/form_hashes.txt and commit it with the reason:
 *
 *     CARAT_WRITE_HASHES=1 build/.../test/test_engine constraint_hashes
 */
#include "told_util.h"

#include "carat_constrain.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define HASHES CT_TEST_DATA "/form_hashes.txt"

static const char tools[] =
    "[{\"type\":\"function\",\"function\":{\"name\":\"set_light\",\"description\":\"Switches a light\","
    "\"parameters\":{\"type\":\"object\",\"properties\":{\"room\":{\"type\":\"string\"},"
    "\"level\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":99},\"colour\":{\"enum\":[\"red\","
    "\"gr\xc3\xbcn\"]}},"
    "\"required\":[\"room\",\"level\"]}}}]";

static const struct {
    carat_form form;
    const char *text, *choice;
} forms[] = {
    {CARAT_FORM_SCHEMA,
     "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"tags\":{\"items\":"
     "{\"enum\":[\"a\",\"\xc3\xa9t\xc3\xa9\",3]}},\"n\":{\"type\":\"number\"}},\"required\":[\"name\"]}",
     NULL},
    {CARAT_FORM_SCHEMA, "{}", NULL},
    {CARAT_FORM_SCHEMA, "{\"type\":\"string\",\"pattern\":\"^[a-z ]+[.!?]$\",\"maxLength\":40}", NULL},
    {CARAT_FORM_SCHEMA,
     "{\"$ref\":\"#/$defs/t\",\"$defs\":{\"t\":{\"type\":\"object\",\"properties\":{\"v\":{\"type\":"
     "\"integer\"},\"l\":{\"$ref\":\"#/$defs/t\"}},\"additionalProperties\":false}}}",
     NULL},
    {CARAT_FORM_REGEX, "(?:[A-Z][a-z]+ ){2,5}(?:\xe2\x82\xac|\\d{1,3})", NULL},
    {CARAT_FORM_REGEX, "(?:.|\\n)*", NULL}, /* any answer */
    {CARAT_FORM_GRAMMAR, "root ::= (\"- \" line)+\nline ::= [^\\n]{1,30} \"\\n\"\n", NULL},
    {CARAT_FORM_TOOLS, tools, "auto"},
    {CARAT_FORM_TOOLS, tools, "required"},
    {CARAT_FORM_TOOLS, tools, "set_light"},
};
enum { FORMS = sizeof forms / sizeof *forms, EACH = 5, ANSWERS = FORMS * EACH };

static const struct {
    float temperature;
    int more; /* ids beyond those of the shortest answer */
} samplings[EACH] = {{0, 60}, {0.7f, 40}, {1.5f, 90}, {3, 25}, {2, 0}};

/* How an answer is made; none of it may show in it. */
static const struct way_of {
    const char *isa;
    int threads, chunk, pruned, naive, draft_max; /* draft_max -1: no drafts */
    int every;                                    /* slow ones make each so-manieth answer */
} ways[] = {
    {NULL, 1, 64, 0, 0, -1, 1},   {NULL, 2, 7, 0, 0, -1, 1},  {NULL, 2, 64, 1, 0, 0, 1},
    {NULL, 1, 1, 0, 0, 1, 2},     {NULL, 1, 64, 0, 1, -1, 9}, {"ref", 1, 64, 0, 0, 0, 9},
    {NULL, 1, 3, 1, 0, 1, 3},
#if defined(__aarch64__)
    {"neon", 2, 16, 0, 0, -1, 1},
#else
    {"avx2", 2, 16, 0, 0, -1, 3}, {"avx512", 1, 7, 1, 0, 0, 3}, {"vnni", 1, 16, 0, 0, 1, 3},
#endif
};

static struct answer {
    struct got got;
    unsigned long long hash;
} first[ANSWERS];
static carat_constraint *constraint[FORMS];
static carat_matcher *matcher[FORMS];

static void open_forms(void)
{
    for (int i = 0; i < FORMS; i++) {
        carat_constraint_options o;
        carat_constraint_options_default(&o);
        o.form = forms[i].form;
        o.text = forms[i].text;
        o.tool_choice = forms[i].choice;
        OK(carat_constraint_create(&constraint[i], tiny, &o, err));
        OK(carat_matcher_create(&matcher[i], constraint[i], err));
    }
}

static void close_forms(void)
{
    for (int i = 0; i < FORMS; i++) {
        carat_matcher_close(matcher[i]);
        carat_constraint_close(constraint[i]);
    }
}

static carat_tokens prompt_for(int i)
{
    static const char *const asked[] = {"Turn on the lights in the kitchen.", "What do spiders eat?"};

    return prompt_of(asked[i % 2], forms[i / EACH].form == CARAT_FORM_TOOLS ? tools : NULL);
}

static carat_sampling sampling_for(int i, bool has_form)
{
    carat_sampling s;

    carat_sampling_default(tiny, &s);
    s.temperature = samplings[i % EACH].temperature;
    s.seed = (uint64_t)i;
    s.matcher = has_form ? matcher[i / EACH] : NULL;
    if (i % 2) {
        s.top_k = 0;
        s.top_p = 1;
    }
    return s;
}

static carat_generation_options options_for(int i, const carat_sampling *s, int draft_max, int naive)
{
    carat_generation_options o;

    carat_generation_options_default(&o);
    o.sampling = s;
    o.max_tokens = carat_matcher_shortest(matcher[i / EACH]) + samplings[i % EACH].more + 1;
    o.lookup = draft_max < 0 ? CARAT_LOOKUP_OFF : CARAT_LOOKUP_ON;
    o.draft_max = draft_max < 0 ? 0 : draft_max;
    o.naive = naive;
    return o;
}

static struct rig open_way(const struct way_of *w, int sessions)
{
    carat_engine_options o = engine_of(sessions, w->isa);
    carat_head_options head;

    carat_head_options_default(&head);
    head.strategy = CARAT_HEAD_EXACT_PRUNED;
    o.threads = w->threads;
    o.chunk = w->chunk;
    o.head = w->pruned ? &head : NULL;
    return rig_open(tiny, &o);
}

static void check_same(int i, const struct got *got, const char *how)
{
    const struct got *f = &first[i].got;

    if (got->n != f->n || memcmp(got->id, f->id, (size_t)f->n * sizeof *f->id) != 0 ||
        got->info.reason != f->info.reason || got->info.forced != f->info.forced)
        fail_msg("answer %d, %s: another one", i, how);
}

static void answers_have_the_committed_hashes(void **state)
{
    static struct got got;
    unsigned long long committed[ANSWERS];
    char text[128];

    (void)state;
    open_forms();
    for (size_t w = 0; w < CT_COUNT(ways); w++) {
        if (ways[w].isa && !has_isa(tiny, ways[w].isa))
            continue;
        struct rig r = open_way(&ways[w], 1);
        snprintf(text, sizeof text, "way %zu", w);
        for (int i = (int)w % ways[w].every; i < ANSWERS; i += ways[w].every * (w && SANITIZED ? 4 : 1)) {
            const carat_sampling s = sampling_for(i, true);
            const carat_generation_options o = options_for(i, &s, ways[w].draft_max, ways[w].naive);
            carat_tokens prompt = prompt_for(i);
            generate(w ? &got : &first[i].got, r.session[0], &prompt, &o);
            carat_tokens_free(&prompt);
            if (w)
                check_same(i, &got, text);
            else
                assert_true(first[i].got.info.complete);
        }
        rig_close(&r);
    }
    for (int i = 0; i < ANSWERS; i++)
        first[i].hash = XXH3_64bits(first[i].got.id, (size_t)first[i].got.n * sizeof *first[i].got.id) ^
                        (unsigned long long)first[i].got.info.reason;
    FILE *f = fopen(HASHES, getenv("CARAT_WRITE_HASHES") ? "w" : "r");
    assert_non_null(f);
    if (getenv("CARAT_WRITE_HASHES")) {
        fprintf(f, "# XXH3-64 of the ids of answers that have a form; test/engine/test_constraint_hashes.c "
                   "says how to rewrite this file.\n");
        for (int i = 0; i < ANSWERS; i++)
            fprintf(f, "%2d %016llx\n", i, first[i].hash);
    } else {
        int n = 0, wrong = 0;
        while (fgets(text, sizeof text, f))
            if (text[0] != '#' && n < ANSWERS)
                wrong += sscanf(text, "%*d %16llx", &committed[n]) != 1 || committed[n] != first[n].hash, n++;
        assert_int_equal(n, ANSWERS);
        assert_int_equal(wrong, 0);
    }
    assert_int_equal(fclose(f), 0);
}

/* Two of different forms in one step, of which one is cut short by its callback now and then. */
static void neighbours_change_nothing(void **state)
{
    static struct got got[2];
    struct rig r = open_way(&ways[0], 2);

    (void)state;
    for (int i = 0; i < ANSWERS; i += SANITIZED ? 9 : 2) {
        const int which[2] = {i, (i + 17) % ANSWERS};
        carat_sampling s[2];
        carat_tokens prompt[2];
        carat_generation *g[2];
        for (int k = 0; k < 2; k++) {
            s[k] = sampling_for(which[k], true);
            const carat_generation_options o = options_for(which[k], &s[k], k ? 0 : -1, 0);
            prompt[k] = prompt_for(which[k]);
            got[k].stop_at = k && i % 3 == 0 ? 5 : 0;
            begin(&got[k], r.session[k], &prompt[k], &o);
            g[k] = got[k].g;
        }
        for (bool on = true; on;) {
            carat_generation_info info[2] = {{.size = sizeof *info}, {.size = sizeof *info}};
            OK(carat_generation_step(r.engine, g, got[1].stop_at && got[1].n >= 5 ? 1 : 2, err));
            for (int k = 0; k < 2; k++)
                OK(carat_generation_get_info(g[k], &info[k], err));
            on = !info[0].reason || (!info[1].reason && !got[1].stop_at);
        }
        for (int k = 0; k < 2; k++) {
            end(&got[k]);
            if (!got[k].stop_at)
                check_same(which[k], &got[k], "beside another one");
            carat_tokens_free(&prompt[k]);
        }
    }
    rig_close(&r);
}

/* Where the free answer is the whole of one that fits, it is that one, greedy and seeded, whatever drafts
 * there are (all ways have given the same answers). */
static void what_fits_by_itself_is_not_changed(void **state)
{
    static struct got plain;
    struct rig r = open_way(&ways[0], 1);
    int whole = 0, parted = 0;

    (void)state;
    for (int i = 0; i < ANSWERS; i++) {
        const carat_sampling s = sampling_for(i, false);
        const carat_generation_options o = options_for(i, &s, -1, 0);
        carat_tokens prompt = prompt_for(i);
        const struct got *kept = &first[i].got;
        carat_matcher *at;
        int n = 0;
        generate(&plain, r.session[0], &prompt, &o);
        OK(carat_matcher_copy(&at, matcher[i / EACH], err));
        while (n < plain.n && n < kept->n && plain.id[n] == kept->id[n])
            OK(carat_matcher_accept(at, plain.id[n++], err));
        if (n < plain.n) {
            assert_false(carat_matcher_allows(at, plain.id[n], o.max_tokens - n));
            parted++;
        } else if (carat_matcher_complete(at)) {
            assert_int_equal(plain.n, kept->n);
            assert_int_equal(plain.info.reason, kept->info.reason);
            whole++;
        }
        carat_matcher_close(at);
        carat_tokens_free(&prompt);
    }
    assert_true(whole >= 8 && parted >= 20);
    rig_close(&r);
    close_forms();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_have_the_committed_hashes),
        cmocka_unit_test(neighbours_change_nothing),
        cmocka_unit_test(what_fits_by_itself_is_not_changed),
    };
    return cmocka_run_group_tests(tests, prepare, clean_up);
}
