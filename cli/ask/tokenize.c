/* SPDX-License-Identifier: Apache-2.0 */
/* tokenize.c: `carat tokenize` and `carat detokenize`, one text at a time or a file of JSON lines. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/convert_options.h"
#include "carat_tools.h"
#include "io/input.h"
#include "model/model.h"
#include "prompt/prompt.h"
#include "term/interrupt.h"
#include "term/out_json.h"
#include "term/output.h"

/* The options about text and ids. */
#define AT(field) offsetof(struct convert_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_INPUT + 160, {"--no-bos"}, FLAG, AT(no_bos), "tokenize", NULL, NULL,
     "do not begin with <bos>", 0, 0},
    {ABOUT_INPUT + 200, {"--jsonl"}, READS, AT(jsonl), "tokenize", "FILE", NULL,
     "read one {\"text\": ...} a line, print one {\"ids\": ...} a line", 0, 0},
    {ABOUT_INPUT + 210, {"--jsonl"}, READS, AT(jsonl), "detokenize", "FILE", NULL,
     "read one {\"ids\": ...} a line, print one {\"text\": ...} a line", 0, 0},
    {ABOUT_OUTPUT + 60, {"--ids"}, FLAG, AT(as_ids), "render", NULL, NULL,
     "print token ids instead of text", 0, 0},
    {ABOUT_OUTPUT + 90, {"--pieces"}, FLAG, AT(pieces), "tokenize", NULL, NULL,
     "print each id with its piece of the vocabulary", 0, 0},
};
/* clang-format on */

const struct option_group convert_group = OPTION_GROUP(rows, struct convert_options, NULL);

/* One conversion: text to ids, or ids to text. */
struct converter {
    const struct options *o;
    carat_model *model;
    carat_tokens ids; /* reused from line to line */
};

static int encode(struct converter *c, const char *text, size_t n)
{
    int flags = (c->o->convert->no_bos ? 0 : CARAT_BOS) | (c->o->prompt->special ? CARAT_SPECIAL : 0);
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

    if (carat_detokenize(c->model, c->ids.ids, c->ids.n, c->o->prompt->special ? CARAT_SPECIAL : 0, text, n,
                         &err) != CARAT_OK)
        return fail_status(&err);
    return DONE;
}

/* A piece as the vocabulary stores it, as a JSON string; NULL when memory is out. */
static json_t *piece_json(const struct converter *c, int i)
{
    size_t n;
    const char *piece = carat_piece(c->model, c->ids.ids[i], &n);

    return json_text(piece ? piece : "", n);
}

