/* SPDX-License-Identifier: Apache-2.0 */
/* source.c: see source.h. */
#include "source.h"

#include <string.h>

static const struct source *const sources[] = {&hub_source, &plain_source, &kaggle_source, &ollama_source};

const struct source *source_named(const char *name)
{
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
        if (strcmp(sources[i]->name, name) == 0)
            return sources[i];
    return NULL;
}
