/* SPDX-License-Identifier: Apache-2.0 */
/* prompt_rows.c: the options about what is asked. */
#include "carat_generate.h"
#include "prompt/prompt.h"
#include "prompt/tool_command.h"

#define AT(field) offsetof(struct prompt_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_INPUT + 10, {"-p", "--prompt"}, TEXT, AT(prompt), GENERATES " logits tokenize compare", "TEXT", NULL,
     "the prompt, the first message, or the text", 0, 0},
    {ABOUT_INPUT + 20, {"-f", "--file"}, READS, AT(file), "run logits tokenize compare perplexity imatrix", "FILE", NULL,
     "read the prompt from FILE", 0, 0},
    {ABOUT_INPUT + 21, {"-f", "--file"}, READS, AT(file), "show convert", "FILE", NULL,
     "the text of --ranges, or of --residual-scale auto", 0, 0},
    {ABOUT_INPUT + 30, {"-sys", "--system-prompt"}, TEXT, AT(system), GENERATES " / logits compare", "TEXT", NULL,
     "a system message before the prompt", 0, 0},
    {ABOUT_INPUT + 40, {"-sysf", "--system-prompt-file"}, READS, AT(system_file), "/ " GENERATES " logits compare", "FILE", NULL,
     "read the system message from FILE", 0, 0},
    {ABOUT_INPUT + 50, {"--ids"}, IDS, AT(ids), "logits decode bench compare imatrix / run", "IDS", NULL,
     "token ids instead of text, as in 2,5,9; @FILE reads them from FILE", 0, 0},
    {ABOUT_INPUT + 60, {"--raw", "-no-cnv", "--no-conversation"}, FLAG, AT(raw), "run logits compare", NULL, NULL,
     "do not use the chat template", 0, 0},
    {ABOUT_INPUT + 70, {"--messages"}, READS, AT(messages), "run logits render compare", "FILE", NULL,
     "the conversation, a JSON array in OpenAI's form", 0, 0},
    {ABOUT_INPUT + 80, {"--messages"}, READS, AT(messages), "perplexity imatrix", "FILE", NULL,
     "score the model's turns of conversations: each line is a JSON array of messages, or an object with "
     "messages and optionally tools", 0, 0},
    {ABOUT_INPUT + 90, {"--tools"}, READS, AT(tools), GENERATES " render / logits compare replay", "FILE", NULL,
     "function tools, a JSON array in OpenAI's form", 0, 0},
    {ABOUT_INPUT + 100, {"--tool-command"}, TEXT, AT(tool_command), "/ " GENERATES, "PROGRAM", NULL,
     "a program and its arguments, separated by spaces: it reads each call as JSON from standard input "
     "and prints the result", 0, 0},
    {ABOUT_INPUT + 110, {"--tool-rounds"}, INT, AT(tool_rounds), "/ " GENERATES, "N", "8",
     "the most rounds of calls and results with --tool-command (default {default})", 1, 1000},
    {ABOUT_INPUT + 120, {"--chat-template"}, CHOICE, AT(chat_template), "render serve / " GENERATES " " SCORES " logits compare", "gemma|gemma3|functiongemma|gemma4|gemma4-small", NULL,
     "the chat template to use instead of the model's own", 0, 0},
    {ABOUT_INPUT + 130, {"-cnv", "--conversation"}, FLAG, AT(talks), "/ " GENERATES, NULL, NULL,
     "hold a conversation, also when standard input is not a terminal", 0, 0},
    {ABOUT_INPUT + 140, {"-st", "--single-turn"}, FLAG, AT(single_turn), "/ " GENERATES, NULL, NULL,
     "end after one message and its answer", 0, 0},
    {ABOUT_INPUT + 150, {"--no-generation-prompt"}, FLAG, AT(no_generation_prompt), "render", NULL, NULL,
     "do not open the model's turn", 0, 0},
    {ABOUT_INPUT + 170, {"--special"}, FLAG, AT(special), "tokenize render", NULL, NULL,
     "recognise control tokens in the text", 0, 0},
    {ABOUT_INPUT + 180, {"--special"}, FLAG, AT(special), "detokenize", NULL, NULL,
     "print control tokens", 0, 0},
    {ABOUT_INPUT + 190, {"--lossy"}, FLAG, AT(lossy), "tokenize / " GENERATES " logits compare perplexity imatrix show convert", NULL, NULL,
     "replace invalid UTF-8 by U+FFFD instead of refusing it", 0, 0},
};
/* clang-format on */

const struct option_group prompt_group = OPTION_GROUP(rows, struct prompt_options, NULL);
