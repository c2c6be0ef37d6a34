/* SPDX-License-Identifier: Apache-2.0 */
/* tool_call.c: see tool_call.h. Two syntaxes: that of tokens, and JSON where the vocabulary has none. */
#include "grammar/tool_call.h"

#include "base/json_tree.h"
#include "base/utf8.h"
#include "grammar/regex.h"
#include "grammar/schema.h"
#include "text/chat/call.h"

enum { TOOLS_MAX = 128 };

struct calls {
    struct ct_grammar *g;
    const struct ct_call_options *o;
    bool json;
    struct ct_call_marks marks;
    int32_t space; /* of JSON: the rule between two tokens */
    struct ct_schema_shared shared;
};

/* ---- tools ---- */

/* A name stands as it is where it is not JSON: it may hold nothing that ends it. */
static carat_status check_name(const struct calls *c, struct ct_str s, size_t i, carat_error *err)
{
    for (size_t k = 0; k < s.n && !c->json; k++)
        if (!s.s[k] || strchr(CT_CALL_SYNTAX, s.s[k]))
            return ct_fail(
                err, CARAT_E_ARGUMENT,
                "tools[%zu].function.name: \"%.*s\" holds '%c', which is part of the syntax of calls", i,
                CT_BRIEF(s), s.s[k] ? s.s[k] : '0');
    return s.n ? CARAT_OK : ct_fail(err, CARAT_E_ARGUMENT, "tools[%zu].function.name: expected a name", i);
}

