/* SPDX-License-Identifier: Apache-2.0 */
/* request_form.c: the form that an answer must keep: a constraint out of it, or why it cannot be one. */
#include <stdlib.h>

#include "request_values.h"
#include "base/utf8.h"
#include "receipts.h"
#include "state.h"

static bool refuse_form(struct document *d, const char *param, const carat_error *err)
{
    const char *says = refusal_says(err);
    if (strncmp(says, "tools[", strlen("tools[")) == 0) /* they are part of it */
        param = "tools";
    const bool told = strncmp(says, param, strlen(param)) == 0;
    char place[sizeof err->message];

    snprintf(place, sizeof place, "%.*s", (int)strcspn(says, ": "), says);
    return server_refuse(d->r, err->code == CARAT_E_MEMORY ? 503 : 400, NULL, told ? place : param, "%s%s%s",
                         told ? "" : param, told ? "" : ": ", says);
}

bool values_form(struct document *d, struct server *s, struct request *request, const char *param,
                 const carat_constraint_options *form)
{
    carat_error err;

    if (!receipt_keep_form(request, form))
        return server_refuse(d->r, 503, NULL, NULL, "there is no memory for the receipt");
    if (forms_take(&s->forms, form, request->own_form.cancelled, &request->own_form.kept, &err) != CARAT_OK)
        return refuse_form(d, param, &err);
    request->constraint = form_constraint(request->own_form.kept);
    return true;
}

bool values_text_form(struct document *d, struct server *s, struct request *request, const char *param,
                      const carat_constraint_options *form)
{
    struct own_form *own = &request->own_form;
    carat_constraint_options both = *form;

    own->is_of_text = true;
    if (own->requires_call) /* then no text is told */
        return true;
    both.tools = request->tools;
    both.one_call = own->one_call;
    forms_give(own->kept); /* that of the tools alone */
    own->kept = NULL;
    return values_form(d, s, request, param, &both);
}

bool values_form_sound(struct document *d, struct server *s, const struct request *request, const char *param,
                       const carat_constraint_options *form)
{
    struct kept_form *kept = NULL;
    carat_error err;
    const carat_status status = forms_take(&s->forms, form, request->own_form.cancelled, &kept, &err);

    forms_give(kept);
    if (status == CARAT_OK)
        return true;
    const char *says = refusal_says(&err), *colon = strstr(says, ": ");
    char place[200];
    snprintf(place, sizeof place, "%.*s", colon ? (int)(colon - says) : 0, says);
    if (status == CARAT_E_MEMORY || !strstr(err.message, ".parameters"))
        return refuse_form(d, param, &err);
    /* a declaration is text: the model reads what nothing holds it to */
    document_warn(d, place, "nothing holds the model to it, since no call is required");
    return true;
}

/* ---- forms by the names of other servers ---- */

/* A form as a request has it. */
struct given_form {
    char param[64];
    carat_form form;
    const struct ct_json_value *v; /* NULL: any object */
    bool is_choice;
};

enum { MOST_FORMS = 10 };

/* What vLLM's structured_outputs has. */
struct structured {
    const struct ct_json_value *schema, *regex, *choice, *grammar;
    bool any_object, as_dumps;
};

static bool take_structured(struct document *d, const struct ct_json_value *v, struct structured *o)
{
#define OWN(field) offsetof(struct structured, field)
    static const char no_spaces[] = "forms of JSON say what white space is";
    static const struct field fields[] = {
        {"json", FIELD_VALUE, OWN(schema), IS_TEXT | IS_OBJECT | IS_FLAG, 0, NULL, NULL},
        {"regex", FIELD_VALUE, OWN(regex), IS_TEXT, 0, NULL, NULL},
        {"choice", FIELD_VALUE, OWN(choice), IS_LIST, 0, NULL, NULL},
        {"grammar", FIELD_VALUE, OWN(grammar), IS_TEXT, 0, NULL, NULL},
        {"json_object", FIELD_FLAG, OWN(any_object), 0, 0, NULL, NULL},
        {"disable_any_whitespace", FIELD_FLAG, OWN(as_dumps), 0, 0, NULL, NULL},
        {"disable_fallback", FIELD_IDLE, 0, 0, 0, NULL, " true false "},
        {"disable_additional_properties", FIELD_REFUSED, 0, 0, 0, "the schema says it", " false "},
        {"whitespace_pattern", FIELD_REFUSED, 0, 0, 0, no_spaces, NULL},
        {"structural_tag", FIELD_REFUSED, 0, 0, 0, "there is no such form", NULL},
    };
#undef OWN
    return fields_take(d, v, "structured_outputs.", fields, CT_COUNT(fields), o);
}

