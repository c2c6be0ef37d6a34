/* SPDX-License-Identifier: Apache-2.0 */
/* refusal.h: why a request is not answered: what every surface says in its own shape. */
#ifndef REFUSAL_H
#define REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

#include "carat.h"

struct buffer;

struct refusal {
    int status;       /* of HTTP; 0: nothing is wrong */
    const char *code; /* a word for programs, static; NULL: none */
    char param[160];  /* the field that is wrong; "": none */
    char message[1200];
    bool lasts;              /* the same request has no room later either */
    int n_prompt, n_context; /* of a prompt that is too long; else 0 */
};

#if defined(__GNUC__)
#define REFUSAL_FORMAT __attribute__((format(printf, 5, 6)))
#else
#define REFUSAL_FORMAT
#endif
/* Returns false, so that `return server_refuse(...)` reads in one line. The first one stays. param may be
 * NULL. */
bool server_refuse(struct refusal *r, int status, const char *code, const char *param, const char *format,
                   ...) REFUSAL_FORMAT;
/* What the library says, without the folder of a file: an answer names no path of this machine. */
const char *refusal_says(const carat_error *err);
/* A name of the form that a request was translated into, and that which the client knows. */
struct respelling {
    const char *from, *to;
};
void text_respell(char *text, size_t capacity, const struct respelling *names, size_t n);
void refusal_respell(struct refusal *r, const struct respelling *names, size_t n);
/* The shape of OpenAI: {"error": {...}}. */
void refusal_openai(struct buffer *out, const struct refusal *r);
void refusal_openai_member(struct buffer *out, const struct refusal *r); /* without the brackets around */
/* The same as llama.cpp's clients know it, where code is the status. */
void refusal_llama(struct buffer *out, const struct refusal *r);
/* "Not Found" for 404; never NULL. */
const char *status_phrase(int status);

#endif
