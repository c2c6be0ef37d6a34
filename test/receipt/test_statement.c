/* SPDX-License-Identifier: Apache-2.0 */
/* test_statement.c: receipts from anybody: what is wrong is refused with the file, the field, what was found
 * and what was expected; what is right is written again byte for byte, however it was spaced. */
#include "receipt/receipt_util.h"

static char *plain; /* a seeded answer with penalties, DRY and stop strings */

static int make_plain(void **state)
{
    struct settings s;
    carat_engine *engine = NULL;
    const carat_engine_options o = tiny_options(2, NULL, 0);

    open_tiny(state);
    choose_settings(&s, 3);
    s.chain.repeat_penalty = 1.1f;
    s.options.stops = stop_words + 1;
    s.options.n_stops = 1;
    OK(carat_engine_create(&engine, tiny, &o, err));
    plain = receipt_of(engine, &s, NULL, NULL);
    carat_engine_close(engine);
    return 0;
}

static int free_plain(void **state)
{
    carat_free(plain);
    return close_tiny(state);
}

/* The text with `to` in place of the first `from`, on the heap. */
static char *changed(const char *from, const char *to)
{
    const char *at = strstr(plain, from);

    if (!at)
        fail_msg("%s is not in %s", from, plain);
    char *text = malloc(strlen(plain) + strlen(to) + 1);
    assert_non_null(text);
    memcpy(text, plain, (size_t)(at - plain));
    strcpy(text + (at - plain), to);
    strcat(text, at + strlen(from));
    return text;
}

