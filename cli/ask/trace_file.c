/* SPDX-License-Identifier: Apache-2.0 */
/* trace_file.c: see trace_file.h. A file is lines of JSON: one that says what was traced, then one for each
 * position. It may come from anybody. */
#define _POSIX_C_SOURCE 200809L
#include "ask/trace_file.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/input.h"
#include "term/message.h"

enum { VERSION = 1, MOST_OPERATIONS = 100000, TRACE_LIMIT = 64 << 20 /* bytes */ };

void traced_free(struct traced *t)
{
    free(t->operation);
    free(t->hash);
    *t = (struct traced){0};
}

/* ---- out of a replay ---- */

/* A list of n that doubles, with room for one more; NULL: memory is out, and the list is as it was. */
static void *with_room(void *list, int n, size_t size)
{
    enum { LEAST = 256 };

    return n % LEAST || (n & (n - 1)) ? list : realloc(list, (size_t)(n ? 2 * n : LEAST) * size);
}

bool traced_add(struct traced *t, const carat_operation_hash *heard)
{
    char(*hash)[TRACE_HASH + 1] = with_room(t->hash, t->n, sizeof *hash);

    if (!hash)
        return false;
    t->hash = hash;
    memcpy(hash[t->n++], heard->hash, sizeof *hash);
    if (heard->position != t->first)
        return true;
    char(*name)[TRACE_NAME + 1] = with_room(t->operation, t->n_operations, sizeof *name);
    if (!name)
        return false;
    t->operation = name;
    name += t->n_operations++;
    if (heard->layer < 0)
        snprintf(*name, sizeof *name, "%s", heard->operation);
    else
        snprintf(*name, sizeof *name, "%s of layer %d", heard->operation, heard->layer);
    return true;
}

void traced_write(const struct traced *t, FILE *file)
{
    fprintf(
        file,
        "{\"version\":%d,\"content\":\"%s\",\"digest\":\"%s\",\"first\":%d,\"positions\":%d,\"operations\":[",
        VERSION, t->content, t->digest, t->first, t->positions);
    for (int i = 0; i < t->n_operations; i++)
        fprintf(file, "%s\"%s\"", i ? "," : "", t->operation[i]);
    fprintf(file, "]}\n");
    for (int i = 0; i < t->n; i++) {
        const int at = i % t->n_operations;
        if (at == 0)
            fprintf(file, "{\"position\":%d,\"hashes\":[", t->first + i / t->n_operations);
        fprintf(file, "%s\"%s\"%s", at ? "," : "", t->hash[i], at + 1 == t->n_operations ? "]}\n" : "");
    }
}

/* ---- out of a file ---- */

int read_limited(const char *path, size_t limit, const char *what, char **text, size_t *n)
{
    struct stat s;

    if (strcmp(path, "-") != 0 && stat(path, &s) == 0 && S_ISREG(s.st_mode) && (size_t)s.st_size > limit)
        return fail_as(BAD_MODEL, CARAT_E_FORMAT, "%s: has %lld bytes, expected at most %zu MiB of %s", path,
                       (long long)s.st_size, limit >> 20, what);
    return read_input(path, text, n);
}

struct trace_reader {
    const char *name, *text, *end;
    int line;
};

static int bad_trace(const struct trace_reader *r, const char *format, ...) PRINTF(2, 3);
static int bad_trace(const struct trace_reader *r, const char *format, ...)
{
    char message[400];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return fail_as(BAD_MODEL, CARAT_E_FORMAT, "%s: line %d: %s", r->name, r->line, message);
}

/* The object of the next line; a text is owned by who reads. An exit code. */
static int next_line(struct trace_reader *r, json_t **object)
{
    const char *end = memchr(r->text, '\n', (size_t)(r->end - r->text));
    json_error_t why;

    r->line++;
    end = end ? end : r->end;
    if (r->text == r->end)
        return bad_trace(r, "is missing");
    *object = json_loadb(r->text, (size_t)(end - r->text), JSON_REJECT_DUPLICATES, &why);
    r->text = end < r->end ? end + 1 : end;
    return *object ? DONE : bad_trace(r, "this is no JSON: %s", why.text);
}

/* A text of the list, of these characters alone and so many of them; kept where it belongs. */
static int take_word(const struct trace_reader *r, const char *member, int i, const json_t *value,
                     size_t least, size_t most, const char *of, char *to)
{
    const char *text = json_string_value(value);
    const size_t n = text ? json_string_length(value) : 0;
    char place[32] = "";

    if (i >= 0)
        snprintf(place, sizeof place, "[%d]", i);
    if (!text || n < least || n > most || strspn(text, of) != n)
        return bad_trace(r, "%s%s is %s%.60s%s, expected %zu to %zu of the characters %s", member, place,
                         text ? "\"" : "no text", text ? text : "", text ? "\"" : "", least, most, of);
    memcpy(to, text, n + 1);
    return DONE;
}

static const char hex[] = "0123456789abcdef", words[] = "abcdefghijklmnopqrstuvwxyz_0123456789 ";

