/* SPDX-License-Identifier: Apache-2.0 */
/* untar.c: see untar.h. Names come from the header (ustar's prefix included), from GNU's long names and from
 * pax; of pax sizes are heard, too, and the rest is passed over. */
#include "untar.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/base.h"
#include "base/path.h"

enum {
    BLOCK = 512,
    ZIP_WINDOW = 15 + 16, /* of zlib: a gzip header and nothing else */
    MOST_NAME = 1024,
    MOST_MORE = 1 << 16, /* of an entry that says more of the next one */
};

enum untar_state {
    IN_HEADER,
    IN_FILE,    /* bytes for the listener */
    IN_MORE,    /* a long name, or records of pax */
    IN_NOTHING, /* bytes that nobody wants */
    AT_END,     /* behind the two empty blocks */
};

struct untar {
    struct untar_listener listener;
    z_stream zip;
    bool zip_ended, failed;
    int64_t came, most;
    enum untar_state state;
    int empty; /* blocks in a row */
    unsigned char block[BLOCK];
    size_t in_block;
    int64_t left;   /* of the entry */
    size_t padding; /* behind it, up to the next block */
    bool is_file;   /* the entry is one, so the listener hears its end */
    char more_kind; /* of what is collected: 'L' or 'x' */
    size_t n_more;
    bool named, sized; /* the next entry, by those before it */
    int64_t size;
    char name[MOST_NAME];
    char why[256];
    unsigned char out[1 << 16];
    char more[MOST_MORE + 1];
};

static bool untar_refuse(struct untar *u, const char *format, ...)
{
    char text[200];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(u->why, sizeof u->why, "at byte %lld of what it unpacks to: %s", (long long)u->came, text);
    return false;
}

/* ---- a header ---- */

/* Octal digits between spaces, or with the first bit set a number of 256-digits; -1: neither. */
static int64_t number_of(const unsigned char *s, size_t n)
{
    int64_t value = 0;
    size_t i = 0;

    if (*s == 0x80) {
        for (i = 1; i < n; i++) {
            if (value > INT64_MAX >> 8)
                return -1;
            value = value << 8 | s[i];
        }
        return value;
    }
    while (i < n && s[i] == ' ')
        i++;
    const size_t first = i;
    for (; i < n && s[i] >= '0' && s[i] <= '7'; i++) {
        if (value > INT64_MAX >> 3)
            return -1;
        value = value << 3 | (s[i] - '0');
    }
    return i > first && (i == n || s[i] == ' ' || s[i] == 0) ? value : -1;
}

static bool sum_is_right(const unsigned char *h)
{
    enum { SUM = 148, SUM_END = 156 };
    int64_t sum = 0;

    for (int i = 0; i < BLOCK; i++)
        sum += i >= SUM && i < SUM_END ? ' ' : h[i];
    return sum == number_of(h + SUM, SUM_END - SUM);
}

/* A field that fills its place has no zero behind it. */
static struct ct_str field(const unsigned char *h, size_t at, size_t n)
{
    const char *s = (const char *)h + at;
    const char *end = memchr(s, 0, n);

    return (struct ct_str){s, end ? (size_t)(end - s) : n};
}

static bool set_name(struct untar *u, const char *s, size_t n)
{
    if (n >= sizeof u->name || memchr(s, 0, n))
        return untar_refuse(u, "a name has %zu bytes or a zero in it, expected less than %d", n, MOST_NAME);
    memcpy(u->name, s, n);
    u->name[n] = 0;
    return true;
}

static bool take_name(struct untar *u)
{
    const unsigned char *h = u->block;
    const struct ct_str name = field(h, 0, 100), prefix = memcmp(h + 257, "ustar", 6) == 0
                                                              ? field(h, 345, 155)
                                                              : (struct ct_str){"", 0};
    char whole[100 + 155 + 2];

    if (u->named)
        return true;
    const int n = snprintf(whole, sizeof whole, "%.*s%s%.*s", (int)prefix.n, prefix.s, prefix.n ? "/" : "",
                           (int)name.n, name.s);
    return set_name(u, whole, (size_t)n);
}

/* "./" in front says nothing, and a folder may end in a slash. */
static bool check_name(struct untar *u, bool folder)
{
    char *s = u->name;
    size_t n;

    while (s[0] == '.' && s[1] == '/')
        s += 2;
    n = strlen(s);
    memmove(u->name, s, n + 1);
    if (folder && n > 0 && u->name[n - 1] == '/')
        u->name[--n] = 0;
    if (folder && (n == 0 || strcmp(u->name, ".") == 0))
        return true;
    return ct_path_stays_inside(ct_str_of(u->name))
               ? true
               : untar_refuse(u, "the name \"%.80s\" leaves its folder, or is none", u->name);
}

