/* SPDX-License-Identifier: Apache-2.0 */
/* carat_convert.h: libcarat, to write a model into another container or with other types. carat.h runs a
 * model and has the rules on threads, errors and sizes, which hold here too. */
#ifndef CARAT_CONVERT_H
#define CARAT_CONVERT_H

#include "carat.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct carat_convert_options {
    size_t size;
    /* The type of matrices as GGUF spells it, in any case: "q8_0", "Q4_K", "bf16". Vectors, routers and what
     * llama.cpp's quantiser leaves alone become F32 or stay as they are. A row that is no multiple of a
     * type's block takes the type that llama.cpp falls back to. NULL: the type that each matrix has. */
    const char *type;
    int threads; /* 0: all processors. The bytes do not depend on it */
    /* Hears KiB of the new file that are filled and its size in KiB, and can end the call; NULL: nobody. */
    carat_progress progress;
    void *user;
} carat_convert_options;
CARAT_DEFAULT(carat_convert_options)

/* Writes the model to a GGUF file at path, which appears under its name when it is complete, and replaces an
 * older one: on every failure nothing has changed. Any thread; the model is only read.
 * CARAT_E_ARGUMENT (also when the model was read from path, and for a type that carat does not write),
 * CARAT_E_UNSUPPORTED (a fact of the model that the container cannot say), CARAT_E_NUMERIC (a weight is not
 * finite; the message names it), CARAT_E_IO, CARAT_E_NOT_FOUND (the new file was removed while it was
 * written), CARAT_E_FORMAT (a side file is damaged), CARAT_E_MEMORY, CARAT_E_BUSY (another process writes the
 * file), CARAT_E_CANCELLED. */
CARAT_API carat_status carat_convert(const carat_model *model, const char *path,
                                     const carat_convert_options *options, carat_error *err);

#ifdef __cplusplus
}
#endif

#endif
