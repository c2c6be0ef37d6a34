/* SPDX-License-Identifier: Apache-2.0 */
/* option.h: an option as a row of data. Rows stand in a file of those who obey them, with the struct that
 * their values go into; lists.h lists the groups. A row is the only place where a spelling, a range or a
 * default is written down: it is read by the parser and the environment, printed as help and man pages, and
 * completed by shells. */
#ifndef OPTIONS_OPTION_H
#define OPTIONS_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NO_SIZE   UINT64_MAX
#define NOT_GIVEN INT32_MIN /* of numbers that may be negative */

/* A number of things, or their bytes; n 0: not given. */
struct amount {
    uint64_t n;
    bool bytes;
};

/* The texts of an option that may be given several times, in their order. */
enum { MOST_TEXTS = 64 };
struct texts {
    const char *text[MOST_TEXTS];
    int n;
};

enum option_kind {
    FLAG,
    TEXT,
    TEXTS,  /* a TEXT that may be given again */
    IDS,    /* token ids, @FILE, or - for standard input */
    MODEL,  /* a path to read, "tiny", or - */
    PATH,   /* a file to read that the library opens by its name */
    READS,  /* a file to read, - is standard input */
    WRITES, /* a file to write, - is standard output */
    CHOICE,
    SWITCH, /* a CHOICE that may be left out, which means on */
    INT,
    INTS, /* INT, or several separated by commas; kept as it is written */
    INT64,
    OFF_OR_INT, /* the word off, which is 0, or an INT */
    REAL,
    REAL_OR_0,
    SIZE,       /* bytes, with K, M, G or T for powers of 1024 */
    MAYBE_SIZE, /* a SIZE that may be left out, which means 0 */
    AMOUNT,     /* a whole number; with K, M, G or T bytes */
};

/* The place of a row in help: one of these sections, and the place in it. Numbers leave room for rows
 * between. */
enum {
    ABOUT_MODEL = 1000,
    ABOUT_INPUT = 2000,
    ABOUT_GENERATION = 3000,
    ABOUT_COMPARISON = 4000,
    ABOUT_OUTPUT = 5000,
    ABOUT_MEASURING = 6000,
    ABOUT_COMPUTING = 7000,
    ABOUT_MESSAGES = 8000,
};

/* Which verbs have a row: their names, separated by spaces. Those behind a / show it with --help-all alone.
 * any: every verb; opens: every one that opens a model; -name: not that one. */
#define GENERATES "run chat"
#define DRAWS     GENERATES " decode"
#define SCORES    "perplexity eval"
#define EVALUATES DRAWS " " SCORES " logits bench serve"
#define FETCHES   EVALUATES " embed compare replay sweep imatrix convert quantize pack" /* what is not here */

enum { MOST_NAMES = 4 };

struct option {
    int place;
    const char *names[MOST_NAMES]; /* as typed, dashes included; NULL ends a shorter list */
    enum option_kind kind;
    size_t field; /* offset in the group's struct */
    const char *verbs;
    /* Placeholder in help; for CHOICE and SWITCH the words, separated by |; behind || those that are taken
     * but not shown. */
    const char *value;
    /* The value of the field when the option is not given, as one would type it. NULL: the value that says
     * so, NULL of texts, NAN of reals, NO_SIZE of a MAYBE_SIZE, of whole numbers 0, -1 or NOT_GIVEN: the
     * first that is out of range. */
    const char *standard;
    const char *help; /* {default} and {most} stand for the default and the upper end of the range */
    double low, high; /* INT, INTS, REAL, REAL_OR_0, SIZE, MAYBE_SIZE, AMOUNT, OFF_OR_INT: accepted range,
                         both ends included; INT64: low alone; TEXTS: high is how many */
};

/* The rows of one struct of values. They are not for clang-format: an entry of two or three lines can be read
 * as a table, one with a line for each value cannot. */
struct option_group {
    const struct option *rows;
    int n;
    size_t size;           /* of the struct */
    void (*prepare)(void); /* writes words into rows that the library knows; or NULL */
};
#define OPTION_GROUP(rows, type, prepare)                                                                    \
    {                                                                                                        \
        rows, sizeof rows / sizeof *rows, sizeof(type), prepare                                              \
    }

#endif
