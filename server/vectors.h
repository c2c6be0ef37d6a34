/* SPDX-License-Identifier: Apache-2.0 */
/* vectors.h: texts of a request, and their vectors by an embedding model. Whoever prepares adds the texts;
 * the thread that drives the engine gets the vectors. */
#ifndef VECTORS_H
#define VECTORS_H

#include "carat_embed.h"
#include "fields.h"
#include "job.h"

enum { MOST_TEXTS = 2048, MOST_TEXT_TOKENS = 300000 }; /* of a request, as OpenAI has them */

/* How a surface writes a vector, the i-th of the request, and what it says when all are written. Under the
 * job's lock. */
struct vector_writer {
    void (*put)(struct buffer *out, const float *vector, int dim, int i);
    void (*end)(struct job *job);
};

struct vectors {
    const struct vector_writer *writer;
    carat_tokens ids;     /* of all texts, one behind the other */
    struct buffer inputs; /* carat_embed_input of each; tokens are set when all are there */
    float *values;        /* of the texts that go through the engine together */
    int dim, n, done;     /* values of a vector; texts */
    int left;             /* tokens of texts that have no vector yet */
    double begin_ms, end_ms;
    struct buffer told; /* the vectors so far */
};

/* An embedding model is served, and the request is of up to n texts. Each returns false when the refusal says
 * why not. dimensions: 0: all. */
bool vectors_begin(struct document *d, struct job *job, const struct vector_writer *writer, size_t n,
                   int64_t dimensions);
/* A text behind the sentence of a task. title may be NULL. param: the field that it came from. truncate: one
 * that is too long is cut, and not refused. */
bool vectors_add_text(struct document *d, struct job *job, const char *param, struct ct_str text,
                      carat_task task, const char *title, bool truncate);
/* Ids as the model reads them. */
bool vectors_add_ids(struct document *d, struct job *job, const char *param, const struct ct_json_value *ids);
void vectors_end(struct job *job);             /* no further text comes */
size_t vectors_bytes(const struct vectors *v); /* of memory that they hold before the first vector */
void vectors_free(struct vectors *v);          /* may be NULL */

#endif
