/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c: a call that the model wrote, as one JSON object. Reading it is the library's; its arguments are
 * passed on as they were written, since a number may have more digits than any type of C. */
#define _POSIX_C_SOURCE 200809L
#include "prompt/calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "carat_tools.h"
#include "io/input.h"
#include "term/message.h"
#include "term/out_json.h"

/* The id that a text is, -1 when it is not exactly one. */
static int32_t id_of(const carat_model *model, const char *text)
{
    carat_tokens ids = {0};
    int32_t id = -1;

    if (carat_tokenize(model, text, strlen(text), CARAT_SPECIAL, &ids, NULL) == CARAT_OK && ids.n == 1)
        id = ids.ids[0];
    carat_tokens_free(&ids);
    return id;
}

void calls_start(struct calls *c, const carat_model *model, const char *tools)
{
    c->model = model;
    c->tools = tools;
    c->start = id_of(model, CARAT_CALL_START);
    c->start_text = strlen(CARAT_CALL_START);
    c->end = id_of(model, CARAT_CALL_END);
    if (c->start < 0) { /* Gemma 4's have no text */
        c->start = id_of(model, CARAT_TOOL_CALL_START);
        c->start_text = 0;
        c->end = id_of(model, CARAT_TOOL_CALL_END);
    }
    c->as_json = c->start < 0 && tools;
}

bool calls_any(const struct calls *c)
{
    return c->start >= 0 || c->as_json;
}

void calls_begin(struct calls *c)
{
    c->json = c->as_json ? MAY_BE_JSON : NO_JSON;
    c->n_text = 0;
    c->n_good = 0;
    c->held.n = 0;
}

bool calls_take(const struct calls *c, int32_t id)
{
    return c->json != NO_JSON || (c->start >= 0 && id >= 0 && (c->held.n > 0 || id == c->start));
}

int calls_watch(struct calls *c, const char *piece, size_t n_piece, const char **text, size_t *n)
{
    *n = 0;
    if (c->json != MAY_BE_JSON || n_piece == 0)
        return DONE;
    char *longer = realloc(c->text, c->n_text + n_piece);
    if (!longer)
        return fail_memory();
    memcpy(longer + c->n_text, piece, n_piece);
    c->text = longer;
    c->n_text += n_piece;
    const int begins = carat_begins_calls(c->model, c->text, c->n_text);
    if (begins > 0)
        c->json = IS_JSON;
    if (begins == 0) {
        c->json = NO_JSON;
        c->held.n = 0;
        *text = c->text;
        *n = c->n_text;
        c->n_text = 0;
    }
    return DONE;
}

int calls_hold(struct calls *c, int32_t id, int place)
{
    if (c->held.n == 0)
        c->first = place;
    return push_id(&c->held, id) ? DONE : fail_memory();
}

static void put_member(FILE *f, const char *key, const char *text, size_t n)
{
    json_t *string = text ? json_text(text, n) : json_null();

    fprintf(f, "\"%s\":", key);
    if (!string || json_dumpf(string, f, JSON_ENCODE_ANY | JSON_COMPACT) != 0)
        fputs("null", f);
    json_decref(string);
}

/* The object, malloc'd; NULL when memory is out. */
static char *call_json(const struct calls *c, const carat_part *p)
{
    char *line = NULL;
    size_t n;
    FILE *f = open_memstream(&line, &n);

    if (!f)
        return NULL;
    fputc('{', f);
    put_member(f, "name", p->name, p->name ? strlen(p->name) : 0);
    fprintf(f, ",\"arguments\":%s", p->arguments ? p->arguments : "null");
    if (p->error) {
        fputc(',', f);
        put_member(f, "text", p->text, p->n_text);
        fputc(',', f);
        put_member(f, "error", p->error, strlen(p->error));
        fprintf(f, ",\"token\":%d", c->first + p->error_id);
    }
    fputc('}', f);
    bool failed = ferror(f) != 0;
    if (fclose(f) != 0 || failed) {
        free(line);
        return NULL;
    }
    return line;
}

static int append(struct calls *c, const char *line)
{
    size_t n = c->list ? strlen(c->list) : 0;
    char *list = realloc(c->list, n + strlen(line) + 2);

    if (!list)
        return fail_memory();
    sprintf(list + n, "%s%s", n ? "," : "", line);
    c->list = list;
    return DONE;
}

static int finish_part(struct calls *c, const carat_part *p, bool lines,
                       int (*emit)(void *user, const char *text, size_t n), void *user)
{
    char *line;
    int code;

    if (!p->is_call)
        return emit(user, p->text, p->n_text);
    c->n_good += p->error == NULL;
    line = call_json(c, p);
    if (!line)
        return fail_memory();
    code = lines ? emit(user, line, strlen(line)) : append(c, line);
    if (code == DONE && lines)
        code = emit(user, "\n", 1);
    free(line);
    if (p->error)
        term_note("a call%s%.80s is not as it should be, %s", p->name ? " of " : "", p->name ? p->name : "",
                  p->error);
    return code;
}

int calls_finish(struct calls *c, bool lines, int (*emit)(void *user, const char *text, size_t n), void *user)
{
    carat_calls calls = {.size = sizeof *calls.part};
    carat_error err;
    int code = DONE;

    if (carat_parse_calls(c->model, c->held.ids, c->held.n, c->tools, &calls, &err) != CARAT_OK)
        return fail_status(&err);
    for (int i = 0; i < calls.n && code == DONE; i++)
        code = finish_part(c, &calls.part[i], lines, emit, user);
    carat_calls_free(&calls);
    c->held.n = 0;
    return code;
}

void calls_free(struct calls *c)
{
    carat_tokens_free(&c->held);
    free(c->text);
    free(c->list);
}
