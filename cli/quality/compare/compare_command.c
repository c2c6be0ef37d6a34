/* SPDX-License-Identifier: Apache-2.0 */
/* compare_command.c: the command line that gives the numbers of a comparison again, quoted for a shell.
 * What can change no number is left out, so that results are the same bytes whatever that was. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "prompt/prompt.h"
#include "quality/compare/compare.h"
#include "quality/compare/compare_options.h"

enum { MOST_VALUE = 4096 /* bytes of a value; a longer one ends with three points */ };

static void put_value(FILE *f, const char *value)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,@%+-";
    const size_t n = strnlen(value, MOST_VALUE + 1);
    const bool quoted = n == 0 || strspn(value, plain) < n;

    fputs(quoted ? " '" : " ", f);
    for (size_t i = 0; i < n && i < MOST_VALUE; i++)
        if (value[i] == '\'')
            fputs("'\\''", f);
        else
            fputc(value[i], f);
    fputs(n > MOST_VALUE ? "..." : "", f);
    fputs(quoted ? "'" : "", f);
}

static void put_option(FILE *f, const char *name, const char *value)
{
    if (!value)
        return;
    if (*name)
        fprintf(f, " %s", name);
    put_value(f, value);
}

char *compare_command(const struct compare *c)
{
    const struct options *o = c->o;
    const struct {
        const char *name, *value;
    } texts[] = {
        {"", c->recorded ? NULL : c->side[REF].path},
        {"", !c->side[REF].borrowed || c->recorded ? c->side[TEST].path : NULL},
        {"--tokenizer", o->open->tokenizer},
        {"--ref-logits", o->compare->ref_logits},
        {"--ref", *c->side[REF].mode ? c->side[REF].mode : NULL},
        {"--test", *c->side[TEST].mode ? c->side[TEST].mode : NULL},
        {"--driver", carat_driver_name(c->options.driver)},
        {"-p", o->prompt->prompt},
        {"-f", o->prompt->file},
        {"--messages", o->prompt->messages},
        {"--ids", o->prompt->ids},
        {"-sys", o->prompt->system},
        {"-sysf", o->prompt->system_file},
        {"--tools", o->prompt->tools},
        {"--chat-template", o->prompt->chat_template},
        {"--dataset", o->compare->dataset},
        {"--at", o->compare->at},
    };
    const struct {
        const char *name;
        bool given;
    } flags[] = {
        {"--ignore-eos", o->compare->ignore_eos}, {"--raw", o->prompt->raw}, {"--lossy", o->prompt->lossy}};
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    if (!f)
        return NULL;
    fputs("carat compare", f);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        put_option(f, texts[i].name, texts[i].value);
    if (c->options.max_tokens)
        fprintf(f, " -n %d", c->options.max_tokens);
    if (options_given(o, &o->compare->top))
        fprintf(f, " --top %d", o->compare->top);
    if (options_given(o, &o->compare->near_tie))
        fprintf(f, " --near-tie %.15g", o->compare->near_tie);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (flags[i].given)
            fprintf(f, " %s", flags[i].name);
    if (fclose(f) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
