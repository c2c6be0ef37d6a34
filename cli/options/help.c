/* SPDX-License-Identifier: Apache-2.0 */
/* help.c: prints the tables of verbs and options for people, as wide as their terminal or COLUMNS, and the
 * version. man.c makes pages of them. */
#include "options/help.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "carat_device.h"
#include "options/table.h"
#include "options/texts.h"
#include "term/columns.h"
#include "term/out_json.h"
#include "term/output.h"

enum { WIDEST = 100, NARROW = 64, LEFT = 28, LEFT_NARROW = 8 };

/* Nothing is folded for a pipe, unless COLUMNS asks for it: who reads it folds, or looks for words. */
static int width(void)
{
    const bool terminal = out_is_terminal();
    const int columns = columns_of(STDOUT_FILENO, terminal ? USUAL_COLUMNS : INT_MAX);

    return (terminal && columns > WIDEST ? WIDEST : columns) -
           1; /* some terminals go on when their last column is taken */
}

/* The column of the words that explain what is left of them. */
static int left(void)
{
    return width() < NARROW ? LEFT_NARROW : LEFT;
}

/* The number of bytes that stay together at the beginning of the text: a word, or of a word that is too long
 * for a line the part up to a |. */
static int next_word(const char *text, int room)
{
    int n = (int)strcspn(text, " \n"), cut = n;

    while (cut > 0 && (cut > room || (cut < n && text[cut - 1] != '|')))
        cut--;
    return cut > 0 ? cut : n;
}

/* Paragraphs, each ended by a newline or the end, wrapped and indented; the first line starts at column `at`.
 */
static void wrap(const char *text, int at, int indent)
{
    int column = at, most = width();

    while (*text) {
        int n = next_word(text, most - indent);
        bool fresh = column <= indent;
        if (!fresh && column + 1 + n > most) {
            out_print("\n");
            column = 0;
            fresh = true;
        }
        out_print("%*s%.*s", fresh ? indent - column : 1, "", n, text);
        column = (fresh ? indent : column + 1) + n;
        text += n;
        if (*text == '\n' && text[1]) {
            out_print("\n");
            column = 0;
        } else if (*text && *text != ' ' && *text != '\n') {
            column = most; /* the rest of a long word */
        }
        text += *text == ' ' || *text == '\n';
    }
    out_print("\n");
}

/* Prints a name and its text. A name that is too long wraps too, one column further in each line but the
 * first. */
static void print_entry(const char *name, const char *text)
{
    int n = (int)strlen(name) + 2;

    if (n <= left() - 2) {
        out_print("  %s", name);
    } else {
        out_print("  ");
        wrap(name, 4, 4);
        n = 0;
    }
    wrap(text, n, left());
}

/* A command is never wrapped: it is there to be copied. */
static void print_examples(const char *lines)
{
    out_print("\nexamples:\n");
    for (size_t n; *lines; lines += n) {
        n = strcspn(lines, "\n") + 1;
        out_print("  %.*s", (int)n, lines);
    }
}

/* One line for a verb, below the heading of its group. Groups stand apart while all of them fit on a
 * screen of 40 lines. */
static void print_verbs(void)
{
    enum { MOST_APART = 19 }; /* verbs */
    static const char *const titles[N_VERB_GROUPS] = {[TO_BEGIN] = "to begin with",
                                                      [TO_ASK] = "ask, step by step",
                                                      [TO_JUDGE] = "judge a model",
                                                      [FOR_FILES] = "files",
                                                      [TO_SERVE] = "serve other programs"};
    /* the last heading says what else there is, lest all be more than a screen */
    const char *last = width() < NARROW
                           ? "more: carat help VERB, or --help-all"
                           : "more: 'carat help VERB' tells of a verb, 'carat help --help-all' of MODEL";
    int n = 0;

    while (verb_table[n].name)
        n++;
    for (int group = 0; group < N_VERB_GROUPS; group++) {
        bool titled = false;
        for (const struct verb *v = verb_table; v->name; v++) {
            if ((int)v->group != group)
                continue;
            if (!titled)
                out_print("%s%s\n", n <= MOST_APART ? "\n" : "", group == FOR_MORE ? last : titles[group]);
            titled = true;
            out_print("   %-11s%s\n", v->name, width() < NARROW ? v->brief : v->summary);
        }
    }
}

