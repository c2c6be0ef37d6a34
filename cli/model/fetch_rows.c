/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_rows.c: the options about models that are not on this machine. */
#include "model/fetcher.h"

#define AT(field) offsetof(struct fetch_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_MODEL + 12, {"-hff", "--hf-file"}, TEXT, AT(file), "/ opens pull", "FILE", NULL,
     "the file of the repository that MODEL names, instead of :QUANT", 0, 0},
    {ABOUT_MODEL + 14, {"-hft", "--hf-token"}, TEXT, AT(token), "/ opens", "TOKEN", NULL,
     "for private and gated repositories; other users of this machine see it: rather use HF_TOKEN or 'hf auth "
     "login'", 0, 0},
    {ABOUT_MODEL + 50, {"--offline"}, FLAG, AT(offline), "/ opens pull search", NULL, NULL,
     "fetch nothing, and ask nobody; HF_HUB_OFFLINE=1 says the same", 0, 0},
    {ABOUT_MODEL + 60, {"--refresh"}, FLAG, AT(refresh), "/ " FETCHES, NULL, NULL,
     "ask the hub whether the branch that MODEL names has moved, and fetch what has changed", 0, 0},
    {ABOUT_MODEL + 70, {"-y", "--yes"}, FLAG, AT(yes), "/ " FETCHES, NULL, NULL,
     "fetch models of more than 20 GB without asking", 0, 0},
    {ABOUT_MODEL + 71, {"-y", "--yes"}, FLAG, AT(yes), "rm", NULL, NULL,
     "remove without asking", 0, 0},
};
/* clang-format on */

const struct option_group fetch_group = OPTION_GROUP(rows, struct fetch_options, NULL);
