/* SPDX-License-Identifier: Apache-2.0 */
/* tool_call.c: see tool_call.h. */
#include "grammar/tool_call.h"

#include "base/json_tree.h"
#include "base/utf8.h"
#include "text/chat/call.h"

enum { TOOLS_MAX = 128 };

struct calls {
    struct ct_grammar *g;
    const struct ct_call_options *o;
    struct ct_call_marks marks;
    int32_t comma, value; /* rules */
};

/* ---- values ---- */

/* A text between two tokens: any characters. */
static int32_t string_rule(struct calls *c)
{
    struct ct_grammar *g = c->g;
    const int32_t rule = ct_grammar_rule(g, "string"), inside = ct_grammar_node(g, rule);

    ct_grammar_token(g, ct_rule_start(g, rule), c->marks.quote, inside);
    ct_grammar_chars(g, inside, 1, 0x10ffff, CT_SPELL_PLAIN, inside);
    ct_grammar_token(g, inside, c->marks.quote, ct_rule_end(g, rule));
    return rule;
}

static void value_rule(struct calls *c)
{
    struct ct_grammar *g = c->g;

    c->value = ct_grammar_rule(g, "value");
    ct_grammar_call(g, ct_rule_start(g, c->value), string_rule(c), ct_rule_end(g, c->value));
}

/* ---- tools ---- */

/* A name or a key stands as it is: it may hold nothing that ends it. */
static carat_status check_bare(struct ct_str s, const char *what, size_t i, carat_error *err)
{
    for (size_t k = 0; k < s.n; k++)
        if (!s.s[k] || strchr(CT_CALL_SYNTAX, s.s[k]))
            return ct_fail(err, CARAT_E_ARGUMENT,
                           "tools[%zu].function.%s \"%.*s\" holds '%c', which is part of the syntax of calls",
                           i, what, CT_BRIEF(s), s.s[k] ? s.s[k] : '0');
    return s.n ? CARAT_OK : ct_fail(err, CARAT_E_ARGUMENT, "tools[%zu].function.%s is empty", i, what);
}

static bool is_required(const struct ct_json_value *parameters, struct ct_str key)
{
    CT_JSON_EACH(one, ct_json_get(parameters, "required"))
    {
        if (ct_str_same(ct_json_str(one), key))
            return true;
    }
    return false;
}

/* The members of the arguments: each key once, in any order. */
static carat_status arguments_rule(struct calls *c, const struct ct_json_value *parameters, size_t i,
                                   int32_t *bag, carat_error *err)
{
    struct ct_grammar *g = c->g;
    const struct ct_json_value *properties = ct_json_get(parameters, "properties");

    *bag = ct_grammar_bag(g, "arguments", c->comma);
    CT_JSON_EACH(key, properties)
    {
        const struct ct_str name = ct_json_str(key);
        CT_TRY(check_bare(name, "parameters.properties", i, err));
        const int32_t member = ct_grammar_rule(g, "argument"), colon = ct_grammar_node(g, member),
                      value = ct_grammar_node(g, member);
        ct_grammar_text(g, ct_rule_start(g, member), name, colon);
        ct_grammar_text(g, colon, ct_str_of(":"), value);
        ct_grammar_call(g, value, c->value, ct_rule_end(g, member));
        ct_grammar_member(g, *bag, member, is_required(parameters, name));
    }
    return CARAT_OK;
}

/* One tool's call, behind "call:". */
static carat_status tool_path(struct calls *c, int32_t from, const struct ct_json_value *tool, size_t i,
                              int32_t to, carat_error *err)
{
    struct ct_grammar *g = c->g;
    const struct ct_json_value *function = ct_call_function(tool);
    const struct ct_str name = ct_json_str(ct_json_get(function, "name"));
    int32_t bag;

    CT_TRY(check_bare(name, "name", i, err));
    CT_TRY(arguments_rule(c, ct_json_get(function, "parameters"), i, &bag, err));
    const int32_t owner = g->owner ? g->owner[from] : -1, open = ct_grammar_node(g, owner),
                  inside = ct_grammar_node(g, owner), close = ct_grammar_node(g, owner);
    ct_grammar_text(g, from, name, open);
    ct_grammar_text(g, open, ct_str_of("{"), inside);
    ct_grammar_call(g, inside, bag, close);
    ct_grammar_text(g, close, ct_str_of("}"), to);
    return CARAT_OK;
}

/* Whether a choice names no tool. */
static bool is_any(const char *choice)
{
    static const char *const words[] = {"auto", "none", "required"};
    size_t i = 0;

    while (i < CT_COUNT(words) && strcmp(choice, words[i]) != 0)
        i++;
    return i < CT_COUNT(words);
}

static carat_status calls_rule(struct calls *c, const struct ct_json_value *tools, int32_t *rule,
                               carat_error *err)
{
    struct ct_grammar *g = c->g;
    const bool any = is_any(c->o->choice);
    size_t i = 0, taken = 0;

    c->comma = ct_grammar_rule(g, "comma");
    ct_grammar_text(g, ct_rule_start(g, c->comma), ct_str_of(","), ct_rule_end(g, c->comma));
    value_rule(c);
    const int32_t call = ct_grammar_rule(g, "call"), lead = ct_grammar_node(g, call),
                  name = ct_grammar_node(g, call), end = ct_grammar_node(g, call);
    ct_grammar_token(g, ct_rule_start(g, call), c->marks.begin, lead);
    ct_grammar_text(g, lead, ct_str_of("call:"), name);
    ct_grammar_token(g, end, c->marks.end, ct_rule_end(g, call));
    CT_JSON_EACH(tool, tools)
    {
        const struct ct_str own = ct_json_str(ct_json_get(ct_call_function(tool), "name"));
        if (any || ct_str_is(own, c->o->choice)) {
            CT_TRY(tool_path(c, name, tool, i, end, err));
            taken++;
        }
        i++;
    }
    if (!taken)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       any ? "tools: expected at least one tool to choose from"
                           : "tool_choice \"%s\" is none of the tools",
                       c->o->choice);
    *rule = ct_grammar_rule(g, "answer");
    const int32_t again = ct_grammar_node(g, *rule);
    ct_grammar_call(g, ct_rule_start(g, *rule), call, again);
    ct_grammar_skip(g, again, ct_rule_end(g, *rule));
    if (!c->o->one)
        ct_grammar_call(g, again, call, again);
    return CARAT_OK;
}

carat_status ct_calls_rule(struct ct_grammar *g, const struct ct_tokenizer *t, struct ct_str tools,
                           const struct ct_call_options *options, int32_t *rule, int32_t *opens,
                           carat_error *err)
{
    struct ct_call_options o = *options;
    struct calls c = {.g = g, .o = &o};
    struct ct_json_tree tree = {0};

    o.choice = o.choice ? o.choice : "auto";
    if (!ct_call_marks(t, &c.marks))
        return ct_fail(err, CARAT_E_UNSUPPORTED, "the vocabulary has no tokens for calls of functions");
    carat_status status = ct_json_tree_read(&tree, CARAT_E_ARGUMENT, "tools", ct_str_bytes(tools), err);
    if (!status && (!ct_json_is(tree.value, CT_JSON_ARRAY) || ct_json_count(tree.value) > TOOLS_MAX))
        status = ct_fail(err, CARAT_E_ARGUMENT, "tools: expected a list of at most %d functions", TOOLS_MAX);
    if (!status)
        status = calls_rule(&c, tree.value, rule, err);
    ct_json_tree_free(&tree);
    if (!status)
        *opens = is_any(o.choice) && strcmp(o.choice, "required") != 0 ? c.marks.begin : -1;
    return status;
}
