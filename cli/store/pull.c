/* SPDX-License-Identifier: Apache-2.0 */
/* pull.c: `carat pull`: brings models into the hub's cache or a folder, and says where they lie. */
#include <stdio.h>
#include <string.h>

#include "names/fetcher.h"
#include "names/located.h"
#include "names/lock.h"
#include "options/options.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/out_json.h"
#include "term/output.h"

/* The options of `carat pull` beside names. */
struct pull_options {
    const char *revision, *out, *token_file;
    struct texts include, exclude;
    uint64_t rate;
    int jobs, version;
    bool with_drafter, force, dry_run, quiet, lock;
};

/* The options about fetching. */
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

enum { MOST_NAME = 1024 };

/* {"name": ..., "path": ..., "repository": ..., "revision": ..., "commit": ...}, or the path alone. */
static int tell_place(const carat_location *at, const char *path, const char *typed, bool json)
{
    if (!json) {
        out_print("%s\n", path);
        return DONE;
    }
    json_t *place = json_pack("{s:o, s:o}", "name", json_text(typed, strlen(typed)), "path",
                              json_text(path, strlen(path)));
    if (at->repository)
        json_object_set_new(place, "repository", json_string(at->repository));
    if (at->revision)
        json_object_set_new(place, "revision", json_string(at->revision));
    if (at->commit)
        json_object_set_new(place, "commit", json_string(at->commit));
    return out_json(place);
}

/* NAME with the revision of --revision: OWNER/NAME@REVISION:PART, to be looked for. */
static int revise(char name[MOST_NAME], const carat_location *at, const char *revision)
{
    if (strcmp(at->revision, "main") != 0 && strcmp(at->revision, revision) != 0)
        return term_fail(USAGE, "pull: the name says revision %.100s, and --revision %.100s", at->revision,
                         revision);
    const int n =
        snprintf(name, MOST_NAME, "%s@%s%s%s", at->repository, revision, *at->part ? ":" : "", at->part);
    return n < MOST_NAME ? DONE : term_fail(USAGE, "pull: --revision is too long");
}

/* After Ctrl-C. */
static int how_it_ended(int code, const char *typed)
{
    if (code == INTERRUPTED)
        term_note("what has come is kept: carat pull %.200s goes on with it", typed);
    return code;
}

static int pull_address(const carat_location *at, const char *typed, const struct fetch_wish *wish, bool json)
{
    char path[FETCHED_PATH];

    if (at->path && !wish->out && !wish->force && !wish->dry)
        return tell_place(at, at->path, typed, json);
    TRY(how_it_ended(wish->out ? fetch_address(typed, wish, path) : fetch_to_place(at, wish, path), typed));
    return wish->dry ? DONE : tell_place(at, path, typed, json);
}

static int pull_repository(carat_location *at, const char *typed, const struct fetch_wish *wish, bool json)
{
    const bool some = (wish->include && wish->include->n) || (wish->exclude && wish->exclude->n);
    char path[FETCHED_PATH];

    if (wish->out || wish->dry || wish->force || some || !at->path) {
        TRY(how_it_ended(fetch_files(at, wish, path), typed));
        if (wish->dry)
            return DONE;
        if (wish->out || some)
            return tell_place(at, path, typed, json);
        carat_location_free(at);
        TRY(locate_model(at, typed));
    }
    return tell_place(at, at->path, typed, json);
}

/* Pulls a model of Kaggle or of ollama's registry. */
static int pull_whole(carat_location *at, const char *typed, const char *revision,
                      const struct fetch_wish *wish, bool json)
{
    const bool kaggle = at->named == CARAT_NAMED_KAGGLE;
    char path[FETCHED_PATH];

    if (revision || (wish->include && wish->include->n) || (wish->exclude && wish->exclude->n))
        return term_fail(USAGE, "pull: %.200s: a %s comes whole, and stands in the name: %s", typed,
                         kaggle ? "version of Kaggle's" : "tag of ollama's",
                         kaggle ? "kaggle://OWNER/MODEL/FRAMEWORK/VARIATION/VERSION"
                                : "registry.ollama.ai/OWNER/MODEL:TAG");
    if (wish->out || wish->dry || wish->force || !at->path) {
        TRY(how_it_ended(kaggle ? fetch_kaggle(at, wish, path) : fetch_ollama(at, wish, path), typed));
        if (wish->dry)
            return DONE;
        if (wish->out)
            return tell_place(at, path, typed, json);
        carat_location_free(at);
        TRY(locate_model(at, typed));
    }
    return tell_place(at, at->path, typed, json);
}

