/* SPDX-License-Identifier: Apache-2.0 */
/* man.c: the tables of verbs and options as man pages: carat.1 for the command, carat-VERB.1 for a verb. The
 * build writes them by calling the command, so no page can say what the command does not know. */
#include <stdio.h>
#include <string.h>

#include "options/environment.h"
#include "options/help.h"
#include "options/table.h"
#include "options/texts.h"
#include "term/output.h"

/* Text for roff: nothing of it may become a request or an escape, and dashes are those that one can type. */
static void put(const char *text, size_t n)
{
    bool line_begins = true;

    for (size_t i = 0; i < n; i++) {
        if (line_begins && (text[i] == '.' || text[i] == '\''))
            out_print("\\&");
        line_begins = text[i] == '\n';
        if (text[i] == '\\')
            out_print("\\e");
        else if (text[i] == '-')
            out_print("\\-");
        else if (text[i] == '"')
            out_print("\\(dq");
        else if (text[i] == '`' || text[i] == '\'' || text[i] == '^' || text[i] == '~')
            out_print("%s", text[i] == '`'    ? "\\(ga"
                            : text[i] == '\'' ? "\\(aq"
                            : text[i] == '^'  ? "\\(ha"
                                              : "\\(ti");
        else
            out_write(text + i, 1);
    }
}

static void put_text(const char *text)
{
    put(text, strlen(text));
}

/* One request with the rest of its line, then a newline. */
static void request(const char *name, const char *text)
{
    out_print(".%s ", name);
    put_text(text);
    out_print("\n");
}

/* Paragraphs, each ended by a newline or the end. */
static void paragraphs(const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        put(text, n);
        text += n + (text[n] == '\n');
        out_print(*text ? "\n.PP\n" : "\n");
    }
}

static void title(const char *page)
{
    out_print(".TH %s 1 \"\" \"carat %s\" \"carat\"\n.SH NAME\n", page, carat_version());
}

static void see_also(const struct verb *except)
{
    bool first = true;

    out_print(".SH SEE ALSO\n");
    if (except)
        out_print(".BR carat (1)");
    for (const struct verb *v = verb_table; v->name; v++) {
        if (v == except)
            continue;
        out_print("%s.BR carat\\-%s (1)", first && !except ? "" : ",\n", v->name);
        first = false;
    }
    out_print("\n");
}

/* Commands, each ended by a newline. */
static void examples(const char *lines)
{
    out_print(".SH EXAMPLES\n.EX\n");
    put_text(lines);
    out_print(".EE\n");
}

/* verb NULL: all. */
static void exit_status(const struct verb *verb)
{
    out_print(".SH EXIT STATUS\n");
    for (const struct exit_text *e = exit_texts; e->text; e++) {
        if (verb && !verb_belongs(e->verbs, verb))
            continue;
        out_print(".TP\n.B %d\n", e->code);
        put_text(e->text);
        out_print("\n");
    }
}

static void named(const char *section, const struct named_text *texts, const struct verb *verb)
{
    bool any = false;

    for (; texts->name; texts++) {
        if (verb && !verb_belongs(texts->verbs, verb))
            continue;
        if (!any)
            out_print(".SH %s\n", section);
        any = true;
        out_print(".TP\n");
        request("B", texts->name);
        put_text(texts->text);
        out_print("\n");
    }
}

/* The variables that stand for options of the verb, each once. */
static void option_variables(const struct verb *verb)
{
    char name[64];

    out_print(".PP\nThe options of this page have these variables:\n.PP\n.EX\n");
    for (const struct option_row *r = table_rows(); r->option; r++)
        if (verb_belongs(r->option->verbs, verb) && option_variable(name, sizeof name, r->option))
            out_print("%s\n", name);
    out_print(".EE\n");
}

static void print_command(void)
{
    title("CARAT");
    out_print("carat \\- run Google's Gemma models\n.SH SYNOPSIS\n.B carat\n.I VERB\n"
              ".RI [ ARGUMENTS ]\n.RI [ OPTIONS ]\n.SH DESCRIPTION\n");
    paragraphs(model_text);
    out_print(".PP\n");
    paragraphs(llama_text);
    out_print(".SH VERBS\n");
    for (const struct verb *v = verb_table; v->name; v++) {
        out_print(".TP\n.BR carat\\-%s (1)\n", v->name);
        put_text(v->summary);
        out_print("\n");
    }
    exit_status(NULL);
    named("ENVIRONMENT", variable_texts, NULL);
    named("FILES", file_texts, NULL);
    examples(command_examples);
    see_also(NULL);
}

void print_man(const struct verb *v)
{
    const char *group = NULL;
    char text[HEADING_TEXT], help[HELP_TEXT];

    if (!v) {
        print_command();
        return;
    }
    snprintf(text, sizeof text, "CARAT\\-%s", v->name);
    for (char *p = text; *p; p++)
        *p = *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;
    title(text);
    out_print("carat\\-%s \\- ", v->name);
    put_text(v->summary);
    out_print("\n.SH SYNOPSIS\n.B carat %s\n", v->name);
    if (*v->args)
        request("I", v->args);
    out_print(".RI [ OPTIONS ]\n");
    if (*v->details) {
        out_print(".SH DESCRIPTION\n");
        paragraphs(v->details);
    }
    out_print(".SH OPTIONS\n");
    for (const struct option_row *r = table_rows(); r->option; r++) {
        if (!verb_belongs(r->option->verbs, v))
            continue;
        if (group != section_title(r->option))
            request("SS", section_title(r->option));
        group = section_title(r->option);
        option_heading(text, r->option);
        out_print(".TP\n");
        request("B", text);
        put_text(option_help(help, r->option));
        out_print("\n");
    }
    exit_status(v);
    named("ENVIRONMENT", variable_texts, v);
    option_variables(v);
    named("FILES", file_texts, v);
    examples(v->examples);
    see_also(v);
}
