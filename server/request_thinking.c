/* SPDX-License-Identifier: Apache-2.0 */
/* request_thinking.c: whether a model is to think before it answers, and how long, by all names that there
 * are for it. */
#include "request_values.h"
#include "base/utf8.h"
#include "state.h"

/* What was said so far. */
struct wish {
    struct document *d;
    const char *by; /* the field that said it; NULL: nothing was said */
    bool thinks;
    int64_t budget; /* ids; NOT_GIVEN */
};

/* Others of the field "reasoning". */
struct reasoning {
    const struct ct_json_value *effort;
    int64_t budget;
    bool enabled;
};

static bool say(struct wish *w, const char *by, bool thinks)
{
    if (w->by && w->thinks != thinks)
        return server_refuse(w->d->r, 400, NULL, by, "%s and %s say different things, expected one of them",
                             w->by, by);
    w->by = by;
    w->thinks = thinks;
    return true;
}

static bool say_effort(struct wish *w, const char *by, const struct ct_json_value *v)
{
    static const char *const words[] = {"none", "minimal", "low", "medium", "high", "xhigh", "max"};

    if (!v)
        return true;
    for (size_t i = 0; i < CT_COUNT(words); i++)
        if (ct_json_is_text(v, words[i]))
            return say(w, by, i > 0);
    return field_refuse(w->d, by, v, "expected none, minimal, low, medium, high, xhigh or max");
}

/* true, false, or how much. */
static bool say_flag(struct wish *w, const char *by, const struct ct_json_value *v)
{
    if (!v)
        return true;
    return ct_json_is_bool(v) ? say(w, by, ct_json_is(v, CT_JSON_TRUE)) : say_effort(w, by, v);
}

/* As routers spell it. */
static bool say_reasoning(struct wish *w, const struct ct_json_value *v)
{
#define OWN(field) offsetof(struct reasoning, field)
    static const char told[] = "thoughts are told in reasoning_content";
    static const struct field fields[] = {
        {"effort", FIELD_VALUE, OWN(effort), IS_TEXT, 0, NULL, NULL},
        {"max_tokens", FIELD_WHOLE, OWN(budget), 0, INT32_MAX, NULL, NULL},
        {"enabled", FIELD_FLAG, OWN(enabled), 0, 0, NULL, NULL},
        {"exclude", FIELD_IDLE, 0, 0, 0, told, " false "},
        {"summary", FIELD_IDLE, 0, 0, 0, NULL, NULL},
    };
#undef OWN
    struct reasoning o = {.budget = NOT_GIVEN};

    if (!fields_take(w->d, v, "reasoning.", fields, CT_COUNT(fields), &o))
        return false;
    if (o.budget != NOT_GIVEN)
        w->budget = o.budget;
    return say_effort(w, "reasoning.effort", o.effort) &&
           (!ct_json_given(v, "enabled") || say(w, "reasoning.enabled", o.enabled)) &&
           (o.budget == NOT_GIVEN || say(w, "reasoning.max_tokens", o.budget > 0));
}

/* Anthropic's, and others' that have it from there. */
static bool say_thinking(struct wish *w, const struct ct_json_value *v)
{
    const struct ct_json_value *type = ct_json_get(v, "type"), *budget = ct_json_given(v, "budget_tokens");
    int64_t most;

    if (!ct_json_is(v, CT_JSON_OBJECT))
        return say_flag(w, "thinking", v);
    if (budget && (!field_whole(w->d, budget, &most) || most < 1 || most > INT32_MAX))
        return field_refuse(w->d, "thinking.budget_tokens", budget, "expected a whole number from 1");
    if (budget)
        w->budget = most;
    if (ct_json_is_text(type, "disabled"))
        return say(w, "thinking", false);
    if (!ct_json_is_text(type, "enabled") && !ct_json_is_text(type, "adaptive"))
        return field_refuse(w->d, "thinking.type", type, "expected enabled, adaptive or disabled");
    return say(w, "thinking", true);
}

/* What a template would read: of Gemma's that is whether it thinks. */
static bool say_kwargs(struct wish *w, const struct ct_json_value *v)
{
    static const char prefix[] = "chat_template_kwargs.";
    char name[80];

    CT_JSON_EACH(key, v)
    {
        const struct ct_str word = ct_json_str(key);
        const struct ct_json_value *value = ct_json_of_key(key);
        const bool is_effort = ct_str_is(word, "reasoning_effort");
        const char *by =
            is_effort ? "chat_template_kwargs.reasoning_effort" : "chat_template_kwargs.enable_thinking";
        if (ct_json_is(value, CT_JSON_NULL))
            continue;
        if (is_effort || ct_str_is(word, "enable_thinking") || ct_str_is(word, "thinking")) {
            if (!is_effort && !ct_json_is_bool(value))
                return field_refuse(w->d, by, value, "expected true or false");
            if (is_effort ? !say_effort(w, by, value) : !say_flag(w, by, value))
                return false;
            continue;
        }
        snprintf(name, sizeof name, "%s%.*s", prefix, CT_BRIEF(word));
        for (char *c = name; *c; c++)
            *c = ct_json_shown(*c);
        document_warn(w->d, name, "the template has no such variable");
    }
    return true;
}

bool values_thinks(struct document *d, const struct server *s, const struct request_values *a,
                   const char *effort, struct request *request, bool *thinks)
{
    const struct spelled *m = &a->more;
    struct wish w = {.d = d, .budget = NOT_GIVEN};

    *thinks = false;
    if (!say_effort(&w, effort, a->reasoning_effort) || !say_flag(&w, "think", m->think) ||
        !say_flag(&w, "enable_thinking", m->enable) || !say_kwargs(&w, m->kwargs) ||
        (m->reasoning && !say_reasoning(&w, m->reasoning)) || (m->thinking && !say_thinking(&w, m->thinking)))
        return false;
    if (m->budget != NOT_GIVEN)
        w.budget = m->budget;
    *thinks = w.thinks && s->info.can_think;
    if (!s->info.can_think && w.by && (w.thinks || w.by == effort))
        document_idle(d, w.by);
    if (w.budget >= 0 && s->info.can_think) {
        request->extra.limits_thought = 1;
        request->extra.thought_budget = (int)w.budget;
    }
    return true;
}
