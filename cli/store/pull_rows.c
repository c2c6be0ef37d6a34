/* SPDX-License-Identifier: Apache-2.0 */
/* pull_rows.c: the options about fetching. */
#include "store/pull_options.h"

#define AT(field) offsetof(struct pull_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_MODEL + 900, {"--revision"}, TEXT, AT(revision), "pull", "REVISION", NULL,
     "a branch, tag or commit, as NAME@REVISION says it", 0, 0},
    {ABOUT_MODEL + 907, {"--version"}, INT, AT(version), "/ pull", "N", NULL,
     "the version of --kaggle, instead of the newest", 1, 999999999},
    {ABOUT_MODEL + 901, {"--with-drafter"}, FLAG, AT(with_drafter), "pull", NULL, NULL,
     "also the small model that drafts for this one", 0, 0},
    {ABOUT_MODEL + 902, {"--include"}, TEXTS, AT(include), "pull", "PATTERN", NULL,
     "fetch the files whose names match, instead of those that make the model; may be given again. Never "
     "pickles", 0, MOST_TEXTS},
    {ABOUT_MODEL + 903, {"--exclude"}, TEXTS, AT(exclude), "pull", "PATTERN", NULL,
     "leave out files whose names match; may be given again", 0, MOST_TEXTS},
    {ABOUT_MODEL + 904, {"--token-file"}, PATH, AT(token_file), "pull", "FILE", NULL,
     "read the token of the hub from there", 0, 0},
    {ABOUT_MODEL + 905, {"--force"}, FLAG, AT(force), "pull", NULL, NULL,
     "fetch also what is there", 0, 0},
    {ABOUT_MODEL + 906, {"--lock"}, FLAG, AT(lock), "pull", NULL, NULL,
     "write the commit and the hashes of the files into models.lock, which every verb obeys in this directory",
     0, 0},
    {ABOUT_OUTPUT + 902, {"-o", "--out"}, TEXT, AT(out), "pull", "DIR", NULL,
     "put the files there, at the names that they have in the repository, and nothing into the cache", 0, 0},
    {ABOUT_OUTPUT + 903, {"--dry-run"}, FLAG, AT(dry_run), "pull", NULL, NULL,
     "only list the files, their bytes, and which are there", 0, 0},
    {ABOUT_COMPUTING + 400, {"-j", "--jobs"}, INT, AT(jobs), "pull", "N", "4",
     "connections at once (default {default})", 1, 8},
    {ABOUT_COMPUTING + 401, {"--limit-rate"}, SIZE, AT(rate), "pull", "SIZE", NULL,
     "receive at most so many bytes a second, all connections together", 1, 1e15},
    {ABOUT_MESSAGES + 35, {"-q", "--quiet"}, FLAG, AT(quiet), "pull", NULL, NULL,
     "no bar and no notes", 0, 0},
};
/* clang-format on */

const struct option_group pull_group = OPTION_GROUP(rows, struct pull_options, NULL);
