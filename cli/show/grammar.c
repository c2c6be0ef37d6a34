/* SPDX-License-Identifier: Apache-2.0 */
/* grammar.c: `carat grammar`: what a schema, a regular expression or a grammar costs, and whether a text fits
 * it. The library compiles and follows; the text goes in byte by byte, as the vocabulary's byte tokens, so
 * that the place where it stops fitting is a byte. */
#define _POSIX_C_SOURCE 200809L
#include "options/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "carat.h"
#include "carat_constrain.h"
#include "carat_tools.h"
#include "io/input.h"
#include "model/model.h"
#include "term/exit.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/out_json.h"
#include "term/output.h"

/* The options of `carat grammar` beside a file. */
struct grammar_options {
    const char *as; /* schema, regex, grammar or auto */
    const char *check, *check_file;
};

/* The options about looking at a form. */
#define AT(field) offsetof(struct grammar_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_INPUT + 950, {"--as"}, CHOICE, AT(as), "grammar", "schema|regex|grammar|auto", "auto",
     "what FILE holds; auto takes what begins with { for a schema and all else for a grammar (default {default})", 0, 0},
    {ABOUT_INPUT + 951, {"--check"}, TEXT, AT(check), "grammar", "TEXT", NULL,
     "say whether TEXT fits, and where it stops fitting", 0, 0},
    {ABOUT_INPUT + 952, {"--check-file"}, READS, AT(check_file), "grammar", "FILE", NULL,
     "the same of the bytes of FILE", 0, 0},
};
/* clang-format on */

const struct option_group grammar_group = OPTION_GROUP(rows, struct grammar_options, NULL);

struct form {
    const struct options *o;
    carat_model *model;
    carat_constraint *constraint;
    carat_constraint_info info;
    char *text, *checked; /* what FILE holds, and what is tried; NULL: nothing is */
    size_t n_text, n_checked;
    size_t kind;   /* a row of kinds */
    size_t fitted; /* bytes of the checked text that some text of the form begins with */
    int shortest;  /* where all of it does: tokens of the shortest ending; 0: it is one */
};

static const struct {
    const char *as, *name;
    carat_form form;
} kinds[] = {{"schema", "schema", CARAT_FORM_SCHEMA},
             {"regex", "regular expression", CARAT_FORM_REGEX},
             {"grammar", "grammar", CARAT_FORM_GRAMMAR}};
enum { SCHEMA, REGEX, GRAMMAR, N_KINDS };

static size_t kind_of(const struct form *f)
{
    size_t at = 0, kind = 0;

    while (kind < N_KINDS && strcmp(f->o->grammar->as, kinds[kind].as) != 0)
        kind++;
    if (kind < N_KINDS)
        return kind;
    while (at < f->n_text && strchr(" \t\r\n", f->text[at]))
        at++;
    return at < f->n_text && f->text[at] == '{' ? SCHEMA : GRAMMAR;
}

static int read_texts(struct form *f)
{
    const struct grammar_options *asked = f->o->grammar;

    if (asked->check && asked->check_file)
        return term_fail(USAGE, "--check and --check-file cannot be used together");
    TRY(read_input(f->o->model, &f->text, &f->n_text));
    f->kind = kind_of(f);
    if (f->kind == REGEX && f->n_text && f->text[f->n_text - 1] == '\n') /* the line's, not the pattern's */
        f->n_text--;
    if (asked->check_file)
        return read_input(asked->check_file, &f->checked, &f->n_checked);
    if (asked->check) {
        f->checked = strdup(asked->check);
        f->n_checked = strlen(asked->check);
        return f->checked ? DONE : fail_memory();
    }
    return DONE;
}

static int compile(struct form *f)
{
    struct options opened = *f->o;
    carat_constraint_options options;
    carat_error err;

    opened.model = f->o->text ? f->o->text : "tiny";
    TRY(open_model(&f->model, &opened, true));
    carat_constraint_options_default(&options);
    options.form = kinds[f->kind].form;
    options.text = f->text;
    options.n_text = f->n_text;
    options.progress = stop_when_interrupted;
    carat_constraint_info_default(&f->info);
    if (f->n_text == 0) /* to the library it would be a text of unknown length */
        options.text = "";
    if (carat_constraint_create(&f->constraint, f->model, &options, &err) == CARAT_OK &&
        carat_constraint_get_info(f->constraint, &f->info, &err) == CARAT_OK)
        return DONE;
    return err.code == CARAT_E_UNSUPPORTED ? term_fail(USAGE, "%s", err.message) : fail_status(&err);
}

