/* SPDX-License-Identifier: Apache-2.0 */
/* search.h: models of the hub and of Kaggle by words. */
#ifndef FETCH_SEARCH_H
#define FETCH_SEARCH_H

#include "http.h"
#include "plan.h"

/* Asks for at most plan->limit repositories that plan->query finds, the most used first, and tells of those
 * that come. A code of report.h. */
int search_all(struct http *h, struct plan *plan);

/* search_all of Kaggle: each variation of a model in each framework by its own name, in Kaggle's order. */
int search_kaggle(struct http *h, const struct plan *plan);

#endif
