/* SPDX-License-Identifier: Apache-2.0 */
/* http1.c: see http1.h. One function for each place in a request takes the next byte; which function that is
 * is all that a reader remembers of the way. Only bodies are taken in pieces. */
#include "http1.h"

#include <stdarg.h>
#include <stdio.h>

/* Where the next byte stands; an end is behind a CR. */
enum {
    STATE_START, /* between two requests */
    STATE_BLANK_END,
    STATE_LINE,
    STATE_LINE_END,
    STATE_FIELD, /* where a field begins or the head ends */
    STATE_NAME,  /* from here to STATE_EXTENSION bytes count as those of fields */
    STATE_VALUE,
    STATE_VALUE_END,
    STATE_EXTENSION, /* behind the size of a chunk */
    STATE_HEAD_END,
    STATE_SIZE, /* of a chunk */
    STATE_SIZE_END,
    STATE_CHUNK_CR,
    STATE_CHUNK_END,
    STATES, /* those below take no single bytes */
    STATE_BODY = STATES,
    STATE_CHUNK,
    STATE_DONE, /* the request is complete */
    STATE_OVER, /* and was the last one */
    STATE_BAD,
};

/* Fields that say where a request ends stand behind those that are kept. */
enum {
    FIELD_CONNECTION = HTTP1_KEPT,
    FIELD_CONTENT_LENGTH,
    FIELD_EXPECT,
    FIELD_TRANSFER_ENCODING,
    FIELDS,
};

static enum http1_event take(struct http1 *r, char c);

static enum http1_event go(struct http1 *r, int state)
{
    r->state = state;
    r->part = 0;
    return HTTP1_MORE;
}

/* ---- refusing ---- */

#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
static enum http1_event
refuse_at(struct http1 *r, int status, uint64_t at, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const int n =
        snprintf(r->message, sizeof r->message, "at byte %llu of the request: ", (unsigned long long)at);
    vsnprintf(r->message + n, sizeof r->message - (size_t)n, format, args);
    va_end(args);
    r->status = status;
    r->state = STATE_BAD;
    return HTTP1_BAD;
}

#define REFUSE(r, status, ...) refuse_at(r, status, (r)->at, __VA_ARGS__)

static enum http1_event refuse_byte(struct http1 *r, char c, const char *where)
{
    return REFUSE(r, 400, "the byte 0x%02x may not stand in %s", (unsigned char)c, where);
}

/* Fields, and what counts as such, need too much room. */
static enum http1_event refuse_fields(struct http1 *r, const char *what, int most)
{
    return REFUSE(r, r->behind ? 413 : 431, "the fields have more than %d %s", most, what);
}

/* ---- the request line ---- */

/* A name or an address of IPv6 in brackets, and perhaps a port. */
static bool is_host(struct text host)
{
    const bool bracket = host.n && host.s[0] == '[';
    size_t i = bracket, begin = i;

    while (i < host.n &&
           (bracket ? text_is_one_of(host.s[i], ":.") : text_is_one_of(host.s[i], "-._~!$&'()*+,;=")))
        i++;
    if (i == begin || (bracket && (i == host.n || host.s[i++] != ']')) || (i < host.n && host.s[i++] != ':'))
        return false;
    while (i < host.n && text_is_digit(host.s[i]))
        i++;
    return i == host.n;
}

static const char *const methods[HTTP1_METHODS] = {"GET",    "HEAD",    "POST",  "PUT",
                                                   "DELETE", "OPTIONS", "PATCH", "TRACE"};

const char *http1_method_name(enum http1_method method)
{
    return methods[method];
}

/* Where in the request a byte of the request line stands. */
static uint64_t place(const struct http1 *r, const char *s)
{
    return r->at - 1 - (uint64_t)r->line + (uint64_t)(s - r->text);
}

static enum http1_event read_method(struct http1 *r, struct text name)
{
    enum http1_method *method = &r->head.method;

    for (*method = 0; *method < HTTP1_METHODS; ++*method)
        if (strlen(methods[*method]) == name.n && memcmp(methods[*method], name.s, name.n) == 0)
            return HTTP1_MORE;
    return refuse_at(r, 501, place(r, name.s), "the method %.*s is not served",
                     name.n < 32 ? (int)name.n : 32, name.s);
}

