/* SPDX-License-Identifier: Apache-2.0 */
/* eval_prompt.c: from an item to ids. By letter the prompt lists the choices and ends with "Answer:", as
 * MMLU's does; by likelihood it ends with "Answer:" behind the question, and the choice's text follows.
 * With --chat the prompt is the user's turn, and the choice begins the model's. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "prompt/prompt.h"
#include "quality/eval.h"
#include "quality/score_options.h"
#include "term/message.h"

/* The prompt's text, for free; NULL when memory is out. */
static char *prompt_text(const struct eval *e, const struct eval_item *item, enum eval_way way)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);

    if (!f)
        return NULL;
    if (*item->context)
        fprintf(f, "%s\n\n", item->context);
    fputs(item->question, f);
    for (int i = 0; i < item->n && way == BY_LETTER; i++)
        fprintf(f, "\n%c. %s", 'A' + i, item->choice[i]);
    if (way == BY_LETTER || !e->o->score->in_chat)
        fputs("\nAnswer:", f);
    bool good = !ferror(f);
    if (fclose(f) != 0 || !good) {
        free(text);
        return NULL;
    }
    return text;
}

/* The text that the model is to write; behind "Answer:" a space comes first. */
static char *choice_text(const struct eval *e, const struct eval_item *item, enum eval_way way, int i)
{
    char *text = malloc(strlen(item->choice[i]) + 4);

    if (text && way == BY_LETTER)
        sprintf(text, "%s%c", e->o->score->in_chat ? "" : " ", 'A' + i);
    else if (text)
        sprintf(text, "%s%s", e->o->score->in_chat ? "" : " ", item->choice[i]);
    return text;
}

static int tokenize(const struct eval *e, const char *text, int flags, carat_tokens *ids)
{
    carat_error err;

    return carat_tokenize(e->model, text, strlen(text), flags, ids, &err) == CARAT_OK ? DONE
                                                                                      : fail_status(&err);
}

int eval_prompt(const struct eval *e, const struct eval_item *item, enum eval_way way, carat_tokens *ids)
{
    carat_render_options options;
    carat_render_options_default(&options);
    char *text = prompt_text(e, item, way);
    carat_error err;
    int code = text ? DONE : fail_memory();

    ids->n = 0;
    if (code == DONE && e->o->score->in_chat) {
        carat_message message = {.role = "user", .content = text};
        options.chat_template = e->o->prompt->chat_template;
        if (carat_render(e->model, &message, sizeof message, 1, &options, ids, NULL, &err) != CARAT_OK)
            code = fail_status(&err);
    } else if (code == DONE) {
        code = tokenize(e, text, CARAT_BOS, ids);
    }
    free(text);
    return code;
}

/* Prompt and choice as one text, since the last piece of the one may go on in the other. */
static int continue_text(const struct eval *e, const struct eval_item *item, enum eval_way way,
                         const char *choice, carat_tokens *ids)
{
    char *text = prompt_text(e, item, way);
    char *whole = text ? malloc(strlen(text) + strlen(choice) + 1) : NULL;
    int code = DONE;

    if (whole) {
        sprintf(whole, "%s%s", text, choice);
        code = tokenize(e, whole, CARAT_BOS, ids);
    } else {
        code = fail_memory();
    }
    free(text);
    free(whole);
    return code;
}

int eval_continue(const struct eval *e, const struct eval_item *item, enum eval_way way, int i,
                  const carat_tokens *prompt, carat_tokens *ids, int *from)
{
    char *choice = choice_text(e, item, way, i);
    int code = choice ? DONE : fail_memory();

    ids->n = 0;
    for (int k = 0; code == DONE && e->o->score->in_chat && k < prompt->n; k++)
        code = push_id(ids, prompt->ids[k]) ? DONE : fail_memory();
    if (code == DONE)
        code = e->o->score->in_chat ? tokenize(e, choice, 0, ids) : continue_text(e, item, way, choice, ids);
    free(choice);
    for (*from = 0; *from < prompt->n && *from < ids->n && prompt->ids[*from] == ids->ids[*from];)
        ++*from;
    return code;
}
