/* SPDX-License-Identifier: Apache-2.0 */
/* search_options.h: what `carat search` is asked for beside words. */
#ifndef STORE_SEARCH_OPTIONS_H
#define STORE_SEARCH_OPTIONS_H

#include "options/options.h"

struct search_options {
    const char *source; /* "hf", "kaggle" */
    int limit;
    bool all;
};

#endif
