/* SPDX-License-Identifier: Apache-2.0 */
/* test_mask.c: masks are what asking for each id gives, at 10,000 places of answers that are drawn at random,
 * with any number of ids to come and with few; whether they are kept or made again. */
#define _POSIX_C_SOURCE 200809L
#include "text/text_golden.h"

#include "grammar/mask.h"

static struct ct_grammar g;
static struct ct_ids ids;
static struct ct_masks masks;
static struct ct_tokenizer *tokenizer;
static carat_error err;

static uint32_t next_random(uint64_t *s)
{
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*s >> 33);
}

static int32_t start(int32_t rule)
{
    return ct_rule_start(&g, rule);
}

static int32_t end(int32_t rule)
{
    return ct_rule_end(&g, rule);
}

static int32_t text_rule(const char *text)
{
    const int32_t rule = ct_grammar_rule(&g, text);

    ct_grammar_text(&g, start(rule), ct_str_of(text), end(rule));
    return rule;
}

/* Strings of JSON; at most `most` characters, 0: any number; low to high: these characters alone. */
static int32_t string_rule(int most, uint32_t low, uint32_t high)
{
    const int32_t rule = ct_grammar_rule(&g, "string");
    int32_t at = ct_grammar_node(&g, rule);

    ct_grammar_bytes(&g, start(rule), '"', '"', at);
    if (most == 0)
        ct_grammar_chars(&g, at, low, high, CT_SPELL_JSON, at);
    ct_grammar_bytes(&g, at, '"', '"', end(rule));
    for (int i = 0; i < most; i++) {
        const int32_t next = ct_grammar_node(&g, rule);
        ct_grammar_chars(&g, at, low, high, CT_SPELL_JSON, next);
        ct_grammar_bytes(&g, next, '"', '"', end(rule));
        at = next;
    }
    return rule;
}

/* Strings in which some characters are left out, and one that is followed by two letters; at most `most`
 * characters, 0: any number. */
static int32_t holes_rule(int most)
{
    static const uint32_t taken[][2] = {{0x20, ' '},        {'%', '-'},       {'/', 0x1fff},
                                        {0x2000, 0x2027},   {0x202a, 0x4e2c}, {0x4e2e, 0x1f5ff},
                                        {0x1f601, 0x10ffff}};
    const int32_t rule = ct_grammar_rule(&g, "holes"), behind = ct_grammar_node(&g, rule);
    int32_t at = ct_grammar_node(&g, rule);

    ct_grammar_bytes(&g, start(rule), '"', '"', at);
    ct_grammar_bytes(&g, behind, '"', '"', end(rule));
    for (int i = 0; i < CT_MAX(most, 1); i++) {
        const int32_t next = most ? ct_grammar_node(&g, rule) : at, dot = ct_grammar_node(&g, rule),
                      letter = ct_grammar_node(&g, rule);
        for (size_t k = 0; k < CT_COUNT(taken); k++)
            ct_grammar_chars(&g, at, taken[k][0], taken[k][1], CT_SPELL_JSON, next);
        ct_grammar_bytes(&g, at, '.', '.', dot);
        ct_grammar_bytes(&g, dot, 'a', 'z', letter);
        ct_grammar_bytes(&g, letter, 'a', 'z', next);
        ct_grammar_skip(&g, next, behind);
        at = next;
    }
    return rule;
}

enum ending { ANY_ONE, LETTER_AND_ANY_ONE, LETTERS };

/* Any characters, then perhaps a dot and what may be behind it. */
static int32_t ending_rule(enum ending what)
{
    const int32_t rule = ct_grammar_rule(&g, "ending"), at = ct_grammar_node(&g, rule),
                  dot = ct_grammar_node(&g, rule), letter = ct_grammar_node(&g, rule),
                  behind = ct_grammar_node(&g, rule);

    ct_grammar_bytes(&g, start(rule), '"', '"', at);
    ct_grammar_chars(&g, at, 0x20, '-', CT_SPELL_JSON, at);
    ct_grammar_chars(&g, at, '/', 0x10ffff, CT_SPELL_JSON, at);
    ct_grammar_bytes(&g, at, '.', '.', dot);
    if (what == ANY_ONE)
        ct_grammar_skip(&g, dot, letter);
    else
        ct_grammar_bytes(&g, dot, 'a', 'z', what == LETTERS ? dot : letter);
    if (what == LETTERS)
        ct_grammar_bytes(&g, dot, '.', '.', dot);
    ct_grammar_chars(&g, letter, 0x20, 0x10ffff, CT_SPELL_JSON, behind);
    ct_grammar_skip(&g, what == LETTERS ? dot : at, behind);
    ct_grammar_bytes(&g, behind, '"', '"', end(rule));
    return rule;
}

