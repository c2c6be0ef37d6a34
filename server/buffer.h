/* SPDX-License-Identifier: Apache-2.0 */
/* buffer.h: bytes that grow up to a bound. What does not fit is not written, and the buffer says so. */
#ifndef BUFFER_H
#define BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct buffer {
    char *data; /* [n], owned */
    size_t n, capacity;
    size_t most; /* bytes that it may have; 0: any number */
    bool failed; /* something did not fit, or there was no memory */
};

void buffer_put(struct buffer *b, const void *data, size_t n);
void buffer_text(struct buffer *b, const char *terminated);
/* A NUL behind what is there, which does not count; NULL without memory. */
const char *buffer_terminate(struct buffer *b);
/* Room for n bytes in all; false: there is none. */
bool buffer_reserve(struct buffer *b, size_t n);
void buffer_swap(struct buffer *a, struct buffer *b);
void buffer_free(struct buffer *b); /* leaves {0} */

#endif
