/* SPDX-License-Identifier: Apache-2.0 */
/* writing.h: options of the verbs that write models. */
#ifndef CONVERT_WRITING_H
#define CONVERT_WRITING_H

#include "options/options.h"

struct writing_options {
    const char *type, *recipe, *to;
    bool pure, again;
    uint64_t shard;
};

#endif
