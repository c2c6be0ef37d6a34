/* SPDX-License-Identifier: Apache-2.0 */
/* gbnf_read.h: the items of a grammar in GBNF: what stands between spaces and comments, with its place. Which
 * items may follow which is gbnf.c's. */
#ifndef CT_GBNF_READ_H
#define CT_GBNF_READ_H

#include "grammar/char_ranges.h"
#include "text/tokenizer/tokenizer.h"

enum { CT_GBNF_MAX = 64 << 10 }; /* bytes */
enum { CT_GBNF_NO_BOUND = -1 };

enum ct_gbnf_kind {
    CT_GBNF_NAME,    /* text[first], n */
    CT_GBNF_LITERAL, /* literal[first], n */
    CT_GBNF_CLASS,   /* range[first], n */
    CT_GBNF_TOKEN,   /* id */
    CT_GBNF_OTHERS,  /* any text without the token */
    CT_GBNF_OPEN,    /* id: the item that closes it */
    CT_GBNF_CLOSE,
    CT_GBNF_BAR,
    CT_GBNF_REPEAT, /* min, most */
    CT_GBNF_DEFINE,
    CT_GBNF_LINE, /* a rule ends, at the latest */
};

struct ct_gbnf_item {
    uint8_t kind; /* enum ct_gbnf_kind */
    uint32_t at;  /* its first byte */
    uint32_t first, n;
    int32_t id;
    int32_t min, most;
};

struct ct_gbnf {
    struct ct_str text;
    const struct ct_tokenizer *tokenizer; /* may be NULL */
    struct ct_gbnf_item *item;            /* [n]; behind the last one a CT_GBNF_LINE */
    size_t n, room;
    char *literal; /* bytes of all literals */
    size_t n_literal;
    struct ct_ranges ranges; /* of all classes */
    size_t at;               /* of the reader */
    carat_status status;
    carat_error *err;
};

/* Reads all; what is between brackets, and lines that a rule goes on behind, have no CT_GBNF_LINE. */
bool ct_gbnf_read(struct ct_gbnf *b);
void ct_gbnf_free(struct ct_gbnf *b);
/* Fails once: "line 3, column 7: ...". Returns false. */
bool ct_gbnf_fail(struct ct_gbnf *b, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool ct_gbnf_memory(struct ct_gbnf *b);

#endif