/* Refuses a name that cannot be pulled. */
static int check_named(const carat_location *at, const char *typed, bool locks)
{
    const bool fetched = at->named == CARAT_NAMED_ADDRESS || at->named == CARAT_NAMED_KAGGLE ||
                         (at->named == CARAT_NAMED_OLLAMA && at->handle);

    if (at->repository || (fetched && !locks))
        return DONE;
    if (at->named == CARAT_NAMED_OLLAMA)
        return term_fail(USAGE,
                         "pull: %.200s is ollama's: 'ollama pull %.200s' fetches it, and carat runs it there",
                         typed, typed);
    return term_fail(USAGE, "pull: %s%.200s is no name of a repository or of the family",
                     locks ? "--lock: " : "", typed);
}

static int pull_one(const char *typed, const struct options *o, const struct fetch_wish *wish)
{
    const char *revision = o->pull->revision;
    char name[MOST_NAME] = "", drafter[MOST_NAME] = "";
    carat_location at;

    if (strcmp(typed, "tiny") == 0) {
        term_note("tiny is inside this command");
        return DONE;
    }
    TRY(o->pull->lock ? look_for_name(&at, typed) : look_for_model(&at, typed));
    int code = check_named(&at, typed, o->pull->lock);
    if (o->pull->lock && !revision) /* what the branch has, whatever is locked so far */
        revision = at.revision;
    if (code == DONE && at.repository && revision && (code = revise(name, &at, revision)) == DONE) {
        carat_location_free(&at);
        TRY(look_for_model(&at, name));
    }
    if (code == DONE && o->pull->with_drafter && at.drafter)
        snprintf(drafter, sizeof drafter, "%s", at.drafter);
    else if (code == DONE && o->pull->with_drafter)
        code = term_fail(USAGE, "pull: --with-drafter: carat knows no drafter of %.200s", typed);
    if (code == DONE)
        code = at.repository                     ? pull_repository(&at, *name ? name : typed, wish, o->json)
               : at.named == CARAT_NAMED_ADDRESS ? pull_address(&at, typed, wish, o->json)
                                                 : pull_whole(&at, typed, revision, wish, o->json);
    if (code == DONE && o->pull->lock)
        code = lock_add(&at, typed);
    carat_location_free(&at);
    if (code == DONE && *drafter && (code = look_for_model(&at, drafter)) == DONE) {
        code = pull_repository(&at, drafter, wish, o->json);
        carat_location_free(&at);
    }
    return code;
}

/* Refuses --lock with options that fetch something else than a model in the cache. */
static int check_lock(const struct pull_options *p)
{
    return !p->lock || !(p->out || p->dry_run || p->include.n || p->exclude.n)
               ? DONE
               : term_fail(USAGE,
                           "pull: --lock is about models in the cache, not --out, --dry-run, --include or "
                           "--exclude");
}

/* As --kaggle and --version spell it; what is typed otherwise stays. */
static int spell(char name[MOST_NAME], const struct options *o)
{
    const int version = o->pull->version;
    char behind[16] = "";

    if (version && !o->kaggle)
        return term_fail(USAGE, "pull: --version is about --kaggle HANDLE");
    if (version)
        snprintf(behind, sizeof behind, "/%d", version);
    const int n =
        snprintf(name, MOST_NAME, "%s%s%s", o->kaggle == o->model ? "kaggle://" : "", o->model, behind);
    return n < MOST_NAME ? DONE : term_fail(USAGE, "pull: the name is too long");
}

int verb_pull(const struct options *o)
{
    char name[MOST_NAME];
    const struct pull_options *p = o->pull;
    const struct fetch_wish wish = {.out = p->out,
                                    .token_file = p->token_file,
                                    .include = &p->include,
                                    .exclude = &p->exclude,
                                    .force = p->force,
                                    .dry = p->dry_run,
                                    .quiet = p->quiet,
                                    .offline = o->fetch->offline,
                                    .json = o->json,
                                    .jobs = p->jobs,
                                    .rate = p->rate};

    interrupt_install();
    TRY(check_lock(p));
    TRY(spell(name, o));
    TRY(pull_one(name, o, &wish));
    if (o->text)
        TRY(pull_one(o->text, o, &wish));
    for (int i = 0; i < o->more.n; i++)
        TRY(pull_one(o->more.text[i], o, &wish));
    return DONE;
}
