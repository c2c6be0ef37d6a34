/* SPDX-License-Identifier: Apache-2.0 */
/* fetcher.h: models that are not on this machine, brought into the hub's cache by carat-fetch, a program of
 * its own: this one opens no connection. */
#ifndef MODEL_FETCHER_H
#define MODEL_FETCHER_H

#include "carat_tools.h"

/* Fetches what a repository's name stands for, at->part and at->revision, into the hub's cache, under a bar;
 * what is there already is not fetched again, and what has come stays when it ends early. Afterwards
 * locate_model finds it. An exit code; offline it is refused. */
int fetch_model(const carat_location *at);

#endif
