/* SPDX-License-Identifier: Apache-2.0 */
/* located.c: which model a name on the command line stands for. The library knows the names and reads the
 * stores; where these lie is told by the environment, which is read here. */
#define _POSIX_C_SOURCE 200809L
#include "model/located.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "term/message.h"

bool find_hub(char *path, size_t capacity)
{
    static const struct {
        const char *variable, *below;
    } places[] = {{"HF_HUB_CACHE", ""},
                  {"HF_HOME", "/hub"},
                  {"XDG_CACHE_HOME", "/huggingface/hub"},
                  {"HOME", "/.cache/huggingface/hub"}};

    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *base = getenv(places[i].variable);
        if (base && *base)
            return snprintf(path, capacity, "%s%s", base, places[i].below) < (int)capacity;
    }
    return false;
}

/* ---- what to type where nothing is found ---- */

static const char *known_name(void *user, int i)
{
    (void)user;
    return i == 0 ? "tiny" : carat_family_name(i - 1);
}

/* A word that is no path of something and no name: opening it would only say that there is no such file. */
static int explain_word(const char *typed)
{
    const char *near = nearest(typed, known_name, NULL);

    if (!near && !strchr(typed, ':'))
        return DONE;
    if (near)
        return fail(NOT_FOUND, "%.200s: there is no such file; did you mean %s%s?", typed, near,
                    strcmp(near, "tiny") == 0 ? ", the model inside this command" : "");
    return fail(NOT_FOUND,
                "%.200s is no path and no name that carat knows; names are OWNER/NAME of a repository of the "
                "hub, and gemma3:4b and the like",
                typed);
}

/* "google/gemma-3-1b-it", "gemma3:1b is google/gemma-3-1b-it". */
static void write_names(char *text, size_t capacity, const carat_location *at, const char *typed)
{
    if (strcmp(typed, at->repository) == 0)
        snprintf(text, capacity, "%s", at->repository);
    else
        snprintf(text, capacity, "%.200s is %s", typed, at->repository);
}

int explain_missing(const carat_location *at, const char *typed, const char *forbids)
{
    char names[LOCATED_TEXT], lacks[LOCATED_TEXT] = "";

    write_names(names, sizeof names, at, typed);
    if (at->missing)
        snprintf(lacks, sizeof lacks, ", of which %.200s", at->missing);
    return fail(NOT_FOUND, "%s%s is not on this machine; 'carat pull %.200s' fetches it%s%s%s", names,
                *lacks                          ? lacks
                : strcmp(typed, at->repository) ? ", which"
                                                : "",
                typed, forbids ? ", but " : "", forbids ? forbids : "", forbids ? " forbids that" : "");
}

bool is_located(const char *typed)
{
    return strcmp(typed, "tiny") != 0 && strcmp(typed, "-") != 0;
}

int look_for_model(carat_location *at, const char *typed)
{
    char hub[4096];
    carat_places places;
    carat_error err;

    carat_places_default(&places);
    carat_location_default(at);
    places.hub = find_hub(hub, sizeof hub) ? hub : NULL;
    return carat_locate(at, typed, &places, &err) == CARAT_OK ? DONE : fail_open(&err);
}

int locate_model(carat_location *at, const char *typed)
{
    int code = DONE;

    TRY(look_for_model(at, typed));
    if (at->word)
        code = explain_word(typed);
    else if (at->named == CARAT_NAMED_ADDRESS)
        code = fail(NOT_FOUND,
                    "%.200s is an address of no hub that carat knows; 'curl -LO ADDRESS' gets the file, then "
                    "give its path",
                    typed);
    else if (!at->path)
        code = explain_missing(at, typed, NULL);
    if (code != DONE)
        carat_location_free(at);
    return code;
}

bool located_text(char text[LOCATED_TEXT], const carat_location *at, const char *typed)
{
    if (!at->repository || !at->commit)
        return false;
    write_names(text, LOCATED_TEXT, at, typed);
    const size_t used = strlen(text);
    snprintf(text + used, LOCATED_TEXT - used, ", commit %.12s of %s", at->commit, at->revision);
    return true;
}
