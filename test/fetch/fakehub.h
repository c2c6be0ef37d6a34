/* SPDX-License-Identifier: Apache-2.0 */
/* fakehub.h: what the files of the fake hub share: its faults, one connection, and answers. */
#ifndef FAKEHUB_H
#define FAKEHUB_H

#include <stdbool.h>
#include <stddef.h>

#define COMMIT "0123456789abcdef0123456789abcdef01234567"

enum { PATH = 2048 };

/* Of answers with the bytes of a file, unless said otherwise. NUMBER is what it needs to know. */
enum fault {
    NONE,
    RANGE_IGNORED, /* 200 to a Range */
    RANGE_WRONG,   /* another Content-Range than asked for, and the bytes that it says */
    RANGE_ABSENT,  /* 206 without one, and bytes from the beginning */
    ETAG_CHANGES,  /* another X-Linked-Etag from the second answer on */
    BODY_CHANGES,  /* where the bytes are: answer NUMBER has another ETag, and bytes of another file */
    FULL_416,      /* 416 to every Range */
    BUSY_429,      /* the first NUMBER answers are 429 with Retry-After: 0 */
    BUSY_DATE,     /* the first NUMBER answers are 429 with a Retry-After that is a date, long ago */
    BUSY_PLAIN,    /* the first NUMBER answers are 429 without one */
    BUSY_500,      /* the first NUMBER answers are 500 */
    BUSY_LIST,     /* the first NUMBER answers about the repository are 503 */
    LOOP,          /* redirects to itself */
    FOREIGN,       /* redirects to localhost by another name */
    DOWNGRADE,     /* redirects to ftp */
    RELATIVE,      /* no fault: redirects to where it was asked, which may be behind TLS */
    EXPIRES,       /* addresses of bytes are signed, and good for NUMBER answers */
    RESET,         /* the first answer ends behind NUMBER bytes */
    RESETS,        /* every answer ends behind NUMBER bytes */
    SHORT_BODY,    /* every answer ends, in order, NUMBER bytes before the end that it promised */
    DRIP,          /* NUMBER bytes a second */
    LINK,          /* an answer begins behind 40 ms, and goes on with NUMBER bytes a second; bytes are, as
                      huggingface_hub expects it, on another host */
    SILENT,        /* no answer */
    LONG_BODY,     /* more bytes than there are */
    FLIP,          /* a bit of byte NUMBER */
    HTML,          /* a page with 200 */
    GZIP,          /* something compressed with 200 */
    POINTER,       /* a pointer of Git LFS with 200 */
    ENDLESS,       /* headers without end */
    PAGES,         /* of the list: every page names itself as the next one */
    PAGES_ON,      /* of the list: every page names another one as the next, and says the same */
    PAGE_AWAY,     /* of the list: the next page is on another host */
    BAD_NAME,      /* of the list: "../x" */
    ROOT_NAME,     /* of the list: "/etc/x" */
    ZERO_NAME,     /* of the list: a NUL in a name */
    DEEP,          /* of the list: 10000 brackets */
    HUGE_SIZE,     /* of the list: 2^63 bytes */
    LARGE_SIZE,    /* of the list: large files have NUMBER bytes */
    BAD_HASH,      /* of the list: a hash that is none */
    MANY,          /* of the list: NUMBER files more, a thousand a page */
    GATED,         /* 403 with GatedRepo */
    ALL_MISSING,   /* 401 for the repository */
    XET_ONLY,      /* of the list: a file has more than 50 GB; 403 instead of its bytes */
};

extern enum fault fault;
extern long long number;
extern const char *dir, *log_path;
extern int port;
enum { MOST_ADDRESSES = 4096 };
/* Between the processes: bytes of files were sent so often; addresses were given out, and used; answers
 * about lists. */
extern struct shared {
    int answers, addresses, used[MOST_ADDRESSES], lists;
} * shared;

bool find_fault(const char *name);

/* A connection. */
struct request {
    int fd;
    char path[PATH], query[256], range[64], authorization[256], accept[256];
    char body[4096]; /* of a POST */
    bool token;
    bool only_head; /* HEAD: no body is sent */
    long long sent;
};

bool put(struct request *r, const void *data, size_t n);
void head(struct request *r, const char *format, ...);
/* more: header lines. */
void answer(struct request *r, int status, const char *more, const char *type, const char *body);

/* ---- files ---- */

/* A file in memory; NULL: there is none. For close_file. */
const char *open_file(const char *path, size_t *n);
void close_file(const char *data, size_t n);
/* SHA-256 of large files, git's SHA-1 of small ones, as the hub has it; kept from one call to the next. */
void hash_of(char out[65], const char *path, bool large);
bool is_large(size_t n);
/* The file of a repository, as its own address has it; away: as it lies where that leads. */
void answer_file(struct request *r, const char *repository, const char *name, bool away);

/* ---- Kaggle ---- */

/* Answers what is asked of Kaggle: DIR/kaggle/OWNER/MODEL/FRAMEWORK/VARIATION/VERSION has the files.
 * False: the path is none of Kaggle's. */
bool answer_kaggle(struct request *r);

/* Tells the models of DIR/kaggle whose names have the words; false: that is not asked for. */
bool answer_kaggle_search(struct request *r);

/* ---- ollama ---- */

/* Answers what is asked of ollama's registry; false: the path is none of it. */
bool answer_ollama(struct request *r);

/* ---- lists ---- */

void answer_list(struct request *r, const char *repository);
/* Repositories whose names have the words of the query; their tags are in a file .tags, as JSON has them. */
void answer_search(struct request *r);
/* What the commit is, and the names of its files. */
void answer_revision(struct request *r, const char *repository);

#endif
