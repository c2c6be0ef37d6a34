/* SPDX-License-Identifier: Apache-2.0 */
/* places.h: where the programs of this machine keep models, as the environment says. What lies there is the
 * library's to read. */
#ifndef MODEL_PLACES_H
#define MODEL_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "carat_tools.h"

enum { PLACE_PATH = 4096, PLACES = 7 };

struct known_places {
    carat_places places;
    char path[PLACES * PLACE_PATH]; /* one after another: seven pages are not touched for seven short paths */
    char lm_studio[PLACE_PATH + 8];
};
void find_places_of_models(struct known_places *p);
/* carat's own store that is laid as ollama lays its; false: there is no place for it. */
bool find_own_ollama(char *path, size_t capacity);
/* The store for models of ollama's registry: the user's store, if it is there, his, and can be written, else
 * carat's. */
bool find_ollama_store(char *path, size_t capacity);

#endif