static const struct {
    const char *from, *to;
    carat_status status;
    const char *says;
} wrongs[] = {
    {"{\"_type\"", "hello", CARAT_E_FORMAT, "r.json: at byte 0"},
    {"\"_type\":\"https", "\"_type\":\"http", CARAT_E_FORMAT, "_type at byte"},
    {"urn:carat:receipt:v1", "urn:carat:receipt:v2", CARAT_E_UNSUPPORTED,
     "expected \"urn:carat:receipt:v1\""},
    {"\"version\":1", "\"version\":2", CARAT_E_UNSUPPORTED, "predicate.header.version at byte"},
    {"\"version\":1", "\"version\":\"1\"", CARAT_E_FORMAT, "predicate.header.version at byte"},
    {"\"seed\":", "\"seed\":\"1\",\"seed\":", CARAT_E_FORMAT,
     "duplicate key predicate.header.seed, expected once"},
    {"\"number\":0", "\"number\":4294967296", CARAT_E_FORMAT, "expected an integer from 0 to 4294967295"},
    {"\"number\":0", "\"number\":-1", CARAT_E_FORMAT, "predicate.header.number at byte"},
    {"\"layers\":6", "\"layers\":4097", CARAT_E_FORMAT, "is 4097, expected an integer from 1 to 4096"},
    {"\"layers\":6", "\"layers\":0", CARAT_E_FORMAT, "predicate.header.layers at byte"},
    {"\"first_layer\":0", "\"first_layer\":4097", CARAT_E_FORMAT, "predicate.header.first_layer at byte"},
    {"\"loop_guard\":0", "\"loop_guard\":4097", CARAT_E_FORMAT,
     "is 4097, expected an integer from 0 to 4096"},
    {"\"loop_guard\":0", "\"loop_guard\":-1", CARAT_E_FORMAT, "predicate.header.loop_guard at byte"},
    {"\"top_k\":64", "\"top_k\":2147483648", CARAT_E_FORMAT, "expected an integer from 0 to 2147483647"},
    {"\"context\":400", "\"context\":2147483648", CARAT_E_FORMAT, "predicate.header.context at byte"},
    {"\"max_tokens\":80", "\"max_tokens\":4294967376", CARAT_E_FORMAT, "predicate.header.max_tokens at byte"},
    {"\"thought_budget\":-1", "\"thought_budget\":-2", CARAT_E_FORMAT, "expected an integer from -1"},
    {"\"numerics\":1", "\"numerics\":2147483648", CARAT_E_FORMAT, "predicate.header.numerics at byte"},
    {"\"allowed_length\":2", "\"allowed_length\":2147483648", CARAT_E_FORMAT, "dry.allowed_length at byte"},
    {"\"last_n\":-1", "\"last_n\":-2", CARAT_E_FORMAT, "last_n at byte"},
    {"\"min_p\":0", "\"min_p\":1.5", CARAT_E_FORMAT, "is 1.5, expected a number from 0 to 1"},
    {"\"seed\":\"9", "\"seed\":\"36893488147419103232\",\"x\":\"9", CARAT_E_FORMAT, "predicate.header.x"},
    {"\"seed\":\"9223372036854775812\"", "\"seed\":\"18446744073709551616\"", CARAT_E_FORMAT,
     "expected a string with a decimal number of at most 64 bits"},
    {"\"seed\":\"9", "\"seed\":\"09", CARAT_E_FORMAT, "predicate.header.seed at byte"},
    {"\"seed\":\"9223372036854775812\"", "\"seed\":1", CARAT_E_FORMAT, "predicate.header.seed at byte"},
    {"\"temperature\":1", "\"temperature\":101", CARAT_E_FORMAT, "is 101, expected a number from 0 to 100"},
    {"\"temperature\":1", "\"temperature\":1e999", CARAT_E_FORMAT, "beyond the range"},
    {"\"temperature\":1,", "", CARAT_E_FORMAT, "predicate.header.temperature: expected a number"},
    {"\"top_k\":64", "\"top_k\":64.5", CARAT_E_FORMAT, "is 64.5, expected an integer from 0"},
    {"\"top_k\":64", "\"top_k\":-1", CARAT_E_FORMAT, "is -1, expected an integer from 0"},
    {"\"in_thought\":false", "\"in_thought\":0", CARAT_E_FORMAT, "expected true or false"},
    {"\"kv\":\"bf16\"", "\"kv\":\"bf17\"", CARAT_E_FORMAT, "expected one of bf16, f16, f32, q8"},
    {"\"dry\"", "\"DRY\"", CARAT_E_FORMAT, "predicate.header.DRY"},
    {"\"dry\":{", "\"dry\":{\"more\":1,", CARAT_E_FORMAT, "predicate.header.dry.more"},
    {"\"base\":1.75", "\"base\":0.5", CARAT_E_FORMAT, "predicate.header.dry.base at byte"},
    {"[\"penalties\",\"dry\"", "[\"dry\",\"dry\"", CARAT_E_FORMAT, "links of the chain, each once"},
    {"[\"penalties\",\"dry\"", "[\"penalties\",\"wet\"", CARAT_E_FORMAT, "links of the chain, each once"},
    {"\"biases\":[]", "\"biases\":[[1]]", CARAT_E_FORMAT, "pairs of an id and a number"},
    {"\"biases\":[]", "\"biases\":[[1,1e39]]", CARAT_E_FORMAT, "pairs of an id and a number"},
    {"\"content\":\"", "\"content\":\"0", CARAT_E_FORMAT, "expected 32 hexadecimal digits"},
    {"\"content\":\"", "\"content\":\"\",\"c\":\"", CARAT_E_FORMAT, "predicate.header.c"},
    {"\"digest\":\"", "\"digest\":\"0", CARAT_E_FORMAT, "predicate.digest at byte"},
    {"\"digests\":[\"", "\"digests\":[\"0", CARAT_E_FORMAT, "predicate.digests[0] at byte"},
    {"\"digests\":[", "\"digests\":[\"00000000000000000000000000000000\",", CARAT_E_FORMAT,
     "expected a list of 1 digests, for 80 tokens"},
    {"\"n\":80", "\"n\":79", CARAT_E_FORMAT, "expected 79 ids, as predicate.answer.n says"},
    {"\"n\":80", "\"n\":-1", CARAT_E_FORMAT, "predicate.answer.n at byte"},
    {"\"reason\":\"length\"", "\"reason\":\"stop\"", CARAT_E_FORMAT, "the id that ended the answer"},
    {"\"reason\":\"length\"", "\"reason\":\"bored\"", CARAT_E_FORMAT, "why an answer ends"},
    {"\"end\":null", "\"end\":-5", CARAT_E_FORMAT, "predicate.answer.end at byte"},
    {"\"context\":400", "\"context\":90", CARAT_E_FORMAT, "the 90 positions of header.context"},
    {"\"max_tokens\":80", "\"max_tokens\":79", CARAT_E_FORMAT, "at most the 79 of header.max_tokens"},
    {"\"ids\":[2,", "\"ids\":[4294967298,", CARAT_E_FORMAT, "predicate.prompt.ids[0] at byte"},
    {"\"ids\":[2,", "\"ids\":[-2,", CARAT_E_FORMAT, "predicate.prompt.ids[0] at byte"},
    {"\"ids\":[2,", "\"ids\":[true,", CARAT_E_FORMAT, "predicate.prompt.ids[0] at byte"},
    {"\"prompt\":{", "\"prompt\":{\"text\":\"\",", CARAT_E_FORMAT, "predicate.prompt.text"},
    {"\"prompt\":{", "\"salt\":\"00\",\"prompt\":{", CARAT_E_FORMAT, "predicate.salt at byte"},
    {"\"subject\":[", "\"subject\":[{},", CARAT_E_FORMAT, "subject at byte"},
    {"\"name\":\"answer.ids\"", "\"name\":\"answer.id\"", CARAT_E_FORMAT, "subject[0].name at byte"},
    {"{\"sha256\":\"", "{\"sha512\":\"", CARAT_E_FORMAT, "subject[0].digest.sha512"},
    {"\"stops\":[", "\"stops\":[1,", CARAT_E_FORMAT, "predicate.header.stops at byte"},
};

