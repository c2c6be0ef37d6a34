/* SPDX-License-Identifier: Apache-2.0 */
/* stdin.c: a model that comes through standard input. A file that the shell has opened is mapped like any
 * other; what comes through a pipe is read into memory that the process keeps until it ends, as a model
 * borrows it. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "io/input.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "term/interrupt.h"

static const char name[] = "standard input";

static carat_status refuse(carat_error *err, carat_status code, const char *why)
{
    err->code = code;
    snprintf(err->message, sizeof err->message, "%s: %s", name, why);
    return code;
}

/* Fills [capacity] until the end of the pipe. What is not a GGUF file has to be small: a tokenizer, or a
 * mistake. */
static carat_status read_pipe(unsigned char *data, size_t capacity, size_t *n, carat_error *err)
{
    ssize_t got;

    for (*n = 0;; *n += (size_t)got) {
        if (*n >= INPUT_LIMIT && memcmp(data, "GGUF", 4) != 0)
            return refuse(err, CARAT_E_UNSUPPORTED,
                          "only a GGUF file can come through a pipe; give the path of this model instead");
        if (*n == capacity)
            return refuse(err, CARAT_E_MEMORY, "the model is larger than the memory of this machine");
        got = read_unless_interrupted(STDIN_FILENO, data + *n,
                                      capacity - *n < 1 << 24 ? capacity - *n : 1 << 24);
        if (got == 0)
            return CARAT_OK;
        if (got < 0 && errno == EINTR && !term_interrupted())
            got = 0;
        else if (got < 0)
            return refuse(err, errno == EINTR ? CARAT_E_CANCELLED : CARAT_E_IO, strerror(errno));
    }
}

static bool is_tokenizer(const carat_model *model)
{
    carat_model_info info = {.size = sizeof info};

    return carat_model_get_info(model, &info, NULL) == CARAT_OK && info.kind == CARAT_TOKENIZER_ONLY;
}

carat_status open_stdin(carat_model **model, const carat_model_options *options, carat_error *err)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    carat_buffer buffer = {.name = name};
    struct stat s;
    size_t capacity;

    if (fstat(STDIN_FILENO, &s) != 0)
        return refuse(err, CARAT_E_IO, strerror(errno));
    if (S_ISREG(s.st_mode))
        return carat_model_open(model, "/dev/stdin", options, err);
    capacity = (size_t)(pages > 0 ? pages : 1) * (size_t)page;
    /* Reserved for the worst case; only pages that are read into become memory. */
    void *data =
        mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
        return refuse(err, CARAT_E_MEMORY, "there is not enough memory for a model from a pipe");
    carat_status status = read_pipe(data, capacity, &buffer.size, err);
    if (status == CARAT_OK) {
        buffer.data = data;
        status = carat_model_open_memory(model, &buffer, sizeof(carat_buffer), 1, options, err);
    }
    if (status == CARAT_OK && !options->tokenizer_only && is_tokenizer(*model)) {
        carat_model_close(*model);
        *model = NULL;
        status = refuse(err, CARAT_E_UNSUPPORTED, "this is a tokenizer, not a model");
    }
    if (status != CARAT_OK)
        munmap(data, capacity);
    return status;
}
