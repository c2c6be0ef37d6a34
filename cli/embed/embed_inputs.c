/* SPDX-License-Identifier: Apache-2.0 */
/* embed_inputs.c: see embed_print.h. Arguments, standard input, lines of JSON or ids become ids; a line that
 * is wrong does not end the others. */
#include "embed/embed_print.h"

#include <stdlib.h>
#include <string.h>

#include "io/input.h"
#include "io/json_lines.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/utf8.h"

/* A text on its way to ids. */
struct source {
    const struct options *o;
    const carat_model *model;
    const carat_embedder *about;
    struct embed_inputs *in;
    char where[300]; /* "FILE: line 3: ", before messages about it, or "" */
    long line;
};

static carat_task task_named(const char *name)
{
    int task = CARAT_TASK_NONE;

    while (carat_task_name((carat_task)task) && strcmp(carat_task_name((carat_task)task), name) != 0)
        task++;
    return (carat_task)task;
}

/* The task of a text: that of its own line, else that of the options. */
static carat_task task_of(const struct options *o, const char *own, const char *title)
{
    const char *name = own ? own : o->embed->task ? o->embed->task : title ? "document" : "query";

    return o->embed->no_prompt ? CARAT_TASK_NONE : task_named(name);
}

/* Says what is wrong with one text. One of several is named, and the others go on. */
static int fail_text(struct source *s, int code, carat_status status, const char *why)
{
    fail_as(code, status, "%s%s", s->where, why);
    s->in->failed++;
    return *s->where ? DONE : code;
}

/* Room for a text, which has no ids yet. */
static int begin_text(struct source *s)
{
    struct embed_inputs *in = s->in;

    if ((size_t)in->n == in->capacity) {
        const size_t capacity = in->capacity ? 2 * in->capacity : 64;
        struct embed_text *text = realloc(in->text, capacity * sizeof *text);
        if (!text)
            return fail_memory();
        in->text = text;
        in->capacity = capacity;
    }
    in->text[in->n++] = (struct embed_text){.at = in->ids.n, .line = s->line};
    return DONE;
}

/* The ids behind text->at are its own, if they are not too many. */
static int end_text(struct source *s)
{
    struct embed_inputs *in = s->in;
    struct embed_text *text = &in->text[in->n - 1];
    const int n = in->ids.n - text->at, most = s->about->max_tokens;
    char why[160];

    if (n > most && s->o->embed->truncate) {
        in->ids.ids[text->at + most - 1] = in->ids.ids[in->ids.n - 1]; /* <eos> stays the last */
        in->ids.n = text->at + most;
    } else if (n > most || n == 0) {
        in->ids.n = text->at;
        snprintf(why, sizeof why,
                 n ? "the text has %d tokens, expected at most %d; --truncate cuts it"
                   : "the text has %d tokens, expected 1 to %d",
                 n, most);
        return fail_text(s, n ? FAILED : BAD_MODEL, n ? CARAT_E_CONTEXT : CARAT_E_ARGUMENT, why);
    }
    text->n = in->ids.n - text->at;
    in->longest = text->n > in->longest ? text->n : in->longest;
    return DONE;
}

static int add_text(struct source *s, const char *text, size_t n, const char *task, const char *title)
{
    carat_error err;

    TRY(begin_text(s));
    const carat_task which = task_of(s->o, task, title);
    const carat_status status = carat_embed_tokenize(s->model, which, which == CARAT_TASK_NONE ? NULL : title,
                                                     text, n, &s->in->ids, &err);
    if (status == CARAT_E_MEMORY)
        return fail_memory();
    if (status != CARAT_OK)
        return fail_text(s, BAD_MODEL, status, err.message);
    return end_text(s);
}

/* A line's own words; false: one of them is no such word. */
static bool string_member(const json_t *line, const char *key, const char **value)
{
    const json_t *v = json_object_get(line, key);

    *value = json_string_value(v);
    return !v || json_is_null(v) || (*value && strlen(*value) == json_string_length(v));
}

static int add_ids(struct source *s, const json_t *line)
{
    char where[sizeof s->where];

    TRY(begin_text(s));
    snprintf(where, sizeof where, "%.*s", (int)strlen(s->where) - 2, s->where); /* without ": " */
    if (ids_of_json(line, where, &s->in->ids) == DONE)
        return end_text(s);
    s->in->ids.n = s->in->text[s->in->n - 1].at; /* it was named */
    s->in->failed++;
    return DONE;
}

static int add_json_line(struct source *s, const json_t *line)
{
    const json_t *text = json_object_get(line, "text");
    const char *task, *title;

    if (json_object_get(line, "ids"))
        return add_ids(s, line);
    if (!json_is_string(text) || !string_member(line, "task", &task) ||
        !string_member(line, "title", &title)) {
        TRY(begin_text(s));
        return fail_text(
            s, USAGE, CARAT_E_FORMAT,
            "expected an object with a string \"text\", or a list \"ids\"; \"task\" and \"title\" are "
            "strings");
    }
    if (task && (!*task || !carat_task_name(task_named(task)))) {
        TRY(begin_text(s));
        return fail_text(s, USAGE, CARAT_E_ARGUMENT, "\"task\" is no task that --task takes");
    }
    return add_text(s, json_string_value(text), json_string_length(text), task, title);
}

