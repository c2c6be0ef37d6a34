/* SPDX-License-Identifier: Apache-2.0 */
/* places.c: see places.h. */
#define _POSIX_C_SOURCE 200809L
#include "names/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first variable that is set decides; below: what lies in it. */
struct way {
    const char *variable, *below;
};
enum { WAYS = 5 };

static const struct {
    size_t place; /* in carat_places */
    struct way way[WAYS];
} ways[] = {
    {offsetof(carat_places, hub),
     {{"HF_HUB_CACHE", ""},
      {"HUGGINGFACE_HUB_CACHE", ""},
      {"HF_HOME", "/hub"},
      {"XDG_CACHE_HOME", "/huggingface/hub"},
      {"HOME", "/.cache/huggingface/hub"}}},
    {offsetof(carat_places, ollama), {{"OLLAMA_MODELS", ""}, {"HOME", "/.ollama/models"}}},
    {offsetof(carat_places, llama_cpp),
     {{"LLAMA_CACHE", ""}, {"XDG_CACHE_HOME", "/llama.cpp"}, {"HOME", "/.cache/llama.cpp"}}},
    {offsetof(carat_places, lm_studio), {{"HOME", "/.lmstudio/models"}}},
    {offsetof(carat_places, kaggle), {{"KAGGLEHUB_CACHE", ""}, {"HOME", "/.cache/kagglehub"}}},
    {offsetof(carat_places, litert), {{"HOME", "/.litert-lm"}}},
    {offsetof(carat_places, own), {{"XDG_CACHE_HOME", "/carat/models"}, {"HOME", "/.cache/carat/models"}}},
};

/* LM Studio writes where it lives into a file, one line. */
static void follow_pointer(struct known_places *p)
{
    char path[PLACE_PATH], line[PLACE_PATH];
    const char *home = getenv("HOME");

    if (!home || snprintf(path, sizeof path, "%s/.lmstudio-home-pointer", home) >= (int)sizeof path)
        return;
    FILE *f = fopen(path, "re");
    if (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\r\n")] = 0;
        if (*line == '/' &&
            snprintf(p->lm_studio, sizeof p->lm_studio, "%s/models", line) < (int)sizeof p->lm_studio)
            p->places.lm_studio = p->lm_studio;
    }
    if (f)
        fclose(f);
}

void find_places_of_models(struct known_places *p)
{
    char *to = p->path;

    carat_places_default(&p->places);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        const struct way *w = ways[i].way;
        const char *base = NULL;
        for (int j = 0; j < WAYS && w[j].variable && !(base && *base); j++)
            if ((base = getenv(w[j].variable)) && *base) {
                int n = snprintf(to, PLACE_PATH, "%s%s", base, w[j].below);
                if (n < PLACE_PATH) {
                    *(const char **)(void *)((char *)&p->places + ways[i].place) = to;
                    to += n + 1;
                }
            }
    }
    const char *told = getenv("OLLAMA_MODELS");
    if (!told || !*told)
        p->places.ollama_system = "/usr/share/ollama/.ollama/models";
    follow_pointer(p);
}

/* ---- where models of ollama's registry go ---- */

static bool is_mine(const char *folder, const char *below, bool must)
{
    char path[PLACE_PATH + 16];
    struct stat st;

    snprintf(path, sizeof path, "%s%s", folder, below);
    if (stat(path, &st) != 0)
        return !must;
    return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && access(path, W_OK | X_OK) == 0;
}

bool find_own_ollama(char *path, size_t capacity)
{
    static struct known_places known;

    find_places_of_models(&known);
    return known.places.own && snprintf(path, capacity, "%s/ollama", known.places.own) < (int)capacity;
}

bool find_ollama_store(char *path, size_t capacity)
{
    static struct known_places known;

    find_places_of_models(&known);
    const char *his = known.places.ollama;
    if (his && is_mine(his, "", true) && is_mine(his, "/blobs", false) && is_mine(his, "/manifests", false))
        return snprintf(path, capacity, "%s", his) < (int)capacity;
    return find_own_ollama(path, capacity);
}
