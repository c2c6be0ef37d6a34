/* SPDX-License-Identifier: Apache-2.0 */
/* names.h: what people call the published members, and the repositories that the names stand for. */
#ifndef CT_NAMES_H
#define CT_NAMES_H

#include "base/base.h"

struct ct_family_name {
    const char *name;       /* as ollama spells it: "gemma3:4b" */
    const char *repository; /* its publisher's, on the hub; NULL: carat does not run it */
    const char *drafter;    /* the repository of its drafter; NULL: it has none */
};
extern const struct ct_family_name ct_family_names[];
extern const int ct_family_name_count;

/* llama.cpp's name of a number in general.file_type; NULL: it has none. */
const char *ct_mix_label(uint64_t file_type);

/* The member of that name; NULL: none. A name is compared without its case and without - _ : and . between
 * its parts, so that gemma3:1b, gemma-3-1b and Gemma3_1B are one; "-it" and ":latest" at the end say nothing
 * new. Behind the name of what carat does not run, anything may stand. */
const struct ct_family_name *ct_family_name_find(struct ct_str name);

#endif
