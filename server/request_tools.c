/* SPDX-License-Identifier: Apache-2.0 */
/* request_tools.c: the tools of a request: whether they may or must be called, and what form that gives the
 * answer. */
#include <stdlib.h>

#include "request_values.h"
#include "base/utf8.h"
#include "state.h"

/* The name that tool_choice asks for, or one of its words; NULL: it is neither. */
static char *chosen_tool(struct document *d, const struct ct_json_value *v)
{
    const struct ct_json_value *name = ct_json_get(ct_json_get(v, "function"), "name");
    const struct ct_str word = ct_json_str(v);

    if (ct_json_is(v, CT_JSON_STRING)) {
        if (ct_str_is(word, "auto") || ct_str_is(word, "none") || ct_str_is(word, "required"))
            return text_copy(word);
    } else if (ct_json_is_text(ct_json_get(v, "type"), "function") && ct_json_is(name, CT_JSON_STRING))
        return text_copy(ct_json_str(name));
    field_refuse(d, "tool_choice", v,
                 "expected auto, none, required or {\"type\": \"function\", \"function\": {\"name\": ...}}");
    return NULL;
}

static bool any_strict(const struct ct_json_value *tools)
{
    CT_JSON_EACH(tool, tools)
    if (ct_json_is(ct_json_get(ct_json_get(tool, "function"), "strict"), CT_JSON_TRUE))
        return true;
    return false;
}

/* Whether a name of a function is one that the API takes, and no other function has. What is none at all is
 * the library's to refuse. */
static bool check_name(struct document *d, const struct request_values *a, const struct ct_json_value *tool,
                       int i)
{
    const struct ct_json_value *v = ct_json_get(ct_json_get(tool, "function"), "name");
    const struct ct_str name = ct_json_str(v);
    bool good = name.n <= (size_t)a->names.most;
    char place[48];

    snprintf(place, sizeof place, "tools[%d].function.name", i);
    for (size_t k = 0; k < name.n; k++) {
        const char c = name.s[k], low = (char)(c | 0x20);
        good =
            good && c && ((low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') || strchr(a->names.marks, c));
    }
    if (!good)
        return server_refuse(d->r, 400, NULL, place,
                             "%s is \"%.*s\", expected at most %d letters, digits and %s", place,
                             CT_BRIEF(name), a->names.most, a->names.marks);
    CT_JSON_EACH(other, a->tools)
    {
        if (other == tool)
            break;
        if (name.n && ct_str_same(ct_json_str(ct_json_get(ct_json_get(other, "function"), "name")), name))
            return server_refuse(d->r, 400, NULL, place, "%s is \"%.*s\", which is declared twice", place,
                                 CT_BRIEF(name));
    }
    return true;
}

bool values_tools(struct document *d, struct server *s, const struct request_values *a,
                  struct request *request)
{
    const size_t n = ct_json_count(a->tools);
    carat_constraint_options form;
    bool good;

    if (n == 0)
        return !a->tool_choice || ct_json_is_text(a->tool_choice, "auto") ||
               ct_json_is_text(a->tool_choice, "none") ||
               field_refuse(d, "tool_choice", a->tool_choice, "but there are no tools");
    if (n > (size_t)s->options->most.tools)
        return server_refuse(d->r, 400, NULL, "tools", "tools has %zu elements, expected at most %d", n,
                             s->options->most.tools);
    int i = 0;
    CT_JSON_EACH(tool, a->tools)
    if (a->names.marks && !check_name(d, a, tool, i++))
        return false;
    char *choice = a->tool_choice ? chosen_tool(d, a->tool_choice) : text_copy(ct_str_of("auto"));
    if (!choice)
        return server_refuse(d->r, 503, NULL, NULL, "there is no memory for the tools");
    if (!(request->tools = text_copy(value_text(d, a->tools)))) {
        free(choice);
        return server_refuse(d->r, 503, NULL, NULL, "there is no memory for the tools");
    }
    carat_constraint_options_default(&form);
    form.form = CARAT_FORM_TOOLS;
    form.text = request->tools;
    form.one_call = !a->parallel_tool_calls;
    const bool may_call = strcmp(choice, "none") != 0;
    const bool is_free =
        !may_call || (strcmp(choice, "auto") == 0 && a->parallel_tool_calls && !any_strict(a->tools));
    form.tool_choice = is_free ? "auto" : choice;
    request->own_form.requires_call = may_call && strcmp(choice, "auto") != 0;
    request->own_form.one_call = form.one_call != 0;
    good = is_free ? values_form_sound(d, s, request, "tools", &form)
                   : values_form(d, s, request, "tools", &form);
    if (!may_call) { /* the model is told nothing of them */
        free(request->tools);
        request->tools = NULL;
    }
    free(choice);
    for (i = 0; i < request->n; i++)
        request->choice[i].calling = may_call ? UNDECIDED : NO_CALLS;
    return good;
}
