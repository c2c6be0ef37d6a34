/* SPDX-License-Identifier: Apache-2.0 */
/* names.c: what was meant by a model name that does not exist: a name of the hub's or of ollama's, an
 * address, or tiny misspelt. Says what to type instead. Models themselves are opened in model.c. */
#define _POSIX_C_SOURCE 200809L
#include "options/names.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "term/message.h"

/* The members of the family. A name is compared without its case and without - _ : and . (so that gemma3:1b,
 * gemma-3-1b and Gemma3_1B are one); more may follow after one of these (-it, -qat). The longest match
 * counts. */
static const char separators[] = "-_:.";

static const struct member {
    const char *key, *repository; /* NULL: one that carat does not run */
} members[] = {
    {"gemma", "google/gemma-2b-it"},
    {"gemma2b", "google/gemma-2b-it"},
    {"gemma7b", "google/gemma-7b-it"},
    {"gemma112b", "google/gemma-1.1-2b-it"},
    {"gemma117b", "google/gemma-1.1-7b-it"},
    {"codegemma", "google/codegemma-7b-it"},
    {"codegemma2b", "google/codegemma-2b"},
    {"codegemma7b", "google/codegemma-7b-it"},
    {"gemma2", "google/gemma-2-9b-it"},
    {"gemma22b", "google/gemma-2-2b-it"},
    {"gemma29b", "google/gemma-2-9b-it"},
    {"gemma227b", "google/gemma-2-27b-it"},
    {"gemma3", "google/gemma-3-4b-it"},
    {"gemma3270m", "google/gemma-3-270m-it"},
    {"gemma31b", "google/gemma-3-1b-it"},
    {"gemma34b", "google/gemma-3-4b-it"},
    {"gemma312b", "google/gemma-3-12b-it"},
    {"gemma327b", "google/gemma-3-27b-it"},
    {"functiongemma", "google/functiongemma-270m-it"},
    {"functiongemma270m", "google/functiongemma-270m-it"},
    {"gemma3n", "google/gemma-3n-E4B-it"},
    {"gemma3ne2b", "google/gemma-3n-E2B-it"},
    {"gemma3ne4b", "google/gemma-3n-E4B-it"},
    {"gemma4", "google/gemma-4-E4B-it"},
    {"gemma4e2b", "google/gemma-4-E2B-it"},
    {"gemma4e4b", "google/gemma-4-E4B-it"},
    {"gemma412b", "google/gemma-4-12B-it"},
    {"gemma426b", "google/gemma-4-26B-A4B-it"},
    {"gemma431b", "google/gemma-4-31B-it"},
    {"embeddinggemma", "google/embeddinggemma-300m"},
    {"embeddinggemma2", "google/embeddinggemma-2"},
    {"paligemma", NULL},
    {"recurrentgemma", NULL},
    {"t5gemma", NULL},
    {"diffusiongemma", NULL},
    {"vaultgemma", NULL},
};

enum { MOST_REPOSITORY = 256 };

/* What follows the key in the name, NULL when the name does not begin with it. */
static const char *behind(const char *name, const char *key)
{
    for (; *key; name++) {
        if (*name && strchr(separators, *name))
            continue;
        if ((*name >= 'A' && *name <= 'Z' ? *name | 0x20 : *name) != *key)
            return NULL;
        key++;
    }
    return name;
}

static const struct member *find_member(const char *name)
{
    const struct member *best = NULL;

    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        const char *rest = behind(name, members[i].key);
        bool ends = rest && (!*rest || (strchr(separators, *rest) && !(rest[1] >= '0' && rest[1] <= '9')));
        if (ends && (!best || strlen(members[i].key) > strlen(best->key)))
            best = &members[i];
    }
    return best;
}

static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

/* "models/gemma" below a folder that is there is a path; a name's parts hold what the hub allows. */
static bool is_repository(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t owner = strspn(name, letters), rest;
    char folder[MOST_REPOSITORY];

    if (owner == 0 || owner >= sizeof folder || name[owner] != '/' || name[0] == '.')
        return false;
    rest = strspn(name + owner + 1, letters);
    snprintf(folder, sizeof folder, "%.*s", (int)owner, name);
    return rest > 0 && name[owner + 1 + rest] == 0 && owner + rest + 2 < sizeof folder && !exists(folder);
}

static bool is_file_name(const char *name)
{
    static const char *const endings[] = {".gguf", ".sbs", ".safetensors", ".bin", ".json", ".carat"};
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (n > strlen(endings[i]) && strcasecmp(name + n - strlen(endings[i]), endings[i]) == 0)
            return true;
    return false;
}

