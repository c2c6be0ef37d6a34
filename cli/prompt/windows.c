/* SPDX-License-Identifier: Apache-2.0 */
/* windows.c: see windows.h. */
#include "prompt/windows.h"

#include <stdlib.h>

#include "carat_tools.h"
#include "io/input.h"
#include "model/engine.h"
#include "prompt/prompt.h"
#include "term/interrupt.h"
#include "term/message.h"

int windows_tokenize(const carat_model *model, const char *text, size_t n, const char *what,
                     carat_tokens *ids)
{
    carat_tokenize_options options;
    carat_error err;

    if (n == 0)
        return term_fail(USAGE, "%s is empty, expected a text", what);
    carat_tokenize_options_default(&options);
    options.flags = CARAT_BOS;
    options.progress = stop_when_interrupted;
    return carat_tokenize_with(model, text, n, &options, ids, &err) == CARAT_OK ? DONE : fail_status(&err);
}

int windows_read(const carat_model *model, const struct options *o, const char *path, carat_tokens *ids)
{
    char *text = NULL;
    size_t n = 0;
    int code = read_input(path, &text, &n);

    if (code == DONE && n > 0)
        code = settle_utf8(input_name(path), &text, &n, o->prompt->lossy);
    if (code == DONE)
        code = windows_tokenize(model, text, n, input_name(path), ids);
    free(text);
    return code;
}

static int watch(void *user, size_t done, size_t total)
{
    struct windows *w = user;

    (void)total;
    return progress_update(&w->bar, w->before + done, w->total);
}

int windows_begin(struct windows *w, const carat_model *model, carat_engine_options *options, int context)
{
    carat_model_info info = {.size = sizeof info};
    carat_error err;

    if (carat_model_get_info(model, &info, &err) != CARAT_OK)
        return fail_status(&err);
    w->bos = info.bos;
    options->context = context;
    TRY(create_engine(&w->engine, model, options));
    return create_session(&w->session, w->engine, watch, w);
}

static int evaluate(struct windows *w, const int32_t *ids, int n)
{
    carat_error err;

    if (carat_rewind(w->session, 0, &err) != CARAT_OK)
        return fail_status(&err);
    TRY(evaluate_ids(w->engine, w->session, ids, n, false));
    w->before += (size_t)n;
    return DONE;
}

size_t windows_count(const carat_tokens *ids, int context, bool first)
{
    const int windows = first || ids->n < context ? 1 : ids->n / context;

    return (size_t)(ids->n < context ? ids->n : windows * context);
}

int windows_evaluate(struct windows *w, carat_tokens *ids, int context, bool first)
{
    for (int at = 0; at == 0 || at + context <= ids->n; at += context) {
        const int n = ids->n - at < context ? ids->n - at : context;
        if (w->bos >= 0)
            ids->ids[at] = w->bos;
        TRY(evaluate(w, ids->ids + at, n));
        if (first)
            break;
    }
    return DONE;
}
