/* SPDX-License-Identifier: Apache-2.0 */
/* test_constraint_faults.c: bad forms are refused with their place, on a stack of 256 KiB; a thousand forms
 * in a row leave nothing behind; and while one is compiled, copied and drawn with, each request for memory is
 * refused once: that is CARAT_E_MEMORY with a sentence, and everything is given back. */
#include "told_util.h"

#include <pthread.h>

#include "carat_constrain.h"
#include "refusable.h"

static carat_status compile(carat_constraint **c, carat_form form, const char *text, size_t n,
                            carat_error *why)
{
    carat_constraint_options o;

    carat_constraint_options_default(&o);
    o.form = form;
    o.text = text;
    o.n_text = n;
    o.tool_choice = "required";
    return carat_constraint_create(c, tiny, &o, why);
}

/* ---- bad forms ---- */

#define TOOL(schema)                                                                                         \
    "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\","              \
    "\"properties\":"                                                                                        \
    "{\"room\":" schema "}}}}]"
#define ROOM "tools[0].function.parameters.properties.room."

static const struct bad {
    carat_form form;
    const char *text, *says;
    size_t n; /* 0: terminated */
} bad[] = {
    {CARAT_FORM_SCHEMA, "{\"$ref\":\"file:///etc/passwd\"}", "$ref", 0},
    {CARAT_FORM_SCHEMA, "{\"items\":{\"$ref\":\"http://example.com/a.json\"}}", "items.$ref", 0},
    {CARAT_FORM_SCHEMA, "{\"$ref\":\"#\"}", "refers to itself", 0},
    {CARAT_FORM_SCHEMA, "{\"$ref\":\"#/$defs/a\",\"$defs\":{\"a\":{\"$ref\":\"#/$defs/a\"}}}",
     "$defs.a: it refers to itself", 0},
    {CARAT_FORM_SCHEMA, "{\"enum\":[]}", "enum", 0},
    {CARAT_FORM_SCHEMA, "{\"type\":\"hiccup\"}", "type", 0},
    {CARAT_FORM_SCHEMA, "false", "no JSON fits", 0},
    {CARAT_FORM_SCHEMA, "{\"type\":\"integer\",\"minimum\":3,\"maximum\":2}", "no JSON fits", 0},
    {CARAT_FORM_SCHEMA, "{\"pattern\":\"a{1,1000000000}\"}", "pattern: byte 1", 0},
    {CARAT_FORM_SCHEMA, "{\"pattern\":\"(?<=x)\"}", "pattern: byte 0", 0},
    {CARAT_FORM_SCHEMA, "{\"type\":\"string\",\"pattern\":\"$x\"}", "no JSON fits", 0},
    {CARAT_FORM_SCHEMA, "{\"const\":\"\\ud800\"}", "", 0},
    {CARAT_FORM_SCHEMA, "{\"const\":\"a\0b\"}", "", 15},
    {CARAT_FORM_SCHEMA, "{\"const\":\"\\u0000\"}", "", 0},
    {CARAT_FORM_SCHEMA, "7", "", 0},
    {CARAT_FORM_REGEX, "*", "byte 0", 0},
    {CARAT_FORM_REGEX, "a{1,1000000000}", "byte 1", 0},
    {CARAT_FORM_REGEX, "b^a", "no text fits", 0},
    {CARAT_FORM_REGEX, "(?=a)b", "byte 0", 0},
    {CARAT_FORM_REGEX, "(a)\\1", "byte 3", 0},
    {CARAT_FORM_REGEX, "\xff", "byte 0", 0},
    {CARAT_FORM_REGEX, "a\0b", "", 3},
    {CARAT_FORM_GRAMMAR, "root ::= root \"a\" | \"b\"", "left recursion", 0},
    {CARAT_FORM_GRAMMAR, "x ::= \"a\"", "root", 0},
    {CARAT_FORM_GRAMMAR, "root ::= \"a\xff\"", "line 1", 0},
    {CARAT_FORM_GRAMMAR, "root ::= \"a\"{1,1000000000}", "line 1", 0},
    {CARAT_FORM_GRAMMAR, "root ::= *", "line 1", 0},
    {CARAT_FORM_TOOLS, TOOL("{\"enum\":[]}"), ROOM "enum", 0},
    {CARAT_FORM_TOOLS, TOOL("{\"pattern\":\"a(\"}"), ROOM "pattern: byte 1", 0},
    {CARAT_FORM_TOOLS, TOOL("{\"$ref\":\"http://x/y\"}"), ROOM "$ref", 0},
    {CARAT_FORM_TOOLS, TOOL("{\"type\":\"hiccup\"}"), ROOM "type", 0},
};

