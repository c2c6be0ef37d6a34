/* SPDX-License-Identifier: Apache-2.0 */
/* http1.h: HTTP/1.1 requests (RFC 9112) out of bytes: bytes in, events out, the same for every cut of the
 * bytes. What two readers could understand in two ways is refused. It knows no sockets, allocates nothing,
 * and leaves to others which routes, hosts and methods there are, and what is answered.
 *
 *     while ((event = http1_read(&reader, &bytes)) != HTTP1_MORE)
 *         ...
 *
 * Between two requests nothing in a reader is needed: a connection that waits for one can do without. */
#ifndef SERVER_HTTP1_H
#define SERVER_HTTP1_H

#include <stdint.h>

#include "text.h"

#define HTTP1_LINE_MAX 8192 /* bytes of the request line, its end left out */
/* Bytes of all fields with the ends of their lines; fields behind a body and what stands behind the sizes of
 * chunks are counted in. */
#define HTTP1_FIELDS_MAX 32768
#define HTTP1_COUNT_MAX  100  /* fields, counted in the same way */
#define HTTP1_KEPT_MAX   8192 /* bytes of the values that are kept */

enum http1_event {
    HTTP1_MORE, /* all bytes are used up */
    HTTP1_HEAD, /* head says what is asked for */
    HTTP1_BODY, /* piece is the next part of the body, within the bytes that were given */
    HTTP1_END,  /* the request is complete; the next one begins behind it */
    HTTP1_BAD,  /* status and message say why; from here on there is nothing else: answer and close */
};

/* Others are refused with status 501. */
enum http1_method {
    HTTP1_METHOD_GET,
    HTTP1_METHOD_HEAD,
    HTTP1_METHOD_POST,
    HTTP1_METHOD_PUT,
    HTTP1_METHOD_DELETE,
    HTTP1_METHOD_OPTIONS,
    HTTP1_METHOD_PATCH,
    HTTP1_METHOD_TRACE,
    HTTP1_METHODS,
};

/* Fields whose values are kept; each may be there once. The value of others is looked at for forbidden bytes
 * alone. */
enum http1_field {
    HTTP1_HOST, /* that of an absolute target is the same, or the request is refused */
    HTTP1_CONTENT_TYPE,
    HTTP1_CONTENT_ENCODING,
    HTTP1_AUTHORIZATION,
    HTTP1_X_API_KEY,
    HTTP1_X_GOOG_API_KEY,
    HTTP1_ANTHROPIC_VERSION,
    HTTP1_X_REQUEST_ID,
    HTTP1_ORIGIN,
    HTTP1_USER_AGENT,
    HTTP1_KEPT,
};

/* Valid until the request ends. After HTTP1_BAD path says at least whom it was for, unless path.s is NULL. */
struct http1_head {
    enum http1_method method;
    int minor;                     /* of the version: 0 or 1 */
    struct text path;              /* begins with '/', or is "*"; escapes as they were sent */
    struct text query;             /* behind the '?' */
    struct text field[HTTP1_KEPT]; /* without white space around */
    bool keep_alive;               /* another request may follow; else what follows is passed over */
    bool expects;                  /* the body comes after an interim answer with status 100 */
    bool chunked;                  /* the body says its length as it comes */
    uint64_t length;               /* of a body that is not chunked */
};

/* Starts from http1_init, and stays where it is. */
struct http1 {
    struct http1_head head;
    struct text piece;
    int status; /* of HTTP1_BAD: the answer's, 400 to 505 */
    char message[160];

    /* Private from here on. */
    uint64_t most, taken; /* bytes that a body may have, and has by the chunks so far */
    uint64_t left;        /* bytes of the body, or of the chunk, that are to come */
    uint64_t at;          /* bytes of this request so far */
    uint64_t begin;       /* where the field begins in it */
    int state;
    int line;                  /* bytes of the request line */
    int part;                  /* bytes of a name, or digits of a size */
    int fields, count;         /* bytes of fields, and how many there are */
    int known;                 /* which of the fields that matter the name is */
    bool seen[HTTP1_KEPT + 4]; /* and which of them were there */
    bool close, alive;         /* what the field Connection says */
    bool behind;               /* the head is complete */
    size_t value, kept;        /* where the value begins in text, and where the kept ones end */
    struct text authority;     /* of an absolute target */
    char name[24];
    char text[HTTP1_LINE_MAX + HTTP1_KEPT_MAX]; /* the request line, then values */
};

/* most: bytes that a body may have; a longer one is refused with status 413, before its first byte where the
 * head says its length. */
void http1_init(struct http1 *r, uint64_t most);
/* Takes from the beginning of *bytes what makes the next event. */
enum http1_event http1_read(struct http1 *r, struct text *bytes);
/* Whether the bytes so far end within a request. */
bool http1_is_inside(const struct http1 *r);
/* "GET" */
const char *http1_method_name(enum http1_method method);

#endif