/* prefix leads to the name by which it came, which is the key before it. */
static void add_form(struct given_form *list, int *n, const char *prefix, carat_form form, bool is_choice,
                     const struct ct_json_value *v)
{
    struct given_form *f = &list[*n];
    const struct ct_json_value *key = v;

    if (!v || (ct_json_is(v, CT_JSON_STRING) && v->n == 0)) /* "" is none */
        return;
    *f = (struct given_form){.form = form, .v = v, .is_choice = is_choice};
    do
        key--; /* behind one with escapes its place stands, too */
    while (!ct_json_is(key, CT_JSON_KEY));
    snprintf(f->param, sizeof f->param, "%s%.*s", prefix, CT_BRIEF(ct_json_str(key)));
    (*n)++;
}

/* One of several texts, as a rule of a grammar. */
static bool put_alternatives(struct document *d, const char *param, const struct ct_json_value *list,
                             struct buffer *out)
{
    char byte[8];
    int n = 0;

    if (ct_json_count(list) == 0)
        return field_refuse(d, param, list, "expected texts to choose from");
    buffer_text(out, "root ::= ");
    CT_JSON_EACH(one, list)
    {
        if (!ct_json_is(one, CT_JSON_STRING))
            return field_refuse(d, param, one, "expected a string");
        buffer_text(out, n++ ? " | \"" : "\"");
        for (uint32_t i = 0; i < one->n; i++) {
            const unsigned char c = (unsigned char)one->s[i];
            snprintf(byte, sizeof byte, c < 0x20 ? "\\x%02x" : c == '"' || c == '\\' ? "\\%c" : "%c", c);
            buffer_text(out, byte);
        }
        buffer_text(out, "\"");
    }
    return !out->failed || server_refuse(d->r, 503, NULL, NULL, "there is no memory for the form");
}

static bool make_form(struct document *d, struct server *s, struct request *request,
                      const struct given_form *f, bool as_dumps)
{
    struct ct_str text = ct_str_of("{\"type\":\"object\"}");
    struct buffer choice = {0};
    carat_constraint_options form;

    carat_constraint_options_default(&form);
    form.form = f->form;
    form.json_dumps = as_dumps && f->form == CARAT_FORM_SCHEMA;
    if (f->is_choice && !put_alternatives(d, f->param, f->v, &choice)) {
        buffer_free(&choice);
        return false;
    }
    if (f->is_choice)
        text = (struct ct_str){choice.data, choice.n};
    else if (f->v)
        text = ct_json_is(f->v, CT_JSON_STRING) ? ct_json_str(f->v) : value_text(d, f->v);
    form.text = text.s;
    form.n_text = text.n;
    const bool good = values_text_form(d, s, request, f->param, &form);
    buffer_free(&choice);
    return good;
}

static bool take_spelled_form(struct document *d, struct server *s, const struct request_values *a,
                              struct request *request)
{
    const struct spelled *m = &a->more;
    struct structured o = {.as_dumps = m->as_dumps};
    static const char within[] = "structured_outputs.";
    struct given_form list[MOST_FORMS];
    int n = 0;

    if (!take_structured(d, m->structured, &o))
        return false;
    add_form(list, &n, "", CARAT_FORM_GRAMMAR, false, m->grammar);
    add_form(list, &n, "", CARAT_FORM_SCHEMA, false, m->schema);
    add_form(list, &n, "", CARAT_FORM_REGEX, false, m->regex);
    add_form(list, &n, "", CARAT_FORM_GRAMMAR, true, m->choice);
    add_form(list, &n, within, CARAT_FORM_GRAMMAR, false, o.grammar);
    add_form(list, &n, within, CARAT_FORM_SCHEMA, false, o.schema);
    add_form(list, &n, within, CARAT_FORM_REGEX, false, o.regex);
    add_form(list, &n, within, CARAT_FORM_GRAMMAR, true, o.choice);
    if (m->any_object || o.any_object)
        list[n++] = (struct given_form){.param = "json_object", .form = CARAT_FORM_SCHEMA};
    if (n == 0)
        return true;
    if (n > 1)
        return server_refuse(d->r, 400, NULL, list[0].param, "%s and %s are both there, expected one form",
                             list[0].param, list[1].param);
    if (request->own_form.is_of_text)
        return server_refuse(d->r, 400, NULL, list[0].param, "%s: this answer has a form already",
                             list[0].param);
    return make_form(d, s, request, &list[0], o.as_dumps);
}

bool values_spelled_form(struct document *d, struct server *s, const struct request_values *a,
                         struct request *request)
{
    if (!take_spelled_form(d, s, a, request))
        return false;
    return !request->extra.min_tokens || !request->constraint ||
           server_refuse(
               d->r, 400, NULL, "min_tokens",
               "min_tokens is not supported beside a form, or calls that keep one: it says how long they "
               "are");
}