/* ---- a text ---- */

/* The tokens of single bytes, -1 where the vocabulary has none. */
static void find_bytes(const struct form *f, int32_t id[256])
{
    const char *piece;
    size_t n;

    for (int b = 0; b < 256; b++)
        id[b] = -1;
    for (int32_t i = 0; (piece = carat_piece(f->model, i, &n)) != NULL; i++) {
        char spelled[8], *end;
        if (n != 6 || memcmp(piece, "<0x", 3) != 0 || piece[5] != '>')
            continue;
        memcpy(spelled, piece + 3, 2);
        spelled[2] = 0;
        const long byte = strtol(spelled, &end, 16);
        if (end == spelled + 2)
            id[byte] = i;
    }
}

static int follow(struct form *f)
{
    carat_matcher *matcher = NULL;
    int32_t id[256];
    carat_error err;
    carat_status status = carat_matcher_create(&matcher, f->constraint, &err);

    if (status == CARAT_OK)
        find_bytes(f, id);
    while (status == CARAT_OK && f->fitted < f->n_checked) {
        const uint8_t byte = (uint8_t)f->checked[f->fitted];
        if (id[byte] < 0) {
            carat_matcher_close(matcher);
            return term_fail(BAD_MODEL, "the vocabulary has no token for the byte 0x%02X", byte);
        }
        status = carat_matcher_accept(matcher, id[byte], &err);
        f->fitted += status == CARAT_OK;
    }
    if (status == CARAT_OK)
        f->shortest = carat_matcher_shortest(matcher);
    carat_matcher_close(matcher);
    return status == CARAT_OK || status == CARAT_E_CONSTRAINT ? DONE : fail_status(&err);
}

static bool fits(const struct form *f)
{
    return f->fitted == f->n_checked && f->shortest == 0;
}

/* Line and column of the byte at which the text stops fitting. */
static void place(const struct form *f, size_t *line, size_t *column)
{
    *line = *column = 1;
    for (size_t i = 0; i < f->fitted; i++) {
        *column = f->checked[i] == '\n' ? 1 : *column + 1;
        *line += f->checked[i] == '\n';
    }
}

/* ---- what is said ---- */

static int print_form_json(const struct form *f)
{
    json_t *all =
        json_pack("{s:s, s:i, s:i, s:i, s:f}", "form", kinds[f->kind].as, "rules", f->info.rules, "states",
                  f->info.nodes, "shortest", f->info.shortest, "seconds", f->info.seconds);

    if (all && f->checked) {
        json_object_set_new(all, "fits", json_boolean(fits(f)));
        json_object_set_new(all, "fitted_bytes", json_integer((json_int_t)f->fitted));
        if (f->fitted == f->n_checked)
            json_object_set_new(all, "missing", json_integer(f->shortest));
    }
    return out_json(all);
}

static void print_form(const struct form *f)
{
    size_t line, column;

    out_print("form         %s\n", kinds[f->kind].name);
    out_print("rules        %d\n", f->info.rules);
    out_print("states       %d\n", f->info.nodes);
    out_print("shortest     %d tokens\n", f->info.shortest);
    out_print("compiled in  %.2f ms\n", f->info.seconds * 1e3);
    if (!f->checked)
        return;
    place(f, &line, &column);
    if (fits(f))
        out_print("the text     fits\n");
    else if (f->fitted == f->n_checked)
        out_print("the text     is a beginning: %d tokens are missing at least\n", f->shortest);
    else
        out_print("the text     stops fitting at byte %zu, line %zu, column %zu\n", f->fitted, line, column);
}

int verb_grammar(const struct options *o)
{
    struct form f = {.o = o};

    interrupt_install();
    int code = read_texts(&f);
    if (code == DONE)
        code = compile(&f);
    if (code == DONE && f.checked)
        code = follow(&f);
    if (code == DONE && o->json)
        code = print_form_json(&f);
    else if (code == DONE)
        print_form(&f);
    if (code == DONE && f.checked && !fits(&f))
        code = CHECK_FAILED;
    carat_constraint_close(f.constraint);
    carat_model_close(f.model);
    free(f.text);
    free(f.checked);
    return code;
}