/* ---- an entry ---- */

static bool begin_entry(struct untar *u, int64_t size, enum untar_state state)
{
    u->left = size;
    u->padding = (size_t)(-size & (BLOCK - 1));
    u->state = state;
    return true;
}

static bool begin_more(struct untar *u, int64_t size, char kind)
{
    if (size > MOST_MORE)
        return untar_refuse(u, "what is said of an entry has %lld bytes, expected at most %d",
                            (long long)size, MOST_MORE);
    u->more_kind = kind;
    u->n_more = 0;
    return begin_entry(u, size, IN_MORE);
}

static bool take_header(struct untar *u)
{
    const unsigned char *h = u->block;
    const char kind = (char)h[156];
    int64_t size = number_of(h + 124, 12);

    if (!sum_is_right(h))
        return untar_refuse(u, "the checksum of a header is wrong");
    if (size < 0)
        return untar_refuse(u, "an entry has a size that is no number");
    if (kind == 'L' || kind == 'x')
        return begin_more(u, size, kind);
    if (kind == 'g')
        return size > MOST_MORE ? untar_refuse(u, "a header for all entries has %lld bytes", (long long)size)
                                : begin_entry(u, size, IN_NOTHING);
    if (!take_name(u))
        return false;
    if (u->sized)
        size = u->size;
    u->named = u->sized = false;
    if (size > u->most)
        return untar_refuse(u, "%.80s has %lld bytes, expected at most %lld in all", u->name, (long long)size,
                            (long long)u->most);
    const bool folder =
        kind == '5' || ((kind == '0' || kind == 0) && *u->name && u->name[strlen(u->name) - 1] == '/');
    if (!folder && kind != '0' && kind != 0 && kind != '7')
        return untar_refuse(u, "%.80s is of the type %d: neither a file nor a folder", u->name,
                            (unsigned char)kind);
    if (!check_name(u, folder))
        return false;
    if (folder)
        return size == 0 ? true
                         : untar_refuse(u, "the folder %.80s has %lld bytes", u->name, (long long)size);
    return u->listener.begin(u->listener.user, u->name, size) && begin_entry(u, size, IN_FILE);
}

static bool take_block(struct untar *u)
{
    for (int i = 0; i < BLOCK; i++) {
        if (u->block[i]) {
            if (u->empty)
                return untar_refuse(u, "an empty block is followed by another entry");
            return take_header(u);
        }
    }
    if (u->named || u->sized)
        return untar_refuse(u, "the entry that a long name or pax tells of is not there");
    if (++u->empty == 2)
        u->state = AT_END;
    return true;
}

/* ---- what is said of the next entry ---- */

/* "25 path=a/b\n", the length with all of it. */
static bool take_record(struct untar *u, const char *key, size_t n_key, const char *value, size_t n)
{
    const struct ct_str k = {key, n_key};

    if (ct_str_is(k, "path")) {
        u->named = true;
        return set_name(u, value, n);
    }
    if (ct_str_is(k, "size")) {
        u->sized = true;
        u->size = 0;
        for (size_t i = 0; i < n; i++) {
            if (value[i] < '0' || value[i] > '9' || u->size > (INT64_MAX - 9) / 10)
                return untar_refuse(u, "pax has a size that is no number");
            u->size = u->size * 10 + (value[i] - '0');
        }
        return n > 0 ? true : untar_refuse(u, "pax has a size that is no number");
    }
    return n_key >= 11 && memcmp(key, "GNU.sparse.", 11) == 0
               ? untar_refuse(u, "a file with holes is not understood")
               : true;
}

static bool take_pax(struct untar *u)
{
    const char *at = u->more, *end = u->more + u->n_more;

    while (at < end) {
        const char *digit = at;
        size_t length = 0;
        while (digit < end && *digit >= '0' && *digit <= '9' && length <= MOST_MORE)
            length = length * 10 + (size_t)(*digit++ - '0');
        const char *stop = at + length, *key = digit + 1, *is = NULL;
        if (length <= (size_t)(end - at) && digit < stop && *digit == ' ')
            is = memchr(key, '=', (size_t)(stop - key));
        if (!is || stop[-1] != '\n')
            return untar_refuse(u, "a record of pax is not \"LENGTH KEY=VALUE\"");
        if (!take_record(u, key, (size_t)(is - key), is + 1, (size_t)(stop - 1 - (is + 1))))
            return false;
        at = stop;
    }
    return true;
}

