/* SPDX-License-Identifier: Apache-2.0 */
/* man.c: the tables of option_table.c as man pages: carat.1 for the command, carat-VERB.1 for a verb. The
 * build writes them by calling the command, so no page can say what the command does not know. */
#include <stdio.h>
#include <string.h>

#include "options/help.h"
#include "options/options.h"
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

static void see_also(enum verb except)
{
    bool first = true;

    out_print(".SH SEE ALSO\n");
    if (except != N_VERB)
        out_print(".BR carat (1)");
    for (int i = 0; i < N_VERB; i++) {
        if (i == (int)except)
            continue;
        out_print("%s.BR carat\\-%s (1)", first && except == N_VERB ? "" : ",\n", verb_texts[i].name);
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

static void exit_status(uint64_t verbs)
{
    out_print(".SH EXIT STATUS\n");
    for (const struct exit_text *e = exit_texts; e->text; e++) {
        if (!(e->verbs & verbs))
            continue;
        out_print(".TP\n.B %d\n", e->code);
        put_text(e->text);
        out_print("\n");
    }
}

static void named(const char *section, const struct named_text *texts, uint64_t verbs)
{
    bool any = false;

    for (; texts->name; texts++) {
        if (!(texts->verbs & verbs))
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
static void option_variables(enum verb verb)
{
    char name[64];

    out_print(".PP\nThe options of this page have these variables:\n.PP\n.EX\n");
    for (const struct option *o = option_table; o < option_table + option_count; o++) {
        if (o->verbs & ON(verb) && option_variable(name, sizeof name, o))
            out_print("%s\n", name);
    }
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
    for (int i = 0; i < N_VERB; i++) {
        out_print(".TP\n.BR carat\\-%s (1)\n", verb_texts[i].name);
        put_text(verb_texts[i].summary);
        out_print("\n");
    }
    exit_status(~0u);
    named("ENVIRONMENT", variable_texts, ~0u);
    named("FILES", file_texts, ~0u);
    examples(command_examples);
    see_also(N_VERB);
}

void print_man(enum verb verb)
{
    const char *group = NULL;
    char text[96];

    if (verb == N_VERB) {
        print_command();
        return;
    }
    const struct verb_text *v = &verb_texts[verb];
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
    for (const struct option *o = option_table; o < option_table + option_count; o++) {
        if (!o->names[0])
            group = o->help;
        if (!(o->verbs & ON(verb)))
            continue;
        if (group)
            request("SS", group);
        group = NULL;
        option_heading(text, sizeof text, o);
        out_print(".TP\n");
        request("B", text);
        put_text(o->help);
        out_print("\n");
    }
    exit_status(ON(verb));
    named("ENVIRONMENT", variable_texts, ON(verb));
    option_variables(verb);
    named("FILES", file_texts, ON(verb));
    examples(v->examples);
    see_also(verb);
}
