/* SPDX-License-Identifier: Apache-2.0 */
/* reasoning.c: see reasoning.h. */
#define _POSIX_C_SOURCE 200809L
#include "prompt/reasoning.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options/store.h"
#include "term/message.h"
#include "term/output.h"

/* The options about thoughts. */
#define AT(field) offsetof(struct reasoning_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_INPUT + 125, {"--reasoning", "-rea"}, CHOICE, AT(reasoning), GENERATES " render", "on|off|auto||true|false|1|0", "auto",
     "have the model think before it answers, where its template knows how; auto: as the template does when "
     "it is not told, which for Gemma 4 is off (default {default})", 0, 0},
    {ABOUT_INPUT + 126, {"--think"}, SWITCH, AT(reasoning), "/ " GENERATES " render", "on|off|auto||true|false|1|0", "auto",
     "ollama's option: --reasoning by another name, whose word may be left out", 0, 0},
    {ABOUT_GENERATION + 15, {"--reasoning-budget"}, INT, AT(budget), "/ " GENERATES, "N", "-1",
     "end a thought after N tokens, and have the answer begin; 0: at once, -1: never (default {default})", -1, INT_MAX},
    {ABOUT_OUTPUT + 65, {"--hidethinking", "--hide-thinking"}, FLAG, AT(hides), "/ " GENERATES, NULL, NULL,
     "do not print thoughts, which go to standard error, nor put them into JSON", 0, 0},
};
/* clang-format on */

const struct option_group reasoning_group = OPTION_GROUP(rows, struct reasoning_options, NULL);

bool reasoning_on(const struct options *o)
{
    return is_choice("on|true|1", o->reasoning->reasoning);
}

const char *reasoning_word(const struct options *o)
{
    return reasoning_on(o) ? "on" : is_choice("auto", o->reasoning->reasoning) ? "auto" : "off";
}

void reasoning_generation(const struct options *o, carat_generation_options *g)
{
    g->limits_thought = o->reasoning->budget >= 0;
    g->thought_budget = o->reasoning->budget >= 0 ? o->reasoning->budget : 0;
}

/* ---- the thoughts of one answer ---- */

void thoughts_begin(struct thoughts *t, const struct options *o, bool prints)
{
    t->prints = prints;
    t->hides = o->reasoning->hides;
    t->open = false;
    t->last_byte = 0;
    t->n_text = 0;
    t->n = t->forced = 0;
}

static int keep_thought(struct thoughts *t, const char *text, size_t n)
{
    if (t->n_text + n > t->capacity) {
        size_t capacity = (t->n_text + n) * 2;
        char *longer = realloc(t->text, capacity);
        if (!longer)
            return fail_memory();
        t->text = longer;
        t->capacity = capacity;
    }
    memcpy(t->text + t->n_text, text, n);
    t->n_text += n;
    return DONE;
}

int thoughts_emit(struct thoughts *t, const char *text, size_t n)
{
    if (n == 0 || t->hides)
        return DONE;
    if (!t->open) {
        t->open = true;
        if (t->n++ && !t->prints &&
            keep_thought(t, "\n\n", 2) != DONE) /* as carat_split_thoughts joins them */
            return NO_MEMORY;
    }
    if (!t->prints)
        return keep_thought(t, text, n);
    err_text(text, n);
    t->last_byte = text[n - 1];
    return DONE;
}

void thoughts_end(struct thoughts *t)
{
    if (t->open && t->prints) {
        bool beside = isatty(STDERR_FILENO) && out_is_terminal(); /* the answer follows on the same screen */
        if (t->last_byte != '\n')
            err_end_line();
        fputs(beside ? "\n" : "", stderr);
    }
    t->open = false;
}

void thoughts_free(struct thoughts *t)
{
    free(t->text);
}