static enum http1_event read_version(struct http1 *r, struct text version)
{
    const uint64_t at = place(r, version.s);
    const char *v = version.s;

    if (version.n != 8 || memcmp(v, "HTTP/", 5) != 0 || !text_is_digit(v[5]) || v[6] != '.' ||
        !text_is_digit(v[7]))
        return refuse_at(r, 400, at, "the request line does not end in a version such as HTTP/1.1");
    if (v[5] != '1' || v[7] > '1')
        return refuse_at(r, 505, at, "%.8s is not served, HTTP/1.1 and HTTP/1.0 are", v);
    r->head.minor = v[7] - '0';
    return HTTP1_MORE;
}

/* A path that begins with '/' and perhaps a query. */
static enum http1_event read_path(struct http1 *r, struct text path)
{
    for (size_t i = 0; i < path.n; i++) {
        if (!text_is_one_of(path.s[i], "-._~!$&'()*+,;=:@/?%"))
            return refuse_at(r, 400, place(r, path.s + i), "the target has the character '%c'", path.s[i]);
        /* behind the target a space stands in the line */
        if (path.s[i] == '%' && (text_hex_digit(path.s[i + 1]) < 0 || text_hex_digit(path.s[i + 2]) < 0))
            return refuse_at(r, 400, place(r, path.s + i),
                             "the target has a %% without two hexadecimal digits behind it");
    }
    r->head.query = text_split(&path, '?');
    r->head.path = path;
    if (!path.n) /* of an absolute target */
        r->head.path = (struct text){"/", 1};
    return HTTP1_MORE;
}

static enum http1_event read_target(struct http1 *r, struct text target)
{
    static const char scheme[] = "http://";

    if (target.n >= sizeof scheme && text_is((struct text){target.s, sizeof scheme - 1}, scheme)) {
        target = text_from(target, sizeof scheme - 1);
        r->authority = target;
        while (target.n && *target.s != '/' && *target.s != '?')
            target = text_from(target, 1);
        r->authority.n -= target.n;
        if (!is_host(r->authority))
            return refuse_at(r, 400, place(r, r->authority.s), "the target names no host");
    } else if (r->head.method == HTTP1_METHOD_OPTIONS && text_is(target, "*")) {
        r->head.path = target;
        return HTTP1_MORE;
    } else if (*target.s != '/') {
        return refuse_at(r, 400, place(r, target.s), "the target does not begin with '/' or http://");
    }
    return read_path(r, target);
}

static enum http1_event take_line_end(struct http1 *r)
{
    struct text method = {r->text, (size_t)r->line}, target = text_split(&method, ' '),
                version = text_split(&target, ' ');

    if (!method.n || !target.n || !version.s)
        return REFUSE(r, 400, "the request line is not a method, a target and a version");
    if (read_version(r, version) == HTTP1_BAD || read_method(r, method) == HTTP1_BAD)
        return HTTP1_BAD;
    r->state = STATE_FIELD;
    return read_target(r, target);
}

/* ---- fields ---- */

static enum http1_event mean_host(struct http1 *r, struct text value)
{
    if (!is_host(value))
        return refuse_at(r, 400, r->begin, "the field Host names no host");
    if (r->authority.s && !text_same(value, r->authority))
        return refuse_at(r, 400, r->begin, "the field Host is not the host of the target");
    return HTTP1_MORE;
}

static enum http1_event mean_connection(struct http1 *r, struct text value)
{
    for (struct text rest; value.s; value = rest) {
        rest = text_split(&value, ',');
        r->close = r->close || text_is(text_trim(value), "close");
        r->alive = r->alive || text_is(text_trim(value), "keep-alive");
    }
    return HTTP1_MORE;
}

static enum http1_event mean_length(struct http1 *r, struct text value)
{
    uint64_t *length = &r->head.length;
    bool good = value.n > 0;

    for (size_t i = 0; good && i < value.n; i++)
        good = text_is_digit(value.s[i]) && !__builtin_mul_overflow(*length, 10, length) &&
               !__builtin_add_overflow(*length, value.s[i] - '0', length);
    return good ? HTTP1_MORE
                : refuse_at(r, 400, r->begin, "the field Content-Length is not one number of bytes");
}