static bool take_more(struct untar *u)
{
    u->more[u->n_more] = 0;
    if (u->more_kind == 'x')
        return take_pax(u);
    u->named = true;
    return set_name(u, u->more, strlen(u->more));
}

/* ---- what is unpacked ---- */

static bool end_entry(struct untar *u)
{
    const enum untar_state was = u->state;

    u->state = IN_HEADER;
    if (was == IN_MORE)
        return take_more(u);
    return was == IN_FILE ? u->listener.end(u->listener.user) : true;
}

/* A part of an entry; *n: bytes of it. */
static bool take_entry(struct untar *u, const unsigned char *data, size_t *n)
{
    const size_t some = (size_t)CT_MIN(u->left, (int64_t)*n);

    if (u->left == 0) {
        *n = CT_MIN(*n, u->padding);
        u->padding -= *n;
        return u->padding > 0 || end_entry(u);
    }
    *n = some;
    u->left -= (int64_t)some;
    if (u->state == IN_MORE) {
        memcpy(u->more + u->n_more, data, some);
        u->n_more += some;
    }
    if (u->state == IN_FILE && !u->listener.put(u->listener.user, data, some))
        return false;
    return u->left > 0 || u->padding > 0 || end_entry(u);
}

static bool take_tar(struct untar *u, const unsigned char *data, size_t n)
{
    while (n > 0 && u->state != AT_END) {
        size_t some = n;
        if (u->state == IN_HEADER) {
            some = CT_MIN(n, BLOCK - u->in_block);
            memcpy(u->block + u->in_block, data, some);
            u->in_block += some;
            if (u->in_block == BLOCK) {
                u->in_block = 0;
                if (!take_block(u))
                    return false;
                if ((u->state == IN_FILE || u->state == IN_MORE || u->state == IN_NOTHING) && u->left == 0 &&
                    !end_entry(u))
                    return false; /* it is empty */
            }
        } else if (!take_entry(u, data, &some)) {
            return false;
        }
        u->came += (int64_t)some;
        data += some;
        n -= some;
    }
    u->came += (int64_t)n;
    return u->came <= u->most ? true : untar_refuse(u, "it has more bytes than expected");
}

/* ---- gzip ---- */

static bool inflate_some(struct untar *u)
{
    u->zip.next_out = u->out;
    u->zip.avail_out = sizeof u->out;
    const int code = inflate(&u->zip, Z_NO_FLUSH);
    const size_t n = sizeof u->out - u->zip.avail_out;
    u->zip_ended = code == Z_STREAM_END;
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        return untar_refuse(u, "it is no gzip, or damaged (%s)", u->zip.msg ? u->zip.msg : "zlib gives up");
    return take_tar(u, u->out, n);
}

bool untar_take(struct untar *u, const void *data, size_t n)
{
    if (u->failed)
        return false;
    u->zip.next_in = (unsigned char *)(uintptr_t)data;
    u->zip.avail_in = (unsigned)n;
    do {
        if (u->zip_ended) {
            while (u->zip.avail_in && !*u->zip.next_in) /* zeros may fill a tape up */
                u->zip.next_in++, u->zip.avail_in--;
            if (!u->zip.avail_in)
                return true;
            inflateReset(&u->zip);
        }
        if (!inflate_some(u)) {
            u->failed = true;
            return false;
        }
    } while (u->zip.avail_in || u->zip.avail_out == 0);
    return true;
}

bool untar_end(struct untar *u)
{
    if (u->failed)
        return false;
    u->failed = true;
    if (!u->zip_ended)
        return untar_refuse(u, "it ends in the middle");
    return u->state == AT_END ? true : untar_refuse(u, "it ends without the two empty blocks of a tar's end");
}

const char *untar_why(const struct untar *u)
{
    return u->why;
}

struct untar *untar_open(const struct untar_listener *listener, int64_t most)
{
    struct untar *u = calloc(1, sizeof *u);

    if (!u || inflateInit2(&u->zip, ZIP_WINDOW) != Z_OK) {
        free(u);
        return NULL;
    }
    u->listener = *listener;
    u->most = most;
    return u;
}

void untar_close(struct untar *u)
{
    if (u)
        inflateEnd(&u->zip);
    free(u);
}
