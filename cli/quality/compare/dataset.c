/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.c: a data set: a file of lines, each of which becomes ids by the model's tokenizer and template.
 * All of it is read once before anything is evaluated, so that a mistake shows at once, and a line at a
 * time afterwards. What a line may hold is dataset_line.c's. */
#define _POSIX_C_SOURCE 200809L
#include "quality/compare/dataset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "carat_tools.h"
#include "io/input.h"
#include "io/json_place.h"
#include "prompt/dataset_line.h"
#include "term/exit.h"
#include "term/interrupt.h"
#include "term/message.h"

enum { LINE_LIMIT = 16 << 20 };

/* ---- the file ---- */

static int dataset_open(struct dataset *d)
{
    struct stat s;

    d->file = fopen(d->path, "rb");
    if (!d->file || fstat(fileno(d->file), &s) != 0)
        return term_fail(FAILED, "%s: cannot be opened: %s", d->path, strerror(errno));
    if (!S_ISREG(s.st_mode)) /* it is read twice */
        return term_fail(FAILED, "%s: is not a regular file, which a data set must be", d->path);
    return DONE;
}

static bool dataset_room(struct dataset *d)
{
    size_t capacity = d->capacity ? d->capacity * 2 : 4096;
    char *larger = d->n < d->capacity ? d->line : realloc(d->line, capacity);

    if (!larger)
        return false;
    d->capacity = d->n < d->capacity ? d->capacity : capacity;
    d->line = larger;
    return true;
}

/* The next line that is not blank, without its end; *end: there is none. */
static int dataset_line(struct dataset *d, bool *end)
{
    bool blank = true;
    int c;

    *end = false;
    d->n = 0;
    d->number++;
    while ((c = getc(d->file)) != EOF) {
        if (c == '\n' && !blank)
            break;
        if (c == '\n') {
            d->n = 0;
            d->number++;
            continue;
        }
        blank = blank && (c == ' ' || c == '\t' || c == '\r');
        if (d->n == LINE_LIMIT)
            return term_fail(USAGE, "%s: line %" JSON_INTEGER_FORMAT ": is longer than %d MiB", d->path,
                             d->number, LINE_LIMIT >> 20);
        if (!dataset_room(d))
            return fail_memory();
        d->line[d->n++] = (char)c;
    }
    *end = blank;
    return ferror(d->file) ? term_fail(FAILED, "%s: cannot be read: %s", d->path, strerror(errno)) : DONE;
}