static const struct {
    const char *name;
    const char *must; /* the one value that it may have */
    int status;       /* of others */
    enum http1_event (*mean)(struct http1 *r, struct text value);
} field[FIELDS] = {
    [HTTP1_HOST] = {"Host", NULL, 0, mean_host},
    [HTTP1_CONTENT_TYPE] = {"Content-Type", NULL, 0, NULL},
    [HTTP1_CONTENT_ENCODING] = {"Content-Encoding", NULL, 0, NULL},
    [HTTP1_AUTHORIZATION] = {"Authorization", NULL, 0, NULL},
    [HTTP1_X_API_KEY] = {"X-Api-Key", NULL, 0, NULL},
    [HTTP1_X_GOOG_API_KEY] = {"X-Goog-Api-Key", NULL, 0, NULL},
    [HTTP1_ANTHROPIC_VERSION] = {"Anthropic-Version", NULL, 0, NULL},
    [HTTP1_X_REQUEST_ID] = {"X-Request-Id", NULL, 0, NULL},
    [HTTP1_ORIGIN] = {"Origin", NULL, 0, NULL},
    [HTTP1_USER_AGENT] = {"User-Agent", NULL, 0, NULL},
    [FIELD_CONNECTION] = {"Connection", NULL, 0, mean_connection},
    [FIELD_CONTENT_LENGTH] = {"Content-Length", NULL, 0, mean_length},
    [FIELD_EXPECT] = {"Expect", "100-continue", 417, NULL},
    [FIELD_TRANSFER_ENCODING] = {"Transfer-Encoding", "chunked", 400, NULL},
};

static enum http1_event take_field(struct http1 *r, char c)
{
    if (c == '\r')
        return go(r, STATE_HEAD_END);
    if (text_is_blank(c))
        return REFUSE(r, 400, "a line of the head begins with white space");
    if (r->count++ == HTTP1_COUNT_MAX)
        return refuse_fields(r, "lines", HTTP1_COUNT_MAX);
    r->begin = r->at;
    go(r, STATE_NAME);
    return take(r, c);
}

static enum http1_event take_name(struct http1 *r, char c)
{
    if (c == ':' && r->part) {
        const struct text name = {r->name, (size_t)r->part};
        for (r->known = 0; r->known < FIELDS; r->known++)
            if (text_is(name, field[r->known].name))
                break;
        if (r->behind && r->known < FIELDS)
            return refuse_at(r, 400, r->begin, "the field %s stands behind a body", field[r->known].name);
        r->value = r->kept;
        return go(r, STATE_VALUE);
    }
    if (!text_is_token(c))
        return refuse_byte(r, c, "the name of a field");
    if (r->part < (int)sizeof r->name)
        r->name[r->part++] = c;
    return HTTP1_MORE;
}

static enum http1_event take_value(struct http1 *r, char c)
{
    if (c == '\r')
        return go(r, STATE_VALUE_END);
    /* Readers differ about TAB behind a coding, so there is none in fields that say where a body ends. */
    if (!text_is_plain(c) || (c == '\t' && r->known > FIELD_CONNECTION && r->known < FIELDS))
        return refuse_byte(r, c, "the value of a field");
    if (r->known == FIELDS || (r->kept == r->value && text_is_blank(c)))
        return HTTP1_MORE;
    if (r->kept == HTTP1_KEPT_MAX)
        return REFUSE(r, 431, "the fields that matter have more than %d bytes", HTTP1_KEPT_MAX);
    r->text[HTTP1_LINE_MAX + r->kept++] = c;
    return HTTP1_MORE;
}

static enum http1_event take_value_end(struct http1 *r)
{
    const int known = r->known;
    const struct text value =
        text_trim((struct text){r->text + HTTP1_LINE_MAX + r->value, r->kept - r->value});

    r->state = STATE_FIELD;
    if (known == FIELDS)
        return HTTP1_MORE;
    if (r->seen[known] && known != FIELD_CONNECTION)
        return refuse_at(r, 400, r->begin, "the field %s is there twice", field[known].name);
    if (field[known].must && !text_is(value, field[known].must))
        return refuse_at(r, field[known].status, r->begin, "the field %s is not %s", field[known].name,
                         field[known].must);
    r->seen[known] = true;
    if (known < HTTP1_KEPT)
        r->head.field[known] = value;
    else
        r->kept = r->value;
    return field[known].mean ? field[known].mean(r, value) : HTTP1_MORE;
}

