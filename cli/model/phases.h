/* SPDX-License-Identifier: Apache-2.0 */
/* phases.h: threads, chunk and level of kernels for prompts and for generation, from options and from a file
 * carat.json beside the weights. */
#ifndef PHASES_H
#define PHASES_H

#include "carat.h"
#include "options/options.h"

enum phase { PREFILL_PHASE, DECODE_PHASE, N_PHASE };
struct phase_settings {
    int chunk, threads; /* 0: not given */
    char isa[16];       /* "": not given */
};
struct phases {
    const struct options *o;
    struct phase_settings file[N_PHASE];
    char path[4096]; /* of the file; "": there is none */
};

/* Reads the file, unless there is none or --no-profile. An exit code. */
int phases_read(struct phases *p, const struct options *o);
/* Takes the settings of an engine from the options, and from the file that was read where the options say
 * nothing. *e points into p, the engine does not. */
void phases_options(const struct phases *p, carat_engine_options *e);
/* Both. An exit code. */
int phases_engine(struct phases *p, carat_engine_options *e, const struct options *o);
/* The origin of the setting that carat_explain calls `key`; NULL: it is not a setting. */
const char *phases_origin(const struct phases *p, const char *key);

#endif
