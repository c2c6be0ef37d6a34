/* SPDX-License-Identifier: Apache-2.0 */
/* command_rows.c: the options about options.h: what every verb has. */
#include "options/table.h"

#define AT(field) offsetof(struct options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_MODEL + 10, {"-m", "--model", "--weights"}, MODEL, AT(model), "opens", "MODEL", NULL,
     "the model, instead of the first argument", 0, 0},
    {ABOUT_MODEL + 11, {"-hf", "-hfr", "--hf-repo"}, TEXT, AT(model), "/ opens pull", "OWNER/NAME", NULL,
     "the same, a repository of the hub, with :QUANT behind it for one of several GGUF files", 0, 0},
    {ABOUT_MODEL + 15, {"--search-hf"}, TEXT, AT(model), "/ search", "WORDS", NULL,
     "the words, as in carat fetch --search-hf WORDS", 0, 0},
    {ABOUT_MODEL + 16, {"--search-kaggle"}, TEXT, AT(kaggle), "/ search", "WORDS", NULL,
     "the same, and --source kaggle", 0, 0},
    {ABOUT_MODEL + 17, {"--kaggle"}, TEXT, AT(kaggle), "/ pull", "HANDLE", NULL,
     "OWNER/MODEL/FRAMEWORK/VARIATION of Kaggle, as kaggle://HANDLE", 0, 0},
    {ABOUT_MODEL + 13, {"-mu", "--model-url"}, TEXT, AT(model), "/ opens", "ADDRESS", NULL,
     "the same, the address of a file or of a page of the hub", 0, 0},
    {ABOUT_OUTPUT + 110, {"--json"}, FLAG, AT(json), "any -chat -render -pack -completion -help", NULL, NULL,
     "print JSON", 0, 0},
    {ABOUT_OUTPUT + 120, {"--jsonl"}, FLAG, AT(lines), SCORES " decode", NULL, NULL,
     "print JSON line by line as results arrive", 0, 0},
    {ABOUT_MESSAGES + 30, {"-v", "--verbose"}, FLAG, AT(verbose), GENERATES, NULL, NULL,
     "print the speed, how the model was run, and why it stopped", 0, 0},
    {ABOUT_MESSAGES + 60, {"--color", "-co"}, SWITCH, AT(color), "/ any", "on|off|auto|always|never", "auto",
     "use colours in messages (default {default}: on a terminal)", 0, 0},
    {ABOUT_MESSAGES + 70, {"--man"}, FLAG, AT(man), "help", NULL, NULL,
     "print a man page, for man -l", 0, 0},
    {ABOUT_MESSAGES + 80, {"-h", "--help", "--usage"}, FLAG, AT(help), "any", NULL, NULL,
     "print the most used options", 0, 0},
    {ABOUT_MESSAGES + 90, {"--help-all"}, FLAG, AT(help_all), "any", NULL, NULL,
     "print every option", 0, 0},
};
/* clang-format on */

const struct option_group command_group = OPTION_GROUP(rows, struct options, NULL);