static enum http1_event take_head_end(struct http1 *r)
{
    struct http1_head *head = &r->head;

    if (r->behind)
        return go(r, STATE_DONE);
    head->chunked = r->seen[FIELD_TRANSFER_ENCODING];
    if (!r->seen[HTTP1_HOST] && head->minor)
        return REFUSE(r, 400, "the head has no field Host");
    if (head->chunked && (r->seen[FIELD_CONTENT_LENGTH] || !head->minor))
        return REFUSE(r, 400, "the field Transfer-Encoding may not stand here: %s",
                      head->minor ? "Content-Length is there too" : "HTTP/1.0 does not know it");
    if (head->length > r->most)
        return REFUSE(r, 413, "the body has %llu bytes, at most %llu are taken",
                      (unsigned long long)head->length, (unsigned long long)r->most);
    if (r->authority.s)
        head->field[HTTP1_HOST] = r->authority;
    head->keep_alive = !r->close && (head->minor || r->alive);
    head->expects = r->seen[FIELD_EXPECT] && head->minor && (head->chunked || head->length);
    r->behind = true;
    r->left = head->length;
    go(r, head->chunked ? STATE_SIZE : head->length ? STATE_BODY : STATE_DONE);
    return HTTP1_HEAD;
}

/* ---- from request to request ---- */

/* One empty line may stand before a request; some write it behind a body. */
static enum http1_event take_start(struct http1 *r, char c)
{
    http1_init(r, r->most);
    r->state = c == '\r' ? STATE_BLANK_END : STATE_LINE;
    return c == '\r' ? HTTP1_MORE : take(r, c);
}

static enum http1_event take_blank_end(struct http1 *r)
{
    return go(r, STATE_LINE);
}

static enum http1_event take_line(struct http1 *r, char c)
{
    if (c == '\r')
        return go(r, STATE_LINE_END);
    if (c == 0x16 && !r->at)
        return REFUSE(r, 400, "these bytes begin TLS; plain HTTP is served here");
    if (c < 0x20 || c >= 0x7f)
        return refuse_byte(r, c, "the request line");
    if (r->line == HTTP1_LINE_MAX)
        return REFUSE(r, 414, "the request line has more than %d bytes", HTTP1_LINE_MAX);
    r->text[r->line++] = c;
    return HTTP1_MORE;
}

/* ---- chunks ---- */

static enum http1_event take_size(struct http1 *r, char c)
{
    const int digit = text_hex_digit(c);

    if (r->part && (c == ';' || c == '\r'))
        return go(r, c == ';' ? STATE_EXTENSION : STATE_SIZE_END);
    if (digit < 0)
        return refuse_byte(r, c, "the size of a chunk");
    if (r->part++ == 16)
        return REFUSE(r, 400, "the size of a chunk has more than 16 digits");
    r->left = r->left << 4 | (unsigned)digit;
    return HTTP1_MORE;
}

/* ;name=value;name="a \"value\"": where a byte leads from each place in it. */
static enum http1_event take_extension(struct http1 *r, char c)
{
    enum { NAME, IN_NAME, VALUE, IN_VALUE, QUOTED, ESCAPED, BEHIND, BAD, END };
    static const unsigned char next[][7] = {
        /*           token     ;     =      "       \\        CR   other text */
        [NAME] = {IN_NAME, BAD, BAD, BAD, BAD, BAD, BAD},
        [IN_NAME] = {IN_NAME, NAME, VALUE, BAD, BAD, END, BAD},
        [VALUE] = {IN_VALUE, BAD, BAD, QUOTED, BAD, BAD, BAD},
        [IN_VALUE] = {IN_VALUE, NAME, BAD, BAD, BAD, END, BAD},
        [QUOTED] = {QUOTED, QUOTED, QUOTED, BEHIND, ESCAPED, BAD, QUOTED},
        [ESCAPED] = {QUOTED, QUOTED, QUOTED, QUOTED, QUOTED, BAD, QUOTED},
        [BEHIND] = {BAD, NAME, BAD, BAD, BAD, END, BAD},
    };
    static const char alone[] = ";=\"\\\r";
    const char *one = c ? strchr(alone, c) : NULL;