/* Where the hub's own programs keep what they downloaded, if this repository is there. */
static bool in_hub_cache(const char *repository, char *path, size_t capacity)
{
    static const struct {
        const char *variable, *below;
    } places[] = {{"HF_HUB_CACHE", ""},
                  {"HF_HOME", "/hub"},
                  {"XDG_CACHE_HOME", "/huggingface/hub"},
                  {"HOME", "/.cache/huggingface/hub"}};
    const char *slash = strchr(repository, '/');

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *base = getenv(places[i].variable);
        if (!base || !*base)
            continue;
        int n = snprintf(path, capacity, "%s%s/models--%.*s--%s", base, places[i].below,
                         (int)(slash - repository), repository, slash + 1);
        return n < (int)capacity && exists(path);
    }
    return false;
}

/* file: one file of the repository, or NULL. part: what the names of the wanted files have in them, or
 * NULL. */
static int fail_repository(const char *given, const char *repository, const char *file, const char *part)
{
    const char *folder = strchr(repository, '/') + 1;
    char path[1024], what[512];

    if (in_hub_cache(repository, path, sizeof path))
        return fail(NOT_FOUND, "%.200s is a name, not a file; it is in the cache of the hub: give %s instead",
                    given, path);
    snprintf(what, sizeof what, "%s%s%s%s%s", file ? " " : "", file ? file : "", part ? " --include '*" : "",
             part ? part : "", part ? "*'" : "");
    return fail(NOT_FOUND,
                "%.200s is a name, not a file, and carat downloads nothing yet; "
                "'hf download %s%s --local-dir %s' gets the model, then give %s%s%s instead",
                given, repository, what, folder, folder, file ? "/" : "", file ? file : "");
}

/* What follows the host of an address of the hub: OWNER/NAME, with /resolve/main/FILE or :PART behind it. */
static int fail_hub_address(const char *given, const char *rest)
{
    char repository[MOST_REPOSITORY], file[MOST_REPOSITORY];
    size_t owner = strcspn(rest, "/"), name = rest[owner] ? strcspn(rest + owner + 1, "/:?#") : 0;
    const char *after = rest + owner + 1 + name;

    if (owner == 0 || name == 0 || owner + name + 2 > sizeof repository)
        return fail(NOT_FOUND, "%.200s is an address, not a file, and carat downloads nothing yet", given);
    snprintf(repository, sizeof repository, "%.*s", (int)(owner + 1 + name), rest);
    if (*after == ':' && after[1])
        return fail_repository(given, repository, NULL, after + 1);
    if (strncmp(after, "/resolve/", 9) != 0 && strncmp(after, "/blob/", 6) != 0)
        return fail_repository(given, repository, NULL, NULL);
    after = strchr(strchr(after + 1, '/') + 1, '/'); /* behind the revision */
    snprintf(file, sizeof file, "%.*s", after ? (int)strcspn(after + 1, "?#") : 0, after ? after + 1 : "");
    return fail_repository(given, repository, *file ? file : NULL, NULL);
}

static int fail_address(const char *given)
{
    static const char *const hubs[] = {"huggingface.co/", "www.huggingface.co/", "hf.co/"};
    const char *scheme = strstr(given, "://"), *host = scheme ? scheme + 3 : given;

    for (size_t i = 0; i < sizeof hubs / sizeof hubs[0]; i++)
        if (strncmp(host, hubs[i], strlen(hubs[i])) == 0)
            return fail_hub_address(given, host + strlen(hubs[i]));
    if (!scheme)
        return DONE;
    return fail(NOT_FOUND,
                "%.200s is an address, not a file, and carat downloads nothing yet; 'curl -LO ADDRESS' gets "
                "the file, then give its path",
                given);
}

static const char *own_name(void *user, int i)
{
    (void)user;
    return i == 0 ? "tiny" : NULL;
}

int explain_missing(const char *model)
{
    const struct member *member;

    if (exists(model))
        return DONE;
    TRY(fail_address(model));
    if (is_file_name(model))
        return DONE;
    bool repository = is_repository(model);
    if (strchr(model, '/') && !repository)
        return DONE;
    member = find_member(repository ? strchr(model, '/') + 1 : model);
    if (member && !member->repository)
        return fail(NOT_FOUND,
                    "%.200s is the name of a model that carat does not run; it runs Gemma 1, 2, 3, 3n "
                    "and 4, CodeGemma and FunctionGemma",
                    model);
    if (repository || member)
        return fail_repository(model, repository ? model : member->repository, NULL, NULL);
    if (nearest(model, own_name, NULL))
        return fail(NOT_FOUND,
                    "%.200s: there is no such file; did you mean tiny, the model inside this command?",
                    model);
    if (strchr(model, ':'))
        return fail(NOT_FOUND,
                    "%.200s is a name, not a file, and carat downloads nothing yet; give the path of a GGUF "
                    "file or of a Hugging Face directory of a Gemma model",
                    model);
    return DONE;
}
