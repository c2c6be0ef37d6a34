/* SPDX-License-Identifier: Apache-2.0 */
/* chat_gemma4.c: Gemma 4's template in its published states: one system turn, which switches thinking on and
 * declares the tools, then the messages as they come, of any role in any order. Declarations are
 * chat_gemma4_declare.c, calls and results chat_calls.c.
 *
 * It agrees byte for byte with the Jinja templates of the released checkpoints wherever those give a prompt
 * that says what they were given; what they would drop or garble (null, a picture's address, a result
 * without a call, calls that nobody answered) is an error. Two things are as for the other templates:
 * "model" is the same role as "assistant", and the arguments of a call may be the text of an object.
 *
 * What the model thought is no part of a finished conversation: spelled channels are taken out of past
 * answers, and reasoning is shown behind the user's last message at most. */
#include "text/chat/chat_calls.h"
#include "text/chat/thought.h"

const struct ct_gemma4_state ct_gemma4_states[CT_GEMMA4_STATES] = {
    [CT_GEMMA4_JULY_9] = {.think = "\n",
                          .media_break = "",
                          .none = "null",
                          .results_inside = true,
                          .thinks_at_calls = true,
                          .thinks_always = true,
                          .thought_end = "\n",
                          .system_list = true,
                          .counts_written = true,
                          .joins_model = true,
                          .thinks_on = true},
    [CT_GEMMA4_APRIL_29] = {.think = "\n",
                            .media_break = "",
                            .none = "None",
                            .results_inside = true,
                            .thinks_at_calls = true,
                            .thought_end = "\n",
                            .system_list = true,
                            .counts_written = true},
    [CT_GEMMA4_APRIL_10] = {.think = "\n",
                            .media_break = "",
                            .none = "None",
                            .results_inside = true,
                            .thinks_at_calls = true,
                            .thought_end = "\n",
                            .filters_names = true},
    [CT_GEMMA4_INTERLEAVED] = {.think = "\n",
                               .media_break = "",
                               .none = "None",
                               .joins_results = true,
                               .thinks_at_calls = true,
                               .thought_end = "",
                               .filters_names = true,
                               .early_schema = true},
    [CT_GEMMA4_APRIL_2] =
        {.think = "", .media_break = "\n\n", .none = "None", .filters_names = true, .early_schema = true},
};

struct turns {
    struct ct_chat_writer *w;
    const struct ct_chat_options *o;
    const struct ct_gemma4_state *state;
    carat_error *err;
    size_t last_user;           /* index of the last message of the user, */
    bool has_user;              /* if there is one */
    struct ct_chat_calls calls; /* the latest */
    /* What the message before was, and the last thing in it but its content. */
    bool after_model, after_calls, after_results;
};

/* A message, and its place in the list. */
struct place {
    const struct ct_json_value *message;
    size_t i;
};

static void advance(struct place *p)
{
    p->message = ct_json_after(p->message);
    p->i++;
}

/* ---- the system turn ---- */

/* Its text: of a list, each ends with a space. */
static carat_status write_system_text(struct turns *c, const struct ct_json_value *content)
{
    size_t k = 0;
    if (!ct_json_is(content, CT_JSON_ARRAY))
        return ct_chat_write_content(c->w, content, 0, 0, c->err);
    if (!c->state->system_list)
        return ct_fail(c->err, CARAT_E_ARGUMENT,
                       "messages[0].content: this state of the template takes a string, found a list");
    CT_JSON_EACH(item, content)
    {
        const struct ct_json_value *text = ct_json_get(item, "text");
        if (!ct_json_is(text, CT_JSON_STRING))
            return ct_fail(c->err, CARAT_E_ARGUMENT, "messages[0].content[%zu].text: expected a string", k);
        ct_chat_content(c->w, ct_chat_trim(ct_json_str(text)));
        ct_chat_literal(c->w, " ");
        k++;
    }
    return CARAT_OK;
}

/* message NULL: none is for this turn. */
static carat_status write_system(struct turns *c, const struct ct_json_value *message,
                                 const struct ct_json_value *tools)
{
    size_t i = 0;
    if (message)
        ct_chat_mark(c->w);
    if (!c->o->thinking && !message && !ct_json_count(tools))
        return CARAT_OK;
    ct_chat_begin_turn(c->w, ct_role_name(CT_ROLE_SYSTEM));
    if (c->o->thinking) {
        ct_chat_control(c->w, CT_CONTROL_THINK);
        ct_chat_literal(c->w, c->state->think);
    }
    if (message)
        CT_TRY(write_system_text(c, ct_json_get(message, "content")));
    CT_JSON_EACH(tool, tools)
    CT_TRY(ct_chat_gemma4_declaration(c->w, c->state, tool, i++, c->err));
    ct_chat_end_turn(c->w);
    return CARAT_OK;
}