static void wrong_ones_are_refused(void **state)
{
    int failed = 0;

    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        char *text = changed(wrongs[i].from, wrongs[i].to);
        carat_receipt *r = NULL;
        carat_error err = {CARAT_OK, ""};
        const carat_status status = carat_receipt_read(&r, "r.json", text, strlen(text), &err);
        if (status != wrongs[i].status || !strstr(err.message, wrongs[i].says) ||
            strncmp(err.message, "r.json: ", 8) != 0)
            failed += fprintf(stderr, "change %zu, %s: %s: %s, expected '%s'\n", i, wrongs[i].to,
                              carat_status_name(status), err.message, wrongs[i].says) > 0;
        carat_receipt_close(r);
        free(text);
    }
    assert_int_equal(failed, 0);
}

/* Cut anywhere, it is refused. */
static void cut_ones_are_refused(void **state)
{
    const size_t n = strlen(plain);

    (void)state;
    for (size_t i = 0; i < n; i++) {
        carat_receipt *r = NULL;
        assert_int_equal(carat_receipt_read(&r, "r.json", plain, i, NULL), CARAT_E_FORMAT);
    }
}

/* Every hexadecimal digit of its hashes counts for a reader or for a replay: here what is the reader's. */
static void ids_have_their_hash(void **state)
{
    (void)state;
    char *text = changed("\"n\":80", "\"n\":80");
    char *at = strstr(text, "{\"sha256\":\"") + 11;
    carat_receipt *r = NULL;
    carat_error err = {CARAT_OK, ""};

    *at = *at == '0' ? '1' : '0';
    assert_int_equal(carat_receipt_read(&r, "r.json", text, strlen(text), &err), CARAT_E_FORMAT);
    assert_non_null(strstr(err.message, "subject[0].digest.sha256"));
    free(text);
}

static void spacing_is_free(void **state)
{
    (void)state;
    char *text = changed(",\"predicate\"", " ,\n\"predicate\" "), *again = NULL;
    carat_receipt *r = read_receipt(text);

    OK(carat_receipt_write(r, &again, NULL, err));
    assert_string_equal(again, plain);
    carat_receipt_close(r);
    carat_free(again);
    free(text);
}

/* What is read of a private one has no ids, and is written as it was. */
static void private_ones_stay(void **state)
{
    static const char salt[16] = "0123456789abcde";
    struct settings s;
    carat_engine *engine = NULL;
    const carat_engine_options o = tiny_options(1, NULL, 0);
    carat_receipt_options how;
    carat_receipt_options_default(&how);
    char *again = NULL;

    (void)state;
    choose_settings(&s, 14);
    how.is_private = 1;
    how.salt = salt;
    OK(carat_engine_create(&engine, tiny, &o, err));
    char *text = receipt_of(engine, &s, &how, NULL);
    carat_receipt *r = read_receipt(text);
    carat_receipt_info info;
    carat_receipt_info_default(&info);
    OK(carat_receipt_get_info(r, &info, err));
    assert_true(info.is_private && !info.prompt && !info.answer && info.n_answer == 1);
    OK(carat_receipt_write(r, &again, NULL, err));
    assert_string_equal(again, text);
    carat_receipt_close(r);
    carat_engine_close(engine);
    carat_free(text);
    carat_free(again);
}

static int never_called(void *user, size_t done, size_t total)
{
    (void)user;
    fail_msg("evaluated %zu of %zu tokens", done, total);
    return 1;
}

