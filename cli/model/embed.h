/* SPDX-License-Identifier: Apache-2.0 */
/* embed.h: the files of models/tiny as they lie in the command's own read-only data, so that
 * `carat run tiny` needs no file and no network. Opening them is the caller's business. */
#ifndef EMBED_H
#define EMBED_H

struct embedded {
    const char *name; /* file name inside the model directory */
    const unsigned char *begin, *end;
};
extern const struct embedded embedded_tiny[]; /* [embedded_tiny_count] */
extern const int embedded_tiny_count;

#endif