static int take_number(const struct trace_reader *r, const char *member, json_int_t value, json_int_t least,
                       json_int_t most)
{
    return value >= least && value <= most ? DONE
                                           : bad_trace(r, "%s is %lld, expected %lld to %lld", member,
                                                       (long long)value, (long long)least, (long long)most);
}

static int read_head(struct trace_reader *r, struct traced *t, const json_t *o,
                     const carat_receipt_info *receipt)
{
    json_t *content, *digest, *operations;
    json_int_t version, first, positions;
    json_error_t why;

    if (json_unpack_ex((json_t *)(uintptr_t)o, &why, 0, "{s:I, s:o, s:o, s:I, s:I, s:o!}", "version",
                       &version, "content", &content, "digest", &digest, "first", &first, "positions",
                       &positions, "operations", &operations) != 0)
        return bad_trace(r, "%s", why.text);
    TRY(take_number(r, "version", version, VERSION, VERSION));
    TRY(take_word(r, "content", -1, content, TRACE_HASH, TRACE_HASH, hex, t->content));
    TRY(take_word(r, "digest", -1, digest, TRACE_HASH, TRACE_HASH, hex, t->digest));
    TRY(take_number(r, "positions", positions, 1, CARAT_MOST_TRACED));
    TRY(take_number(r, "first", first, 0, receipt->n_prompt + receipt->tokens - 1 - positions));
    TRY(take_number(r, "the number of operations", (json_int_t)json_array_size(operations), 1,
                    MOST_OPERATIONS));
    t->first = (int)first;
    t->positions = (int)positions;
    t->n_operations = (int)json_array_size(operations);
    t->operation = calloc((size_t)t->n_operations, sizeof *t->operation);
    if (!t->operation)
        return fail_memory();
    for (int i = 0; i < t->n_operations; i++)
        TRY(take_word(r, "operations", i, json_array_get(operations, (size_t)i), 1, TRACE_NAME, words,
                      t->operation[i]));
    if (strcmp(t->content, receipt->content) != 0)
        return bad_trace(r, "content is %s, but the receipt's is %s: the trace is of another model",
                         t->content, receipt->content);
    if (strcmp(t->digest, receipt->digest) != 0)
        return bad_trace(r, "digest is %s, but the receipt's is %s: the trace is of another receipt",
                         t->digest, receipt->digest);
    return DONE;
}

static int read_position(struct trace_reader *r, struct traced *t, int i, const json_t *o)
{
    json_t *hashes;
    json_int_t position;
    json_error_t why;

    if (json_unpack_ex((json_t *)(uintptr_t)o, &why, 0, "{s:I, s:o!}", "position", &position, "hashes",
                       &hashes) != 0)
        return bad_trace(r, "%s", why.text);
    TRY(take_number(r, "position", position, t->first + i, t->first + i));
    TRY(take_number(r, "the number of hashes", (json_int_t)json_array_size(hashes), t->n_operations,
                    t->n_operations));
    char(*more)[TRACE_HASH + 1] = realloc(t->hash, (size_t)(t->n + t->n_operations) * sizeof *more);
    if (!more)
        return fail_memory();
    t->hash = more;
    for (int k = 0; k < t->n_operations; k++)
        TRY(take_word(r, "hashes", k, json_array_get(hashes, (size_t)k), TRACE_HASH, TRACE_HASH, hex,
                      t->hash[t->n++]));
    return DONE;
}

static int read_lines_of_trace(struct trace_reader *r, struct traced *t, const carat_receipt_info *receipt)
{
    int code = DONE;

    for (int i = -1; i < t->positions && code == DONE; i++) {
        json_t *o = NULL;
        code = next_line(r, &o);
        if (code == DONE)
            code = i < 0 ? read_head(r, t, o, receipt) : read_position(r, t, i, o);
        json_decref(o);
    }
    r->line++;
    return code == DONE && r->text < r->end ? bad_trace(r, "expected %d positions, found more", t->positions)
                                            : code;
}

int traced_parse(struct traced *t, const char *name, const char *text, size_t n,
                 const carat_receipt_info *receipt)
{
    struct trace_reader r = {name, text, text + n, 0};

    return read_lines_of_trace(&r, t, receipt);
}

int traced_read(struct traced *t, const char *path, const carat_receipt_info *receipt)
{
    char *text = NULL;
    size_t n = 0;
    int code = read_limited(path, TRACE_LIMIT, "hashes", &text, &n);

    if (code == DONE)
        code = traced_parse(t, input_name(path), text, n, receipt);
    free(text);
    return code;
}

int traced_check(const struct traced *file, const char *path, const struct traced *mine)
{
    for (int i = 0; i < file->n_operations || i < mine->n_operations; i++) {
        const char *theirs = i < file->n_operations ? file->operation[i] : "missing";
        const char *ours = i < mine->n_operations ? mine->operation[i] : "none";
        if (strcmp(theirs, ours) != 0)
            return fail_as(BAD_MODEL, CARAT_E_FORMAT,
                           "%s: line 1: operations[%d] is %s, but the model's is %s", input_name(path), i,
                           theirs, ours);
    }
    return DONE;
}
