/* SPDX-License-Identifier: Apache-2.0 */
/* fetcher.c: what carat-fetch is asked for. First it tells the files of a repository; the library says which
 * of them make the model, or patterns do; then it fetches those. */
#define _GNU_SOURCE
#include "names/fetcher.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io/word.h"
#include "names/dotenv.h"
#include "names/fetch_program.h"
#include "names/located.h"
#include "names/places.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/out_json.h"
#include "term/output.h"
#include "term/progress.h"
#include "term/question.h"
#include "term/size.h"

/* The options about models that are not on this machine. */
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

enum { MOST_TOKEN = MOST_SETTING, MOST_PATH = 4096 };
static const double ASKS_ABOVE = 20e9;

/* ---- plans ---- */

/* As huggingface_hub looks for it. */
static void find_token(char token[MOST_TOKEN])
{
    const char *file = getenv("HF_TOKEN_PATH"), *home = getenv("HF_HOME"),
               *implicit = getenv("HF_HUB_DISABLE_IMPLICIT_TOKEN");
    char path[MOST_PATH] = "";

    *token = 0;
    if (implicit && strcmp(implicit, "1") == 0)
        return;
    if (find_setting(token, "HF_TOKEN"))
        return;
    if (file && *file)
        snprintf(path, sizeof path, "%s", file);
    else if (home && *home)
        snprintf(path, sizeof path, "%s/token", home);
    else if ((home = getenv("XDG_CACHE_HOME")) && *home)
        snprintf(path, sizeof path, "%s/huggingface/token", home);
    else if ((home = getenv("HOME")) && *home)
        snprintf(path, sizeof path, "%s/.cache/huggingface/token", home);
    if (*path && !read_word(token, MOST_TOKEN, path))
        *token = 0;
}

/* The source that files come from. */
struct origin {
    json_t *(*plan)(const char *what, const struct origin *from); /* what to do: "list", "check", "get" */
    const char *name, *revision;   /* OWNER/NAME, a handle or an address; "" where it has none */
    const char *before, *between;  /* the name, and it and what the files are pinned to, for notes */
    const char *root;              /* the cache */
    const carat_location *chooses; /* whose files are chosen among all; NULL: all are wanted */
    const char *user, *token;
};
static const char ollama_registry[] = "https://registry.ollama.ai";

static json_t *plan_hub(const char *what, const struct origin *from)
{
    const char *endpoint = getenv("HF_ENDPOINT");
    char address[MOST_PATH];

    snprintf(address, sizeof address, "%s", endpoint && *endpoint ? endpoint : "https://huggingface.co");
    while (*address && address[strlen(address) - 1] == '/')
        address[strlen(address) - 1] = 0;
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "do", what, "source", "hub", "endpoint", address,
                     "repository", from->name, "revision", from->revision, "token", from->token);
}

static json_t *plan_address(const char *what, const struct origin *from)
{
    return json_pack("{s:s, s:s, s:s, s:s}", "do", what, "source", "plain", "endpoint", from->name,
                     "repository", "-");
}

/* OWNER/MODEL/FRAMEWORK/VARIATION, and /VERSION as the revision. */
static json_t *plan_kaggle(const char *what, const struct origin *from)
{
    char name[512];
    const char *version = "";
    int slashes = 0;

    snprintf(name, sizeof name, "%s", from->name);
    for (char *at = name; (at = strchr(at, '/')); at++)
        if (++slashes == 4) {
            *at = 0;
            version = from->name + (at - name) + 1;
            break;
        }
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "do", what, "source", "kaggle", "endpoint",
                     kaggle_endpoint(), "repository", name, "revision", version, "user", from->user, "token",
                     from->token);
}