static int missed;

static void check_refused(carat_form form, const char *text, size_t n, carat_status as, const char *says)
{
    carat_constraint *c = NULL;
    carat_error why = {0};
    const long before = live;
    const carat_status status = compile(&c, form, text, n, &why);

    if (status == as && strstr(why.message, says) && live == before && !c)
        return;
    missed++;
    print_error("%.80s: %d, %s; expected: %s\n", text, (int)status, status ? why.message : "taken", says);
    carat_constraint_close(c);
}

/* n times one text, between two others. */
static char *repeated(const char *begin, const char *text, int n, const char *end)
{
    const size_t length = strlen(text);
    char *all = malloc(strlen(begin) + (size_t)n * length + strlen(end) + 1), *at = all;

    assert_non_null(all);
    at += sprintf(at, "%s", begin);
    for (int i = 0; i < n; i++, at += length)
        memcpy(at, text, length);
    strcpy(at, end);
    return all;
}

static void *refuse_all(void *user)
{
    static const struct {
        carat_form form;
        const char *begin, *text, *end;
        int n;
    } large[] = {
        {CARAT_FORM_TOOLS, "[", "{\"name\":\"f\",\"parameters\":{}},", "{\"name\":\"g\"}]", 10000},
        {CARAT_FORM_SCHEMA, "", "[", "", 60000},
        {CARAT_FORM_SCHEMA, "", "{\"items\":", "{}", 60000},
        {CARAT_FORM_SCHEMA, "{\"pattern\":\"", "(", "\"}", 60000},
        {CARAT_FORM_REGEX, "", "(", "", 60000},
        {CARAT_FORM_REGEX, "", "[", "", 60000},
        {CARAT_FORM_GRAMMAR, "root ::= ", "(", "", 60000},
        {CARAT_FORM_GRAMMAR, "root ::= \"a\"", "\nx", "", 60000},
    };

    (void)user;
    for (size_t i = 0; i < CT_COUNT(bad); i++)
        check_refused(bad[i].form, bad[i].text, bad[i].n, CARAT_E_ARGUMENT, bad[i].says);
    check_refused(CARAT_FORM_TOOLS, TOOL("{\"not\":{}}"), 0, CARAT_E_UNSUPPORTED, ROOM "not");
    for (size_t i = 0; i < CT_COUNT(large); i++) {
        char *text = repeated(large[i].begin, large[i].text, large[i].n, large[i].end);
        check_refused(large[i].form, text, 0, CARAT_E_ARGUMENT, "");
        free(text);
    }
    return NULL;
}

static void bad_forms_are_refused(void **state)
{
    pthread_attr_t small;
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_attr_init(&small), 0);
    assert_int_equal(pthread_attr_setstacksize(&small, (SANITIZED ? 8 : 1) * (256 << 10)), 0);
    assert_int_equal(pthread_create(&thread, &small, refuse_all, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pthread_attr_destroy(&small), 0);
    assert_int_equal(missed, 0);
}

/* ---- memory ---- */

static void a_thousand_forms_leave_nothing(void **state)
{
    const long before = live;

    (void)state;
    for (int i = 0; i < (SANITIZED ? 100 : 1000); i++) {
        char text[160];
        carat_constraint *c = NULL;
        snprintf(
            text, sizeof text,
            "{\"type\":\"object\",\"properties\":{\"k%d\":{\"pattern\":\"^(a+)+$\"},\"n\":{\"maximum\":%d}}}",
            i, i);
        OK(compile(&c, CARAT_FORM_SCHEMA, text, 0, err));
        carat_constraint_close(c);
        assert_int_equal(live, before);
    }
}

