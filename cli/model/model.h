/* SPDX-License-Identifier: Apache-2.0 */
/* model.h: from options to an open model and to an engine, with bars while loading. */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "carat.h"
#include "options/options.h"

/* The name `tiny` is the model inside the command; all else is a path (so `./tiny` is a file). */
int open_model(carat_model **model, const struct options *o, bool tokenizer_only);
/* The same; what is not in the cache is put there. For verbs that compute. */
int open_packed(carat_model **model, const struct options *o);
void engine_options(carat_engine_options *e, const struct options *o);
/* An engine with a bar while it takes the weights. */
int create_engine(carat_engine **engine, const carat_model *model, const carat_engine_options *options);
/* Evaluates n ids without reading their logits, which are computed only on request. */
int evaluate_ids(carat_engine *engine, carat_session *session, const int32_t *ids, int n, bool logits);
/* Leaves context and KV type to --memory, where that was given with a size and they were not. An exit code.
 */
int fit_engine(carat_engine_options *e, const carat_model *model, const struct options *o);
/* Memory for the snapshots of a conversation: as many of eight as fit into 64 MiB, and at least one. An exit
 * code. */
int choose_snapshots(carat_engine_options *e, const carat_model *model);
const char *model_name(const char *path); /* its last component, for tables */

#endif
