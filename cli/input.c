/* input.c: whole files and lists of ids, read with a limit and strictly. JSON lines are read in tokenize.c. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

/* Reads to the end of the file. An exit code. */
static int slurp(int fd, const char *name, char **data, size_t *n)
{
    size_t capacity = 1 << 16, used = 0;
    char *buffer = malloc(capacity);

    while (buffer) {
        ssize_t got = read(fd, buffer + used, capacity - used - 1);
        if (got == 0) {
            buffer[used] = 0;
            *data = buffer;
            *n = used;
            return DONE;
        }
        if (got < 0) {
            int code = errno;
            if (code == EINTR && !interrupted())
                continue;
            free(buffer);
            return code == EINTR ? INTERRUPTED : fail(FAILED, "cannot read %s: %s", name, strerror(code));
        }
        used += (size_t)got;
        if (used > INPUT_LIMIT) {
            free(buffer);
            return fail(FAILED, "%s is larger than the %d MiB that are read as one text", name,
                        INPUT_LIMIT >> 20);
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

int read_input(const char *path, char **data, size_t *n)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), code;

    if (fd < 0)
        return fail(FAILED, "cannot open %s: %s", path, strerror(errno));
    code = slurp(fd, standard ? "standard input" : path, data, n);
    if (!standard)
        close(fd);
    return code;
}

int read_json_text(const char *path, char **data)
{
    size_t n;
    int code = read_input(path, data, &n);

    if (code == DONE && strlen(*data) != n) {
        code = fail_as(FAILED, CARAT_E_FORMAT, "%s has a NUL byte at offset %zu, which JSON does not allow",
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

int parse_ids(const char *text, size_t n, const char *what, carat_tokens *out)
{
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
            return fail(USAGE, "%s: '%.*s' is not a token id (a number from 0 to %d)", what, shown, text + i,
                        INT32_MAX);
        }
        if (!push_id(out, (int32_t)value))
            return fail_memory();
        i = end;
    }
    return DONE;
}
