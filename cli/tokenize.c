/* tokenize.c: `carat tokenize` and `carat detokenize`, one text at a time or a file of JSON lines. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* One conversion: text to ids, or ids to text. */
struct converter {
    const struct options *o;
    carat_model *model;
    carat_tokens ids; /* reused from line to line */
};

static int encode(struct converter *c, const char *text, size_t n)
{
    int flags = (c->o->no_bos ? 0 : CARAT_BOS) | (c->o->special ? CARAT_SPECIAL : 0);
    carat_error err;

    c->ids.n = 0;
    if (carat_tokenize(c->model, text, n, flags, &c->ids, &err) != CARAT_OK)
        return fail_status(&err);
    return DONE;
}

/* *text is for carat_free. */
static int decode(struct converter *c, char **text, size_t *n)
{
    carat_error err;

    if (carat_decode(c->model, c->ids.ids, c->ids.n, c->o->special ? CARAT_SPECIAL : 0, text, n, &err) !=
        CARAT_OK)
        return fail_status(&err);
    return DONE;
}

static int print_ids(const struct converter *c, bool json)
{
    if (json)
        return out_json(json_pack("{s:o}", "ids", json_ids(c->ids.ids, c->ids.n)));
    for (int i = 0; i < c->ids.n; i++)
        out_print("%s%d", i ? " " : "", (int)c->ids.ids[i]);
    out_print("\n");
    return DONE;
}

static int print_text(const char *text, size_t n, bool json)
{
    if (json)
        return out_json(json_pack("{s:o}", "text", json_text(text, n)));
    out_write(text, n);
    return DONE;
}

static int tokenize_text(struct converter *c, const char *text, size_t n, bool json)
{
    int code = encode(c, text, n);

    return code == DONE ? print_ids(c, json) : code;
}

static int detokenize_held(struct converter *c, bool json)
{
    char *text;
    size_t n;
    int code = decode(c, &text, &n);

    if (code == DONE) {
        code = print_text(text, n, json);
        carat_free(text);
    }
    return code;
}

static int tokenize_object(struct converter *c, const json_t *object, const char *file, long line)
{
    const json_t *text = json_object_get(object, "text");

    if (!json_is_string(text))
        return fail_as(FAILED, CARAT_E_FORMAT, "%s:%ld: there is no string \"text\"", file, line);
    return tokenize_text(c, json_string_value(text), json_string_length(text), true);
}

static int detokenize_object(struct converter *c, const json_t *object, const char *file, long line)
{
    const json_t *ids = json_object_get(object, "ids");

    if (!json_is_array(ids))
        return fail_as(FAILED, CARAT_E_FORMAT, "%s:%ld: there is no list \"ids\"", file, line);
    c->ids.n = 0;
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const json_t *id = json_array_get(ids, i);
        if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > INT32_MAX)
            return fail_as(FAILED, CARAT_E_FORMAT, "%s:%ld: ids[%zu] is not a token id", file, line, i);
        if (!push_id(&c->ids, (int32_t)json_integer_value(id)))
            return fail_memory();
    }
    return detokenize_held(c, true);
}

typedef int (*object_converter)(struct converter *c, const json_t *object, const char *file, long line);

static int convert_line(struct converter *c, object_converter convert, const char *text, size_t n,
                        const char *file, long line)
{
    json_error_t error;
    json_t *object = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    int code;

    if (!json_is_object(object)) {
        code = fail_as(FAILED, CARAT_E_FORMAT, "%s:%ld: this is not a JSON object%s%s", file, line,
                       object ? "" : ": ", object ? "" : error.text);
    } else {
        code = convert(c, object, file, line);
    }
    json_decref(object);
    return code;
}

static int convert_lines(struct converter *c, object_converter convert)
{
    bool standard = strcmp(c->o->jsonl, "-") == 0;
    const char *name = standard ? "standard input" : c->o->jsonl;
    FILE *file = standard ? stdin : fopen(c->o->jsonl, "rb");
    char *text = NULL;
    size_t capacity = 0;
    ssize_t n;
    int code = DONE;

    if (!file)
        return fail(FAILED, "%s: cannot be opened: %s", name, strerror(errno));
    errno = 0;
    for (long line = 1; code == DONE && (n = getline(&text, &capacity, file)) >= 0; line++) {
        code = convert_line(c, convert, text, (size_t)n, name, line);
        /* A program may talk to this one line by line. */
        if (code == DONE && !out_flush())
            break;
        errno = 0;
    }
    if (code == DONE && ferror(file))
        code = fail(FAILED, "%s: cannot be read: %s", name, strerror(errno));
    free(text);
    if (!standard)
        fclose(file);
    return code;
}

/* The second argument, or standard input. *owned is for free. */
static int read_text(const struct options *o, const char **text, size_t *n, char **owned)
{
    int code = DONE;

    *owned = NULL;
    if (o->text) {
        *text = o->text;
        *n = strlen(o->text);
    } else {
        code = read_input("-", owned, n);
        *text = *owned;
    }
    return code;
}

static int check(const struct options *o, const char *verb)
{
    if (o->jsonl && o->text)
        return fail(USAGE, "%s: both an argument and --jsonl are given", verb);
    return DONE;
}

static void finish(struct converter *c)
{
    carat_tokens_free(&c->ids);
    carat_model_close(c->model);
}

int verb_tokenize(const struct options *o)
{
    struct converter c = {.o = o};
    const char *text;
    char *owned;
    size_t n;
    int code = check(o, "tokenize");

    if (code == DONE)
        code = open_model(&c.model, o, true);
    if (code == DONE && o->jsonl) {
        code = convert_lines(&c, tokenize_object);
    } else if (code == DONE && (code = read_text(o, &text, &n, &owned)) == DONE) {
        /* What --lossy lets through, the library replaces as the reference does. */
        code = check_utf8(o->text ? "TEXT" : "standard input", text, n, o->lossy);
        if (code == DONE)
            code = tokenize_text(&c, text, n, o->json);
        free(owned);
    }
    finish(&c);
    return code;
}

int verb_detokenize(const struct options *o)
{
    struct converter c = {.o = o};
    const char *text;
    char *owned;
    size_t n;
    int code = check(o, "detokenize");

    if (code == DONE)
        code = open_model(&c.model, o, true);
    if (code == DONE && o->jsonl) {
        code = convert_lines(&c, detokenize_object);
    } else if (code == DONE && (code = read_text(o, &text, &n, &owned)) == DONE) {
        code = parse_ids(text, n, o->text ? "IDS" : "standard input", &c.ids);
        if (code == DONE)
            code = detokenize_held(&c, o->json);
        free(owned);
    }
    finish(&c);
    return code;
}