/* ---- a turn of the model ---- */

/* What the model thought before it called a function, or answered. *shown: it is written. */
static carat_status write_thought(struct turns *c, struct place at, bool has_calls, bool *shown)
{
    static const char *const keys[] = {"reasoning", "reasoning_content"};
    const struct ct_json_value *thought = NULL;
    *shown = false;
    for (size_t k = 0; k < CT_COUNT(keys); k++) {
        const struct ct_json_value *given = ct_json_given(at.message, keys[k]);
        if (given && !ct_json_is(given, CT_JSON_STRING))
            return ct_fail(c->err, CARAT_E_ARGUMENT, "messages[%zu].%s: expected a string", at.i, keys[k]);
        if (!ct_json_str(thought).n)
            thought = given;
    }
    if (!ct_json_str(thought).n || (c->has_user && at.i < c->last_user) ||
        !(c->state->thinks_always || (c->state->thinks_at_calls && has_calls)))
        return CARAT_OK;
    ct_chat_control(c->w, CT_CONTROL_CHANNEL);
    ct_chat_literal(c->w, CT_CHANNEL_NAME);
    ct_chat_content(c->w, ct_json_str(thought));
    ct_chat_literal(c->w, c->state->thought_end);
    ct_chat_control(c->w, CT_CONTROL_CHANNEL_END);
    *shown = true;
    return CARAT_OK;
}

/* Results as Google's own clients send them, with the calls. */
static carat_status write_own_results(struct turns *c, struct place at, const struct ct_json_value *results)
{
    const struct ct_str none = {"", 0};
    size_t k = 0;
    CT_JSON_EACH(result, results)
    {
        if (!ct_chat_names_itself(result))
            return ct_fail(c->err, CARAT_E_ARGUMENT,
                           "messages[%zu].tool_responses[%zu]: expected an object with name and response",
                           at.i, k);
        ct_chat_write_response(c->w, ct_json_str(ct_json_get(result, "name")),
                               ct_json_get(result, "response"), none);
        k++;
    }
    return CARAT_OK;
}

/* The results of the calls in a message: its own, else the messages from *next on that are of role tool. */
static carat_status write_results(struct turns *c, struct place at, bool has_calls, struct place *next)
{
    const struct ct_json_value *own = ct_json_given(at.message, "tool_responses");
    if (own && !ct_json_is(own, CT_JSON_ARRAY))
        return ct_fail(c->err, CARAT_E_ARGUMENT, "messages[%zu].tool_responses: expected a list", at.i);
    c->after_results = ct_json_count(own) > 0;
    if (c->after_results)
        return write_own_results(c, at, own);
    for (; has_calls && c->state->results_inside && next->message; advance(next)) {
        enum ct_role role;
        CT_TRY(ct_chat_role(next->message, next->i, &role, c->err));
        if (role != CT_ROLE_TOOL)
            break;
        ct_chat_mark(c->w);
        CT_TRY(ct_chat_write_result(c->w, &c->calls, next->message, next->i, c->err));
        c->after_results = true;
    }
    return CARAT_OK;
}

/* True when a message continues the turn of the one before. */
static bool continues(const struct turns *c, bool has_calls)
{
    return c->state->results_inside ? c->after_model
                                    : c->state->joins_results && c->after_results && has_calls;
}

/* Python's truth of a content. */
static bool is_given(const struct ct_json_value *content)
{
    return ct_json_count(content) || ct_json_str(content).n;
}

/* Ends the turn, unless something is to follow in it. has_content: it says something beside calls. */
static carat_status end_model_turn(struct turns *c, bool has_calls, bool has_content, struct place next)
{
    enum ct_role role = CT_ROLE_USER;
    const bool results = c->after_results, joins = c->state->joins_model;
    if (next.message)
        CT_TRY(ct_chat_role(next.message, next.i, &role, c->err));
    if (c->state->results_inside && has_calls && !results) {
        if (next.message)
            return ct_fail(c->err, CARAT_E_ARGUMENT,
                           "messages[%zu].role: the results of the tool calls must come next, found %s",
                           next.i, ct_role_name(role));
        ct_chat_control(c->w, c->w->syntax->response);
        return CARAT_OK;
    }
    if (joins && next.message && role == CT_ROLE_MODEL)
        return CARAT_OK;
    if (!results || has_content || (joins && next.message))
        ct_chat_end_turn(c->w);
    return CARAT_OK;
}