/* FNV-1a: enough to tell that a file is another one. */
static void dataset_hash(struct dataset *d, const void *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        d->hash = (d->hash ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
}

/* ---- what is wrong with a line ---- */

static int refuse_line(const struct dataset *d, size_t byte, const char *what)
{
    return term_fail(USAGE, "%s: line %" JSON_INTEGER_FORMAT ", byte %zu: %s", d->path, d->number, byte,
                     what);
}

static int refuse_member(const struct dataset *d, const char *member, const char *what)
{
    return refuse_line(d, json_member_at(d->line, d->n, member, -1), what);
}

/* Says what the library says of a line's text or conversation. */
static int refuse_text(const struct dataset *d, const char *member, const carat_error *err)
{
    if (err->code != CARAT_E_ARGUMENT)
        return fail_status(err);
    return refuse_member(d, strncmp(err->message, "tools", 5) == 0 ? "tools" : member, err->message);
}

/* ---- ids ---- */

static int take_ids(const struct dataset *d, const char *member, const json_t *list, carat_tokens *ids)
{
    int n_vocab = d->side->info.n_vocab;
    char what[128];

    for (size_t i = 0; i < json_array_size(list); i++) {
        json_int_t id = json_integer_value(json_array_get(list, i));
        if (id >= n_vocab) {
            snprintf(what, sizeof what,
                     "id %" JSON_INTEGER_FORMAT " of \"%s\" is outside the vocabulary of %d", id, member,
                     n_vocab);
            return refuse_line(d, json_member_at(d->line, d->n, member, (int)i), what);
        }
        if (!push_id(ids, (int32_t)id))
            return fail_memory();
    }
    return DONE;
}

static int take_text(const struct dataset *d, const char *member, const char *text, size_t n, int flags,
                     carat_tokens *ids)
{
    carat_tokenize_options options;
    carat_error err;

    carat_tokenize_options_default(&options);
    options.flags = flags;
    options.progress = stop_when_interrupted;
    if (carat_tokenize_with(d->side->model, text, n, &options, ids, &err) == CARAT_OK)
        return DONE;
    return refuse_text(d, member, &err);
}

/* A conversation; with an answer also the ids of it, which are what the template makes of it behind the
 * prompt, up to the id that ends it. */
static carat_status render_line(const struct dataset *d, const json_t *messages, const json_t *tools,
                                bool whole, carat_tokens *ids, carat_error *err)
{
    carat_render_options options;
    char *text = json_dumps(messages, 0), *tool_text = tools ? json_dumps(tools, 0) : NULL;
    carat_status status = CARAT_E_MEMORY;

    carat_render_options_default(&options);
    options.tools = tool_text;
    options.chat_template = d->chat_template;
    options.no_generation_prompt = whole;
    options.progress = stop_when_interrupted;
    if (text && (tool_text || !tools))
        status = carat_render_json(d->side->model, text, &options, ids, NULL, err);
    else
        *err = (carat_error){.code = CARAT_E_MEMORY, .message = "out of memory for a conversation"};
    free(text);
    free(tool_text);
    return status;
}

static int follow_rendered(const struct dataset *d, const json_t *messages, const json_t *tools,
                           const char *answer, struct dataset_prompt *p)
{
    json_t *with = json_deep_copy(messages);
    carat_tokens all = {0};
    carat_error err;
    int code = DONE, n = p->c.prompt.n;

    json_array_append_new(with, json_pack("{s:s, s:s}", "role", "assistant", "content", answer));
    if (render_line(d, with, tools, true, &all, &err) != CARAT_OK)
        code = refuse_text(d, "answer", &err);
    else if (all.n < n || memcmp(all.ids, p->c.prompt.ids, (size_t)n * sizeof *all.ids) != 0)
        code = refuse_member(d, "answer", "the template writes the conversation otherwise before an answer");
    for (int i = n; i < all.n && code == DONE; i++) {
        if (!push_id(&p->c.answer, all.ids[i]))
            code = fail_memory();
        if (carat_is_stop(d->side->model, all.ids[i]))
            break;
    }
    carat_tokens_free(&all);
    json_decref(with);
    return code;
}

/* Messages of a line, or of its one prompt. */
static int take_conversation(const struct dataset *d, const struct dataset_line *l, struct dataset_prompt *p)
{
    const char *member = l->messages ? "messages" : "prompt";
    json_t *messages = l->kind == PROMPT_MESSAGES
                           ? json_incref(l->messages)
                           : json_pack("[{s:s, s:s}]", "role", "user", "content", l->text);
    carat_error err;
    int code = DONE;

    if (render_line(d, messages, l->tools, false, &p->c.prompt, &err) != CARAT_OK)
        code = refuse_text(d, member, &err);
    else if (d->follows && !l->answer_ids && l->answer)
        code = follow_rendered(d, messages, l->tools, l->answer, p);
    json_decref(messages);
    return code;
}

static int take_prompt(const struct dataset *d, const struct dataset_line *l, struct dataset_prompt *p)
{
    bool has_template = d->side->info.has_chat_template || d->chat_template;
    bool rendered = l->kind == PROMPT_MESSAGES || (l->kind == PROMPT_USER && !d->raw && has_template);
    int code;

    if (l->kind == PROMPT_IDS)
        code = take_ids(d, "ids", l->ids, &p->c.prompt);
    else if (rendered)
        code = take_conversation(d, l, p);
    else
        code = take_text(d, l->kind == PROMPT_USER ? "prompt" : "text", l->text, l->n_text,
                         CARAT_BOS | CARAT_SPECIAL, &p->c.prompt);
    if (code == DONE && d->follows && l->answer_ids)
        code = take_ids(d, "answer_ids", l->answer_ids, &p->c.answer);
    else if (code == DONE && d->follows && l->answer && !rendered)
        code = take_text(d, "answer", l->answer, l->n_answer, 0, &p->c.answer);
    return code;
}

/* Takes the text of the prompt that a report shows, where its ids do not say it: those of a driver text are
 * one. */
static int take_shown(const struct dataset *d, struct dataset_prompt *p)
{
    carat_error err;
    char *text;
    size_t n;

    if (!d->side->info.has_tokenizer)
        return DONE;
    if (carat_detokenize(d->side->model, p->c.prompt.ids, p->c.prompt.n, CARAT_SPECIAL, &text, &n, &err) !=
        CARAT_OK)
        return fail_status(&err);
    p->c.text = strdup(text);
    carat_free(text);
    return p->c.text ? DONE : fail_memory();
}

/* Without an answer the text is the prompt itself, behind its first id. */
static int take_rest(const struct dataset *d, struct dataset_prompt *p)
{
    if (!d->follows || p->c.answer.n > 0)
        return DONE;
    if (p->c.prompt.n < 2 && !d->recorded)
        return refuse_line(d, 0, "it has one id, and the driver text has nothing to follow");
    for (int i = 1; i < p->c.prompt.n; i++) {
        if (!push_id(&p->c.answer, p->c.prompt.ids[i]))
            return fail_memory();
    }
    int code = take_shown(d, p);
    p->c.prompt.n = 1;
    return code;
}

static int take_recorded(struct dataset *d, const struct dataset_line *l, struct dataset_prompt *p)
{
    size_t n = (size_t)p->c.prompt.n + (size_t)p->c.answer.n, cols = (size_t)d->side->info.n_vocab;
    int code;

    if (!d->recorded)
        return DONE;
    if (!l->logits)
        return refuse_line(d, 0, "it names no \"logits\", the recorded reference");
    if (l->kind != PROMPT_IDS)
        return refuse_line(d, 0, "recorded logits need \"ids\"");
    code = npy_map(&p->recorded, l->logits, cols, n);
    if (code == DONE && p->recorded.rows != n) {
        code = fail_as(BAD_MODEL, CARAT_E_FORMAT,
                       "%s: it has %zu rows, and line %" JSON_INTEGER_FORMAT " of %s has %zu ids", l->logits,
                       p->recorded.rows, d->number, d->path, n);
        npy_unmap(&p->recorded);
    }
    p->c.recorded = p->recorded.value;
    p->c.n_recorded = (int)p->recorded.rows;
    return code;
}

static int take_line(struct dataset *d, struct dataset_prompt *p)
{
    struct dataset_line l;
    struct line_fault fault;
    int code;

    if (!dataset_line_read(&l, d->line, d->n, &fault))
        return fault.memory ? fail_memory() : refuse_line(d, fault.byte, fault.text);
    p->c.id = l.id ? json_incref(l.id) : json_integer((json_int_t)d->number);
    code = take_prompt(d, &l, p);
    if (code == DONE && p->c.prompt.n == 0)
        code = refuse_line(d, 0, "its prompt has no ids");
    if (code == DONE)
        code = take_rest(d, p);
    if (code == DONE)
        code = take_recorded(d, &l, p);
    dataset_line_free(&l);
    return code;
}

int dataset_next(struct dataset *d, struct dataset_prompt *p)
{
    bool end;
    int code = dataset_line(d, &end);

    memset(p, 0, sizeof *p);
    if (code == DONE && !end)
        code = take_line(d, p);
    if (code == DONE && term_interrupted())
        code = INTERRUPTED;
    if (code != DONE)
        dataset_prompt_free(p);
    return code;
}

void dataset_prompt_free(struct dataset_prompt *p)
{
    compared_free(&p->c);
    npy_unmap(&p->recorded);
}

/* A recorded file counts by its first and last numbers. */
static void hash_recorded(struct dataset *d, const struct npy_rows *r)
{
    size_t n = r->rows * r->cols, some = n < 1024 ? n : 1024;

    if (r->value) {
        dataset_hash(d, &n, sizeof n);
        dataset_hash(d, r->value, some * sizeof *r->value);
        dataset_hash(d, r->value + n - some, some * sizeof *r->value);
    }
}

int dataset_check(struct dataset *d)
{
    struct dataset_prompt p;
    int code = dataset_open(d);

    d->hash = 0xcbf29ce484222325u;
    d->prompts = 0;
    d->longest = 0;
    while (code == DONE && (code = dataset_next(d, &p)) == DONE && p.c.id) {
        d->prompts++;
        d->longest = p.c.prompt.n + p.c.answer.n > d->longest ? p.c.prompt.n + p.c.answer.n : d->longest;
        dataset_hash(d, d->line, d->n);
        dataset_hash(d, "\n", 1);
        hash_recorded(d, &p.recorded);
        dataset_prompt_free(&p);
    }
    if (code == DONE && d->prompts == 0)
        code = term_fail(USAGE, "%s: has no lines", d->path);
    return code;
}

int dataset_look(const char *path, bool *recorded)
{
    struct dataset d = {.path = path};
    struct dataset_line l = {0};
    struct line_fault fault;
    bool end;
    int code = dataset_open(&d);

    if (code == DONE)
        code = dataset_line(&d, &end);
    *recorded = code == DONE && dataset_line_read(&l, d.line, d.n, &fault) && l.logits;
    dataset_line_free(&l);
    dataset_close(&d);
    return code;
}

int dataset_skip(struct dataset *d, json_int_t prompts)
{
    bool end = false;
    int code = DONE;

    rewind(d->file);
    d->number = 0;
    while (prompts-- > 0 && code == DONE && !end)
        code = dataset_line(d, &end);
    return code;
}

void dataset_close(struct dataset *d)
{
    if (d->file)
        fclose(d->file);
    free(d->line);
    d->file = NULL;
    d->line = NULL;
}
