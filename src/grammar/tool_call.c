/* SPDX-License-Identifier: Apache-2.0 */
/* tool_call.c: see tool_call.h. */
#include "grammar/tool_call.h"

#include "base/json_tree.h"
#include "base/utf8.h"
#include "grammar/schema.h"
#include "text/chat/call.h"

enum { TOOLS_MAX = 128 };

struct calls {
    struct ct_grammar *g;
    const struct ct_call_options *o;
    struct ct_call_marks marks;
    struct ct_schema_shared shared;
};

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

/* The arguments of a tool, in braces: what its schema says; of one without parameters none. */
static carat_status arguments_path(struct calls *c, int32_t from, const struct ct_json_value *parameters,
                                   size_t i, int32_t to, carat_error *err)
{
    char place[64];
    const struct ct_schema_options o = {.prefix = place,
                                        .space = CT_SPACE_NONE,
                                        .any_order = true,
                                        .calls = true,
                                        .quote = c->marks.quote,
                                        .shared = &c->shared};
    int32_t rule;

    if (ct_json_count(parameters) == 0) {
        ct_grammar_text(c->g, from, ct_str_of("{}"), to);
        return CARAT_OK;
    }
    snprintf(place, sizeof place, "tools[%zu].function.parameters", i);
    if (!ct_json_is_text(ct_json_get(parameters, "type"), "object"))
        return ct_fail(err, CARAT_E_ARGUMENT, "%s.type: expected \"object\"", place);
    CT_TRY(ct_schema_rule(c->g, parameters, &o, &rule, err));
    ct_grammar_call(c->g, from, rule, to);
    return CARAT_OK;
}

/* One tool's call, behind "call:". */
static carat_status tool_path(struct calls *c, int32_t from, const struct ct_json_value *tool, size_t i,
                              int32_t to, carat_error *err)
{
    const struct ct_json_value *function = ct_call_function(tool);
    const struct ct_str name = ct_json_str(ct_json_get(function, "name"));

    CT_TRY(check_bare(name, "name", i, err));
    const int32_t arguments = ct_grammar_node(c->g, from < 0 ? -1 : c->g->owner[from]);
    ct_grammar_text(c->g, from, name, arguments);
    return arguments_path(c, arguments, ct_json_get(function, "parameters"), i, to, err);
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
    ct_schema_shared_free(&c.shared);
    if (!status)
        *opens = is_any(o.choice) && strcmp(o.choice, "required") != 0 ? c.marks.begin : -1;
    return status;
}
