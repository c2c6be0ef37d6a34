/* SPDX-License-Identifier: Apache-2.0 */
/* form.c: see form.h. What a form means is the library's (carat_constrain.h). */
#include "model/form.h"

#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "term/interrupt.h"
#include "term/message.h"

/* The options about the form of an answer. */
#define AT(field) offsetof(struct form_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_GENERATION + 281, {"-j", "--json-schema"}, TEXT, AT(schema), GENERATES " replay", "TEXT", NULL,
     "the answer is JSON that fits this JSON schema; {} is any object or value", 0, 0},
    {ABOUT_GENERATION + 282, {"-jf", "--json-schema-file"}, READS, AT(schema_file), "/ " GENERATES " replay", "FILE", NULL,
     "read the schema from FILE", 0, 0},
    {ABOUT_GENERATION + 283, {"--json-ws"}, CHOICE, AT(json_ws), "/ " GENERATES " replay", "any|dumps", "any",
     "white space in that JSON: any that JSON has, or dumps: as Python's json.dumps writes it (default {default})", 0, 0},
    {ABOUT_GENERATION + 284, {"--grammar"}, TEXT, AT(grammar), "/ " GENERATES " replay", "TEXT", NULL,
     "the answer fits this grammar, in llama.cpp's spelling (GBNF)", 0, 0},
    {ABOUT_GENERATION + 285, {"--grammar-file"}, READS, AT(grammar_file), "/ " GENERATES " replay", "FILE", NULL,
     "read the grammar from FILE", 0, 0},
    {ABOUT_GENERATION + 286, {"--regex"}, TEXT, AT(regex), "/ " GENERATES " replay", "TEXT", NULL,
     "the whole answer fits this regular expression", 0, 0},
    {ABOUT_GENERATION + 287, {"--tool-choice"}, TEXT, AT(tool_choice), GENERATES " replay", "WORD", NULL,
     "calls of --tools that parse and fit their declaration: auto (text, or such calls), none (no call), "
     "required (at least one), or the name of the tool to call", 0, 0},
};
/* clang-format on */

const struct option_group form_group = OPTION_GROUP(rows, struct form_options, NULL);

/* An option that names a form. */
struct source {
    const char *option;
    const char *text; /* NULL: not given */
    bool is_file;
    carat_form form;
};

enum { SOURCES = 6 };

static void list_sources(const struct options *o, struct source out[SOURCES])
{
    const struct form_options *f = o->form;
    const struct source all[SOURCES] = {
        {"--json-schema", f->schema, false, CARAT_FORM_SCHEMA},
        {"--json-schema-file", f->schema_file, true, CARAT_FORM_SCHEMA},
        {"--grammar", f->grammar, false, CARAT_FORM_GRAMMAR},
        {"--grammar-file", f->grammar_file, true, CARAT_FORM_GRAMMAR},
        {"--regex", f->regex, false, CARAT_FORM_REGEX},
        {"--tool-choice", f->tool_choice, false, CARAT_FORM_TOOLS},
    };
    memcpy(out, all, sizeof all);
}

/* The one that is given; NULL: none is. */
static const struct source *given_source(const struct source all[SOURCES])
{
    for (int i = 0; i < SOURCES; i++)
        if (all[i].text)
            return &all[i];
    return NULL;
}

int form_check(const struct options *o, bool tools, bool ignores_ends)
{
    struct source all[SOURCES];
    const struct source *first;

    list_sources(o, all);
    first = given_source(all);
    if (!first && options_given(o, &o->form->json_ws))
        return term_fail(USAGE, "option --json-ws needs --json-schema");
    if (!first)
        return DONE;
    for (const struct source *s = first + 1; s < all + SOURCES; s++)
        if (s->text)
            return term_fail(USAGE, "options %s and %s: an answer has one form", first->option, s->option);
    if (first->form == CARAT_FORM_TOOLS && !tools)
        return term_fail(USAGE, "option --tool-choice needs --tools");
    if (ignores_ends)
        return term_fail(USAGE, "options --ignore-eos and %s: an answer that has a form ends where that ends",
                         first->option);
    return DONE;
}

static int compile(carat_constraint **to, const carat_model *model, const carat_constraint_options *c,
                   const struct source *s)
{
    carat_error err;

    if (carat_constraint_create(to, model, c, &err) == CARAT_OK)
        return DONE;
    if (err.code == CARAT_E_ARGUMENT || err.code == CARAT_E_UNSUPPORTED)
        return term_fail(USAGE, "%s %s: %s", s->is_file ? "file" : "option", s->is_file ? s->text : s->option,
                         err.message);
    return fail_status(&err);
}

int form_open(struct form *f, const struct options *o, const carat_model *model, const char *tools)
{
    carat_constraint_options *c = &f->options;
    struct source all[SOURCES];
    size_t n = 0;

    list_sources(o, all);
    const struct source *s = given_source(all);
    if (!s)
        return DONE;
    carat_constraint_options_default(c);
    c->form = s->form;
    c->progress = stop_when_interrupted;
    c->text = s->form == CARAT_FORM_TOOLS ? tools : s->text;
    c->tool_choice = o->form->tool_choice;
    c->json_dumps = strcmp(o->form->json_ws, "dumps") == 0;
    if (s->is_file) {
        TRY(read_input(s->text, &f->text, &n));
        c->text = f->text;
        c->n_text = n;
    }
    f->model = model;
    return compile(&f->first, model, c, s);
}

/* True: a call has to come, as long as none has a result. */
static bool demands_call(const struct form *f)
{
    const char *choice = f->options.tool_choice;

    return f->first && choice && strcmp(choice, "auto") != 0 && strcmp(choice, "none") != 0;
}

int form_begin(struct form *f, bool behind_results, carat_matcher **matcher)
{
    const bool later = behind_results && demands_call(f);
    carat_error err;

    carat_matcher_close(f->matcher);
    f->matcher = NULL;
    if (later && !f->later) {
        f->options_later = f->options;
        f->options_later.tool_choice = "auto";
        if (carat_constraint_create(&f->later, f->model, &f->options_later, &err) != CARAT_OK)
            return fail_status(&err);
    }
    f->is_later = later;
    carat_constraint *c = later ? f->later : f->first;
    if (c && carat_matcher_create(&f->matcher, c, &err) != CARAT_OK)
        return fail_status(&err);
    *matcher = f->matcher;
    return DONE;
}

const carat_constraint_options *form_of_answer(const struct form *f)
{
    return !f->matcher ? NULL : f->is_later ? &f->options_later : &f->options;
}

int form_goes_on(struct form *f, const carat_generation *g, carat_matcher **matcher)
{
    carat_matcher *at;
    carat_error err;

    if (carat_generation_get_matcher(g, &at, &err) != CARAT_OK)
        return fail_status(&err);
    carat_matcher_close(f->matcher);
    *matcher = f->matcher = at;
    return DONE;
}

void form_close(struct form *f)
{
    carat_matcher_close(f->matcher);
    carat_constraint_close(f->first);
    carat_constraint_close(f->later);
    free(f->text);
}
