/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_trace.c: any bytes as a trace of a replay, of the receipt that the corpus was made of. Checked besides
 * memory: what is refused says why; what is taken has a hash for each operation at each position, and is
 * written so that reading it gives the same. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ask/trace_file.h"
#include "io/input.h"
#include "term/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define must(what) ((what) ? (void)0 : abort())

static int n_refused;

/* ---- what the reader asks of the rest of the command ---- */

int fail_as(int code, carat_status status, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    must(code == BAD_MODEL && status == CARAT_E_FORMAT && n > (int)strlen("trace: line 1: "));
    n_refused++;
    return code;
}

int fail_memory(void)
{
    n_refused++;
    return NO_MEMORY;
}

const char *input_name(const char *path)
{
    return path;
}

int read_input(const char *path, char **data, size_t *n)
{
    (void)path, (void)data, (void)n;
    abort(); /* nothing is read here */
}

/* ---- one input ---- */

static void expect_whole(const struct traced *t, const carat_receipt_info *receipt)
{
    must(t->n_operations > 0 && t->positions > 0 && t->n == t->n_operations * t->positions);
    must(t->first >= 0 && t->first + t->positions < receipt->n_prompt + receipt->tokens);
    for (int i = 0; i < t->n; i++)
        must(strlen(t->hash[i]) == TRACE_HASH);
    for (int i = 0; i < t->n_operations; i++)
        must(strlen(t->operation[i]) <= TRACE_NAME && *t->operation[i]);
}

static void expect_the_same(const struct traced *t, const carat_receipt_info *receipt)
{
    struct traced again = {.first = 0};
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    must(f != NULL);
    traced_write(t, f);
    must(fclose(f) == 0);
    must(traced_parse(&again, "trace", text, n, receipt) == DONE);
    must(again.first == t->first && again.n == t->n && again.n_operations == t->n_operations);
    must(memcmp(again.hash, t->hash, (size_t)t->n * sizeof *t->hash) == 0);
    must(traced_check(&again, "trace", t) == DONE);
    traced_free(&again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    carat_receipt_info receipt = {.content = "f8628a7b3ea0142011f3538fc73c6b21",
                                  .digest = "b6c80da48e73b75a8f788796a1f8ff59",
                                  .n_prompt = 14,
                                  .tokens = 8};
    struct traced t = {.first = 0};

    n_refused = 0;
    const int code = traced_parse(&t, "trace", (const char *)data, size, &receipt);
    must((code == DONE) == (n_refused == 0) && n_refused <= 1);
    if (code == DONE) {
        expect_whole(&t, &receipt);
        expect_the_same(&t, &receipt);
    }
    traced_free(&t);
    return 0;
}
