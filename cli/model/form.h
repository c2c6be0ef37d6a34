/* SPDX-License-Identifier: Apache-2.0 */
/* form.h: the form that an answer must have, out of the options: a schema, a grammar, an expression, or calls
 * of the tools. */
#ifndef FORM_H
#define FORM_H

#include "carat_constrain.h"
#include "options/options.h"

struct form_options {
    const char *schema, *schema_file, *grammar, *grammar_file, *regex;
    const char *tool_choice; /* NULL: the tools are not a form */
    const char *json_ws;
};

struct form {
    carat_constraint *first; /* NULL: the answer has no form */
    /* The form of an answer behind the results of calls, where none has to be called again; made when there
     * is one. */
    carat_constraint *later;
    carat_constraint_options options, options_later; /* of both; what they name is borrowed */
    bool is_later;                                   /* the answer under way has that form */
    const carat_model *model;
    carat_matcher *matcher; /* of the answer under way */
    char *text;             /* of a file */
};

/* Refuses options that contradict each other. tools: there are some; ignores_ends: ids that end an answer are
 * not drawn. An exit code. */
int form_check(const struct options *o, bool tools, bool ignores_ends);
/* Compiles the form for a model; tools (may be NULL) are those of the prompt. Start from {0}. An exit
 * code. */
int form_open(struct form *f, const struct options *o, const carat_model *model, const char *tools);
/* A matcher at its beginning; NULL: there is no form. An exit code. */
int form_begin(struct form *f, bool behind_results, carat_matcher **matcher);
/* The options that the form of that answer was compiled from; NULL: it has no form. */
const carat_constraint_options *form_of_answer(const struct form *f);
/* The matcher of an answer that goes on in another generation. An exit code. */
int form_goes_on(struct form *f, const carat_generation *g, carat_matcher **matcher);
void form_close(struct form *f);

#endif
