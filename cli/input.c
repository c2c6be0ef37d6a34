/* input.c: whole files, lists of ids and UTF-8, read with a limit and strictly. JSON lines are read in tokenize.c. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

static int too_large(const char *name)
{
    return fail(FAILED, "%s: is larger than the %d MiB that are read as one text", name, INPUT_LIMIT >> 20);
}

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
            return code == EINTR ? INTERRUPTED : fail(FAILED, "%s: cannot be read: %s", name, strerror(code));
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

int read_input(const char *path, char **data, size_t *n)
{
    bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), code;
    struct stat s;

    if (fd < 0)
        return fail(FAILED, "%s: cannot be opened: %s", path, strerror(errno));
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

/* Length of the well-formed UTF-8 character at s, 0 when there is none. */
static size_t character(const unsigned char *s, size_t n)
{
    size_t length = s[0] < 0x80   ? 1
                    : s[0] < 0xc2 ? 0
                    : s[0] < 0xe0 ? 2
                    : s[0] < 0xf0 ? 3
                    : s[0] < 0xf5 ? 4
                                  : 0;

    if (length > n)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

size_t utf8_valid(const char *text, size_t n)
{
    size_t i = 0, length;

    while (i < n && (length = character((const unsigned char *)text + i, n - i)) > 0)
        i += length;
    return i;
}

char *utf8_clean(const char *text, size_t n, size_t *n_clean)
{
    char *clean = n < SIZE_MAX / 3 - 1 ? malloc(n * 3 + 1) : NULL;
    size_t used = 0;

    if (!clean)
        return NULL;
    for (size_t i = 0; i < n;) {
        size_t good = utf8_valid(text + i, n - i);
        memcpy(clean + used, text + i, good);
        used += good;
        i += good;
        if (i++ < n) {
            memcpy(clean + used, "\xef\xbf\xbd", 3);
            used += 3;
        }
    }
    clean[used] = 0;
    *n_clean = used;
    return clean;
}

int check_utf8(const char *what, const char *text, size_t n, bool lossy)
{
    size_t valid = utf8_valid(text, n);

    if (valid == n || lossy)
        return DONE;
    return fail(USAGE, "%s is not UTF-8 at byte %zu (found 0x%02x); --lossy replaces what is not", what,
                valid, (unsigned char)text[valid]);
}
