/* SPDX-License-Identifier: Apache-2.0 */
/* pull_options.h: what `carat pull` is asked for beside names. */
#ifndef STORE_PULL_OPTIONS_H
#define STORE_PULL_OPTIONS_H

#include "options/options.h"

struct pull_options {
    const char *revision, *out, *token_file;
    struct texts include, exclude;
    uint64_t rate;
    int jobs, version;
    bool with_drafter, force, dry_run, quiet, lock;
};

#endif