static carat_status write_model(struct turns *c, struct place at, struct place *next)
{
    const struct ct_json_value *content = ct_json_given(at.message, "content"),
                               *calls = ct_json_get(at.message, "tool_calls");
    bool has_calls = ct_json_count(calls) > 0, shown;
    CT_TRY(ct_chat_calls_check(calls, at.i, c->err));
    if (!continues(c, has_calls))
        ct_chat_begin_turn(c->w, ct_role_name(CT_ROLE_MODEL));
    CT_TRY(write_thought(c, at, has_calls, &shown));
    if (has_calls)
        CT_TRY(ct_chat_write_calls(c->w, &c->calls, calls, at.i, c->err));
    CT_TRY(write_results(c, at, has_calls, next));
    size_t before = c->w->prompt->n;
    if (content || !(has_calls || c->after_results || shown))
        CT_TRY(ct_chat_write_content(c->w, content, CT_CONTENT_ANSWER, at.i, c->err));
    bool has_content = c->state->counts_written ? c->w->prompt->n > before : is_given(content);
    CT_TRY(end_model_turn(c, has_calls, has_content, *next));
    c->after_calls = has_calls && !c->after_results;
    c->after_model = true;
    return CARAT_OK;
}

/* ---- the conversation ---- */

static carat_status write_message(struct turns *c, struct place at, struct place *next)
{
    enum ct_role role;
    CT_TRY(ct_chat_role(at.message, at.i, &role, c->err));
    ct_chat_mark(c->w);
    if (role == CT_ROLE_MODEL)
        return write_model(c, at, next);
    if (role == CT_ROLE_TOOL && c->state->results_inside)
        return ct_fail(c->err, CARAT_E_ARGUMENT,
                       "messages[%zu].role: a tool message without a call before it", at.i);
    ct_chat_begin_turn(c->w, ct_role_name(role));
    CT_TRY(ct_chat_write_content(c->w, ct_json_get(at.message, "content"), CT_CONTENT_MEDIA, at.i, c->err));
    ct_chat_end_turn(c->w);
    c->after_model = c->after_calls = c->after_results = false;
    return CARAT_OK;
}

/* Begins the model's turn, or goes on with it behind results; calls wait for theirs. A large model that is
 * not to think is given an empty thought. */
static void write_generation_prompt(struct turns *c)
{
    const struct ct_gemma4_state *state = c->state;
    if (state->results_inside && c->after_calls)
        return;
    if (!c->after_results)
        ct_chat_begin_turn(c->w, ct_role_name(CT_ROLE_MODEL));
    bool empty =
        !c->o->thinking && c->o->chat != CT_CHAT_GEMMA4_SMALL && !(state->results_inside && c->after_results);
    if (!empty && !(c->o->thinking && state->thinks_on && c->after_results))
        return;
    ct_chat_control(c->w, CT_CONTROL_CHANNEL);
    ct_chat_literal(c->w, CT_CHANNEL_NAME);
    if (empty)
        ct_chat_control(c->w, CT_CONTROL_CHANNEL_END);
}

static carat_status write_turns(struct turns *c, const struct ct_json_value *messages,
                                const struct ct_json_value *tools)
{
    struct place at = {ct_json_first(messages), 0};
    enum ct_role role;
    CT_JSON_EACH(message, messages)
    {
        if (ct_json_is_text(ct_json_get(message, "role"), ct_role_name(CT_ROLE_USER))) {
            c->last_user = at.i;
            c->has_user = true;
        }
        at.i++;
    }
    at.i = 0;
    CT_TRY(ct_chat_role(at.message, 0, &role, c->err));
    bool system = role == CT_ROLE_SYSTEM || role == CT_ROLE_DEVELOPER;
    CT_TRY(write_system(c, system ? at.message : NULL, tools));
    if (system)
        advance(&at);
    while (at.message) {
        struct place next = at;
        advance(&next);
        CT_TRY(write_message(c, at, &next));
        at = next;
    }
    return CARAT_OK;
}

carat_status ct_chat_render_gemma4(struct ct_chat_writer *w, const struct ct_chat_options *o,
                                   const struct ct_json_value *messages, const struct ct_json_value *tools,
                                   carat_error *err)
{
    struct turns c = {.w = w, .o = o, .state = &ct_gemma4_states[o->state], .err = err};
    w->none = c.state->none;
    w->media_break = c.state->media_break;
    carat_status status = write_turns(&c, messages, tools);
    ct_chat_calls_free(&c.calls);
    if (!status && o->generation_prompt)
        write_generation_prompt(&c);
    return status;
}
