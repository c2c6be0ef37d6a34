/* help.c: prints the tables of options.c, and the version. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static void print_option(const struct option *option)
{
    char left[80];
    size_t n = 0;

    for (int i = 0; i < 4 && option->names[i]; i++)
        n += (size_t)snprintf(left + n, sizeof left - n, "%s%s", i ? ", " : "", option->names[i]);
    if (option->value)
        snprintf(left + n, sizeof left - n, " %s", option->value);
    if (strlen(left) > 30)
        out_print("  %s\n  %-30s  %s\n", left, "", option->help);
    else
        out_print("  %-30s  %s\n", left, option->help);
}

static void print_command(void)
{
    out_print("carat runs Google's Gemma models.\n\nusage: carat VERB [ARGUMENTS] [OPTIONS]\n\n");
    for (int i = 0; i < N_VERB; i++)
        out_print("  %-12s%s\n", verb_texts[i].name, verb_texts[i].summary);
    out_print("\nMODEL is a Hugging Face directory or a GGUF file. The name tiny is the small model inside "
              "this command\n"
              "(./tiny is a path).\n\n"
              "  carat run tiny \"Once upon a time\"\n"
              "  carat help run\n\n"
              "Exit codes: 0 ok, 1 failure, 2 usage, 3 model not found, 4 unsupported or corrupt model, 5 "
              "out of memory,\n"
              "7 a check failed, 130 interrupted, 141 nobody reads the output.\n");
}

void print_help(enum verb verb)
{
    if (verb == N_VERB) {
        print_command();
        return;
    }
    const struct verb_text *v = &verb_texts[verb];
    out_print("carat %s: %s\n\nusage: carat %s%s%s [OPTIONS]\n\n", v->name, v->summary, v->name,
              *v->args ? " " : "", v->args);
    for (int i = 0; i < option_count; i++) {
        if (option_table[i].verbs >> verb & 1)
            print_option(&option_table[i]);
    }
    if (*v->details)
        out_print("\n%s", v->details);
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
