/* SPDX-License-Identifier: Apache-2.0 */
/* located.h: which model a name on the command line stands for, and where it lies. */
#ifndef MODEL_LOCATED_H
#define MODEL_LOCATED_H

#include <stdbool.h>
#include <stddef.h>

#include "carat_tools.h"

/* The hub's cache, as the environment says; false: it does not. */
bool find_hub(char *path, size_t capacity);
/* Finds what a name stands for, which need not be on this machine; for carat_location_free. */
int look_for_model(carat_location *at, const char *typed);
/* look_for_model without the names that somebody gave with carat cp. */
int look_for_name(carat_location *at, const char *typed);
/* True: it is found by its name or path: it is neither tiny, the model inside the command, nor -. */
bool is_located(const char *typed);
/* Finds such a model: at->path is for carat_model_open, at for carat_location_free. What is not on this
 * machine is an error, which says what to type. */
int locate_model(carat_location *at, const char *typed);

/* Says that error of locate_model for what look_for_model did not find; forbids: what forbids to fetch it, or
 * NULL. */
int explain_missing(const carat_location *at, const char *typed, const char *forbids);

enum { LOCATED_TEXT = 512 };
/* "gemma3:1b is google/gemma-3-1b-it, commit 0123456789ab of main"; false: a path was typed, of which there
 * is nothing to say. */
bool located_text(char text[LOCATED_TEXT], const carat_location *at, const char *typed);

#endif
