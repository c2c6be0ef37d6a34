/* SPDX-License-Identifier: Apache-2.0 */
/* compare_options.h: what `carat compare` is asked to compare. */
#ifndef QUALITY_COMPARE_COMPARE_OPTIONS_H
#define QUALITY_COMPARE_COMPARE_OPTIONS_H

#include "options/options.h"

struct compare_options {
    const char *ref_mode, *test_mode, *hf_reference, *driver, *ref_logits, *limits, *at, *dataset, *out_dir;
    int predict, parallel, top;
    double near_tie;
    bool ignore_eos, restart, bisect;
    int bisect_rows;
};

#endif
