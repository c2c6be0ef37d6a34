/* SPDX-License-Identifier: Apache-2.0 */
/* perplexity.c: `carat perplexity`: how well a model expects a text. Windows of the text are cut and
 * counted as llama-perplexity does, or, with --stride, so that every id counts once. */
#include "quality/perplexity.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "carat_tools.h"
#include "io/input.h"
#include "model/engine.h"
#include "model/model.h"
#include "prompt/prompt.h"
#include "quality/score_options.h"
#include "term/clock.h"
#include "term/interrupt.h"
#include "term/message.h"

/* The options about scoring. */
#define AT(field) offsetof(struct score_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_MEASURING + 10, {"--stride"}, INT, AT(stride), "perplexity", "N", NULL,
     "score every id once: N ids in each window, after those before them", 1, INT_MAX},
    {ABOUT_MEASURING + 20, {"--chat"}, FLAG, AT(in_chat), "eval", NULL, NULL,
     "put the question into the user's turn of the chat template", 0, 0},
    {ABOUT_MEASURING + 30, {"--min"}, REAL, AT(least), "eval", "X", NULL,
     "exit with 7 when the accuracy by letter is below X, as in 0.6", 0, 1},
};
/* clang-format on */

const struct option_group score_group = OPTION_GROUP(rows, struct score_options, NULL);

/* ---- windows of a text ---- */

/* Ids [begin, end) of the text, of which those from `first` on count. */
struct window {
    int begin, first, end;
};

/* Each window follows the one before; of each the second half counts. */
static struct window whole_window(const struct perplexity *p, int number)
{
    const int begin = number * p->context;

    return (struct window){begin, begin + p->context / 2 + 1, begin + p->context};
}

/* Each window counts so many ids that no other does, behind those before them that fit. */
static struct window strided_window(const struct perplexity *p, int number)
{
    const int first = 1 + number * p->o->score->stride, full = first + p->o->score->stride;

    return (struct window){full > p->context ? full - p->context : 0, first,
                           full < p->ids.n ? full : p->ids.n};
}

static int score_window(struct perplexity *p, int number, int32_t *ids)
{
    const struct window w = p->o->score->stride ? strided_window(p, number) : whole_window(p, number);
    const int n = w.end - w.begin;
    struct losses l = {0};

    memcpy(ids, p->ids.ids + w.begin, (size_t)n * sizeof *ids);
    if (p->info.bos >= 0)
        ids[0] = p->info.bos;
    TRY(perplexity_score(p, ids, w.first - w.begin, n, "window", number + 1, &l));
    losses_add(&p->all, &l);
    p->windows++;
    return perplexity_print_window(p, number + 1, w.first, &l);
}

/* Counts the windows. An exit code. */
static int cut_windows(struct perplexity *p, int *windows)
{
    const int n = p->ids.n, stride = p->o->score->stride;

    if (stride) {
        if (stride >= p->context)
            return term_fail(
                USAGE, "perplexity: --stride is %d, expected less than the %d ids of a window, which -c sets",
                stride, p->context);
        if (n < 2)
            return term_fail(USAGE, "%s: there is no id to score behind the first", p->name);
        *windows = (n - 1 + stride - 1) / stride;
        p->total = (size_t)*windows * (size_t)p->context;
        return DONE;
    }
    if (n / 2 < p->context)
        return term_fail(
            USAGE,
            "%s has %d ids, but perplexity needs two windows of %d at least; -c makes them smaller, and "
            "--stride scores every id",
            p->name, n, p->context);
    *windows = n / p->context;
    p->total = (size_t)*windows * (size_t)p->context;
    p->left = n - *windows * p->context;
    return DONE;
}

/* As llama-perplexity has it: without the newline at the end of the file, control tokens being text. */
static int read_text_ids(struct perplexity *p)
{
    char *text = NULL;
    size_t n = 0;
    carat_tokenize_options options;
    carat_tokenize_options_default(&options);
    carat_error err;
    int code = read_input(p->path, &text, &n);

    if (code == DONE && n == 0)
        code = term_fail(USAGE, "%s is empty, expected a text", p->name);
    if (code == DONE)
        code = settle_utf8(p->name, &text, &n, p->o->prompt->lossy);
    options.flags = CARAT_BOS;
    options.progress = stop_when_interrupted;
    if (code == DONE && n > 0 && text[n - 1] == '\n')
        n--;
    if (code == DONE && carat_tokenize_with(p->model, text, n, &options, &p->ids, &err) != CARAT_OK)
        code = fail_status(&err);
    free(text);
    return code;
}

static int perplexity_of_text(struct perplexity *p)
{
    int windows = 0;

    p->context = p->o->engine->context;
    TRY(read_text_ids(p));
    TRY(cut_windows(p, &windows));
    TRY(perplexity_begin(p, p->context, p->context));
    int32_t *ids = calloc((size_t)p->context, sizeof *ids);
    int code = ids ? DONE : fail_memory();
    for (int i = 0; i < windows && code == DONE; i++) {
        p->before = (size_t)i * (size_t)p->context;
        code = score_window(p, i, ids);
    }
    free(ids);
    return code;
}

/* ---- the verb ---- */

static int check_arguments(struct perplexity *p)
{
    const struct options *o = p->o;

    const char *text = o->text ? o->text : o->prompt->file;

    if (!text && !o->prompt->messages)
        return term_fail(USAGE,
                         "perplexity needs a text: carat perplexity MODEL FILE, or --messages FILE.jsonl");
    if ((o->text != NULL) + (o->prompt->file != NULL) + (o->prompt->messages != NULL) > 1)
        return term_fail(USAGE, "perplexity: more than one text; give one of FILE, -f and --messages");
    if (o->prompt->messages && o->score->stride)
        return term_fail(USAGE, "perplexity: --stride cuts a text into windows, and --messages has none");
    if (!o->prompt->messages && o->prompt->chat_template)
        return term_fail(USAGE,
                         "perplexity: --chat-template goes with --messages; a text is scored as it is");
    if (o->json && o->lines)
        return term_fail(USAGE, "perplexity: --json and --jsonl contradict each other");
    p->path = text ? text : o->prompt->messages;
    p->name = input_name(p->path);
    if (strcmp(p->path, "-") == 0 && strcmp(o->model, "-") == 0)
        return term_fail(USAGE, "perplexity: MODEL and %s cannot both be standard input",
                         text ? "FILE" : "--messages");
    return strcmp(p->path, "-") == 0 ? DONE : check_readable("perplexity", p->path, false);
}

int verb_perplexity(const struct options *o)
{
    struct perplexity p = {.o = o, .info.size = sizeof p.info};
    carat_error err;
    int code = check_arguments(&p);

    interrupt_install();
    if (code == DONE)
        code = open_packed(&p.model, o);
    if (code == DONE && carat_model_get_info(p.model, &p.info, &err) != CARAT_OK)
        code = fail_status(&err);
    if (code == DONE)
        code = o->prompt->messages ? perplexity_of_talks(&p) : perplexity_of_text(&p);
    progress_end(&p.bar);
    if (code == DONE)
        code = perplexity_print_result(&p);
    free(p.logprob);
    carat_tokens_free(&p.ids);
    carat_session_close(p.session);
    carat_engine_close(p.engine);
    carat_model_close(p.model);
    return code;
}