enum rest { ANY_NUMBER, ONE_MORE, AT_MOST_THREE };

/* Strings that are none of a few words, as keys that are not declared: nearly every first character leads to
 * one state. \xe9 is followed by a dot alone, q and 8 do not begin one. */
static int32_t others_rule(enum rest what)
{
    static const uint32_t usual[][2] = {{0x20, '7'}, {'9', '`'}, {'b', 'p'}, {'r', 0xe8}, {0xea, 0x10ffff}};
    const int32_t rule = ct_grammar_rule(&g, "others"), first = ct_grammar_node(&g, rule),
                  a_seen = ct_grammar_node(&g, rule), ab_seen = ct_grammar_node(&g, rule),
                  e_seen = ct_grammar_node(&g, rule), quote = ct_grammar_node(&g, rule);
    int32_t rest = ct_grammar_node(&g, rule), at = rest;

    ct_grammar_bytes(&g, start(rule), '"', '"', first);
    for (size_t k = 0; k < CT_COUNT(usual); k++)
        ct_grammar_chars(&g, first, usual[k][0], usual[k][1], CT_SPELL_JSON, rest);
    ct_grammar_bytes(&g, first, 'a', 'a', a_seen);
    ct_grammar_chars(&g, first, 0xe9, 0xe9, CT_SPELL_PLAIN, e_seen);
    ct_grammar_bytes(&g, e_seen, '.', '.', rest);
    ct_grammar_chars(&g, a_seen, 0x20, '`', CT_SPELL_JSON, rest);
    ct_grammar_bytes(&g, a_seen, 'b', 'b', ab_seen);
    ct_grammar_chars(&g, a_seen, 'd', 0x10ffff, CT_SPELL_JSON, rest);
    ct_grammar_chars(&g, ab_seen, 0x20, 'l', CT_SPELL_JSON, rest);
    ct_grammar_skip(&g, a_seen, quote);
    for (int i = 0; i < 3 && what == AT_MOST_THREE; i++) {
        const int32_t next = ct_grammar_node(&g, rule);
        ct_grammar_chars(&g, at, 0x20, 0x10ffff, CT_SPELL_JSON, next);
        ct_grammar_skip(&g, at, quote);
        at = next;
    }
    if (what == ONE_MORE) {
        at = ct_grammar_node(&g, rule);
        ct_grammar_chars(&g, rest, 0x20, 0x10ffff, CT_SPELL_JSON, at);
    }
    if (what != AT_MOST_THREE)
        ct_grammar_chars(&g, at, 0x20, 0x10ffff, CT_SPELL_JSON, at);
    ct_grammar_skip(&g, at, quote);
    ct_grammar_bytes(&g, quote, '"', '"', end(rule));
    return rule;
}

static int32_t number_rule(void)
{
    const int32_t rule = ct_grammar_rule(&g, "number"), digits = ct_grammar_node(&g, rule);

    ct_grammar_bytes(&g, start(rule), '1', '9', digits);
    ct_grammar_bytes(&g, digits, '0', '9', digits);
    ct_grammar_skip(&g, digits, end(rule));
    return rule;
}

static int32_t list_rule(int32_t value)
{
    const int32_t rule = ct_grammar_rule(&g, "list"), first = ct_grammar_node(&g, rule),
                  behind = ct_grammar_node(&g, rule), next = ct_grammar_node(&g, rule);

    ct_grammar_bytes(&g, start(rule), '[', '[', first);
    ct_grammar_bytes(&g, first, ']', ']', end(rule));
    ct_grammar_call(&g, first, value, behind);
    ct_grammar_bytes(&g, behind, ']', ']', end(rule));
    ct_grammar_bytes(&g, behind, ',', ',', next);
    ct_grammar_bytes(&g, next, ' ', ' ', next);
    ct_grammar_call(&g, next, value, behind);
    return rule;
}

