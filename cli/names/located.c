/* SPDX-License-Identifier: Apache-2.0 */
/* located.c: which model a name on the command line stands for. The library knows the names and reads the
 * stores; where these lie is places.c's. */
#define _POSIX_C_SOURCE 200809L
#include "names/located.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "names/aliases.h"
#include "names/lock.h"
#include "names/places.h"
#include "term/message.h"

bool find_hub(char *path, size_t capacity)
{
    static struct known_places known;

    find_places_of_models(&known);
    return known.places.hub && snprintf(path, capacity, "%s", known.places.hub) < (int)capacity;
}

/* ---- what to type where nothing is found ---- */

/* Names of this machine: of models in its stores, and those that the user has given. */
enum { MOST_LOCAL = 1000 };
struct local_names {
    char *name[MOST_LOCAL];
    int n;
};

static int add_local(void *user, const carat_stored *model)
{
    struct local_names *l = user;

    if (*model->name && (l->name[l->n] = strdup(model->name)))
        l->n++;
    return l->n == MOST_LOCAL;
}

static void find_local(struct local_names *l)
{
    static struct known_places known;
    json_t *given = aliases_read(), *target;
    const char *name;

    json_object_foreach(given, name, target)
    {
        if (l->n < MOST_LOCAL && (l->name[l->n] = strdup(name)))
            l->n++;
    }
    json_decref(given);
    find_places_of_models(&known);
    if (l->n < MOST_LOCAL)
        (void)carat_list_models(&known.places, add_local, l, NULL);
}

static const char *known_name(void *user, int i)
{
    const struct local_names *l = user;

    return i == 0 ? "tiny" : i <= l->n ? l->name[i - 1] : carat_family_name(i - 1 - l->n);
}

/* A word that is no path of something and no name: opening it would only say that there is no such file. */
static int explain_word(const char *typed)
{
    static struct local_names local;
    int code = DONE;

    find_local(&local);
    const char *near = term_nearest(typed, known_name, &local);
    if (near)
        code = term_fail(NOT_FOUND, "%.200s: there is no such file; did you mean %s%s?", typed, near,
                         strcmp(near, "tiny") == 0 ? ", the model inside this command" : "");
    else if (strchr(typed, ':'))
        code = term_fail(
            NOT_FOUND,
            "%.200s is no path and no name that carat knows; names are OWNER/NAME of a repository of "
            "the hub, and gemma3:4b and the like; 'carat ls' lists what is here",
            typed);
    while (local.n > 0)
        free(local.name[--local.n]);
    return code;
}

/* "google/gemma-3-1b-it", "gemma3:1b is google/gemma-3-1b-it". */
static void write_names(char *text, size_t capacity, const carat_location *at, const char *typed)
{
    if (strcmp(typed, at->repository) == 0)
        snprintf(text, capacity, "%s", at->repository);
    else
        snprintf(text, capacity, "%.200s is %s", typed, at->repository);
}

/* Explains a name of Kaggle, of ollama or of an address whose model this machine has not, or not all of
 * it. */
static int explain_handle(const carat_location *at, const char *typed, const char *forbids)
{
    const bool ollama = at->named == CARAT_NAMED_OLLAMA && !at->handle; /* the registry need not have it */

    return term_fail(NOT_FOUND, "%.200s%s%.200s is not on this machine%s; '%s pull %.200s' fetches it%s%s%s",
                     typed, at->missing ? ", of which " : "", at->missing ? at->missing : "",
                     at->named == CARAT_NAMED_OLLAMA && at->store ? ", though ollama knows it" : "",
                     ollama ? "ollama" : "carat", typed, forbids ? ", but " : "", forbids ? forbids : "",
                     forbids ? " forbids that" : "");
}

int explain_missing(const carat_location *at, const char *typed, const char *forbids)
{
    char names[LOCATED_TEXT], lacks[LOCATED_TEXT] = "";

    if (!at->repository)
        return explain_handle(at, typed, forbids);
    write_names(names, sizeof names, at, typed);
    if (at->missing)
        snprintf(lacks, sizeof lacks, ", of which %.200s", at->missing);
    return term_fail(NOT_FOUND, "%s%s is not on this machine; 'carat pull %.200s' fetches it%s%s%s", names,
                     *lacks                          ? lacks
                     : strcmp(typed, at->repository) ? ", which"
                                                     : "",
                     typed, forbids ? ", but " : "", forbids ? forbids : "",
                     forbids ? " forbids that; 'carat ls' lists what is here" : "");
}

bool is_located(const char *typed)
{
    return strcmp(typed, "tiny") != 0 && strcmp(typed, "-") != 0;
}

int look_for_name(carat_location *at, const char *typed)
{
    static struct known_places known;
    carat_error err;

    carat_location_default(at);
    find_places_of_models(&known);
    return carat_locate(at, typed, &known.places, &err) == CARAT_OK ? DONE : fail_open(&err);
}

/* Does what models.lock says of a name that does not say a revision. */
static int obey_lock(carat_location *at, const char *typed)
{
    char name[LOCKED_NAME];
    json_t *entry = NULL;
    int code =
        at->repository && strcmp(at->revision, "main") == 0 ? lock_find(&entry, name, at, typed) : DONE;

    if (code != DONE || entry)
        carat_location_free(at);
    if (entry)
        code = look_for_name(at, name);
    if (entry && code == DONE && at->path && (code = lock_check(entry, at, typed)) != DONE)
        carat_location_free(at);
    json_decref(entry);
    return code;
}

int look_for_model(carat_location *at, const char *typed)
{
    char target[MOST_TARGET];

    if (access(typed, F_OK) != 0 && alias_target(target, typed))
        TRY(look_for_name(at, target));
    else
        TRY(look_for_name(at, typed));
    return obey_lock(at, typed);
}

int locate_model(carat_location *at, const char *typed)
{
    int code = DONE;

    TRY(look_for_model(at, typed));
    if (at->word)
        code = explain_word(typed);
    else if (at->path)
        code = DONE;
    else if (at->named == CARAT_NAMED_ADDRESS && !at->place)
        code = term_fail(NOT_FOUND, "%.200s is not the address of a file", typed);
    else
        code = explain_missing(at, typed, NULL);
    if (code != DONE)
        carat_location_free(at);
    return code;
}

/* Another program's, or carat's own for what the hub has not. */
static const char *foreign_store(const carat_location *at)
{
    return at->path && at->store && strcmp(at->store, "Hugging Face") != 0 ? at->store : NULL;
}

bool located_text(char text[LOCATED_TEXT], const carat_location *at, const char *typed)
{
    if (foreign_store(at)) {
        const bool versioned = at->named == CARAT_NAMED_KAGGLE && at->commit;
        snprintf(text, LOCATED_TEXT, "%.200s in the store of %s%s%.20s", typed, at->store,
                 versioned ? ", version " : "", versioned ? at->commit : "");
        return true;
    }
    if (!at->repository || !at->commit)
        return false;
    write_names(text, LOCATED_TEXT, at, typed);
    const size_t used = strlen(text);
    snprintf(text + used, LOCATED_TEXT - used, ", commit %.12s of %s", at->commit, at->revision);
    return true;
}