    r->part = text_is_token(c)   ? next[r->part][0]
              : one              ? next[r->part][1 + (one - alone)]
              : text_is_plain(c) ? next[r->part][6]
                                 : BAD;
    if (r->part == BAD)
        return refuse_byte(r, c, "the line before a chunk");
    return r->part == END ? go(r, STATE_SIZE_END) : HTTP1_MORE;
}

static enum http1_event take_size_end(struct http1 *r)
{
    if (r->left > r->most - r->taken)
        return REFUSE(r, 413, "the body has more than %llu bytes", (unsigned long long)r->most);
    r->taken += r->left;
    return go(r, r->left ? STATE_CHUNK : STATE_FIELD);
}

static enum http1_event take_chunk_cr(struct http1 *r, char c)
{
    return c == '\r' ? go(r, STATE_CHUNK_END) : REFUSE(r, 400, "a chunk does not end where its size says");
}

static enum http1_event take_chunk_end(struct http1 *r)
{
    return go(r, STATE_SIZE);
}

/* ---- reading ---- */

static enum http1_event take(struct http1 *r, char c)
{
    static const struct {
        enum http1_event (*byte)(struct http1 *r, char c);
        enum http1_event (*end)(struct http1 *r); /* behind LF, which alone may come here */
    } taker[STATES] = {
        [STATE_START] = {take_start, NULL},         [STATE_BLANK_END] = {NULL, take_blank_end},
        [STATE_LINE] = {take_line, NULL},           [STATE_LINE_END] = {NULL, take_line_end},
        [STATE_FIELD] = {take_field, NULL},         [STATE_NAME] = {take_name, NULL},
        [STATE_VALUE] = {take_value, NULL},         [STATE_VALUE_END] = {NULL, take_value_end},
        [STATE_EXTENSION] = {take_extension, NULL}, [STATE_HEAD_END] = {NULL, take_head_end},
        [STATE_SIZE] = {take_size, NULL},           [STATE_SIZE_END] = {NULL, take_size_end},
        [STATE_CHUNK_CR] = {take_chunk_cr, NULL},   [STATE_CHUNK_END] = {NULL, take_chunk_end},
    };

    if (r->state >= STATE_NAME && r->state <= STATE_EXTENSION && r->fields++ == HTTP1_FIELDS_MAX)
        return refuse_fields(r, "bytes", HTTP1_FIELDS_MAX);
    if (taker[r->state].byte)
        return taker[r->state].byte(r, c);
    return c == '\n' ? taker[r->state].end(r) : REFUSE(r, 400, "a CR has no LF behind it");
}

static enum http1_event take_piece(struct http1 *r, struct text *bytes)
{
    const size_t n = bytes->n < r->left ? bytes->n : (size_t)r->left;

    r->piece = (struct text){bytes->s, n};
    *bytes = text_from(*bytes, n);
    r->at += n;
    r->left -= n;
    if (!r->left)
        r->state = r->state == STATE_BODY ? STATE_DONE : STATE_CHUNK_CR;
    return HTTP1_BODY;
}

void http1_init(struct http1 *r, uint64_t most)
{
    memset(r, 0, offsetof(struct http1, text));
    r->most = most;
}

enum http1_event http1_read(struct http1 *r, struct text *bytes)
{
    enum http1_event event = HTTP1_MORE;

    if (r->state == STATE_OVER)
        bytes->n = 0;
    while (event == HTTP1_MORE && r->state < STATES && bytes->n) {
        event = take(r, *bytes->s);
        *bytes = text_from(*bytes, 1);
        r->at++;
    }
    if (event != HTTP1_MORE || r->state < STATES || r->state == STATE_OVER)
        return event;
    if (r->state == STATE_BAD)
        return HTTP1_BAD;
    if (r->state != STATE_DONE)
        return bytes->n ? take_piece(r, bytes) : HTTP1_MORE;
    r->state = r->head.keep_alive ? STATE_START : STATE_OVER;
    return HTTP1_END;
}

bool http1_is_inside(const struct http1 *r)
{
    return r->state != STATE_START && r->state != STATE_OVER && r->state != STATE_BAD;
}
