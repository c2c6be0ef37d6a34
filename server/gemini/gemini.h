/* SPDX-License-Identifier: Apache-2.0 */
/* gemini.h: the routes of Google's clients. */
#ifndef GEMINI_H
#define GEMINI_H

#include "fields.h"
#include "messages.h"
#include "routes.h"

bool gemini_generate(struct job *job, struct refusal *r); /* a route's prepare, as the next */
bool gemini_stream(struct job *job, struct refusal *r);
bool gemini_count(struct job *job, struct refusal *r);
/* Answers of routes. */
void gemini_models(struct job *job, struct text path);
void gemini_vectors(struct job *job, struct text path); /* says where they are given */

extern const struct writer gemini_writer;
/* Whose streams are events, and those which are a JSON list in pieces. */
extern const struct surface surface_gemini, surface_gemini_list;

/* A conversation, as it is translated. */
struct gemini_asked {
    const struct ct_json_value *contents, *system, *tools, *calling; /* each may be NULL */
};

/* The same as a JSON object of OpenAI's form: messages, tools and the choice of a tool. */
struct gemini_translation {
    struct document *d;
    struct said said;
    struct buffer text;     /* a JSON object of the tools and the choice, as OpenAI has them */
    struct buffer declared; /* three ints for each tool: its places in tools, and 1: with a JSON schema */
    bool continues;         /* the last message is an answer that goes on */
};

/* False: *t->d->r says why not. */
bool gemini_translate(struct gemini_translation *t, const struct gemini_asked *asked);
/* Writes a schema of Google's form as JSON schema; what is no schema stays as it is, and is refused by those
 * who read it. */
void gemini_put_schema(const struct document *d, const struct ct_json_value *schema, struct buffer *out);
/* The value of a field in any of its spellings; null counts as absent. */
const struct ct_json_value *gemini_get(const struct document *d, const struct ct_json_value *object,
                                       const char *name);

#endif
