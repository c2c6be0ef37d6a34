/* help.c: prints the tables of option_table.c for people, 80 columns wide, and the version. man.c makes pages of them. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

enum { WIDTH = 79, LEFT = 28 };

/* Paragraphs, each ended by a newline or the end, wrapped and indented; the first line starts at column `at`. */
static void wrap(const char *text, int at, int indent)
{
    int column = at;

    while (*text) {
        int n = (int)strcspn(text, " \n");
        bool fresh = column <= indent;
        if (!fresh && column + 1 + n > WIDTH) {
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
        }
        text += *text != 0;
    }
    out_print("\n");
}

static void print_entry(const char *left, const char *text)
{
    int n = (int)strlen(left) + 2;

    out_print("  %s", left);
    if (n > LEFT - 2) {
        out_print("\n");
        n = 0;
    }
    wrap(text, n, LEFT);
}

void option_heading(char *out, size_t capacity, const struct option *option)
{
    size_t n = 0;

    *out = 0;
    for (int i = 0; i < MOST_NAMES && option->names[i] && n < capacity; i++)
        n += (size_t)snprintf(out + n, capacity - n, "%s%s", i ? ", " : "", option->names[i]);
    if (option->value && n < capacity)
        snprintf(out + n, capacity - n, may_stand_alone(option) ? " [%s]" : " %s", option->value);
}

static void print_command(void)
{
    out_print("carat runs Google's Gemma models.\n\nusage: carat VERB [ARGUMENTS] [OPTIONS]\n\n");
    for (int i = 0; i < N_VERB; i++)
        out_print("  %-12s%s\n", verb_texts[i].name, verb_texts[i].summary);
    out_print("\n");
    wrap(model_text, 0, 0);
    out_print("\n");
    wrap(llama_text, 0, 0);
    out_print("\n  carat run tiny \"Once upon a time\"\n  carat help run\n\nexit codes:\n");
    for (const struct exit_text *e = exit_texts; e->text; e++)
        out_print("  %-5d%s\n", e->code, e->text);
    out_print("\nenvironment:\n");
    for (const struct variable_text *v = variable_texts; v->name; v++)
        print_entry(v->name, v->text);
}

void print_help(enum verb verb)
{
    char heading[96];

    if (verb == N_VERB) {
        print_command();
        return;
    }
    const struct verb_text *v = &verb_texts[verb];
    out_print("carat %s: %s\n\nusage: carat %s%s%s [OPTIONS]\n\n", v->name, v->summary, v->name,
              *v->args ? " " : "", v->args);
    for (int i = 0; i < option_count; i++) {
        if (!(option_table[i].verbs & ON(verb)))
            continue;
        option_heading(heading, sizeof heading, &option_table[i]);
        print_entry(heading, option_table[i].help);
    }
    if (*v->details) {
        out_print("\n");
        wrap(v->details, 0, 0);
    }
    out_print("\n'carat help' explains MODEL and the exit codes.\n");
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
    if (o->json)
        return out_json(json_pack("{s:s, s:i, s:s}", "version", carat_version(), "numerics",
                                  CARAT_NUMERICS_VERSION, "compiler", compiler));
    out_print("carat %s\nnumerics %d\ncompiler %s\n", carat_version(), CARAT_NUMERICS_VERSION, compiler);
    return DONE;
}
