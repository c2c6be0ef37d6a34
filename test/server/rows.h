/* SPDX-License-Identifier: Apache-2.0 */
/* rows.h: a server of models/tiny, and refusals in the shape of each surface, for tests of requests that are
 * wrong. */
#ifndef TEST_SERVER_ROWS_H
#define TEST_SERVER_ROWS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/talk.h"

static struct served served;
static carat_model *model;
static carat_engine *engine;

static inline int begin(void **state)
{
    carat_engine_options options;

    (void)state;
    carat_engine_options_default(&options);
    options.sessions = 4;
    options.context = 512;
    options.threads = 1;
    if (carat_model_open(&model, CT_TEST_DATA "/../../models/tiny", NULL, NULL) != CARAT_OK ||
        carat_engine_create(&engine, model, &options, NULL) != CARAT_OK)
        return -1;
    served = (struct served){.options.model = model, .options.engine = engine, .options.parallel = 4};
    serve_begin(&served);
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    if (serve_end(&served) != SERVER_ENDED)
        return -1;
    carat_engine_close(engine);
    carat_model_close(model);
    return 0;
}

/* ---- what is looked at ---- */

enum {
    OF_CHAT = 1 << CHAT | 1 << PREPARE | 1 << EXPLAIN, /* by the fields of a body, it is that */
    OF_TEXT = 1 << TEXT,
    OF_MESSAGES = 1 << MESSAGES,
    OF_OLLAMA = 1 << OLLAMA_CHAT | 1 << OLLAMA_GENERATE,
    OF_RESPONSES = 1 << RESPONSES,
    OF_LLAMA = 1 << LLAMA,
    OF_GEMINI = 1 << GEMINI | 1 << GEMINI_EVENTS | 1 << GEMINI_LIST,
    OF_OPENAI = OF_CHAT | OF_TEXT,
    OF_DRAWING = OF_OPENAI | OF_MESSAGES,
    OF_MOST = OF_DRAWING | OF_OLLAMA | OF_RESPONSES | OF_LLAMA, /* fields with names of one spelling */
    OF_ALL = OF_MOST | OF_GEMINI,
    OF_VECTORS = 1 << VECTORS | 1 << OLLAMA_VECTORS,
    OF_BODIES = OF_ALL | OF_VECTORS,
    OPENAI_ERRORS = OF_OPENAI | OF_RESPONSES | OF_LLAMA | 1 << VECTORS,
};

/* What a refusal begins with, where all of a surface do. */
static inline bool is_begun(int kind, const struct reply *r)
{
    char begun[80] = "{\"error\":";

    if (kind == MESSAGES)
        strcpy(begun, "{\"type\":\"error\",\"error\":{\"type\":\"");
    else if ((OF_LLAMA | OF_GEMINI) >> kind & 1)
        snprintf(begun, sizeof begun, "{\"error\":{\"code\":%d,\"message\":\"", r->status);
    return strncmp(r->body, begun, strlen(begun)) == 0;
}

/* A refusal in the shape of its surface, which names the field: as param where the surface has that, else at
 * the beginning of the message. */
static inline bool is_refusal(int kind, const struct reply *r, const char *param, const char *word)
{
    char said[200];
    struct told t;

    if (!r->whole || !read_told(kind, r, false, &t))
        return false;
    bool good = t.error != NULL && strstr(r->body, word) != NULL && is_begun(kind, r);
    if (good && OPENAI_ERRORS >> kind & 1) {
        snprintf(said, sizeof said, *param ? "\"param\":\"%s\"" : "\"param\":null", param);
        good = strstr(r->body, said) && strstr(r->body, "\"type\":\"");
    } else if (good && *param)
        good = strstr(t.error, param) != NULL;
    if (OF_GEMINI >> kind & 1)
        good =
            good && strstr(r->body, "\"status\":\"") && !*param == !strstr(r->body, "\"fieldViolations\":");
    told_free(&t);
    return good;
}

static inline void assert_refused(int kind, const char *body, int status, const char *param, const char *word)
{
    struct reply r;

    ask(&served, "POST", kinds[kind].path, "", body, &r);
    if (status == 200 ? r.status != 200 : r.status != status || !is_refusal(kind, &r, param, word))
        fail_msg("%s: %.300s: expected %d, param '%s', '%s', but there is %d %.600s", kinds[kind].path, body,
                 status, param, word, r.status, r.body);
    reply_free(&r);
}

#endif
