/* SPDX-License-Identifier: Apache-2.0 */
/* call_form.h: forms of calls over a vocabulary of bytes, with tokens for calls or without, and texts of them
 * that are walked at random. Included after cmocka. */
#ifndef TEST_CALL_FORM_H
#define TEST_CALL_FORM_H

#include "base/json_tree.h"
#include "grammar/automaton.h"
#include "grammar/tool_call.h"
#include "text/chat/call.h"
#include "text/tokenizer/tokenizer_parts.h"

#define SPACE "\xe2\x96\x81" /* as vocabularies spell it */

/* ---- a vocabulary of bytes, with tokens for calls or without ---- */

static const char *const with_calls[] = {"<unk>", "<start_function_call>", "<end_function_call>", "<escape>",
                                         "<start_function_response>"};
static const char *const without[] = {"<unk>", "<bos>"};

static struct ct_tokenizer *vocabulary(const char *const *control, int n_control)
{
    struct ct_tokenizer *t = NULL;
    char s[8];
    bool good = ct_tokenizer_create(&t, CT_SOURCE_JSON, NULL, NULL) == CARAT_OK;

    assert_true(good);
    t->seed = 1;
    for (int i = 0; i < n_control; i++)
        good = good && ct_tokenizer_add(t, "test", i, ct_str_of(control[i]),
                                        i ? CT_PIECE_CONTROL : CT_PIECE_UNKNOWN, false, NULL) == CARAT_OK;
    for (int b = 0; b < 256; b++) {
        snprintf(s, sizeof s, "<0x%02X>", (unsigned)b);
        good = good && ct_tokenizer_add(t, "test", t->n, (struct ct_str){s, 6}, CT_PIECE_BYTE, false, NULL) ==
                           CARAT_OK;
    }
    good =
        good && ct_tokenizer_add(t, "test", t->n, ct_str_of(SPACE), CT_PIECE_NORMAL, false, NULL) == CARAT_OK;
    t->byte_fallback = true;
    ct_tokenizer_name_controls(t);
    assert_true(good && ct_tokenizer_merges(t, NULL, 0, NULL) == CARAT_OK &&
                ct_tokenizer_finish(t, "test", NULL) == CARAT_OK);
    return t;
}

static struct ct_tokenizer *vocabulary_of(bool json)
{
    return json ? vocabulary(without, (int)CT_COUNT(without))
                : vocabulary(with_calls, (int)CT_COUNT(with_calls));
}

/* ---- a form ---- */

struct form {
    struct ct_tokenizer *t;
    struct ct_grammar g;
    struct ct_automaton a;
    int32_t opens;
    int first_byte; /* id of byte 0 */
    carat_error err;
};

static carat_status form_open(struct form *f, bool json, const char *tools, const char *choice, bool one)
{
    const struct ct_call_options o = {.choice = choice, .one = one};
    int32_t rule = -1;

    *f = (struct form){.t = vocabulary_of(json)};
    f->first_byte = json ? (int)CT_COUNT(without) : (int)CT_COUNT(with_calls);
    ct_grammar_init(&f->g);
    CT_TRY(ct_calls_rule(&f->g, f->t, ct_str_of(tools), &o, &rule, &f->opens, &f->err));
    CT_TRY(ct_grammar_finish(&f->g, rule, &f->err));
    return ct_automaton_open(&f->a, &f->g, &f->err);
}

static void form_close(struct form *f)
{
    if (f->a.grammar)
        ct_automaton_close(&f->a);
    ct_grammar_free(&f->g);
    ct_tokenizer_free(f->t);
}

static uint64_t seed = 1;
static uint32_t draw(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

enum { LONGEST = 4000 };

static void take(struct form *f, int32_t symbol, int32_t *state, int32_t *ids, int *n)
{
    assert_true(*n < LONGEST);
    ids[(*n)++] = symbol < 256 ? f->first_byte + symbol : f->g.token[symbol - 256];
    *state = ct_automaton_symbol(&f->a, *state, symbol);
    assert_int_not_equal(*state, CT_DEAD);
}

/* The rest of a text of the form at random, in ids; symbols of few members are drawn as often as others. */
static int walk_on(struct form *f, int32_t state, uint32_t length, int32_t *ids, int n)
{

    for (uint32_t i = 0; i < length; i++) {
        int choice[256 + 8], n_choice = 0;
        const int only = (int)draw((uint32_t)f->g.n_classes);
        for (int symbol = 0; symbol < 256 + f->g.n_tokens; symbol++)
            if (ct_automaton_symbol(&f->a, state, symbol) != CT_DEAD &&
                (symbol >= 256 || f->g.class_of[symbol] == only || draw(16) == 0))
                choice[n_choice++] = symbol;
        if (n_choice == 0)
            continue;
        take(f, choice[draw((uint32_t)n_choice)], &state, ids, &n);
    }
    uint32_t least = ct_automaton_least(&f->a, state);
    for (int symbol; (symbol = ct_automaton_shortest(&f->a, state)) != CT_NO_SYMBOL;) {
        take(f, symbol, &state, ids, &n);
        assert_int_equal(ct_automaton_least(&f->a, state), --least);
    }
    assert_true(least == 0 && ct_automaton_accepts(&f->a, state));
    return n;
}

/* ---- declarations ---- */

#define FUNCTION(name, parameters)                                                                           \
    "{\"type\":\"function\",\"function\":{\"name\":\"" name "\",\"parameters\":" parameters "}}"
#define OBJECT(more) "{\"type\":\"object\"," more "}"

#endif