/* Members in any order, `name` and `place` required, each with a value of another kind; between tokens,
 * where the vocabulary has some. */
static int32_t object_rule(const int32_t *value, int n_values, int32_t token)
{
    static const char *const key[] = {
        "\"name\": ", "\"place\": ", "\"nickname\":", "\"count\": ", "\"all\": "};
    const int32_t rule = ct_grammar_rule(&g, "object"), inside = ct_grammar_node(&g, rule),
                  behind = ct_grammar_node(&g, rule);
    int32_t member[CT_COUNT(key)];

    for (size_t i = 0; i < CT_COUNT(key); i++) {
        member[i] = ct_grammar_rule(&g, key[i]);
        const int32_t colon = ct_grammar_node(&g, member[i]);
        ct_grammar_text(&g, start(member[i]), ct_str_of(key[i]), colon);
        ct_grammar_call(&g, colon, value[i % (size_t)n_values], end(member[i]));
    }
    const int32_t comma = text_rule(", "), bag = ct_grammar_bag(&g, "members", comma, 0, -1);
    for (size_t i = 0; i < CT_COUNT(key); i++)
        ct_grammar_member(&g, bag, member[i], i < 2);
    ct_grammar_bytes(&g, start(rule), '{', '{', inside);
    ct_grammar_call(&g, inside, bag, behind);
    ct_grammar_bytes(&g, behind, '}', '}', end(rule));
    if (token >= 0) {
        ct_grammar_token(&g, behind, token, end(rule));
        ct_grammar_token(&g, behind, ct_tokenizer_id(tokenizer, "a"), end(rule)); /* taken as its bytes */
    }
    return rule;
}

/* Values of JSON, some of narrow kinds. */
static void open_values(size_t bytes, int32_t n)
{
    ct_grammar_init(&g);
    const int32_t value = ct_grammar_rule(&g, "value");
    const int32_t kinds[] = {
        string_rule(0, 0, 0x10ffff),
        string_rule(12, 0, 0x10ffff),
        list_rule(value),
        string_rule(0, 'a', 'z'),
        holes_rule(0),
        holes_rule(20),
        number_rule(),
        string_rule(30, 0x20, 0xffff),
        others_rule(ANY_NUMBER),
        others_rule(ONE_MORE),
        others_rule(AT_MOST_THREE),
    };
    const int32_t enumeration = ct_grammar_rule(&g, "enumeration");
    static const char *const text[] = {"true", "tree", "trees in the wood", "null", "\xe2\x82\xac"};
    for (size_t i = 0; i < CT_COUNT(text); i++)
        ct_grammar_text(&g, start(enumeration), ct_str_of(text[i]), end(enumeration));
    for (size_t i = 0; i < CT_COUNT(kinds); i++)
        ct_grammar_call(&g, start(value), object_rule(kinds + i, (int)(CT_COUNT(kinds) - i), -1), end(value));
    ct_grammar_call(&g, start(value), enumeration, end(value));
    ct_grammar_call(&g, start(value), object_rule(kinds, CT_COUNT(kinds), ct_tokenizer_bos(tokenizer)),
                    end(value));
    assert_int_equal(ct_grammar_finish(&g, value, &err), CARAT_OK);
    assert_int_equal(ct_ids_open(&ids, &g, tokenizer, &err), CARAT_OK);
    assert_int_equal(ct_masks_open(&masks, &ids, n, bytes, &err), CARAT_OK);
}

static void close_values(void)
{
    ct_masks_close(&masks);
    ct_ids_close(&ids);
    ct_grammar_free(&g);
}

/* Each id is asked for. */
static void by_force(int32_t state, int most, uint64_t *bits)
{
    memset(bits, 0, masks.words * sizeof *bits);
    for (int32_t id = 0; id < masks.n; id++) {
        const int32_t to = ct_ids_follow(&ids, state, id);
        if (to != CT_DEAD && (most == INT32_MAX || ct_ids_ends_within(&ids, to, most)))
            bits[id / 64] |= UINT64_C(1) << id % 64;
    }
}

