/* SPDX-License-Identifier: Apache-2.0 */
/* serve_options.h: what `carat serve` is asked for. */
#ifndef SERVE_OPTIONS_H
#define SERVE_OPTIONS_H

#include "options/options.h"
#include "server.h"

struct serve_options {
    const char *host, *alias, *half_close;
    int port, parallel, default_tokens, drain_delay;
    uint64_t kv_memory; /* bytes of K and V of all answers; NO_SIZE: full contexts */
    bool strict, strict_model, ollama;
    struct server_limits most;
};

#endif
