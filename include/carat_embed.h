/* SPDX-License-Identifier: Apache-2.0 */
/* carat_embed.h: libcarat, vectors of texts: EmbeddingGemma 1 and 2. carat.h opens models and creates
 * engines, and has the rules on threads, errors and sizes, which hold here too.
 *
 * An embedder reads a whole text at once, every token seeing those before and behind it, and gives one
 * vector of length 1. The scalar product of two vectors says how near their texts are. An engine of such
 * a model has no sessions and no logits: carat_engine_options.context is the longest text, sessions is
 * how many texts go through one pass at most (0: 64), chunk how many tokens (0: 1024, or as many as the
 * longest text). */
#ifndef CARAT_EMBED_H
#define CARAT_EMBED_H

#include "carat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The use of a vector. The model was trained with a sentence before the text that says so. */
typedef enum carat_task {
    CARAT_TASK_NONE = 0, /* the text alone */
    CARAT_TASK_QUERY,    /* what is looked for */
    CARAT_TASK_DOCUMENT, /* what is looked through; it may have a title */
    CARAT_TASK_QA,       /* a question whose answer is looked for */
    CARAT_TASK_FACT,     /* a claim that is to be checked */
    CARAT_TASK_CLASSIFY, /* the rest is for texts that are compared with their like */
    CARAT_TASK_CLUSTER,
    CARAT_TASK_SIMILARITY,
    CARAT_TASK_CODE, /* a question about code */
} carat_task;
/* "query" for CARAT_TASK_QUERY, "" for CARAT_TASK_NONE; NULL when there is no such task. Any thread. */
CARAT_API const char *carat_task_name(carat_task task);

/* Facts about the vectors of an embedder. */
typedef struct carat_embedder {
    size_t size;
    int width;      /* values of a vector */
    int raw_width;  /* of a mean without the matrices behind it */
    int n_dense;    /* matrices behind the mean; 0: the file lacks them, and there are raw means alone */
    int max_tokens; /* of a text that it was made for, <bos> and <eos> included */
    int cut[4];     /* [n_cut] smaller numbers of values that it was trained for, largest first */
    int n_cut;
} carat_embedder;
CARAT_DEFAULT(carat_embedder)
/* Any thread. CARAT_E_ARGUMENT, CARAT_E_UNSUPPORTED (the model is no embedder). */
CARAT_API carat_status carat_get_embedder(const carat_model *model, carat_embedder *embedder,
                                          carat_error *err);

/* Appends the ids of a text[n] in UTF-8 to *out: <bos>, the sentence of the task, the text, <eos>. title
 * (may be NULL: none) is for CARAT_TASK_DOCUMENT alone. Control tokens in the text stay text. Any thread.
 * CARAT_E_NOT_FOUND (no tokenizer, or one without <bos> and <eos>), CARAT_E_ARGUMENT (also a text of no
 * tokens), CARAT_E_MEMORY. */
CARAT_API carat_status carat_embed_tokenize(const carat_model *model, carat_task task, const char *title,
                                            const char *text, size_t n, carat_tokens *out, carat_error *err);

/* One text. */
typedef struct carat_embed_input {
    const int32_t *tokens; /* [n] as the model reads them, <bos> and <eos> included */
    int n;
    float *vector;       /* [dim], the caller's: is written when the status is CARAT_OK */
    carat_status status; /* result */
} carat_embed_input;

typedef struct carat_embed_options {
    size_t size;
    int dim;                 /* values of each vector: the first ones, at length 1; 0: all */
    int raw;                 /* 1: the mean at length 1, without the matrices behind it */
    carat_progress progress; /* tokens of the inputs that are done, after each pass; may be NULL */
    /* Asked inside every pass, every few milliseconds; may be NULL. The engine is locked meanwhile: a
     * call on it would wait for ever. */
    carat_progress watch;
    void *user; /* passed to both callbacks */
} carat_embed_options;
CARAT_DEFAULT(carat_embed_options)

/* The vectors of n texts; input_size is sizeof(carat_embed_input). Texts go through passes together, in
 * their order; each gets the bits that it gets alone, whatever the others, the threads and the engine's
 * chunk. A text that fails does so alone, and the others go on: CARAT_E_ARGUMENT (no tokens, an id
 * outside the vocabulary), CARAT_E_CONTEXT (more tokens than the engine's context), CARAT_E_NUMERIC (its
 * vector holds NaN or infinity). The result is that of the first one that failed. Of a call that a
 * callback stopped, texts that were not done have CARAT_E_CANCELLED. Any thread. CARAT_E_ARGUMENT (also
 * dim beyond the vector, and then no status is written), CARAT_E_UNSUPPORTED (no embedder, or one without
 * its matrices and no raw), CARAT_E_CONTEXT, CARAT_E_NUMERIC, CARAT_E_MEMORY, CARAT_E_CANCELLED. */
CARAT_API carat_status carat_embed(carat_engine *engine, carat_embed_input *inputs, size_t input_size, int n,
                                   const carat_embed_options *options, carat_error *err);

#ifdef __cplusplus
}
#endif
#endif
