/* SPDX-License-Identifier: Apache-2.0 */
/* remote.h: a model that is not on this machine, opened by the heads of its files: what they say of weights,
 * and the small files beside. The weights themselves read as zeros and are not fetched. */
#ifndef MODEL_REMOTE_H
#define MODEL_REMOTE_H

#include <stdint.h>

#include "carat_tools.h"
#include "options/options.h"

struct head;
struct heads {
    carat_buffer *buffer; /* [n], by name; each as large as its file */
    struct head *head;    /* [n] */
    int n;
    char commit[80]; /* what the files are pinned to; a version of Kaggle's */
    uint64_t bytes, fetched;
};

/* Whether files of such a name can be asked for; false: something forbids it, there is no carat-fetch, or it
 * is here. */
bool heads_can(const carat_location *at, const struct options *o);
/* Fetches the heads and opens the model, which is for looking at alone. An exit code. The heads are for
 * heads_free, in any case, once the model is closed. */
int heads_open(carat_model **model, struct heads *h, const carat_location *at, const struct options *o);
void heads_free(struct heads *h);

#endif
