/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h: from options to an engine. */
#ifndef MODEL_ENGINE_H
#define MODEL_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "carat.h"
#include "options/options.h"

enum { MOST_THREADS = 256, MOST_CHUNK = 1 << 20 };

struct engine_options {
    int context, chunk, max_layers; /* of layers 0: all */
    int threads, threads_batch;     /* of prompts; 0: threads */
    bool exact, naive, no_profile;
    const char *arith, *kv, *cache_k, *cache_v, *isa, *device, *gpu_layers, *ple, *activations;
    uint64_t snapshots; /* bytes of them */
    uint64_t memory;    /* bytes for weights, cache and work; NO_SIZE: not given, 0: given without a size */
};

void engine_options(carat_engine_options *e, const struct options *o);
/* An engine with a bar while it takes the weights. */
int create_engine(carat_engine **engine, const carat_model *model, const carat_engine_options *options);
/* A session whose work `watch` follows. An exit code, as above. */
int create_session(carat_session **session, carat_engine *engine, carat_progress watch, void *user);
/* Evaluates n ids without reading their logits, which are computed only on request. */
int evaluate_ids(carat_engine *engine, carat_session *session, const int32_t *ids, int n, bool logits);
/* Leaves context and KV type to --memory, where that was given with a size and they were not. An exit code.
 */
int fit_engine(carat_engine_options *e, const carat_model *model, const struct options *o);
/* Memory for the snapshots of a conversation: as many of eight as fit into 64 MiB, and at least one. An exit
 * code. */
int choose_snapshots(carat_engine_options *e, const carat_model *model);
/* True: results of operations are to be rounded to f16. */
bool rounds_activations(const struct options *o);

#endif
