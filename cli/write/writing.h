/* SPDX-License-Identifier: Apache-2.0 */
/* writing.h: options of the verbs that write models, and what the library is told of them. */
#ifndef MODEL_WRITING_H
#define MODEL_WRITING_H

#include "carat_convert.h"
#include "options/options.h"

struct writing_options {
    const char *type, *recipe, *importance, *report, *to, *out;
    const char *output_type, *embedding_type;
    struct texts tensor_types, set, overrides;
    bool pure, again, dry_run, leave_output, clamp, force;
    uint64_t shard;
    const char *lut[3]; /* of the embedding, of all layers, of the head */
    bool expand, tied, metadata_only;
    const char *output, *spare; /* as CoreML's converter is typed */
    bool spare_check;
    int qmax;
    double clip;
    const char *residual;
    const char *qat; /* NULL: what the verb does by itself */
};

/* Types, recipe and importance; nothing about threads and progress. */
void writing_options(carat_convert_options *how, const struct options *o);

#endif