static json_t *pieces_json(const struct converter *c)
{
    json_t *list = json_array();

    for (int i = 0; list && i < c->ids.n; i++)
        if (json_array_append_new(list, piece_json(c, i)) != 0) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

/* A line for each id: the id, a tab and its piece. */
static int print_pieces(const struct converter *c)
{
    for (int i = 0; i < c->ids.n; i++) {
        json_t *piece = piece_json(c, i);
        char *text = piece ? json_dumps(piece, JSON_ENCODE_ANY) : NULL;
        json_decref(piece);
        if (!text)
            return fail_memory();
        out_print("%d\t%s\n", (int)c->ids.ids[i], text);
        free(text);
    }
    return DONE;
}

static int print_ids(const struct converter *c, bool json)
{
    if (json && c->o->convert->pieces)
        return out_json(
            json_pack("{s:o, s:o}", "ids", json_ids(c->ids.ids, c->ids.n), "pieces", pieces_json(c)));
    if (json)
        return out_json(json_pack("{s:o}", "ids", json_ids(c->ids.ids, c->ids.n)));
    if (c->o->convert->pieces)
        return print_pieces(c);
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
    if (out_is_terminal() && (n == 0 || text[n - 1] != '\n')) /* the shell's prompt begins a line */
        out_print("\n");
    return DONE;
}

static int tokenize_text(struct converter *c, const char *text, size_t n, bool json)
{
    TRY(encode(c, text, n));
    return print_ids(c, json);
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

static int tokenize_object(struct converter *c, const json_t *object, const char *where)
{
    const json_t *text = json_object_get(object, "text");

    if (!json_is_string(text))
        return fail_as(USAGE, CARAT_E_FORMAT, "%s: the key \"text\" has no string", where);
    return tokenize_text(c, json_string_value(text), json_string_length(text), true);
}

static int detokenize_object(struct converter *c, const json_t *object, const char *where)
{
    c->ids.n = 0;
    TRY(ids_of_json(object, where, &c->ids));
    return detokenize_held(c, true);
}

typedef int (*object_converter)(struct converter *c, const json_t *object, const char *where);

static int convert_line(struct converter *c, object_converter convert, const char *text, size_t n,
                        const char *where)
{
    int code;
    json_t *object = parse_json(text, n, where, &code);

    if (code == DONE && !json_is_object(object))
        code = fail_as(USAGE, CARAT_E_FORMAT, "%s: this is not a JSON object", where);
    if (code == DONE)
        code = convert(c, object, where);
    json_decref(object);
    return code;
}

/* A line as it grows. */
struct line {
    char *text;
    size_t n, capacity;
};

/* Reads one line, its end left out; *more is false when there is none. An exit code. */
static int read_line(FILE *file, struct line *l, const char *where, bool *more)
{
    int byte;

    l->n = 0;
    errno = 0;
    while ((byte = getc_unlocked(file)) != EOF && byte != '\n') {
        if (l->n == INPUT_LIMIT)
            return term_fail(USAGE, "%s: the line is longer than the %d MiB that are read as one", where,
                             INPUT_LIMIT >> 20);
        if (l->n == l->capacity) {
            size_t capacity = l->capacity ? 2 * l->capacity : 4096;
            char *text = realloc(l->text, capacity);
            if (!text)
                return fail_memory();
            l->text = text;
            l->capacity = capacity;
        }
        l->text[l->n++] = (char)byte;
    }
    if (byte == EOF && ferror(file))
        return term_interrupted() ? INTERRUPTED
                                  : term_fail(FAILED, "%s: cannot be read: %s", where, strerror(errno));
    *more = byte != EOF || l->n > 0;
    return DONE;
}

static int convert_lines(struct converter *c, object_converter convert)
{
    bool standard = strcmp(c->o->convert->jsonl, "-") == 0, more = true;
    const char *name = input_name(c->o->convert->jsonl);
    FILE *file = standard ? stdin : fopen(c->o->convert->jsonl, "rb");
    struct line l = {0};
    char where[256];
    int code = DONE;

    if (!file)
        return term_fail(FAILED, "%s: cannot be opened: %s", name, strerror(errno));
    for (long number = 1; code == DONE && more; number++) {
        snprintf(where, sizeof where, "%.200s:%ld", name, number);
        code = read_line(file, &l, where, &more);
        if (code == DONE && more)
            code = convert_line(c, convert, l.text ? l.text : "", l.n, where);
        /* A program may talk to this one line by line. */
        if (code == DONE && !out_flush())
            break;
    }
    free(l.text);
    if (!standard)
        fclose(file);
    return code;
}

/* The second argument, -p, -f, or standard input. *owned is for free; what says in messages where it is
 * from. */
static int read_text(const struct options *o, const char *argument, const char **text, size_t *n,
                     char **owned, const char **what)
{
    const char *given = o->text ? o->text : o->prompt->prompt;
    int code = DONE;

    *owned = NULL;
    *what = o->text                                                ? argument
            : given                                                ? "-p"
            : o->prompt->file && strcmp(o->prompt->file, "-") != 0 ? o->prompt->file
                                                                   : "standard input";
    if (given) {
        *text = given;
        *n = strlen(given);
    } else {
        code = read_input(o->prompt->file ? o->prompt->file : "-", owned, n);
        *text = *owned;
    }
    return code;
}

static int check_texts(const struct options *o)
{
    if (o->convert->jsonl && o->text)
        return term_fail(USAGE, "%s: both an argument and --jsonl are given", o->verb->name);
    if ((o->text != NULL) + (o->prompt->prompt != NULL) + (o->prompt->file != NULL) +
            (o->convert->jsonl != NULL) >
        1)
        return term_fail(USAGE, "%s: more than one text; give one of TEXT, -p, -f and --jsonl",
                         o->verb->name);
    return DONE;
}

/* Refuses text that is not UTF-8; --lossy lets it through, and the library replaces what is wrong as the
 * reference does. */
static int tokenize_argument(struct converter *c, const char *text, size_t n, const char *what)
{
    TRY(check_utf8(what, text, n, c->o->prompt->lossy));
    return tokenize_text(c, text, n, c->o->json);
}

static int detokenize_argument(struct converter *c, const char *text, size_t n, const char *what)
{
    TRY(parse_ids(text, n, what, &c->ids));
    return detokenize_held(c, c->o->json);
}

/* Lines of --jsonl by one function, or what the argument of that name says by another. */
static int convert(const struct options *o, object_converter of_line, const char *name,
                   int (*of_argument)(struct converter *c, const char *text, size_t n, const char *what))
{
    struct converter c = {.o = o};
    const char *text, *what;
    char *owned;
    size_t n;

    TRY(check_texts(o));
    int code = open_model(&c.model, o, true);
    if (code == DONE && o->convert->jsonl) {
        code = convert_lines(&c, of_line);
    } else if (code == DONE && (code = read_text(o, name, &text, &n, &owned, &what)) == DONE) {
        code = of_argument(&c, text, n, what);
        free(owned);
    }
    carat_tokens_free(&c.ids);
    carat_model_close(c.model);
    return code;
}

int verb_tokenize(const struct options *o)
{
    return convert(o, tokenize_object, "TEXT", tokenize_argument);
}

int verb_detokenize(const struct options *o)
{
    return convert(o, detokenize_object, "IDS", detokenize_argument);
}
