/* SPDX-License-Identifier: Apache-2.0 */
/* convert_options.h: options of the verbs that turn text into ids, and back. */
#ifndef ASK_CONVERT_OPTIONS_H
#define ASK_CONVERT_OPTIONS_H

#include "options/options.h"

struct convert_options {
    const char *jsonl;
    bool no_bos, pieces, as_ids;
};

#endif