/* Refused by a model: nothing is evaluated. */
static void others_are_refused(void **state)
{
    static const struct {
        const char *from, *to;
        carat_status status;
        const char *says;
    } others[] = {
        {"\"numerics\":1", "\"numerics\":9", CARAT_E_UNSUPPORTED,
         "header.numerics is 9, but this library's is 1"},
        {"\"drawing\":2", "\"drawing\":1", CARAT_E_UNSUPPORTED,
         "header.drawing is 1, but this library's is 2"},
        {"\"vocabulary\":\"", "\"vocabulary\":\"\",\"xtc\":null,\"v\":\"", CARAT_E_FORMAT, "duplicate key"},
        {"\"ids\":[2,", "\"ids\":[262144,", CARAT_E_FORMAT,
         "predicate.prompt.ids[0] is 262144, expected an id below"},
        {"\"breakers\":[107,", "\"breakers\":[262144,", CARAT_E_FORMAT, "262144"},
        {"\"banned\":[", "\"banned\":[262144", CARAT_E_FORMAT, "r.json: header: "},
        {"\"biases\":[", "\"biases\":[[262144,1]", CARAT_E_FORMAT, "r.json: header: "},
        {"\"end\":null", "\"end\":262144", CARAT_E_FORMAT, "predicate.answer.end is 262144"},
        {"\"constraint\":null",
         "\"constraint\":{\"form\":\"regex\",\"json_dumps\":false,\"one_call\":false,\"sha256\":"
         "\"b97547e5a6dba4c6490091e38fb83c5e49ff0add979191e9f1a9456e2dbf65eb\",\"tool_choice\":null}",
         CARAT_E_UNSUPPORTED, "the answer has a form, and none is given"},
    };
    carat_replay_options how;
    carat_replay_options_default(&how);

    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char *text = changed(others[i].from, others[i].to);
        carat_receipt *r = NULL;
        carat_replay t;
        carat_replay_default(&t);
        carat_error err = {CARAT_OK, ""};
        carat_status status = carat_receipt_read(&r, "r.json", text, strlen(text), &err);
        if (status == CARAT_OK) {
            carat_engine *engine = engine_for(r, tiny_options(1, NULL, 0));
            how.progress = never_called;
            status = carat_receipt_replay(r, engine, &how, &t, &err);
            carat_engine_close(engine);
        }
        if (status != others[i].status || !strstr(err.message, others[i].says))
            fail_msg("change %zu, %s: %s: %s, expected '%s'", i, others[i].to, carat_status_name(status),
                     err.message, others[i].says);
        carat_receipt_close(r);
        free(text);
    }
}

/* Another arithmetic, KV type, or too small a context: an engine that is not the receipt's. */
static void other_engines_are_refused(void **state)
{
    carat_receipt *r = read_receipt(plain);
    carat_replay t;
    carat_replay_default(&t);

    (void)state;
    for (int i = 0; i < 4; i++) {
        static const char *const says[] = {"header.arithmetic is fast", "header.kv is bf16",
                                           "header.layers is 6, but the engine's is 5", "have a context of"};
        carat_engine_options o = tiny_options(1, NULL, 0);
        carat_engine *engine = NULL;
        carat_error why = {CARAT_OK, ""};
        o.exact = i == 0;
        o.kv = i == 1 ? CARAT_KV_F16 : CARAT_KV_DEFAULT;
        o.layers = i == 2 ? 5 : 0;
        o.context = i == 3 ? 90 : CONTEXT;
        OK(carat_engine_create(&engine, tiny, &o, err));
        const carat_status status = carat_receipt_replay(r, engine, NULL, &t, &why);
        assert_int_equal(status, i == 3 ? CARAT_E_ARGUMENT : CARAT_E_UNSUPPORTED);
        if (!strstr(why.message, i == 3 ? "the engine has a context of 90" : says[i]))
            fail_msg("%d: %s", i, why.message);
        carat_engine_close(engine);
    }
    carat_receipt_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_ones_are_refused),    cmocka_unit_test(cut_ones_are_refused),
        cmocka_unit_test(ids_have_their_hash),       cmocka_unit_test(spacing_is_free),
        cmocka_unit_test(private_ones_stay),         cmocka_unit_test(others_are_refused),
        cmocka_unit_test(other_engines_are_refused),
    };

    return cmocka_run_group_tests(tests, make_plain, free_plain);
}