/* The arguments of a tool, in braces: what its schema says; of one without parameters none. */
static carat_status arguments_path(struct calls *c, int32_t from, const struct ct_json_value *parameters,
                                   size_t i, int32_t to, carat_error *err)
{
    char place[64];
    const struct ct_schema_options o = {.prefix = place,
                                        .space = c->json ? CT_SPACE_JSON : CT_SPACE_NONE,
                                        .argument = true,
                                        .calls = !c->json,
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

/* ---- one call ---- */

/* From a node on, a text with white space on both sides; returns the node behind. */
static int32_t spaced(struct calls *c, int32_t from, const char *text)
{
    const int32_t rule = from < 0 ? -1 : c->g->owner[from], before = ct_grammar_node(c->g, rule),
                  behind = ct_grammar_node(c->g, rule), next = ct_grammar_node(c->g, rule);

    ct_grammar_call(c->g, from, c->space, before);
    ct_grammar_text(c->g, before, ct_str_of(text), behind);
    ct_grammar_call(c->g, behind, c->space, next);
    return next;
}

/* From the name of a tool to the end of its arguments. */
static carat_status tool_path(struct calls *c, int32_t from, const struct ct_json_value *tool, size_t i,
                              int32_t to, carat_error *err)
{
    const struct ct_json_value *function = ct_call_function(tool),
                               *parameters = ct_json_get(function, "parameters");
    const struct ct_str name = ct_json_str(ct_json_get(function, "name"));
    const int32_t call = from < 0 ? -1 : c->g->owner[from];

    CT_TRY(check_name(c, name, i, err));
    if (ct_json_given(function, "parameters") && !ct_json_is(parameters, CT_JSON_OBJECT))
        return ct_fail(err, CARAT_E_ARGUMENT, "tools[%zu].function.parameters: expected an object", i);
    int32_t behind = ct_grammar_node(c->g, call);
    if (!c->json) {
        ct_grammar_text(c->g, from, name, behind);
        return arguments_path(c, behind, parameters, i, to, err);
    }
    const int32_t open = ct_grammar_node(c->g, call), close = ct_grammar_node(c->g, call);
    ct_grammar_bytes(c->g, from, '"', '"', open);
    ct_grammar_spelled(c->g, open, name, CT_SPELL_JSON, close);
    ct_grammar_bytes(c->g, close, '"', '"', behind);
    if (ct_json_count(parameters) == 0) /* then the model may leave out that it has none */
        ct_grammar_skip(c->g, behind, to);
    behind = spaced(c, behind, ",");
    const int32_t key = ct_grammar_node(c->g, call);
    ct_grammar_text(c->g, behind, ct_str_of("\"parameters\""), key);
    return arguments_path(c, spaced(c, key, ":"), parameters, i, to, err);
}

/* True when a choice names no tool. */
static bool is_any(const char *choice)
{
    static const char *const words[] = {"auto", "none", "required"};
    size_t i = 0;

    while (i < CT_COUNT(words) && strcmp(choice, words[i]) != 0)
        i++;
    return i < CT_COUNT(words);
}

/* Writes what stands around the name and the arguments of a call. */
static void call_frame(struct calls *c, int32_t call, int32_t *name, int32_t *end)
{
    struct ct_grammar *g = c->g;
    const int32_t start = ct_rule_start(g, call), lead = ct_grammar_node(g, call);

    *end = ct_grammar_node(g, call);
    if (c->json) {
        const int32_t open = ct_grammar_node(g, call), close = ct_grammar_node(g, call),
                      key = ct_grammar_node(g, call);
        ct_grammar_bytes(g, start, '{', '{', open);
        ct_grammar_call(g, open, c->space, lead);
        ct_grammar_text(g, lead, ct_str_of("\"name\""), key);
        *name = spaced(c, key, ":");
        ct_grammar_call(g, *end, c->space, close);
        ct_grammar_bytes(g, close, '}', '}', ct_rule_end(g, call));
        return;
    }
    *name = ct_grammar_node(g, call);
    ct_grammar_token(g, start, c->marks.begin, lead);
    ct_grammar_text(g, lead, ct_str_of("call:"), *name);
    ct_grammar_token(g, *end, c->marks.end, ct_rule_end(g, call));
}

static carat_status call_rule(struct calls *c, const struct ct_json_value *tools, int32_t *rule,
                              carat_error *err)
{
    const bool any = is_any(c->o->choice);
    size_t i = 0, taken = 0;
    int32_t name, end;

    *rule = ct_grammar_rule(c->g, "call");
    call_frame(c, *rule, &name, &end);
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
    return CARAT_OK;
}

/* ---- several calls ---- */

/* Calls with tokens follow each other. */
static int32_t answer_of_tokens(struct calls *c, int32_t call)
{
    const int32_t rule = ct_grammar_rule(c->g, "answer"), again = ct_grammar_node(c->g, rule);

    ct_grammar_call(c->g, ct_rule_start(c->g, rule), call, again);
    ct_grammar_skip(c->g, again, ct_rule_end(c->g, rule));
    if (!c->o->one)
        ct_grammar_call(c->g, again, call, again);
    return rule;
}

/* Calls as JSON follow each other, or are a list. */
static int32_t json_calls(struct calls *c, int32_t call)
{
    struct ct_grammar *g = c->g;
    const int32_t rule = ct_grammar_rule(g, "calls"), start = ct_rule_start(g, rule),
                  end = ct_rule_end(g, rule), again = ct_grammar_node(g, rule),
                  open = ct_grammar_node(g, rule), first = ct_grammar_node(g, rule),
                  item = ct_grammar_node(g, rule), close = ct_grammar_node(g, rule);

    ct_grammar_call(g, start, call, again);
    ct_grammar_skip(g, again, end);
    ct_grammar_bytes(g, start, '[', '[', open);
    ct_grammar_call(g, open, c->space, first);
    ct_grammar_call(g, first, call, item);
    ct_grammar_call(g, item, c->space, close);
    ct_grammar_bytes(g, close, ']', ']', end);
    if (!c->o->one) {
        const int32_t next = ct_grammar_node(g, rule);
        ct_grammar_call(g, again, c->space, next);
        ct_grammar_call(g, next, call, again);
        ct_grammar_skip(g, spaced(c, item, ","), first);
    }
    return rule;
}

/* They may stand in a fence of Markdown, and white space around all. */
static int32_t answer_of_json(struct calls *c, int32_t call)
{
    static const char *const fences[] = {"```", "```json", "```tool_code", "```tool_call"};
    struct ct_grammar *g = c->g;
    const int32_t calls = json_calls(c, call), rule = ct_grammar_rule(g, "answer"),
                  begin = ct_grammar_node(g, rule), behind = ct_grammar_node(g, rule),
                  inside = ct_grammar_node(g, rule), fenced = ct_grammar_node(g, rule),
                  last = ct_grammar_node(g, rule), close = ct_grammar_node(g, rule);

    ct_grammar_call(g, ct_rule_start(g, rule), c->space, begin);
    ct_grammar_call(g, begin, calls, behind);
    ct_grammar_call(g, behind, c->space, ct_rule_end(g, rule));
    for (size_t i = 0; i < CT_COUNT(fences); i++)
        ct_grammar_text(g, begin, ct_str_of(fences[i]), inside);
    ct_grammar_call(g, inside, c->space, fenced);
    ct_grammar_call(g, fenced, calls, last);
    ct_grammar_call(g, last, c->space, close);
    ct_grammar_text(g, close, ct_str_of("```"), behind);
    return rule;
}

/* Any text that does not begin as calls do. */
static carat_status text_path(struct calls *c, int32_t from, int32_t to, carat_error *err)
{
    struct ct_language raw, opening, text;
    carat_status status;

    ct_language_init(&raw);
    raw.watch = c->g->watch;
    ct_language_init(&opening);
    ct_language_init(&text);
    status = ct_regex_language(ct_str_of(CT_CALL_OPENING), false, &raw, NULL, err);
    if (!status)
        status = ct_language_minimise(&raw, &opening, err);
    if (!status)
        status = ct_language_complement(&opening, &text, err);
    if (!status)
        ct_language_emit(c->g, &c->shared.charsets, &text, from, CT_SPELL_PLAIN, to);
    ct_language_free(&raw);
    ct_language_free(&opening);
    ct_language_free(&text);
    return status;
}

/* Calls, or what else the choice allows, as JSON. */
static carat_status json_rule(struct calls *c, const struct ct_json_value *tools, int32_t *rule,
                              carat_error *err)
{
    const bool is_auto = strcmp(c->o->choice, "auto") == 0, none = strcmp(c->o->choice, "none") == 0;
    int32_t call;

    c->space = ct_schema_space(c->g);
    CT_TRY(call_rule(c, tools, &call, err));
    *rule = answer_of_json(c, call);
    if (!is_auto && !none)
        return CARAT_OK;
    const int32_t calls = *rule;
    *rule = ct_grammar_rule(c->g, "text or calls");
    CT_TRY(text_path(c, ct_rule_start(c->g, *rule), ct_rule_end(c->g, *rule), err));
    if (is_auto)
        ct_grammar_call(c->g, ct_rule_start(c->g, *rule), calls, ct_rule_end(c->g, *rule));
    return CARAT_OK;
}

carat_status ct_calls_rule(struct ct_grammar *g, const struct ct_tokenizer *t, struct ct_str tools,
                           const struct ct_call_options *options, int32_t *rule, int32_t *opens,
                           carat_error *err)
{
    struct ct_call_options o = *options;
    struct calls c = {.g = g, .o = &o};
    struct ct_json_tree tree = {0};
    int32_t call;

    o.choice = o.choice ? o.choice : "auto";
    c.json = !ct_call_marks(t, &c.marks);
    g->most_levels = CT_JSON_DEPTH - c.json; /* as their reader; a call as JSON is a level itself */
    carat_status status = ct_json_tree_read(&tree, CARAT_E_ARGUMENT, "tools", ct_str_bytes(tools), err);
    if (!status && (!ct_json_is(tree.value, CT_JSON_ARRAY) || ct_json_count(tree.value) > TOOLS_MAX))
        status = ct_fail(err, CARAT_E_ARGUMENT, "tools: expected a list of at most %d functions", TOOLS_MAX);
    if (!status && c.json)
        status = json_rule(&c, tree.value, rule, err);
    else if (!status && !(status = call_rule(&c, tree.value, &call, err)))
        *rule = answer_of_tokens(&c, call);
    ct_json_tree_free(&tree);
    ct_schema_shared_free(&c.shared);
    if (!status)
        *opens = !c.json && is_any(o.choice) && strcmp(o.choice, "required") != 0 ? c.marks.begin : -1;
    return status;
}