static void print_command(bool all)
{
    out_print("carat runs Google's Gemma models.\nusage: carat VERB [ARGUMENTS] [OPTIONS]\n");
    print_verbs();
    if (!all)
        return;
    out_print("\n");
    wrap(model_text, 0, 0);
    out_print("\n");
    wrap(llama_text, 0, 0);
    print_examples(command_examples);
    out_print("\nexit codes:\n");
    for (const struct exit_text *e = exit_texts; e->text; e++) {
        out_print("  %-5d", e->code);
        wrap(e->text, 7, 7);
    }
    out_print("\nenvironment:\n");
    for (const struct named_text *v = variable_texts; v->name; v++)
        print_entry(v->name, v->text);
}

/* Prints the options of a verb below the titles of their groups. Returns how many were left out as seldom
 * used. */
static int print_options(const struct verb *verb, bool all)
{
    const char *title = NULL;
    char heading[HEADING_TEXT], help[HELP_TEXT];
    int left_out = 0;

    for (const struct option_row *r = table_rows(); r->option; r++) {
        enum belongs belongs = verb_belongs(r->option->verbs, verb);
        left_out += belongs == SELDOM && !all;
        if (!belongs || (belongs == SELDOM && !all))
            continue;
        if (title != section_title(r->option))
            out_print("\n%s:\n", section_title(r->option));
        title = section_title(r->option);
        option_heading(heading, r->option);
        print_entry(heading, option_help(help, r->option));
    }
    return left_out;
}

void print_help(const struct verb *v, bool all)
{
    char line[HELP_TEXT];

    if (!v) {
        print_command(all);
        return;
    }
    snprintf(line, sizeof line, "carat %s: %s", v->name, v->summary);
    wrap(line, 4, 4); /* its first line begins at 0 */
    out_print("\n");
    snprintf(line, sizeof line, "usage: carat %s%s%s [OPTIONS]", v->name, *v->args ? " " : "", v->args);
    wrap(line, 4, 4);
    int left_out = print_options(v, all);
    if (*v->details) {
        out_print("\n");
        wrap(v->details, 0, 0);
    }
    print_examples(v->examples);
    out_print("\n");
    if (left_out > 0) {
        snprintf(line, sizeof line, "%d option%s more, seldom used: carat %s --help-all", left_out,
                 left_out == 1 ? "" : "s", v->name);
        wrap(line, 0, 0);
    }
    wrap("'carat help --help-all' explains MODEL and the exit codes.", 0, 0);
}

int verb_help(const struct options *o)
{
    const struct verb *verb = o->model ? find_verb(o->model) : NULL; /* the first argument */

    if (o->model && !verb)
        return unknown_verb(o->model);
    if (o->man)
        print_man(verb);
    else
        print_help(verb, o->help_all);
    return DONE;
}

int verb_version(const struct options *o)
{
#if defined(__clang__)
    const char *compiler = "clang " __clang_version__;
#elif defined(__GNUC__)
    const char *compiler = "gcc " __VERSION__;
#else
    const char *compiler = "unknown";
#endif
    const char *kernels = carat_gpu_kernels();
    if (o->json)
        return out_json(json_pack("{s:s, s:i, s:i, s:s, s:s?}", "version", carat_version(), "numerics",
                                  CARAT_NUMERICS_VERSION, "drawing", CARAT_DRAWING_VERSION, "compiler",
                                  compiler, "gpu_kernels", kernels));
    out_print("carat %s\nnumerics %d\ndrawing %d\ncompiler %s\ngpu kernels %s\n", carat_version(),
              CARAT_NUMERICS_VERSION, CARAT_DRAWING_VERSION, compiler,
              kernels ? kernels : "none: built without clang");
    return DONE;
}
