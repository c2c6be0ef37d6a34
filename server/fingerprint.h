/* SPDX-License-Identifier: Apache-2.0 */
/* fingerprint.h: what the texts of answers depend on, as one word: the version, the arithmetic, the versions
 * of its rules, the type of K and V, and the hash of the model's content. Where no packed file says the hash,
 * a thread works it out, which leaves processors to all others. */
#ifndef FINGERPRINT_H
#define FINGERPRINT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

#include "carat.h"

struct fingerprint {
    const carat_model *model;
    char text[160];
    int n; /* bytes of it without the hash */
    atomic_bool known, unwanted;
    bool has_thread;
    uv_thread_t thread;
};

/* Without memory or a thread it stays unknown. */
void fingerprint_begin(struct fingerprint *f, const carat_model *model, const carat_engine *engine);
void fingerprint_end(struct fingerprint *f); /* before the model ends */
/* NULL: it is not known yet. Any thread. */
const char *fingerprint_text(const struct fingerprint *f);

#endif
