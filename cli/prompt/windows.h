/* SPDX-License-Identifier: Apache-2.0 */
/* windows.h: texts evaluated while the library measures something: cut into windows, with one bar. */
#ifndef PROMPT_WINDOWS_H
#define PROMPT_WINDOWS_H

#include "carat.h"
#include "options/options.h"
#include "term/progress.h"

struct windows {
    carat_engine *engine; /* these two are the caller's to close */
    carat_session *session;
    int32_t bos; /* -1: the model has none */
    struct progress bar;
    size_t before, total; /* ids evaluated, and those that will be */
};

/* The ids of a text, behind <bos>; what: where it is from, for messages. An exit code. */
int windows_tokenize(const carat_model *model, const char *text, size_t n, const char *what,
                     carat_tokens *ids);
/* windows_tokenize of a file, or of standard input. */
int windows_read(const carat_model *model, const struct options *o, const char *path, carat_tokens *ids);
/* Engine and session for windows of at most `context` ids; total is known. An exit code. */
int windows_begin(struct windows *w, const carat_model *model, carat_engine_options *options, int context);
/* The number of ids that windows_evaluate evaluates. */
size_t windows_count(const carat_tokens *ids, int context, bool first);
/* Whole windows of ids, each behind <bos>; what is left over is not evaluated, unless it is all. first: the
 * first one alone. An exit code. */
int windows_evaluate(struct windows *w, carat_tokens *ids, int context, bool first);

#endif