static void check_mask(int32_t state, int most, const uint64_t *expected)
{
    uint64_t bits[5000 + 1];

    assert_true(masks.words <= 5000);
    bits[masks.words] = 0x1234;
    ct_masks_of(&masks, state, most, bits);
    assert_int_equal(bits[masks.words], 0x1234);
    for (size_t i = 0; i < masks.words; i++)
        if (bits[i] != expected[i])
            fail_msg("state %d, %d ids may come: bits of ids from %zu: %llx, expected %llx", state, most,
                     64 * i, (unsigned long long)bits[i], (unsigned long long)expected[i]);
}

/* One of the ids of a mask; -1: there is none. */
static int32_t any_of(const uint64_t *bits, uint64_t *random)
{
    const int32_t from = (int32_t)(next_random(random) % (uint32_t)masks.n);

    for (int32_t i = 0; i < masks.n; i++) {
        const int32_t id = (from + i) % masks.n;
        if (bits[id / 64] >> id % 64 & 1)
            return id;
    }
    return -1;
}

/* Goes on with any id that fits, now and then with one of the shortest ending, from place to place. Every
 * eighth place is looked at with few ids to come, too. */
static void check_places(int places, uint64_t random)
{
    uint64_t **known = calloc(CT_SETS_MAX, sizeof *known), *few = calloc(masks.words, sizeof *few);
    int32_t state = ids.automaton.start;

    for (int i = 0; i < places; i++) {
        if (!known[state]) {
            known[state] = calloc(masks.words, sizeof **known);
            by_force(state, INT32_MAX, known[state]);
        }
        check_mask(state, INT32_MAX, known[state]);
        const int shortest = ct_ids_shortest(&ids, state);
        if (i % 8 == 0 && (i < 800 || masks.n < 10000)) {
            const int most = CT_MAX(shortest - 1, 0) + (int)(next_random(&random) % 6);
            by_force(state, most, few);
            check_mask(state, most, few);
            check_mask(state, most + 1000, known[state]);
        }
        int32_t id = next_random(&random) % 4 ? any_of(known[state], &random) : ct_ids_ending(&ids, state);
        if (id < 0 || i % 100 == 99)
            state = ids.automaton.start;
        else
            state = ct_ids_follow(&ids, state, id);
        assert_int_not_equal(state, CT_DEAD);
    }
    for (int32_t i = 0; i < CT_SETS_MAX; i++)
        free(known[i]);
    free(known);
    free(few);
}

static struct ct_tokenizer *tiny(void)
{
    struct ct_tokenizer *t;
    const struct ct_bytes file = read_file(CT_TEST_DATA "/../../models/tiny/tokenizer.json");

    assert_int_equal(ct_tokenizer_from_json(&t, "tokenizer.json", file, NULL, &err), CARAT_OK);
    free((void *)file.data);
    return t;
}

static void masks_of_tiny(void **state)
{
    (void)state;
    tokenizer = tiny();
    open_values(CT_MASK_BYTES, ct_tokenizer_size(tokenizer));
    check_places(10000, 1);
    close_values();
    ct_tokenizer_free(tokenizer);
}

/* Ids from 900 on stand for no text; three masks are kept. */
static void few_are_kept(void **state)
{
    (void)state;
    tokenizer = tiny();
    open_values(3 * (15 * 8 + 1), 900);
    assert_int_equal(masks.n_slots, 3);
    check_places(3000, 2);
    assert_int_equal(masks.n_used, 3);
    close_values();
    open_values(0, ct_tokenizer_size(tokenizer) + 100); /* one; ids that have no text */
    assert_int_equal(masks.n_slots, 1);
    check_places(1000, 3);
    close_values();
    ct_tokenizer_free(tokenizer);
}

