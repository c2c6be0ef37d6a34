/* SPDX-License-Identifier: Apache-2.0 */
/* trace_file.h: the hashes of what operations gave while a receipt was replayed, in memory and as a file that
 * another machine holds its own against. */
#ifndef ASK_TRACE_FILE_H
#define ASK_TRACE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "carat_receipt.h"

enum { TRACE_HASH = 32, TRACE_NAME = 47 };

/* Starts from {0}. */
struct traced {
    char content[TRACE_HASH + 1], digest[TRACE_HASH + 1]; /* of the receipt */
    int first, positions;
    int n_operations; /* of a position, whose names are: */
    char (*operation)[TRACE_NAME + 1];
    int n; /* hashes, a position's behind another's */
    char (*hash)[TRACE_HASH + 1];
};

/* A carat_replay_options.on_operation adds what it hears; false: memory is out. */
bool traced_add(struct traced *t, const carat_operation_hash *heard);
/* Writes the trace. The owner of the file has to say when the stream failed. */
void traced_write(const struct traced *t, FILE *file);
/* Refuses what is no trace, or of another receipt: a text that messages call name, and a file. Exit codes. */
int traced_parse(struct traced *t, const char *name, const char *text, size_t n,
                 const carat_receipt_info *receipt);
int traced_read(struct traced *t, const char *path, const carat_receipt_info *receipt);
/* Says where the operations of mine differ from those of the file. An exit code. */
int traced_check(const struct traced *file, const char *path, const struct traced *mine);
void traced_free(struct traced *t);

/* A file that is read as a whole, of at most so many bytes of what it holds. An exit code. */
int read_limited(const char *path, size_t limit, const char *what, char **text, size_t *n);

#endif
