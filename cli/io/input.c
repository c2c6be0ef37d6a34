/* SPDX-License-Identifier: Apache-2.0 */
/* input.c: whole files, lists of ids and JSON, read with a limit and strictly. JSON lines are
 * json_lines.c's. */
#define _POSIX_C_SOURCE 200809L
#include "io/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "term/interrupt.h"
#include "term/message.h"
#include "term/utf8.h"

const char *input_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static int too_large(const char *name)
{
    return term_fail(FAILED, "%s: is larger than %d MiB, the most that is read at once", name,
                     INPUT_LIMIT >> 20);
}

/* Reads to the end of the file. An exit code. */
static int slurp(int fd, const char *name, char **data, size_t *n)
{
    size_t capacity = 1 << 16, used = 0;
    char *buffer = malloc(capacity);

    while (buffer) {
        ssize_t got = read_unless_interrupted(fd, buffer + used, capacity - used - 1);
        if (got == 0) {
            buffer[used] = 0;
            *data = buffer;
            *n = used;
            return DONE;
        }
        if (got < 0) {
            int code = errno;
            if (code == EINTR && !term_interrupted())
                continue;
            free(buffer);
            return code == EINTR ? INTERRUPTED
                                 : term_fail(FAILED, "%s: cannot be read: %s", name, strerror(code));
        }
        used += (size_t)got;
        if (used > INPUT_LIMIT) {
            free(buffer);
            return too_large(name);
        }
        if (used == capacity - 1) {
            char *larger = realloc(buffer, capacity *= 2);
            if (!larger)
                free(buffer);
            buffer = larger;
        }
    }
    return fail_memory();
}

int check_readable(const char *what, const char *path, bool may_be_directory)
{
    struct stat s;

    if (stat(path, &s) != 0 || access(path, R_OK) != 0)
        return term_fail(FAILED, "%s: %s: cannot be opened: %s", what, path, strerror(errno));
    if (S_ISDIR(s.st_mode) && !may_be_directory)
        return term_fail(FAILED, "%s: %s: cannot be read: %s", what, path, strerror(EISDIR));
    return DONE;
}

int read_input(const char *path, char **data, size_t *n)
{
    bool standard = strcmp(path, "-") == 0;
    const char *name = input_name(path);
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), code;
    struct stat s;

    if (fd < 0)
        return term_fail(FAILED, "%s: cannot be opened: %s", path, strerror(errno));
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size > INPUT_LIMIT)
        code = too_large(name);
    else
        code = slurp(fd, name, data, n);
    if (!standard)
        close(fd);
    return code;
}

int read_json_text(const char *path, char **data)
{
    size_t n;
    int code = read_input(path, data, &n);

    if (code == DONE && strlen(*data) != n) {
        code = fail_as(USAGE, CARAT_E_FORMAT, "%s has a NUL byte at offset %zu, which JSON does not allow",
                       path, strlen(*data));
        free(*data);
        *data = NULL;
    }
    return code;
}

bool push_id(carat_tokens *t, int32_t id)
{
    if (t->n == t->capacity) {
        int capacity = t->capacity ? t->capacity * 2 : 64;
        int32_t *ids = t->capacity < INT32_MAX / 2 ? realloc(t->ids, (size_t)capacity * sizeof *ids) : NULL;
        if (!ids)
            return false;
        t->ids = ids;
        t->capacity = capacity;
    }
    t->ids[t->n++] = id;
    return true;
}

static bool separates(char c)
{
    return c == ',' || c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

int ids_of_json(const json_t *value, const char *what, carat_tokens *out)
{
    const json_t *list = json_is_object(value) ? json_object_get(value, "ids") : value;

    if (!json_is_array(list))
        return fail_as(USAGE, CARAT_E_FORMAT, "%s: there is no list \"ids\"", what);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *id = json_array_get(list, i);
        if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > INT32_MAX)
            return fail_as(USAGE, CARAT_E_FORMAT, "%s: ids[%zu] is not a token id (a number from 0 to %d)",
                           what, i, INT32_MAX);
        if (!push_id(out, (int32_t)json_integer_value(id)))
            return fail_memory();
    }
    return DONE;
}

json_t *parse_json(const char *text, size_t n, const char *what, int *code)
{
    json_error_t error;
    json_t *value = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);

    *code = value ? DONE
            : json_error_code(&error) == json_error_out_of_memory
                ? fail_memory()
                : fail_as(USAGE, CARAT_E_FORMAT, "%s: this is not JSON: %s", what, error.text);
    return value;
}

int parse_ids(const char *text, size_t n, const char *what, carat_tokens *out)
{
    size_t first = 0;
    while (first < n && separates(text[first]))
        first++;
    if (first < n && (text[first] == '[' || text[first] == '{')) {
        int code;
        json_t *value = parse_json(text, n, what, &code);
        if (value)
            code = ids_of_json(value, what, out);
        json_decref(value);
        return code;
    }
    for (size_t i = 0; i < n;) {
        if (separates(text[i])) {
            i++;
            continue;
        }
        size_t end = i;
        int64_t value = 0;
        bool good = true;
        for (; end < n && !separates(text[end]); end++) {
            good = good && text[end] >= '0' && text[end] <= '9' && value <= INT32_MAX;
            value = good ? value * 10 + (text[end] - '0') : 0;
        }
        if (!good || value > INT32_MAX) {
            int shown = (int)(end - i < 40 ? end - i : 40);
            return term_fail(USAGE, "%s: '%.*s' is not a token id (a number from 0 to %d)", what, shown,
                             text + i, INT32_MAX);
        }
        if (!push_id(out, (int32_t)value))
            return fail_memory();
        i = end;
    }
    return DONE;
}

int read_ids(const char *value, const char *what, carat_tokens *out)
{
    bool standard = strcmp(value, "-") == 0;
    char *text;
    size_t n;
    int code;

    if (!standard && *value != '@')
        return parse_ids(value, strlen(value), what, out);
    code = read_input(standard ? value : value + 1, &text, &n);
    if (code == DONE) {
        code = parse_ids(text, n, standard ? "standard input" : value + 1, out);
        free(text);
    }
    return code;
}

int check_utf8(const char *what, const char *text, size_t n, bool lossy)
{
    size_t valid = utf8_valid(text, n);

    if (valid == n || lossy)
        return DONE;
    return term_fail(USAGE, "%s is not UTF-8 at byte %zu (found 0x%02x); --lossy replaces such bytes", what,
                     valid, (unsigned char)text[valid]);
}

int settle_utf8(const char *what, char **text, size_t *n, bool lossy)
{
    int code = check_utf8(what, *text, *n, lossy);

    if (code == DONE && utf8_valid(*text, *n) < *n) {
        char *clean = utf8_clean(*text, *n, n);
        if (!clean)
            return fail_memory();
        free(*text);
        *text = clean;
    }
    return code;
}
