/* SPDX-License-Identifier: Apache-2.0 */
/* rm_ollama.h: models that carat has fetched from ollama's registry into its own store. */
#ifndef STORE_RM_OLLAMA_H
#define STORE_RM_OLLAMA_H

#include <stdbool.h>

#include "carat_tools.h"

/* Whether it was found there. */
bool is_own_ollama(const carat_location *at);
/* Removes its manifest, then the blobs that no other manifest names, and the packed copy. An exit code. */
int remove_from_ollama(const carat_location *at, const char *typed, bool yes);

#endif