static int read_lines(struct source *s)
{
    struct json_lines lines;
    int code = json_lines_open(&lines, s->o->embed->jsonl);

    while (code == DONE && !term_interrupted() && json_lines_next(&lines)) {
        int wrong;
        json_t *line = json_lines_value(&lines, &wrong);
        s->line = lines.number;
        snprintf(s->where, sizeof s->where, "%.200s: line %ld: ", lines.name, lines.number);
        if (line) {
            code = add_json_line(s, line);
        } else if (wrong != USAGE) {
            code = wrong;
        } else if ((code = begin_text(s)) == DONE) { /* it was named */
            s->in->failed++;
        }
        json_decref(line);
    }
    json_lines_close(&lines);
    return code == DONE && term_interrupted() ? INTERRUPTED : code;
}

/* Without its end. False: it is blank. */
static bool has_text(const char *line, size_t *n)
{
    *n -= *n > 0 && line[*n - 1] == '\r';
    for (size_t i = 0; i < *n; i++)
        if (line[i] != ' ' && line[i] != '\t')
            return true;
    return false;
}

/* One line of a file of texts. A NUL byte is a character like others. */
static int add_text_line(struct source *s, const char *line, size_t n)
{
    const char *name = input_name(s->o->embed->file);
    const size_t valid = utf8_valid(line, n);
    char why[64];

    snprintf(s->where, sizeof s->where, "%.200s: line %ld: ", name, s->line);
    if (valid == n)
        return add_text(s, line, n, NULL, s->o->embed->title);
    TRY(begin_text(s));
    snprintf(why, sizeof why, "byte %zu: this is not UTF-8 (found 0x%02x)", valid,
             (unsigned char)line[valid]);
    return fail_text(s, USAGE, CARAT_E_ARGUMENT, why);
}

static int read_text_lines(struct source *s)
{
    char *all;
    size_t n;

    TRY(read_input(s->o->embed->file, &all, &n));
    int code = DONE;
    for (const char *at = all; code == DONE && at < all + n && !term_interrupted();) {
        const size_t left = n - (size_t)(at - all);
        const char *end = memchr(at, '\n', left);
        size_t length = end ? (size_t)(end - at) : left;
        s->line++;
        if (has_text(at, &length))
            code = add_text_line(s, at, length);
        at = end ? end + 1 : all + n;
    }
    free(all);
    return code == DONE && term_interrupted() ? INTERRUPTED : code;
}

static int read_arguments(struct source *s)
{
    const struct options *o = s->o;

    for (int i = -1; i < o->more.n; i++) {
        const char *text = i < 0 ? o->text : o->more.text[i];
        s->line = 0;
        if (o->more.n)
            snprintf(s->where, sizeof s->where, "text %d: ", i + 2);
        TRY(check_utf8("TEXT", text, strlen(text), false));
        TRY(add_text(s, text, strlen(text), NULL, o->embed->title));
    }
    return DONE;
}

static int read_standard_input(struct source *s)
{
    char *text;
    size_t n;

    TRY(read_input("-", &text, &n));
    int code = check_utf8("standard input", text, n, false);
    if (code == DONE)
        code = add_text(s, text, n, NULL, s->o->embed->title);
    free(text);
    return code;
}

static int read_one_of_ids(struct source *s)
{
    TRY(begin_text(s));
    TRY(read_ids(s->o->embed->ids, "--ids", &s->in->ids));
    return end_text(s);
}

int embed_inputs_check(const struct options *o)
{
    const struct embed_options *e = o->embed;

    if ((o->text != NULL) + (e->ids != NULL) + (e->jsonl != NULL) + (e->file != NULL) > 1)
        return term_fail(USAGE,
                         "embed: more than one source of texts; give one of TEXT, --ids, -f and --jsonl");
    if (e->no_prompt && (e->task || e->title))
        return term_fail(USAGE, "embed: --no-prompt leaves out what --task and --title say");
    if (e->title && e->task && strcmp(e->task, "document") != 0)
        return term_fail(USAGE, "embed: --title goes with --task document, not with %s", e->task);
    if (e->jsonl && e->title)
        return term_fail(USAGE, "embed: with --jsonl each line has its own \"title\"");
    return DONE;
}

int embed_inputs_read(struct embed_inputs *in, const struct options *o, const carat_model *model,
                      const carat_embedder *about)
{
    struct source s = {.o = o, .model = model, .about = about, .in = in};

    return o->embed->ids     ? read_one_of_ids(&s)
           : o->embed->jsonl ? read_lines(&s)
           : o->embed->file  ? read_text_lines(&s)
           : o->text         ? read_arguments(&s)
                             : read_standard_input(&s);
}

void embed_inputs_free(struct embed_inputs *in)
{
    free(in->text);
    carat_tokens_free(&in->ids);
}
