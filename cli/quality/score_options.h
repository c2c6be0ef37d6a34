/* SPDX-License-Identifier: Apache-2.0 */
/* score_options.h: options of the verbs that score what is given. */
#ifndef QUALITY_SCORE_OPTIONS_H
#define QUALITY_SCORE_OPTIONS_H

#include "options/options.h"

struct score_options {
    int stride; /* of perplexity; 0: windows follow each other */
    bool in_chat;
    double least; /* of eval: accuracy; NAN: not given */
};

#endif