/* registry.ollama.ai/OWNER/MODEL:TAG */
static json_t *plan_ollama(const char *what, const struct origin *from)
{
    const char *endpoint = getenv("CARAT_OLLAMA_REGISTRY"), *path = strchr(from->name, '/') + 1,
               *tag = strrchr(path, ':');
    char name[512];

    snprintf(name, sizeof name, "%.*s", (int)(tag - path), path);
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "do", what, "source", "ollama", "endpoint",
                     endpoint && *endpoint ? endpoint : ollama_registry, "repository", name, "revision",
                     tag + 1);
}

/* ---- what is there to fetch ---- */

struct listing {
    json_t *files;    /* objects with name, bytes, hash */
    json_t *manifest; /* ollama's, or NULL */
    char commit[80];
};

static int hear_listing(void *user, const char *event, json_t *line)
{
    struct listing *l = user;

    if (strcmp(event, "listed") == 0)
        snprintf(l->commit, sizeof l->commit, "%s", json_string_value(json_object_get(line, "commit")));
    else if (strcmp(event, "file") == 0 && json_array_append(l->files, line) != 0)
        return fail_memory();
    else if (strcmp(event, "manifest") == 0 && !l->manifest)
        l->manifest = json_incref(json_object_get(line, "text"));
    return DONE;
}

static const char *text_of(const json_t *line, const char *key)
{
    const char *text = json_string_value(json_object_get(line, key));

    return text ? text : "";
}