/* Strings of all characters but one: what the others have in common is not what all have. */
static void characters_that_are_left_out(void **state)
{
    static const uint32_t out[] = {'!',    'a',    '~',     0xe9,    0x800,   0x4e2d,
                                   0xd000, 0xf900, 0x1f600, 0x40000, 0x100000};
    static const char json[] =
        "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xe2\x96\x81\"},"
        "\"decoder\":{\"type\":\"Sequence\",\"decoders\":["
        "{\"type\":\"Replace\",\"pattern\":{\"String\":\"\xe2\x96\x81\"},\"content\":\" \"},"
        "{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]},\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>"
        "\",\"byte_fallback\":false,\"vocab\":{\"<unk>\":0,"
        "\"!\":1,\"a\":2,\"~\":3,\"\\u00e9\":4,\"\\u0800\":5,\"\\u4e2d\":6,\"\\ud000\":7,\"\\uf900\":8,"
        "\"\\ud83d\\ude00\":9,\"\\ud8c0\\udc00\":10,\"\\udbc0\\udc00\":11,\"aa\":12,\"\\\"\":13},\"merges\":["
        "]}}";
    (void)state;
    if (ct_tokenizer_from_json(&tokenizer, "t", (struct ct_bytes){(const uint8_t *)json, sizeof json - 1},
                               NULL, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < CT_COUNT(out); i++) {
        uint64_t expected;
        ct_grammar_init(&g);
        const int32_t x = ct_grammar_rule(&g, "x");
        ct_grammar_chars(&g, start(x), 0x20, out[i] - 1, CT_SPELL_PLAIN, start(x));
        ct_grammar_chars(&g, start(x), out[i] + 1, 0x10ffff, CT_SPELL_PLAIN, start(x));
        ct_grammar_skip(&g, start(x), end(x));
        assert_int_equal(ct_grammar_finish(&g, x, &err), CARAT_OK);
        assert_int_equal(ct_ids_open(&ids, &g, tokenizer, &err), CARAT_OK);
        assert_int_equal(ct_masks_open(&masks, &ids, ct_tokenizer_size(tokenizer), 1000, &err), CARAT_OK);
        by_force(ids.automaton.start, INT32_MAX, &expected);
        assert_int_equal(expected, 0x3fff & ~((uint64_t)2 << i) & ~((uint64_t)(i == 1) << 12));
        check_mask(ids.automaton.start, INT32_MAX, &expected);
        close_values();
    }
    ct_tokenizer_free(tokenizer);
}

/* ---- all texts of a few characters ---- */

enum { THREE = 11 + 121 + 1331 };
static const char *const letters[11] = {"a",
                                        "b",
                                        ".",
                                        "\\\"",
                                        "\xc2\xbf",
                                        "\xc3\xa9",
                                        "\xe2\x80\xa8",
                                        "\xe2\x80\xa9",
                                        "\xe4\xb8\xad",
                                        "\xf0\x9f\x98\x80",
                                        "\xf0\x9f\x98\xbf"};

/* Every text of one to three of the letters. */
static struct ct_tokenizer *open_three(void)
{
    static char json[1 << 16];
    size_t n = (size_t)snprintf(
        json, sizeof json,
        "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xe2\x96\x81\"},"
        "\"decoder\":{\"type\":\"Sequence\",\"decoders\":["
        "{\"type\":\"Replace\",\"pattern\":{\"String\":\"\xe2\x96\x81\"},\"content\":\" \"},"
        "{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]},\"model\":{\"type\":\"BPE\",\"unk_token\":\"<unk>"
        "\",\"byte_fallback\":false,\"vocab\":{\"<unk>\":0");
    struct ct_tokenizer *t;

    for (int i = 0; i < THREE; i++) {
        const int length = i < 11 ? 1 : i < 11 + 121 ? 2 : 3;
        int rest = length == 1 ? i : length == 2 ? i - 11 : i - 11 - 121;
        n += (size_t)snprintf(json + n, sizeof json - n, ",\"");
        for (int k = 0; k < length; k++, rest /= 11)
            n += (size_t)snprintf(json + n, sizeof json - n, "%s", letters[rest % 11]);
        n += (size_t)snprintf(json + n, sizeof json - n, "\":%d", i + 1);
    }
    n += (size_t)snprintf(json + n, sizeof json - n, "},\"merges\":[]}}");
    assert_int_equal(ct_tokenizer_from_json(&t, "t", (struct ct_bytes){(const uint8_t *)json, n}, NULL, &err),
                     CARAT_OK);
    return t;
}

/* All states that letters lead to. */
static void check_all_states(int32_t root)
{
    uint64_t expected[THREE / 64 + 1];

    assert_int_equal(ct_grammar_finish(&g, root, &err), CARAT_OK);
    assert_int_equal(ct_ids_open(&ids, &g, tokenizer, &err), CARAT_OK);
    assert_int_equal(ct_masks_open(&masks, &ids, ct_tokenizer_size(tokenizer), 3000, &err), CARAT_OK);
    for (int32_t text = -1; text < THREE; text++) {
        static const int most[] = {INT32_MAX, 0, 1, 2, 5, 3, INT32_MAX};
        int32_t at = ct_automaton_byte(&ids.automaton, ids.automaton.start, '"');
        at = text < 0 ? at : ct_ids_follow(&ids, at, text);
        for (size_t i = 0; i < CT_COUNT(most) && at != CT_DEAD; i++) {
            by_force(at, most[i], expected);
            check_mask(at, most[i], expected);
        }
        if (text > 40 && text % 7) /* most come to the same states */
            text++;
    }
    close_values();
}

static void all_states(void **state)
{
    (void)state;
    tokenizer = open_three();
    for (int what = ANY_ONE; what <= LETTERS; what++) {
        ct_grammar_init(&g);
        check_all_states(ending_rule((enum ending)what));
    }
    for (int what = ANY_NUMBER; what <= AT_MOST_THREE; what++) {
        ct_grammar_init(&g);
        check_all_states(others_rule((enum rest)what));
    }
    for (int most = 0; most < 9; most += 2) {
        ct_grammar_init(&g);
        check_all_states(holes_rule(most));
        ct_grammar_init(&g);
        check_all_states(string_rule(most, 0, 0x10ffff));
        ct_grammar_init(&g);
        check_all_states(string_rule(most, 'a', 'z'));
        ct_grammar_init(&g);
        check_all_states(string_rule(most, 0x20, 0x2028));
    }
    ct_tokenizer_free(tokenizer);
}

/* The one that was asked for last stays longest. */
static void the_oldest_leaves(void **state)
{
    uint64_t bits[16];
    int32_t at[4];
    (void)state;
    tokenizer = tiny();
    open_values(3 * (15 * 8 + 1), 900);
    at[0] = ids.automaton.start;
    at[1] = ct_automaton_byte(&ids.automaton, at[0], '{');
    at[2] = ct_automaton_byte(&ids.automaton, at[1], '"');
    at[3] = ct_automaton_byte(&ids.automaton, at[2], 'n');
    static const int order[] = {0, 1, 2, 0, 3};
    for (size_t i = 0; i < CT_COUNT(order); i++)
        ct_masks_of(&masks, at[order[i]], INT32_MAX, bits);
    assert_true(masks.slot[at[0]] && !masks.slot[at[1]] && masks.slot[at[2]] && masks.slot[at[3]]);
    ct_masks_of(&masks, at[1], INT32_MAX, bits);
    assert_true(masks.slot[at[0]] && masks.slot[at[1]] && !masks.slot[at[2]] && masks.slot[at[3]]);
    const uint32_t pass = masks.pass;
    ct_masks_of(&masks, at[3], INT32_MAX, bits);
    ct_masks_of(&masks, at[3], 1000, bits);
    assert_int_equal(masks.pass, pass); /* not made again */
    ct_masks_of(&masks, at[2], INT32_MAX, bits);
    assert_true(!masks.slot[at[0]] && masks.slot[at[1]] && masks.slot[at[2]] && masks.slot[at[3]]);
    close_values();
    ct_tokenizer_free(tokenizer);
}

static void real_gemma3(void **state)
{
    (void)state;
    tokenizer = real_tokenizer("gemma3");
    open_values(CT_MASK_BYTES, ct_tokenizer_size(tokenizer));
    check_places(10000, 4);
    close_values();
    ct_tokenizer_free(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_of_tiny),
        cmocka_unit_test(few_are_kept),
        cmocka_unit_test(characters_that_are_left_out),
        cmocka_unit_test(all_states),
        cmocka_unit_test(the_oldest_leaves),
        cmocka_unit_test(real_gemma3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
