/* SPDX-License-Identifier: Apache-2.0 */
/* serve_rows.c: the options about serving. */
#include "ask/serve_options.h"

#define AT(field) offsetof(struct serve_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_MODEL + 80, {"-a", "--alias"}, TEXT, AT(alias), "serve", "NAME", NULL,
     "what the model is called in replies (default: as it was typed)", 0, 0},
    {ABOUT_INPUT + 300, {"--host"}, TEXT, AT(host), "serve", "ADDRESS", "127.0.0.1",
     "where to listen: 127.0.0.1, localhost or ::1 (default {default}); others have to wait until there are "
     "keys", 0, 0},
    {ABOUT_INPUT + 310, {"--port"}, INT, AT(port), "serve", "N", "8080",
     "the port; 0 is any that is free (default {default})", 0, 65535},
    {ABOUT_INPUT + 320, {"--strict"}, FLAG, AT(strict), "serve", NULL, NULL,
     "refuse fields of requests that nobody knows, instead of naming them in the reply", 0, 0},
    {ABOUT_COMPUTING + 15, {"-np", "--parallel"}, INT, AT(parallel), "serve", "N", "8",
     "answers at once (default {default}); further requests wait", 1, 256},
    {ABOUT_COMPUTING + 272, {"--kv-memory"}, SIZE, AT(kv_memory), "/ serve", "SIZE", NULL,
     "memory for K and V of all answers together (default: a full context for each)", 1, 0x1p60},
};
/* clang-format on */

const struct option_group serve_group = OPTION_GROUP(rows, struct serve_options, NULL);
