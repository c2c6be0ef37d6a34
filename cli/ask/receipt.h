/* SPDX-License-Identifier: Apache-2.0 */
/* receipt.h: receipts of the answers that a verb gives, a line of JSON each, and the options of who replays
 * them. What a receipt is, is the library's (carat_receipt.h). */
#ifndef ASK_RECEIPT_H
#define ASK_RECEIPT_H

#include <stdio.h>

#include "carat_receipt.h"
#include "options/options.h"

struct receipt_options {
    const char *file; /* to write */
    bool is_private;
    bool states; /* of replay */
    double sample;
    const char *prompt, *answer; /* ids of private ones */
    const char *trace, *against; /* hashes of operations, to write and to compare with */
};

/* Starts from {0}. */
struct receipts {
    FILE *file;
    carat_receipt *under_way;
    char previous[33]; /* digest of the answer before, or "" */
    bool keeps;        /* a receipt is kept where its answer ends, for receipts_write */
    char *kept;
};

/* Refuses what a receipt cannot be made of. An exit code, as for all of these. */
int receipts_check(const struct options *o, bool shifts);
/* Begins the receipt of a generation, where one is asked for; form NULL: the answer has none. */
int receipts_begin(struct receipts *r, const struct options *o, carat_generation *g,
                   const carat_constraint_options *form);
/* The answer has ended, and its generation is not closed: writes its line. */
int receipts_end(struct receipts *r, const struct options *o);
/* Creates the file, where receipts are asked for; and writes a line into it that was kept. */
int receipts_create(struct receipts *r, const struct options *o);
int receipts_write(struct receipts *r, const struct options *o, const char *text);
/* The next answer begins a conversation. */
void receipts_forget(struct receipts *r);
int receipts_close(struct receipts *r, const struct options *o);

#endif
