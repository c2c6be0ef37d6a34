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
    {ABOUT_INPUT + 315, {"--ollama"}, FLAG, AT(ollama), "serve", NULL, NULL,
     "listen at port 11434 too, where Ollama's clients look when they are told nothing", 0, 0},
    {ABOUT_INPUT + 320, {"--strict"}, FLAG, AT(strict), "serve", NULL, NULL,
     "refuse fields of requests that nobody knows, instead of naming them in the reply", 0, 0},
    {ABOUT_INPUT + 322, {"--strict-model"}, FLAG, AT(strict_model), "serve", NULL, NULL,
     "refuse requests that name another model, instead of answering them by this one", 0, 0},
    {ABOUT_INPUT + 324, {"--default-max-tokens"}, INT, AT(default_tokens), "serve", "N", "0",
     "tokens of an answer whose request gives no number; 0 is to the end of the context, and at "
     "/v1/completions 16, as OpenAI has it (default {default})",
     0, INT32_MAX},
    {ABOUT_INPUT + 330, {"--half-close"}, CHOICE, AT(half_close), "/ serve", "cancel|keep", "cancel",
     "what becomes of an answer in one piece whose client has closed its side of the connection (default "
     "{default})", 0, 0},
    {ABOUT_INPUT + 332, {"--drain-delay"}, INT, AT(drain_delay), "/ serve", "SECONDS", "0",
     "how long after a signal requests are still taken, while /readyz says that the server ends (default "
     "{default})", 0, 3600},
    {ABOUT_INPUT + 340, {"--max-body"}, SIZE, AT(most.body), "/ serve", "SIZE", "8M",
     "bytes of a request (default {default}; at most {most})", 1024, 64 << 20},
    {ABOUT_INPUT + 341, {"--max-bodies"}, SIZE, AT(most.bodies), "/ serve", "SIZE", "64M",
     "bytes of requests that have come and not been looked at (default {default}); beyond them nothing is "
     "read, for up to 30 seconds", 1024, 0x1p40},
    {ABOUT_INPUT + 342, {"--max-messages"}, INT, AT(most.messages), "/ serve", "N", "4096",
     "messages of a request (default {default})", 1, 1 << 20},
    {ABOUT_INPUT + 344, {"--max-tools"}, INT, AT(most.tools), "/ serve", "N", "128",
     "tools of a request (default {default})", 0, 1 << 20},
    {ABOUT_INPUT + 346, {"--max-n"}, INT, AT(most.n), "/ serve", "N", "8",
     "answers to a request (default {default}; at most {most})", 1, 8},
    {ABOUT_INPUT + 348, {"--max-waiting"}, INT, AT(most.waiting), "/ serve", "N", "64",
     "requests that wait for a place (default {default}); others are told when to come again", 1, 4096},
    {ABOUT_INPUT + 349, {"--max-wait"}, INT, AT(most.wait), "/ serve", "SECONDS", "60",
     "how long a request may have to wait for a place, as far as that can be told (default {default})", 1,
     86400},
    {ABOUT_INPUT + 350, {"--max-connections"}, INT, AT(most.connections), "/ serve", "N", "1024",
     "connections (default {default}); for a further one the oldest that is idle is closed", 1, 65536},
    {ABOUT_COMPUTING + 15, {"-np", "--parallel"}, INT, AT(parallel), "serve", "N", "8",
     "answers at once (default {default}); further requests wait", 1, 256},
    {ABOUT_COMPUTING + 272, {"--kv-memory"}, SIZE, AT(kv_memory), "/ serve", "SIZE", NULL,
     "memory for K and V of all answers together (default: a full context for each)", 1, 0x1p60},
};
/* clang-format on */

const struct option_group serve_group = OPTION_GROUP(rows, struct serve_options, NULL);