/* Opening one of these runs what is in it. */
static bool is_pickle(const char *name)
{
    static const char *const endings[] = {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"};

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (strlen(name) > strlen(endings[i]) &&
            strcasecmp(name + strlen(name) - strlen(endings[i]), endings[i]) == 0)
            return true;
    return false;
}

/* True: one of the patterns is of this name, or of the folder that it is in. */
static bool matches(const struct texts *patterns, const char *name)
{
    for (int i = 0; patterns && i < patterns->n; i++)
        if (fnmatch(patterns->text[i], name, FNM_LEADING_DIR) == 0)
            return true;
    return false;
}

static int choose_model(const struct listing *l, const carat_location *at, int *wanted)
{
    const size_t n = json_array_size(l->files);
    const char **names = calloc(n + 1, sizeof *names);
    carat_error err;
    int code = names ? DONE : fail_memory();

    for (size_t i = 0; i < n && code == DONE; i++)
        names[i] = text_of(json_array_get(l->files, i), "name");
    if (code == DONE && carat_choose_files(at->repository, names, (int)n, at->part, wanted, &err) != CARAT_OK)
        code = fail_open(&err);
    free(names);
    return code;
}

/* Leaves the files that are wanted. */
static int choose_files(struct listing *l, const carat_location *at, const struct fetch_wish *wish)
{
    const size_t n = json_array_size(l->files);
    const bool patterns = wish->include && wish->include->n;
    int *wanted = calloc(n + 1, sizeof *wanted), code = wanted ? DONE : fail_memory();

    if (code == DONE && !patterns)
        code = choose_model(l, at, wanted);
    for (size_t i = n; i-- > 0 && code == DONE;) {
        const char *name = text_of(json_array_get(l->files, i), "name");
        if ((patterns ? !matches(wish->include, name) : !wanted[i]) || is_pickle(name) ||
            matches(wish->exclude, name))
            json_array_remove(l->files, i);
    }
    free(wanted);
    if (code == DONE && json_array_size(l->files) == 0)
        code = term_fail(NOT_FOUND, "%s: of its %zu files none is wanted (pickles never are)", at->repository,
                         n);
    return code;
}

const char *forbids_fetching(bool offline)
{
    static const char *const variables[] = {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"};

    for (size_t i = 0; !offline && i < sizeof variables / sizeof variables[0]; i++) {
        const char *value = getenv(variables[i]);
        if (value && *value && strcmp(value, "0") != 0 && strcasecmp(value, "false") != 0 &&
            strcasecmp(value, "no") != 0 && strcasecmp(value, "off") != 0)
            return variables[i];
    }
    return offline ? "--offline" : NULL;
}

/* ---- fetching ---- */

/* Says how much will come, and asks where it is very much. */
static int announce(const struct listing *l, const char *called, const char *place,
                    const struct fetch_wish *wish)
{
    double bytes = 0;
    char size[SIZE_TEXT];
    size_t i;
    json_t *file;

    if (wish->quiet || wish->dry)
        return DONE;
    json_array_foreach(l->files, i, file) bytes += (double)json_integer_value(json_object_get(file, "bytes"));
    size_text(size, bytes);
    term_note("%s: %zu file%s, %s, into %s", called, json_array_size(l->files),
              json_array_size(l->files) == 1 ? "" : "s", size, place);
    if (bytes <= ASKS_ABOVE || !wish->asks)
        return DONE;
    if (!somebody_is_there())
        return term_fail(USAGE, "these are %s, and nobody is there to be asked: --yes fetches them", size);
    if (term_agrees("Fetch %s?", size))
        return DONE;
    return term_interrupted() ? INTERRUPTED : term_fail(FAILED, "nothing was fetched");
}

static int refuse_fetching(const char *called, const struct fetch_wish *wish)
{
    const char *what = forbids_fetching(wish->offline);

    return what ? term_fail(NOT_FOUND, "%.200s is not fetched: %s forbids it", called, what) : DONE;
}

struct hearing {
    struct bars bars;
    bool quiet;
    char *path;
    json_t *there; /* files, with whether they are there */
};

/* "coming" needs no word. */
static void show_progress(struct hearing *h, json_t *line)
{
    const json_t *files = json_object_get(line, "files");
    struct bar bar[MOST_BARS];
    size_t i;
    json_t *file;
    int n = 0;

    json_array_foreach(files, i, file)
    {
        const char *state = text_of(file, "state");
        if (n < MOST_BARS)
            bar[n++] = (struct bar){text_of(file, "name"), json_integer_value(json_object_get(file, "done")),
                                    json_integer_value(json_object_get(file, "bytes")),
                                    strcmp(state, "coming") == 0 ? NULL : state};
    }
    bars_update(&h->bars, json_integer_value(json_object_get(line, "done")),
                json_integer_value(json_object_get(line, "total")), bar, n);
}

static int hear_fetching(void *user, const char *event, json_t *line)
{
    struct hearing *h = user;

    if (strcmp(event, "progress") == 0 && !h->quiet)
        show_progress(h, line);
    else if (strcmp(event, "done") == 0)
        snprintf(h->path, FETCHED_PATH, "%s", text_of(line, "path"));
    else if (strcmp(event, "there") == 0 && json_array_append(h->there, line) != 0)
        return fail_memory();
    return DONE;
}

/* "    1234567 there    name", or one object. */
static int tell_files(const struct hearing *h, const struct origin *from, const char *commit, bool json)
{
    json_int_t missing = 0;
    json_t *files = json_array(), *file;
    size_t i;

    json_array_foreach(h->there, i, file)
    {
        const json_int_t bytes = json_integer_value(json_object_get(file, "bytes"));
        const bool is = json_integer_value(json_object_get(file, "is")) != 0;
        missing += is ? 0 : bytes;
        if (json)
            json_array_append_new(files, json_pack("{s:O, s:I, s:b}", "name", json_object_get(file, "name"),
                                                   "bytes", bytes, "there", is));
        else
            out_print("%12lld %-7s %s\n", (long long)bytes, is ? "there" : "missing", text_of(file, "name"));
    }
    if (!json) {
        json_decref(files);
        out_print("%12lld bytes would be fetched\n", (long long)missing);
        return DONE;
    }
    return out_json(json_pack("{s:s, s:s, s:s, s:I, s:o}", "repository", from->name, "revision",
                              from->revision, "commit", commit, "missing_bytes", missing, "files", files));
}

/* The files, of which l tells, as the plan has them. */
static int get_files(json_t *plan, const struct listing *l, const struct fetch_wish *wish, const char *root,
                     struct hearing *h)
{
    json_object_set_new(plan, wish->out ? "out" : "root", json_string(wish->out ? wish->out : root));
    json_object_set_new(plan, "commit", json_string(l->commit));
    json_object_set(plan, "files", l->files);
    if (l->manifest)
        json_object_set(plan, "manifest", l->manifest);
    json_object_set_new(plan, "force", json_integer(wish->force));
    if (wish->jobs > 0)
        json_object_set_new(plan, "jobs", json_integer(wish->jobs));
    if (wish->rate > 0)
        json_object_set_new(plan, "rate", json_integer((json_int_t)wish->rate));
    bars_begin(&h->bars, "fetching");
    const int code = fetch_program(plan, hear_fetching, h);
    bars_end(&h->bars);
    return code;
}

json_t *fetch_parts(const struct origin *from, json_t *files, const char *commit)
{
    json_t *plan = from->plan("parts", from);

    json_object_set_new(plan, "commit", json_string(commit));
    json_object_set(plan, "files", files);
    return plan;
}

/* The files of the list, under a bar. */
static int fetch_listed(const struct origin *from, const struct listing *l, const struct fetch_wish *wish,
                        char path[FETCHED_PATH])
{
    struct hearing h = {.quiet = wish->quiet, .path = path, .there = json_array()};
    char called[512];

    snprintf(called, sizeof called, "%s%s%s%.12s", from->before, from->name, from->between,
             *from->between ? l->commit : "");
    int code = announce(l, called, wish->out ? wish->out : from->root, wish);
    if (code == DONE)
        code = get_files(from->plan(wish->dry ? "check" : "get", from), l, wish, from->root, &h);
    if (code == DONE && wish->dry)
        code = tell_files(&h, from, l->commit, wish->json);
    json_decref(h.there);
    return code;
}

static int fetch_from(const struct origin *from, const struct fetch_wish *wish, char path[FETCHED_PATH])
{
    struct listing l = {.files = json_array()};
    int code = fetch_program(from->plan("list", from), hear_listing, &l);

    if (code == DONE && from->chooses)
        code = choose_files(&l, from->chooses, wish);
    if (code == DONE)
        code =
            wish->look ? wish->look(wish->user, from, l.files, l.commit) : fetch_listed(from, &l, wish, path);
    json_decref(l.files);
    json_decref(l.manifest);
    return code;
}

int fetch_files(const carat_location *at, const struct fetch_wish *wish, char path[FETCHED_PATH])
{
    char hub[MOST_PATH], token[MOST_TOKEN];

    *path = 0;
    TRY(refuse_fetching(at->repository, wish));
    if (!find_hub(hub, sizeof hub) && !wish->out && !wish->look)
        return term_fail(FAILED, "there is no place for models: HOME is not set, nor HF_HUB_CACHE");
    if (wish->token)
        snprintf(token, sizeof token, "%s", wish->token);
    else if (!wish->token_file)
        find_token(token);
    else if (!read_word(token, sizeof token, wish->token_file))
        return term_fail(FAILED, "%s: cannot be read, or has no token", wish->token_file);
    const int code = fetch_from(&(struct origin){.plan = plan_hub,
                                                 .name = at->repository,
                                                 .revision = at->revision,
                                                 .before = "",
                                                 .between = ", commit ",
                                                 .root = hub,
                                                 .chooses = at,
                                                 .token = token},
                                wish, path);
    explicit_bzero(token, sizeof token);
    return code;
}

static int fetch_wished(const carat_location *at, const struct fetch_wish *wish)
{
    char path[FETCHED_PATH];

    return at->repository                    ? fetch_files(at, wish, path)
           : at->named == CARAT_NAMED_KAGGLE ? fetch_kaggle(at, wish, path)
           : at->named == CARAT_NAMED_OLLAMA ? fetch_ollama(at, wish, path)
                                             : fetch_to_place(at, wish, path);
}

int fetch_model(const carat_location *at, const struct fetch_options *how)
{
    return fetch_wished(
        at, &(struct fetch_wish){.offline = how->offline, .asks = !how->yes, .token = how->token});
}

int fetch_looks(const carat_location *at, const struct fetch_options *how, fetch_look look, void *user)
{
    return fetch_wished(
        at, &(struct fetch_wish){.offline = how->offline, .token = how->token, .look = look, .user = user});
}

int fetch_address(const char *address, const struct fetch_wish *wish, char path[FETCHED_PATH])
{
    const struct origin from = {
        .plan = plan_address, .name = address, .revision = "", .before = "", .between = ""};

    *path = 0;
    TRY(refuse_fetching(address, wish));
    return fetch_from(&from, wish, path);
}

int fetch_to_place(const carat_location *at, const struct fetch_wish *wish, char path[FETCHED_PATH])
{
    struct fetch_wish placed = *wish;
    char folder[FETCHED_PATH];

    if (!at->place || snprintf(folder, sizeof folder, "%s", at->place) >= (int)sizeof folder)
        return term_fail(NOT_FOUND, "%.200s is not the address of a file", at->handle);
    *strrchr(folder, '/') = 0;
    placed.out = folder;
    return fetch_address(at->handle, &placed, path);
}

int fetch_search(const char *words, bool kaggle, int limit, const struct fetch_options *how, fetch_hear hear,
                 void *user)
{
    struct kaggle_credentials c = {.user = ""};
    char token[MOST_TOKEN];
    struct origin from = {
        .name = kaggle ? "Kaggle" : "the hub", .revision = "", .user = c.user, .token = token};

    if (forbids_fetching(how->offline))
        return term_fail(NOT_FOUND, "nothing is searched: %s forbids it", forbids_fetching(how->offline));
    if (kaggle) {
        TRY(kaggle_find_credentials(&c));
        from.token = c.key;
    } else {
        find_token(token);
    }
    json_t *plan = kaggle ? plan_kaggle("search", &from) : plan_hub("search", &from);
    explicit_bzero(token, sizeof token);
    explicit_bzero(&c, sizeof c);
    json_object_set_new(plan, "query", json_string(words));
    json_object_set_new(plan, "limit", json_integer(limit));
    return fetch_program(plan, hear, user);
}

int fetch_kaggle(const carat_location *at, const struct fetch_wish *wish, char path[FETCHED_PATH])
{
    static struct known_places known;
    struct kaggle_credentials c;

    *path = 0;
    TRY(refuse_fetching(at->handle, wish));
    find_places_of_models(&known);
    if (!known.places.kaggle && !wish->out && !wish->look)
        return term_fail(FAILED, "there is no place for models: HOME is not set, nor KAGGLEHUB_CACHE");
    TRY(kaggle_find_credentials(&c));
    const int code = fetch_from(&(struct origin){.plan = plan_kaggle,
                                                 .name = at->handle,
                                                 .revision = "",
                                                 .before = "kaggle://",
                                                 .between = ", version ",
                                                 .root = known.places.kaggle,
                                                 .user = c.user,
                                                 .token = c.key},
                                wish, path);
    explicit_bzero(&c, sizeof c);
    return code;
}

int fetch_ollama(const carat_location *at, const struct fetch_wish *wish, char path[FETCHED_PATH])
{
    char store[FETCHED_PATH];

    *path = 0;
    TRY(refuse_fetching(at->handle, wish));
    if (!find_ollama_store(store, sizeof store) && !wish->out)
        return term_fail(FAILED, "there is no place for models: HOME is not set, nor OLLAMA_MODELS");
    return fetch_from(&(struct origin){.plan = plan_ollama,
                                       .name = at->handle,
                                       .revision = "",
                                       .before = "",
                                       .between = ", manifest ",
                                       .root = store},
                      wish, path);
}