/* Compiles a form, makes matchers of it and generates with one of them. */
static carat_status use(carat_session *s, carat_form form, const char *text, carat_error *why)
{
    carat_constraint *c = NULL;
    carat_matcher *m = NULL, *copy = NULL;
    carat_generation *g = NULL;
    carat_generation_options o;
    carat_sampling sampling;
    carat_status status = compile(&c, form, text, 0, why);

    if (!status)
        status = carat_matcher_create(&m, c, why);
    if (!status)
        status = carat_matcher_copy(&copy, m, why);
    if (!status) {
        carat_sampling_default(tiny, &sampling);
        sampling.matcher = copy;
        sampling.temperature = 3;
        carat_generation_options_default(&o);
        o.sampling = &sampling;
        o.max_tokens = carat_matcher_shortest(m) + 10;
        status = carat_generation_create(&g, s, &o, why);
    }
    if (!status) { /* nothing is asked for from here on */
        const long before = requests;
        status = carat_generate(g, why);
        assert_non_null(carat_matcher_mask(m, 0));
        assert_true(carat_matcher_allows(m, carat_matcher_shortest(m), 0) >= 0);
        assert_int_equal(requests, before);
    }
    carat_generation_close(g);
    carat_matcher_close(copy);
    carat_matcher_close(m);
    carat_constraint_close(c);
    return status;
}

static void each_request_is_refused_once(void **state)
{
    static const struct {
        carat_form form;
        const char *text;
    } forms[] = {
        {CARAT_FORM_SCHEMA,
         "{\"properties\":{\"a\":{\"pattern\":\"x+\",\"maxLength\":4},\"b\":{\"multipleOf\":3}},"
         "\"required\":[\"a\"],\"additionalProperties\":false,\"type\":\"object\"}"},
        {CARAT_FORM_REGEX, "(?:ab|[c-e]{2,3})+"},
        {CARAT_FORM_GRAMMAR, "root ::= \"a\" x*\nx ::= [b-d] | \"e\" root\n"},
        {CARAT_FORM_TOOLS, TOOL("{\"enum\":[\"x\",\"y\"]}")},
    };
    struct rig r = open_rig(1, NULL);
    carat_tokens prompt = prompt_of("Hello", NULL);

    (void)state;
    OK(carat_sync(r.session[0], prompt.ids, prompt.n, NULL, err));
    for (size_t i = 0; i < CT_COUNT(forms); i++) {
        carat_status status = CARAT_E_MEMORY;
        long n = 0;
        for (; status == CARAT_E_MEMORY; n++) {
            carat_error why = {0};
            const long before = live;
            OK(carat_sync(r.session[0], prompt.ids, prompt.n, NULL, err));
            requests = 0;
            refuse_at = n;
            status = use(r.session[0], forms[i].form, forms[i].text, &why);
            refuse_at = NEVER;
            assert_int_equal(live, before);
            if (status && !strstr(why.message, "out of memory "))
                fail_msg("request %ld: %s", n, why.message);
        }
        assert_int_equal(status, CARAT_OK);
        assert_true(n > 30 && requests < n);
    }
    carat_tokens_free(&prompt);
    rig_close(&r);
}

/* The tree of all texts is made once for a model. */
static int prepare_tree(void **state)
{
    carat_constraint *c = NULL;

    (void)prepare(state);
    OK(compile(&c, CARAT_FORM_REGEX, "a", 0, err));
    carat_constraint_close(c);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_forms_are_refused),
        cmocka_unit_test(a_thousand_forms_leave_nothing),
        cmocka_unit_test(each_request_is_refused_once),
    };
    return cmocka_run_group_tests(tests, prepare_tree, clean_up);
}
